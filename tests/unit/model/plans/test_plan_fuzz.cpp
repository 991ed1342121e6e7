// A short fuzzing run over the seeds of tests/fuzz: nothing but an Error may come out of a damaged plan.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "tests/fuzz/entry_plan.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

TEST(PlanFuzz, DamagedPlansAreReadOrRefused) {
  fuzz::short_run("plan", fuzz::plan, 1000);
  std::filesystem::remove("/tmp/bigbird-fuzz-" + std::to_string(getpid()) + ".json");
}

}  // namespace
}  // namespace bigbird
