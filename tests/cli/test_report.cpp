// `bigbird report` as a user runs it: a page of a run that was just made.
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/io/tables/tsv.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"

namespace bigbird {
namespace {

using testing::run_bigbird;

TEST(Report, OfARunHoldsItsNumbersAndNothingFromOutside) {
  const testing::TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  testing::write_tiny_tokenizer(folder / "tokenizer");
  testing::write_tiny_shards(path("train"), folder / "tokenizer");
  ASSERT_EQ(run_bigbird({"pretrain",
                         "--train",
                         path("train"),
                         "--valid",
                         path("train"),
                         "-m",
                         path("tokenizer"),
                         "-o",
                         path("run"),
                         "--layers",
                         "1",
                         "--width",
                         "32",
                         "--heads",
                         "2",
                         "--length",
                         "64",
                         "--batch",
                         "4",
                         "--steps",
                         "4",
                         "--eval-every",
                         "2",
                         "--device",
                         "cpu",
                         "-@",
                         "1"})
                .status,
            0);
  ASSERT_EQ(run_bigbird({"report", path("run"), "-o", path("run.html")}).status, 0);
  const std::string page = testing::read_text(path("run.html"));
  TsvReader valid(path("run") + "/valid.tsv");
  std::vector<std::string_view> fields;
  int rows = 0;
  for (; valid.next(fields); ++rows)
    EXPECT_NE(page.find("<td class=\"n\">" + std::string(fields[1]) + "</td>"), std::string::npos)
        << fields[1];
  EXPECT_EQ(rows, 2);
  EXPECT_NE(page.find("checkpoint-4"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);

  const auto refused = run_bigbird({"report", path("tokenizer"), "-o", path("other.html")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("no run: it holds no metrics.tsv"), std::string::npos) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path("other.html")));
}

}  // namespace
}  // namespace bigbird
