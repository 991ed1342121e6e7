// Folders of models with a decoder that transformers has no class for, and the ways to begin one: a decoder
// for an encoder that is there, coupled or of its own, and an original Pegasus with sparse attention.
// tests/golden/test_dialects.cpp holds such a Pegasus against transformers.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

// The values of a tensor in a layout.
std::vector<float> tensor_of(const LoadedModel& model, const std::string& name) {
  const ParameterLayout layout(model.config);
  const TensorSpec* spec = layout.find(name);
  EXPECT_NE(spec, nullptr) << name;
  const auto first = model.parameters.begin() + spec->offset;
  return {first, first + spec->count};
}

template <typename Work>
std::string message_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.message();
  }
  return "accepted";
}

class DecoderFolders : public ::testing::TestWithParam<bool> {
 protected:
  const TemporaryFolder folder_;
  static constexpr std::uint64_t seed = 7;
};

TEST_P(DecoderFolders, AreWrittenAndReadBackToTheByte) {
  const ModelConfig config = GetParam() ? tiny_coupled_config() : tiny_own_decoder_config();
  const ParameterLayout layout(config);
  const std::vector<float> parameters = random_parameters(config, 81);
  write_model_files(folder_.path(), config, layout, parameters, "", "card\n");
  const LoadedModel model = load_model(folder_.path(), LoadOptions{});
  EXPECT_EQ(model.parameters, parameters);
  EXPECT_EQ(config_json(model.config), config_json(config));
  EXPECT_EQ(model.config.decoder, config.decoder);
  EXPECT_TRUE(model.fresh.empty());
  const nlohmann::json json = nlohmann::json::parse(read_text(folder_ / "config.json"));
  EXPECT_EQ(json.at("model_type"), "bigbird_extended");  // which transformers refuses by name
  EXPECT_EQ(json.at("architectures").at(0), "BigBirdForConditionalGeneration");
  EXPECT_EQ(json.at("bigbird").at("decoder").at("coupled"), GetParam());
  const SafetensorsFile file(folder_ / "model.safetensors");
  EXPECT_EQ(file.has("bert.encoder.layer.1.attention.encdec.value.bias"), GetParam());
  EXPECT_EQ(file.has("bert.encoder.layer.0.attention.encdec_output.LayerNorm.weight"), GetParam());
  EXPECT_EQ(file.has("decoder.layer.2.crossattention.self.value.bias"), !GetParam());
  EXPECT_EQ(file.has("decoder.embeddings.LayerNorm.weight"), !GetParam());
}

// Every tensor that encoder and decoder have in common with a masked language model, by its values; the rest
// is a function of the seed.
TEST_P(DecoderFolders, BeginWithAnEncoderThatIsThere) {
  ModelConfig encoder = tiny_config();
  encoder.head = HeadType::masked_lm;
  const std::vector<float> stored = random_parameters(encoder, 82);
  write_model_files(folder_.path(), encoder, ParameterLayout(encoder), stored, "", "card\n");
  const LoadedModel source = load_model(folder_.path(), LoadOptions{});

  LoadOptions options;
  options.head = HeadType::generation;
  options.seed = seed;
  options.decoder = decoder_like(encoder);
  options.decoder->coupled = GetParam();
  const LoadedModel model = load_model(folder_.path(), options);
  EXPECT_EQ(model.config.type_vocab_size, GetParam() ? 0 : 2);
  EXPECT_EQ(model.config.decoder.num_hidden_layers, 2);
  EXPECT_EQ(model.config.decoder.intermediate_size, 40);
  LoadedModel drawn;
  drawn.config = model.config;
  drawn.parameters = initial_parameters(ParameterLayout(model.config), model.config, seed);
  const std::set<std::string> fresh(model.fresh.begin(), model.fresh.end());
  const ParameterLayout layout(model.config), of_encoder(encoder);
  int read = 0;
  for (const TensorSpec& spec : layout.tensors()) {
    const bool of_source = of_encoder.find(spec.name) != nullptr;
    EXPECT_EQ(tensor_of(model, spec.name), tensor_of(of_source ? source : drawn, spec.name)) << spec.name;
    EXPECT_EQ(of_source, !fresh.contains(spec.name)) << spec.name;
    read += of_source ? 1 : 0;
  }
  EXPECT_EQ(read, 4 + 2 * 16 + (GetParam() ? 0 : 1));
  const std::string random = GetParam() ? "bert.encoder.layer.0.attention.encdec.query.weight"
                                        : "decoder.layer.0.attention.self.query.weight";
  options.seed = seed + 1;
  EXPECT_NE(tensor_of(load_model(folder_.path(), options), random), tensor_of(model, random));
}

