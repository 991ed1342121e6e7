// calibration.json: every number comes back, and files that hold no calibration are refused by field.
#include "lib/calibration/calibration_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

class CalibrationFile : public ::testing::Test {
 protected:
  CalibrationFile() {
    calibration_.task = "chromatin";
    calibration_.weights = std::string(64, 'a');
    calibration_.strands = Strands::reverse;
    calibration_.fitted_on = "a \"folder\", split valid";
    calibration_.windows = 1234;
    calibration_.positive_weight = 8;
    calibration_.provenance = R"({"version":"1"})";
    calibration_.names = {"K562|CTCF", "K562|CTCF"};
    OutputCalibration fitted{3, 4, -2.0794415416798357, PlattCurve{0.1, -1e-300}, IsotonicCurve{}};
    fitted.isotonic->scores = {0, 1 / 3.0, 0.7};
    fitted.isotonic->values = {0, 0.1, 1};
    calibration_.outputs = {fitted, OutputCalibration{0, 7, -2.0794415416798357, {}, {}}};
    write_calibration(folder_, calibration_);
  }
  // With one stretch of the file replaced.
  void expect_refused(const std::string& old_text, const std::string& new_text, const std::string& field) {
    write_calibration(folder_, calibration_);
    std::string text = testing::read_text(path_);
    ASSERT_NE(text.find(old_text), std::string::npos) << text;
    testing::write_text(path_, text.replace(text.find(old_text), old_text.size(), new_text));
    expect_bad_input(error_of([&] { read_calibration(folder_, 2); }), path_, field);
  }

  testing::TemporaryFolder temporary_;
  std::string folder_ = temporary_.path().string();
  std::string path_ = calibration_path(folder_);
  Calibration calibration_;
};

TEST_F(CalibrationFile, EveryNumberComesBack) {
  const auto read = read_calibration(folder_, 2);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->task, calibration_.task);
  EXPECT_EQ(read->weights, calibration_.weights);
  EXPECT_EQ(read->strands, calibration_.strands);
  EXPECT_EQ(read->fitted_on, calibration_.fitted_on);
  EXPECT_EQ(read->windows, calibration_.windows);
  EXPECT_EQ(read->prior, std::nullopt);
  EXPECT_EQ(read->train_prior, std::nullopt);
  EXPECT_EQ(read->positive_weight, 8);
  EXPECT_EQ(read->provenance, calibration_.provenance);
  EXPECT_EQ(read->names, calibration_.names);
  EXPECT_EQ(read->fitted(), 1u);
  ASSERT_EQ(read->outputs.size(), 2u);
  const OutputCalibration &one = read->outputs[0], &expected = calibration_.outputs[0];
  EXPECT_EQ(one.positives, 3);
  EXPECT_EQ(one.negatives, 4);
  EXPECT_EQ(one.shift, expected.shift);
  EXPECT_EQ(one.platt->slope, expected.platt->slope);
  EXPECT_EQ(one.platt->offset, expected.platt->offset);
  EXPECT_EQ(one.isotonic->scores, expected.isotonic->scores);
  EXPECT_EQ(one.isotonic->values, expected.isotonic->values);
  EXPECT_FALSE(read->outputs[1].fitted());
  EXPECT_EQ(read->outputs[1].shift, expected.shift);
  std::filesystem::remove(path_);
  EXPECT_FALSE(read_calibration(folder_, 2));
}

TEST_F(CalibrationFile, WhatIsNoCalibrationIsRefusedByField) {
  expect_bad_input(error_of([&] { read_calibration(folder_, 3); }), path_,
                   "outputs has 2 entries, and the model has 3 outputs");
  expect_refused("{\n", "[\n", "is not JSON");
  expect_refused("bigbird calibration 1", "bigbird calibration 9", "format is 'bigbird calibration 9'");
  expect_refused("\"weights\"", "\"weight\"", "weights is missing");
  expect_refused("\"strands\": \"-\"", "\"strands\": \"auto\"", "strands is none of");
  expect_refused("\"windows\": 1234", "\"windows\": -1", "windows is not a count");
  expect_refused("\"prior\": null", "\"prior\": \"x\"", "prior is not a number");
  expect_refused("\"slope\":0.1", "\"slope\":null", "outputs[0].platt.slope is not a number");
  expect_refused("\"slope\":0.1", "\"slope\":1e999", path_);
  expect_refused("\"platt\":null", "\"platt\":{\"slope\":1,\"offset\":0}",
                 "outputs[1] has only one of platt and isotonic");
  expect_refused("[0.0,0.3333333333333333,0.7]", "[0.0,0.7,0.7]", "outputs[0].isotonic.scores does not rise");
  expect_refused("[0.0,0.3333333333333333,0.7]", "[]", "outputs[0].isotonic.scores is empty");
  expect_refused("[0.0,0.1,1.0]", "[0.0,0.1]", "outputs[0].isotonic.values has 2 numbers for 3 scores");
  expect_refused("[0.0,0.1,1.0]", "[0.0,0.1,0.05]", "outputs[0].isotonic.values falls");
  expect_refused("[0.0,0.1,1.0]", "[0.0,0.1,1.5]", "outputs[0].isotonic.values[2] is not between 0 and 1");
  expect_refused("\"outputs\": [", "\"outputs\": 1, \"more\": [", "outputs is not a list");
}

}  // namespace
}  // namespace bigbird
