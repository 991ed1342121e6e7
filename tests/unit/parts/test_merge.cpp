// Outputs of shards put together: their order, what must agree, and rows that are too many or too few.
#include "lib/parts/merge.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <functional>

#include "lib/core/error.h"
#include "lib/io/tables/float_rows.h"
#include "lib/io/tables/npy.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

void expect_refused(const std::string& words, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    EXPECT_FALSE(error.hint().empty());
  }
}

ShardFacts facts(const std::string& output, std::uint64_t index, std::uint64_t count,
                 const std::string& model = "m") {
  return {output, {index, count}, {{"models differ", model}}};
}

TEST(OrderOfShards, IsThatOfTheirNumbers) {
  EXPECT_EQ(order_of_shards({facts("c", 3, 3), facts("a", 1, 3), facts("b", 2, 3)}),
            (std::vector<std::size_t>{1, 2, 0}));
  EXPECT_EQ(order_of_shards({facts("only", 1, 1)}), std::vector<std::size_t>{0});
}

TEST(OrderOfShards, RefusesWhatIsNotAWholeRun) {
  EXPECT_THROW(order_of_shards({}), Error);
  expect_refused("of 3, 2 is missing", [] { order_of_shards({facts("a", 1, 3), facts("c", 3, 3)}); });
  expect_refused("of 4, 1, 4 are missing", [] { order_of_shards({facts("b", 2, 4), facts("c", 3, 4)}); });
  expect_refused("b: shard 1 of 2 is given twice", [] {
    order_of_shards({facts("a", 1, 2), facts("b", 1, 2)});
  });
  expect_refused("a and b: numbers of shards differ", [] {
    order_of_shards({facts("a", 1, 2), facts("b", 2, 3)});
  });
  expect_refused("a and b: models differ", [] {
    order_of_shards({facts("a", 1, 2), facts("b", 2, 2, "other")});
  });
  expect_refused("missing", [] { order_of_shards({facts("a", 1, 1000000)}); });
  expect_refused("not complete", [] {
    order_of_shards({facts("a", 5, 2), facts("b", 1, 2), facts("c", 2, 2)});
  });
}

TEST(ChunksInTurn, GoRoundTheShards) {
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  const auto take = [&](std::size_t shard, std::size_t chunk) { seen.emplace_back(shard, chunk); };
  for_each_chunk_in_turn({2, 2, 1}, {"a", "b", "c"}, take);
  EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, std::size_t>>{{0, 0}, {1, 0}, {2, 0}, {0, 1}, {1, 1}}));
  expect_refused("b: has too few chunks", [&] { for_each_chunk_in_turn({3, 1}, {"a", "b"}, take); });
  expect_refused("a: has too few chunks", [&] { for_each_chunk_in_turn({0, 1}, {"a", "b"}, take); });
}

