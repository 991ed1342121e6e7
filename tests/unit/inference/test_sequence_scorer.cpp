// The scorer against plain calls of the model: each strand and model by itself, whatever the batch, in order.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "lib/core/log.h"
#include "lib/core/rng.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/inference/windows.h"
#include "lib/io/genome/fasta.h"
#include "lib/model/network/model.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::TinyClassifier;

std::string random_bases(std::uint64_t index, std::size_t size) {
  CounterRng rng(7, Purpose::test, index);
  std::string bases;
  for (std::size_t i = 0; i < size; ++i) bases += "ACGT"[rng.below(4)];
  return bases;
}

template <typename Work>
std::string scorer_message(const Work& work) {
  const auto error = testing::error_of(work);
  return error ? error->message() : "no error";
}

class Scorer : public ::testing::Test {
 protected:
  Scorer() : backend(kernels::make_cpu_backend()) {
    testing::write_tiny_classifier(folder / "a");
    TinyClassifier other;
    other.seed = 2;
    testing::write_tiny_classifier(folder / "b", other);
  }
  std::string model(const std::string& name) const { return (folder / name).string(); }

  // One call of the model, with nothing beside it.
  std::vector<float> logits(const std::string& name, const std::string& bases) {
    const LoadedModel loaded = load_model(model(name), HeadType::classification, 0);
    const auto tokenizer = load_tokenizer(model(name));
    std::vector<std::int32_t> ids;
    encode_window(*tokenizer, bases, loaded.config.input_length, ids);
    Batch batch;
    batch.append(ids, {}, loaded.config.block_size, 0, loaded.config.input_length);
    Model one(*backend, loaded.config, {loaded.config.input_length, 1, 0, loaded.config.input_length}, {});
    one.set_parameters(loaded.parameters);
    one.forward(batch, {});
    return one.sequence_logits();
  }

  std::vector<std::vector<double>> score(const ScorerOptions& options,
                                         const std::vector<std::string>& sequences) {
    SequenceScorer scorer(options, *backend);
    std::vector<std::vector<double>> all;
    for (const std::string& sequence : sequences) {
      scorer.add(sequence, [&](const SequenceScores& scores) {
        all.emplace_back(scores.values.begin(), scores.values.end());
      });
    }
    scorer.finish();
    return all;
  }

  testing::TemporaryFolder folder;
  std::unique_ptr<kernels::Backend> backend;
};

TEST_F(Scorer, EveryModelAndStrandIsAPlainCall) {
  const std::vector<std::string> sequences = {random_bases(1, 100), random_bases(2, 60),
                                              random_bases(3, 100)};
  const auto all = score({{model("a"), model("b")}, Strands::both, {8192}}, sequences);
  ASSERT_EQ(all.size(), 3U);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    std::size_t place = 0;
    for (const char* name : {"a", "b"}) {
      for (const std::string& bases : {sequences[s], reverse_complement(sequences[s])}) {
        for (const float logit : logits(name, bases)) {
          EXPECT_DOUBLE_EQ(all[s][place++], 1.0 / (1.0 + std::exp(-static_cast<double>(logit))));
        }
      }
    }
    EXPECT_EQ(place, all[s].size());
  }
}

// ALT beside REF, with bases removed, inserted and exchanged, and a neighbour's window.
TEST_F(Scorer, WhatIsKnownOfAnotherSequenceChangesNoId) {
  SequenceScorer scorer({{model("a"), model("b")}, Strands::both, {8192}}, *backend);
  const std::string known = random_bases(1, 100);
  const KnownSequence reference = scorer.as_known(known, scorer.encode(known));
  EXPECT_EQ(reference.reverse, reverse_complement(known));
  struct Case {
    std::string bases;
    std::vector<std::int64_t> offsets;
  };
  const std::vector<Case> cases = {{known, {0}},
                                   {known.substr(0, 40) + known.substr(47) + "ACGTACG", {0, 7}},
                                   {known.substr(0, 40) + "GGGTT" + known.substr(40, 55), {0, -5}},
                                   {known.substr(0, 40) + "GG" + known.substr(40), {0, -2}},
                                   {known.substr(20) + random_bases(2, 20), {20}},
                                   {random_bases(3, 70), {3, 900, -900}}};
  std::vector<std::size_t> taken;
  for (const Case& one : cases) {
    const EncodedSequence found = scorer.encode_like(one.bases, reference, one.offsets);
    EXPECT_EQ(found.ids, scorer.encode(one.bases).ids) << one.bases;
    taken.push_back(found.taken);
  }
  // Both strands: all but what is new, and the few tokens around it.
  EXPECT_EQ(taken[0], 2 * 100U);
  for (const std::size_t i : {1U, 2U, 3U}) EXPECT_GT(taken[i], 2 * 60U) << i;
  EXPECT_GT(taken[4], 2 * 50U);
  EXPECT_LT(taken[5], 2 * 10U);
}

