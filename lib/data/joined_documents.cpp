// Text documents packed into samples; see joined_documents.h.
#include "lib/data/joined_documents.h"

#include <algorithm>
#include <utility>

#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::size_t epochs_in_hand = 2;  // prefetching crosses the border of two

// The documents' order of an epoch and the samples' are permutations of one purpose: even and odd indices.
std::uint64_t key_of_documents(std::uint64_t epoch) {
  return 2 * epoch;
}
std::uint64_t key_of_samples(std::uint64_t epoch) {
  return 2 * epoch + 1;
}

std::uint64_t order_of_shards(std::uint64_t place) {
  return place;
}

}  // namespace

JoinedDocuments::JoinedDocuments(const TokenShards& shards, const std::vector<bool>& starts_word,
                                 const JoinedDocumentsOptions& options)
    : shards_(shards), options_(options) {
  const std::uint64_t documents = shards.document_count();
  first_cut_.reserve(static_cast<std::size_t>(documents) + 1);
  last_stretch_.reserve(static_cast<std::size_t>(documents));
  for (std::uint64_t document = 0; document < documents; ++document) {
    if (options.sentences > 0) {
      cut_between_sentences(document, starts_word);
    } else {
      cut_document(document, starts_word);
    }
  }
  first_cut_.push_back(cuts_.size());
  in_order_ = pack(order_of_shards);
}

std::uint64_t JoinedDocuments::cut_inside(const TokenView& tokens, std::uint64_t begin,
                                          const std::vector<bool>& starts_word) const {
  const auto budget = static_cast<std::uint64_t>(options_.budget);
  std::uint64_t taken = budget;
  if (starts_word.empty()) return taken;
  while (taken > 0 && !starts_word[tokens[static_cast<std::size_t>(begin + taken)]]) --taken;
  return taken == 0 ? budget : taken;
}

void JoinedDocuments::cut_document(std::uint64_t document, const std::vector<bool>& starts_word) {
  first_cut_.push_back(cuts_.size());
  const TokenView tokens = shards_.document_tokens(document);
  const auto budget = static_cast<std::uint64_t>(options_.budget);
  std::uint64_t begin = 0;
  while (tokens.size() - begin > budget) {
    begin += cut_inside(tokens, begin, starts_word);
    cuts_.push_back(begin);
  }
  last_stretch_.push_back(static_cast<std::uint32_t>(tokens.size() - begin));
}

void JoinedDocuments::cut_between_sentences(std::uint64_t document, const std::vector<bool>& starts_word) {
  first_cut_.push_back(cuts_.size());
  const auto budget = static_cast<std::uint64_t>(options_.budget);
  const auto most = static_cast<std::uint64_t>(options_.sentences);
  std::uint64_t before = 0;               // tokens of the document before the stretch that is open
  std::uint64_t tokens = 0, members = 0;  // of that stretch
  const auto cut = [&](std::uint64_t sentence, std::uint64_t offset) {
    before += tokens;
    cuts_.push_back(before);
    sentence_cuts_.push_back({sentence, offset});
    tokens = members = 0;
  };
  const SentenceRange sentences = shards_.document(document);
  for (std::uint64_t sentence = sentences.first; sentence < sentences.last; ++sentence) {
    const std::uint64_t length = shards_.sentence_length(sentence);
    if (length == 0) continue;
    if (tokens > 0 && (tokens + length > budget || members == most)) cut(sentence, 0);
    std::uint64_t offset = 0;
    while (length - offset > budget) {  // then nothing of another sentence is in the stretch
      tokens = cut_inside(shards_.sentence(sentence), offset, starts_word);
      offset += tokens;
      cut(sentence, offset);
    }
    tokens += length - offset;
    ++members;
  }
  last_stretch_.push_back(static_cast<std::uint32_t>(tokens));
  last_sentences_.push_back(static_cast<std::uint32_t>(members));
}

template <typename Order>
JoinedDocuments::Packing JoinedDocuments::pack(const Order& order) const {
  Packing packing;
  const auto budget = static_cast<std::uint64_t>(options_.budget);
  const auto most = static_cast<std::uint64_t>(options_.sentences);
  std::uint64_t used = 0;       // tokens of the sample that is open; 0: none is
  std::uint64_t sentences = 0;  // of it
  for (std::uint64_t place = 0; place < last_stretch_.size(); ++place) {
    const std::uint64_t document = order(place);
    const std::uint64_t last = last_stretch_[document];
    if (last == 0) continue;
    const std::uint64_t cuts = cuts_of(document);
    const std::uint64_t members = most == 0 ? 0 : last_sentences_[document];
    if (cuts == 0 && used > 0 && used + 1 + last <= budget && sentences + members <= most) {
      used += 1 + last;
      sentences += members;
      continue;
    }
    for (std::uint64_t stretch = 0; stretch <= cuts; ++stretch) packing.push_back({place, stretch});
    used = options_.join ? last : 0;
    sentences = members;
  }
  packing.shrink_to_fit();
  return packing;
}