class MergeFiles : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string table(const std::string& name, const std::string& text) const {
    testing::write_text(path(name), text);
    return path(name);
  }
  std::string matrix(const std::string& name, std::int64_t columns, const std::vector<float>& values) const {
    FloatRowsWriter writer(path(name), columns, {});
    writer.write(values);
    writer.commit();
    return path(name);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(MergeFiles, RowsOfTablesStandInTheOrderOfTheInput) {
  const std::string head = "##made by a run\n#row\tname\n";
  const std::vector<ChunkedTable> shards = {
      {table("one.tsv", head + "0\ta\n1\tb\n2\te\n"), {2, 1}},
      {table("two.tsv", head + "0\tc\n"), {1, 0}},
      {table("three.tsv", "##made elsewhere\n##by another\n#row\tname\n0\td\n"), {1}},
  };
  merge_tables(shards, RowNumbers::anew, path("merged.tsv"));
  EXPECT_EQ(testing::read_text(path("merged.tsv")), head + "0\ta\n1\tb\n2\tc\n3\td\n4\te\n");
  merge_tables(shards, RowNumbers::keep, path("kept.tsv"));
  EXPECT_EQ(testing::read_text(path("kept.tsv")), head + "0\ta\n1\tb\n0\tc\n0\td\n2\te\n");
}

TEST_F(MergeFiles, TablesThatDisagreeWithTheirCountsAreRefused) {
  const std::string one = table("one.tsv", "#name\na\nb\n");
  const std::string two = table("two.tsv", "#name\nc\n");
  const auto merge = [&](const std::vector<ChunkedTable>& shards) {
    return [this, shards] { merge_tables(shards, RowNumbers::keep, path("never.tsv")); };
  };
  expect_refused(two + ": has fewer rows", merge({{one, {2}}, {two, {2}}}));
  expect_refused(one + ": has more rows", merge({{one, {1}}, {two, {1}}}));
  expect_refused("their columns differ", merge({{one, {2}}, {table("other.tsv", "#id\nc\n"), {1}}}));
  EXPECT_FALSE(std::filesystem::exists(path("never.tsv")));
}

// More shards than files that this process may have open.
TEST_F(MergeFiles, ShardsMayBeMoreThanDescriptors) {
  std::vector<ChunkedTable> shards;
  std::string expected = "#name\n";
  for (int i = 0; i < 100; ++i) {
    shards.push_back({table(fmt::format("shard{}.tsv", i), fmt::format("#name\n{}\n", i)), {1}});
    expected += std::to_string(i) + "\n";
  }
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{64, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  try {
    merge_tables(shards, RowNumbers::keep, path("merged.tsv"));
  } catch (const Error& error) {
    ADD_FAILURE() << error.message();
  }
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(testing::read_text(path("merged.tsv")), expected);
}

TEST_F(MergeFiles, LinesHaveNoHead) {
  const std::string one = table("one", "a\nb\n"), two = table("two", "c\n"), none = table("none", "");
  merge_tables({{one, {1, 1}}, {two, {1}}, {none, {0}}}, RowNumbers::no_head, path("merged"));
  EXPECT_EQ(testing::read_text(path("merged")), "a\nc\nb\n");
  const auto merge = [&](std::uint64_t rows_of_one, std::uint64_t rows_of_two) {
    return [=, this] {
      merge_tables({{one, {rows_of_one}}, {two, {rows_of_two}}}, RowNumbers::no_head, path("never"));
    };
  };
  expect_refused(one + ": has more rows", merge(1, 1));
  expect_refused(two + ": has fewer rows", merge(2, 2));
  EXPECT_FALSE(std::filesystem::exists(path("never")));
}

TEST_F(MergeFiles, EntriesOfObjectsStandInOneObject) {
  const std::string one = table("one", "{\n  \"a\": [\n  ],\n  \"c\": 3\n}\n");
  const std::string two = table("two", "{\n  \"b\": \",\"\n}\n"), none = table("none", "{}\n");
  merge_json({{one, {2, 1}}, {two, {1}}, {none, {0}}}, entries_layout(ChunkForm::json_object),
             path("merged"));
  EXPECT_EQ(testing::read_text(path("merged")), "{\n  \"a\": [\n  ],\n  \"b\": \",\",\n  \"c\": 3\n}\n");
  merge_json({{none, {0}}}, entries_layout(ChunkForm::json_object), path("empty"));
  EXPECT_EQ(testing::read_text(path("empty")), "{}\n");
  const auto merge = [&](const std::string& first, std::uint64_t rows) {
    return [this, first, rows, two] {
      merge_json({{first, {rows}}, {two, {1}}}, entries_layout(ChunkForm::json_object), path("never"));
    };
  };
  expect_refused(one + ": has more rows", merge(one, 2));
  expect_refused(one + ": has fewer rows", merge(one, 4));
  expect_refused("no JSON as it was written", merge(table("list", "[\n1\n]\n"), 1));
  expect_refused("cut: has fewer rows", merge(table("cut", "{\n  \"a\": 1\n"), 1));
  // What says that it holds nothing, and holds something; and the other way round.
  expect_refused("no JSON as it was written", merge(one, 0));
  expect_refused("no JSON as it was written", merge(none, 1));
  EXPECT_FALSE(std::filesystem::exists(path("never")));
}

TEST_F(MergeFiles, SectionsAreMergedOneByOne) {
  const auto pair = [this](const std::string& name, const std::string& answers, const std::string& facts) {
    return table(name, "{\n    \"answer\": {\n" + answers + "    },\n    \"sp\": {\n" + facts + "    }\n}\n");
  };
  const std::string one = pair("one", "a,\nc\n", "A,\nC\n"), two = pair("two", "b\n", "B\n");
  const EntriesLayout& layout = entries_layout(ChunkForm::json_answers_and_facts);
  merge_json({{one, {1, 1}}, {two, {1}}}, layout, path("merged"));
  EXPECT_EQ(testing::read_text(path("merged")),
            testing::read_text(pair("all", "a,\nb,\nc\n", "A,\nB,\nC\n")));
  const auto refused = [&](const std::string& words, const std::string& shard) {
    expect_refused(words, [&] { merge_json({{shard, {2}}, {two, {1}}}, layout, path("never")); });
  };
  refused("first: has fewer rows", pair("first", "a\n", "A,\nC\n"));
  refused("second: has fewer rows", pair("second", "a,\nc\n", "A\n"));
  refused("more: has more rows", pair("more", "a,\nc\n", "A,\nB,\nC\n"));
  refused("lines: has other lines",
          table("lines", "{\n    \"answer\": {\na,\nc\n    },\n    \"ps\": {\nA,\nC\n    }\n}\n"));
  refused("tail: has more rows", table("tail", testing::read_text(one) + "x\n"));
  EXPECT_FALSE(std::filesystem::exists(path("never")));
}

TEST_F(MergeFiles, RowsOfMatricesToo) {
  const std::string one = matrix("one.npy", 2, {1, 2, 3, 4, 9, 10});
  const std::string two = matrix("two.npy", 2, {5, 6, 7, 8});
  merge_matrices({{one, {2, 1}}, {two, {2}}}, path("merged.npy"));
  const NpyMatrix merged(path("merged.npy"));
  ASSERT_EQ(merged.rows(), 5u);
  ASSERT_EQ(merged.columns(), 2u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(merged.number(i / 2, i % 2), static_cast<double>(i + 1));
  expect_refused(two + ": has fewer rows", [&] {
    merge_matrices({{one, {3}}, {two, {3}}}, path("never.npy"));
  });
  expect_refused(one + ": has more rows", [&] {
    merge_matrices({{one, {2}}, {two, {2}}}, path("never.npy"));
  });
  const std::string wide = matrix("wide.npy", 3, {1, 2, 3});
  expect_refused(wide, [&] { merge_matrices({{one, {3}}, {wide, {1}}}, path("never.npy")); });
  EXPECT_FALSE(std::filesystem::exists(path("never.npy")));
}

}  // namespace
}  // namespace bigbird
