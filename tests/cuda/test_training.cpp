// Whole training runs on the CUDA backend: the numbers of the CPU, checkpoints that go from one device to the
// other and back, exact resume, memory as planned, and errors in words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/cuda/cuda_options.h"
#include "kernels/cuda/runtime.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/tables/tsv.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

using kernels::Precision;

class CudaTraining : public TrainingTest {
 protected:
  void SetUp() override {
    std::string why;
    if (kernels::cuda::find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    set_log_sink([this](LogLevel level, const std::string& message) {
      log_ += message + "\n";
      if (level == LogLevel::warning) warnings_ += message + "\n";
    });
  }
  void TearDown() override { set_log_sink({}); }

  // A new one for every run, as every run of the program has.
  static std::unique_ptr<kernels::Backend> cuda(Precision precision = Precision::fp32) {
    return kernels::cuda::make_cuda_backend({.precision = precision});
  }

  PretrainOptions small(const std::string& run) const {
    PretrainOptions all = options(run);
    all.config.hidden_size = 64;  // heads of 32
    all.config.intermediate_size = 64;
    all.config.num_hidden_layers = 1;
    all.length = 96;
    all.batch = 1;
    all.steps = 3;
    all.warmup = 0;
    return all;
  }
  // The first two updates on one backend, the third on the next.
  void in_two_parts(const PretrainOptions& options, kernels::Backend& first, kernels::Backend& second) {
    stop_after(2);
    EXPECT_THROW(pretrain(options, first), Error);
    run_on();
    PretrainOptions rest = options;
    rest.start = RunStart::resume;
    pretrain(rest, second);
  }

  std::vector<float> weights(const std::string& run) const {
    return tensors(path(run) + "/final/model.safetensors");
  }
  // The length of the difference over the length of the way from the initial weights.
  static double relative_difference(const std::vector<float>& a, const std::vector<float>& b,
                                    const std::vector<float>& start) {
    double difference = 0, way = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
      way += std::pow(static_cast<double>(b[i]) - static_cast<double>(start[i]), 2);
    }
    return std::sqrt(difference / way);
  }
  std::vector<float> initial_weights() {
    PretrainOptions first = small("initial");
    first.steps = 1;
    first.warmup = 1;  // the rate of the first update is 0
    pretrain(first, *backend_);
    return weights("initial");
  }

  std::string log_;
  std::string warnings_;
};

TEST_F(CudaTraining, AnFp32RunTakesTheStepsOfTheCpuWithDropout) {
  pretrain(small("cpu"), *backend_);
  pretrain(small("cuda"), *cuda());
  EXPECT_LT(relative_difference(weights("cuda"), weights("cpu"), initial_weights()), 1e-3);
  TsvReader one(path("cpu") + "/metrics.tsv"), two(path("cuda") + "/metrics.tsv");
  std::vector<std::string_view> a, b;
  while (one.next(a)) {
    ASSERT_TRUE(two.next(b));
    for (const char* column : {"loss", "grad_norm"}) {
      const double expected = parse_number(a[one.column(column)], "", column);
      EXPECT_NEAR(parse_number(b[two.column(column)], "", column), expected, 1e-4 * expected) << column;
    }
  }
}

TEST_F(CudaTraining, ARunGoesOnOnTheOtherDevice) {
  pretrain(small("cpu"), *backend_);
  const std::vector<float> start = initial_weights();
  in_two_parts(small("to_cpu"), *cuda(), *backend_);
  EXPECT_LT(relative_difference(weights("to_cpu"), weights("cpu"), start), 1e-3);
  EXPECT_NE(log_.find("goes on on cpu"), std::string::npos) << log_;
  in_two_parts(small("to_cuda"), *backend_, *cuda());
  EXPECT_LT(relative_difference(weights("to_cuda"), weights("cpu"), start), 1e-3);
  EXPECT_NE(log_.find("the run was on cpu so far and goes on on cuda:0"), std::string::npos) << log_;
  EXPECT_EQ(warnings_, "");
}

TEST_F(CudaTraining, AnotherPrecisionIsTakenWithAWarning) {
  in_two_parts(small("run"), *cuda(Precision::bf16), *backend_);
  EXPECT_NE(warnings_.find("the run was in bf16 so far and goes on in fp32"), std::string::npos) << warnings_;
  const TrainState state = read_train_state(path("run") + "/checkpoint-3");
  EXPECT_EQ(state.device, "cpu");
  EXPECT_EQ(state.precision, "fp32");
}

