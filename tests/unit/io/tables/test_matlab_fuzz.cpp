// A short fuzzing run over the seeds of tests/fuzz: nothing but an Error may come out of damaged MATLAB files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/entry_tables.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

TEST(MatlabFuzz, DamagedFilesAreReadOrRefused) {
  fuzz::short_run("matlab", fuzz::matlab, 300);
  std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".mat");
}

}  // namespace
}  // namespace bigbird
