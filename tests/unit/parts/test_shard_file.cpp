// Files of shards: what is written comes back in the order of the input, and whatever else lies in such a
// file is refused.
#include "lib/parts/chunked_numbers.h"

#include <gtest/gtest.h>

#include <functional>

#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

class ShardFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  static ShardHeader header(std::uint64_t index, std::uint64_t count) {
    ShardHeader header;
    header.kind = "test";
    header.shard = {index, count};
    header.chunk = 2;
    header.identity = {{"length", "4"}};
    header.input_file = {7, std::string(64, 'a')};
    header.output = R"({"width":3})";
    return header;
  }
  // Chunks "0", "1" ... of 7 records.
  std::string shard(const std::string& name, const ShardHeader& header, std::uint64_t records = 7) const {
    ShardFileWriter out(path(name), header);
    for (std::uint64_t chunk = 0; chunk * 2 < records; ++chunk) {
      if (header.shard.takes(chunk)) out.add(std::to_string(chunk));
    }
    out.close(records, std::string(64, 'd'));
    return path(name);
  }
  void expect_refused(const std::string& words, const std::function<void()>& action) const {
    try {
      action();
      ADD_FAILURE() << "no error: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty());
    }
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ShardFileTest, ChunksComeBackInTheOrderOfTheInput) {
  for (std::uint64_t count = 1; count <= 6; ++count) {
    std::vector<std::string> paths;
    for (std::uint64_t index = count; index >= 1; --index) {
      paths.push_back(shard(std::to_string(index), header(index, count)));
      EXPECT_TRUE(is_shard_file(paths.back()));
    }
    const MergedShards merged(paths);
    EXPECT_EQ(merged.records(), 7u);
    EXPECT_EQ(merged.header().shard.index, 1u);
    EXPECT_EQ(merged.header().output, R"({"width":3})");
    std::string chunks;
    merged.for_each([&](std::string_view bytes, const std::string&) { chunks += bytes; });
    EXPECT_EQ(chunks, "0123") << count;
  }
  const ShardHeader read = read_shard_header(path("1"));
  EXPECT_EQ(read.kind, "test");
  EXPECT_EQ(read.identity, (RunIdentity{{"length", "4"}}));
  EXPECT_EQ(read.input_file.bytes, 7u);
}

TEST_F(ShardFileTest, NothingIsThereBeforeItIsWhole) {
  { ShardFileWriter out(path("never"), header(1, 2)); }
  EXPECT_FALSE(is_shard_file(path("never")));
  testing::write_text(path("short"), "bigbird");
  EXPECT_FALSE(is_shard_file(path("short")));
}

TEST_F(ShardFileTest, WhatIsNotOneRunIsNamed) {
  const std::string one = shard("one", header(1, 2));
  const auto with = [&](const std::function<void(ShardHeader&)>& change, std::uint64_t records = 7) {
    ShardHeader other = header(2, 2);
    change(other);
    const std::string two = shard("two", other, records);
    return [=] { const MergedShards merged({one, two}); };
  };
  expect_refused("`length` differs", with([](ShardHeader& other) { other.identity["length"] = "5"; }));
  expect_refused("of other verbs", with([](ShardHeader& other) { other.kind = "another"; }));
  expect_refused("sizes of chunks differ", with([](ShardHeader& other) { other.chunk = 3; }));
  expect_refused("numbers of shards differ", with([](ShardHeader& other) { other.shard.count = 3; }));
  expect_refused("given twice", with([](ShardHeader& other) { other.shard.index = 1; }));
  expect_refused("different records", with([](ShardHeader&) {}, 5));
  expect_refused("of 2, 2 is missing", [&] { const MergedShards merged({one}); });
}

TEST_F(ShardFileTest, EveryCutAndEveryFlippedBitIsFound) {
  const std::string one = shard("one", header(1, 2)), two = shard("two", header(2, 2));
  const std::string whole = testing::read_text(two);
  const auto refused = [&](const std::string& text) {
    testing::write_text(two, text);
    expect_refused("two: ", [&] { const MergedShards merged({one, two}); });
  };
  for (std::size_t size = 0; size < whole.size(); ++size) refused(whole.substr(0, size));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << (at % 8)));
    refused(damaged);
  }
  refused(whole + "x");
}

}  // namespace
}  // namespace bigbird
