// BERT and RoBERTa folders as they are, read and written: full attention, their own positions and heads, with
// and without a pooler. Their outputs are compared with transformers' in tests/golden/test_dialects.cpp.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/weights/weight_files.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;
using BertJson = nlohmann::ordered_json;

std::string golden_bert(const std::string& name) {
  return (testing::source_dir() / "tests" / "golden" / "dialects" / name).string();
}

std::vector<float> loaded_tensor(const LoadedModel& model, const std::string& name) {
  const ParameterLayout layout(model.config);
  const TensorSpec* spec = layout.find(name);
  if (spec == nullptr) return {};
  const auto begin = model.parameters.begin() + spec->offset;
  return {begin, begin + spec->count};
}

std::vector<float> stored_tensor(const std::string& folder, const std::string& name) {
  const WeightFiles weights(folder);
  for (const StoredTensor& tensor : weights.tensors()) {
    if (tensor.name != name) continue;
    std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
    read_floats(tensor, values);
    return values;
  }
  ADD_FAILURE() << folder << ": no " << name;
  return {};
}

// A copy of a golden folder with one field of its config changed.
void copy_with(const std::string& from, const TemporaryFolder& to, const char* field, const BertJson& value) {
  std::filesystem::copy(
      golden_bert(from), to.path(),
      std::filesystem::copy_options::overwrite_existing | std::filesystem::copy_options::recursive);
  BertJson json = BertJson::parse(testing::read_text(to / "config.json"));
  json[field] = value;
  testing::write_text(to / "config.json", json.dump());
}

TEST(BertFolder, IsReadAsItIs) {
  const LoadedModel model = load_model(golden_bert("bert"), LoadOptions{});
  EXPECT_EQ(model.dialect, Dialect::bert);
  EXPECT_EQ(model.config.attention, AttentionPattern::full);
  EXPECT_EQ(model.config.max_position_embeddings, 128);
  EXPECT_EQ(model.config.block_size, 64);
  EXPECT_EQ(model.config.activation, Activation::gelu_erf);
  EXPECT_EQ(model.config.type_vocab_size, 2);
  // Unlike BigBird's; of no account until something is dropped.
  EXPECT_EQ(model.config.embedding_norm, EmbeddingNorm::before_dropout);
  EXPECT_TRUE(model.adapted.empty());
}

// Without position_ids, and with the prefix that transformers leaves out of an encoder alone.
std::set<std::string> names_in(const std::string& folder, const std::string& prefix) {
  std::set<std::string> names;
  const WeightFiles weights(folder);
  for (const StoredTensor& tensor : weights.tensors()) {
    const bool bare = tensor.name.starts_with("embeddings.") || tensor.name.starts_with("encoder.") ||
                      tensor.name.starts_with("pooler.");
    names.insert(bare ? prefix + tensor.name : tensor.name);
  }
  return names;
}

TEST(BertFolder, IsWrittenWithTheClassAndTensorsThatItCameWith) {
  for (const char* name :
       {"bert", "bert_pretraining", "bert_classes", "bert_tokens", "bert_answers", "bert_encoder", "roberta",
        "roberta_classes", "roberta_tokens", "roberta_answers", "roberta_encoder", "roberta_pad_0"}) {
    SCOPED_TRACE(name);
    const std::string from = golden_bert(name);
    LoadedModel model = load_model(from, LoadOptions{});
    ASSERT_TRUE(is_bert_architecture(model.config));
    EXPECT_TRUE(is_huggingface_architecture(model.config));
    model.config.input_length = model.config.block_size;
    model.config.sep_token_id = 3;
    model.config.classifier_dropout = 0.25;
    const TemporaryFolder to;
    const ParameterLayout layout(model.config);
    write_model_files(to.path().string(), model.config, layout, model.parameters, "", "", WriteOptions{});
    const BertJson theirs = BertJson::parse(testing::read_text(from + "/config.json"));
    const BertJson written = BertJson::parse(testing::read_text(to / "config.json"));
    for (const char* field : {"architectures", "model_type", "vocab_size", "max_position_embeddings",
                              "type_vocab_size", "pad_token_id", "hidden_act", "layer_norm_eps"})
      EXPECT_EQ(written.at(field), theirs.at(field)) << field;
    const std::string prefix = model.dialect == Dialect::roberta ? "roberta." : "bert.";
    EXPECT_EQ(names_in(to.path().string(), prefix), names_in(from, prefix));

    const LoadedModel back = load_model(to.path().string(), LoadOptions{});
    EXPECT_EQ(back.dialect, model.dialect);
    EXPECT_EQ(own_config_json(back.config, "float32"), own_config_json(model.config, "float32"));
    for (const TensorSpec& spec : layout.tensors()) {
      if (spec.name.starts_with("bert.pooler.") && !model.config.uses_pooler()) continue;
      EXPECT_EQ(loaded_tensor(back, spec.name), loaded_tensor(model, spec.name)) << spec.name;
    }
  }
}

