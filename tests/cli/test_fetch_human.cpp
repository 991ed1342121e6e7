// pipelines/fetch_human.sh, on a small mirror of the sites that it names: tests/cli/fetch_human.sh.
#include <gtest/gtest.h>

#include "tests/support/support.h"

namespace bigbird {
namespace {

TEST(FetchHuman, BothBuildsArriveAndDamageIsRefused) {
  const testing::TemporaryFolder folder;
  const testing::RunResult run = testing::run_program(
      {"bash", (testing::source_dir() / "tests/cli/fetch_human.sh").string(), folder.path().string()});
  if (run.status == 77) GTEST_SKIP() << run.out;
  EXPECT_EQ(run.status, 0) << run.err;
}

}  // namespace
}  // namespace bigbird
