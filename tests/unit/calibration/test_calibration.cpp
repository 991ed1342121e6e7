// Calibration against scikit-learn, and what must hold whatever the scores are.
#include "lib/calibration/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/calibration/calibration_run.h"
#include "lib/core/rng.h"
#include "lib/metrics/calibration_measure.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

// 24 scores with ties. The numbers expected of them below were made with NumPy 2.4.6 and scikit-learn 1.9.1:
// IsotonicRegression(out_of_bounds="clip"), log_loss, brier_score_loss, roc_auc_score; slope and offset by
// mpmath.findroot on the gradient, to 40 digits (LogisticRegression(C=inf) with each target as two weighted
// rows agrees to 2e-15).
struct Examples {
  std::vector<double> scores;
  std::vector<std::uint8_t> labels = {0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0};
  Examples() {
    for (const int sixteenths :
         {1, 2, 2, 3, 4, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 11, 11, 12, 12, 13, 14, 14, 15})
      scores.push_back(sixteenths / 16.0);
  }
  OutputCalibration fit(const PriorCorrection& prior = {}) const {
    return fit_calibration(scores, labels, prior);
  }
  void shuffle(std::uint64_t seed) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    CounterRng random(seed, Purpose::test, 0);
    bigbird::shuffle(order, random);
    const Examples before = *this;
    for (std::size_t i = 0; i < order.size(); ++i) {
      scores[i] = before.scores[order[i]];
      labels[i] = before.labels[order[i]];
    }
  }
  std::vector<double> of_class(std::uint8_t label) const {
    std::vector<double> chosen;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (labels[i] == label) chosen.push_back(scores[i]);
    }
    return chosen;
  }
};

TEST(Calibration, PlattIsTheMaximumOfTheLikelihood) {
  const OutputCalibration fitted = Examples().fit();
  ASSERT_TRUE(fitted.platt);
  EXPECT_NEAR(fitted.platt->slope, 0.42943228699202774, 1e-12);
  EXPECT_NEAR(fitted.platt->offset, -0.18133731550819878, 1e-12);
  EXPECT_EQ(fitted.positives, 11);
  EXPECT_EQ(fitted.negatives, 13);
  const double z = std::log(0.25 / 0.75);
  EXPECT_NEAR(fitted.calibrated(CalibrationMethod::platt, 0.25),
              1 / (1 + std::exp(-(0.42943228699202774 * z - 0.18133731550819878))), 1e-12);
}

