// `bigbird chromatin evaluate`: the JSON, the table and the pictures; several sets of predictions; bad input.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/core/rng.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/tables/npy.h"
#include "lib/metrics/metrics.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird {
namespace {

using testing::run_bigbird;

// Four bins on chr1, the last three in split test; profiles: a perfect one, a reversed one, one without a
// positive.
class ChromatinEvaluateCommand : public ::testing::Test {
 protected:
  ChromatinEvaluateCommand() {
    ChromatinDatasetWriter writer(data_, false, {{"chr1", 10000}}, {{"a", "TF"}, {"b", "DHS"}, {"b", "DHS"}},
                                  ModelWindow{"chromatin", 1000, 400, 200}, {});
    const std::uint8_t labels[] = {7, 1, 2, 3};
    for (std::int64_t i = 0; i < 4; ++i) {
      writer.write({0, i == 0 ? Split::train : Split::test, 1000 + 200 * i}, {&labels[i], 1});
    }
    writer.commit("genome.fa", "{}");
    write_npy(scores_, std::vector<float>{0.9F, 0.9F, 0.1F, 0.1F, 0.2F, 0.1F, 0.8F, 0.3F, 0.1F}, {3, 3});
    write_npy(better_, std::vector<float>{0.9F, 0.1F, 0.1F, 0.1F, 0.2F, 0.1F, 0.8F, 0.3F, 0.1F}, {3, 3});
  }
  testing::TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  std::string scores_ = folder_ / "scores.npy";
  std::string better_ = folder_ / "better.npy";
};

TEST_F(ChromatinEvaluateCommand, WritesSummaryTableAndPictures) {
  const auto done = run_bigbird({"chromatin", "evaluate", "--predictions", "one=" + scores_, "--predictions",
                                 "two=" + better_, "--data", data_, "--table", folder_ / "p.tsv", "--svg",
                                 folder_ / "svg", "-o", folder_ / "s.json"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_NE(done.err.find("one: not scored: 2 b (no positive)"), std::string::npos) << done.err;
  const auto json = nlohmann::json::parse(testing::read_text(folder_ / "s.json"));
  ASSERT_EQ(json.at("evaluations").size(), 2u);
  const auto& one = json.at("evaluations")[0];
  EXPECT_EQ(one.at("name"), "one");
  EXPECT_EQ(one.at("rows"), 3);
  EXPECT_EQ(one.at("groups").at("TF").at("median_auroc"), 1.0);
  EXPECT_EQ(one.at("groups").at("DHS").at("median_auroc"), 0.0);
  EXPECT_EQ(one.at("groups").at("DHS").at("scored"), 1);
  EXPECT_EQ(one.at("groups").at("all").at("mean_auroc"), 0.5);
  EXPECT_EQ(json.at("evaluations")[1].at("groups").at("DHS").at("median_auroc"), 1.0);
  EXPECT_TRUE(json.contains("provenance"));
  const std::string table = testing::read_text(folder_ / "p.tsv");
  EXPECT_NE(table.find("\n1\tb\tDHS\t2\t0\t0.5833333333333333\t1\t0.666667\tone\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("\n2\tb\tDHS\t0\tNA\tNA\t3\t0\ttwo\n"), std::string::npos) << table;
  for (const char* name : {"medians.svg", "one.TF.svg", "one.DHS.svg", "two.TF.svg", "two.DHS.svg"}) {
    EXPECT_TRUE(std::filesystem::exists(folder_ / "svg" / name)) << name;
  }
}

TEST_F(ChromatinEvaluateCommand, TheSplitIsTestUnlessAnotherIsGiven) {
  const auto rows = [&](const std::vector<std::string>& more) {
    std::vector<std::string> command = {"chromatin", "evaluate", "--predictions", scores_, "--data", data_,
                                        "-@",        "1"};
    command.insert(command.end(), more.begin(), more.end());
    return run_bigbird(command);
  };
  const auto one = rows({});
  ASSERT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(rows({"--split", "test", "--no-provenance"}).out, rows({"--no-provenance"}).out);
  const auto all = rows({"--split", "all"});
  EXPECT_EQ(all.status, 1);
  EXPECT_NE(all.err.find("3 rows of predictions for 4 bins"), std::string::npos) << all.err;
  EXPECT_EQ(rows({"--split", "valid"}).status, 1);
  EXPECT_EQ(rows({"--plot", "2"}).status, 2) << "nothing to draw to";
  EXPECT_EQ(rows({"--plot", "2", "--svg", folder_ / "x.svg"}).status, 2) << "no curve";
  EXPECT_EQ(rows({"--plot", "1,0", "--svg", folder_ / "x.svg"}).status, 0);
  EXPECT_EQ(rows({"--predictions", better_}).status, 2) << "two sets without names";
  EXPECT_EQ(rows({"-m", data_}).status, 2) << "predictions and a model";
  EXPECT_EQ(rows({"-o", "/dev/full"}).status, 1);
  EXPECT_EQ(rows({"--table", "/dev/full"}).status, 1);
}

// What a model's bins score when it predicts them itself is what its written predictions score.
TEST(ChromatinEvaluateModel, EqualsItsPredictions) {
  const testing::TemporaryFolder folder;
  const std::string data = folder / "data", genome = folder / "genome.fa", model = folder / "model";
  CounterRng rng(1, Purpose::test, 0);
  std::string bases;
  for (int i = 0; i < 1200; ++i) bases += "ACGT"[rng.below(4)];
  bases.replace(600, 90, std::string(90, 'N'));
  testing::write_text(genome, ">chr1\n" + bases + "\n");
  testing::TinyClassifier shape;
  testing::write_tiny_classifier(model, shape);
  shape.seed = 2;
  testing::write_tiny_classifier(folder / "second", shape);
  ChromatinDatasetWriter writer(data, false, {{"chr1", 1200}}, shape.profiles, shape.window, {});
  for (std::int64_t i = 0; i < 60; ++i) {
    const auto labels = static_cast<std::uint8_t>(rng.below(8));
    writer.write({0, i < 20 ? Split::train : Split::test, 20 * i}, {&labels, 1});
  }
  writer.commit(genome, "{}");

  const auto own =
      run_bigbird({"chromatin", "evaluate", "-m", model, "-m", folder / "second", "--data", data});
  ASSERT_EQ(own.status, 0) << own.err;
  const auto sets = nlohmann::json::parse(own.out).at("evaluations");
  ASSERT_EQ(sets.size(), 4u);
  EXPECT_EQ(sets[3].at("name"), "gc");
  EXPECT_EQ(sets[3].at("missing"), sets[0].at("missing"));
  EXPECT_EQ(sets[0].at("name"), "single");
  EXPECT_EQ(sets[1].at("name"), "rc");
  EXPECT_EQ(sets[2].at("name"), "ensemble");
  EXPECT_GT(sets[0].at("missing"), 0) << "windows of N";
  EXPECT_NE(sets[0].at("groups"), sets[1].at("groups"));

  const std::string npy = folder / "p.npy";
  const auto predicted = run_bigbird(
      {"chromatin", "predict", "-m", model, "--data", data, "--split", "test", "-O", "npy", "-o", npy});
  ASSERT_EQ(predicted.status, 0) << predicted.err;
  const auto read = run_bigbird({"chromatin", "evaluate", "--predictions", npy, "--data", data});
  ASSERT_EQ(read.status, 0) << read.err;
  EXPECT_EQ(nlohmann::json::parse(read.out).at("evaluations")[0].at("groups"), sets[1].at("groups"));
  EXPECT_EQ(nlohmann::json::parse(read.out).at("evaluations")[0].at("missing"), sets[1].at("missing"));
}

// Bins of three profiles: a word on either strand, less of G and C, and nothing to be seen. What stands
// beside predictions is counted here from the windows.
class ChromatinBaselineCommand : public ::testing::Test {
 protected:
  static constexpr std::size_t count = 400, length = 100;
  ChromatinBaselineCommand() {
    CounterRng random(3, Purpose::test, 0);
    std::string genome;
    std::vector<std::uint8_t> labels;
    for (std::size_t i = 0; i < count; ++i) {
      const auto label = static_cast<std::uint8_t>(random.below(8));
      std::string window;
      for (std::size_t b = 0; b < length; ++b)
        window += random.below(100) < ((label & 2) != 0 ? 40U : 55U) ? "GC"[random.below(2)]
                                                                     : "AT"[random.below(2)];
      if ((label & 1) != 0) window.replace(20 + 4 * (i % 10), 8, i % 2 == 0 ? "TGACTCAT" : "ATGAGTCA");
      genome += window;
      labels.push_back(label);
      const double strong = static_cast<double>(std::count(window.begin(), window.end(), 'G') +
                                                std::count(window.begin(), window.end(), 'C'));
      if (i >= 250) ((label & 2) != 0 ? poor_ : rich_).push_back(-strong);
    }
    testing::write_text(folder_ / "genome.fa", ">chr1\n" + genome + "\n");
    ChromatinDatasetWriter writer(data_, false, {{"chr1", static_cast<std::int64_t>(genome.size())}},
                                  {{"word", "TF"}, {"poor", "DHS"}, {"none", "HM"}},
                                  ModelWindow{"chromatin", length, 40, 20}, {});
    for (std::size_t i = 0; i < count; ++i) {
      writer.write({0,
                    i < 200   ? Split::train
                    : i < 250 ? Split::valid
                              : Split::test,
                    static_cast<std::int64_t>(i * length + 40)},
                   {&labels[i], 1});
    }
    writer.commit(folder_ / "genome.fa", "{}");
    write_npy(folder_ / "p.npy", std::vector<float>(3 * 150, 0.5F), {150, 3});
  }
  testing::RunResult evaluate(const std::vector<std::string>& more) {
    std::vector<std::string> command = {"chromatin", "evaluate", "--predictions",  folder_ / "p.npy",
                                        "--data",    data_,      "--no-provenance"};
    command.insert(command.end(), more.begin(), more.end());
    return run_bigbird(command);
  }
  testing::TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  std::vector<double> poor_, rich_;  // bases other than G and C in the windows of the test bins, as scores
};

TEST_F(ChromatinBaselineCommand, SixMersAndGAndCStandBesidePredictions) {
  const auto done = evaluate({"--baseline", "kmers", "-@", "1", "--svg", folder_ / "svg"});
  ASSERT_EQ(done.status, 0) << done.err;
  EXPECT_EQ(evaluate({"--baseline", "kmers", "-@", "3"}).out, done.out);
  const auto sets = nlohmann::json::parse(done.out).at("evaluations");
  ASSERT_EQ(sets.size(), 3u);
  EXPECT_EQ(sets[1].at("name"), "gc");
  EXPECT_EQ(sets[1].at("rows"), 150);
  const RankMetrics gc = rank_metrics(poor_, rich_);
  EXPECT_GT(gc.auroc, 0.8);
  EXPECT_NEAR(sets[1].at("groups").at("DHS").at("median_auroc").get<double>(), gc.auroc, 1e-12);
  EXPECT_NEAR(sets[1].at("groups").at("DHS").at("median_auprc").get<double>(), gc.auprc, 1e-12);
  EXPECT_LT(sets[1].at("groups").at("TF").at("median_auroc").get<double>(), 0.7);
  EXPECT_EQ(sets[2].at("name"), "kmers");
  EXPECT_GT(sets[2].at("groups").at("TF").at("median_auroc").get<double>(), 0.95) << "on either strand";
  EXPECT_LT(sets[2].at("groups").at("HM").at("median_auroc").get<double>(), 0.7);
  const std::string made = sets[2].at("predictions");
  EXPECT_NE(made.find("200 of 200 training bins"), std::string::npos) << made;
  EXPECT_FALSE(std::filesystem::exists(folder_ / "svg" / "gc.TF.svg"));

  // Fewer training bins are others, chosen by the seed; without a word nothing stands beside predictions.
  const auto some = evaluate({"--baseline", "kmers", "--baseline-samples", "60"});
  EXPECT_NE(some.out.find("60 of 200 training bins"), std::string::npos) << some.err;
  EXPECT_NE(evaluate({"--baseline", "kmers", "--baseline-samples", "60", "--seed", "2"}).out, some.out);
  EXPECT_EQ(nlohmann::json::parse(evaluate({}).out).at("evaluations").size(), 1u);
  EXPECT_EQ(nlohmann::json::parse(evaluate({"--baseline", "gc"}).out).at("evaluations")[1], sets[1]);
}

}  // namespace
}  // namespace bigbird