TEST(BertFolder, IsWrittenInOurFormWhereNeitherClassHoldsIt) {
  const ModelConfig bert = load_model(golden_bert("bert"), LoadOptions{}).config;
  const ModelConfig roberta = load_model(golden_bert("roberta"), LoadOptions{}).config;
  const auto holds = [](ModelConfig config, const auto& change) {
    change(config);
    return is_bert_architecture(config);
  };
  EXPECT_TRUE(holds(bert, [](ModelConfig& config) { config.activation = Activation::relu; }));
  EXPECT_FALSE(holds(roberta, [](ModelConfig& config) { config.activation = Activation::relu; }));
  EXPECT_TRUE(holds(bert, [](ModelConfig& config) { config.head = HeadType::pretraining; }));
  EXPECT_FALSE(holds(roberta, [](ModelConfig& config) { config.head = HeadType::pretraining; }));
  EXPECT_FALSE(holds(bert, [](ModelConfig& config) { config.attention = AttentionPattern::bigbird; }));
  EXPECT_FALSE(
      holds(bert, [](ModelConfig& config) { config.embedding_norm = EmbeddingNorm::after_dropout; }));
  EXPECT_FALSE(holds(bert, [](ModelConfig& config) { config.norm_type = NormType::prenorm; }));
  EXPECT_FALSE(holds(bert, [](ModelConfig& config) { config.rescale_embeddings = true; }));
  EXPECT_FALSE(holds(bert, [](ModelConfig& config) { config.use_bias = false; }));
  EXPECT_FALSE(holds(bert, [](ModelConfig& config) { config.causal = true; }));
  EXPECT_FALSE(holds(bert, [](ModelConfig& config) {
    config.head = HeadType::classification;
    config.head_form = HeadForm::bigbird;
  }));
}

TEST(BertFolder, PositionsOfARobertaBeginBehindItsPadToken) {
  const LoadedModel model = load_model(golden_bert("roberta_pad_0"), LoadOptions{});
  EXPECT_EQ(model.config.max_position_embeddings, 40);
  EXPECT_EQ(model.config.type_vocab_size, 1);
  std::vector<float> stored =
      stored_tensor(golden_bert("roberta_pad_0"), "roberta.embeddings.position_embeddings.weight");
  stored.erase(stored.begin(), stored.begin() + model.config.hidden_size);
  EXPECT_EQ(loaded_tensor(model, "bert.embeddings.position_embeddings.weight"), stored);
}

TEST(BertFolder, WithoutAPoolerHasNoneWhenItIsWritten) {
  const LoadedModel model = load_model(golden_bert("bert_without_pooler"), LoadOptions{});
  EXPECT_FALSE(model.config.uses_pooler());
  EXPECT_EQ(ParameterLayout(model.config).find("bert.pooler.weight"), nullptr);
  EXPECT_TRUE(model.fresh.empty());
  const ModelConfig again = parse_config(config_json(model.config), "config.json");
  EXPECT_FALSE(again.uses_pooler());
  EXPECT_FALSE(is_huggingface_architecture(model.config));
  EXPECT_TRUE(load_model(golden_bert("bert_encoder"), LoadOptions{}).config.uses_pooler());
}

