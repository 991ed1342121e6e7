// text glue finetune, predict and evaluate on small folders in GLUE's own form: the settings of each task,
// submission files, official metrics of a model and of its files, and files that must be refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/training/run_folder.h"
#include "tests/cli/text_fixture.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

constexpr const char* mnli_columns =
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\t"
    "sentence2_parse\tsentence1\tsentence2";

// The first eight cells of a row of MNLI, and its two texts.
std::string mnli_cells(int number, const std::string& first, const std::string& second) {
  return std::to_string(number) + "\t1\t1n\tg\t(\t(\t(\t(\t" + first + "\t" + second;
}

// One encoder, folders of four tasks, and a model of SST-2 for all tests of the file.
class TextGlue : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyTextModel encoder;
    encoder.head = HeadType::masked_lm;
    write_tiny_text_model(path("pre"), encoder);
    write_sst2();
    write_mnli();
    write_stsb();
    write_qqp();
    must(finetune("sst2", "run", {"--steps", "80", "--lr", "0.01", "--batch", "8", "--dropout", "0"}));
  }

  // The letters of a class stand in none of the others.
  static void write_sst2() {
    std::string rows = "sentence\tlabel\n", test = "index\tsentence\n";
    for (int i = 0; i < 24; ++i) {
      const std::string letter(1, static_cast<char>('a' + 3 * (i % 2) + i % 3));
      rows += letter + letter + " " + letter + "\t" + std::to_string(i % 2) + "\n";
      test += std::to_string(23 - i) + "\t" + letter + "\n";
    }
    write("glue/SST-2/train.tsv", rows);
    write("glue/SST-2/dev.tsv", rows);
    write("glue/SST-2/test.tsv", test);
  }
  static void write_mnli() {
    const std::string words[] = {"entailment", "neutral", "contradiction"};
    std::string train = std::string(mnli_columns) + "\tlabel1\tgold_label\n";
    std::string dev = std::string(mnli_columns) + "\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label\n";
    std::string test = std::string(mnli_columns) + "\n";
    for (int i = 0; i < 9; ++i) {
      const std::string cells = mnli_cells(i, tiny_text(static_cast<std::uint64_t>(i)), "b");
      train += cells + "\tx\t" + words[i % 3] + "\n";
      dev += cells + "\tx\tx\tx\tx\tx\t" + (i == 4 ? "-" : words[i % 3]) + "\n";
      test += cells + "\n";
    }
    write("glue/MNLI/train.tsv", train);
    for (const char* side : {"matched", "mismatched"}) {
      write(std::string("glue/MNLI/dev_") + side + ".tsv", dev);
      write(std::string("glue/MNLI/test_") + side + ".tsv", test);
    }
  }
  static void write_stsb() {
    std::string rows;  // without the header line
    for (int i = 0; i < 8; ++i)
      rows += std::to_string(i) + "\tg\tf\ty\t1\tn\tn\t" + (i % 2 == 0 ? "a" : "d") + "\tb\t" +
              (i % 2 == 0 ? "5.000\n" : "0.500\n");
    write("glue/STS-B/train.tsv", rows);
    write("glue/STS-B/dev.tsv", rows);
    write("glue/STS-B/test.tsv",
          "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2\n"
          "0\tg\tf\ty\t1\tn\tn\ta\tb\n1\tg\tf\ty\t1\tn\tn\td\tb\n");
  }
  static void write_qqp() {
    const std::string rows =
        "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\t1\t2\ta\tb\t1\nbroken\n2\t3\t4\td\te\t0\n";
    write("glue/QQP/train.tsv", rows);
    write("glue/QQP/dev.tsv", rows);
  }

  static Words finetune(const std::string& task, const std::string& run, const Words& more,
                        const std::string& data = "glue") {
    return Words{"text",      "glue", "finetune", "--task",   task,  "--data", path(data), "--init",
                 path("pre"), "-o",   path(run),  "--device", "cpu", "-@",     "1"} +
           more;
  }
  static Words predict(const std::string& task, const std::string& model, const std::string& output,
                       const Words& more = {}, const std::string& data = "glue") {
    return Words{"text",     "glue", "predict",   "--task", task,        "--data",
                 path(data), "-m",   path(model), "-o",     path(output)} +
           more;
  }
  static Words evaluate(const std::string& task, const Words& more) {
    return Words{"text", "glue", "evaluate", "--no-provenance", "--task", task, "--data"} + more;
  }
  static nlohmann::json json_of(const RunResult& run) { return nlohmann::json::parse(run.out); }
};

