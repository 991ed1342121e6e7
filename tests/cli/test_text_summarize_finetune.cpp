// text summarize finetune: a model learns its summaries, goes on bit by bit where it stopped, and refuses
// what it cannot learn from.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "lib/io/weights/safetensors.h"
#include "lib/training/run_folder.h"
#include "tests/cli/text_fixture.h"

namespace bigbird::testing {
namespace {

class SummarizeFinetune : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    std::filesystem::create_directories(path("model"));
    write_tiny_summary_model(path("model"));
    write("model/generation_config.json", R"({"num_beams": 2, "max_length": 12})");
    std::string rows;
    for (std::uint64_t i = 0; i < 6; ++i) {
      rows +=
          nlohmann::json{
              {"id", i}, {"document", tiny_text(i) + " " + tiny_text(i + 50)}, {"summary", summary(i)}}
              .dump() +
          "\n";
    }
    write("pairs.jsonl", rows);
  }
  static std::string summary(std::uint64_t number) {
    return std::string(1, static_cast<char>('a' + number)) + " xy";
  }
  static Words finetune(const std::string& run, const Words& more,
                        const std::string& train = path("pairs.jsonl"),
                        const std::string& init = path("model"), const std::string& rate = "5e-3") {
    return Words{"text", "summarize", "finetune", "--train", train, "--init", init, "-o", path(run)} +
           Words{"--batch",     "3",         "--lr", rate,      "--schedule",
                 "huggingface", "--dropout", "0",    "--final", "last"} +
           more;
  }
  // Until every summary is all but certain (a loss of some thousandths): how a processor rounds then makes no
  // difference.
  static Words long_enough() {
    return {"--steps", "300", "--valid", path("pairs.jsonl"), "--eval-every", "100", "--target-length", "16"};
  }
  static double last_validation_loss(const std::string& run) {
    std::istringstream lines(read_text(path(run + "/valid.tsv")));
    std::string last;
    for (std::string line; std::getline(lines, line);) last = line;
    const std::size_t first = last.find('\t') + 1;
    return std::stod(last.substr(first, last.find('\t', first) - first));
  }
};

TEST_F(SummarizeFinetune, LearnsItsSummaries) {
  must(finetune("run", long_enough()));
  EXPECT_LT(last_validation_loss("run"), 0.05);
  const std::string metrics = read_text(path("run/metrics.tsv"));
  EXPECT_TRUE(holds(metrics, "token_loss\ttoken_accuracy")) << metrics.substr(0, 400);
  std::istringstream lines(
      must({"text", "summarize", "predict", "-m", path("run/final"), path("pairs.jsonl")}).out);
  std::uint64_t i = 0;
  for (std::string line; std::getline(lines, line); ++i)
    EXPECT_EQ(nlohmann::json::parse(line).at("summary"), summary(i));
  EXPECT_EQ(i, 6u);
  EXPECT_EQ(read_text(path("run/final/generation_config.json")),
            read_text(path("model/generation_config.json")));
}

TEST_F(SummarizeFinetune, GoesOnWhereItStoppedAndCutsABatchAsItLikes) {
  must(finetune("whole", {"--steps", "6"}));
  must(finetune("part", {"--steps", "6", "--save-every", "3"}));
  std::filesystem::remove_all(path("part/final"));
  std::filesystem::remove_all(path("part/checkpoint-6"));
  must(finetune("part", {"--steps", "6", "--save-every", "3", "--resume"}));
  EXPECT_EQ(read_text(path("part/final/model.safetensors")),
            read_text(path("whole/final/model.safetensors")));
  must(finetune("trained", {"--steps", "6", "--label-smoothing", "0.1"}));
  EXPECT_NE(read_text(path("trained/final/model.safetensors")),
            read_text(path("whole/final/model.safetensors")));
  refused(finetune("part", {"--steps", "6", "--save-every", "3", "--resume", "--target-length", "9"}), 2,
          "--target-length");
}

