// The table of attention systems: names, options and their texts, and docs/attention.md, which has a row of
// each system and of each option.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "lib/core/error.h"
#include "lib/model/config.h"
#include "lib/model_folder/options_json.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

const std::string& attention_page() {
  static const std::string text = testing::read_text(testing::source_dir() / "docs" / "attention.md");
  return text;
}

TEST(AttentionTable, NamesAndKeysAreOfOneThing) {
  std::set<std::string> names;
  for (const AttentionSystem& system : attention_systems()) {
    EXPECT_TRUE(names.insert(system.name).second) << system.name;
    EXPECT_EQ(parse_attention_pattern(system.name), system.pattern);
    EXPECT_EQ(name_of(system.pattern), system.name);
    std::set<std::string> keys;
    for (const AttentionOption& option : system.options) {
      EXPECT_TRUE(keys.insert(option.key).second) << system.name << " " << option.key;
      EXPECT_EQ(option.flag().find('_'), std::string::npos);
      const bool named =
          option.type == AttentionOption::Type::name || option.type == AttentionOption::Type::first;
      EXPECT_EQ(named, !option.names.empty()) << option.key;
    }
  }
  EXPECT_THROW(parse_attention_pattern("itc"), Error);
}

TEST(AttentionTable, WhatAnOptionShowsIsWhatItTakes) {
  for (const AttentionSystem& system : attention_systems()) {
    ModelConfig config;
    config.attention = system.pattern;
    for (const AttentionOption& option : system.options) {
      const std::string shown = option.shown(config);
      option.parse(config.attention_options, shown, "here");
      EXPECT_EQ(option.shown(config), shown) << option.key;
      EXPECT_THROW(option.parse(config.attention_options, "nonsense", "here"), Error) << option.key;
      EXPECT_THROW(option.parse(config.attention_options, "-1", "here"), Error) << option.key;
    }
  }
}

TEST(AttentionTable, OptionsComeBackFromJson) {
  ModelConfig config;
  config.attention = AttentionPattern::sparse_fixed;
  config.attention_options.sparse = {256, 64, 3, HeadsAs::layers};
  ModelConfig back;
  back.attention = config.attention;
  read_attention_options(attention_options_json(config), "file", back);
  EXPECT_EQ(back.attention_options, config.attention_options);
  config.attention = AttentionPattern::blockbert;
  config.attention_options.blockbert = {3, {8, 2, 2}};
  EXPECT_EQ(attention_options_json(config), R"({"parts":3,"head_split":[8,2,2]})");
  config.attention = AttentionPattern::bigbird;
  EXPECT_EQ(attention_options_json(config), "");
}

// Where these fail, the row that they want is the one to put there.
TEST(AttentionTable, ThePageHasARowOfEachSystem) {
  for (const AttentionSystem& system : attention_systems()) {
    std::string options;
    for (const AttentionOption& option : system.options)
      options += fmt::format("{}`{}`", options.empty() ? "" : ", ", option.flag());
    const std::string row = fmt::format("| `{}` | {} | {} | {} | {} | {} |", system.name, system.family,
                                        system.sees, options.empty() ? "none" : options,
                                        system.causal ? "yes" : "no", system.cuda ? "yes" : "no");
    EXPECT_NE(attention_page().find("\n" + row + "\n"), std::string::npos) << row;
  }
}

// The page has a rule for the keys in config.json, with its exceptions, and for what numbers may be.
TEST(AttentionTable, ThePageHasARuleForEachOption) {
  for (const AttentionSystem& system : attention_systems()) {
    for (const AttentionOption& option : system.options) {
      std::string key = option.flag().substr(2);
      std::replace(key.begin(), key.end(), '-', '_');
      if (key != option.key) {
        const std::string exception = fmt::format("`{}` is `{}`", option.flag(), option.key);
        EXPECT_NE(attention_page().find(exception), std::string::npos) << exception;
      }
      if (option.type == AttentionOption::Type::name || option.type == AttentionOption::Type::number)
        continue;
      EXPECT_TRUE(option.most == 16777216 || option.most == 1024 || option.most == 256)
          << option.flag() << " up to " << option.most;
      const bool relative = std::string_view(option.key).rfind("relative_", 0) == 0;
      EXPECT_EQ(option.most == 256, relative) << option.flag();
    }
  }
  for (const char* most : {"16,777,216", "1,024", "256"})
    EXPECT_NE(attention_page().find(most), std::string::npos) << most;
}

}  // namespace
}  // namespace bigbird