TEST_F(TextGlue, WhatWasLearnedIsScoredAndSubmitted) {
  const nlohmann::json scores = json_of(must(evaluate("sst2", {path("glue"), "-m", path("run/final")})));
  EXPECT_DOUBLE_EQ(scores["accuracy"], 1.0);
  EXPECT_EQ(scores["examples"], 24);
  must(predict("sst2", "run/final", "submission"));
  const std::string file = read_text(path("submission/SST-2.tsv"));
  // The order and the index of the test file.
  EXPECT_EQ(file.rfind("index\tprediction\n23\t0\n22\t1\n21\t0\n", 0), 0u) << file;
  const auto config = nlohmann::json::parse(read_text(path("run/final/config.json")));
  EXPECT_EQ(config["id2label"], nlohmann::json::parse(R"({"0": "negative", "1": "positive"})"));
  const auto settings = nlohmann::json::parse(read_text(path("run/final/text.json")));
  EXPECT_EQ(settings["data_format"], "sst2");
  // The verbs of any texts take the model too.
  EXPECT_TRUE(holds(run_bigbird({"text", "classify", "predict", "-m", path("run/final"), "--text", "dd"}).out,
                    "\n0\tpositive\t"));
}

TEST_F(TextGlue, EveryTaskHasItsSettings) {
  const auto options = [&](const std::string& task, const Words& more = {}) {
    const RunResult run = must(finetune(task, task + "-run", Words{"--steps", "8", "--force"} + more));
    std::map<std::string, std::string> read = read_train_state(path(task + "-run/checkpoint-8")).options;
    read["log"] = run.err;
    return read;
  };
  auto mnli = options("mnli");
  EXPECT_EQ(mnli["learning_rate"], "1e-05");
  EXPECT_EQ(mnli["batch"], "32");
  EXPECT_EQ(mnli["warmup"], "0");
  EXPECT_EQ(mnli["beta2"], "0.98");
  EXPECT_EQ(mnli["weight_decay"], "0.1");
  EXPECT_EQ(mnli["schedule"], "huggingface");
  EXPECT_EQ(mnli["labels"], "one class each: entailment, neutral, contradiction");
  EXPECT_TRUE(holds(mnli["log"], "MNLI: rate 1e-05, batch 32, warm-up 6 % of the steps")) << mnli["log"];
  EXPECT_TRUE(holds(mnli["log"], "dev_matched.tsv: 1 rows have no label")) << mnli["log"];
  auto qqp = options("qqp");
  EXPECT_EQ(qqp["warmup"], "2");
  EXPECT_TRUE(holds(qqp["log"], "QQP/train.tsv: 1 rows have another number of fields and are dropped"));
  auto stsb = options("stsb");
  EXPECT_EQ(stsb["learning_rate"], "2e-05");
  EXPECT_EQ(stsb["batch"], "16");
  EXPECT_TRUE(holds(stsb["log"], "STS-B/train.tsv: has no header line")) << stsb["log"];
  auto own = options("stsb", {"--lr", "0.003", "--batch", "4", "--warmup", "3"});
  EXPECT_EQ(own["learning_rate"], "0.003");
  EXPECT_EQ(own["batch"], "4");
  EXPECT_EQ(own["warmup"], "3");
}