template <typename Order>
void JoinedDocuments::append(const Packing& packing, std::uint64_t sample, const Order& order,
                             std::vector<std::int32_t>& ids, std::vector<SentenceSpan>* spans) const {
  Begin at = packing[static_cast<std::size_t>(sample)];
  const Begin end = sample + 1 < packing.size() ? packing[static_cast<std::size_t>(sample + 1)]
                                                : Begin{last_stretch_.size(), 0};
  const std::size_t before = ids.size();
  while (at.place < end.place || (at.place == end.place && at.stretch < end.stretch)) {
    const std::uint64_t document = order(at.place);
    if (last_stretch_[document] > 0) {
      if (ids.size() > before) ids.push_back(options_.separator);
      const auto begin = static_cast<std::int32_t>(ids.size());
      append_stretch(document, at.stretch, ids);
      if (spans != nullptr)
        append_spans(document, at.stretch, begin, static_cast<std::int32_t>(ids.size()), *spans);
    }
    if (at.stretch < cuts_of(document)) {
      ++at.stretch;
    } else {
      at = {at.place + 1, 0};
    }
  }
}

void JoinedDocuments::append_stretch(std::uint64_t document, std::uint64_t stretch,
                                     std::vector<std::int32_t>& ids) const {
  const TokenView tokens = shards_.document_tokens(document);
  const std::uint64_t* cuts = cuts_.data() + first_cut_[document];
  const std::uint64_t begin = stretch == 0 ? 0 : cuts[stretch - 1];
  const std::uint64_t end = stretch == cuts_of(document) ? tokens.size() : cuts[stretch];
  for (std::uint64_t i = begin; i < end; ++i) {
    ids.push_back(static_cast<std::int32_t>(tokens[static_cast<std::size_t>(i)]));
  }
}

// A stretch may begin, and end, inside of a sentence.
void JoinedDocuments::append_spans(std::uint64_t document, std::uint64_t stretch, std::int32_t begin,
                                   std::int32_t end, std::vector<SentenceSpan>& spans) const {
  const std::int32_t number = spans.empty() ? 0 : spans.back().document + 1;
  SentenceCut from = {shards_.document(document).first, 0};
  if (stretch > 0) from = sentence_cuts_[static_cast<std::size_t>(first_cut_[document] + stretch - 1)];
  for (; begin < end; ++from.sentence, from.offset = 0) {
    const auto length = static_cast<std::int64_t>(shards_.sentence_length(from.sentence) - from.offset);
    if (length == 0) continue;
    const auto next = static_cast<std::int32_t>(std::min<std::int64_t>(end, begin + length));
    spans.push_back({begin, next, number});
    begin = next;
  }
}

std::shared_ptr<const JoinedDocuments::Packing> JoinedDocuments::packing_of(std::uint64_t epoch) const {
  std::shared_ptr<const Packing>& packing = epochs_[epoch];
  if (packing == nullptr) {
    packing = std::make_shared<const Packing>(pack(RandomPermutation(
        options_.seed, Purpose::pretrain_order, key_of_documents(epoch), last_stretch_.size())));
  }
  const std::shared_ptr<const Packing> result = packing;
  while (epochs_.size() > epochs_in_hand) {
    // The one farthest from what is asked for now.
    const std::uint64_t first = epochs_.begin()->first, last = epochs_.rbegin()->first;
    epochs_.erase(epoch - first >= last - epoch ? first : last);
  }
  return result;
}

std::uint64_t JoinedDocuments::first_draw_of(std::uint64_t epoch) const {
  while (first_draws_.size() <= epoch) {
    first_draws_.push_back(first_draws_.back() + packing_of(first_draws_.size() - 1)->size());
  }
  return first_draws_[static_cast<std::size_t>(epoch)];
}

std::uint64_t JoinedDocuments::epoch_size(std::uint64_t epoch) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return packing_of(epoch)->size();
}

void JoinedDocuments::append_sample(std::uint64_t sample, std::vector<std::int32_t>& ids,
                                    std::vector<SentenceSpan>* spans) const {
  append(in_order_, sample, order_of_shards, ids, spans);
}

void JoinedDocuments::append_draw(std::uint64_t draw, std::vector<std::int32_t>& ids,
                                  std::vector<SentenceSpan>* spans) const {
  std::shared_ptr<const Packing> packing;
  std::uint64_t epoch = 0, first = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    while (first_draws_.back() <= draw) first_draw_of(first_draws_.size());
    const auto after = std::upper_bound(first_draws_.begin(), first_draws_.end(), draw);
    epoch = static_cast<std::uint64_t>(after - first_draws_.begin()) - 1;
    first = *(after - 1);
    packing = packing_of(epoch);
  }
  const std::uint64_t size = packing->size();
  const RandomPermutation samples(options_.seed, Purpose::pretrain_order, key_of_samples(epoch), size);
  const RandomPermutation documents(options_.seed, Purpose::pretrain_order, key_of_documents(epoch),
                                    last_stretch_.size());
  append(*packing, samples(draw - first), documents, ids, spans);
}

}  // namespace bigbird
