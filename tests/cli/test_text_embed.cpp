// text embed: the vectors of sentence-transformers for its own folders (tests/peers/make_sentences.py), by
// every form of texts, in shards, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/io/weights/safetensors.h"
#include "tests/cli/words.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;
using SentenceJson = nlohmann::ordered_json;

const SentenceJson& golden_sentences() {
  static const SentenceJson golden =
      SentenceJson::parse(read_text(source_dir() / "tests/golden/sentences/vectors.json"));
  return golden;
}

class TextEmbed : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(source_dir() / "tests/golden/sentences/model", folder_ / "model");
    std::string lines;
    for (const SentenceJson& text : golden_sentences()["texts"]) {
      texts_.push_back(text.get<std::string>());
      lines += SentenceJson{{"body", texts_.back()}}.dump() + "\n";
    }
    write_text(folder_ / "texts.jsonl", lines);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string model() const { return path("model"); }

  // The folder with the settings of a case.
  const SentenceJson& settings_of(const std::string& name) {
    const SentenceJson& one = golden_sentences()["cases"][name];
    fs::create_directories(folder_ / "model/1_Pooling");
    write_text(folder_ / "model/modules.json", one["modules"].dump());
    write_text(folder_ / "model/1_Pooling/config.json", one["pooling"].dump());
    write_text(folder_ / "model/sentence_bert_config.json", one["limits"].dump());
    return one;
  }

  Words command(const Words& more, const std::string& output = "vectors.safetensors") const {
    Words words{"text", "embed", "-m", model(), "-o", path(output), "--device", "cpu"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static RunResult must(const Words& words, const std::string& input = {}) {
    const RunResult result = run_bigbird(words, input);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }
  std::vector<float> vectors(const Words& more, const std::string& input = {}) {
    last_ = must(command(more), input);
    return SafetensorsFile(path("vectors.safetensors")).floats("embeddings");
  }
  static void expect_vectors(const std::vector<float>& found, const SentenceJson& expected) {
    std::size_t at = 0;
    for (const SentenceJson& vector : expected) {
      for (const SentenceJson& value : vector) {
        ASSERT_LT(at, found.size());
        EXPECT_NEAR(found[at], value.get<double>(), 1e-5) << "value " << at;
        ++at;
      }
    }
    EXPECT_EQ(at, found.size());
  }

  TemporaryFolder folder_;
  std::vector<std::string> texts_;
  RunResult last_;
};

TEST_F(TextEmbed, GivesTheVectorsOfSentenceTransformers) {
  for (const auto& [name, ignored] : golden_sentences()["cases"].items()) {
    SCOPED_TRACE(name);
    const SentenceJson& expected = settings_of(name)["vectors"];
    expect_vectors(vectors({path("texts.jsonl"), "--text-column", "body"}), expected);
    EXPECT_NE(last_.err.find("have more than "), std::string::npos) << last_.err;
    expect_vectors(vectors({path("texts.jsonl"), "--text-column", "body", "--batch-tokens", "16"}), expected);
  }
}

TEST_F(TextEmbed, WhatIsTypedGoesBeforeTheFoldersSettings) {
  const SentenceJson normalized = settings_of("mean-normalized")["vectors"];
  const SentenceJson plain = golden_sentences()["cases"]["mean"]["vectors"];
  const Words texts{path("texts.jsonl"), "--text-column", "body"};
  const auto with = [&](const Words& more) {
    Words all = texts;
    all.insert(all.end(), more.begin(), more.end());
    return vectors(all);
  };
  expect_vectors(with({"--normalize", "no"}), plain);
  settings_of("mean");
  expect_vectors(with({"--normalize", "yes"}), normalized);
  expect_vectors(with({"--pool", "cls", "--length", "16"}), golden_sentences()["cases"]["cls"]["vectors"]);
  for (const char* file : {"modules.json", "sentence_bert_config.json"}) fs::remove(folder_ / "model" / file);
  expect_vectors(with({"--length", "12"}), plain);
  EXPECT_NE(last_.err.find("no modules.json"), std::string::npos) << last_.err;
}

TEST_F(TextEmbed, ReadsLinesAndTablesAlike) {
  settings_of("mean");
  write_text(folder_ / "texts.tsv", "id\tbody\nx\tthe cat sat.\ny\tA\n");
  const std::vector<float> table = vectors({path("texts.tsv"), "--text-column", "body"});
  const std::string rows = read_text(folder_ / "vectors.rows.tsv");
  EXPECT_NE(rows.find("\n0\tx\tNA\t0\t12\tNA\tNA\n"), std::string::npos) << rows;
  EXPECT_EQ(vectors({"-", "--format", "lines"}, "the cat sat.\nA\n"), table);
  EXPECT_EQ(vectors({path("texts.tsv"), "--text-column", "body", "--chunk-size", "1"}), table);
}

TEST_F(TextEmbed, TakesTheOptionsOfTables) {
  settings_of("mean");
  write_text(folder_ / "texts.tsv", "name\tbody\tother\nx\t\"the cat\\n sat.\"\ta\n");
  const std::vector<float> plain = vectors({"-", "--format", "lines"}, "the cat sat.\n");
  const Words table{path("texts.tsv"), "--text-column", "body", "--id-column", "name", "--quoting", "csv"};
  EXPECT_EQ(vectors(table + Words{"--newline-escapes", "--header"}), plain);
  EXPECT_NE(read_text(folder_ / "vectors.rows.tsv").find("\n0\tx\t"), std::string::npos);
  const RunResult pairs = run_bigbird(command(table + Words{"--pair-column", "other"}));
  EXPECT_NE(pairs.err.find("two texts in a row"), std::string::npos) << pairs.err;
  write_text(folder_ / "plain.tsv", "the cat sat.\tx\xff\n");
  EXPECT_EQ(
      vectors({path("plain.tsv"), "--no-header", "--text-column", "1", "--replace-invalid", "--resume"}),
      plain);
}

TEST_F(TextEmbed, ShardsMergeToTheSameFile) {
  settings_of("mean-normalized");
  const Words texts{path("texts.jsonl"), "--text-column", "body", "--chunk-size", "2", "--no-provenance"};
  Words merge{"merge"};
  must(command(texts, "whole.npy"));
  for (const char* shard : {"1/2", "2/2"}) {
    Words part = texts;
    part.insert(part.end(), {"--shard", shard});
    const std::string name = std::string("part") + shard[0];
    must(command(part, name));
    merge.push_back(path(name));
  }
  merge.insert(merge.end(), {"-o", path("merged.npy")});
  must(merge);
  EXPECT_EQ(read_text(folder_ / "merged.npy"), read_text(folder_ / "whole.npy"));
  EXPECT_EQ(read_text(folder_ / "merged.rows.tsv"), read_text(folder_ / "whole.rows.tsv"));
}

// Without the settings its vectors would be other ones, and nothing would tell.
TEST_F(TextEmbed, AConvertedFolderKeepsTheSettings) {
  const SentenceJson& expected = settings_of("mean-normalized")["vectors"];
  write_text(folder_ / "model/config_sentence_transformers.json", R"({"prompts": {}})");
  must({"convert", model(), path("converted")});
  const Words texts{path("texts.jsonl"), "--text-column", "body"};
  must(Words{"text", "embed", "-m", path("converted"), "-o", path("converted.safetensors"), "--device",
             "cpu"} +
       texts);
  expect_vectors(SafetensorsFile(path("converted.safetensors")).floats("embeddings"), expected);
  EXPECT_EQ(read_text(folder_ / "converted/config_sentence_transformers.json"), R"({"prompts": {}})");

  const auto left_out = [&](const std::string& said) {
    const RunResult result = must({"convert", model(), path("without"), "--force"});
    EXPECT_NE(result.err.find(said), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("what sentence-transformers reads is left out"), std::string::npos)
        << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "without/modules.json"));
  };
  write_text(folder_ / "config.json", R"({"pooling_mode": "mean"})");
  write_text(folder_ / "model/modules.json",
             R"([{"path": "", "type": "a.Transformer"}, {"path": "..", "type": "a.Pooling"}])");
  left_out("module path .. is not a folder's name");
  write_text(folder_ / "model/modules.json",
             R"([{"path": "", "type": "a.Transformer"}, {"path": "2_Dense", "type": "a.Dense"}])");
  left_out("module a.Dense is not read");
}