INSTANTIATE_TEST_SUITE_P(Kinds, DecoderFolders, ::testing::Values(true, false),
                         [](const auto& test) { return test.param ? "Coupled" : "Own"; });

// Folders of the class that transformers calls pegasus, of one layer.
class OriginalPegasus : public ::testing::Test {
 protected:
  OriginalPegasus() {
    config_ = tiny_decoder_config();
    config_.num_hidden_layers = 1;
    config_.max_position_embeddings = rows;
    config_.activation = Activation::relu;
    config_.decoder = {
        .num_hidden_layers = 1, .num_attention_heads = 3, .intermediate_size = 28, .start_token_id = 0};
  }

  // Rows of both tables. divisor: 12 as transformers computes them, 11 as published.
  std::vector<float> sinusoid(std::int64_t count, double divisor) const {
    std::vector<float> values;
    for (std::int64_t p = 0; p < count; ++p) {
      for (std::int64_t c = 0; c < 24; ++c) {
        const double angle =
            static_cast<double>(p) * std::pow(10000.0, -static_cast<double>(c % 12) / divisor);
        values.push_back(static_cast<float>(c < 12 ? std::sin(angle) : std::cos(angle)));
      }
    }
    return values;
  }

  static std::string original_name(std::string name) {
    const auto replace = [&](const std::string& from, const std::string& to) {
      if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    };
    for (const char* part : {"query", "key", "value"}) {
      replace(std::string("self_attn.self.") + part, std::string("self_attn.") + part[0] + "_proj");
    }
    replace("encoder.layers.0.self_attn.output.", "encoder.layers.0.self_attn.out_proj.");
    replace("layernorm_embedding", "layer_norm");
    return name;
  }

  // Biases of attention are all `bias`.
  void write(double divisor, float bias = 0.0f) {
    const ParameterLayout layout(config_);
    parameters_ = random_parameters(config_, 91);
    const std::vector<float> table = sinusoid(rows, divisor);
    for (const char* name :
         {"bert.embeddings.position_embeddings.weight", "decoder.embeddings.position_embeddings.weight"})
      std::copy(table.begin(), table.end(), parameters_.begin() + layout.offset(name));
    std::vector<TensorToWrite> tensors;
    const std::vector<float> biases(24, bias);
    for (const TensorSpec& spec : layout.tensors()) {
      const std::string name = original_name(stored_name(spec.name, config_, Dialect::pegasus));
      tensors.push_back({name, TensorType::f32, spec.shape, parameters_.data() + spec.offset});
      if (const std::size_t at = name.find("_proj.weight"); at != std::string::npos)
        tensors.push_back({name.substr(0, at) + "_proj.bias", TensorType::f32, {24}, biases.data()});
    }
    write_safetensors(folder_ / "model.safetensors", tensors);
    write_text(folder_ / "config.json",
               R"({"model_type": "pegasus", "architectures": ["PegasusForConditionalGeneration"],
                   "vocab_size": 37, "d_model": 24, "encoder_layers": 1, "encoder_attention_heads": 2,
                   "encoder_ffn_dim": 40, "decoder_layers": 1, "decoder_attention_heads": 3,
                   "decoder_ffn_dim": 28, "max_position_embeddings": 32, "activation_function": "relu",
                   "scale_embedding": true, "eos_token_id": 1, "pad_token_id": 0})");
  }
  LoadedModel load(std::int64_t positions = 0) const {
    LoadOptions options;
    options.positions = positions;
    return load_model(folder_.path(), options);
  }

  static constexpr std::int64_t rows = 32;
  const TemporaryFolder folder_;
  ModelConfig config_;
  std::vector<float> parameters_;
};

