// Streams of documents: every token read and predicted once an epoch, in order, by a function of (seed,
// stream, number).
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/data/stream_sampler.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

// Documents of so many tokens; every token is a different id, from 5 up.
class Documents {
 public:
  explicit Documents(const std::vector<std::uint32_t>& lengths, bool text = false) {
    std::uint32_t next = 5;
    TokenShardWriter writer((folder_ / "p").string(), 100000);
    for (const std::uint32_t length : lengths) {
      std::vector<std::uint32_t> ids;
      for (std::uint32_t i = 0; i < length; ++i) ids.push_back(next++);
      first.push_back(length == 0 ? 0 : static_cast<std::int32_t>(ids.front()));
      writer.add_document(ids, std::vector<std::uint32_t>{length}, length);
    }
    const TextShardFacts facts;
    writer.finish("digest", nullptr, text ? &facts : nullptr);
    shards = std::make_unique<TokenShards>((folder_ / "p").string());
  }
  std::vector<std::int32_t> first;  // token of each document
  std::unique_ptr<TokenShards> shards;

 private:
  TemporaryFolder folder_;
};

TEST(StreamSampler, ReadsEachTokenOfADocumentOnceInOrder) {
  const Documents documents({10, 3, 0, 8, 1});
  const StreamSampler sampler(*documents.shards, {}, {.length = 4, .streams = 2, .once = true});
  EXPECT_EQ(sampler.segments(), 3u + 1 + 2 + 1);
  EXPECT_EQ(sampler.segments_of_stream(0), 3u + 2);  // documents 0 and 3; 2 is empty
  const StreamSegment one = sampler.segment(0, 0), two = sampler.segment(0, 1), last = sampler.segment(0, 2);
  EXPECT_EQ(one.ids, (std::vector<std::int32_t>{2, 5, 6, 7}));
  EXPECT_EQ(one.labels, (std::vector<std::int32_t>{5, 6, 7, 8}));
  EXPECT_TRUE(one.begins);
  EXPECT_EQ(two.ids, (std::vector<std::int32_t>{8, 9, 10, 11}));
  EXPECT_FALSE(two.begins);
  EXPECT_EQ(last.labels, (std::vector<std::int32_t>{13, 14}));
  EXPECT_TRUE(sampler.segment(0, 3).begins);
  EXPECT_EQ(sampler.segment(1, 1).labels, std::vector<std::int32_t>{documents.first[4]});
}

TEST(StreamSampler, PredictsTheEndOfAText) {
  const Documents documents({4}, true);
  const StreamSampler sampler(*documents.shards, {}, {.length = 4, .once = true});
  EXPECT_EQ(sampler.segments(), 2u);
  EXPECT_EQ(sampler.segment(0, 1).ids, std::vector<std::int32_t>{8});
  EXPECT_EQ(sampler.segment(0, 1).labels, std::vector<std::int32_t>{3});
}

TEST(StreamSampler, AnEpochHasEveryTokenOnceAndEachEpochAnotherOrder) {
  const Documents documents({9, 14, 5, 7, 3, 21, 8});
  const StreamSampler sampler(*documents.shards, {}, {.length = 4, .streams = 3, .seed = 7});
  std::map<std::int32_t, int> labels;
  std::vector<std::vector<std::int32_t>> beginnings(3);
  for (std::int64_t stream = 0; stream < 3; ++stream) {
    // By counting documents: each epoch a stream has 2 or 3.
    for (std::uint64_t number = 0; number < 200; ++number) {
      const StreamSegment segment = sampler.segment(stream, number);
      if (segment.begins) beginnings[static_cast<std::size_t>(stream)].push_back(segment.labels[0]);
    }
  }
  // Each first epoch together.
  std::vector<std::int32_t> all;
  for (std::size_t stream = 0; stream < 3; ++stream) {
    const std::size_t count = stream == 0 ? 3 : 2;
    all.insert(all.end(), beginnings[stream].begin(),
               beginnings[stream].begin() + static_cast<std::ptrdiff_t>(count));
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, documents.first);
  const auto& of_first = beginnings[0];
  bool other = false;
  for (std::size_t i = 3; i + 3 <= of_first.size(); i += 3)
    other = other || !std::equal(of_first.begin(), of_first.begin() + 3,
                                 of_first.begin() + static_cast<std::ptrdiff_t>(i));
  EXPECT_TRUE(other);
}

TEST(StreamSampler, ASegmentIsAFunctionOfSeedStreamAndNumber) {
  const Documents documents({9, 14, 5, 7, 3, 21, 8});
  const StreamOptions options{.length = 4, .streams = 2, .seed = 3};
  const StreamSampler forwards(*documents.shards, {}, options), backwards(*documents.shards, {}, options);
  std::vector<StreamSegment> seen;
  for (std::uint64_t number = 0; number < 60; ++number) seen.push_back(forwards.segment(1, number));
  bool differs = false;
  const StreamSampler other(*documents.shards, {}, {.length = 4, .streams = 2, .seed = 4});
  for (std::uint64_t number = 60; number-- > 0;) {
    EXPECT_EQ(backwards.segment(1, number).ids, seen[static_cast<std::size_t>(number)].ids) << number;
    differs = differs || other.segment(1, number).ids != seen[static_cast<std::size_t>(number)].ids;
  }
  EXPECT_TRUE(differs);
}

TEST(StreamSampler, TakesARandomChoiceOfDocuments) {
  const Documents documents({9, 14, 5, 7, 3, 21, 8});
  const StreamSampler some(*documents.shards, {}, {.length = 4, .streams = 9, .once = true, .segments = 5});
  EXPECT_GE(some.segments(), 5u);
  EXPECT_LT(some.segments(), 5u + 6);
  EXPECT_LT(some.options().streams, 7);
}

TEST(StreamSampler, RefusesFewerDocumentsOrTokensThanStreams) {
  const auto refused = [](const Documents& documents, const StreamOptions& options) {
    try {
      const StreamSampler sampler(*documents.shards, {}, options);
      return std::string("taken");
    } catch (const Error& error) {
      return error.message();
    }
  };
  const Documents few({40, 40});
  EXPECT_NE(refused(few, {.length = 4, .streams = 3}).find("each sequence is a stream"), std::string::npos);
  EXPECT_NE(refused(few, {.length = 64, .streams = 2}).find("fewer than a segment"), std::string::npos);
  EXPECT_EQ(refused(few, {.length = 40, .streams = 2}), "taken");
  EXPECT_NE(refused(Documents({0, 0}), {.length = 4}).find("no tokens"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
