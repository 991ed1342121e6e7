// ETC: counts of parameters, names of etcmodel's checkpoints there and back, and etc_config.json.
#include "lib/model_folder/etc_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/io/weights/weight_files.h"
#include "lib/model/network/layout.h"
#include "tests/support/support.h"
#include "tests/support/tensorflow_bytes.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

ModelConfig config_of(const std::string& fields) {
  return parse_etc_config("{" + fields + "}", "etc_config.json");
}
std::int64_t parameters(const ModelConfig& config) {
  return ParameterLayout(config).count();
}
std::int64_t parameters_of_a_layer(ModelConfig config) {
  const std::int64_t all = parameters(config);
  ++config.num_hidden_layers;
  return parameters(config) - all;
}

TEST(Etc, Check15Parameters) {
  ModelConfig base = config_of(R"("vocab_size": 30522, "share_qkv_projections": false)");
  EtcOptions& options = base.attention_options.etc;
  EXPECT_EQ(parameters(base), 165'825'024);
  EXPECT_EQ(parameters_of_a_layer(base), 11'864'064);
  options.projections = EtcProjections::shared;
  EXPECT_EQ(parameters(base), 116'215'296);
  options.shared_output = true;
  EXPECT_EQ(parameters(base), 109'128'192);
  ModelConfig pieces = config_of(R"("vocab_size": 50358, "share_qkv_projections": false)");
  EXPECT_EQ(parameters(pieces), 181'059'072);
  pieces.attention_options.etc.projections = EtcProjections::shared;
  EXPECT_EQ(parameters(pieces), 131'449'344);
  ModelConfig large = config_of(
      R"("vocab_size": 50358, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
         "intermediate_size": 4096, "relative_pos_max_distance": 24, "relative_vocab_size": 56,
         "share_qkv_projections": false)");
  EXPECT_EQ(parameters(large), 558'264'320);
  EXPECT_EQ(parameters_of_a_layer(large), 21'111'552);
  large.attention_options.etc.projections = EtcProjections::shared;
  EXPECT_EQ(parameters(large), 381'931'520);
}

// Names as etcmodel's checkpoints spell them, written out, of layer 0 and what is outside of layers.
const std::map<std::string, std::string>& written_out() {
  const std::string front = "etc_document_bert/", all = "global_local_transformer_layers/";
  const std::string layer = front + all + "fused_att_layer_0/", attention = layer + "fused_global_local_att/";
  static std::map<std::string, std::string> names = {
      {front + "token_emb_lookup/embedding_table", "bert.embeddings.word_embeddings.weight"},
      {front + "segment_emb_lookup/embedding_table", "bert.embeddings.token_type_embeddings.weight"},
      {front + "position_emb_lookup_long/embedding_table", "bert.embeddings.position_embeddings.weight"},
      {front + "position_emb_lookup_global/embedding_table",
       "bert.embeddings.global_position_embeddings.weight"},
      {front + "long_emb_layer_norm/gamma", "bert.embeddings.LayerNorm.weight"},
      {front + "long_emb_layer_norm/beta", "bert.embeddings.LayerNorm.bias"},
      {front + "global_emb_layer_norm/gamma", "bert.embeddings.global_LayerNorm.weight"},
      {front + "global_emb_layer_norm/beta", "bert.embeddings.global_LayerNorm.bias"},
      {layer + "layer_norm_0/gamma", "bert.encoder.layer.0.attention.long_LayerNorm.weight"},
      {layer + "layer_norm_0/beta", "bert.encoder.layer.0.attention.long_LayerNorm.bias"},
      {layer + "layer_norm_1/gamma", "bert.encoder.layer.0.attention.global_LayerNorm.weight"},
      {layer + "layer_norm_1/beta", "bert.encoder.layer.0.attention.global_LayerNorm.bias"},
      {attention + "long_qkv_attention/qkv_relative_attention/relative_emb_table",
       "bert.encoder.layer.0.attention.long_relative.weight"},
      {attention + "long_qkv_attention/qkv_relative_attention/relative_bias_table",
       "bert.encoder.layer.0.attention.long_relative.bias"},
      {attention + "global_qkv_attention/relative_emb_table",
       "bert.encoder.layer.0.attention.global_relative.weight"},
      {attention + "global_qkv_attention/relative_bias_table",
       "bert.encoder.layer.0.attention.global_relative.bias"},
      {"supporting_facts_output_weights", "heads.supporting_facts.weight"},
      {"supporting_facts_output_bias", "heads.supporting_facts.bias"},
      {"answer_type_output_weights", "heads.answer_type.weight"},
      {"answer_type_output_bias", "heads.answer_type.bias"},
      {"answer_span_output_weights", "heads.answer_span.weight"},
      {"answer_span_output_bias", "heads.answer_span.bias"},
      {"cls/nq/long_output_weights", "heads.natural_questions.weight"},
      {"cls/nq/long_output_bias", "heads.natural_questions.bias"},
      {"output_weights", "heads.candidates.weight"},
      {"output_bias", "heads.candidates.bias"}};
  const auto linear = [](const std::string& theirs, const std::string& ours) {
    names[theirs + "/kernel"] = "bert.encoder.layer.0." + ours + ".weight";
    names[theirs + "/bias"] = "bert.encoder.layer.0." + ours + ".bias";
  };
  for (const std::string side : {"long", "global"}) {
    linear(attention + side + "_query_projection/linear", "attention." + side + "_query");
    linear(attention + side + "_output_projection", "attention." + side + "_output");
  }
  for (const std::string pair : {"l2l", "l2g", "g2g", "g2l"}) {
    for (const std::string part : {"key", "value"})
      linear(attention + pair + "_" + part + "_projection/linear", "attention." + pair + "_" + part);
  }
  for (const std::string side : {"", "long_", "global_"}) {
    const std::string forward = front + all + side + "feed_forward_layer_0/";
    const std::string here = side == "global_" ? side : "";
    linear(forward + "dense_layers/layer_0", here + "intermediate.dense");
    linear(forward + "dense_layers/layer_1", here + "output.dense");
    names[forward + "layer_norm/gamma"] = "bert.encoder.layer.0." + here + "output.LayerNorm.weight";
    names[forward + "layer_norm/beta"] = "bert.encoder.layer.0." + here + "output.LayerNorm.bias";
  }
  return names;
}

