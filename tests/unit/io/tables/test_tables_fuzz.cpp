// Short fuzzing runs over the seeds of tests/fuzz: nothing but an Error may come out of damaged tables.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/entry_tables.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

using fuzz::short_run;

class TablesFuzz : public ::testing::Test {
 protected:
  static void TearDownTestSuite() {
    for (const char* suffix : {".chain", ".npy", ".h5"}) {
      std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + suffix);
    }
  }
};

TEST_F(TablesFuzz, DamagedChainsAreReadOrRefused) {
  short_run("chain", fuzz::chain, 1000);
}

TEST_F(TablesFuzz, DamagedMatricesAreReadOrRefused) {
  short_run("npy", fuzz::npy, 1000);
}

// libhdf5 reads and writes past its arrays over some of them (tests/fuzz/README.md), in its own process.
TEST_F(TablesFuzz, DamagedHdf5IsReadOrRefused) {
  short_run("hdf5", fuzz::hdf5, 150);
}

TEST_F(TablesFuzz, Hdf5SeedsAreRead) {
  for (const char* name : {"contiguous.h5", "written.h5"}) {
    const std::string bytes = testing::read_text(testing::source_dir() / "tests/fuzz/seeds/hdf5" / name);
    EXPECT_TRUE(fuzz::hdf5(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size())) << name;
  }
}

}  // namespace
}  // namespace bigbird