TEST(Calibration, IsotonicIsThatOfScikitLearn) {
  const OutputCalibration fitted = Examples().fit();
  ASSERT_TRUE(fitted.isotonic);
  const std::vector<double> scores = {0.0625, 0.125, 0.25, 0.3125, 0.375, 0.4375,
                                      0.5625, 0.625, 0.75, 0.8125, 0.9375};
  const std::vector<double> values = {0.0, 0.2, 0.2, 1 / 3.0, 1 / 3.0, 0.5, 0.5, 0.6, 0.6, 0.75, 0.75};
  EXPECT_EQ(fitted.isotonic->scores, scores);
  ASSERT_EQ(fitted.isotonic->values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(fitted.isotonic->values[i], values[i], 1e-15);
  const std::vector<std::pair<double, double>> between = {
      {0, 0.0},   {0.1, 0.12}, {0.15, 0.2}, {0.3, 0.30666666666666664}, {0.41, 0.4266666666666666},
      {0.5, 0.5}, {0.6, 0.56}, {0.71, 0.6}, {0.8, 0.7200000000000001},  {0.93, 0.75},
      {1, 0.75}};
  for (const auto& [score, value] : between)
    EXPECT_NEAR(fitted.calibrated(CalibrationMethod::isotonic, score), value, 1e-15) << score;
}

// scikit-learn with sample_weight 0.1 / share of positives, and 0.9 / share of negatives.
TEST(Calibration, IsotonicForAnotherShareIsTheFitWithWeightedClasses) {
  const OutputCalibration fitted = Examples().fit({0, logit(0.1) - logit(11 / 24.0)});
  const std::vector<double> values = {0.0,
                                      0.03178484107579462,
                                      0.03178484107579462,
                                      0.06161137440758294,
                                      0.06161137440758294,
                                      0.11607142857142858,
                                      0.11607142857142858,
                                      0.16455696202531644,
                                      0.16455696202531644,
                                      0.2826086956521739,
                                      0.2826086956521739};
  ASSERT_EQ(fitted.isotonic->values.size(), values.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(fitted.isotonic->values[i], values[i], 1e-14);
  EXPECT_NEAR(fitted.platt->offset, -0.18133731550819878 + logit(0.1) - logit(11 / 24.0), 1e-12);
  EXPECT_NEAR(fitted.platt->slope, 0.42943228699202774, 1e-12);
}

TEST(Calibration, PriorCorrectionDividesTheOdds) {
  OutputCalibration output;
  output.shift = -std::log(8.0);
  // Odds 8 become odds 1.
  EXPECT_NEAR(output.calibrated(CalibrationMethod::prior, 8 / 9.0), 0.5, 1e-15);
  EXPECT_EQ(output.calibrated(CalibrationMethod::none, 8 / 9.0), 8 / 9.0);
  EXPECT_NEAR(shifted(8 / 9.0, -std::log(8.0)), 0.5, 1e-15);
  EXPECT_EQ(shifted(0, 3), 0);
  EXPECT_EQ(shifted(1, -3), 1);
  EXPECT_TRUE(std::isfinite(logit(0)));
  EXPECT_NEAR(logit(1), -logit(0), 1e-12);
}

TEST(Calibration, TheOrderOfTheWindowsDoesNotMatter) {
  Examples examples;
  const OutputCalibration first = examples.fit();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    examples.shuffle(seed);
    const OutputCalibration again = examples.fit();
    EXPECT_EQ(again.platt->slope, first.platt->slope);
    EXPECT_EQ(again.platt->offset, first.platt->offset);
    EXPECT_EQ(again.isotonic->scores, first.isotonic->scores);
    EXPECT_EQ(again.isotonic->values, first.isotonic->values);
  }
}

TEST(Calibration, SeparableScoresHaveAFiniteCurve) {
  std::vector<double> scores;
  std::vector<std::uint8_t> labels;
  for (int i = 0; i < 50; ++i) {
    scores.push_back(i < 25 ? 0.0 : 1.0);  // logits at the ends of what a double can tell
    labels.push_back(i < 25 ? 0 : 1);
  }
  const OutputCalibration fitted = fit_calibration(scores, labels, {});
  ASSERT_TRUE(std::isfinite(fitted.platt->slope) && std::isfinite(fitted.platt->offset));
  EXPECT_GT(fitted.platt->slope, 0);
  // Where all scores of a class are one, the curve goes through Platt's targets.
  EXPECT_NEAR(fitted.calibrated(CalibrationMethod::platt, 1.0), 26 / 27.0, 1e-9);
  EXPECT_NEAR(fitted.calibrated(CalibrationMethod::platt, 0.0), 1 / 27.0, 1e-9);
  EXPECT_EQ(fitted.calibrated(CalibrationMethod::isotonic, 0.9), 0.9);
}

TEST(Calibration, OneScoreForAllIsTheirShare) {
  const std::vector<double> scores(8, 0.3);
  const std::vector<std::uint8_t> labels = {0, 0, 1, 0, 0, 0, 1, 0};
  const OutputCalibration fitted = fit_calibration(scores, labels, {});
  // The targets' mean: (2 * 3/4 + 6 * 1/8) / 8.
  EXPECT_NEAR(fitted.calibrated(CalibrationMethod::platt, 0.3), 2.25 / 8, 1e-9);
  EXPECT_EQ(fitted.isotonic->scores.size(), 1u);
  EXPECT_EQ(fitted.calibrated(CalibrationMethod::isotonic, 0.9), 0.25);
}

TEST(Calibration, WithoutBothClassesPriorCorrectionStands) {
  const std::vector<double> scores = {0.2, 0.4};
  for (const std::uint8_t label : {std::uint8_t{0}, std::uint8_t{1}}) {
    const OutputCalibration fitted =
        fit_calibration(scores, std::vector<std::uint8_t>{label, label}, {-1.5, 0});
    EXPECT_FALSE(fitted.fitted());
    EXPECT_FALSE(fitted.isotonic);
    const double corrected = fitted.calibrated(CalibrationMethod::prior, 0.4);
    EXPECT_NEAR(corrected, shifted(0.4, -1.5), 1e-15);
    EXPECT_EQ(fitted.calibrated(CalibrationMethod::platt, 0.4), corrected);
    EXPECT_EQ(fitted.calibrated(CalibrationMethod::isotonic, 0.4), corrected);
  }
}

TEST(Calibration, MethodsHaveNames) {
  for (const CalibrationMethod method : calibration_methods)
    EXPECT_EQ(parse_calibration_method(name_of(method)), method);
  const auto error = testing::error_of([] { parse_calibration_method("temperature"); });
  testing::expect_message(error, "temperature", "method of calibration");
  EXPECT_EQ(error->kind(), ErrorKind::usage);
  EXPECT_NE(error->hint().find("none, prior, platt, isotonic"), std::string::npos);
}

// ECE by numpy: bins int(p * 5), and searchsorted(sort(p), p, "left") * 5 // 24.
TEST(CalibrationMeasure, ErrorsAreThoseOfScikitLearnAndNumpy) {
  const Examples examples;
  std::vector<double> positives = examples.of_class(1), negatives = examples.of_class(0);
  const CalibrationMeasure plain = measure_calibration(positives, negatives, {}, 5);
  EXPECT_NEAR(plain.scores.ece_equal_width, 0.0859375, 1e-15);
  EXPECT_NEAR(plain.scores.ece_equal_count, 0.049479166666666664, 1e-15);
  EXPECT_NEAR(plain.scores.log_loss, 0.678465334377017, 1e-14);
  EXPECT_NEAR(plain.scores.brier, 0.22900390625, 1e-15);
  EXPECT_NEAR(plain.scores.auroc, 0.6993006993006993, 1e-15);
  EXPECT_EQ(plain.scores.positives, 11);
  EXPECT_EQ(plain.scores.examples(), 24);

  ASSERT_EQ(plain.equal_width.size(), 5u);
  EXPECT_EQ(plain.equal_width[1].examples, 5);
  EXPECT_NEAR(plain.equal_width[1].lower, 0.2, 1e-15);
  EXPECT_NEAR(plain.equal_width[1].upper, 0.4, 1e-15);
  EXPECT_NEAR(plain.equal_width[1].predicted, 0.3125, 1e-15);
  EXPECT_NEAR(plain.equal_width[1].observed, 0.2, 1e-15);
  ASSERT_EQ(plain.equal_count.size(), 5u);
  EXPECT_EQ(plain.equal_count[2].examples, 4);
  EXPECT_EQ(plain.equal_count[2].lower, 0.5);
  EXPECT_EQ(plain.equal_count[2].upper, 0.5625);
  EXPECT_NEAR(plain.equal_count[2].predicted, 0.53125, 1e-15);
  EXPECT_NEAR(plain.equal_count[2].observed, 0.5, 1e-15);

  const ClassWeights weights = weights_for_prior(0.1, 11, 13);
  const CalibrationMeasure weighted = measure_calibration(positives, negatives, weights, 5);
  EXPECT_NEAR(weighted.scores.ece_equal_width, 0.34042832167832165, 1e-14);
  EXPECT_NEAR(weighted.scores.log_loss, 0.7096331252223896, 1e-14);
  EXPECT_NEAR(weighted.scores.brier, 0.23837139423076922, 1e-14);
  EXPECT_EQ(weighted.scores.auroc, plain.scores.auroc);
}

TEST(CalibrationMeasure, CertaintyThatIsWrongCostsALot) {
  std::vector<double> positives = {0, 1}, negatives = {1};
  const CalibrationMeasure measured = measure_calibration(positives, negatives, {}, 4);
  EXPECT_NEAR(measured.scores.log_loss, -2 * std::log(0x1p-52) / 3, 1e-9);
  EXPECT_NEAR(measured.scores.brier, 2 / 3.0, 1e-15);
  EXPECT_EQ(measured.equal_width[3].examples, 2) << "1 is in the last bin";
  EXPECT_EQ(measured.equal_width[1].examples, 0);
  EXPECT_TRUE(std::isnan(measured.equal_width[1].predicted));
  std::vector<double> nobody;
  EXPECT_TRUE(std::isnan(measure_calibration(positives, nobody, {}, 4).scores.auroc));
}

// Scores of two outputs whose labels follow other odds: shifted by ln 4, and stretched.
LabelledScores drawn(std::size_t windows, std::uint64_t stream) {
  LabelledScores side;
  side.outputs = 2;
  CounterRng random(3, Purpose::test, stream);
  for (std::size_t window = 0; window < windows; ++window) {
    for (const double slope : {1.0, 0.5}) {
      const double z = 4 * random.uniform() - 2;
      const double score = 1 / (1 + std::exp(-(z + std::log(4.0))));
      side.scores.push_back(score);
      side.labels.push_back(random.uniform() < 1 / (1 + std::exp(-slope * z)) ? 1 : 0);
    }
  }
  return side;
}

TEST(CalibrationRun, OddsThatAreTooHighAreFoundAndMended) {
  CalibrationChoices choices;
  choices.correction.shift = -std::log(4.0);
  const LabelledScores side = drawn(4000, 0);
  const std::vector<OutputCalibration> outputs = fit_calibrations(side, choices);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_NEAR(outputs[0].platt->slope, 1, 0.1);
  EXPECT_NEAR(outputs[0].platt->offset, -std::log(4.0), 0.15);
  EXPECT_NEAR(outputs[1].platt->slope, 0.5, 0.1);
  EXPECT_NEAR(outputs[1].platt->offset, -std::log(2.0), 0.15);
  const LabelledScores other = drawn(4000, 1);
  for (const auto& measured :
       {measure_calibrations(other, outputs, choices), cross_measure_calibrations(side, choices)}) {
    ASSERT_EQ(measured.size(), 4u);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(measured[i].method, calibration_methods[i]);
      EXPECT_EQ(measured[i].pooled.scores.examples(), 8000);
      EXPECT_EQ(measured[i].outputs.at(1).examples(), 4000);
    }
    const auto error = [&](std::size_t method) { return measured[method].pooled.scores.ece_equal_width; };
    EXPECT_GT(error(0), 0.2);
    EXPECT_LT(error(2), 0.03);
    EXPECT_LT(error(3), 0.03);
    EXPECT_LT(measured[1].outputs[0].ece_equal_count, 0.04)
        << "the weight is all that is wrong with output 0";
    EXPECT_GT(measured[1].outputs[1].ece_equal_count, 0.05) << "not so with output 1";
    EXPECT_NEAR(measured[2].outputs[0].auroc, measured[0].outputs[0].auroc, 1e-2);
  }
}

