// Pretraining samples out of token shards; see pretrain_sampler.h for the rules.
#include "lib/data/pretrain_sampler.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "lib/core/error.h"
#include "lib/data/mlm_masking.h"

namespace bigbird {
namespace {

std::int64_t special_tokens(const PretrainSamplerOptions& options) {
  if (options.next) return 0;
  if (options.sentences > 0) return 1;
  return options.pairs ? 3 : 2;
}

}  // namespace

PretrainSampler::PretrainSampler(const TokenShards& shards, const SpecialIds& special,
                                 const PretrainSamplerOptions& options)
    : shards_(shards),
      special_(special),
      options_(options),
      budget_(options.length - special_tokens(options)) {
  check_budget();
  cut_documents();
}

PretrainSampler::PretrainSampler(const TokenShards& shards, const Tokenizer& tokenizer,
                                 const PretrainSamplerOptions& options)
    : shards_(shards),
      special_(tokenizer.special()),
      options_(options),
      budget_(options.length - special_tokens(options)) {
  check_budget();
  if (options.sentences > 0 || (shards.is_text() && !options.pairs)) {
    join_documents(tokenizer);
  } else {
    cut_documents();
  }
}

void PretrainSampler::join_documents(const Tokenizer& tokenizer) {
  shards_.require_ids_below(tokenizer.vocab_size());
  require_pieces(shards_.token_count() > 0);
  const bool text = shards_.is_text();
  JoinedDocumentsOptions joined;
  joined.budget = budget_;
  joined.join = !text || shards_.joins_documents();
  joined.seed = options_.seed;
  joined.sentences = options_.sentences;
  joined.separator = static_cast<std::int32_t>(options_.sentences > 0 ? special_.cls : special_.sep);
  joined_ = std::make_unique<const JoinedDocuments>(
      shards_, text ? word_starts(tokenizer) : std::vector<bool>(), joined);
}

void PretrainSampler::check_budget() const {
  if (options_.pairs && !special_.has_sep) {
    throw_bad_input(shards_.prefix() + ": pairs of sentences with a vocabulary that has no [SEP]",
                    message("leave next-sentence prediction out with `no_nsp`"));
  }
  if (budget_ < 2) {
    throw_usage(message("`length` {}: no room for two tokens next to the special ones", options_.length),
                message("use at least one block, such as `length` 64"));
  }
}

void PretrainSampler::require_pieces(bool found) const {
  if (found) return;
  throw_bad_input(shards_.prefix() + ": no tokens to train on",
                  shards_.is_text() ? "the text that the shards were made from is blank"
                                    : "check the input of bigbird tokenize");
}

void PretrainSampler::cut_documents() {
  for (std::uint64_t document = 0; document < shards_.document_count(); ++document) cut_document(document);
  pieces_.shrink_to_fit();
  require_pieces(!pieces_.empty());
  if (options_.pairs && documents_.size() < 2) {
    throw_bad_input(fmt::format("{}: {} document; a random next sentence needs another one", shards_.prefix(),
                                documents_.size()),
                    message("tokenize more documents, or leave next-sentence prediction out with `no_nsp`"));
  }
}

void PretrainSampler::cut_document(std::uint64_t document) {
  const auto budget = static_cast<std::uint32_t>(budget_);
  const std::uint32_t least = options_.pairs ? 2 : 1;
  const std::uint64_t first_piece = pieces_.size();
  Piece piece;
  const auto close = [&] {
    if (piece.tokens >= least) pieces_.push_back(piece);
    piece.tokens = 0;
  };
  const SentenceRange sentences = shards_.document(document);
  for (std::uint64_t sentence = sentences.first; sentence < sentences.last; ++sentence) {
    std::uint32_t left = shards_.sentence_length(sentence);
    std::uint32_t offset = 0;
    if (piece.tokens + static_cast<std::uint64_t>(left) > budget) close();
    while (left > 0) {
      if (piece.tokens == 0) {
        piece.sentence = sentence;
        piece.offset = offset;
      }
      const std::uint32_t taken = std::min(left, budget - piece.tokens);
      piece.tokens += taken;
      offset += taken;
      left -= taken;
      if (piece.tokens == budget) close();
    }
  }
  close();
  if (pieces_.size() > first_piece) documents_.push_back({document, first_piece});
}

std::size_t PretrainSampler::document_of(std::uint64_t piece) const {
  const auto after =
      std::upper_bound(documents_.begin(), documents_.end(), piece,
                       [](std::uint64_t value, const UsableDocument& d) { return value < d.first_piece; });
  return static_cast<std::size_t>(after - documents_.begin()) - 1;
}

void PretrainSampler::append_tokens(std::uint64_t sentence, std::size_t offset, std::size_t tokens,
                                    std::vector<std::int32_t>& ids) const {
  while (tokens > 0) {
    const TokenView view = shards_.sentence(sentence);
    const std::size_t taken = std::min(tokens, view.size() - offset);
    for (std::size_t i = 0; i < taken; ++i) ids.push_back(static_cast<std::int32_t>(view[offset + i]));
    tokens -= taken;
    offset = 0;
    ++sentence;
  }
}

// Tokens of A: a sentence boundary strictly inside the piece, each as likely; without one, any inner token.
std::size_t PretrainSampler::split_point(const Piece& piece, CounterRng& rng) const {
  std::vector<std::size_t> boundaries;
  std::size_t at = shards_.sentence_length(piece.sentence) - piece.offset;
  for (std::uint64_t sentence = piece.sentence + 1; at < piece.tokens; ++sentence) {
    const std::size_t length = shards_.sentence_length(sentence);
    if (at > 0 && length > 0) boundaries.push_back(at);
    at += length;
  }
  if (!boundaries.empty()) return boundaries[static_cast<std::size_t>(rng.below(boundaries.size()))];
  return 1 + static_cast<std::size_t>(rng.below(piece.tokens - 1));
}

void PretrainSampler::append_random_run(std::size_t own_document, std::size_t tokens, CounterRng& rng,
                                        std::vector<std::int32_t>& ids) const {
  auto other = static_cast<std::size_t>(rng.below(documents_.size() - 1));
  if (other >= own_document) ++other;
  const SentenceRange sentences = shards_.document(documents_[other].document);
  const std::uint64_t start = sentences.first + rng.below(sentences.size());
  const std::size_t before = ids.size();
  const auto take_until = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t sentence = first; sentence < last; ++sentence) {
      const std::size_t wanted = tokens - (ids.size() - before);
      append_tokens(sentence, 0, std::min<std::size_t>(wanted, shards_.sentence_length(sentence)), ids);
      if (ids.size() - before == tokens) return;
    }
  };
  take_until(start, sentences.last);
  // Only empty sentences from there on: the document has tokens before them.
  if (ids.size() == before) take_until(sentences.first, start);
}

