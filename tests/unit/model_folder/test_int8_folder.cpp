// Model folders with int8 layers: integers and scales come back as what they stand for, to the last bit, and
// what does not fit is refused by name.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "lib/core/error.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model/quantization.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/int8_folder.h"
#include "lib/model_folder/model_folder.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

constexpr const char* kept_layer = "bert.encoder.layer.1.output.dense";
constexpr const char* int8_weight = "bert.encoder.layer.0.attention.self.key.weight";

ModelConfig int8_config() {
  ModelConfig config;
  config.vocab_size = 20;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 32;
  config.block_size = 4;
  Quantization quantization;
  for (const LinearLayer& layer : linear_layers(config)) {
    (layer.name == kept_layer ? quantization.kept : quantization.int8).push_back({layer.name, 0.125});
  }
  quantization.measured = {"auroc", 0.75, 0.7495, 0.0005, 0.002, 0.9963, "a \"place\"", "abc", 10, 9, 3};
  quantization.from_sha256 = "def";
  config.quantization = std::make_shared<const Quantization>(quantization);
  return config;
}

class Int8Folder : public ::testing::Test {
 protected:
  Int8Folder()
      : config_(int8_config()), layout_(config_), parameters_(initial_parameters(layout_, config_, 3)) {
    before_ = parameters_;
    for (const LinearLayer& layer : linear_layers(config_)) {
      if (layer.name != kept_layer) round_to_int8(layer, layout_, parameters_.data());
    }
    write(parameters_, TensorType::i8);
  }
  std::string path() const { return folder_.path().string(); }
  void write(const std::vector<float>& parameters, TensorType type) {
    WriteOptions options;
    options.type = type;
    write_model_files(path(), config_, layout_, parameters, "", "# card\n", options);
  }
  // Of load_model, or of what is given.
  static std::string message_of(const std::function<void()>& work) {
    try {
      work();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return error.message();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }
  std::string load_failure() const {
    return message_of([&] { load_model(path(), {}); });
  }
  // The weights with one tensor changed, or left out when `change` says so.
  void rewrite(const std::string& name, const std::function<bool(std::vector<std::byte>&)>& change) const {
    std::vector<TensorToWrite> tensors;
    std::vector<std::vector<std::byte>> bytes;
    {
      const SafetensorsFile file(path() + "/model.safetensors");
      for (const TensorInfo& info : file.tensors()) {
        const auto from = file.bytes(info.name);
        std::vector<std::byte> values(from.begin(), from.end());
        if (info.name == name && !change(values)) continue;
        bytes.push_back(std::move(values));
        tensors.push_back({info.name, info.type, info.shape, nullptr});
      }
    }
    for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].data = bytes[i].data();
    write_safetensors(path() + "/model.safetensors", tensors);
  }
  void replace_in_config(const std::string& from, const std::string& to) const {
    std::string text = testing::read_text(folder_ / "config.json");
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    testing::write_text(folder_ / "config.json", text.replace(at, from.size(), to));
  }

  testing::TemporaryFolder folder_;
  ModelConfig config_;
  ParameterLayout layout_;
  std::vector<float> before_, parameters_;
};

TEST_F(Int8Folder, RoundTripIsExact) {
  const LoadedModel model = load_model(path(), {});
  ASSERT_EQ(model.parameters.size(), parameters_.size());
  EXPECT_EQ(std::memcmp(model.parameters.data(), parameters_.data(), parameters_.size() * sizeof(float)), 0);
  ASSERT_NE(model.config.quantization, nullptr);
  EXPECT_EQ(*model.config.quantization, *config_.quantization);
  EXPECT_TRUE(model.notes.empty());
  const SafetensorsFile file(path() + "/model.safetensors");
  std::size_t integers = 0;
  for (const TensorInfo& info : file.tensors()) {
    integers += info.type == TensorType::i8 ? 1 : 0;
    EXPECT_TRUE(info.type == TensorType::i8 || info.type == TensorType::f32) << info.name;
  }
  EXPECT_EQ(integers, 11u);  // query, key, value, output, inner, outer of two layers, but the kept one
  EXPECT_EQ(file.info(int8_weight).type, TensorType::i8);
  EXPECT_EQ(file.info(scales_name(int8_weight)).shape, std::vector<std::int64_t>{8});
  EXPECT_EQ(file.info(std::string(kept_layer) + ".weight").type, TensorType::f32);
}

