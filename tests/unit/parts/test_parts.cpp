// The engine of work in parts: chunks that are on their way together are written in the order of the input,
// become bytes only where these are kept, and are not computed again by a run that goes on.
#include "lib/parts/parts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {

// A number and a text, which count how often they became bytes.
struct CountedResult {
  std::int32_t number = 0;
  std::string text;
  inline static int became_bytes = 0;
};
template <typename Bytes>
void pass(Bytes& bytes, CountedResult& result) {
  if (!Bytes::reads) ++CountedResult::became_bytes;
  bytes(result.number, result.text);
}

namespace {

using Numbers = std::vector<std::int32_t>;

class PartsTest : public ::testing::Test {
 protected:
  PartsTest() { CountedResult::became_bytes = 0; }

  // The numbers from 0 to `end`, two a chunk, whose results are their sums; done when `done` says so.
  PartSteps<Numbers, CountedResult> steps(std::int32_t end) {
    PartSteps<Numbers, CountedResult> of;
    of.read = [this, end](Numbers& chunk) {
      return read_records(chunk, 2, [&](std::int32_t& number) { return (number = read_++) < end; });
    };
    of.key = [](const Numbers& chunk) {
      return ChunkKey{chunk.size(), std::string(64, static_cast<char>('a' + chunk.front()))};
    };
    of.begin = [this](Numbers& chunk, const std::function<void(CountedResult)>& done) {
      begun_.push_back(chunk.front());
      done({chunk.front() + (chunk.size() > 1 ? chunk.back() : 0), "x"});
    };
    of.write = [this](Numbers& chunk, const CountedResult& result, const ChunkPlace& place) {
      EXPECT_EQ(result.number, chunk.front() + (chunk.size() > 1 ? chunk.back() : 0));
      EXPECT_EQ(result.text, "x");
      written_.push_back(chunk.front());
      new_ += place.is_new ? 1 : 0;
    };
    return of;
  }
  std::string parts() const { return (folder_.path() / "out.parts").string(); }

  testing::TemporaryFolder folder_;
  std::int32_t read_ = 0;
  std::vector<std::int32_t> begun_, written_;
  int new_ = 0;
};

TEST_F(PartsTest, NothingBecomesBytesWhereNothingIsKept) {
  Parts run({2, {}});
  run.run(steps(5));
  EXPECT_EQ(written_, (std::vector<std::int32_t>{0, 2, 4}));
  EXPECT_EQ(CountedResult::became_bytes, 0);
  EXPECT_EQ(run.records(), 5u);
  EXPECT_EQ(run.taken_records(), 5u);
}

TEST_F(PartsTest, AShardTakesItsChunksAndCountsAll) {
  Parts run({2, {2, 3}});
  run.run(steps(9));
  EXPECT_EQ(written_, (std::vector<std::int32_t>{2, 8}));
  EXPECT_EQ(run.records(), 9u);
  EXPECT_EQ(run.taken_records(), 3u);
}

TEST_F(PartsTest, WhatIsOnItsWayIsWrittenInTheOrderOfTheInput) {
  std::vector<std::function<void()>> waiting;
  std::size_t most = 0;
  PartSteps<Numbers, CountedResult> late = steps(100);
  const auto compute = late.begin;
  late.works_ahead = true;
  // Every third chunk is there at once; the others come when all are wanted, the last first.
  late.begin = [&](Numbers& chunk, const std::function<void(CountedResult)>& done) {
    if (chunk.front() % 3 == 0) return compute(chunk, done);
    waiting.emplace_back([&chunk, done, &compute] { compute(chunk, done); });
    most = std::max(most, waiting.size());
  };
  late.finish = [&] {
    for (; !waiting.empty(); waiting.pop_back()) waiting.back()();
  };
  Parts run({2, {}});
  run.run(late);
  ASSERT_EQ(written_.size(), 50u);
  for (std::int32_t i = 0; i < 50; ++i) EXPECT_EQ(written_[static_cast<std::size_t>(i)], 2 * i);
  EXPECT_GT(most, 5u);
  EXPECT_LT(most, 20u) << "chunks that wait are bounded";
}

TEST_F(PartsTest, ARunThatGoesOnComputesWhatIsLeft) {
  {
    Parts run({2, {}});
    run.keep_chunks(parts(), "identity");
    PartSteps<Numbers, CountedResult> stops = steps(9);
    stops.write = [](Numbers& chunk, const CountedResult&, const ChunkPlace&) {
      if (chunk.front() == 4) throw_runtime("the disk is full");
    };
    EXPECT_THROW(run.run(stops), Error);
    EXPECT_EQ(CountedResult::became_bytes, 3);
  }
  EXPECT_TRUE(std::filesystem::exists(parts() + "/chunk-00000002")) << "kept before it was written";
  read_ = 0;
  begun_.clear();
  std::string bytes;
  Parts run({2, {}, Restart::resume});
  run.keep_chunks(parts(), "identity");
  run.copy_bytes_to([&](std::string_view one) { bytes += one; });
  run.run(steps(9));
  EXPECT_EQ(begun_, (std::vector<std::int32_t>{6, 8}));
  EXPECT_EQ(written_, (std::vector<std::int32_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(new_, 2);
  EXPECT_EQ(run.resumed_records(), 6u);
  EXPECT_EQ(bytes.size(), 5u * (4 + 8 + 1)) << "those of the run before too";
  run.close({}, [](OutputSet&) {});
  EXPECT_FALSE(std::filesystem::exists(parts()));
}

TEST(ChunkBytes, ComeBackAsTheyWerePut) {
  std::int32_t number = -7;
  std::vector<float> floats = {1.5f, -2.0f};
  std::vector<double> doubles;
  std::vector<std::vector<std::string>> texts = {{"a", ""}, {}};
  std::uint64_t last = 3;
  ChunkBytesWriter writer;
  writer(number, floats, doubles, texts, last);
  const std::string bytes = writer.take();
  number = 0;
  floats.clear();
  doubles = {1};
  texts.clear();
  ChunkBytesReader reader(bytes, "part");
  reader(number, floats, doubles, texts);
  EXPECT_EQ(number, -7);
  EXPECT_EQ(floats, (std::vector<float>{1.5f, -2.0f}));
  EXPECT_TRUE(doubles.empty());
  EXPECT_EQ(texts, (std::vector<std::vector<std::string>>{{"a", ""}, {}}));
  // A count of more than is left is refused before room is made for it.
  EXPECT_THROW(reader(texts), Error);
  EXPECT_THROW(reader(number, last), Error);
}

}  // namespace
}  // namespace bigbird