template <typename Append>
PretrainSample PretrainSampler::joined_sample(const Append& append) const {
  const bool asked = options_.sentences > 0;
  PretrainSample sample;
  sample.ids.reserve(static_cast<std::size_t>(options_.length));
  sample.ids.push_back(static_cast<std::int32_t>(special_.cls));
  append(sample.ids, asked ? &sample.sentences : nullptr);
  if (!asked && !options_.next && special_.has_sep)
    sample.ids.push_back(static_cast<std::int32_t>(special_.sep));
  sample.types.assign(sample.ids.size(), asked ? 1 : 0);
  return sample;
}

PretrainSample PretrainSampler::training_sample(std::uint64_t draw) const {
  if (joined_ != nullptr) {
    return joined_sample([&](auto& ids, auto* sentences) { joined_->append_draw(draw, ids, sentences); });
  }
  const std::uint64_t epoch = draw / size();
  const RandomPermutation order(options_.seed, Purpose::pretrain_order, epoch, size());
  return sample(order(draw % size()), draw);
}

PretrainSample PretrainSampler::sample(std::uint64_t piece_number, std::uint64_t draw) const {
  if (joined_ != nullptr) {
    return joined_sample(
        [&](auto& ids, auto* sentences) { joined_->append_sample(piece_number, ids, sentences); });
  }
  const Piece& piece = pieces_[static_cast<std::size_t>(piece_number)];
  const auto cls = static_cast<std::int32_t>(special_.cls);
  const auto sep = static_cast<std::int32_t>(special_.sep);
  PretrainSample sample;
  sample.ids.reserve(static_cast<std::size_t>(options_.length));
  sample.ids.push_back(cls);
  append_tokens(piece.sentence, piece.offset, piece.tokens, sample.ids);
  if (!options_.pairs) {
    if (!options_.next && special_.has_sep) sample.ids.push_back(sep);
    sample.types.assign(sample.ids.size(), 0);
    return sample;
  }

  CounterRng rng(options_.seed, Purpose::pretrain_pairs, draw);
  sample.next_label = static_cast<std::int32_t>(rng.below(2));
  const std::size_t split = split_point(piece, rng);
  if (sample.next_label == 1) {
    sample.ids.resize(1 + split);
    append_random_run(document_of(piece_number), piece.tokens - split, rng, sample.ids);
  }
  sample.ids.insert(sample.ids.begin() + static_cast<std::ptrdiff_t>(1 + split), sep);
  sample.ids.push_back(sep);
  sample.types.assign(sample.ids.size(), 1);
  std::fill_n(sample.types.begin(), split + 2, 0);
  return sample;
}

}  // namespace bigbird
