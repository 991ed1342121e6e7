// Folders of transformers' esm and of Nucleotide Transformer. Their outputs and gradients are compared with
// transformers' in tests/golden/test_dialects.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/esm.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

using EsmFields = nlohmann::ordered_json;

std::string golden_esm(const std::string& name) {
  return (source_dir() / "tests/golden/dialects" / name).string();
}

EsmFields fields_of(const std::string& folder) {
  return EsmFields::parse(read_text(folder + "/config.json"));
}

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  const WeightFiles weights(folder);
  for (const StoredTensor& tensor : weights.tensors()) names.insert(tensor.name);
  return names;
}

TEST(EsmFolder, IsReadAsItIs) {
  const LoadedModel first = load_model(golden_esm("esm_absolute"), LoadOptions{});
  EXPECT_EQ(first.dialect, Dialect::esm);
  EXPECT_TRUE(first.fresh.empty());
  EXPECT_EQ(first.config.max_position_embeddings, 40);
  EXPECT_EQ(first.config.block_size, 40);
  EXPECT_EQ(first.config.embedding_norm, EmbeddingNorm::none);
  EXPECT_EQ(first.config.activation, Activation::gelu_erf);
  EXPECT_TRUE(first.config.token_dropout);
  EXPECT_TRUE(first.config.has_own_output_table());
  EXPECT_FALSE(first.config.gated_feed_forward);

  const LoadedModel second = load_model(golden_esm("esm_gated"), LoadOptions{});
  EXPECT_EQ(second.dialect, Dialect::esm);  // without a model_type
  EXPECT_TRUE(second.config.gated_feed_forward);
  EXPECT_FALSE(second.config.feed_forward_bias);
  EXPECT_EQ(second.config.activation, Activation::silu);
  EXPECT_EQ(second.config.masked_head_activation(), Activation::gelu_erf);
  EXPECT_EQ(second.config.rotary_dim, 4);
  EXPECT_EQ(ParameterLayout(second.config).find("bert.encoder.layer.0.intermediate.dense.bias"), nullptr);
  EXPECT_EQ(ParameterLayout(second.config).find("bert.pooler.weight"), nullptr);
}

TEST(EsmFolder, IsWrittenAsItWasReadWhereTransformersHasTheClass) {
  for (const char* name : {"esm_absolute", "esm_rotary", "esm_classes", "esm_encoder"}) {
    SCOPED_TRACE(name);
    const LoadedModel model = load_model(golden_esm(name), LoadOptions{});
    EXPECT_TRUE(is_esm_architecture(model.config));
    const TemporaryFolder folder;
    const std::string path = folder.path().string();
    write_model_files(path, model.config, ParameterLayout(model.config), model.parameters, "", "card\n");
    const std::set<std::string> names = names_in(path);
    for (std::string tensor : names_in(golden_esm(name))) {
      if (!tensor.starts_with("esm.") && !tensor.starts_with("lm_head.") &&
          !tensor.starts_with("classifier."))
        tensor.insert(0, "esm.");
      EXPECT_TRUE(names.contains(tensor)) << tensor;
    }
    const EsmFields before = fields_of(golden_esm(name)), after = fields_of(path);
    for (const auto& [field, value] : before.items()) {
      if (field == "transformers_version" || field == "use_cache" || value.is_null()) continue;
      EXPECT_EQ(after.value(field == "dtype" ? "torch_dtype" : field, EsmFields()), value) << field;
    }
    const LoadedModel again = load_model(path, LoadOptions{});
    EXPECT_TRUE(again.parameters == model.parameters);
    EXPECT_EQ(config_fields(again.config), config_fields(model.config));
  }
}

TEST(EsmFolder, OfOtherLayersIsWrittenInOurOwnForm) {
  for (const char* name : {"esm_gated", "esm_gated_biases"}) {
    const LoadedModel model = load_model(golden_esm(name), LoadOptions{});
    EXPECT_FALSE(is_huggingface_architecture(model.config));
    const TemporaryFolder folder;
    const std::string path = folder.path().string();
    write_model_files(path, model.config, ParameterLayout(model.config), model.parameters, "", "card\n");
    EXPECT_EQ(fields_of(path).at("model_type"), "bigbird_extended");
    const LoadedModel again = load_model(path, LoadOptions{});
    EXPECT_TRUE(again.parameters == model.parameters) << name;
    EXPECT_EQ(config_fields(again.config), config_fields(model.config)) << name;
  }
  // Angles that its class has not.
  ModelConfig config = load_model(golden_esm("esm_rotary"), LoadOptions{}).config;
  config.rotary_base = 5000;
  EXPECT_FALSE(is_esm_architecture(config));
}

TEST(EsmFolder, BlocksDivideItsPositions) {
  const auto block_of = [](std::int64_t rows) {
    EsmFields json = fields_of(golden_esm("esm_absolute"));
    json["max_position_embeddings"] = rows;
    return parse_config(translated_esm_config(json.dump(), "config.json"), "config.json").block_size;
  };
  EXPECT_EQ(block_of(1002), 40);  // Nucleotide Transformer
  EXPECT_EQ(block_of(2050), 64);  // its second version
  EXPECT_EQ(block_of(1026), 64);  // ESM-2
  EXPECT_EQ(block_of(1013), 1);
}

TEST(EsmFolder, WhatItsConfigCannotSayIsRefused) {
  const TemporaryFolder folder;
  const auto refusal = [&](const char* field, const EsmFields& value) {
    std::filesystem::copy(
        golden_esm("esm_absolute"), folder.path(),
        std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive);
    EsmFields json = fields_of(folder.path().string());
    json[field] = value;
    write_text(folder / "config.json", json.dump());
    try {
      load_model(folder.path().string(), LoadOptions{});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_FALSE(error.hint().empty()) << field;
      return error.message().substr(folder.path().string().size() + 1) + " | " + error.hint();
    }
    return std::string("read");
  };
  const auto begins = [](const std::string& text, const std::string& front) {
    EXPECT_TRUE(text.starts_with(front)) << text;
  };
  begins(refusal("position_embedding_type", "relative_key"),
         "config.json: position_embedding_type \"relative_key\" is not read");
  begins(refusal("is_folding_model", true), "config.json: a model that folds proteins");
  begins(refusal("is_decoder", true), "config.json: a decoder");
  begins(refusal("mask_token_id", nullptr), "config.json: field mask_token_id is missing");
  begins(refusal("mask_token_id", 24), "config.json: mask_token_id 24 is not a piece of 24");
  begins(refusal("pad_token_id", -1), "config.json: field pad_token_id is not a whole number");
  begins(refusal("max_position_embeddings", 2),
         "config.json: 2 positions, the first 2 of which no token has");
  begins(refusal("add_bias_fnn", true), "model.safetensors: tensor esm.encoder.layer.0.intermediate.dense");
  begins(refusal("model_type", "hyenadna"),
         "config.json: model_type hyenadna is not read | layers with attention are read, and HyenaDNA's are "
         "long convolutions");
  begins(refusal("model_type", "Caduceus"),
         "config.json: model_type Caduceus is not read | layers with attention are read, and Caduceus's");
  begins(refusal("model_type", "gpt2"), "config.json: model_type gpt2 is not read | big_bird, ");
  EXPECT_EQ(refusal("vocab_list", nullptr), "read");
}

}  // namespace
}  // namespace bigbird::testing
