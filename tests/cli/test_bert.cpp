// The verbs on BERT folders as transformers writes them, with BERT's vocab.txt: info, check, fill-mask,
// embed, convert, quantize, and fine-tuning of classes and answers.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/words.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

namespace fs = std::filesystem;
using BertVerbJson = nlohmann::json;

class BertVerbs : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::copy(source_dir() / "tests/golden/dialects/bert", folder_ / "masked");
    fs::copy(source_dir() / "tests/golden/sentences/model", folder_ / "encoder");
    std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n";
    for (char letter = 'a'; letter <= 'q'; ++letter) {
      vocabulary += std::string(1, letter) + "\n##" + std::string(1, letter) + "\n";
    }
    write_text(folder_ / "masked/vocab.txt", vocabulary);  // 40 pieces
    std::string table = "sentence,label\n", lines;
    for (int i = 0; i < 12; ++i) {
      const std::string text =
          i % 2 == 0 ? "the cat sat" : "un" + std::string(static_cast<std::size_t>(i), 'x');
      table += text + "," + (i % 2 == 0 ? "yes" : "no") + "\n";
      lines += "abc de fgh ijk lm nop q abc.\n\n";
    }
    write_text(folder_ / "table.csv", table);
    write_text(folder_ / "lines.txt", lines);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  BertVerbJson config(const std::string& folder) const {
    return BertVerbJson::parse(read_text(folder_ / folder / "config.json"));
  }
  static RunResult must(const Words& words) {
    const RunResult result = run_bigbird(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  }

  TemporaryFolder folder_;
};

TEST_F(BertVerbs, ABertIsDescribedCheckedAndFillsMasks) {
  const auto info = BertVerbJson::parse(must({"info", path("masked"), "--json"}).out);
  EXPECT_EQ(info.at("dialect"), "bert");
  EXPECT_EQ(info.at("attention"), "full");
  EXPECT_EQ(info.at("tokenizer").at("pieces"), 40);
  const std::string checks = must({"check", path("masked")}).out;
  EXPECT_TRUE(holds(checks, "tensors\tok\t")) << checks;
  EXPECT_TRUE(holds(checks, "tokenizer\tok\t40 pieces")) << checks;
  const std::string filled =
      must({"fill-mask", "-m", path("masked"), "ab [MASK] cd", "--top", "2", "--device", "cpu"}).out;
  EXPECT_TRUE(holds(filled, "[MASK]") || holds(filled, "\t")) << filled;
  must({"embed", "-m", path("encoder"), "--lines", path("lines.txt"), "-o", path("vectors.npy"), "--device",
        "cpu"});
}

TEST_F(BertVerbs, ConvertedItIsABertOfTheSameNumbersOrABigBird) {
  must({"convert", path("masked"), path("same")});
  EXPECT_EQ(config("same").at("model_type"), "bert");
  EXPECT_EQ(config("same").at("architectures").at(0), "BertForMaskedLM");
  EXPECT_EQ(BertVerbJson::parse(must({"info", path("same"), "--json"}).out).at("loads_in_transformers"),
            true);
  EXPECT_EQ(config("same").at("max_position_embeddings"), 128);
  must({"check", path("same")});
  for (const char* folder : {"masked", "same"}) {
    must({"embed", "-m", path(folder), "--lines", path("lines.txt"), "-o", path(folder) + ".npy", "--device",
          "cpu", "--no-provenance"});
  }
  EXPECT_EQ(read_text(folder_ / "same.npy"), read_text(folder_ / "masked.npy"));
  EXPECT_EQ(BertVerbJson::parse(must({"info", path("same"), "--json"}).out).at("tokenizer").at("sha256"),
            BertVerbJson::parse(must({"info", path("masked"), "--json"}).out).at("tokenizer").at("sha256"));
  // Other attention begins a BigBird, as before.
  const RunResult sparse = must({"convert", path("masked"), path("sparse"), "--attention", "bigbird"});
  EXPECT_TRUE(holds(sparse.err, "BERT as a warm start for BigBird")) << sparse.err;
  EXPECT_EQ(config("sparse").at("max_position_embeddings"), 1024);
  EXPECT_EQ(config("sparse").at("attention_type"), "block_sparse");
}

TEST_F(BertVerbs, ItIsFineTunedForClassesAndAnswers) {
  must({"text", "classify", "finetune", "--train", path("table.csv"), "--init", path("encoder"), "-o",
        path("classes"), "--steps", "2", "--batch", "4", "--length", "16", "--device", "cpu"});
  EXPECT_EQ(config("classes/final").at("architectures").at(0), "BertForSequenceClassification");
  const std::string scores = must({"text", "classify", "predict", "-m", path("classes/final"),
                                   path("table.csv"), "--device", "cpu", "--no-provenance"})
                                 .out;
  EXPECT_TRUE(holds(scores, "id\tlabel\tscore")) << scores;
  write_text(folder_ / "questions.json",
             R"({"version": "1.1", "data": [{"title": "t", "paragraphs": [{"context": "the cat sat",
                 "qas": [{"id": "1", "question": "a b", "answers": [{"text": "cat", "answer_start": 4}]}]}]}]})");
  must({"text", "qa", "finetune", "--train", path("questions.json"), "--init", path("encoder"), "-o",
        path("answers"), "--steps", "2", "--batch", "2", "--length", "16", "--overlap", "2", "--device",
        "cpu"});
  must({"check", path("answers/final")});
  must({"text", "qa", "predict", "-m", path("answers/final"), path("questions.json"), "-o", path("a.json"),
        "--length", "16", "--overlap", "2", "--device", "cpu"});
}

TEST_F(BertVerbs, ItsMaskedTokensAreLearntAndItsLayersBecomeIntegers) {
  must({"text", "pretrain-data", path("lines.txt"), "-m", path("masked"), "-o", path("shards")});
  must({"pretrain", "--train", path("shards"), "-m", path("masked"), "--init", path("masked"), "-o",
        path("run"), "--steps", "1", "--batch", "2", "--length", "64", "--device", "cpu"});
  EXPECT_EQ(config("run/final").at("architectures").at(0), "BertForPreTraining");
  must({"quantize", path("masked"), "-o", path("int8"), "--data", path("shards"), "--max-loss", "10"});
  must({"check", path("int8")});
  must({"fill-mask", "-m", path("int8"), "ab [MASK] cd", "--device", "cpu"});
}

}  // namespace
}  // namespace bigbird::testing
