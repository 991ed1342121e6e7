// BigBird-Pegasus folders: names both ways, config.json, ties, what is refused. tests/golden holds the
// numbers of folders that transformers wrote.
#include "lib/model_folder/pegasus.h"

#include <gtest/gtest.h>

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

class Pegasus : public ::testing::Test {
 protected:
  const ModelConfig config_ = [] {
    ModelConfig config = tiny_decoder_config();
    config.use_bias = true;
    config.output_bias = true;
    return config;
  }();
  const ParameterLayout layout_{config_};
  const std::vector<float> parameters_ = random_parameters(config_, 71);
  const TemporaryFolder folder_;

  void write() const { write_model_files(folder_.path(), config_, layout_, parameters_, "", "card\n"); }
  // The written weights under other names, with what `change` makes of the list.
  template <typename Change>
  void rewrite(const Change& change) const {
    std::vector<TensorToWrite> tensors;
    for (const TensorSpec& spec : layout_.tensors()) {
      tensors.push_back(
          {pegasus_stored_name(spec.name), TensorType::f32, spec.shape, parameters_.data() + spec.offset});
    }
    change(tensors);
    write_safetensors(folder_ / "model.safetensors", tensors);
  }
  std::string file(const char* name) const { return (folder_ / name).string(); }
  void set_field(const char* field, const nlohmann::json& value) const {
    nlohmann::json json = nlohmann::json::parse(read_text(folder_ / "config.json"));
    json[field] = value;
    write_text(folder_ / "config.json", json.dump());
  }
  LoadedModel load() const { return load_model(folder_.path(), LoadOptions{}); }
  std::string refusal() const {
    try {
      load();
    } catch (const Error& error) {
      return error.message();
    }
    return "accepted";
  }
};

TEST_F(Pegasus, EveryTensorHasANameOfTransformersAndComesBack) {
  std::set<std::string> names;
  for (const TensorSpec& spec : layout_.tensors()) {
    const std::string stored = pegasus_stored_name(spec.name);
    EXPECT_TRUE(stored.starts_with("model.") || stored == "final_logits_bias") << stored;
    EXPECT_EQ(pegasus_layout_name(stored), spec.name);
    names.insert(stored);
  }
  EXPECT_EQ(names.size(), layout_.tensors().size());
  EXPECT_TRUE(names.contains("model.shared.weight"));
  EXPECT_TRUE(names.contains("model.encoder.layers.1.self_attn.self.query.bias"));
  EXPECT_TRUE(names.contains("model.encoder.layers.0.self_attn.output.weight"));
  EXPECT_TRUE(names.contains("model.encoder.layers.0.final_layer_norm.weight"));
  EXPECT_TRUE(names.contains("model.encoder.layernorm_embedding.bias"));
  EXPECT_TRUE(names.contains("model.decoder.layers.2.self_attn.out_proj.weight"));
  EXPECT_TRUE(names.contains("model.decoder.layers.2.encoder_attn.k_proj.bias"));
  EXPECT_TRUE(names.contains("model.decoder.layers.2.encoder_attn_layer_norm.weight"));
  EXPECT_TRUE(names.contains("model.decoder.layernorm_embedding.weight"));
  EXPECT_EQ(pegasus_layout_name("decoder.layers.0.fc1.weight"), "decoder.layer.0.intermediate.dense.weight");
}

// With the bias of the logits, which is no parameter, and a position table for each stack.
TEST_F(Pegasus, CountsOfTheLargeModelAreThePublishedOnes) {
  const ModelConfig large = parse_config(
      translated_pegasus_config(R"({"model_type": "bigbird_pegasus"})", "config.json"), "config.json");
  const ParameterLayout layout(large);
  EXPECT_EQ(layout.count(), 576891904 + 96103);
  EXPECT_EQ(layout.tensors().size(), 488u);
}

