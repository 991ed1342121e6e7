// text tag finetune, predict and evaluate on sentences of letters: what is learned comes back, long sentences
// are read in windows, shards are a whole run, and inputs that must be refused leave nothing behind.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

using Json = nlohmann::json;

// The words a and b are names, of one or two words; others are none.
class TextTag : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyTextModel encoder;
    encoder.head = HeadType::masked_lm;
    write_tiny_text_model(path("pre"), encoder);
    std::string rows;
    for (int i = 0; i < 24; ++i) {
      const auto word = [&](int at) { return std::string(1, static_cast<char>('d' + (5 * i + at) % 9)); };
      rows += word(1) + "\tO\na\tB-X\n" + (i % 2 == 0 ? "b\tI-X\n" : "") + word(2) + " " + "\tO\n" +
              (i % 3 == 0 ? "cc\tB-Y\n" : "") + "\n";
    }
    write("train.conll", rows);
    must(finetune("run", {"--valid", path("train.conll"), "--steps", "120", "--batch", "8", "--lr", "0.01",
                          "--optimizer", "torch", "--dropout", "0", "--length", "32"}));
  }

  static Words finetune(const std::string& run, const Words& more, const std::string& train = "train.conll",
                        const std::string& init = "pre") {
    return Words{"text", "tag",     "finetune", "--train", path(train), "--init", path(init),
                 "-o",   path(run), "--device", "cpu",     "-@",        "1"} +
           more;
  }
  static Words predict(const Words& more, const std::string& model = "run/final") {
    return Words{"text", "tag", "predict", "-m", path(model), "--no-provenance"} + more;
  }
  static Words evaluate(const Words& more) {
    return Words{"text", "tag", "evaluate", "--no-provenance", "--data"} + more;
  }
  static void refused(const Words& words, int status, const std::string& says) {
    const RunResult run = run_bigbird(words);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_TRUE(holds(run.err, says)) << run.err;
    EXPECT_TRUE(holds(run.err, "hint: ")) << run.err;
  }
};

TEST_F(TextTag, WhatWasLearnedComesBack) {
  const Json scores =
      Json::parse(must(evaluate({path("train.conll"), "-m", path("run/final"), "--baseline-from",
                                 path("train.conll"), "--table", path("types.tsv")}))
                      .out);
  EXPECT_DOUBLE_EQ(scores["f1"], 1.0) << scores.dump(1);
  EXPECT_DOUBLE_EQ(scores["accuracy"], 1.0);
  EXPECT_EQ(scores["sentences"], 24);
  EXPECT_EQ(scores["per_type"]["X"]["support"], 24);
  EXPECT_EQ(scores["per_type"]["Y"]["support"], 8);
  EXPECT_EQ(scores["majority"]["label"], "O");
  EXPECT_DOUBLE_EQ(scores["baseline"]["most_frequent_label_of_each_word"]["f1"], 1.0);
  EXPECT_TRUE(holds(read_text(path("types.tsv")), "X\t1\t1\t1\t24\t24\n"));
  const RunResult one = must(predict({"--text", "e a b f"}));
  EXPECT_TRUE(holds(one.out, "e\tO\t0.")) << one.out;
  EXPECT_TRUE(holds(one.out, "\na\tB-X\t0.")) << one.out;
  EXPECT_TRUE(holds(one.out, "\nb\tI-X\t0.")) << one.out;
  const Json json = Json::parse(must(predict({"--text", "e a b f", "-O", "jsonl"})).out);
  EXPECT_EQ(json["entities"], Json::parse(R"([{"type": "X", "start": 1, "end": 3, "text": "a b"}])"));
  const Json config = Json::parse(read_text(path("run/final/config.json")));
  EXPECT_EQ(config["architectures"][0], "BigBirdForTokenClassification");
  EXPECT_EQ(config["id2label"], Json::parse(R"({"0": "B-X", "1": "B-Y", "2": "I-X", "3": "O"})"));
  EXPECT_TRUE(holds(must({"info", path("run/final")}).out, "bigbird text tag predict"));
  must({"check", path("run/final")});
}

