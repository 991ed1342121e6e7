// Evaluation of chromatin predictions: scikit-learn's numbers for every kind of input, rows and splits that
// must agree, missing rows.
#include "lib/genomics/chromatin/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/npy.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::write_text;

constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

// The golden file's bins, every second one of them in split test of a data set; the others have predictions
// and labels that would spoil every number.
class ChromatinEvaluate : public ::testing::Test {
 protected:
  ChromatinEvaluate()
      : golden_(nlohmann::json::parse(
            testing::read_text(testing::source_dir() / "tests" / "golden" / "metrics_sklearn.json"))),
        rows_(golden_.at("rows")),
        columns_(golden_.at("profiles").size()) {
    std::vector<Profile> profiles;
    for (const auto& profile : golden_.at("profiles"))
      profiles.push_back({profile.at("name"), profile.at("group")});
    ChromatinDatasetWriter writer(data_, false, {{"chr1", 1000000}}, profiles,
                                  ModelWindow{"chromatin", 1000, 400, 200}, {});
    for (std::size_t i = 0; i < 2 * rows_; ++i) {
      std::vector<std::uint8_t> packed((columns_ + 7) / 8);
      for (std::size_t k = 0; k < columns_; ++k) {
        const bool label = i % 2 == 0 ? k % 2 == 0 : this->label(i / 2, k);
        if (label) packed[k / 8] = static_cast<std::uint8_t>(packed[k / 8] | (1U << (k % 8)));
        all_.push_back(i % 2 == 0 ? 0.5F : score(i / 2, k));
        if (i % 2 == 1) test_.push_back(all_.back());
      }
      writer.write({0, i % 2 == 0 ? Split::train : Split::test, static_cast<std::int64_t>(i) * 200}, packed);
    }
    writer.commit("genome.fa", "{}");
    write_npy(npy_, test_, shape(rows_));
  }

  bool label(std::size_t row, std::size_t profile) const {
    return golden_.at("profiles")[profile].at("labels").get_ref<const std::string&>()[row] == '1';
  }
  float score(std::size_t row, std::size_t profile) const {
    return golden_.at("profiles")[profile].at("scores_1024")[row].get<float>() / 1024;
  }
  std::vector<std::int64_t> shape(std::size_t rows) const {
    return {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns_)};
  }
  ChromatinLabels test_labels() const { return ChromatinLabels(data_, Split::test, std::nullopt); }
  std::string table(const std::string& columns, std::int64_t shift) const {
    std::string text = "#" + columns;
    for (std::size_t k = 0; k < columns_; ++k) text += "\tp" + std::to_string(k);
    for (std::size_t i = 0; i < rows_; ++i) {
      const std::int64_t begin = static_cast<std::int64_t>(2 * i + 1) * 200 + shift;
      text += "\nchr1\t" + std::to_string(begin) + "\t" + std::to_string(begin + 200);
      for (std::size_t k = 0; k < columns_; ++k) {
        text += "\t" + (std::isnan(test_[i * columns_ + k]) ? "." : std::to_string(test_[i * columns_ + k]));
      }
    }
    return text + "\n";
  }

  void expect_golden(const ChromatinScores& scores) const {
    ASSERT_EQ(scores.profiles.size(), columns_);
    for (std::size_t k = 0; k < columns_; ++k) {
      const auto& profile = golden_.at("profiles")[k];
      SCOPED_TRACE(profile.at("name").get<std::string>());
      const RankMetrics& ranks = scores.profiles[k].ranks;
      EXPECT_EQ(ranks.positives, profile.at("positives"));
      EXPECT_EQ(scores.profiles[k].scored(), !profile.at("auroc").is_null());
      if (!scores.profiles[k].scored()) continue;
      EXPECT_NEAR(ranks.auroc, profile.at("auroc").get<double>(), 1e-9);
      EXPECT_NEAR(ranks.auprc, profile.at("auprc").get<double>(), 1e-9);
    }
  }

  nlohmann::json golden_;
  std::size_t rows_, columns_;
  testing::TemporaryFolder folder_;
  std::string data_ = folder_ / "data";
  std::string npy_ = folder_ / "scores.npy";
  std::vector<float> all_, test_;
};

