// One program for machines with and without a GPU: it asks for no library of CUDA when it starts.
#include <gtest/gtest.h>

#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

TEST(OneBinary, NeedsNoLibraryOfCudaToStart) {
  const RunResult result = run_program({"objdump", "-p", bigbird_binary()});
  if (result.status != 0) GTEST_SKIP() << "SKIPPED: objdump (binutils) is absent";
  EXPECT_NE(result.out.find("NEEDED"), std::string::npos);
  for (const char* library : {"libcuda", "libcublas", "libnv"})
    EXPECT_EQ(result.out.find(library), std::string::npos) << library;
}

// With every device hidden, as on a machine without one.
TEST(OneBinary, WithoutADeviceComputesOnTheProcessorAndSaysWhy) {
  const RunResult listed = run_program({"env", "CUDA_VISIBLE_DEVICES=", bigbird_binary(), "devices"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_NE(listed.err.find("no CUDA: "), std::string::npos) << listed.err;
  EXPECT_NE(listed.out.find("\ncpu\t"), std::string::npos) << listed.out;
  EXPECT_EQ(listed.out.find("\ncuda:"), std::string::npos) << listed.out;
}

}  // namespace
}  // namespace bigbird::testing