TEST_F(CudaTraining, AnotherTableOfProductsIsTakenWithAWarning) {
  kernels::ProductTable table{"some device", "some library", {{"a product", {"an algorithm", 1, 2}}}};
  kernels::CudaOptions options{.index = 0, .precision = Precision::fp32};
  options.product_table = [&](const std::string&, const std::string&) { return table; };
  const auto with_table = [&] { return kernels::cuda::make_cuda_backend(options); };
  in_two_parts(small("run"), *cuda(), *with_table());
  EXPECT_NE(warnings_.find("products were computed as cuBLASLt chooses so far and go on by the table " +
                           table.digest() + ": the numbers differ"),
            std::string::npos)
      << warnings_;
  EXPECT_EQ(read_train_state(path("run") + "/checkpoint-3").product_table, table.digest());
  warnings_.clear();
  in_two_parts(small("same"), *with_table(), *with_table());
  EXPECT_EQ(warnings_.find("products were computed"), std::string::npos) << warnings_;
}

TEST_F(CudaTraining, AResumedRunIsExactAndBf16LearnsAsFp32Does) {
  for (const Precision precision : {Precision::fp32, Precision::bf16}) {
    const std::string name = precision == Precision::fp32 ? "fp32" : "bf16";
    pretrain(small(name), *cuda(precision));
    in_two_parts(small(name + "_parts"), *cuda(precision), *cuda(precision));
    EXPECT_EQ(weights(name + "_parts"), weights(name)) << name;
  }
  EXPECT_LT(relative_difference(weights("bf16"), weights("fp32"), initial_weights()), 0.2);
}

// The code of kernels and libraries, which a real device loads at the first call, is more than this model and
// nothing beside a large one: of a large one tests/gpu/verify.sh holds the numbers against each other.
TEST_F(CudaTraining, MemoryIsUsedAsPlanned) {
  PretrainOptions one = small("run");
  one.steps = 1;
  const auto backend = cuda(Precision::bf16);
  pretrain(one, *backend);
  const auto bytes_after = [this](const std::string& words) {
    const std::size_t at = log_.find(words);
    EXPECT_NE(at, std::string::npos) << log_;
    return at == std::string::npos ? 0.0 : std::stod(log_.substr(at + words.size()));
  };
  const double planned = bytes_after("device memory: planned "), used = bytes_after(" bytes, used ");
  std::string why;
  const bool emulated = kernels::cuda::find_devices(why).front().name == "emulated device";
  EXPECT_GT(used, 0.95 * planned);
  EXPECT_LT(used, 1.05 * planned + (emulated ? 0.0 : 1e9));
  EXPECT_NE(log_.find("memory of cuda:0"), std::string::npos) << log_;
  EXPECT_NE(log_.find("working weights"), std::string::npos) << log_;
}

// Kept where there is room, with the same numbers in fp32; a run that did without goes on without.
TEST_F(CudaTraining, WhatGeluGivesIsKeptWhereItFits) {
  const auto keeps = [this](const std::string& run, const std::string& step = "3") {
    return read_train_state(path(run) + "/checkpoint-" + step).keeps_activated;
  };
  const auto planned = [this](const std::string& run) {
    TsvReader table(path(run) + "/memory.tsv");
    std::vector<std::string_view> row;
    std::pair<std::size_t, bool> found{0, false};  // bytes of the device, and whether the row is there
    while (table.next(row)) {
      if (row[0].find("cuda:0") == std::string_view::npos) continue;
      if (row[1] == "peak to expect") found.first = std::stoul(std::string(row[2]));
      if (row[1] == "outputs of gelu in 1 layers") found.second = true;
    }
    return found;
  };
  pretrain(small("room"), *cuda());
  EXPECT_TRUE(keeps("room"));
  EXPECT_TRUE(planned("room").second);
  PretrainOptions tight = small("tight");
  tight.memory_limit = planned("room").first - 1;
  pretrain(tight, *cuda());
  EXPECT_FALSE(keeps("tight"));
  EXPECT_FALSE(planned("tight").second);
  EXPECT_LT(planned("tight").first, planned("room").first);
  EXPECT_EQ(weights("tight"), weights("room"));

  PretrainOptions first = small("parts");
  first.memory_limit = tight.memory_limit;
  stop_after(2);
  EXPECT_THROW(pretrain(first, *cuda(Precision::bf16)), Error);
  run_on();
  EXPECT_TRUE(keeps("parts", "2")) << "half as large in bf16";
  PretrainOptions rest = small("parts");
  rest.start = RunStart::resume;
  rest.memory_limit = planned("parts").first - 1;
  warnings_.clear();
  pretrain(rest, *cuda(Precision::bf16));
  EXPECT_FALSE(keeps("parts"));
  EXPECT_NE(warnings_.find("what gelu gives was kept for the backward pass so far"), std::string::npos)
      << warnings_;

  first = small("without");
  first.memory_limit = rest.memory_limit;
  stop_after(2);
  EXPECT_THROW(pretrain(first, *cuda(Precision::bf16)), Error);
  run_on();
  EXPECT_FALSE(keeps("without", "2"));
  rest = small("without");
  rest.start = RunStart::resume;
  pretrain(rest, *cuda(Precision::bf16));
  EXPECT_FALSE(keeps("without")) << "there is room now, but the first part did without";
}

