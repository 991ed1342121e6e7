// Folders of LED: names both ways, config.json, what transformers wrote is read and written again as it was,
// what its class cannot hold keeps a form of our own, and a decoder with a table of positions of its own.
#include "lib/model_folder/led.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/inference/decoder_steps.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using Json = nlohmann::json;

// Of the shape that transformers' class has.
ModelConfig tiny_led_config() {
  ModelConfig config = tiny_own_decoder_config();
  config.attention = AttentionPattern::longformer;
  config.attention_options.longformer = {{4, 6}, 0};
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.activation = Activation::gelu_erf;
  config.layer_norm_eps = 1e-5;
  config.type_vocab_size = 0;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = config.sep_token_id = 2;
  config.decoder.positions = 11;
  config.classifier_dropout = 0.0;
  return config;
}

class Led : public ::testing::Test {
 protected:
  void write(const ModelConfig& config, const std::vector<float>& values) const {
    write_model_files(folder_.path(), config, ParameterLayout(config), values, "", "card\n");
  }
  Json json() const { return Json::parse(read_text(folder_ / "config.json")); }
  void set_field(const char* field, const Json& value) const {
    Json changed = json();
    changed[field] = value;
    write_text(folder_ / "config.json", changed.dump());
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

  const TemporaryFolder folder_;
};

TEST_F(Led, EveryTensorHasANameOfTransformersAndComesBack) {
  const ParameterLayout layout(tiny_led_config());
  std::set<std::string> names;
  for (const TensorSpec& spec : layout.tensors()) {
    const std::string stored = led_stored_name(spec.name);
    EXPECT_TRUE(stored.starts_with("led.") || stored == "final_logits_bias") << stored;
    EXPECT_EQ(led_layout_name(stored), spec.name);
    names.insert(stored);
  }
  EXPECT_EQ(names.size(), layout.tensors().size());
  for (const char* name :
       {"led.shared.weight", "led.encoder.embed_positions.weight", "led.encoder.layernorm_embedding.bias",
        "led.encoder.layers.1.self_attn.longformer_self_attn.query_global.bias",
        "led.encoder.layers.0.self_attn.output.weight", "led.encoder.layers.0.final_layer_norm.weight",
        "led.decoder.embed_positions.weight", "led.decoder.layernorm_embedding.weight",
        "led.decoder.layers.2.self_attn.out_proj.weight", "led.decoder.layers.2.encoder_attn.k_proj.bias"})
    EXPECT_TRUE(names.contains(name)) << name;
  // Of an LEDModel alone.
  EXPECT_EQ(led_layout_name("decoder.layers.0.fc1.weight"), "decoder.layer.0.intermediate.dense.weight");
  EXPECT_EQ(led_layout_name("encoder.embed_positions.weight"), "bert.embeddings.position_embeddings.weight");
}

TEST_F(Led, DefaultsAreTransformers) {
  const ModelConfig config =
      parse_config(translated_led_config(R"({"model_type": "led"})", "config.json"), "config.json");
  EXPECT_EQ(config.max_position_embeddings, 16384);
  EXPECT_EQ(config.decoder_positions(), 1024);
  EXPECT_EQ(config.decoder.start_token_id, 2);
  EXPECT_EQ(config.attention_options.longformer.windows, (std::vector<std::int64_t>{512}));
  EXPECT_EQ(longformer_globals(config).first, 1);
  EXPECT_EQ(config.activation, Activation::gelu_erf);
  EXPECT_TRUE(is_led_architecture(config));
  const ParameterLayout layout(config);
  // As many parameters as transformers' class has, and the bias of the logits, which is none there.
  EXPECT_EQ(layout.count(), 459801600 + 50265);
  EXPECT_EQ(layout.tensors().size(), 583u + 1);
  EXPECT_EQ(layout.find("decoder.embeddings.position_embeddings.weight")->shape[0], 1024);
}

TEST_F(Led, L6AFolderOfTransformersIsWrittenAsItWasRead) {
  for (const char* name : {"summary_29", "untied"}) {
    const std::string golden = (source_dir() / "tests/golden/led" / name).string();
    const LoadedModel model = load_model(golden, LoadOptions{});
    EXPECT_EQ(model.dialect, Dialect::led);
    EXPECT_TRUE(model.fresh.empty()) << name;
    write(model.config, model.parameters);
    const SafetensorsFile before(golden + "/model.safetensors"), after(folder_ / "model.safetensors");
    for (const TensorInfo& info : before.tensors()) {
      ASSERT_TRUE(after.has(info.name)) << info.name;
      EXPECT_EQ(after.info(info.name).shape, info.shape) << info.name;
      EXPECT_EQ(after.floats(info.name), before.floats(info.name)) << info.name;
    }
    EXPECT_EQ(after.tensors().size(), before.tensors().size());
    const Json stored = Json::parse(read_text(golden + "/config.json")), written = json();
    for (const auto& [field, value] : stored.items()) {
      if (field == "transformers_version" || field == "num_hidden_layers") continue;
      EXPECT_EQ(written.value(field == "dtype" ? "torch_dtype" : field, Json()), value) << field;
    }
  }
}

TEST_F(Led, L6WhatIsWrittenIsReadAgain) {
  for (const bool changed : {false, true}) {
    ModelConfig config = tiny_led_config();
    if (changed) {
      config.attention_options.longformer.global_first = 3;
      config.classifier_dropout = 0.25;
      config.hidden_dropout_prob = 0.2;
      config.attention_probs_dropout_prob = 0.3;
      config.block_size = 8;
      config.max_position_embeddings = 45;
      config.input_length = 16;
      config.tokenizer_digest = "abc";
      config.num_random_blocks = 1;
      config.sep_token_id = 3;
      config.pad_token_id = 0;
      config.tie_word_embeddings = false;
      config.activation = Activation::relu;
      config.decoder.encoder_layer_drop = 0.1;
      config.decoder.layer_drop = 0.2;
    }
    const std::vector<float> values = random_parameters(config, 3);
    write(config, values);
    EXPECT_EQ(json().at("model_type"), "led");
    EXPECT_EQ(json().at("architectures")[0], "LEDForConditionalGeneration");
    EXPECT_EQ(json().at("attention_window"), (std::vector<int>{4, 6}));
    EXPECT_EQ(json().at("max_decoder_position_embeddings"), 11);
    const LoadedModel back = load();
    EXPECT_TRUE(back.parameters == values);
    EXPECT_EQ(config_fields(back.config), config_fields(config));
    EXPECT_EQ(own_config_json(back.config, "float32"), own_config_json(config, "float32"));
    EXPECT_EQ(back.config.decoder, config.decoder);
    EXPECT_TRUE(is_huggingface_architecture(back.config));
  }
}

TEST_F(Led, WhatTransformersHasNoClassForKeepsItsForm) {
  const std::vector<std::function<void(ModelConfig&)>> changes = {
      [](ModelConfig& c) { c.embedding_norm = EmbeddingNorm::after_dropout; },
      [](ModelConfig& c) { c.norm_type = NormType::prenorm; },
      [](ModelConfig& c) { c.type_vocab_size = 2; },
      [](ModelConfig& c) { c.rescale_embeddings = true; },
      [](ModelConfig& c) { c.layer_norm_eps = 1e-12; },
      [](ModelConfig& c) { c.use_bias = false; },
      [](ModelConfig& c) { c.attention = AttentionPattern::full, c.attention_options = {}; },
      [](ModelConfig& c) {
        c.attention_options.longformer.dilations = {2};
        c.attention_options.longformer.dilated_heads = 1;
      }};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    ModelConfig config = tiny_led_config();
    changes[i](config);
    const std::vector<float> values = random_parameters(config, 3);
    write(config, values);
    EXPECT_EQ(json().at("model_type"), "bigbird_extended") << i;
    const LoadedModel back = load();
    EXPECT_TRUE(back.parameters == values) << i;
    EXPECT_EQ(config_fields(back.config), config_fields(config)) << i;
    EXPECT_EQ(back.config.decoder.positions, 11) << i;
    EXPECT_FALSE(is_led_architecture(back.config)) << i;
  }
}