TEST_F(TextEmbed, RefusesWhatIsNotRead) {
  settings_of("mean");
  const Words texts{path("texts.jsonl"), "--text-column", "body"};
  const auto refused = [&](const std::string& message, const std::string& hint, const Words& more = {},
                           int status = 1) {
    Words words = command(texts);
    words.insert(words.end(), more.begin(), more.end());
    const RunResult result = run_bigbird(words);
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_NE(result.err.find(hint), std::string::npos) << result.err;
    EXPECT_FALSE(fs::exists(folder_ / "vectors.safetensors"));
  };
  refused("'token' is not a pooling", "mean, cls, max", {"--pool", "token"}, 2);
  refused("--length 2: [CLS], [SEP] and a token are three", "room", {"--length", "2"}, 2);
  refused("--length 17", "", {"--length", "17"}, 2);
  write_text(folder_ / "pairs.tsv", "sentence1\tsentence2\na\tb\n");
  const RunResult pairs = run_bigbird(command({path("pairs.tsv")}));
  EXPECT_NE(pairs.err.find("pairs.tsv:2: two texts in a row"), std::string::npos) << pairs.err;
  EXPECT_NE(pairs.err.find("--text-column"), std::string::npos) << pairs.err;
  write_text(folder_ / "model/1_Pooling/config.json", R"({"pooling_mode_lasttoken": true})");
  refused("1_Pooling/config.json: pooling lasttoken is not read", "--pool");
  write_text(folder_ / "model/1_Pooling/config.json",
             R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true})");
  refused("1_Pooling/config.json: 2 poolings, whose vectors are joined, are not read", "--pool");
  fs::remove(folder_ / "model/1_Pooling/config.json");
  refused("1_Pooling/config.json: no such file, which modules.json names", "copy the folder again");
  write_text(folder_ / "model/modules.json",
             R"([{"path": "", "type": "a.Transformer"}, {"path": "2_Dense", "type": "a.Dense"}])");
  refused("modules.json: module a.Dense is not read", "Normalize");
  write_text(folder_ / "model/modules.json", R"([{"path": "0_Transformer", "type": "a.Transformer"}])");
  refused("modules.json: a Transformer with the path 0_Transformer is not read", "next to modules.json");
  write_text(folder_ / "model/modules.json", R"([{"path": "", "type": "a.Transformer"}])");
  refused("modules.json: no module makes one vector of a text", "Pooling");
  write_text(folder_ / "model/modules.json", "{");
  refused("modules.json: not valid JSON", "copy the folder again");
}

}  // namespace
}  // namespace bigbird::testing