TEST_F(TextTag, PredictionsAreThoseOfTheModelInBothForms) {
  const std::string of_model = must(evaluate({path("train.conll"), "-m", path("run/final")})).out;
  for (const std::string form : {"conll", "jsonl"}) {
    must(predict({path("train.conll"), "-O", form, "-o", path("words." + form)}));
    Json scores =
        Json::parse(must(evaluate({path("train.conll"), "--predictions", path("words." + form)})).out);
    Json expected = Json::parse(of_model);
    for (const char* of_tally : {"read_in_windows", "words_without_piece"}) expected.erase(of_tally);
    EXPECT_EQ(scores, expected) << form;
  }
  // The same from JSON Lines, without labels.
  write("a.jsonl", "{\"tokens\": [\"e\", \"a\", \"\", \"b\"]}\n{\"tokens\": []}\n");
  const RunResult run = must(predict({path("a.jsonl"), "-O", "jsonl"}));
  EXPECT_TRUE(holds(run.out, "\"labels\":[\"O\",\"B-X\",\"O\",\"I-X\"]")) << run.out;
  EXPECT_TRUE(holds(run.out, "\"id\":\"1\",\"tokens\":[]")) << run.out;
  EXPECT_TRUE(holds(run.err, "1 of 4 words have no piece")) << run.err;
}

TEST_F(TextTag, LongSentencesAreReadInWindowsAndLoseNothing) {
  std::string words;
  for (int i = 0; i < 60; ++i) words += i % 7 == 3 ? "a\n" : "e\n";
  write("long.conll", words);
  const RunResult run = must(predict({path("long.conll"), "--length", "16"}));
  EXPECT_TRUE(holds(run.err, "1 of 1 sentences have more than 16 tokens")) << run.err;
  EXPECT_EQ(std::count(run.out.begin(), run.out.end(), '\n'), 61);
  // Without an overlap they are sentences of as many words as fit: 14 of a piece each.
  std::string cut;
  int word = 0;
  for (const char letter : words) {
    cut += letter;
    if (letter == '\n' && ++word % 14 == 0) cut += '\n';
  }
  write("cut.conll", cut);
  std::string apart = must(predict({path("long.conll"), "--length", "16", "--overlap", "0"})).out;
  std::string pieces = must(predict({path("cut.conll")})).out;
  for (std::string* const text : {&apart, &pieces}) {
    for (std::size_t at; (at = text->find("\n\n")) != std::string::npos;) text->erase(at, 1);
  }
  EXPECT_EQ(apart, pieces);
  EXPECT_NE(run.out, must(predict({path("long.conll"), "--length", "16", "--overlap", "0"})).out);
  refused(predict({path("long.conll"), "--length", "16", "--overlap", "14"}), 2, "--overlap 14");
  refused(predict({path("long.conll"), "--length", "2"}), 2, "--length 2");
}

TEST_F(TextTag, ShardsAndChunksAreTheWholeRun) {
  const std::string whole = must(predict({path("train.conll")})).out;
  EXPECT_EQ(whole,
            must(predict({path("train.conll"), "--chunk-size", "5", "-@", "2", "--batch-tokens", "64"})).out);
  Words merge = {"merge", "-o", path("merged.conll")};
  for (const char* shard : {"1/2", "2/2"}) {
    merge.push_back(path(std::string("part") + shard[0] + ".conll"));
    must(predict({path("train.conll"), "--chunk-size", "5", "--shard", shard, "-o", merge.back()}));
  }
  must(merge);
  EXPECT_EQ(read_text(path("merged.conll")), whole);
}

// A stopped run goes on to the same bytes; other forms of the data are the same data.
TEST_F(TextTag, TrainingGoesOnExactlyAndReadsEveryForm) {
  const Words more = {"--batch", "8", "--no-provenance", "--overlap", "2", "--whitespace", "keep"};
  must(finetune("whole", more + Words{"--steps", "6"}));
  must(finetune("parts", more + Words{"--steps", "6", "--save-every", "3"}));
  std::filesystem::remove_all(path("parts/final"));
  std::filesystem::remove_all(path("parts/checkpoint-6"));
  must(finetune("parts", more + Words{"--steps", "6", "--save-every", "3", "--resume"}));
  EXPECT_EQ(read_text(path("whole/final/model.safetensors")),
            read_text(path("parts/final/model.safetensors")));
  write("four.conll", "x e O\nx a B-X\n\nx d O\n");
  must(finetune("columns",
                {"--steps", "2", "--token-column", "2", "--label-column", "3", "--format", "conll"},
                "four.conll"));
  must(finetune("fresh", {"--steps", "2", "--fresh-head"}, "four.conll", "run/final"));
  refused(finetune("other", {"--steps", "2"}, "four.conll", "run/final"), 1, "--fresh-head");
  must(finetune("named", {"--steps", "2", "--classes", "B-X,B-Y,I-X,O"}, "four.conll", "run/final"));
}

