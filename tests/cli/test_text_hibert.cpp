// text hibert: masked sentences are learned, and labels; a run that was killed goes on bit by bit; extracts
// and their ROUGE next to the first sentences and the oracle (H4); what cannot be read is refused.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "lib/training/run_folder.h"
#include "tests/cli/running_program.h"
#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

class HibertVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    std::filesystem::create_directories(path("letters"));
    write_tiny_text_tokenizer(path("letters"));
    std::string rows;
    // The second sentence is the summary.
    for (std::uint64_t i = 0; i < 12; ++i) {
      nlohmann::json sentences = nlohmann::json::array();
      for (std::uint64_t s = 0; s < 5; ++s) sentences.push_back(tiny_text(5 * i + s));
      rows +=
          nlohmann::json{{"id", i}, {"article", sentences}, {"summary", tiny_text(5 * i + 1)}}.dump() + "\n";
    }
    write("pairs.jsonl", rows);
    must(pretrain("base", {}));
    must(finetune("tuned", {"--valid", path("pairs.jsonl")}));
  }
  static Words pretrain(const std::string& run, const Words& more,
                        const std::string& train = path("pairs.jsonl"), const std::string& steps = "6") {
    return Words{"text", "hibert", "pretrain", "--train", train, "-m", path("letters"), "-o", path(run)} +
           small(more) + Words{"--batch", "4", "--steps", steps} + more;
  }
  // The sizes of a fresh model.
  static Words small(const Words& more) {
    if (!more.empty() && more.front() == "--init") return {};
    return {"--layers", "1", "--width", "16", "--heads", "2"};
  }
  static Words finetune(const std::string& run, const Words& more,
                        const std::string& train = path("pairs.jsonl"),
                        const std::string& init = path("base/final"), const std::string& steps = "6",
                        const std::string& rate = "1e-3") {
    return Words{"text", "hibert", "finetune", "--train", train, "--init", init, "-o", path(run)} +
           Words{"--batch", "4", "--steps", steps, "--lr", rate} + more;
  }
  static Words predict(const Words& more) {
    return Words{"text", "hibert", "predict", "-m", path("tuned/final"), path("pairs.jsonl")} + more;
  }
};

TEST_F(HibertVerbs, PretrainingHasItsFilesAndItsMeasures) {
  EXPECT_TRUE(holds(read_text(path("base/metrics.tsv")), "token_loss\ttoken_accuracy"));
  const auto config = nlohmann::json::parse(read_text(path("base/final/config.json")));
  EXPECT_EQ(config.at("architectures")[0], "BigBirdForMaskedSentences");
  EXPECT_EQ(config.at("bigbird").at("documents").at("sentences"), 30);
  EXPECT_EQ(config.at("bigbird").at("documents").at("sentence_length"), 51);
  const auto tuned = nlohmann::json::parse(read_text(path("tuned/final/config.json")));
  EXPECT_EQ(tuned.at("architectures")[0], "BigBirdForSentenceLabels");
  for (const char* folder : {"base/final", "tuned/final"}) {
    must({"check", path(folder), "--write-digest"});
    EXPECT_TRUE(holds(must({"check", path(folder)}).out, "self-test\tok"));
    const std::string info = must({"info", path(folder)}).out;
    EXPECT_TRUE(holds(info, "\nparameters.documents\t")) << info;
    EXPECT_TRUE(holds(info, "\nnext\tbigbird text hibert ")) << info;
  }
}

TEST_F(HibertVerbs, G5AnyNumberOfThreadsAndG7ARunThatGoesOnGiveEqualBytes) {
  const auto bytes = [](const std::string& run) {
    return read_text(path(run + "/final/model.safetensors")) + read_text(path(run + "/final/config.json"));
  };
  must(pretrain("one", {"--threads", "1"}));
  must(pretrain("four", {"--threads", "4"}));
  EXPECT_EQ(bytes("one"), bytes("four"));
  must(pretrain("part", {"--save-every", "3"}));
  std::filesystem::remove_all(path("part/final"));
  std::filesystem::remove_all(path("part/checkpoint-6"));
  must(pretrain("part", {"--save-every", "3", "--resume"}));
  EXPECT_EQ(bytes("part"), bytes("one"));
  must(finetune("again", {"--valid", path("pairs.jsonl"), "--threads", "1"}));
  EXPECT_EQ(bytes("again"), bytes("tuned"));
  EXPECT_EQ(read_text(path("again/final/extraction.json")), read_text(path("tuned/final/extraction.json")));
  must(pretrain("other", {"--seed", "2"}));
  EXPECT_NE(bytes("other"), bytes("one"));
}

