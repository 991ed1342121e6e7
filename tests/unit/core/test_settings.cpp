// Texts that name settings have the words of the user; what they are made of stays as it is.
#include <gtest/gtest.h>

#include <string>

#include "lib/core/settings.h"

namespace bigbird {
namespace {

class Settings : public ::testing::Test {
 protected:
  void TearDown() override { set_setting_names({}); }
  static void name_options() {
    set_setting_names([](std::string_view field) { return "--" + std::string(field.substr(0, 3)); });
  }
};

TEST_F(Settings, AreTheirFieldsUntilSomeoneNamesThem) {
  EXPECT_EQ(message("`length` {}: must be even", 3), "`length` 3: must be even");
  EXPECT_EQ(setting_name("batch"), "`batch`");
  name_options();
  EXPECT_EQ(message("`length` {}: must be even, see `batch`", 3), "--len 3: must be even, see --bat");
  EXPECT_EQ(message("give `model`"), "give --mod");
  EXPECT_EQ(setting_name("no_field_of_ours"), "--no_");
}

TEST_F(Settings, WhatIsInTheArgumentsIsNoSetting) {
  name_options();
  EXPECT_EQ(message("{}: no `length`", std::string("a`batch`{}.vcf")), "a`batch`{}.vcf: no --len");
}

TEST_F(Settings, CommandsAndSinglesStayInTheText) {
  name_options();
  EXPECT_EQ(message("see `bigbird check` {}, `length` {{}} `", 1), "see `bigbird check` 1, --len {} `");
  EXPECT_EQ(message("no settings"), "no settings");
}

TEST_F(Settings, AreThoseOfTheList) {
  EXPECT_TRUE(is_setting("length"));
  for (const char* word : {"", "lengths", "len", "bigbird"}) EXPECT_FALSE(is_setting(word));
}

}  // namespace
}  // namespace bigbird