// Each reaches what it names, or a run with it is another one.
TEST_F(TextTag, TakesTheOptionsOfTraining) {
  must(finetune("options", {"--ascii-punctuation",
                            "--recipe",
                            "paper",
                            "--accumulate",
                            "2",
                            "--batch",
                            "8",
                            "--epochs",
                            "1",
                            "--warmup",
                            "1",
                            "--schedule",
                            "inverse-sqrt",
                            "--beta1",
                            "0.8",
                            "--beta2",
                            "0.9",
                            "--epsilon",
                            "1e-7",
                            "--weight-decay",
                            "0.1",
                            "--clip-norm",
                            "1",
                            "--layer-decay",
                            "0.9",
                            "--average",
                            "0.9",
                            "--grad-checkpoint",
                            "--memory-limit",
                            "8G",
                            "--debug-nan",
                            "--keep-last",
                            "1",
                            "--keep-best",
                            "1",
                            "--final",
                            "best",
                            "--patience",
                            "9",
                            "--eval-every",
                            "2",
                            "--valid",
                            path("train.conll"),
                            "--force"}));
  EXPECT_TRUE(holds(read_text(path("options/final/text.json")), "\"ascii_punctuation\": true"));
  EXPECT_TRUE(holds(read_text(path("options/final/text.json")), "\"task\": \"tag\""));
}

TEST_F(TextTag, EveryVerbReadsOtherColumnsAndGoesOn) {
  write("other.txt", "O x e\nB-X x a\n\nO x d\n");
  const Words columns = {"--format", "conll", "--token-column", "3"};
  must(predict(Words{path("other.txt"), "-o", path("o.conll"), "--chunk-size", "1", "--force"} + columns));
  EXPECT_TRUE(holds(read_text(path("o.conll")), "a\tB-X\t"));
  must(predict(Words{path("other.txt"), "-o", path("o.conll"), "--chunk-size", "1", "--resume"} + columns));
  const Json scores =
      Json::parse(must(evaluate(Words{path("other.txt"), "-m", path("run/final"), "--overlap", "1",
                                      "--length", "16", "--batch-tokens", "32", "--label-column", "1"} +
                                columns))
                      .out);
  EXPECT_EQ(scores["words"], 3);
  EXPECT_EQ(scores["entities"]["gold"], 1);
}

TEST_F(TextTag, RefusesWhatItCannotDo) {
  write("one.conll", "a O\n");
  refused(finetune("never", {}, "one.conll"), 1, "one class only");
  write("new.conll", "a B-Z\nb O\n");
  refused(finetune("never", {"--valid", path("new.conll")}), 1, "label 'B-Z' is none of the 4 classes");
  refused(finetune("never", {"--length", "900"}), 2, "--length 900");
  refused(predict({path("train.conll")}, "pre"), 1, "no classes of tokens");
  refused(predict({}), 2, "in one way");
  refused(predict({"--text", "a", "--shard", "1/2"}), 2, "are of a file");
  refused(evaluate({path("train.conll")}), 2, "--model or --predictions");
  write("few.conll", "e\tO\t0.9\n");
  refused(evaluate({path("train.conll"), "--predictions", path("few.conll")}), 1, "few.conll");
  write("empty.conll", "\n");
  refused(predict({path("empty.conll"), "-o", path("never.conll")}), 1, "there are no sentences");
  refused({"text", "classify", "predict", "-m", path("run/final"), "--text", "a"}, 1, "no classifier");
  EXPECT_FALSE(std::filesystem::exists(path("never.conll")));
  EXPECT_FALSE(std::filesystem::exists(path("never/final")));
}

}  // namespace
}  // namespace bigbird::testing
