// A short fuzzing run over the seeds of tests/fuzz: nothing but an Error comes out of a damaged MATLAB file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/entry_tables.h"
#include "tests/fuzz/short_run.h"

#if defined(BIGBIRD_ADDRESS_SANITIZER)
#include <sanitizer/lsan_interface.h>
// libhdf5 1.10 does not free all of a damaged file that it refuses. Its memory, not ours.
using LeaksOfLibraries = __lsan::ScopedDisabler;
#else
struct LeaksOfLibraries {
  LeaksOfLibraries() {}
};
#endif

namespace bigbird {
namespace {

TEST(MatlabFuzz, DamagedFilesAreReadOrRefused) {
  const LeaksOfLibraries tolerated;
  fuzz::short_run("matlab", fuzz::matlab, 300);
  std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".mat");
}

}  // namespace
}  // namespace bigbird