TEST_F(TextGlue, EveryOptionOfTheTrainingReachesItsField) {
  must(finetune("sst2", "all",
                {"--length",
                 "12",
                 "--batch",
                 "6",
                 "--accumulate",
                 "2",
                 "--steps",
                 "4",
                 "--epochs",
                 "9",
                 "--dropout",
                 "0.25",
                 "--lr",
                 "0.002",
                 "--warmup",
                 "1",
                 "--schedule",
                 "google",
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
                 "--seed",
                 "11",
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
                 "--whitespace",
                 "keep",
                 "--ascii-punctuation",
                 "--second-type",
                 "--replace-invalid"}));
  const TrainState state = read_train_state(path("all/checkpoint-4"));
  const std::map<std::string, std::string> expected = {{"batch", "6"},
                                                       {"accumulate", "2"},
                                                       {"steps", "4"},
                                                       {"learning_rate", "0.002"},
                                                       {"warmup", "1"},
                                                       {"beta1", "0.8"},
                                                       {"beta2", "0.95"},
                                                       {"epsilon", "0.001"},
                                                       {"clip_norm", "0.75"},
                                                       {"average_decay", "0.9"},
                                                       {"layer_decay", "0.8"},
                                                       {"seed", "11"},
                                                       {"weight_decay", "0.5"},
                                                       {"optimizer", "google"},
                                                       {"length", "12"},
                                                       {"schedule", "google"},
                                                       {"model.hidden_dropout_prob", "0.25"},
                                                       {"init", path("pre")}};
  for (const auto& [name, value] : expected) {
    const auto found = state.options.find(name);
    ASSERT_NE(found, state.options.end()) << name;
    EXPECT_EQ(found->second, value) << name;
  }
  EXPECT_EQ(nlohmann::json::parse(read_text(path("all/final/text.json"))),
            nlohmann::json::parse(R"({"task": "classify", "data_format": "sst2", "length": 12,
      "second_type": true, "white_space": "keep", "ascii_punctuation": true})"));
  const std::string weights = read_text(path("all/final/model.safetensors"));
  for (const char* part : {"all/final", "all/checkpoint-4"}) std::filesystem::remove_all(path(part));
  EXPECT_EQ(run_bigbird(finetune("sst2", "all", {"--steps", "4", "--resume"})).status, 2);  // other settings
  must(finetune("sst2", "short", {"--steps", "4", "--save-every", "2", "--keep-last", "0"}));
  const std::string whole = read_text(path("short/final/model.safetensors"));
  for (const char* part : {"short/final", "short/checkpoint-4"}) std::filesystem::remove_all(path(part));
  must(finetune("sst2", "short", {"--steps", "4", "--save-every", "2", "--keep-last", "0", "--resume"}));
  EXPECT_TRUE(read_text(path("short/final/model.safetensors")) == whole);
  EXPECT_FALSE(whole == weights);
}

TEST_F(TextGlue, MnliHasTwoSides) {
  TinyTextModel shape;
  shape.names = {"CONTRADICTION", "ENTAILMENT", "NEUTRAL"};
  write_tiny_text_model(path("mnli-model"), shape);
  must(predict("mnli", "mnli-model", "both"));
  EXPECT_TRUE(holds(read_text(path("both/MNLI-m.tsv")), "\n8\t"));
  EXPECT_EQ(read_text(path("both/MNLI-m.tsv")), read_text(path("both/MNLI-mm.tsv")));
  must(predict("mnli", "mnli-model", "dev", {"--split", "dev"}));
  const nlohmann::json files =
      json_of(must(evaluate("mnli", {path("glue/MNLI"), "--predictions", path("dev")})));
  const nlohmann::json direct = json_of(must(evaluate("mnli", {path("glue"), "-m", path("mnli-model")})));
  EXPECT_EQ(files, direct);
  EXPECT_EQ(direct["accuracy"], direct["accuracy_mm"]);
  EXPECT_EQ(direct["examples"], 16);
  EXPECT_EQ(direct["unlabelled"], 2);
  const nlohmann::json one =
      json_of(must(evaluate("mnli", {path("glue/MNLI/dev_mismatched.tsv"), "--predictions", path("dev")})));
  EXPECT_EQ(one["accuracy"], direct["accuracy_mm"]);
  EXPECT_FALSE(one.contains("accuracy_mm"));
  refused(evaluate("mnli", {path("glue"), "--predictions", path("dev/MNLI-m.tsv")}), 2,
          "two files of labels");
  // The diagnostic set, which is answered in words, in MNLI's classes.
  std::filesystem::create_directories(path("glue/diagnostic"));
  write("glue/diagnostic/diagnostic.tsv", "index\tsentence1\tsentence2\n0\tab\tcd\n1\tef\tfe\n");
  must(predict("ax", "mnli-model", "both"));
  const std::string ax = read_text(path("both/AX.tsv"));
  EXPECT_EQ(ax.rfind("index\tprediction\n0\t", 0), 0u) << ax;
  EXPECT_EQ(std::count(ax.begin(), ax.end(), '\n'), 3);
  EXPECT_TRUE(holds(ax, "\tentailment\n") || holds(ax, "\tneutral\n") || holds(ax, "\tcontradiction\n"))
      << ax;
  refused(evaluate("ax", {path("glue"), "-m", path("mnli-model")}), 2, "has no labels");
}