TEST_F(HibertVerbs, G7AKilledRunGoesOnToEqualBytes) {
  must(pretrain("unbroken", {}, path("pairs.jsonl"), "40"));
  const Words words = pretrain("killed", {"--save-every", "1"}, path("pairs.jsonl"), "40");
  {
    Running program(words, path("killed.err"));
    for (int tenths = 0; tenths < 600 && !std::filesystem::exists(path("killed/checkpoint-3")); ++tenths)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    program.signal(SIGKILL);
    EXPECT_EQ(program.wait(), 1000 + SIGKILL);
  }
  ASSERT_FALSE(std::filesystem::exists(path("killed/final")));
  must(words + Words{"--resume"});
  for (const char* file : {"model.safetensors", "config.json"}) {
    EXPECT_EQ(read_text(path(std::string("killed/final/") + file)),
              read_text(path(std::string("unbroken/final/") + file)));
  }
}

TEST_F(HibertVerbs, H4ExtractsAndTheirRouge) {
  const auto lines = must(predict({"--sentences", "2"})).out;
  const auto first = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first.at("sentences").size(), 2u);
  EXPECT_LT(first.at("sentences")[0], first.at("sentences")[1]);
  must(predict({"--sentences", "2", "-o", path("extracts.jsonl")}));
  must(predict({"--sentences", "2", "-o", path("one.jsonl"), "--batch", "1", "--threads", "1"}));
  EXPECT_EQ(read_text(path("one.jsonl")), read_text(path("extracts.jsonl")));

  const RunResult evaluated = must({"text", "hibert", "evaluate", "-m", path("tuned/final"), "--data",
                                    path("pairs.jsonl"), "--sentences", "2", "-o", path("rouge.json")});
  for (const char* row : {"model, 2 sentences: ", "lead-3: ", "oracle: "})
    EXPECT_TRUE(holds(evaluated.err, row)) << evaluated.err;
  const auto scores = nlohmann::json::parse(read_text(path("rouge.json")));
  must({"text", "summarize", "evaluate", "--data", path("pairs.jsonl"), "--predictions",
        path("extracts.jsonl"), "-o", path("as-summaries.json"), "--types", "rouge1,rouge2,rougeLsum"});
  const auto as_summaries = nlohmann::json::parse(read_text(path("as-summaries.json")));
  EXPECT_EQ(scores.at("rouge").at("model"), as_summaries.at("rouge"));
  // The summary is one of the sentences.
  EXPECT_NEAR(scores.at("rouge").at("oracle").at("rouge1").at("f1").get<double>(), 1.0, 1e-9);
  const RunResult tuned = must(finetune("shown", {"--valid", path("pairs.jsonl")}));
  for (const char* row : {"model, ", "lead-3: ", "oracle: "}) EXPECT_TRUE(holds(tuned.err, row)) << tuned.err;
}

TEST_F(HibertVerbs, LearnsWhichSentenceTheSummaryIs) {
  must(finetune("long",
                {"--valid", path("pairs.jsonl"), "--dropout", "0", "--eval-every", "100", "--average", "0"},
                path("pairs.jsonl"), path("base/final"), "300", "3e-3"));
  must({"text", "hibert", "evaluate", "-m", path("long/final"), "--data", path("pairs.jsonl"), "-o",
        path("long.json")});
  const auto scores = nlohmann::json::parse(read_text(path("long.json")));
  EXPECT_EQ(scores.at("sentences"), 1);  // chosen on the validation
  EXPECT_GT(scores.at("rouge").at("model").at("rouge1").at("f1").get<double>(), 0.9);
}

TEST_F(HibertVerbs, EveryOptionReachesItsField) {
  std::string rows;
  for (std::uint64_t i = 0; i < 4; ++i) {
    rows += nlohmann::json{{"key", i}, {"body", tiny_text(i) + "\n" + tiny_text(i + 9)}, {"short", {"a"}}}
                .dump() +
            "\n";
  }
  rows += "{\"key\": 9, \"body\": \" \", \"short\": \"b\"}\n";
  write("named.data", rows);
  const Words fields = {"--format", "jsonl",      "--document-field",  "body",      "--id-field",
                        "key",      "--skip-bad", "--replace-invalid", "--quoting", "auto"};
  const Words training = {"--accumulate",
                          "2",
                          "--optimizer",
                          "google",
                          "--beta1",
                          "0.8",
                          "--beta2",
                          "0.95",
                          "--epsilon",
                          "0.001",
                          "--weight-decay",
                          "0.5",
                          "--clip-norm",
                          "0.75",
                          "--average",
                          "0.9",
                          "--layer-decay",
                          "0.8",
                          "--save-every",
                          "2",
                          "--keep-last",
                          "0",
                          "--keep-best",
                          "0",
                          "--final",
                          "best",
                          "--patience",
                          "100",
                          "--eval-every",
                          "2",
                          "--memory-limit",
                          "1G",
                          "--grad-checkpoint",
                          "--debug-nan",
                          "--dropout",
                          "0.25",
                          "--warmup",
                          "2",
                          "--seed",
                          "11",
                          "--schedule",
                          "inverse-sqrt",
                          "--valid",
                          path("named.data")};
  must(pretrain(
      "all",
      fields + training +
          Words{"--intermediate", "24", "--max-sentences", "7", "--untied-output", "--attention-dropout",
                "0.2", "--label-smoothing", "0.05", "--smoothing", "google", "--length", "12"},
      path("named.data")));
  const auto config = nlohmann::json::parse(read_text(path("all/final/config.json")));
  EXPECT_EQ(config.at("intermediate_size"), 24);
  EXPECT_EQ(config.at("tie_word_embeddings"), false);
  EXPECT_EQ(config.at("attention_probs_dropout_prob"), 0.2);
  EXPECT_EQ(config.at("bigbird").at("documents").at("sentences"), 7);
  EXPECT_EQ(config.at("bigbird").at("documents").at("sentence_length"), 12);
  must(pretrain("stage", {"--init", path("all/final")}, path("pairs.jsonl")));
  must(
      finetune("of-stage",
               fields + training +
                   Words{"--summary-field", "short", "--list-of-summaries", "--length", "9", "--epochs", "9"},
               path("named.data"), path("all/final")));
  for (const char* run : {"all", "of-stage"}) {
    const TrainState state = read_train_state(path(std::string(run) + "/checkpoint-6"));
    const std::map<std::string, std::string> expected = {
        {"batch", "4"},           {"accumulate", "2"},         {"steps", "6"},       {"warmup", "2"},
        {"beta1", "0.8"},         {"beta2", "0.95"},           {"epsilon", "0.001"}, {"clip_norm", "0.75"},
        {"average_decay", "0.9"}, {"layer_decay", "0.8"},      {"seed", "11"},       {"weight_decay", "0.5"},
        {"optimizer", "google"},  {"schedule", "inverse-sqrt"}};
    for (const auto& [name, value] : expected) {
      const auto found = state.options.find(name);
      ASSERT_NE(found, state.options.end()) << name;
      EXPECT_EQ(found->second, value) << run << " " << name;
    }
  }
  EXPECT_EQ(read_train_state(path("all/checkpoint-6")).options.at("label_smoothing"), "0.05 (google)");
}

