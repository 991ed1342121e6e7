// Outputs made chunk by chunk: what a shard leaves beside them, what a resumed run takes up, and what is put
// together from shards.
#include "lib/parts/chunked_outputs.h"
#include "lib/parts/merge.h"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

constexpr std::array<const char*, 4> chunk_ends = {".tsv", ".json", ".list", ".pair"};

class ChunkedOutputsTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string file(const std::string& name) const { return testing::read_text(path(name)); }

  // Numbers 0 to `records` as rows and as entries of every layout, two to a chunk; `made`: the chunks that
  // were made. `stop`: before which chunk the run ends.
  void run(const std::string& name, const ChunkedWork& work, std::uint64_t records = 7,
           std::uint64_t stop = 100, const RunIdentity& identity = {{"length", "4"}}) {
    made_.clear();
    ChunkedOutputs outputs({{path(name + ".tsv"), "tsv", ChunkForm::lines, "##a\n#n\n"},
                            {path(name + ".json"), "object", ChunkForm::json_object},
                            {path(name + ".list"), "list", ChunkForm::json_predictions},
                            {path(name + ".pair"), "pair", ChunkForm::json_answers_and_facts}},
                           identity, path("input"), work);
    whole_ = outputs.are_whole();
    if (whole_) return;
    std::uint64_t number = 0;
    const auto next = [&](std::uint64_t& record) {
      if (number / work.chunk == stop) throw Stopped();
      record = number++;
      return record < records;
    };
    const auto digest = [](Sha256& of, std::uint64_t record) { of.update(&record, sizeof record); };
    try {
      outputs.run<std::uint64_t>(next, digest, [&](const auto& chunk) { make(outputs, chunk, work); }, {});
    } catch (const Stopped&) {
      return;
    }
    EXPECT_EQ(outputs.records(), records);
    resumed_ = outputs.resumed_records();
  }
  struct Stopped {};
  void make(ChunkedOutputs& outputs, const std::vector<std::uint64_t>& chunk, const ChunkedWork& work) {
    made_.push_back(chunk.front() / work.chunk);
    std::string object = "{", list = "{\"predictions\": [", answers = "{\n    \"answer\": {";
    std::string facts = "\n    },\n    \"sp\": {";
    for (const std::uint64_t i : chunk) {
      const bool first = i == chunk.front();
      outputs.write(0, std::to_string(i) + "\n");
      list += (first ? "\n" : ",\n") + std::to_string(i);
      answers += (first ? "\n        \"" : ",\n        \"") + std::to_string(i) + "\": \"a\"";
      facts += (first ? "\n        \"" : ",\n        \"") + std::to_string(i) + "\": []";
      object += (first ? "\n    \"" : ",\n    \"") + std::to_string(i) + "\": [\n        " +
                std::to_string(i) + "\n    ]";
    }
    outputs.write(1, object + "\n");
    outputs.write(1, "}\n");
    outputs.write(2, list + "\n]}\n");
    outputs.write(3, answers + facts + "\n    }\n}\n");
  }
  static ChunkedWork work(Shard shard = {}, Restart restart = Restart::refuse) { return {2, shard, restart}; }
  void expect_refused(const std::string& words, const std::function<void()>& action) {
    try {
      action();
      ADD_FAILURE() << "no error: " << words;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty());
    }
  }

  testing::TemporaryFolder folder_;
  std::vector<std::uint64_t> made_;
  std::uint64_t resumed_ = 0;
  bool whole_ = false;
};

TEST_F(ChunkedOutputsTest, TheTextsOfChunksBecomeOne) {
  run("whole", work(), 3);
  EXPECT_EQ(file("whole.tsv"), "##a\n#n\n0\n1\n2\n");
  EXPECT_EQ(file("whole.json"),
            "{\n    \"0\": [\n        0\n    ],\n    \"1\": [\n        1\n    ],\n"
            "    \"2\": [\n        2\n    ]\n}\n");
  EXPECT_EQ(file("whole.list"), "{\"predictions\": [\n0,\n1,\n2\n]}\n");
  EXPECT_EQ(file("whole.pair"),
            "{\n    \"answer\": {\n        \"0\": \"a\",\n        \"1\": \"a\",\n        \"2\": \"a\"\n"
            "    },\n    \"sp\": {\n        \"0\": [],\n        \"1\": [],\n        \"2\": []\n    }\n}\n");
  EXPECT_FALSE(std::filesystem::exists(output_shard_path(path("whole.tsv"))));
  EXPECT_FALSE(std::filesystem::exists(path("whole.tsv.parts")));
  run("none", work(), 0);
  EXPECT_EQ(file("none.tsv"), "##a\n#n\n");
  EXPECT_EQ(file("none.json"), "{}\n");
  EXPECT_EQ(file("none.list"), "{\"predictions\": []}\n");
  EXPECT_EQ(file("none.pair"), "{\n    \"answer\": {},\n    \"sp\": {}\n}\n");
}