TEST_F(TextGlue, ScoresOfPairsAreLearnedAndClamped) {
  must(finetune("stsb", "stsb-fit", {"--steps", "100", "--lr", "0.01", "--batch", "8", "--dropout", "0"}));
  const nlohmann::json scores = json_of(must(evaluate("stsb", {path("glue"), "-m", path("stsb-fit/final")})));
  EXPECT_GT(scores["pearson"].get<double>(), 0.99);
  must(predict("stsb", "stsb-fit/final", "stsb-files"));
  const std::string file = read_text(path("stsb-files/STS-B.tsv"));
  const double low = std::stod(file.substr(file.find("\n1\t") + 3));
  EXPECT_GE(low, 0.0);
  EXPECT_LT(low, 2.5);
}

TEST_F(TextGlue, EveryOptionOfPredictAndEvaluateIsTaken) {
  TinyTextModel shape;
  shape.labels = 2;
  write_tiny_text_model(path("unnamed"), shape);
  refused(predict("sst2", "unnamed", "none"), 1, "LABEL_0,LABEL_1");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
  const Words more = {"--split", "train", "--length", "4", "--batch-tokens", "1k", "--replace-invalid"};
  must(predict("sst2", "unnamed", "straight", more + Words{"--classes", "0,1"}));
  must(predict("sst2", "unnamed", "turned", more + Words{"--classes", "positive,negative"}));
  std::string turned = read_text(path("turned/SST-2.tsv"));
  for (std::size_t i = turned.find('\n') + 1; i < turned.size(); ++i) {
    if (turned[i - 1] == '\t') turned[i] = turned[i] == '0' ? '1' : '0';
  }
  EXPECT_EQ(turned, read_text(path("straight/SST-2.tsv")));
  const RunResult direct = must(
      evaluate("sst2", {path("glue/SST-2/train.tsv"), "-m", path("unnamed"), "--classes", "0,1", "--length",
                        "4", "--batch-tokens", "16", "--replace-invalid", "-o", path("scores.json")}));
  EXPECT_EQ(direct.out, "");
  const auto scores = nlohmann::json::parse(read_text(path("scores.json")));
  EXPECT_EQ(scores["accuracy"], json_of(must(evaluate("sst2", {path("glue/SST-2/train.tsv"), "--predictions",
                                                               path("straight/SST-2.tsv")})))["accuracy"]);
  EXPECT_EQ(scores["cut"], 24);
  EXPECT_TRUE(holds(must(predict("mnli", "mnli-other", "x", {"--help", "all"})).out, "--classes"));
}