// As BertForSequenceClassification does.
TEST(BertFolder, ANewHeadOfClassesBeginsFromThePooler) {
  const std::string folder = golden_bert("bert_encoder");
  for (const bool fresh : {false, true}) {
    const LoadedModel model = load_model(folder, HeadType::classification, 7, 3, fresh);
    EXPECT_EQ(model.config.head_form, HeadForm::roberta);
    EXPECT_EQ(loaded_tensor(model, "classifier.dense.weight"), stored_tensor(folder, "pooler.dense.weight"));
    EXPECT_EQ(loaded_tensor(model, "classifier.out_proj.weight").size(), 24u);
  }
  const std::string roberta = golden_bert("roberta_encoder");
  EXPECT_NE(loaded_tensor(load_model(roberta, HeadType::classification, 7, 3), "classifier.dense.weight"),
            stored_tensor(roberta, "pooler.dense.weight"));
}

TEST(BertFolder, HeadsThatAreNotReadGiveTheEncoder) {
  const TemporaryFolder folder;
  copy_with("bert_classes", folder, "architectures", {"BertForMultipleChoice"});
  try {
    load_model(folder.path().string(), LoadOptions{});
    FAIL() << "loaded";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("a BertForMultipleChoice, which is not read"), std::string::npos)
        << error.message();
    EXPECT_NE(error.hint().find("verbs that train begin from it"), std::string::npos) << error.hint();
  }
  const LoadedModel model = load_model(folder.path().string(), HeadType::masked_lm, 3);
  EXPECT_EQ(loaded_tensor(model, "bert.encoder.layer.1.output.dense.weight"),
            stored_tensor(golden_bert("bert_classes"), "bert.encoder.layer.1.output.dense.weight"));
}

// Its layer has the name of the one for classes of sequences, which stands behind a pooler.
TEST(BertFolder, ClassesOfTokensAreItsOwnLayer) {
  const std::string folder = golden_bert("bert_tokens");
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel level, const std::string& text) {
    if (level == LogLevel::warning) warnings.push_back(text);
  });
  const LoadedModel model = load_model(folder, LoadOptions{});
  set_log_sink({});
  EXPECT_TRUE(warnings.empty()) << warnings.front();
  EXPECT_EQ(model.config.head, HeadType::token_classification);
  EXPECT_EQ(loaded_tensor(model, "classifier.weight"), stored_tensor(folder, "classifier.weight"));
  const LoadedModel of_sequences = load_model(folder, HeadType::classification, 3, 5);
  EXPECT_NE(loaded_tensor(of_sequences, "classifier.out_proj.weight"),
            stored_tensor(folder, "classifier.weight"));
}

TEST(BertFolder, WhatItsConfigCannotSayIsRefused) {
  const TemporaryFolder folder;
  const auto refusal = [&](const char* field, const BertJson& value) {
    copy_with("bert", folder, field, value);
    try {
      load_model(folder.path().string(), LoadOptions{});
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << field;
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
      return error.message().substr(folder.path().string().size() + 1);
    }
    return std::string("read");
  };
  EXPECT_EQ(refusal("position_embedding_type", "relative_key"),
            "config.json: position_embedding_type relative_key is not read");
  EXPECT_EQ(refusal("is_decoder", true), "config.json: a decoder (is_decoder or add_cross_attention)");
  EXPECT_EQ(refusal("hidden_act", "mish"), "config.json: hidden_act mish is not supported");
  EXPECT_NE(refusal("max_position_embeddings", 0).find("max_position_embeddings"), std::string::npos);
  EXPECT_NE(refusal("max_position_embeddings", 64).find("position_embeddings.weight has shape [128, 16]"),
            std::string::npos);
  EXPECT_EQ(refusal("model_type", "t5"), "config.json: model_type t5 is not read");
}

TEST(BertFolder, MorePositionsRepeatItsOwn) {
  LoadOptions options;
  options.positions = 300;
  const LoadedModel model = load_model(golden_bert("bert"), options);
  EXPECT_EQ(model.config.attention, AttentionPattern::full);
  EXPECT_EQ(model.config.max_position_embeddings, 320);
  const std::vector<float> table = loaded_tensor(model, "bert.embeddings.position_embeddings.weight");
  for (std::size_t i = 0; i < table.size(); ++i) ASSERT_EQ(table[i], table[i % (128 * 16)]) << i;
}

}  // namespace
}  // namespace bigbird