TEST_F(Led, TheDecoderEndsWhereItsOwnPositionsDo) {
  const ModelConfig config = tiny_led_config();  // 11 positions, the encoder has more
  ASSERT_GT(config.max_position_embeddings, 12);
  const std::vector<float> values = random_parameters(config, 3);
  const auto backend = kernels::make_cpu_backend();
  const auto batch_of = [&](std::size_t tokens) {
    Batch batch;
    batch.append({0, 5, 7, 2}, {}, config.block_size, 1);
    batch.targets.append(std::vector<std::int32_t>(tokens, 6), std::vector<std::int32_t>(tokens, 7),
                         config.block_size, 1);
    return batch;
  };
  const Batch fits = batch_of(11), longer = batch_of(12);
  make_model(*backend, config, fits, {}, values)->forward(fits, {});
  const auto model = make_model(*backend, config, longer, {}, values);
  try {
    model->forward(longer, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "12 tokens to write: the model has 11 positions for them");
  }
  model->forward(fits, {});
  DecoderSteps steps(*model, {.source_tokens = 4, .rows = 1, .length = 20});
  steps.begin();
  const std::vector<std::int32_t> token{6}, first{0};
  for (int i = 0; i < 11; ++i) steps.step(token, first, first);
  EXPECT_THROW(steps.step(token, first, first), Error);
}

TEST_F(Led, WhatDoesNotFitIsRefusedByItsField) {
  const ModelConfig config = tiny_led_config();
  write(config, random_parameters(config, 3));
  set_field("attention_window", Json::array({4, 6, 8}));
  EXPECT_NE(refusal().find("field attention_window has 3 windows for 2 layers"), std::string::npos);
  set_field("attention_window", 5);
  EXPECT_NE(refusal().find("a window of 5 has no two halves"), std::string::npos) << refusal();
  set_field("attention_window", 4);
  EXPECT_EQ(refusal(), "accepted");
  set_field("max_decoder_position_embeddings", 0.5);
  EXPECT_NE(refusal().find("field max_decoder_position_embeddings is not a whole number"), std::string::npos);
  set_field("max_decoder_position_embeddings", 12);
  EXPECT_NE(refusal().find("tensor led.decoder.embed_positions.weight has shape [11, 24], config.json asks"),
            std::string::npos)
      << refusal();
  set_field("max_decoder_position_embeddings", -3);
  EXPECT_NE(refusal().find("positions = -3 of the decoder is outside 1.."), std::string::npos) << refusal();
  set_field("max_decoder_position_embeddings", 11);
  set_field("architectures", Json::array({"LEDForQuestionAnswering"}));
  EXPECT_NE(refusal().find("a LEDForQuestionAnswering, which is not read"), std::string::npos) << refusal();
  set_field("architectures", Json::array({3}));
  EXPECT_EQ(refusal(), "accepted");
}

}  // namespace
}  // namespace bigbird
