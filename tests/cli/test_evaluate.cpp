// `bigbird evaluate`: the keys of its JSON, baselines beside the model, and bad input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "kernels/backend.h"
#include "lib/data/pretrain_sampler.h"
#include "lib/data/token_shards.h"
#include "lib/io/tables/tsv.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/training/pretraining.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::run_bigbird;
using testing::RunResult;

class Evaluate : public ::testing::Test {
 protected:
  Evaluate() {
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer", {40, 20, 20, 1});
    testing::write_tiny_shards(path("valid"), folder_ / "tokenizer", {6, 20, 20, 2});
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  RunResult pretrain(const std::string& steps) const {
    return run_bigbird({"pretrain",
                        "--train",
                        path("train"),
                        "-m",
                        path("tokenizer"),
                        "-o",
                        path("run"),
                        "--layers",
                        "2",
                        "--width",
                        "64",
                        "--heads",
                        "2",
                        "--length",
                        "128",
                        "--block-size",
                        "16",
                        "--random-blocks",
                        "1",
                        "--random-mode",
                        "hf-train",
                        "--batch",
                        "16",
                        "--lr",
                        "1e-3",
                        "--dropout",
                        "0",
                        "-@",
                        "1",
                        "--steps",
                        steps});
  }
  testing::TemporaryFolder folder_;
};

TEST_F(Evaluate, ATrainedModelBeatsTheUnigramBaseline) {
  if (testing::under_sanitizer) GTEST_SKIP() << "200 updates; the other tests evaluate what learned less";
  ASSERT_EQ(pretrain("200").status, 0);
  const RunResult result = run_bigbird(
      {"evaluate", "-m", path("run") + "/final", "--data", path("valid"), "--baseline-from", path("train")});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  const double bits = json.at("bits_per_base");
  const double unigram = json.at("baseline").at("unigram").at("bits_per_base");
  const double bigram = json.at("baseline").at("bigram").at("bits_per_base");
  EXPECT_LT(bits, 0.9 * unigram);
  EXPECT_LT(bigram, unigram);
  const auto& markov = json.at("baseline").at("markov");
  ASSERT_EQ(markov.at("bits_per_base").size(), 12u);
  const int best_order = markov.at("best_order");
  EXPECT_EQ(markov.at("best_bits_per_base"),
            markov.at("bits_per_base").at("order_" + std::to_string(best_order)));
  for (const double of_order : markov.at("bits_per_base"))
    EXPECT_GE(of_order, markov.at("best_bits_per_base").get<double>());
  EXPECT_GT(markov.at("bases_scored").get<int>(), 1000);
  EXPECT_NEAR(json.at("mlm_loss").get<double>() * json.at("masked_tokens").get<double>() / std::log(2.0) /
                  json.at("bases_covered").get<double>(),
              bits, 1e-9);
  EXPECT_NEAR(json.at("perplexity").get<double>(), std::exp(json.at("mlm_loss").get<double>()), 1e-9);
  EXPECT_GT(json.at("mlm_accuracy").get<double>(), 0.15);
  EXPECT_GE(json.at("nsp_accuracy").get<double>(), 0.0);
  EXPECT_EQ(json.at("provenance").at("seed"), 1);
  EXPECT_FALSE(json.at("bits_per_base_definition").get<std::string>().empty());

  const RunResult again =
      run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("valid"), "--no-nsp", "--batch",
                   "3", "--samples", "5", "--no-provenance", "-@", "1"});
  ASSERT_EQ(again.status, 0) << again.err;
  const auto short_json = nlohmann::json::parse(again.out);
  EXPECT_TRUE(short_json.at("nsp_accuracy").is_null());
  EXPECT_EQ(short_json.at("samples"), 5);
  EXPECT_FALSE(short_json.contains("provenance"));
  EXPECT_FALSE(short_json.contains("baseline"));
}

// What every token costs, at its place: the sum is the loss that is printed, and the ids are those of the
// shards.
TEST_F(Evaluate, LossesOfTokensStandWhereTheTokensAre) {
  struct Case {
    std::vector<std::string> options;  // of pretrain
    std::string length;                // of a sample, or of a segment of a document
    bool documents;                    // a sample is a document
  };
  const TokenShards shards(path("valid"));
  const auto tokenizer = load_tokenizer(path("tokenizer"));
  for (const Case& one :
       {Case{{"--attention", "full", "--no-nsp"}, "128", false},
        Case{{"--attention", "full", "--objective", "clm"}, "128", false},
        Case{{"--attention", "transformer-xl", "--memory", "20", "--objective", "clm"}, "48", true}}) {
    std::filesystem::remove_all(path("run"));
    std::vector<std::string> words = {"pretrain",
                                      "--train",
                                      path("train"),
                                      "-m",
                                      path("tokenizer"),
                                      "-o",
                                      path("run"),
                                      "--layers",
                                      "1",
                                      "--width",
                                      "32",
                                      "--heads",
                                      "2",
                                      "--length",
                                      "128",
                                      "--block-size",
                                      "16",
                                      "--batch",
                                      "2",
                                      "--steps",
                                      "1",
                                      "-@",
                                      "1"};
    words.insert(words.end(), one.options.begin(), one.options.end());
    const RunResult trained = run_bigbird(words);
    ASSERT_EQ(trained.status, 0) << trained.err;
    const bool next = one.options.back() == "clm";
    words = {"evaluate",
             "-m",
             path("run") + "/final",
             "--data",
             path("valid"),
             "--length",
             one.length,
             "--losses",
             path("losses.tsv"),
             "--batch",
             "3",
             "-@",
             "1",
             "--no-provenance"};
    if (!next) words.emplace_back("--no-nsp");
    const RunResult run = run_bigbird(words);
    ASSERT_EQ(run.status, 0) << run.err;
    const auto json = nlohmann::json::parse(run.out);
    const std::string count = next ? "predicted_tokens" : "masked_tokens",
                      loss = next ? "clm_loss" : "mlm_loss";
    const PretrainSampler sampler(shards, *tokenizer,
                                  {.length = 128, .pairs = false, .seed = 1, .next = next});
    TsvReader table(path("losses.tsv"));
    EXPECT_EQ(table.columns(), (std::vector<std::string>{"sample", "position", "token", "nats"}));
    std::vector<std::string_view> fields;
    std::int64_t rows = 0;
    double nats = 0;
    std::set<std::pair<std::uint64_t, std::size_t>> places;
    while (table.next(fields)) {
      const auto sample = static_cast<std::uint64_t>(parse_integer(fields[0], "", ""));
      const auto position = static_cast<std::size_t>(parse_integer(fields[1], "", ""));
      ASSERT_GT(position, 0u);
      EXPECT_TRUE(places.emplace(sample, position).second);
      const auto token = one.documents
                             ? static_cast<std::int64_t>(shards.document_tokens(sample)[position - 1])
                             : static_cast<std::int64_t>(sampler.sample(sample, sample).ids.at(position));
      EXPECT_EQ(parse_integer(fields[2], "", ""), token) << sample << ' ' << position;
      nats += parse_number(fields[3], "", "");
      ++rows;
    }
    EXPECT_EQ(rows, json.at(count).get<std::int64_t>());
    EXPECT_GT(rows, 10);
    EXPECT_NEAR(nats / static_cast<double>(rows), json.at(loss).get<double>(), 1e-6);
  }
}