TEST_F(Int8Folder, RoundingChangesTheWeightsOfInt8LayersAloneAndByHalfAStepAtMost) {
  for (const TensorSpec& spec : layout_.tensors()) {
    const std::vector<std::string> names = int8_weights(config_);
    const bool listed = std::find(names.begin(), names.end(), spec.name) != names.end();
    double most = 0.0, difference = 0.0;
    for (std::int64_t i = spec.offset; i < spec.offset + spec.count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      most = std::max(most, std::abs(static_cast<double>(before_[at])));
      difference = std::max(
          difference, std::abs(static_cast<double>(before_[at]) - static_cast<double>(parameters_[at])));
    }
    if (listed) {
      EXPECT_GT(difference, 0.0) << spec.name;
      EXPECT_LE(difference, 0.5001 * most / 127) << spec.name;
    } else {
      EXPECT_EQ(difference, 0.0) << spec.name;
    }
  }
}

TEST_F(Int8Folder, WeightsThatAreNoIntegersAreNotWrittenAsSuch) {
  EXPECT_NE(message_of([&] { write(before_, TensorType::i8); }).find("not integers times a scale"),
            std::string::npos);
  std::vector<float> bad = before_;
  bad[static_cast<std::size_t>(layout_.offset(int8_weight))] = INFINITY;
  EXPECT_NE(message_of([&] {
              for (const LinearLayer& layer : linear_layers(config_))
                round_to_int8(layer, layout_, bad.data());
            }).find("attention.self"),
            std::string::npos);
}

// What training or convert writes: the values, and no word of int8.
TEST_F(Int8Folder, OtherTypesLeaveItOut) {
  write(parameters_, TensorType::f32);
  const LoadedModel model = load_model(path(), {});
  EXPECT_EQ(model.parameters, parameters_);
  EXPECT_EQ(model.config.quantization, nullptr);
  EXPECT_TRUE(is_huggingface_architecture(model.config));
  EXPECT_FALSE(is_huggingface_architecture(config_));
  for (const auto& [name, value] : config_fields(config_))
    EXPECT_EQ(name.find("quantization"), std::string::npos);
  EXPECT_EQ(config_fields(config_), config_fields(model.config));
}

TEST_F(Int8Folder, DamageIsNamed) {
  const std::string scales = scales_name(int8_weight);
  rewrite(scales, [](std::vector<std::byte>& bytes) {
    float scale = 0.0f;
    std::memcpy(&scale, bytes.data(), sizeof scale);
    scale *= 1.001f;
    std::memcpy(bytes.data(), &scale, sizeof scale);
    return true;
  });
  EXPECT_NE(load_failure().find("row 0 of tensor " + std::string(int8_weight)), std::string::npos)
      << load_failure();
  rewrite(scales, [](std::vector<std::byte>&) { return false; });
  EXPECT_NE(load_failure().find(scales + " is missing"), std::string::npos) << load_failure();

  write(parameters_, TensorType::i8);
  rewrite(int8_weight, [](std::vector<std::byte>& bytes) {
    bytes[9] = std::byte{0x80};  // -128
    return true;
  });
  EXPECT_NE(load_failure().find("row 1 of tensor " + std::string(int8_weight)), std::string::npos)
      << load_failure();
}

// Also what a reader that knows nothing of int8 says.
TEST_F(Int8Folder, IntegersThatNothingIsSaidOfAreRefused) {
  replace_in_config("\"quantization\"", "\"other\"");
  EXPECT_NE(load_failure().find("holds I8, not floating-point numbers"), std::string::npos) << load_failure();
}

TEST_F(Int8Folder, FloatsWhereIntegersAreToBeAreRefused) {
  const std::string config = testing::read_text(folder_ / "config.json");
  write(parameters_, TensorType::f32);
  testing::write_text(folder_ / "config.json", config);
  EXPECT_NE(load_failure().find("_scale"), std::string::npos) << load_failure();
}

TEST_F(Int8Folder, WhatConfigJsonSaysOfItIsChecked) {
  const std::string whole = testing::read_text(folder_ / "config.json");
  for (const auto& [from, to, message] : std::vector<std::array<std::string, 3>>{
           {kept_layer, "bert.encoder.layer.7.output.dense", "not a layer of the model"},
           {"\"measured\"", "\"other\"", "measured is missing"},
           {"\"auroc\"", "\"f1\"", "neither auroc nor kl"},
           {"\"examples\": 9", "\"examples\": \"9\"", "examples is of another type"},
           {"\"kept\": {", "\"kept\": [], \"x\": {", "kept is not an object"},
           {"0.125", "true", "is not a number"}}) {
    testing::write_text(folder_ / "config.json", whole);
    replace_in_config(from, to);
    EXPECT_NE(load_failure().find(message), std::string::npos) << load_failure();
  }
}

TEST_F(Int8Folder, OutputsNameTheModelAsInt8) {
  EXPECT_EQ(model_input(path(), "x").arithmetic, "int8");
  EXPECT_EQ(model_input(path() + "/model.safetensors", "x").arithmetic, "int8");
  write(parameters_, TensorType::f32);
  EXPECT_EQ(model_input(path(), "x").arithmetic, "");
}

}  // namespace
}  // namespace bigbird