TEST_F(HibertVerbs, ExtractsHaveTheirForms) {
  const std::string table = must(predict({"-O", "tsv", "--id-field", "id", "--chunk-size", "5"})).out;
  EXPECT_TRUE(holds(table, "id\tsummary\tsentences\n")) << table;
  EXPECT_FALSE(holds(must(predict({"-O", "lines"})).out, "\t"));
  for (const char* part : {"1", "2"}) {
    must(predict({"--shard", std::string(part) + "/2", "--chunk-size", "4", "-o",
                  path(std::string("part") + part + ".jsonl")}));
  }
  must({"merge", path("part1.jsonl"), path("part2.jsonl"), "-o", path("merged.jsonl")});
  EXPECT_EQ(read_text(path("merged.jsonl")), must(predict({})).out);
  must(predict({"-o", path("fresh.jsonl"), "--resume"}));
  EXPECT_EQ(read_text(path("fresh.jsonl")), read_text(path("merged.jsonl")));
  const Words evaluate = {"text",   "hibert",           "evaluate", "-m", path("tuned/final"),
                          "--data", path("pairs.jsonl")};
  const auto documents = [&](const Words& more) {
    return nlohmann::json::parse(must(evaluate + more).out).at("documents");
  };
  EXPECT_EQ(documents({"--document-field", "article", "--summary-field", "summary", "--id-field", "id",
                       "--list-of-summaries", "--quoting", "auto", "--skip-bad", "--replace-invalid",
                       "--format", "jsonl", "--batch", "3"}),
            12);
}

TEST_F(HibertVerbs, WhatCannotBeReadIsRefused) {
  write("empty.jsonl", "");
  write("blank.jsonl", "{\"id\": 1, \"article\": \"ab cd\"}\n{\"id\": 2, \"article\": \" \"}\n");
  refused(pretrain("none", {}, path("empty.jsonl")), 1, "empty.jsonl");
  refused(pretrain("none", {}, path("blank.jsonl")), 1, "blank.jsonl:2: a document without a sentence");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  refused(
      {"text", "hibert", "predict", "-m", path("tuned/final"), path("blank.jsonl"), "-o", path("none.jsonl")},
      1, "blank.jsonl:2: a document without a sentence");
  EXPECT_FALSE(std::filesystem::exists(path("none.jsonl")));
  refused(predict({"--sentences", "31"}), 2, "extracts of 31 sentences");
  refused({"text", "hibert", "predict", "-m", path("base/final"), path("pairs.jsonl")}, 1,
          "has no labels of sentences");
  std::filesystem::create_directories(path("other"));
  write_tiny_text_model(path("other"));
  refused({"text", "hibert", "predict", "-m", path("other"), path("pairs.jsonl")}, 1,
          "not a HIBERT, but a model with the head classification");
  refused(finetune("none", {}, path("pairs.jsonl"), path("other")), 1, "not a HIBERT");
  refused(pretrain("none", {"--init", path("base/final"), "--max-sentences", "9"}), 2, "--max-sentences");
  refused({"text", "summarize", "predict", "-m", path("base/final"), path("pairs.jsonl")}, 1, "no decoder");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

}  // namespace
}  // namespace bigbird::testing
