// A short fuzzing run over the seeds of tests/fuzz: nothing but an Error may come out of damaged files.
#include <gtest/gtest.h>

#include "tests/fuzz/entry_byte_level_bpe.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

TEST(ByteLevelFuzz, DamagedFilesAreReadOrRefusedButNeverWorse) {
  fuzz::short_run("byte_level_bpe", fuzz::byte_level_bpe, 1500);
}

}  // namespace
}  // namespace bigbird