TEST_F(ChunkedOutputsTest, ShardsOfAnyNumberMergeToTheWhole) {
  run("whole", work());
  for (std::uint64_t count = 1; count <= 6; ++count) {
    std::map<std::string, std::vector<std::string>> shards;
    for (std::uint64_t index = count; index >= 1; --index) {
      const std::string name = std::to_string(index) + "of" + std::to_string(count);
      run(name, work({index, count}));
      for (const char* end : chunk_ends) shards[end].push_back(path(name + end));
    }
    if (count == 1) {
      expect_refused("nothing that names its shard", [&] { merge_outputs(shards[".tsv"], path("never")); });
      continue;
    }
    for (const std::string end : chunk_ends) {
      EXPECT_EQ(merge_outputs(shards[end], path("merged" + end)), 7u);
      EXPECT_EQ(file("merged" + end), file("whole" + end)) << count;
    }
  }
  const OutputShard shard = read_output_shard(path("2of3.json"));
  EXPECT_EQ(shard.lines, std::vector<std::uint64_t>{6});
  EXPECT_EQ(shard.kind, "object");
  EXPECT_EQ(shard.records, 7u);
  EXPECT_EQ(shard.identity, (RunIdentity{{"length", "4"}}));
  EXPECT_FALSE(shard.has_head);
}