TEST(Etc, Check14EveryNameThereAndBack) {
  for (const auto& [theirs, ours] : written_out()) {
    for (const std::string& variable : {theirs, "module/" + theirs}) {
      const auto name = etc_layout_name(variable);
      ASSERT_TRUE(name.has_value()) << variable;
      EXPECT_EQ(name->name, ours);
      EXPECT_EQ(name->transposed, theirs.ends_with("/kernel")) << theirs;
    }
    const bool shared = theirs.find("/long_feed") == std::string::npos;
    EXPECT_EQ(etc_variable_name(ours, shared), theirs);
    for (const char* slot : {"/adam_m", "/adam_v"}) {
      const auto skipped = etc_layout_name(theirs + slot);
      ASSERT_TRUE(skipped.has_value());
      EXPECT_EQ(skipped->name, "");
    }
  }
  EXPECT_EQ(etc_layout_name("global_step")->name, "");
}

// [columns, rows] of [rows, columns].
std::vector<float> turned(const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
  std::vector<float> result;
  for (std::int64_t column = 0; column < columns; ++column) {
    for (std::int64_t row = 0; row < rows; ++row)
      result.push_back(values[static_cast<std::size_t>(row * columns + column)]);
  }
  return result;
}

// A synthetic file with every tensor of a model, ours, and written back: exact, in all forms of sharing.
TEST(Etc, Check14ASyntheticFileThereAndBack) {
  const testing::TemporaryFolder folder;
  std::set<std::string> covered;
  for (int form = 0; form < 24; ++form) {
    SCOPED_TRACE(form);
    ModelConfig config = config_of(
        R"("vocab_size": 11, "segment_vocab_size": 3, "hidden_size": 6, "num_hidden_layers": 2,
           "num_attention_heads": 2, "intermediate_size": 5, "relative_pos_max_distance": 2,
           "relative_vocab_size": 8)");
    EtcOptions& options = config.attention_options.etc;
    options.projections = static_cast<EtcProjections>(form % 3);
    options.shared_output = (form / 3 & 1) != 0;
    options.shared_feed_forward = (form / 3 & 2) != 0;
    if ((form / 3 & 4) != 0) {
      config.position_type = PositionType::absolute;
      config.max_position_embeddings = 7;
    }
    std::vector<testing::BundleTensor> file;
    std::map<std::string, std::vector<float>> values_of;
    float next = 0;
    const ParameterLayout layout(config);
    for (const TensorSpec& tensor : layout.tensors()) {
      const auto variable = etc_variable_name(tensor.name, options.shared_feed_forward);
      ASSERT_TRUE(variable.has_value()) << tensor.name;
      std::vector<float>& values = values_of[tensor.name];
      values.resize(static_cast<std::size_t>(tensor.count));
      for (float& value : values) value = ++next;
      file.push_back(variable->ends_with("/kernel")
                         ? testing::float_tensor(*variable, {tensor.shape[1], tensor.shape[0]},
                                                 turned(values, tensor.shape[0], tensor.shape[1]))
                         : testing::float_tensor(*variable, tensor.shape, values));
      covered.insert(*variable);
    }
    std::sort(file.begin(), file.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const std::string prefix = folder / ("model.ckpt-" + std::to_string(form));
    testing::write_bundle(prefix, file);

    const WeightFiles weights(prefix);
    std::map<std::string, std::vector<std::int64_t>> shape_of;
    for (const StoredTensor& stored : weights.tensors()) {
      const auto name = etc_layout_name(stored.name);
      ASSERT_TRUE(name.has_value()) << stored.name;
      const StoredTensor tensor = etc_tensor(stored, *name);
      EXPECT_TRUE(shape_of.emplace(tensor.name, tensor.shape).second) << tensor.name;
      std::vector<float> values(static_cast<std::size_t>(tensor.elements()));
      read_floats(tensor, values);
      EXPECT_EQ(values, values_of[tensor.name]) << tensor.name;
      EXPECT_EQ(etc_variable_name(tensor.name, options.shared_feed_forward), stored.name);
    }
    EXPECT_EQ(shape_of.size(), layout.tensors().size());
    for (const TensorSpec& tensor : layout.tensors())
      EXPECT_EQ(shape_of[tensor.name], tensor.shape) << tensor.name;
  }
  for (const auto& [theirs, ours] : written_out()) {
    if (ours.starts_with("bert.")) {
      EXPECT_TRUE(covered.contains(theirs)) << theirs;
    }
  }
}

TEST(Etc, WhatIsSharedIsThereOnce) {
  const auto names = [](const ModelConfig& config) {
    std::set<std::string> found;
    const std::string front = "bert.encoder.layer.0.attention.", end = ".weight";
    const ParameterLayout layout(config);
    for (const TensorSpec& tensor : layout.tensors()) {
      if (!tensor.name.starts_with(front) || !tensor.name.ends_with(end)) continue;
      found.insert(tensor.name.substr(front.size(), tensor.name.size() - front.size() - end.size()));
    }
    return found;
  };
  using Names = std::set<std::string>;
  const Names always{"long_LayerNorm",  "global_LayerNorm", "long_output", "long_relative",
                     "global_relative", "long_query",       "l2l_key",     "l2l_value"};
  ModelConfig config = config_of(R"("vocab_size": 30522, "share_qkv_projections": false)");
  EtcOptions& options = config.attention_options.etc;
  Names expected = always;
  expected.insert({"global_output", "global_query", "l2g_key", "l2g_value", "g2g_key", "g2g_value", "g2l_key",
                   "g2l_value"});
  EXPECT_EQ(names(config), expected);
  options.projections = EtcProjections::by_query;
  expected = always;
  expected.insert({"global_output", "global_query", "g2g_key", "g2g_value"});
  EXPECT_EQ(names(config), expected);
  options.projections = EtcProjections::shared;
  expected = always;
  expected.insert("global_output");
  EXPECT_EQ(names(config), expected);
  options.shared_output = true;
  EXPECT_EQ(names(config), always);
  options.distance = options.labels = 0;
  EXPECT_FALSE(names(config).contains("long_relative"));
}

TEST(Etc, OtherNamesAreNotKnown) {
  const std::string front = "etc_document_bert/global_local_transformer_layers/";
  for (const std::string& name :
       {std::string("kernel"), std::string(), std::string("bert/embeddings/word_embeddings"),
        std::string("my_token_emb_lookup/embedding_table"), front + "fused_att_layer_x/layer_norm_0/gamma",
        front + "fused_att_layer_01/layer_norm_0/gamma", front + "fused_att_layer_0/layer_norm_2/gamma",
        front + "fused_att_layer_0/layer_norm_0/kernel", front + "fused_att_layer_/layer_norm_0/gamma",
        front + "fused_att_layer_0/layer_norm_0/gamma/more", "x" + front.substr(18) + "layer_norm_0/gamma",
        std::string("the_output_weights")}) {
    EXPECT_FALSE(etc_layout_name(name).has_value()) << name;
  }
  for (const char* name :
       {"bert.encoder.layer.0.attention.long_query", "bert.encoder.layer.x.output.LayerNorm.bias",
        "bert.encoder.layer.0.attention.g2x_key.bias", "bert.embeddings.weight", ""}) {
    EXPECT_FALSE(etc_variable_name(name).has_value()) << name;
  }
}

TEST(EtcConfig, ReleasedFieldsAndDefaults) {
  const ModelConfig config = parse_etc_config(
      R"({"vocab_size": 50358, "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24,
          "intermediate_size": 4096, "embedding_size": null, "local_radius": 169,
          "relative_pos_max_distance": 24, "relative_vocab_size": 56, "share_qkv_projections": false,
          "use_hard_g2l_mask": true, "hidden_act": "gelu", "use_pre_activation_order": false,
          "grad_checkpointing_period": 0, "max_absolute_position_embeddings": null,
          "hidden_dropout_prob": 0.2})",
      "etc_config.json");
  const EtcOptions& options = config.attention_options.etc;
  EXPECT_EQ(parameters(config), 558'264'320);
  EXPECT_EQ(options.radius, 169);
  EXPECT_EQ(config.head_size(), 64);
  EXPECT_TRUE(options.hard_g2l);
  EXPECT_FALSE(options.hard_l2g);
  EXPECT_TRUE(options.shared_feed_forward);
  EXPECT_EQ(config.hidden_dropout_prob, 0.2);
  const ModelConfig plain = config_of(R"("vocab_size": 7)");
  EXPECT_EQ(plain.attention_options.etc.projections, EtcProjections::shared);
  EXPECT_EQ(plain.type_vocab_size, 16);
  EXPECT_EQ(etc_labels(plain.attention_options.etc), 32);
  EXPECT_EQ(plain.position_type, PositionType::none);
  require_multi_hop_labels(plain, "etc_config.json");
  const ModelConfig none = config_of(R"("vocab_size": 7, "relative_pos_max_distance": 0)");
  EXPECT_EQ(etc_labels(none.attention_options.etc), 0);
  require_multi_hop_labels(none, "etc_config.json");
}