TEST_F(ChromatinEvaluate, EqualsScikitLearnFromEveryKindOfInput) {
  const ChromatinLabels labels = test_labels();
  expect_golden(score_chromatin("", PredictionMatrix(npy_, columns_), labels, 0));
  expect_golden(score_chromatin("", PredictionMatrix("computed", test_, columns_), labels, 0));
  // A row for every bin of the data set: the bins of the split are taken out.
  write_npy(npy_, all_, shape(2 * rows_));
  expect_golden(score_chromatin("", PredictionMatrix(npy_, columns_), labels, 0));
  const std::string h5 = folder_ / "scores.h5";
  {
    Hdf5Writer file(h5);
    file.append(file.add_matrix("predictions", static_cast<std::int64_t>(columns_)), test_);
    file.commit();
  }
  expect_golden(score_chromatin("", PredictionMatrix(h5, columns_), labels, 0));
  const std::string tsv = folder_ / "scores.tsv";
  write_text(tsv, table("chrom\tstart\tend", 0));
  // Six decimals do not hold 1/1024 exactly, but keep the order and the ties.
  expect_golden(score_chromatin("", PredictionMatrix(tsv, columns_), labels, 0));
}

TEST_F(ChromatinEvaluate, LabelsMayBeAMatrixOfBytes) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::to_string(rows_) + ", " +
                       std::to_string(columns_) + "), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  std::string bytes = std::string("\x93NUMPY\x01\0\x76\0", 10) + header;
  for (std::size_t i = 0; i < rows_; ++i) {
    for (std::size_t k = 0; k < columns_; ++k) bytes += static_cast<char>(label(i, k) ? 1 : 0);
  }
  const std::string path = folder_ / "labels.npy";
  write_text(path, bytes);
  const PredictionMatrix predictions(npy_, columns_);
  expect_golden(score_chromatin("", predictions, ChromatinLabels(path, {}, columns_), 0));
  bytes[bytes.size() - 1] = 2;
  write_text(path, bytes);
  expect_bad_input(error_of([&] { ChromatinLabels(path, {}, columns_); }), "labels.npy", "neither 0 nor 1");
  expect_bad_input(error_of([&] { ChromatinLabels(path, {}, 30); }), "labels.npy",
                   "not the labels of 30 profiles");
}

TEST_F(ChromatinEvaluate, MissingRowsAreLeftOutAndCounted) {
  // Bins that are all positive in one profile, put before the test bins, would change every number.
  std::vector<float> scores = test_;
  for (std::size_t k = 0; k < columns_; ++k) scores[5 * columns_ + k] = no_number;
  write_npy(npy_, scores, shape(rows_));
  const ChromatinScores result = score_chromatin("", PredictionMatrix(npy_, columns_), test_labels(), 0);
  EXPECT_EQ(result.missing, 1u);
  EXPECT_EQ(result.rows, rows_ - 1);
  for (std::size_t k = 0; k < columns_; ++k) {
    const std::int64_t all = golden_.at("profiles")[k].at("positives");
    EXPECT_EQ(result.profiles[k].ranks.positives, all - (label(5, k) ? 1 : 0));
  }
  scores[5 * columns_ + 2] = 0.5F;
  EXPECT_TRUE(error_of([&] {
    score_chromatin("", PredictionMatrix("computed", scores, columns_), test_labels(), 0);
  })) << "a row with some NaN";
  scores = test_;
  scores[7 * columns_ + 3] = std::numeric_limits<float>::infinity();
  expect_bad_input(error_of([&] {
                     score_chromatin("", PredictionMatrix("computed", scores, columns_), test_labels(), 0);
                   }),
                   "computed: row 7, profile 3", "not a finite number");
  expect_bad_input(error_of([&] {
                     const std::vector<float> none(columns_ * rows_, no_number);
                     score_chromatin("", PredictionMatrix("computed", none, columns_), test_labels(), 0);
                   }),
                   "computed", "every row is NaN");
}