// Both accuracies, counted sample by sample with the library.
TEST_F(Evaluate, AccuraciesAreCounted) {
  ASSERT_EQ(pretrain("20").status, 0);
  const RunResult run = run_bigbird(
      {"evaluate", "-m", path("run") + "/final", "--data", path("valid"), "--device", "cpu", "-@", "1"});
  ASSERT_EQ(run.status, 0) << run.err;
  const RunResult into_file = run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("valid"),
                                           "--device", "cpu", "-@", "1", "-o", path("evaluate.json")});
  EXPECT_EQ(into_file.out, "");
  EXPECT_EQ(testing::read_text(path("evaluate.json")), run.out);
  const LoadedModel loaded = load_model(path("run") + "/final", HeadType::pretraining, 1);
  const auto tokenizer = load_tokenizer(path("run") + "/final");
  const TokenShards shards(path("valid"));
  const PretrainingBatches batches(shards, *tokenizer, loaded.config, {}, 128, 1);
  const auto backend = kernels::make_cpu_backend();
  Model model(*backend, loaded.config, batches.limits(1), {});
  model.set_parameters(loaded.parameters);
  double masked = 0, masked_correct = 0, pairs = 0, pairs_correct = 0;
  for (std::uint64_t piece = 0; piece < batches.sampler().size(); ++piece) {
    const Batch batch = batches.piece_batch(std::span(&piece, 1));
    model.forward(batch, {});
    const std::vector<float> pair = model.sequence_logits(), tokens = model.masked_logits();
    pairs_correct += (pair[1] > pair[0] ? 1 : 0) == batch.sequence_labels[0] ? 1 : 0;
    pairs += 1;
    for (std::size_t i = 0; i < batch.masked_labels.size(); ++i) {
      const auto row = tokens.begin() + static_cast<std::ptrdiff_t>(i) * loaded.config.vocab_size;
      masked_correct +=
          std::max_element(row, row + loaded.config.vocab_size) - row == batch.masked_labels[i] ? 1 : 0;
      masked += 1;
    }
  }
  ASSERT_GT(pairs_correct, 0);
  ASSERT_GT(masked_correct, 0);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json.at("samples"), pairs);
  EXPECT_DOUBLE_EQ(json.at("nsp_accuracy"), pairs_correct / pairs);
  EXPECT_DOUBLE_EQ(json.at("mlm_accuracy"), masked_correct / masked);
}

TEST_F(Evaluate, OneDocumentHasNoNextSentenceTask) {
  ASSERT_EQ(pretrain("1").status, 0);
  testing::write_tiny_shards(path("single"), folder_ / "tokenizer", {1, 20, 20, 2});
  const RunResult result = run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("single")});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(nlohmann::json::parse(result.out).at("nsp_accuracy").is_null());
}

TEST_F(Evaluate, ShardsOfAnotherTokenizerAreRefused) {
  ASSERT_EQ(pretrain("1").status, 0);
  testing::write_tiny_tokenizer(folder_ / "other", 12);
  testing::write_tiny_shards(path("strange"), folder_ / "other");
  const RunResult result = run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("strange")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
  EXPECT_TRUE(result.out.empty());
}

TEST_F(Evaluate, AModelFolderWhoseTokenizerWasExchangedIsRefused) {
  ASSERT_EQ(pretrain("1").status, 0);
  testing::write_tiny_tokenizer(folder_ / "run/final", 12);
  const RunResult result = run_bigbird({"evaluate", "-m", path("run") + "/final", "--data", path("valid")});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
}

TEST_F(Evaluate, AFailedWriteIsNoticed) {
  ASSERT_EQ(pretrain("1").status, 0);
  const RunResult result =
      testing::run_program({"bash", "-c", "exec \"$@\" > /dev/full", "bash", testing::bigbird_binary(),
                            "evaluate", "-m", path("run") + "/final", "--data", path("valid")});
  EXPECT_EQ(result.status, 1) << result.err;
}

}  // namespace
}  // namespace bigbird