TEST_F(Pegasus, AFolderIsWrittenAndReadBack) {
  write();
  const LoadedModel model = load();
  EXPECT_EQ(model.dialect, Dialect::pegasus);
  EXPECT_EQ(model.parameters, parameters_);
  EXPECT_EQ(config_json(model.config), config_json(config_));
  EXPECT_EQ(model.config.decoder, config_.decoder);
  EXPECT_EQ(model.config.random_mode, config_.random_mode);
  EXPECT_TRUE(model.config.rescale_embeddings);
  EXPECT_EQ(model.config.layer_norm_eps, 1e-5);
  const nlohmann::json json = nlohmann::json::parse(read_text(folder_ / "config.json"));
  EXPECT_EQ(json.at("model_type"), "bigbird_pegasus");
  EXPECT_EQ(json.at("decoder_layers"), 3);
}

TEST_F(Pegasus, TheWordTableMayComeUnderAnyOfItsNames) {
  for (const char* name :
       {"lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"}) {
    write();
    rewrite([&](std::vector<TensorToWrite>& tensors) { tensors[0].name = name; });
    EXPECT_EQ(load().parameters, parameters_) << name;
    rewrite([&](std::vector<TensorToWrite>& tensors) {
      tensors.push_back(tensors[0]);
      tensors.back().name = name;
    });
    EXPECT_EQ(load().parameters, parameters_) << name;
  }
}

TEST_F(Pegasus, TiedTablesThatDifferAreRefused) {
  write();
  std::vector<float> other(parameters_.begin(), parameters_.begin() + layout_.tensors()[0].count);
  other[5] += 1.0f;
  rewrite([&](std::vector<TensorToWrite>& tensors) {
    tensors.push_back(tensors[0]);
    tensors.back().name = "lm_head.weight";
    tensors.back().data = other.data();
  });
  EXPECT_NE(refusal().find("tensor lm_head.weight differs from model.shared.weight"), std::string::npos)
      << refusal();
}

TEST_F(Pegasus, AnUntiedOutputTableIsReadAndWritten) {
  ModelConfig config = config_;
  config.tie_word_embeddings = false;
  const ParameterLayout layout(config);
  const std::vector<float> parameters = initial_parameters(layout, config, 4);
  write_model_files(folder_.path().string(), config, layout, parameters, "", "# card\n");
  EXPECT_EQ(load().parameters, parameters);
  EXPECT_EQ(nlohmann::json::parse(read_text(folder_ / "config.json")).at("tie_word_embeddings"), false);
}

TEST_F(Pegasus, AMissingBiasOfTheLogitsIsZeros) {
  write();
  rewrite([](std::vector<TensorToWrite>& tensors) { tensors.pop_back(); });
  const std::vector<float> loaded = load().parameters;
  const std::int64_t at = layout_.offset("final_logits_bias");
  EXPECT_TRUE(std::equal(loaded.begin(), loaded.begin() + at, parameters_.begin()));
  EXPECT_EQ(std::vector<float>(loaded.begin() + at, loaded.end()), std::vector<float>(37, 0.0f));
}

TEST_F(Pegasus, AMissingDecoderIsNamed) {
  write();
  rewrite([](std::vector<TensorToWrite>& tensors) {
    std::erase_if(tensors,
                  [](const TensorToWrite& tensor) { return tensor.name.starts_with("model.decoder."); });
  });
  EXPECT_EQ(refusal(), file("model.safetensors") + ": no tensor of a decoder, which config.json asks for");
  rewrite([](std::vector<TensorToWrite>& tensors) {
    std::erase_if(tensors, [](const TensorToWrite& tensor) {
      return tensor.name == "model.decoder.layers.1.encoder_attn.v_proj.weight";
    });
  });
  EXPECT_EQ(refusal(), file("model.safetensors") +
                           ": tensor model.decoder.layers.1.encoder_attn.v_proj.weight is missing");
}

TEST_F(Pegasus, ConfigsThatAreNotReadAreRefused) {
  write();
  set_field("tie_word_embeddings", false);
  EXPECT_NE(refusal().find("tensor lm_head.weight is missing"), std::string::npos) << refusal();
  write();
  set_field("decoder_layers", "three");
  EXPECT_EQ(refusal(), file("config.json") + ": field decoder_layers is not a whole number: \"three\"");
  write();
  set_field("activation_function", "mish");
  EXPECT_EQ(refusal(), file("config.json") + ": hidden_act mish is not supported");
}

}  // namespace
}  // namespace bigbird