TEST_F(Scorer, NothingDependsOnTheBatch) {
  std::vector<std::string> sequences;
  for (std::uint64_t i = 0; i < 9; ++i) sequences.push_back(random_bases(i, 40 + 9 * i));
  EXPECT_EQ(score({{model("a")}, Strands::both, {128}}, sequences),
            score({{model("a")}, Strands::both, {128 * 7}}, sequences));
}

TEST_F(Scorer, NothingDependsOnAThreadThatRunsTheModels) {
  std::vector<std::string> sequences;
  for (std::uint64_t i = 0; i < 200; ++i) sequences.push_back(random_bases(i, 40 + 7 * (i % 9)));
  ScorerOptions options{{model("a"), model("b")}, Strands::both, {128}};
  const auto expected = score(options, sequences);
  ASSERT_EQ(expected.size(), sequences.size());
  int entered = 0;
  options.device = std::make_shared<DeviceThread>([&] { ++entered; });
  EXPECT_EQ(score(options, sequences), expected);
  EXPECT_EQ(entered, 1) << "both models run on it";
}

TEST_F(Scorer, MemoryOfAllModelsIsSaidBeforeTheyAreRead) {
  std::vector<std::string> said;
  set_log_sink([&](LogLevel, const std::string& line) { said.push_back(line); });
  score({{model("a"), model("b")}, Strands::both, {8192}}, {});
  const std::vector<std::string> two = std::exchange(said, {});
  score({{model("a")}, Strands::both, {8192}}, {});
  set_log_sink({});
  const auto mebibytes = [](const std::vector<std::string>& lines, const std::string& row) {
    for (const std::string& line : lines) {
      if (line.rfind("  " + row + " ", 0) != 0) continue;
      EXPECT_TRUE(line.ends_with("MiB  fp32")) << line;
      return std::stod(line.substr(2 + row.size()));
    }
    return -1.0;
  };
  EXPECT_TRUE(two.at(0).starts_with("memory planned: ")) << two.at(0);
  EXPECT_EQ(two.at(1), "parts of the memory:");
  EXPECT_GT(mebibytes(said, "activations of one layer"), 0);
  EXPECT_NEAR(mebibytes(two, "activations of one layer"), 2 * mebibytes(said, "activations of one layer"),
              0.2);
}

TEST_F(Scorer, MeansAreOverModelsThenStrands) {
  // 2 models, 2 strands, 2 outputs.
  const std::vector<double> values = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
  const SequenceScores scores{values, 2, 2};
  EXPECT_EQ(scores.models(), 2U);
  EXPECT_DOUBLE_EQ(scores.at(1, 0, 1), 0.6);
  EXPECT_DOUBLE_EQ(scores.mean_of_models(1, 0), 0.5);
  EXPECT_DOUBLE_EQ(scores.mean(1), 0.5);
}

TEST_F(Scorer, TwoClassesAreOneProbability) {
  TinyClassifier promoter;
  promoter.problem = ProblemType::single_label;
  promoter.profiles = {{"promoter", "promoter"}};
  promoter.labels = 2;
  promoter.window = {"promoter", 100, 60, 1};
  testing::write_tiny_classifier(folder / "promoter", promoter);
  const std::string bases = random_bases(4, 100);
  const auto all = score({{model("promoter")}, Strands::forward, {8192}}, {bases});
  const std::vector<float> two = logits("promoter", bases);
  ASSERT_EQ(all.at(0).size(), 1U);
  const double positive = std::exp(static_cast<double>(two[1])),
               negative = std::exp(static_cast<double>(two[0]));
  EXPECT_NEAR(all[0][0], positive / (positive + negative), 1e-12);
}

TEST_F(Scorer, AWindowWithTooManyTokensSaysSo) {
  SequenceScorer scorer({{model("a")}, Strands::both, {8192}}, *backend);
  EXPECT_FALSE(scorer.encode(random_bases(5, 100)).cut);
  EXPECT_TRUE(scorer.encode(random_bases(5, 1000)).cut);
}

TEST_F(Scorer, ModelsThatDoNotBelongTogetherAreRefused) {
  TinyClassifier other;
  other.profiles[2].name = "HepG2|DNase";
  testing::write_tiny_classifier(folder / "names", other);
  EXPECT_EQ(scorer_message([&] {
              SequenceScorer({{model("a"), model("names")}, Strands::both, {8192}}, *backend);
            }),
            model("names") + ": its profiles are not the ones of " + model("a"));
  other = {};
  other.window.length = 120;
  testing::write_tiny_classifier(folder / "window", other);
  EXPECT_EQ(scorer_message([&] {
              SequenceScorer({{model("a"), model("window")}, Strands::both, {8192}}, *backend);
            }),
            model("window") + ": its window and target are not the ones of " + model("a"));
}

}  // namespace
}  // namespace bigbird
