// Programs of others that tests hold the toolkit's files against: samtools, bcftools, tabix.
// pipelines/setup.sh names their packages; without one of them its tests skip, and tests/report_skips.sh
// tells.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/support.h"

namespace bigbird::testing {

inline bool has_program(const std::string& name) {
  return run_program({"sh", "-c", "command -v \"$0\"", name}).status == 0;
}

// What the program wrote; a test fails where the program does.
inline std::string output_of(const std::vector<std::string>& command) {
  const RunResult run = run_program(command);
  EXPECT_EQ(run.status, 0) << command[0] << ": " << run.err;
  return run.out;
}

}  // namespace bigbird::testing

#define BIGBIRD_REQUIRE_PROGRAM(name)                                         \
  if (!bigbird::testing::has_program(name)) {                                 \
    GTEST_SKIP() << "SKIPPED: the program " << (name) << " is not installed"; \
  }