TEST_F(SummarizeFinetune, EveryOptionOfTheTrainingReachesItsField) {
  std::string rows;
  for (std::uint64_t i = 0; i < 4; ++i) {
    rows +=
        nlohmann::json{{"key", i}, {"text", tiny_text(i) + "\n" + tiny_text(i + 50)}, {"short", {summary(i)}}}
            .dump() +
        "\n";
  }
  rows += "{\"key\": 9, \"text\": \"ab\"}\n";
  write("named.data", rows);
  must(Words{"text", "summarize", "finetune", "--init", path("model"), "-o", path("all"), "--train",
             path("named.data"), "--valid", path("named.data")} +
       Words{"--format",
             "jsonl",
             "--document-field",
             "text",
             "--summary-field",
             "short",
             "--id-field",
             "key",
             "--skip-bad",
             "--replace-invalid",
             "--list-of-summaries",
             "--newlines-are-blanks",
             "--length",
             "24",
             "--target-length",
             "10",
             "--batch",
             "2",
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
             "--recipe",
             "paper",
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
             "--label-smoothing",
             "0.2",
             "--smoothing",
             "google",
             "--layer-drop",
             "0.125",
             "--freeze-positions",
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
             "--debug-nan"});
  const TrainState state = read_train_state(path("all/checkpoint-4"));
  const std::map<std::string, std::string> expected = {{"batch", "2"},
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
                                                       {"length", "24"},
                                                       {"target_length", "10"},
                                                       {"line_marks", "false"},
                                                       {"schedule", "google"},
                                                       {"model.dropout", "0.25"},
                                                       {"label_smoothing", "0.2 (google)"},
                                                       {"freeze_positions", "true"},
                                                       {"model.encoder_layerdrop", "0.125"},
                                                       {"model.decoder_layerdrop", "0.125"}};
  for (const auto& [name, value] : expected) {
    const auto found = state.options.find(name);
    ASSERT_NE(found, state.options.end()) << name;
    EXPECT_EQ(found->second, value) << name;
  }
  const auto positions = [](const std::string& folder) {
    const SafetensorsFile file(path(folder + "/model.safetensors"));
    std::vector<float> all = file.floats("model.encoder.embed_positions.weight");
    const std::vector<float> more = file.floats("model.decoder.embed_positions.weight");
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  EXPECT_EQ(positions("all/final"), positions("model"));
  // What the folder says of its training holds without a word when it writes.
  const auto text = nlohmann::json::parse(read_text(path("all/final/text.json")));
  EXPECT_EQ(text.at("task"), "summarize");
  EXPECT_EQ(text.at("length"), 24);
  const auto with = [&](const Words& words) {
    return must(Words{"text", "summarize", "predict", "-m", path("all/final"), path("named.data"), "--format",
                      "jsonl", "--document-field", "text"} +
                words)
        .out;
  };
  EXPECT_EQ(with({}), with({"--newlines-are-blanks", "--length", "24"}));
  EXPECT_NE(with({}), with({"--newlines-are-marks"}));
  refused({"text", "classify", "predict", "-m", path("all/final"), path("named.data")}, 1, "all/final");

  must(finetune("again", {"--steps", "1"}));
  refused(finetune("again", {"--steps", "1"}), 1, "again");
  must(finetune("again", {"--steps", "1", "--force"}));
}

TEST_F(SummarizeFinetune, WhatIsCutIsSaid) {
  const RunResult run = must(finetune("cut", {"--steps", "1", "--length", "4", "--target-length", "2"}));
  EXPECT_TRUE(holds(run.err, "6 of 6 documents are longer than 4 tokens and were cut")) << run.err;
  EXPECT_TRUE(holds(run.err, "6 of 6 summaries are longer than 2 tokens and were cut")) << run.err;
}

// An encoder for masked tokens is given a decoder, which then learns.
TEST_F(SummarizeFinetune, BeginsWithAnEncoder) {
  std::filesystem::create_directories(path("encoder"));
  TinyTextModel shape;
  shape.head = HeadType::masked_lm;
  write_tiny_text_model(path("encoder"), shape);
  for (const std::string kind : {"coupled", "new"}) {
    const std::string model = path("from-" + kind);
    const RunResult made = must(
        {"convert", path("encoder"), model, "--decoder", kind, "--seed", "3", "--tokenizer", path("model")});
    const std::string cross = kind == "coupled" ? "bert.encoder.layer.*.attention.encdec.query.weight"
                                                : "decoder.layer.*.crossattention.self.query.weight";
    EXPECT_TRUE(holds(made.out, "tensor\tfrom\ttensors\tvalues\n")) << made.out;
    EXPECT_TRUE(holds(made.out, "\n" + cross + "\trandom, seed 3\t1\t")) << made.out;
    EXPECT_TRUE(holds(made.out, "\nbert.embeddings.word_embeddings.weight\tread\t1\t")) << made.out;
    EXPECT_EQ(holds(made.out, "token_type_embeddings"), kind == "new") << made.out;
    EXPECT_TRUE(holds(must({"check", model}).out, "self-test\tok"));
    const auto info = nlohmann::json::parse(must({"info", model, "--json"}).out);
    EXPECT_GT(info.at("parameters").at("decoder").get<int>(), 0);
    EXPECT_EQ(info.at("loads_in_transformers"), false);
    must(finetune("run-" + kind, long_enough(), path("pairs.jsonl"), model, "3e-3"));
    EXPECT_LT(last_validation_loss("run-" + kind), 0.05) << kind;
    std::istringstream lines(must({"text", "summarize", "predict", "-m", path("run-" + kind + "/final"),
                                   path("pairs.jsonl"), "--max-tokens", "12"})
                                 .out);
    std::uint64_t i = 0;
    for (std::string line; std::getline(lines, line); ++i)
      EXPECT_EQ(nlohmann::json::parse(line).at("summary"), summary(i)) << kind;
    EXPECT_EQ(i, 6u);
    refused({"convert", model, path("again"), "--decoder", kind}, 1, "has a decoder already");
  }
  refused({"convert", path("encoder"), path("never"), "--decoder", "half"}, 2, "half");
  refused({"convert", path("encoder"), path("never"), "--max-positions", "128"}, 2, "--max-positions 128");
}

TEST_F(SummarizeFinetune, RefusesWhatItCannotLearnFrom) {
  const auto wrong = [&](const std::string& rows, const std::string& what, int status = 1) {
    write("wrong.jsonl", rows);
    refused(finetune("never", {"--steps", "1"}, path("wrong.jsonl")), status, what);
    EXPECT_FALSE(std::filesystem::exists(path("never")));
  };
  wrong("{\"document\": \"ab\"}\n", "wrong.jsonl:1");
  wrong("{\"document\": \"ab\", \"summary\": \" \"}\n", "wrong.jsonl:1: a summary without a word");
  wrong("{\"document\": \"\", \"summary\": \"ab\"}\n", "wrong.jsonl:1: a document without a word");
  wrong("{\"document\": \"ab\", \"summary\": \"ab cd ef\"}\n",
        "wrong.jsonl:1: the summary is longer than its document");
  wrong("", "wrong.jsonl");
  write("some.jsonl",
        "{\"document\": \"ab cd ef\", \"summary\": \"ab\"}\n{\"document\": \"ab\", \"summary\": \"ab cd "
        "ef\"}\n{\"document\": \" \", \"summary\": \"\"}\n");
  const RunResult passed = must(finetune("some", {"--steps", "1", "--skip-bad"}, path("some.jsonl")));
  EXPECT_TRUE(holds(passed.err, "2 records that cannot be learned from are passed over; the first: "))
      << passed.err;
  EXPECT_TRUE(holds(passed.err, "some.jsonl:2: the summary is longer")) << passed.err;
  refused(finetune("never", {"--steps", "1", "--length", "65"}), 2, "--length 65");
  refused(finetune("never", {"--steps", "1", "--target-length", "1"}), 2, "--target-length 1");
  refused(finetune("never", {"--steps", "1", "--smoothing", "half"}), 2, "half");
  refused(finetune("never", {"--steps", "1", "--label-smoothing", "1"}), 2, "--label-smoothing");
  refused(finetune("never", {"--steps", "1", "--layer-drop", "1"}), 2, "--layer-drop");
  refused(finetune("never", {"--steps", "1"}, "-"), 2, "training pairs are read from files");
  std::filesystem::create_directories(path("classifier"));
  write_tiny_text_model(path("classifier"));
  refused(finetune("never", {"--steps", "1"}, path("pairs.jsonl"), path("classifier")), 1,
          "the model has no decoder");
}

}  // namespace
}  // namespace bigbird::testing