// What is measured on a fold comes from the others: labels at random give isotonic regression no way to look
// good, which it does on what it was fitted on.
TEST(CalibrationRun, FoldsAreNotMeasuredOnTheirOwnFit) {
  LabelledScores side;
  CounterRng random(4, Purpose::test, 0);
  for (int i = 0; i < 200; ++i) {
    side.scores.push_back(random.uniform());
    side.labels.push_back(static_cast<std::uint8_t>(random.below(2)));
  }
  const CalibrationChoices choices;
  const double own =
      measure_calibrations(side, fit_calibrations(side, choices), choices)[3].pooled.scores.log_loss;
  const double crossed = cross_measure_calibrations(side, choices)[3].pooled.scores.log_loss;
  EXPECT_LT(own, std::log(2.0));
  EXPECT_GT(crossed, std::log(2.0));
}

TEST(CalibrationRun, FoldsAreOfEqualSizeAndOfTheSeed) {
  const std::vector<std::size_t> folds = calibration_fold_of(103, 7);
  for (std::size_t fold = 0; fold < calibration_folds; ++fold) {
    const auto size = std::count(folds.begin(), folds.end(), fold);
    EXPECT_TRUE(size == 20 || size == 21) << size;
  }
  EXPECT_EQ(folds, calibration_fold_of(103, 7));
  EXPECT_NE(folds, calibration_fold_of(103, 8));
  EXPECT_TRUE(calibration_fold_of(0, 1).empty());
}

}  // namespace
}  // namespace bigbird