TEST_F(TextGlue, FilesOfAnotherFormAreRefused) {
  const auto bad = [&](const std::string& task, const std::string& text, const std::string& what) {
    write("bad/train.tsv", text);
    write("bad/dev.tsv", text);
    refused(finetune(task, "bad-run", {"--steps", "1"}, "bad"), 1, what);
    EXPECT_FALSE(std::filesystem::exists(path("bad-run"))) << what;
  };
  bad("sst2", "text\tlabel\na\t1\n", "train.tsv:1: neither the header of SST-2's labelled files nor a row");
  bad("sst2", "a\tb\tc\n", "train.tsv:1: 3 fields, and SST-2's labelled files have 2");
  bad("sst2", "sentence\tlabel\na\t1\nb\t0\tc\n", "train.tsv:3: 3 fields, and SST-2's rows have 2");
  bad("sst2", "sentence\tlabel\na\t1\nb\t7\n", "train.tsv:3: label '7' is none of SST-2's");
  bad("sst2", "sentence\tlabel\na\t1\nb\t1\n", "all examples are of the class 'positive'");
  bad("sst2", "sentence\tlabel\n", "there are no examples");
  bad("sst2", "index\tsentence\n0\ta\n", "which has no labels");
  bad("sst2", "sentence\tlabel\na\xFF\t1\n", "train.tsv:2: byte 2 of the line is not UTF-8");
  bad("stsb", "0\tg\tf\ty\t1\tn\tn\ta\tb\t5.0\n1\tg\tf\ty\t1\tn\tn\ta\tb\t5.1\n",
      "train.tsv:2: score '5.1' is not a number from 0 to 5");
  refused(finetune("squad", "bad-run", {"--steps", "1"}), 2, "--task squad");
  refused(finetune("rte", "bad-run", {"--steps", "1"}), 1, "there is no train.tsv, nor in its folder RTE");
  refused(predict("qqp", "run/final", "none"), 1, "there is no test.tsv");
  refused(predict("rte", "run/final", "none", {}, "glue/SST-2"), 1, "outputs are named negative,positive");
  refused(predict("sst2", "run/final", "none", {"--classes", "positive"}), 2, "--classes positive");
  refused(predict("sst2", "pre", "none"), 1, "pre");
  EXPECT_FALSE(std::filesystem::exists(path("none")));
}

TEST_F(TextGlue, PredictionsThatDoNotFitAreRefused) {
  const auto bad = [&](const std::string& text, const std::string& what) {
    refused(evaluate("sst2", {path("glue/SST-2/dev.tsv"), "--predictions", write("bad.tsv", text)}), 1, what);
  };
  bad("id\tlabel\n0\t1\n", "bad.tsv:1: the header is not index<TAB>prediction");
  bad("index\tprediction\n0\t1\n", "dev.tsv:3: index 1 has no prediction in");
  bad("index\tprediction\n0\t1\n0\t1\n", "bad.tsv:3: index 0 is in line 2 too");
  bad("index\tprediction\n0\t2\n", "bad.tsv:2: prediction '2' is none of SST-2's classes");
  bad("index\tprediction\n0\n", "bad.tsv:2: ");
  refused(evaluate("sst2", {path("glue")}), 2, "--predictions");
  refused(evaluate("sst2", {path("glue"), "-m", path("run/final"), "--predictions", "x"}), 2,
          "--predictions");
  std::string more = "index\tprediction\n";
  for (int i = 0; i < 26; ++i) more += std::to_string(i) + "\t0\n";
  const RunResult run =
      must(evaluate("sst2", {path("glue/SST-2/dev.tsv"), "--predictions", write("more.tsv", more)}));
  EXPECT_TRUE(holds(run.err, "2 predictions are of indices that")) << run.err;
}

TEST_F(TextGlue, AModelOfAnotherTaskGetsAWarning) {
  TinyTextModel shape;
  shape.labels = 2;
  shape.names = {"1", "0"};
  write_tiny_text_model(path("other"), shape);
  write("other/text.json", R"({"task": "classify", "data_format": "cola", "length": 32, "second_type": false,
      "white_space": "fold", "ascii_punctuation": false})");
  EXPECT_TRUE(holds(must(evaluate("sst2", {path("glue"), "-m", path("other")})).err,
                    "was trained on cola, not on sst2"));
  shape.labels = 3;
  shape.names = {"a", "b", "c"};
  write_tiny_text_model(path("three"), shape);
  const Words other = {"text",   "glue",        "finetune", "--task",    "sst2",    "--data", path("glue"),
                       "--init", path("three"), "-o",       path("two"), "--steps", "2"};
  refused(other, 1, "leave this head out: --fresh-head");
  must(other + Words{"--fresh-head"});
}

}  // namespace
}  // namespace bigbird::testing
