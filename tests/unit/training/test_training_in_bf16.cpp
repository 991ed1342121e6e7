// Training with bf16 products on the processor: what a run in fp32 promises, it promises too.
#include <gtest/gtest.h>

#include <cmath>

#include "lib/core/log.h"
#include "lib/training/run_folder.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class TrainingInBf16 : public TrainingTest {
 protected:
  TrainingInBf16() { backend_ = kernels::make_cpu_backend(kernels::Precision::bf16); }

  std::vector<float> final_weights(const std::string& run) const {
    return tensors(path(run) + "/final/model.safetensors");
  }
};

TEST_F(TrainingInBf16, TenStepsEqualFiveAndASaveAndALoadAndFive) {
  const PretrainOptions whole = options("whole"), parts = options("parts");
  run_whole_and_in_parts(whole, parts, 5);
  for (const char* file : {"/checkpoint-10/model.safetensors", "/checkpoint-10/optimizer.safetensors"})
    EXPECT_EQ(tensors(path("parts") + file), tensors(path("whole") + file)) << file;
}

TEST_F(TrainingInBf16, ThreadsDoNotChangeTheWeights) {
  for (const int threads : {1, 2, 3}) {
    PretrainOptions of = options("threads-" + std::to_string(threads));
    of.accumulate = 2;
    kernels::set_thread_count(threads);
    pretrain(of, *backend_);
  }
  kernels::set_thread_count(1);
  EXPECT_EQ(final_weights("threads-2"), final_weights("threads-1"));
  EXPECT_EQ(final_weights("threads-3"), final_weights("threads-1"));
}

TEST_F(TrainingInBf16, WeightsAndMomentsKeepAllTheirBitsAndTheLossIsThatOfFp32) {
  pretrain(options("narrow"), *backend_);
  const auto exact = kernels::make_cpu_backend();
  pretrain(options("exact"), *exact);
  for (const char* file : {"/checkpoint-10/model.safetensors", "/checkpoint-10/optimizer.safetensors"}) {
    std::size_t beyond = 0;
    for (const float value : tensors(path("narrow") + file))
      if (kernels::to_float(kernels::to_bf16(value)) != value) ++beyond;
    EXPECT_GT(beyond, 1000u) << file << " holds rounded numbers";
  }
  EXPECT_NE(final_weights("narrow"), final_weights("exact")) << "nothing was rounded";
  const double loss = parse_number(first_metric("exact", "loss"), "", "loss");
  EXPECT_NEAR(parse_number(first_metric("narrow", "loss"), "", "loss"), loss, 2e-3 * loss);
}

TEST_F(TrainingInBf16, ThePrecisionIsKeptAndAnotherOneIsSaid) {
  PretrainOptions run = options("run");
  stop_after(2);
  EXPECT_THROW(pretrain(run, *backend_), Error);
  run_on();
  EXPECT_EQ(read_train_state(path("run") + "/checkpoint-2").precision, "bf16");
  std::string said;
  set_log_sink([&](LogLevel, const std::string& line) { said += line + "\n"; });
  run.start = RunStart::resume;
  pretrain(run, *kernels::make_cpu_backend());
  set_log_sink({});
  EXPECT_NE(said.find("the run was in bf16 so far and goes on in fp32"), std::string::npos) << said;
  const TrainState state = read_train_state(path("run") + "/checkpoint-10");
  EXPECT_EQ(state.precision, "fp32");
  EXPECT_EQ(state.arithmetic, kernels::make_cpu_backend()->arithmetic());
}

TEST_F(TrainingInBf16, ADeviceOfTheSameNameThatComputesOtherwiseIsSaid) {
  std::string said;
  set_log_sink([&](LogLevel, const std::string& line) { said += line + "\n"; });
  TrainState before;
  before.device = backend_->name();
  before.precision = "bf16";
  say_other_device(before, *backend_);  // of a folder that does not tell
  before.arithmetic = backend_->arithmetic();
  say_other_device(before, *backend_);
  EXPECT_EQ(said, "");
  before.arithmetic = "NVIDIA H200, 16 multiprocessors";
  say_other_device(before, *backend_);
  set_log_sink({});
  EXPECT_EQ(said, "the run was computed by NVIDIA H200, 16 multiprocessors so far and goes on by " +
                      backend_->arithmetic() + ": its numbers differ from a run on one of them\n");
}

}  // namespace
}  // namespace bigbird
