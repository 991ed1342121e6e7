// window.json and profiles.tsv: what is written is read, and what does not fit the model is refused.
#include <gtest/gtest.h>

#include "lib/inference/model_task.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

template <typename Work>
std::string message_of(const Work& work) {
  const auto error = testing::error_of(work);
  return error ? error->message() : "no error";
}

class ModelTask : public ::testing::Test {
 protected:
  void write(const std::map<std::string, std::string>& files) const {
    for (const auto& [name, text] : files) testing::write_text(folder / name, text);
  }
  std::string path() const { return folder.path().string(); }
  testing::TemporaryFolder folder;
};

TEST_F(ModelTask, WhatIsWrittenIsRead) {
  const ModelWindow window{"chromatin", 8000, 3900, 200};
  const std::vector<Profile> profiles = {
      {"K562|CTCF|None", "TF"}, {"K562|CTCF|None", "TF"}, {"H1|H3K4me3", "HM"}};
  write(model_task_files(window, profiles));
  EXPECT_EQ(read_model_window(path()), window);
  EXPECT_EQ(read_model_profiles(path(), 3, {}), profiles);
  EXPECT_EQ(message_of([&] { read_model_profiles(path(), 4, {}); }),
            path() + "/profiles.tsv: 3 profiles, and the model has 4 outputs");
}

TEST_F(ModelTask, AFolderWithoutThemHasNoWindowAndNamesItsOutputs) {
  EXPECT_TRUE(model_task_files(std::nullopt, {}).empty());
  EXPECT_EQ(read_model_window(path()), std::nullopt);
  EXPECT_EQ(read_model_profiles(path(), 2, {"a", "b"}), (std::vector<Profile>{{"a", "."}, {"b", "."}}));
  EXPECT_EQ(read_model_profiles(path(), 1, {"a", "b"}), (std::vector<Profile>{{"output0", "."}}));
}

TEST_F(ModelTask, AnIndexOutOfTurnNamesItsLine) {
  write({{"profiles.tsv", "#index\tname\tgroup\n0\ta\tTF\n2\tb\tTF\n"}});
  EXPECT_EQ(message_of([&] { read_profiles(path() + "/profiles.tsv"); }),
            path() + "/profiles.tsv:3: index 2 where 1 is due");
}

TEST_F(ModelTask, ATargetOutsideTheWindowIsRefused) {
  write(model_task_files(ModelWindow{"chromatin", 100, 90, 20}, {}));
  EXPECT_NE(message_of([&] { read_model_window(path()); }).find("a target of 20 bases at 90"),
            std::string::npos);
  write({{"window.json", "{\"task\": \"chromatin\"}"}});
  EXPECT_NE(message_of([&] { read_model_window(path()); }).find("window.json: "), std::string::npos);
}

}  // namespace
}  // namespace bigbird
