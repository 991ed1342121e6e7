// ETC: counts of parameters, names of etcmodel's checkpoints there and back, and etc_config.json.
#include "lib/model/folder/etc_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/io/weights/weight_files.h"
#include "tests/support/support.h"
#include "tests/support/tensorflow_bytes.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;

EtcShapes unshared() {
  EtcShapes shapes;
  shapes.vocab_size = 30522;
  shapes.share_qkv_projections = false;
  return shapes;
}

std::int64_t parameters_of_a_layer(EtcShapes shapes) {
  const std::int64_t all = etc_parameters(shapes);
  ++shapes.num_hidden_layers;
  return etc_parameters(shapes) - all;
}

TEST(Etc, Check15Parameters) {
  EtcShapes base = unshared();
  EXPECT_EQ(etc_parameters(base), 165'825'024);
  EXPECT_EQ(parameters_of_a_layer(base), 11'864'064);
  base.share_qkv_projections = true;
  EXPECT_EQ(etc_parameters(base), 116'215'296);
  base.share_att_output_projection = true;
  EXPECT_EQ(etc_parameters(base), 109'128'192);
  EtcShapes pieces = unshared();
  pieces.vocab_size = 50358;
  EXPECT_EQ(etc_parameters(pieces), 181'059'072);
  pieces.share_qkv_projections = true;
  EXPECT_EQ(etc_parameters(pieces), 131'449'344);
  EtcShapes large = unshared();
  large.vocab_size = 50358;
  large.hidden_size = 1024;
  large.num_hidden_layers = 24;
  large.num_attention_heads = 16;
  large.intermediate_size = 4096;
  large.relative_pos_max_distance = 24;
  large.relative_vocab_size = 56;
  EXPECT_EQ(etc_parameters(large), 558'264'320);
  EXPECT_EQ(parameters_of_a_layer(large), 21'111'552);
  large.share_qkv_projections = true;
  EXPECT_EQ(etc_parameters(large), 381'931'520);
}

