// See stream_sampler.h.
#include "lib/data/stream_sampler.h"

#include <algorithm>

#include "lib/core/error.h"
#include "lib/core/rng.h"

namespace bigbird {

StreamSampler::StreamSampler(const TokenShards& shards, const SpecialIds& special,
                             const StreamOptions& options)
    : shards_(shards),
      options_(options),
      cls_(static_cast<std::int32_t>(special.cls)),
      sep_(static_cast<std::int32_t>(special.sep)) {
  const RandomPermutation order(options.seed, Purpose::stream_choice, 0, shards.document_count());
  for (std::uint64_t i = 0; i < shards.document_count(); ++i) {
    if (options.segments > 0 && all_segments_ >= options.segments) break;
    const std::uint64_t document = options.segments > 0 ? order(i) : i;
    const std::uint64_t segments = segments_of(document);
    if (segments == 0) continue;
    documents_.push_back(document);
    all_segments_ += segments;
  }
  std::sort(documents_.begin(), documents_.end());
  if (documents_.empty())
    throw_bad_input(shards.prefix() + ": no tokens to read", "the shards hold no document with tokens");
  if (options.once) {
    options_.streams = std::min(options.streams, static_cast<std::int64_t>(documents_.size()));
    for (std::int64_t stream = 0; stream < options_.streams; ++stream)
      once_.push_back(passage(stream, [](std::uint64_t place) { return place; }));
    return;
  }
  if (options_.streams > static_cast<std::int64_t>(documents_.size())) {
    throw_usage(message("`batch` {}: each sequence is a stream of documents, and {} has {}", options_.streams,
                        shards.prefix(), documents_.size()),
                message("take a smaller `batch`, or shorter documents (bigbird chunk)"));
  }
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(options_.streams) * static_cast<std::uint64_t>(options_.length);
  if (shards.token_count() < wanted) {
    throw_usage(message("`batch` {} and `length` {}: {} has {} tokens, fewer than a segment for each stream",
                        options_.streams, options_.length, shards.prefix(), shards.token_count()),
                message("take a smaller `batch` or a shorter `length`"));
  }
}

std::uint64_t StreamSampler::segments_of(std::uint64_t document) const {
  const std::size_t tokens = shards_.document_tokens(document).size();
  if (tokens == 0) return 0;
  const std::uint64_t read = tokens + (shards_.is_text() ? 1 : 0);
  const auto length = static_cast<std::uint64_t>(options_.length);
  return (read + length - 1) / length;
}

template <typename Order>
StreamSampler::Passage StreamSampler::passage(std::int64_t stream, const Order& order) const {
  Passage passage;
  for (auto place = static_cast<std::uint64_t>(stream); place < documents_.size();
       place += static_cast<std::uint64_t>(options_.streams)) {
    passage.documents.push_back(documents_[static_cast<std::size_t>(order(place))]);
    passage.first_segments.push_back(passage.segments() + segments_of(passage.documents.back()));
  }
  return passage;
}

std::shared_ptr<const StreamSampler::Passage> StreamSampler::passage_of(std::int64_t stream,
                                                                        std::uint64_t epoch) const {
  const auto found = passages_.find({stream, epoch});
  if (found != passages_.end()) return found->second;
  const RandomPermutation order(options_.seed, Purpose::stream_order, epoch, documents_.size());
  auto made = std::make_shared<const Passage>(passage(stream, order));
  std::erase_if(passages_, [&](const auto& entry) {
    return entry.first.first == stream && entry.first.second + 1 < epoch;
  });
  passages_.emplace(std::pair{stream, epoch}, made);
  return made;
}

std::uint64_t StreamSampler::segments_of_stream(std::int64_t stream) const {
  return once_.at(static_cast<std::size_t>(stream)).segments();
}

StreamSegment StreamSampler::segment(std::int64_t stream, std::uint64_t number) const {
  if (options_.once) return segment_of(once_.at(static_cast<std::size_t>(stream)), number);
  std::shared_ptr<const Passage> found;
  std::uint64_t before = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::uint64_t>& first = first_numbers_[stream];
    if (first.empty()) first.push_back(0);
    while (first.back() <= number)
      first.push_back(first.back() + passage_of(stream, first.size() - 1)->segments());
    const auto after = std::upper_bound(first.begin(), first.end(), number);
    const auto epoch = static_cast<std::uint64_t>(after - first.begin()) - 1;
    before = first[static_cast<std::size_t>(epoch)];
    found = passage_of(stream, epoch);
  }
  return segment_of(*found, number - before);
}

// The place in the passage of the document that segment `number` is of.
std::size_t StreamSampler::document_of(const Passage& passage, std::uint64_t number) {
  const auto after = std::upper_bound(passage.first_segments.begin(), passage.first_segments.end(), number);
  return static_cast<std::size_t>(after - passage.first_segments.begin()) - 1;
}

StreamPlace StreamSampler::place(std::int64_t stream, std::uint64_t number) const {
  const Passage& passage = once_.at(static_cast<std::size_t>(stream));
  const std::size_t place = document_of(passage, number);
  return {passage.documents[place],
          static_cast<std::int64_t>(number - passage.first_segments[place]) * options_.length};
}

StreamSegment StreamSampler::segment_of(const Passage& passage, std::uint64_t number) const {
  const std::size_t place = document_of(passage, number);
  const TokenView tokens = shards_.document_tokens(passage.documents[place]);
  const std::size_t read = tokens.size() + (shards_.is_text() ? 1 : 0);
  const auto length = static_cast<std::size_t>(options_.length);
  const auto begin = static_cast<std::size_t>(number - passage.first_segments[place]) * length;
  StreamSegment segment;
  segment.begins = begin == 0;
  for (std::size_t i = begin; i < std::min(begin + length, read); ++i) {
    segment.ids.push_back(i == 0 ? cls_ : static_cast<std::int32_t>(tokens[i - 1]));
    segment.labels.push_back(i < tokens.size() ? static_cast<std::int32_t>(tokens[i]) : sep_);
  }
  return segment;
}

}  // namespace bigbird