// The limit leaves 8 MiB beside what no batch changes, of the driver too, which holds hundreds of MiB on a
// real device and nothing here: one sequence fits, 64 do not.
TEST_F(CudaTraining, TooLittleDeviceMemoryNamesTheRowAndTheBatchThatFits) {
  PretrainOptions large = small("run");
  large.batch = 64;
  const auto backend = cuda(Precision::bf16);
  kernels::AttentionLimits nothing;
  nothing.slots = 0;
  const kernels::DriverMemory driver = backend->driver_memory();
  large.memory_limit =
      backend->scratch_bytes(nothing) + driver.held + driver.allowance + (std::size_t{8} << 20);
  try {
    pretrain(large, *backend);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(error.message().find("of memory of cuda:0"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("passed by "), std::string::npos) << error.message();
    EXPECT_NE(error.hint().find("`accumulate`"), std::string::npos) << error.hint();
  }
}

// The user says that there is more than there is: the device refuses, in the same words.
TEST_F(CudaTraining, AnAllocationThatFailsNamesTheRowAndTheBatchThatFits) {
  PretrainOptions large = small("run");
  large.config.hidden_size = 1024;
  large.config.num_attention_heads = 32;
  large.config.intermediate_size = 4096;
  large.length = 8192;
  large.batch = 1000;  // hundreds of GB
  large.memory_limit = std::size_t{1} << 46;
  try {
    pretrain(large, *cuda(Precision::bf16));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(error.message().find("out of device memory"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("passed by "), std::string::npos) << error.message();
    EXPECT_NE(error.hint().find("`accumulate`"), std::string::npos) << error.hint();
  }
}

TEST_F(CudaTraining, ALayerThatOverflowsIsNamedAndTheWeightsStay) {
  pretrain(small("first"), *backend_);
  // The second half of the feed-forward layer gets 1e3 from the first, and its weights are near the largest.
  const LoadedModel loaded = load_model(path("first") + "/final", HeadType::pretraining, 1);
  const auto backend = cuda();
  const ParameterLayout layout(loaded.config);
  Model model(*backend, loaded.config, {96, 1, 16, 96}, {true, false});
  std::vector<float> poisoned = loaded.parameters;
  const TensorSpec& spec = *layout.find("bert.encoder.layer.0.output.dense.weight");
  std::fill_n(poisoned.begin() + spec.offset, spec.count, 3e38f);
  const TensorSpec& inner = *layout.find("bert.encoder.layer.0.intermediate.dense.bias");
  std::fill_n(poisoned.begin() + inner.offset, inner.count, 1e3f);
  model.set_parameters(poisoned);
  Optimizer optimizer(*backend, layout, {});
  TrainerOptions trainer;
  trainer.steps = 2;
  trainer.debug_nan = true;
  trainer.extras.tokenizer_folder = path("tokenizer");
  const auto tokenizer = load_tokenizer(path("tokenizer"));
  const TokenShards shards(path("train"));
  const PretrainingBatches batches(shards, *tokenizer, loaded.config, {}, 96, 1);
  try {
    train(model, optimizer, OneBatch(batches.training_batch(0, 1)), RunFolder(path("bad"), RunStart::fresh),
          trainer, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "step 1: the loss is not finite, first in layer 1 of 1");
  }
  EXPECT_EQ(model.host_parameters(), poisoned);
}

}  // namespace
}  // namespace bigbird