TEST(EtcConfig, WhatIsAbsurdIsNamedByFileAndKey) {
  const auto expect_refused = [](const std::string& fields, const std::string& what) {
    expect_bad_input(error_of([&] {
                       parse_etc_config(R"({"vocab_size": 7)" + (fields.empty() ? "" : ", " + fields) + "}",
                                        "model/etc_config.json");
                     }),
                     "model/etc_config.json", what);
  };
  expect_refused(R"("vocab_size": 0)", "field vocab_size is 0: too small");
  expect_refused(R"("hidden_size": "768")", "field hidden_size is not a whole number");
  expect_refused(R"("hidden_size": 7.5)", "field hidden_size is not a whole number");
  expect_refused(R"("hidden_size": 770)", "field hidden_size is 770, no multiple of num_attention_heads, 12");
  expect_refused(R"("num_hidden_layers": 1000000)", "field num_hidden_layers is 1000000: too large");
  expect_refused(R"("hidden_size": 18446744073709551615)", "field hidden_size is -1: too small");
  expect_refused(R"("local_radius": 0)", "field local_radius is 0: too small");
  expect_refused(R"("share_qkv_projections": 1)", "field share_qkv_projections is not true or false");
  expect_refused(R"("hidden_dropout_prob": 1)", "field hidden_dropout_prob is 1: not at least 0");
  expect_refused(R"("initializer_range": -1)", "field initializer_range is -1: not at least 0");
  expect_refused(R"("use_pre_activation_order": true)", "field use_pre_activation_order is true");
  expect_refused(R"("hidden_act": "relu")", "field hidden_act is relu");
  expect_refused(R"("att_size_per_head": 32)",
                 "field att_size_per_head is 32, and hidden_size / num_attention_heads 64");
  expect_refused(R"("embedding_size": 128)", "field embedding_size is 128, and hidden_size 768");
  expect_refused(R"("grad_checkpointing_period": -1)", "field grad_checkpointing_period is -1");
  expect_refused(R"("relative_vocab_size": 26)", "field relative_vocab_size is 26: too small");
  expect_refused(R"("relative_pos_max_distance": 0, "relative_vocab_size": 32)",
                 "field relative_vocab_size is 32 without labels");
  expect_refused(R"("random_blocks": 3)", "field \"random_blocks\" is not known");
  expect_bad_input(error_of([] { parse_etc_config("[1]", "etc_config.json"); }), "etc_config.json",
                   "not a JSON object");
  expect_bad_input(error_of([] { parse_etc_config("{}", "etc_config.json"); }), "etc_config.json",
                   "field vocab_size is missing");
  ModelConfig tight = config_of(R"("vocab_size": 7, "relative_vocab_size": 27)");
  expect_bad_input(
      error_of([&] { require_multi_hop_labels(tight, "etc_config.json"); }), "etc_config.json",
      "field relative_vocab_size is 27: too small for documents of several parts, which take 28");
}

}  // namespace
}  // namespace bigbird