// Names as docs/specification.md 2.8 spells them, written out, of layer 0 and what is outside of layers.
const std::map<std::string, std::string>& written_out() {
  const std::string front = "etc_document_bert/", all = "global_local_transformer_layers/";
  const std::string layer = front + all + "fused_att_layer_0/", attention = layer + "fused_global_local_att/";
  static std::map<std::string, std::string> names = {
      {front + "token_emb_lookup/embedding_table", "etc.embeddings.word_embeddings.weight"},
      {front + "segment_emb_lookup/embedding_table", "etc.embeddings.token_type_embeddings.weight"},
      {front + "position_emb_lookup_long/embedding_table", "etc.embeddings.long_position_embeddings.weight"},
      {front + "position_emb_lookup_global/embedding_table",
       "etc.embeddings.global_position_embeddings.weight"},
      {front + "long_emb_layer_norm/gamma", "etc.embeddings.long_layer_norm.weight"},
      {front + "long_emb_layer_norm/beta", "etc.embeddings.long_layer_norm.bias"},
      {front + "global_emb_layer_norm/gamma", "etc.embeddings.global_layer_norm.weight"},
      {front + "global_emb_layer_norm/beta", "etc.embeddings.global_layer_norm.bias"},
      {layer + "layer_norm_0/gamma", "etc.encoder.layer.0.long_attention_norm.weight"},
      {layer + "layer_norm_0/beta", "etc.encoder.layer.0.long_attention_norm.bias"},
      {layer + "layer_norm_1/gamma", "etc.encoder.layer.0.global_attention_norm.weight"},
      {layer + "layer_norm_1/beta", "etc.encoder.layer.0.global_attention_norm.bias"},
      {attention + "long_qkv_attention/qkv_relative_attention/relative_emb_table",
       "etc.encoder.layer.0.attention.long_relative.weight"},
      {attention + "long_qkv_attention/qkv_relative_attention/relative_bias_table",
       "etc.encoder.layer.0.attention.long_relative.bias"},
      {attention + "global_qkv_attention/relative_emb_table",
       "etc.encoder.layer.0.attention.global_relative.weight"},
      {attention + "global_qkv_attention/relative_bias_table",
       "etc.encoder.layer.0.attention.global_relative.bias"},
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
    names[theirs + "/kernel"] = "etc.encoder.layer.0." + ours + ".weight";
    names[theirs + "/bias"] = "etc.encoder.layer.0." + ours + ".bias";
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
    linear(forward + "dense_layers/layer_0", side + "intermediate.dense");
    linear(forward + "dense_layers/layer_1", side + "output.dense");
    names[forward + "layer_norm/gamma"] = "etc.encoder.layer.0." + side + "output_norm.weight";
    names[forward + "layer_norm/beta"] = "etc.encoder.layer.0." + side + "output_norm.bias";
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
    EXPECT_EQ(etc_variable_name(ours), theirs);
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
  for (int form = 0; form < 32; ++form) {
    SCOPED_TRACE(form);
    EtcShapes shapes;
    shapes.vocab_size = 11;
    shapes.segment_vocab_size = 3;
    shapes.hidden_size = 6;
    shapes.num_hidden_layers = 2;
    shapes.num_attention_heads = 2;
    shapes.att_size_per_head = 4;
    shapes.intermediate_size = 5;
    shapes.relative_pos_max_distance = 2;
    shapes.relative_vocab_size = 8;
    shapes.share_qkv_projections = (form & 1) != 0;
    shapes.share_kv_projections = (form & 2) != 0;
    shapes.share_att_output_projection = (form & 4) != 0;
    shapes.share_feed_forward_params = (form & 8) != 0;
    shapes.max_absolute_position_embeddings = (form & 16) != 0 ? 7 : 0;
    std::vector<testing::BundleTensor> file;
    std::map<std::string, std::vector<float>> values_of;
    float next = 0;
    for (const EtcTensor& tensor : etc_tensors(shapes)) {
      const auto variable = etc_variable_name(tensor.name);
      ASSERT_TRUE(variable.has_value()) << tensor.name;
      std::vector<float>& values = values_of[tensor.name];
      values.resize(static_cast<std::size_t>(tensor.count()));
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
      EXPECT_EQ(etc_variable_name(tensor.name), stored.name);
    }
    const std::vector<EtcTensor> expected = etc_tensors(shapes);
    EXPECT_EQ(shape_of.size(), expected.size());
    for (const EtcTensor& tensor : expected) EXPECT_EQ(shape_of[tensor.name], tensor.shape) << tensor.name;
  }
  for (const auto& [theirs, ours] : written_out()) {
    if (ours.starts_with("etc.")) {
      EXPECT_TRUE(covered.contains(theirs)) << theirs;
    }
  }
}

TEST(Etc, WhatIsSharedIsThereOnce) {
  const auto names = [](EtcShapes shapes) {
    std::set<std::string> found;
    const std::string front = "etc.encoder.layer.0.attention.", end = ".weight";
    for (const EtcTensor& tensor : etc_tensors(shapes)) {
      if (!tensor.name.starts_with(front) || !tensor.name.ends_with(end)) continue;
      found.insert(tensor.name.substr(front.size(), tensor.name.size() - front.size() - end.size()));
    }
    return found;
  };
  using Names = std::set<std::string>;
  const Names always{"long_output", "long_relative", "global_relative", "long_query", "l2l_key", "l2l_value"};
  EtcShapes shapes = unshared();
  Names expected = always;
  expected.insert({"global_output", "global_query", "l2g_key", "l2g_value", "g2g_key", "g2g_value", "g2l_key",
                   "g2l_value"});
  EXPECT_EQ(names(shapes), expected);
  shapes.share_kv_projections = true;
  expected = always;
  expected.insert({"global_output", "global_query", "g2g_key", "g2g_value"});
  EXPECT_EQ(names(shapes), expected);
  shapes.share_qkv_projections = true;
  expected = always;
  expected.insert("global_output");
  EXPECT_EQ(names(shapes), expected);
  shapes.share_att_output_projection = true;
  EXPECT_EQ(names(shapes), always);
  shapes.relative_pos_max_distance = 0;
  EXPECT_FALSE(names(shapes).contains("long_relative"));
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
  for (const char* name : {"etc.encoder.layer.0.attention.long_query", "etc.encoder.layer.x.output_norm.bias",
                           "etc.encoder.layer.0.attention.g2x_key.bias", "bert.embeddings.weight", ""}) {
    EXPECT_FALSE(etc_variable_name(name).has_value()) << name;
  }
}

TEST(EtcConfig, ReleasedFieldsAndDefaults) {
  const EtcShapes shapes = parse_etc_config(
      R"({"vocab_size": 50358, "hidden_size": 1024, "num_attention_heads": 16, "num_hidden_layers": 24,
          "intermediate_size": 4096, "embedding_size": null, "local_radius": 169,
          "relative_pos_max_distance": 24, "relative_vocab_size": 56, "share_qkv_projections": false,
          "use_hard_g2l_mask": true, "hidden_act": "gelu", "use_pre_activation_order": false,
          "grad_checkpointing_period": 0, "max_absolute_position_embeddings": null,
          "hidden_dropout_prob": 0.2})",
      "etc_config.json");
  EXPECT_EQ(etc_parameters(shapes), 558'264'320);
  EXPECT_EQ(shapes.local_radius, 169);
  EXPECT_EQ(shapes.att_size_per_head, 64);
  EXPECT_TRUE(shapes.use_hard_g2l_mask);
  EXPECT_FALSE(shapes.use_hard_l2g_mask);
  EXPECT_TRUE(shapes.share_feed_forward_params);
  EXPECT_EQ(shapes.hidden_dropout_prob, 0.2);
  const EtcShapes plain = parse_etc_config(R"({"vocab_size": 7})", "etc_config.json");
  EXPECT_TRUE(plain.share_qkv_projections);
  EXPECT_EQ(plain.segment_vocab_size, 16);
  EXPECT_EQ(plain.relative_vocab_size, 32);
  require_multi_hop_labels(plain, "etc_config.json");
  const EtcShapes none =
      parse_etc_config(R"({"vocab_size": 7, "relative_pos_max_distance": 0})", "etc_config.json");
  EXPECT_EQ(none.relative_vocab_size, 0);
  EXPECT_EQ(none.labels(true), 0);
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
  EtcShapes tight;
  tight.relative_vocab_size = 27;
  expect_bad_input(
      error_of([&] { require_multi_hop_labels(tight, "etc_config.json"); }), "etc_config.json",
      "field relative_vocab_size is 27: too small for documents of several parts, which take 28");
}

}  // namespace
}  // namespace bigbird
