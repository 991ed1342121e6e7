// text.json of a model folder: read back as it was written, and refused where it is damaged.
#include "lib/text/text_settings.h"

#include <gtest/gtest.h>

#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

class TextSettingsFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    testing::write_text(folder_ / "text.json", text);
    return folder_.path().string();
  }
  testing::TemporaryFolder folder_;
};

TEST_F(TextSettingsFile, WhatWasWrittenIsReadBack) {
  TextSettings settings;
  settings.task = TextTask::question_answering;
  settings.data_format = "squad";
  settings.length = 384;
  settings.second_type = true;
  settings.encoding = {WhiteSpace::fold, true};
  settings.step = 100;
  settings.max_question = 20;
  settings.version_2 = true;
  const auto files = text_settings_files(settings);
  ASSERT_EQ(files.size(), 1u);
  ASSERT_EQ(files.begin()->first, "text.json");
  const TextSettings back = read_text_settings(write(files.begin()->second));
  EXPECT_EQ(back.task, TextTask::question_answering);
  EXPECT_EQ(back.data_format, "squad");
  EXPECT_EQ(back.length, 384);
  EXPECT_TRUE(back.second_type);
  EXPECT_EQ(back.encoding.white_space, WhiteSpace::fold);
  EXPECT_TRUE(back.encoding.ascii_punctuation);
  EXPECT_EQ(back.step, 100U);
  EXPECT_FALSE(back.overlap.has_value());
  EXPECT_EQ(back.max_question, 20U);
  EXPECT_EQ(back.version_2, true);
}

// A folder of Hugging Face's has no such file.
TEST_F(TextSettingsFile, WithoutTheFileTextsAreReadAsTransformersReadsThem) {
  const TextSettings settings = read_text_settings(folder_.path().string());
  EXPECT_FALSE(settings.task.has_value());
  EXPECT_EQ(settings.length, 0);
  EXPECT_FALSE(settings.second_type);
  EXPECT_EQ(settings.encoding.white_space, WhiteSpace::keep);
  EXPECT_FALSE(settings.encoding.ascii_punctuation);
}

TEST_F(TextSettingsFile, DamagedOrLaterFilesAreRefused) {
  const std::string rest =
      R"("data_format": "", "second_type": false, "white_space": "fold", "ascii_punctuation": false)";
  const auto error = [&](const std::string& text) {
    return testing::error_of([&] { read_text_settings(write(text)); });
  };
  testing::expect_bad_input(error(R"({"task": "classify", )"), "text.json", "damaged");
  testing::expect_bad_input(error(R"({"task": "classify", )" + rest + "}"), "text.json", "length");
  testing::expect_bad_input(error(R"({"task": "classify", "length": "x", )" + rest + "}"), "text.json",
                            "damaged");
  testing::expect_bad_input(error(R"({"task": "poetry", "length": 0, )" + rest + "}"), "text.json", "task");
  testing::expect_bad_input(error(R"({"task": "qa", "length": -1, )" + rest + "}"), "text.json", "negative");
  const TextSettings older = read_text_settings(write(R"({"task": "qa", "length": 9, )" + rest + "}"));
  EXPECT_EQ(older.length, 9);
  EXPECT_FALSE(older.overlap || older.step || older.max_question || older.version_2);
  const std::string length = R"({"task": "qa", "length": 9, )";
  testing::expect_bad_input(error(length + R"("overlap": 10, )" + rest + "}"), "text.json", "windows");
  testing::expect_bad_input(error(length + R"("step": -1, )" + rest + "}"), "text.json", "windows");
  testing::expect_bad_input(error(length + R"("version_2": 1, )" + rest + "}"), "text.json", "damaged");
}

}  // namespace
}  // namespace bigbird