TEST_F(OriginalPegasus, BecomesABigBirdPegasusWithEveryValue) {
  write(11.0);
  const LoadedModel model = load();
  EXPECT_EQ(model.dialect, Dialect::original_pegasus);
  EXPECT_EQ(model.parameters, parameters_);
  EXPECT_FALSE(model.config.use_bias);
  EXPECT_EQ(model.config.activation, Activation::relu);
  EXPECT_EQ(model.config.decoder.start_token_id, 0);
  EXPECT_EQ(model.config.attention, AttentionPattern::bigbird);
  EXPECT_EQ(model.config.block_size, 64);
  EXPECT_EQ(model.config.layer_norm_eps, 1e-5);
  EXPECT_TRUE(is_huggingface_architecture(model.config));
  const TemporaryFolder written;
  write_model_files(written.path(), model.config, ParameterLayout(model.config), model.parameters, "",
                    "card\n");
  const nlohmann::json json = nlohmann::json::parse(read_text(written / "config.json"));
  EXPECT_EQ(json.at("model_type"), "bigbird_pegasus");
  EXPECT_EQ(json.at("use_bias"), false);
  EXPECT_EQ(load_model(written.path(), LoadOptions{}).parameters, parameters_);
}

TEST_F(OriginalPegasus, KeepsBiasesThatAreNotZero) {
  write(11.0, 0.25f);
  const LoadedModel model = load();
  EXPECT_TRUE(model.config.use_bias);
  EXPECT_EQ(tensor_of(model, "decoder.layer.0.crossattention.self.key.bias"), std::vector<float>(24, 0.25f));
  EXPECT_EQ(tensor_of(model, "bert.encoder.layer.0.attention.output.dense.bias"),
            std::vector<float>(24, 0.25f));
}

TEST_F(OriginalPegasus, SinusoidsGoOnAsTheStoredRowsDo) {
  for (const double divisor : {11.0, 12.0}) {
    write(divisor);
    const LoadedModel model = load(100);
    EXPECT_EQ(model.config.max_position_embeddings, 100);
    const std::vector<float> expected = sinusoid(100, divisor);
    for (const char* name :
         {"bert.embeddings.position_embeddings.weight", "decoder.embeddings.position_embeddings.weight"}) {
      EXPECT_EQ(tensor_of(model, name), expected) << divisor;
    }
    EXPECT_EQ(model.adapted.size(), 2u);
  }
}

TEST_F(OriginalPegasus, TablesThatAreNoSinusoidsDoNotGrow) {
  write(10.0);
  EXPECT_EQ(load().parameters, parameters_);
  EXPECT_NE(message_of([&] { load(64); }).find("embed_positions.weight follows neither of the two sinusoids"),
            std::string::npos)
      << message_of([&] { load(64); });
  EXPECT_NE(message_of([&] { load(16); }).find("has 32 already"), std::string::npos);
}

TEST(DecoderPositions, AreOfAnOriginalPegasusAlone) {
  const TemporaryFolder folder;
  const ModelConfig config = tiny_decoder_config();
  write_model_files(folder.path(), config, ParameterLayout(config), random_parameters(config, 92), "",
                    "card\n");
  LoadOptions options;
  options.positions = 128;
  EXPECT_NE(message_of([&] { load_model(folder.path(), options); }).find("is neither an original Pegasus"),
            std::string::npos);
}

}  // namespace
}  // namespace bigbird
