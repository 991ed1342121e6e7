// `bigbird devices` and --device cuda where there is a device, which is the emulated one.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/emulated/emulated_program.h"

namespace bigbird::testing {
namespace {

using Json = nlohmann::json;

TEST(EmulatedDevices, AreListedWithWhatTheProgramHoldsForThem) {
  const RunResult listed = run_emulated("", {"devices"});
  ASSERT_EQ(listed.status, 0) << listed.err;
  EXPECT_TRUE(contains(listed.err, "CUDA kernels: machine code for 8.0 and 9.0, PTX for 9.0\n"))
      << listed.err;
  EXPECT_TRUE(contains(listed.out, "\ncuda:0\temulated device\t8.6\t4\t")) << listed.out;
}

// Cards that no result of this project is from.
TEST(EmulatedDevices, ACardThatWasNeverRunOnIsSaid) {
  const std::string never = "never run on this kind of card";
  for (const auto& [capability, known] :
       {std::pair{"80", false}, {"89", false}, {"90", true}, {"100", false}}) {
    const std::string device =
        std::string("architectures=80-real;90-real;100-real compute_capability=") + capability;
    const RunResult listed = run_emulated(device, {"devices"});
    ASSERT_EQ(listed.status, 0) << listed.err;
    EXPECT_EQ(contains(listed.err, never), !known) << listed.err;
    const RunResult json = run_emulated(device, {"devices", "--json"});
    EXPECT_EQ(Json::parse(json.out).at("cuda").at("devices").at(0).at("was_run"), known) << json.out;
  }
  const RunResult ada = run_emulated("compute_capability=89", {"devices"});
  EXPECT_TRUE(contains(ada.err, "cuda:0: " + never + " (compute capability 8.9): the kernels were compiled"))
      << ada.err;
}

TEST(EmulatedDevices, JsonSaysWhichProductsOfABaseModelAreRefused) {
  const RunResult none = run_emulated("", {"devices", "--json"});
  ASSERT_EQ(none.status, 0) << none.err;
  Json cuda = Json::parse(none.out).at("cuda");
  EXPECT_EQ(cuda.at("kernels"), "machine code for 8.0 and 9.0, PTX for 9.0");
  for (const char* precision : {"fp32", "tf32", "bf16"}) {
    const Json products = cuda.at("devices").at(0).at("products_of_base_model").at(precision);
    EXPECT_EQ(products.at("asked"), 24);
    EXPECT_TRUE(products.at("refused").empty());
  }
  const RunResult some = run_emulated("refused_depth=3072", {"devices", "--json"});
  ASSERT_EQ(some.status, 0) << some.err;
  cuda = Json::parse(some.out).at("cuda");
  EXPECT_EQ(cuda.at("devices").at(0).at("products_of_base_model").at("bf16").at("refused"),
            (Json{"feed-forward, inner: gradient of the input: 4096 x 768 x 3072",
                  "feed-forward, output: forward: 4096 x 768 x 3072"}));
}

// A program built for one card, on another.
TEST(EmulatedDevices, ADeviceWithoutKernelsIsToldBeforeAnythingRuns) {
  const std::string other = "compute_capability=80 architectures=90-real";
  const std::string why =
      "cuda:0 (emulated device) has compute capability 8.0, for which this bigbird has no kernels: it holds "
      "machine code for 9.0";
  const RunResult listed = run_emulated(other, {"devices"});
  EXPECT_EQ(listed.status, 0) << listed.err;
  EXPECT_TRUE(contains(listed.err, "no CUDA: " + why + "\n")) << listed.err;
  EXPECT_TRUE(contains(listed.err, "hint: build it for that device")) << listed.err;
  const RunResult asked = run_emulated(other, {"bench", "--device", "cuda"});
  EXPECT_EQ(asked.status, 3) << asked.err;
  EXPECT_TRUE(contains(asked.err, "--device cuda: " + why)) << asked.err;
  EXPECT_TRUE(contains(asked.err, "hint: build it for that device")) << asked.err;
}

}  // namespace
}  // namespace bigbird::testing
