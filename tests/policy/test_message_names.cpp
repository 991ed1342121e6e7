// Messages and hints name settings, options and verbs that exist.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "apps/option_names.h"
#include "lib/core/settings.h"
#include "tests/policy/lines.h"
#include "tests/policy/message_names.h"
#include "tests/policy/policy.h"
#include "tests/support/support.h"

namespace bigbird::policy {
namespace {

const OptionsOfVerbs& program() {
  static const OptionsOfVerbs options = options_of_verbs(testing::run_bigbird({"completion", "bash"}).out);
  return options;
}

std::string judged(const std::string& path, const std::string& line) {
  return joined(unknown_names(path, "// What this is.\n" + line + "\n", program()));
}

TEST(MessageNames, ThoseOfTheTreeExist) {
  std::vector<std::string> all;
  for (const std::string& file : source_files(testing::source_dir())) {
    if (file.rfind("lib/", 0) != 0 && file.rfind("apps/", 0) != 0) continue;
    for (const std::string& one :
         unknown_names(file, testing::read_text(testing::source_dir() / file), program()))
      all.push_back(one);
  }
  EXPECT_EQ(joined(all), "");
}

// An entry that no verb has as an option is left over.
TEST(MessageNames, EverySettingIsAnOption) {
  std::istringstream settings{std::string(all_settings)};
  for (std::string setting; settings >> setting;) {
    const bool known = std::any_of(program().begin(), program().end(), [&](const auto& row) {
      std::vector<std::string> typed;
      for (const OptionNames& names : row.second) typed.insert(typed.end(), names.begin(), names.end());
      return apps::option_name(setting, typed) != setting;
    });
    EXPECT_TRUE(known) << setting;
  }
}

TEST(MessageNames, WhatLeadsNowhereIsFound) {
  EXPECT_EQ(judged("lib/io/text/x.cpp",
                   "throw_bad_input(\"a\", message(\"set `quoting` none, or `format` csv\"));"),
            "");
  EXPECT_EQ(judged("lib/io/text/x.cpp", "throw_bad_input(\"a\", message(\"set `quotation` none\"));"),
            "lib/io/text/x.cpp: `quotation` is an option of no verb that may say so\n");
  EXPECT_EQ(judged("lib/text/qa/x.cpp", "f(message(\"take \"\n  \"`positive_weight` 1\"));"),
            "lib/text/qa/x.cpp: `positive_weight` is an option of no verb that may say so\n")
      << "one of other verbs";
  EXPECT_EQ(judged("lib/io/text/x.cpp", "f(\"set `quoting` none\");"),
            "lib/io/text/x.cpp: `quoting` does not stand in a message()\n");
  EXPECT_EQ(judged("lib/inference/x.cpp", "f(\"see `bigbird promoter finetune`, or bigbird train-bpe\");"),
            "");
  EXPECT_EQ(judged("lib/inference/x.cpp", "f(\"see `bigbird promoters`\");"),
            "lib/inference/x.cpp: bigbird promoters is no command\n");
  EXPECT_EQ(judged("lib/inference/x.cpp", "f(\"see `calibrate it`\");"),
            "lib/inference/x.cpp: `calibrate it` is no verb\n");
  EXPECT_EQ(judged("lib/inference/x.cpp", "f(\"give --batch\");"),
            "lib/inference/x.cpp: --batch stands in lib\n");
  EXPECT_EQ(judged("apps/data/cmd_chunk.cpp", "f(\"take --seed, or chunk --passes\");"), "");
  EXPECT_EQ(judged("apps/data/cmd_chunk.cpp", "f(\"take --lr\");"),
            "apps/data/cmd_chunk.cpp: --lr is no option of chunk: take --lr\n");
  EXPECT_EQ(judged("apps/console.cpp", "f(\"take --frobnicate 1\");"),
            "apps/console.cpp: --frobnicate is no option: take --frobnicate 1\n");
}

}  // namespace
}  // namespace bigbird::policy
