// Layers of a model in int8: which are, that nothing else changes, and where there is no int8.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/quantization.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

class Int8Model : public ::testing::Test {
 protected:
  Int8Model() {
    config_.head = HeadType::classification;
    config_.num_labels = 3;
    batch_ = random_batch(config_, {12, 45, 20}, 5);
    parameters_ = random_parameters(config_, 11);
    const ParameterLayout layout(config_);
    for (const LinearLayer& layer : linear_layers(config_)) {
      names_.push_back(layer.name);
      round_to_int8(layer, layout, parameters_.data());
    }
  }
  ModelConfig with_int8(const std::vector<std::string>& names) const {
    ModelConfig config = config_;
    Quantization quantization;
    for (const std::string& name : names) quantization.int8.push_back({name, 0.0});
    config.quantization = std::make_shared<const Quantization>(quantization);
    return config;
  }
  std::vector<float> hidden(Model& model) const {
    model.forward(batch_, {});
    return model.last_hidden_state();
  }
  std::unique_ptr<Model> model_of(const ModelConfig& config, bool training = false) {
    ModelOptions options;
    options.training = training;
    return make_model(*backend_, config, batch_, options, parameters_);
  }
  static double distance(const std::vector<float>& one, const std::vector<float>& other) {
    double largest = 0.0;
    for (std::size_t i = 0; i < one.size(); ++i)
      largest = std::max(largest, std::abs(static_cast<double>(one[i]) - static_cast<double>(other[i])));
    return largest;
  }

  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
  ModelConfig config_ = tiny_config();
  Batch batch_;
  std::vector<float> parameters_;
  std::vector<std::string> names_;
};

TEST_F(Int8Model, EachChangesTheResultALittleAndNoneLeavesItAsItWas) {
  const auto model = model_of(config_);
  EXPECT_FALSE(model->computes_in_int8());
  const std::vector<float> full = hidden(*model);
  ASSERT_EQ(names_.size(), 8u);
  for (const std::string& name : names_) {
    EXPECT_TRUE(model->compute_in_int8({name}));
    EXPECT_TRUE(model->computes_in_int8());
    const double changed = distance(hidden(*model), full);
    EXPECT_GT(changed, 0.0) << name;
    EXPECT_LT(changed, 0.3) << name;
  }
  EXPECT_TRUE(model->compute_in_int8({}));
  EXPECT_FALSE(model->computes_in_int8());
  EXPECT_EQ(hidden(*model), full);
  EXPECT_THROW(model->compute_in_int8({"bert.encoder.layer.9.output.dense"}), Error);
}

TEST_F(Int8Model, WhatTheConfigListsIsComputedSo) {
  const std::vector<std::string> some{names_[0], names_[3], names_[6]};
  const auto asked = model_of(config_);
  asked->compute_in_int8(some);
  const auto listed = model_of(with_int8(some));
  const std::vector<float> expected = hidden(*asked);
  EXPECT_TRUE(listed->computes_in_int8());
  EXPECT_EQ(hidden(*listed), expected);
  EXPECT_NE(hidden(*model_of(config_)), expected);
  for (const int threads : {1, 3}) {
    kernels::set_thread_count(threads);
    EXPECT_EQ(hidden(*listed), expected) << threads << " threads";
  }
  kernels::set_thread_count(0);
}

TEST_F(Int8Model, ParametersThatAreSetAgainArePackedAgain) {
  const auto model = model_of(with_int8(names_));
  const std::vector<float> first = hidden(*model);
  std::vector<float> others = random_parameters(config_, 12);
  model->set_parameters(others);
  const std::vector<float> second = hidden(*model);
  EXPECT_NE(first, second);
  const auto fresh = make_model(*backend_, with_int8(names_), batch_, {}, others);
  EXPECT_EQ(hidden(*fresh), second);
  model->set_parameters(parameters_);
  EXPECT_EQ(hidden(*model), first);
}

TEST_F(Int8Model, WithGradientsTheParametersAreRead) {
  const auto trained = model_of(with_int8(names_), true), plain = model_of(config_, true);
  EXPECT_FALSE(trained->computes_in_int8());
  EXPECT_EQ(hidden(*trained), hidden(*plain));
  EXPECT_THROW(trained->compute_in_int8(names_), Error);
}

TEST_F(Int8Model, TheirMemoryIsPlannedInPlaceOfTheFloats) {
  const auto bytes = [&](const ModelConfig& config, const std::string& what) {
    for (const MemoryRow& row : plan_model_memory(config, limits_of(batch_), {}, *backend_)) {
      if (row.what == what) return row.bytes;
    }
    return std::size_t{0};
  };
  std::size_t packed = 0, floats = 0;
  for (const LinearLayer& layer : linear_layers(config_)) {
    packed +=
        backend_->packed_weight_bytes({nullptr, nullptr, layer.in, layer.out}, kernels::WeightForm::int8);
    floats += static_cast<std::size_t>(layer.in * layer.out) * sizeof(float);
  }
  EXPECT_GT(packed, 0u);
  EXPECT_EQ(bytes(with_int8(names_), "packed weights"), packed);
  EXPECT_EQ(bytes(with_int8(names_), "parameters") + floats, bytes(config_, "parameters"));
}

// What inference does (lib/model_folder/open_model.h): the same bits, and no floats any more.
TEST_F(Int8Model, PackedWithTheOthersTheyComputeTheSame) {
  for (const kernels::Precision precision : {kernels::Precision::fp32, kernels::Precision::bf16}) {
    const auto backend = kernels::make_cpu_backend(precision);
    const ModelConfig config = with_int8({names_[1], names_[4], names_[7]});
    const auto unpacked = make_model(*backend, config, batch_, {}, parameters_);
    const std::vector<float> expected = hidden(*unpacked);
    const auto packed = make_model(*backend, config, batch_, {}, parameters_);
    const std::shared_ptr<std::byte> memory(
        static_cast<std::byte*>(backend->allocate(packed->packed_bytes())),
        [&](std::byte* bytes) { backend->release(bytes); });
    packed->pack_weights(memory.get());
    packed->use_packed_weights(memory);
    EXPECT_TRUE(packed->computes_in_int8());
    EXPECT_EQ(hidden(*packed), expected) << kernels::name_of(precision);
    EXPECT_THROW(packed->compute_in_int8({}), Error);
  }
}

}  // namespace
}  // namespace bigbird