TEST_F(ChromatinEvaluate, RowsMustBeTheBinsOfTheLabels) {
  const auto score = [&](const std::string& path) {
    score_chromatin("", PredictionMatrix(path, columns_), test_labels(), 0);
  };
  const std::string places = folder_ / "scores.rows.tsv";
  write_text(places, table("chrom\tstart\tend", 0));
  score(npy_);
  write_text(places, table("chrom\tstart\tend", 200));
  expect_bad_input(error_of([&] { score(npy_); }), "scores.rows.tsv", "predicted at chr1:400");
  std::filesystem::remove(places);
  const std::string h5 = folder_ / "scores.h5";
  {
    Hdf5Writer file(h5);
    file.append(file.add_matrix("predictions", static_cast<std::int64_t>(columns_)), test_);
    file.write_strings("chrom", std::vector<std::string>(rows_, "chr1"));
    file.write_int64("start", std::vector<std::int64_t>(rows_, 200));
    file.commit();
  }
  expect_bad_input(error_of([&] { score(h5); }), "scores.h5, row 1", "predicted at chr1:200");
  test_.resize(test_.size() - columns_);
  write_npy(npy_, test_, shape(rows_ - 1));
  expect_bad_input(error_of([&] { score(npy_); }), "scores.npy", "479 rows of predictions for 480 bins");
  expect_bad_input(error_of([&] { PredictionMatrix(npy_, columns_ + 1); }), "scores.npy",
                   "11 columns for 12");
  const std::string tsv = folder_ / "scores.tsv";
  write_text(tsv, "#chrom\tp\nchr1\tx\n");
  expect_bad_input(error_of([&] { PredictionMatrix(tsv, 1); }), "scores.tsv:2", "p is not a number");
  expect_bad_input(error_of([&] { ChromatinLabels(data_, Split::valid, {}); }), "data", "no bins to score");
}

TEST_F(ChromatinEvaluate, ReportNamesWhatIsNotScored) {
  const ChromatinLabels labels = test_labels();
  const ChromatinScores scores = score_chromatin("rc", PredictionMatrix(npy_, columns_), labels, 0.01);
  const auto json = nlohmann::json::parse(chromatin_scores_json({scores}, labels.profiles(), ""));
  const auto& evaluation = json.at("evaluations").at(0);
  ASSERT_EQ(evaluation.at("undefined").size(), 2u);
  EXPECT_EQ(evaluation.at("undefined")[0].at("name"), "B|none|None");
  EXPECT_EQ(evaluation.at("undefined")[0].at("index"), 3);
  EXPECT_EQ(evaluation.at("groups").at("TF").at("scored"), 4);
  // The mean of the second and the third of the four.
  EXPECT_NEAR(evaluation.at("groups").at("TF").at("median_auroc").get<double>(),
              (0.5674603174603174 + 0.7800621345029239) / 2, 1e-9);
  EXPECT_EQ(evaluation.at("groups").at("all").at("scored"), 9);
  const std::vector<std::string> lines = describe_chromatin_scores(scores, labels.profiles());
  EXPECT_NE(lines.at(0).find("3 B|none|None (no positive), 8 A|all|None (no negative)"), std::string::npos)
      << lines.at(0);
  const std::string path = folder_ / "profiles.tsv";
  write_profile_scores(path, {scores}, labels.profiles(), {});
  const std::string text = testing::read_text(path);
  EXPECT_EQ(text.find("index\tname\tgroup\tpositives\tauroc\tauprc\t"), 0u);
  EXPECT_NE(text.find("3\tB|none|None\tTF\t0\tNA\tNA\t480\t0\trc\n"), std::string::npos) << text;
  // Curves end at (1, 1) and at full recall with the share of positives.
  const ProfileScores& drawn = scores.profiles[5];
  EXPECT_EQ(drawn.roc.front(), (std::pair<double, double>{0, 0}));
  EXPECT_EQ(drawn.roc.back(), (std::pair<double, double>{1, 1}));
  EXPECT_EQ(drawn.precision_recall.back(), (std::pair<double, double>{1, 0.5}));
  EXPECT_LT(drawn.roc.size(), 205u);
}

}  // namespace
}  // namespace bigbird
