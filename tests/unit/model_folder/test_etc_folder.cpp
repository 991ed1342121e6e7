// Folders of BigBird-ETC: our own there and back, etcmodel's, and models with one input that start one with
// two.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lib/core/rng.h"
#include "lib/io/files/file.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/dialect.h"
#include "lib/model_folder/etc_checkpoint.h"
#include "lib/model_folder/etc_lift.h"
#include "tests/support/etcmodel_folder.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

ModelConfig one_input() {
  ModelConfig config;
  config.vocab_size = 20;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 32;
  config.block_size = 4;
  return config;
}

ModelConfig two_inputs(HeadType head = HeadType::masked_lm) {
  ModelConfig config = one_input();
  become_etc(config);
  config.head = head;
  config.attention_options.etc.radius = 3;
  config.attention_options.etc.distance = 2;
  return config;
}

std::vector<float> drawn(const ParameterLayout& layout, std::uint64_t seed) {
  CounterRng random(seed, Purpose::test, 1);
  std::vector<float> values(static_cast<std::size_t>(layout.count()));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

std::vector<float> tensor_of(const ParameterLayout& layout, const std::vector<float>& values,
                             const std::string& name) {
  const TensorSpec* spec = layout.find(name);
  EXPECT_NE(spec, nullptr) << name;
  if (spec == nullptr) return {};
  return {values.begin() + spec->offset, values.begin() + spec->offset + spec->count};
}

// Attention for every folder that is read while it lives.
struct ChosenEtc {
  explicit ChosenEtc(const std::map<std::string, std::string>& options) {
    chosen_attention().attention = AttentionPattern::etc;
    chosen_attention().options = options;
  }
  ~ChosenEtc() { chosen_attention() = {}; }
};

TEST(EtcFolder, OurOwnThereAndBack) {
  for (const EtcProjections projections :
       {EtcProjections::separate, EtcProjections::by_query, EtcProjections::shared}) {
    ModelConfig config = two_inputs();
    EtcOptions& options = config.attention_options.etc;
    options.projections = projections;
    options.shared_output = projections == EtcProjections::by_query;
    options.shared_feed_forward = projections != EtcProjections::by_query;
    options.hard_g2l = true;
    options.cpc = projections == EtcProjections::separate;
    options.stretch = 7;
    options.labels = 12;
    const ParameterLayout layout(config);
    const std::vector<float> values = drawn(layout, 3);
    const testing::TemporaryFolder folder;
    write_model_files(folder.path().string(), config, layout, values, "", "# card\n");
    const LoadedModel loaded = load_model(folder.path().string(), LoadOptions{});
    EXPECT_EQ(loaded.parameters, values);
    EXPECT_EQ(loaded.config.attention_options, config.attention_options);
    EXPECT_EQ(loaded.config.position_type, PositionType::none);
    EXPECT_EQ(loaded.config.type_vocab_size, 16);
    const std::string json = read_file(folder / "config.json");
    EXPECT_NE(json.find("\"bigbird_extended\""), std::string::npos) << json;
  }
}

TEST(EtcFolder, EtcmodelsIsReadWhole) {
  ModelConfig config = two_inputs(HeadType::encoder);
  config.attention_options.etc.hard_g2l = true;
  const ParameterLayout layout(config);
  const std::vector<float> values = drawn(layout, 5);
  const testing::TemporaryFolder folder;
  testing::write_etcmodel(folder.path(), config, values);
  const LoadedModel loaded = load_model(folder.path().string(), LoadOptions{});
  EXPECT_EQ(loaded.dialect, Dialect::etcmodel);
  EXPECT_EQ(loaded.parameters, values);
  EXPECT_TRUE(loaded.config.attention_options.etc.hard_g2l);
  EXPECT_EQ(loaded.config.max_position_embeddings, 4096);
  EXPECT_TRUE(loaded.fresh.empty());
  // The head for masked tokens is not in etcmodel's files: it starts from the seed.
  LoadOptions masked;
  masked.head = HeadType::masked_lm;
  const LoadedModel with_head = load_model(folder.path().string(), masked);
  EXPECT_EQ(tensor_of(ParameterLayout(with_head.config), with_head.parameters,
                      "bert.encoder.layer.1.attention.g2l_key.weight"),
            tensor_of(layout, values, "bert.encoder.layer.1.attention.g2l_key.weight"));
  EXPECT_FALSE(with_head.fresh.empty());
}

TEST(EtcFolder, AnEtcmodelFolderThatIsNotWholeIsRefusedByName) {
  ModelConfig config = two_inputs(HeadType::encoder);
  const std::vector<float> values = drawn(ParameterLayout(config), 5);
  const testing::TemporaryFolder folder;
  testing::write_etcmodel(folder.path(), config, values);
  const std::string path = folder.path().string(), data = folder / "model.ckpt.data-00000-of-00001";
  const auto refused = [&](const std::string& what) {
    expect_bad_input(error_of([&] { load_model(path, LoadOptions{}); }), path, what);
  };
  const std::string whole = read_file(data);
  testing::write_text(data, whole.substr(0, whole.size() / 2));
  refused("model.ckpt");
  testing::write_text(data, whole);
  testing::write_text(folder / "other.ckpt.index", read_file(folder / "model.ckpt.index"));
  refused("2 checkpoints, model.ckpt.index and other.ckpt.index among them");
  std::filesystem::remove(folder / "other.ckpt.index");
  // A model of one layer more than the file holds.
  std::string json = read_file(folder / "etc_config.json");
  json.replace(json.find("\"num_hidden_layers\": 2"), 22, "\"num_hidden_layers\": 3");
  testing::write_text(folder / "etc_config.json", json);
  refused("fused_att_layer_2/fused_global_local_att/long_query_projection/linear/kernel");
  std::filesystem::remove(folder / "model.ckpt.index");
  refused("no checkpoint of TensorFlow");
}

// Check 17 as its own statement: every product of the new model has the source's weights, whatever it reads.
TEST(Etc, Check17AModelWithOneInputStartsOneWithTwo) {
  const ModelConfig source = one_input();
  const ParameterLayout of_source(source);
  const std::vector<float> values = drawn(of_source, 7);
  const testing::TemporaryFolder folder;
  write_model_files(folder.path().string(), source, of_source, values, "", "# card\n");
  const ChosenEtc chosen(
      {{"--relative-distance", "2"}, {"--radius", "3"}, {"--cpc", "on"}, {"--feed-forward", "separate"}});
  LoadOptions load;
  load.head = HeadType::masked_lm;
  load.seed = 11;
  const LoadedModel loaded = load_model(folder.path().string(), load);
  const ParameterLayout layout(loaded.config);
  const std::vector<float> fresh = initial_parameters(layout, loaded.config, 11);
  std::size_t copied = 0;
  std::set<std::string> used;
  for (const TensorSpec& spec : layout.tensors()) {
    const std::vector<float> found = tensor_of(layout, loaded.parameters, spec.name);
    if (spec.name.find("_relative.") != std::string::npos || spec.name.starts_with("cls.contrast.")) {
      EXPECT_EQ(found, tensor_of(layout, fresh, spec.name)) << spec.name;
      continue;
    }
    if (spec.name == "bert.embeddings.token_type_embeddings.weight") {
      std::vector<float> expected = tensor_of(layout, fresh, spec.name);
      const std::vector<float> first = tensor_of(of_source, values, spec.name);
      std::copy(first.begin(), first.end(), expected.begin());
      EXPECT_EQ(found, expected);
      continue;
    }
    const std::string from = etc_source(spec.name);
    EXPECT_EQ(found, tensor_of(of_source, values, from)) << spec.name << " of " << from;
    used.insert(from);
    ++copied;
  }
  // 16 projections and outputs with a bias, 2 norms, 2 x 2 feed-forward layers and 2 norms: 40 of a layer.
  EXPECT_EQ(copied, 2 * (2 * (2 + 4 + 4 + 2) + 2 * 2 + 2 * (2 * 2 + 2)) + 1 + 4 + 5u);
  for (const TensorSpec& spec : of_source.tensors()) {
    if (spec.name.starts_with("bert.encoder.")) {
      EXPECT_TRUE(used.contains(spec.name)) << spec.name;
    }
  }
  EXPECT_EQ(loaded.config.head, HeadType::masked_lm);
  EXPECT_EQ(loaded.config.embedding_norm, EmbeddingNorm::before_dropout);
}

// Of BERT and RoBERTa as they are published: with other names of tensors, RoBERTa's with one token type.
TEST(EtcFolder, BertAndRobertaBeginOne) {
  for (const std::string name : {"bert", "roberta"}) {
    SCOPED_TRACE(name);
    const std::string folder = (testing::source_dir() / "tests/golden/dialects" / name).string();
    const LoadedModel source = load_model(folder, HeadType::masked_lm, 0);
    const ChosenEtc chosen({{"--radius", "4"}, {"--relative-distance", "2"}});
    const LoadedModel loaded = load_model(folder, HeadType::masked_lm, 0);
    const ParameterLayout layout(loaded.config), of_source(source.config);
    for (const TensorSpec& spec : layout.tensors()) {
      if (spec.name.find("_relative.") != std::string::npos ||
          spec.name == "bert.embeddings.token_type_embeddings.weight")
        continue;
      EXPECT_EQ(tensor_of(layout, loaded.parameters, spec.name),
                tensor_of(of_source, source.parameters, etc_source(spec.name)))
          << spec.name;
    }
    EXPECT_EQ(loaded.config.layer_norm_eps, source.config.layer_norm_eps);
    EXPECT_EQ(loaded.config.activation, source.config.activation);
    EXPECT_EQ(loaded.config.position_type, PositionType::none);
  }
}

TEST(EtcFolder, WhatCannotBecomeTwoInputsIsRefused) {
  ModelConfig source = one_input();
  source.norm_type = NormType::prenorm;
  source.embedding_norm = EmbeddingNorm::none;
  const ParameterLayout layout(source);
  const testing::TemporaryFolder folder;
  write_model_files(folder.path().string(), source, layout, drawn(layout, 1), "", "# card\n");
  const ChosenEtc chosen({});
  expect_bad_input(error_of([&] { load_model(folder.path().string(), LoadOptions{}); }),
                   folder.path().string(), "other LayerNorms than BERT's");
  const std::string pegasus = (testing::source_dir() / "tests/golden/dialects/pegasus").string();
  expect_bad_input(error_of([&] { load_model(pegasus, LoadOptions{}); }), pegasus,
                   "other LayerNorms than BERT's");
}

}  // namespace
}  // namespace bigbird