TEST_F(ChunkedOutputsTest, AResumedRunMakesWhatIsLeft) {
  run("whole", work());
  run("broken", work(), 7, 2);
  EXPECT_FALSE(std::filesystem::exists(path("broken.tsv")));
  EXPECT_TRUE(std::filesystem::exists(path("broken.tsv.parts/chunk-00000001")));
  const auto again = [&](const ChunkedWork& with, const RunIdentity& identity) {
    return [=, this] { run("broken", with, 7, 100, identity); };
  };
  expect_refused("did not end", again(work(), {{"length", "4"}}));
  expect_refused("another run", again(work({}, Restart::resume), {{"length", "5"}}));
  expect_refused("another run", again(work({1, 2}, Restart::resume), {{"length", "4"}}));
  expect_refused("another run", again({3, {}, Restart::resume}, {{"length", "4"}}));
  run("broken", work({}, Restart::resume));
  EXPECT_EQ(made_, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(resumed_, 4u);
  for (const std::string end : chunk_ends) EXPECT_EQ(file("broken" + end), file("whole" + end));
  EXPECT_FALSE(std::filesystem::exists(path("broken.tsv.parts")));
}

TEST_F(ChunkedOutputsTest, SettingsThatDifferAreNamed) {
  run("one", work({1, 2}));
  run("two", work({2, 2}), 7, 100, {{"length", "5"}});
  expect_refused("one.tsv and " + path("two.tsv") + ": `length` differs", [&] {
    merge_outputs({path("one.tsv"), path("two.tsv")}, path("never"));
  });
  run("two", work({2, 2}), 6);
  expect_refused("different records", [&] {
    merge_outputs({path("one.tsv"), path("two.tsv")}, path("never"));
  });
  expect_refused("what is in them differs", [&] {
    merge_outputs({path("one.tsv"), path("two.json")}, path("never"));
  });
  expect_refused("of 2, 2 is missing", [&] { merge_outputs({path("one.tsv")}, path("never")); });
  // The last chunk is gone from what the shard says and from what it holds: nothing is missed by chance.
  run("two", work({2, 2}));
  OutputShard shard = read_output_shard(path("two.tsv"));
  shard.lines.pop_back();
  shard.output = {};  // as of an earlier version, which did not say
  write_output_shard(path("two.tsv"), shard);
  testing::write_text(path("two.tsv"), "##a\n#n\n2\n3\n");
  expect_refused("its input has 4 chunks, the shards 3", [&] {
    merge_outputs({path("one.tsv"), path("two.tsv")}, path("never"));
  });
  EXPECT_FALSE(std::filesystem::exists(path("never")));
}

TEST_F(ChunkedOutputsTest, AShardThatWasCutIsNotMerged) {
  run("one", work({1, 2}));
  run("two", work({2, 2}));
  const std::string whole = file("two.tsv");
  std::string changed = whole;
  changed.replace(changed.find('3'), 1, "9");
  for (const std::string& text : {whole.substr(0, whole.size() - 2), whole + "x\n", changed}) {
    testing::write_text(path("two.tsv"), text);
    expect_refused("two.tsv: was cut or changed", [&] {
      merge_outputs({path("one.tsv"), path("two.tsv")}, path("never"));
    });
  }
  EXPECT_FALSE(std::filesystem::exists(path("never")));
}

TEST_F(ChunkedOutputsTest, WhatIsWholeIsNotMadeAgain) {
  testing::write_text(path("input"), "records");
  const auto with = [](Restart restart, Shard shard = {1, 2}) {
    return ChunkedWork{2, shard, restart, false, true};
  };
  const auto is_made = [&](const ChunkedWork& how, const RunIdentity& identity = {{"length", "4"}}) {
    run("out", how, 7, 100, identity);
    return !whole_;
  };
  EXPECT_TRUE(is_made(with(Restart::refuse)));
  EXPECT_FALSE(is_made(with(Restart::resume)));
  EXPECT_FALSE(is_made(with(Restart::automatic)));
  EXPECT_TRUE(is_made(with(Restart::refuse)));  // as it always was: it is written anew
  EXPECT_TRUE(is_made(with(Restart::force)));
  EXPECT_FALSE(std::filesystem::exists(path("out.tsv.parts.lease")));

  // Anything that is not as this run would make it.
  EXPECT_TRUE(is_made(with(Restart::automatic), {{"length", "5"}}));
  EXPECT_TRUE(is_made(with(Restart::automatic)));
  EXPECT_TRUE(is_made(with(Restart::automatic, {2, 2})));
  EXPECT_TRUE(is_made(with(Restart::automatic)));
  testing::write_text(path("input"), "others!");
  EXPECT_TRUE(is_made(with(Restart::automatic)));
  EXPECT_FALSE(is_made(with(Restart::automatic)));
  testing::write_text(path("out.pair"), file("out.pair").substr(1));
  EXPECT_TRUE(is_made(with(Restart::automatic)));
  std::filesystem::remove(path("out.json.shard.json"));
  EXPECT_TRUE(is_made(with(Restart::automatic)));
  testing::write_text(path("out.json.shard.json"), "{");
  EXPECT_TRUE(is_made(with(Restart::automatic)));
  std::filesystem::remove(path("input"));  // nor where the input is no file to be compared
  EXPECT_TRUE(is_made(with(Restart::automatic)));

  // A run of one shard says so, and is merged like any other.
  testing::write_text(path("input"), "records");
  EXPECT_TRUE(is_made(with(Restart::automatic, {1, 1})));
  EXPECT_FALSE(is_made(with(Restart::automatic, {1, 1})));
  EXPECT_EQ(merge_outputs({path("out.tsv")}, path("merged")), 7u);
  EXPECT_EQ(file("merged"), file("out.tsv"));
}

TEST_F(ChunkedOutputsTest, NothingIsKeptWhereItCannotBeReadAgain) {
  const auto open = [&](const std::string& output, const std::string& input, const ChunkedWork& with) {
    return [=] { ChunkedOutputs({{output, "tsv"}}, {}, input, with); };
  };
  expect_refused("standard input", open(path("x"), "-", work({}, Restart::resume)));
  expect_refused("stdout or a device", open("-", path("input"), work({}, Restart::resume)));
  expect_refused("`shard` 1/2", open("/dev/null", path("input"), work({1, 2})));
  ChunkedOutputs piped({{path("x"), "tsv"}}, {}, "-", work());
  bool read = false;
  const auto once = [&](int&) { return !std::exchange(read, true); };
  piped.run<int>(
      once, [](Sha256&, int) {},
      [&](const auto&) {
        piped.write(0, "row\n");
        EXPECT_FALSE(std::filesystem::exists(path("x.parts")));
      },
      {"there is nothing", "give something"});
  EXPECT_EQ(file("x"), "row\n");
}

TEST_F(ChunkedOutputsTest, AnInputWithoutRecordsIsRefused) {
  ChunkedOutputs outputs({{path("x"), "tsv"}}, {}, path("input"), work());
  expect_refused("there is nothing", [&] {
    outputs.run<int>([](int&) { return false; }, [](Sha256&, int) {}, [](const auto&) {},
                     {"there is nothing", "give something"});
  });
  EXPECT_FALSE(std::filesystem::exists(path("x")));
}

}  // namespace
}  // namespace bigbird
