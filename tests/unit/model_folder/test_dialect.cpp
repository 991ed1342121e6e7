// Model folders of other kinds: GENA-LM's own, BERT and RoBERTa as warm starts, old spellings, pickled
// weights.
#include "lib/model_folder/dialect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"
#include "tests/support/torch_bytes.h"

namespace bigbird {
namespace {

ModelConfig tiny(HeadType head) {
  ModelConfig config;
  config.vocab_size = 20;
  config.hidden_size = 8;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 32;
  config.block_size = 4;
  config.head = head;
  return config;
}

class DialectTest : public ::testing::Test {
 protected:
  std::string path() const { return folder_.path().string(); }
  void text(const std::string& name, const std::string& bytes) { testing::write_text(folder_ / name, bytes); }

  // The tensors of a model under the names that `rename` gives them.
  using Rename = std::function<std::string(const std::string&)>;
  void write_weights(const ModelConfig& config, const std::vector<float>& parameters, const Rename& rename) {
    std::vector<testing::FloatTensor> tensors;
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      const auto begin = parameters.begin() + spec.offset;
      tensors.push_back({rename(spec.name), spec.shape, {begin, begin + spec.count}});
    }
    write_tensors(tensors);
  }
  void write_tensors(const std::vector<testing::FloatTensor>& tensors) {
    std::vector<TensorToWrite> list;
    for (const testing::FloatTensor& tensor : tensors) {
      list.push_back({tensor.name, TensorType::f32, tensor.shape, tensor.values.data()});
    }
    write_safetensors(folder_ / "model.safetensors", list);
  }
  std::vector<float> write_own(const ModelConfig& config) {
    const ParameterLayout layout(config);
    const std::vector<float> parameters = initial_parameters(layout, config, 5);
    text("config.json", config_json(config));
    write_weights(config, parameters, [](const std::string& name) { return name; });
    return parameters;
  }
  LoadedModel load(const LoadOptions& options = {}) { return load_model(path(), options); }
  void expect_refused(const std::string& what, const LoadOptions& options = {}) {
    try {
      load(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
      EXPECT_EQ(error.message().find('\n'), std::string::npos) << error.message();
      EXPECT_FALSE(error.hint().empty());
      return;
    }
    ADD_FAILURE() << "accepted; expected: " << what;
  }

  testing::TemporaryFolder folder_;
};

bool says(const LoadedModel& model, const std::string& what) {
  for (const std::string& note : model.notes) {
    if (note.find(what) != std::string::npos) return true;
  }
  return false;
}

TEST_F(DialectTest, OldSpellingsAreTheSameModel) {
  const ModelConfig config = tiny(HeadType::pretraining);
  const std::vector<float> parameters = write_own(config);
  write_weights(config, parameters, [](const std::string& name) {
    std::string old = name;
    const auto swap = [&](const std::string& from, const std::string& to) {
      if (const std::size_t at = old.find(from); at != std::string::npos) old.replace(at, from.size(), to);
    };
    swap("LayerNorm.weight", "LayerNorm.gamma");
    swap("LayerNorm.bias", "LayerNorm.beta");
    swap("bert.pooler.", "bert.pooler.dense.");
    return "module." + old;
  });
  EXPECT_EQ(load().parameters, parameters);
}

TEST_F(DialectTest, NamesOfWrappedModulesAreTheSameModel) {
  const ModelConfig config = tiny(HeadType::pretraining);
  const std::vector<float> parameters = write_own(config);
  for (const char* front : {"_orig_mod.", "module.", "module._orig_mod.", "_orig_mod.module.", "model."}) {
    write_weights(config, parameters, [&](const std::string& name) { return front + name; });
    EXPECT_EQ(load().parameters, parameters) << front;
  }
  write_weights(config, parameters, [](const std::string& name) {
    const std::size_t at = name.find("encoder.layer.");
    return at == std::string::npos ? name : name.substr(0, at) + "encoder._orig_mod." + name.substr(at + 8);
  });
  EXPECT_EQ(load().parameters, parameters);
}

// A class whose head is not read: its encoder is there for who asks for that, and for nobody else.
TEST_F(DialectTest, AClassThatIsNotReadIsRefusedByName) {
  const ModelConfig config = tiny(HeadType::encoder);
  const std::vector<float> parameters = write_own(config);
  nlohmann::json json = nlohmann::json::parse(config_json(config));
  for (const char* name : {"BigBirdForMultipleChoice", "BigBirdForCausalLM"}) {
    json["architectures"] = {name};
    text("config.json", json.dump());
    expect_refused(std::string(": a ") + name + ", which is not read");
    LoadOptions options;
    options.encoder_only = true;
    EXPECT_EQ(load(options).parameters, parameters) << name;
    options = {};
    options.head = HeadType::classification;
    const LoadedModel begun = load(options);
    EXPECT_EQ(begun.config.head, HeadType::classification);
    EXPECT_TRUE(std::equal(parameters.begin(), parameters.begin() + 100, begun.parameters.begin()));
  }
  json["architectures"] = {"BigBirdForCausalLM"};
  json["is_decoder"] = true;
  text("config.json", json.dump());
  expect_refused("a decoder (is_decoder or add_cross_attention), BigBirdForCausalLM");
}

TEST_F(DialectTest, APoolerThatNoHeadNeedsMayBeMissing) {
  ModelConfig config = tiny(HeadType::encoder);
  const std::vector<float> parameters = write_own(config);
  const auto without_pooler = [&] {
    std::vector<testing::FloatTensor> tensors;
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      const auto begin = parameters.begin() + spec.offset;
      if (!spec.name.starts_with("bert.pooler."))
        tensors.push_back({spec.name, spec.shape, {begin, begin + spec.count}});
    }
    write_tensors(tensors);
  };
  without_pooler();
  try {
    load();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("saved without its pooler"), std::string::npos) << error.hint();
  }
  LoadOptions options;
  options.encoder_only = true;
  EXPECT_EQ(load(options).parameters.size(), parameters.size());
}

TEST_F(DialectTest, AnEncoderWithoutPrefixIsTheSameModel) {
  const ModelConfig config = tiny(HeadType::encoder);
  const std::vector<float> parameters = write_own(config);
  write_weights(config, parameters, [](const std::string& name) { return name.substr(5); });
  EXPECT_EQ(load().parameters, parameters);
}

TEST_F(DialectTest, PickledWeightsAreTheSameModel) {
  const ModelConfig config = tiny(HeadType::pretraining);
  const std::vector<float> parameters = write_own(config);
  std::vector<testing::FloatTensor> tensors;
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    const auto begin = parameters.begin() + spec.offset;
    tensors.push_back({spec.name, spec.shape, {begin, begin + spec.count}});
  }
  std::filesystem::remove(folder_ / "model.safetensors");
  text("pytorch_model.bin", testing::torch_bytes(tensors));
  EXPECT_EQ(load().parameters, parameters);
}

TEST_F(DialectTest, TwoNamesOfOnePartAreRefused) {
  const ModelConfig config = tiny(HeadType::encoder);
  const std::vector<float> parameters = write_own(config);
  write_weights(config, parameters, [](const std::string& name) {
    return name == "bert.pooler.bias" ? "bert.embeddings.LayerNorm.beta" : name;
  });
  expect_refused("are the same part of the model");
}

TEST_F(DialectTest, EverythingThatIsWrongIsNamedAtOnce) {
  const ModelConfig config = tiny(HeadType::encoder);
  const ParameterLayout layout(config);
  write_own(config);
  write_tensors({{"bert.embeddings.word_embeddings.weight", {1, 2}, {1, 2}}, {"surprise", {1}, {1}}});
  expect_refused("tensors are missing: bert.embeddings.position_embeddings.weight, ");
  expect_refused(" and " + std::to_string(layout.tensors().size() - 13) + " more");
  expect_refused("word_embeddings.weight has shape [1, 2], config.json asks for [20, 8]");
}

TEST_F(DialectTest, AllowedGapsStartFromTheSeed) {
  const ModelConfig config = tiny(HeadType::pretraining);
  const ParameterLayout layout(config);
  const std::vector<float> parameters = write_own(config);
  std::vector<testing::FloatTensor> tensors;
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.starts_with("cls.")) continue;
    const auto begin = parameters.begin() + spec.offset;
    tensors.push_back({spec.name, spec.shape, {begin, begin + spec.count}});
  }
  write_tensors(tensors);
  expect_refused("cls.predictions.bias");
  LoadOptions options;
  options.allow_missing = {"cls.predictions.*"};
  expect_refused("cls.seq_relationship.weight", options);
  options.allow_missing = {"cls.*"};
  options.seed = 5;
  const LoadedModel model = load(options);
  EXPECT_EQ(model.parameters, parameters) << "the same seed gives the same values";
  EXPECT_TRUE(says(model, "random values instead: cls.predictions.transform.dense.weight"));
}

TEST_F(DialectTest, ASurplusTensorIsNamedInAWarning) {
  const ModelConfig config = tiny(HeadType::encoder);
  const std::vector<float> parameters = write_own(config);
  std::vector<testing::FloatTensor> tensors{{"adapter.weight", {1}, {1}},
                                            {"bert.embeddings.position_ids", {1}, {0}}};
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) {
    const auto begin = parameters.begin() + spec.offset;
    tensors.push_back({spec.name, spec.shape, {begin, begin + spec.count}});
  }
  write_tensors(tensors);
  std::vector<std::string> warnings;
  set_log_sink([&](LogLevel level, const std::string& line) {
    if (level == LogLevel::warning) warnings.push_back(line);
  });
  load();
  set_log_sink(nullptr);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("ignored: adapter.weight"), std::string::npos) << warnings[0];
}

TEST_F(DialectTest, NanIsNamedWithItsPlace) {
  const ModelConfig config = tiny(HeadType::encoder);
  std::vector<float> parameters = write_own(config);
  parameters[11] = std::numeric_limits<float>::quiet_NaN();
  write_weights(config, parameters, [](const std::string& name) { return name; });
  expect_refused("tensor bert.embeddings.word_embeddings.weight holds nan at [1, 3]");
  LoadOptions options;
  options.allow_nan = true;
  EXPECT_TRUE(std::isnan(load(options).parameters[11]));
}

// --- GENA-LM

PlanTable plan_of(std::int64_t layers, std::int64_t heads, std::int64_t blocks, std::int64_t block_size) {
  std::vector<PlanTable::Heads> table;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    PlanTable::Heads& list = table.emplace_back(static_cast<std::size_t>(heads));
    for (std::int64_t head = 0; head < heads; ++head) {
      for (std::int64_t row = 0; row < blocks; ++row) {
        std::vector<std::int32_t> keys{0};
        if (row > 0) keys.push_back(static_cast<std::int32_t>(row));
        const std::int64_t drawn = (row + layer + 3 * head) % blocks;
        if (drawn != 0 && drawn != row) keys.push_back(static_cast<std::int32_t>(drawn));
        list[static_cast<std::size_t>(head)].push_back(keys);
      }
    }
  }
  return PlanTable(block_size, std::move(table), "test");
}

// A list holds each block once, so that a layout can say it; order does not matter.
std::vector<std::vector<std::set<std::int32_t>>> as_sets(const PlanTable::Heads& heads) {
  std::vector<std::vector<std::set<std::int32_t>>> sets;
  for (const PlanTable::Rows& rows : heads) {
    sets.emplace_back();
    for (const auto& row : rows) sets.back().emplace_back(row.begin(), row.end());
  }
  return sets;
}

ModelConfig tiny_gena() {
  ModelConfig config = tiny(HeadType::masked_lm);
  config.norm_type = NormType::prenorm;
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.activation = Activation::gelu_erf;
  config.random_mode = RandomMode::file;
  config.plan = std::make_shared<const PlanTable>(plan_of(2, 2, 8, 4));
  return config;
}

TEST_F(DialectTest, GenaFormIsWrittenAndReadBack) {
  for (const PositionType positions : {PositionType::absolute, PositionType::rotary}) {
    ModelConfig config = tiny_gena();
    config.position_type = positions;
    if (positions == PositionType::rotary) config.rotary_dim = 2;
    const ParameterLayout layout(config);
    const std::vector<float> parameters = initial_parameters(layout, config, 5);
    WriteOptions options;
    options.dialect = Dialect::gena;
    write_model_files(path(), config, layout, parameters, "", "card\n", options);
    const SafetensorsFile file(folder_ / "model.safetensors");
    EXPECT_TRUE(file.has("bert.encoder.layer.1.pre_attention_ln.weight"));
    EXPECT_TRUE(file.has("bert.encoder.layer.1.post_attention_ln.bias"));
    EXPECT_TRUE(file.has("bert.encoder.last_layer_ln.weight"));
    EXPECT_EQ(file.info("bert.encoder.layer.0.attention.self.sparse_self_attention.master_layout").shape,
              (std::vector<std::int64_t>{2, 8, 8}));
    const LoadedModel model = load();
    EXPECT_EQ(model.dialect, Dialect::gena);
    EXPECT_EQ(model.parameters, parameters);
    EXPECT_EQ(model.config.norm_type, NormType::prenorm);
    EXPECT_TRUE(model.config.final_norm);
    EXPECT_EQ(model.config.embedding_norm, EmbeddingNorm::before_dropout);
    EXPECT_EQ(model.config.activation, Activation::gelu_erf);
    EXPECT_EQ(model.config.position_type, positions);
    EXPECT_EQ(model.config.rotary_dim, config.rotary_dim);
    EXPECT_EQ(model.config.block_size, 4);
    EXPECT_EQ(model.config.head, HeadType::masked_lm);
    for (std::int64_t layer = 0; layer < 2; ++layer) {
      EXPECT_EQ(as_sets(model.config.plan->rows(layer, 8)), as_sets(config.plan->rows(layer, 8)));
    }
  }
}

TEST_F(DialectTest, GenaConfigsOfTheirRepositoryAreUnderstood) {
  const std::string rope = R"({"architectures": ["BertForMaskedLM"], "hidden_act": "gelu", "hidden_size": 768,
    "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 4096, "model_type": "bert",
    "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 3, "pre_layer_norm": true,
    "last_layer_norm": false, "position_embedding_type": "rotary", "rotary_base": 10000, "rotary_dim": 32,
    "vocab_size": 32000, "sparse_config_cls": "deepspeed.ops.sparse_attention:BigBirdSparsityConfig",
    "sparse_attention": {"num_heads": 12, "block": 64, "num_random_blocks": 3}})";
  EXPECT_EQ(dialect_of(rope, "config.json"), Dialect::gena);
  const ModelConfig config = parse_config(translated_config(rope, "config.json"), "config.json");
  EXPECT_EQ(config.norm_type, NormType::prenorm);
  EXPECT_FALSE(config.final_norm);
  EXPECT_EQ(config.position_type, PositionType::rotary);
  EXPECT_EQ(config.rotary_dim, 32);
  EXPECT_EQ(config.activation, Activation::gelu_erf);
  EXPECT_EQ(config.random_mode, RandomMode::file);
  EXPECT_EQ(config.head, HeadType::masked_lm);
  EXPECT_EQ(config.pad_token_id, 3);
}

TEST_F(DialectTest, SparseGenaWithoutALayoutAsksForAPlan) {
  ModelConfig config = tiny_gena();
  const ParameterLayout layout(config);
  const std::vector<float> parameters = initial_parameters(layout, config, 5);
  text("config.json", gena_config_json(config, "float32", "test"));
  write_weights(config, parameters, [&](const std::string& name) { return gena_name(name, config); });
  expect_refused("sparse attention, but no plan");
  text("plan.json", config.plan->json());
  LoadOptions options;
  options.plan_file = folder_ / "plan.json";
  EXPECT_EQ(load(options).config.plan->json(), config.plan->json());
}

TEST_F(DialectTest, OtherRotaryAnglesAreRefused) {
  ModelConfig config = tiny_gena();
  config.position_type = PositionType::rotary;
  config.rotary_dim = 4;
  const ParameterLayout layout(config);
  WriteOptions options;
  options.dialect = Dialect::gena;
  write_model_files(path(), config, layout, initial_parameters(layout, config, 5), "", "card\n", options);
  config.rotary_base = 500;
  text("config.json", gena_config_json(config, "float32", "test"));
  expect_refused("inv_freq are not the angles of rotary_dim 4 and rotary_base 500");
}

TEST_F(DialectTest, WhatGenaCannotSayIsRefused) {
  const auto refusal = [](const auto& change) {
    ModelConfig config = tiny_gena();
    change(config);
    try {
      gena_config_json(config, "float32", "model");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refusal([](ModelConfig& c) { c.random_mode = RandomMode::google; }),
            "model: GENA-LM's form cannot hold a plan that is drawn for every length");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.embedding_norm = EmbeddingNorm::none; }),
            "model: GENA-LM's form cannot hold embeddings without LayerNorm");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.stem.stride = 4; }), "model: GENA-LM's form cannot hold a stem");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.head = HeadType::classification; }),
            "model: GENA-LM's form cannot hold a classification head");
  EXPECT_EQ(refusal([](ModelConfig& c) { c.max_position_embeddings = 64; }),
            "model: GENA-LM's form cannot hold a plan of 32 tokens for 64 positions");
}

// --- warm starts

constexpr const char* bert_config =
    R"({"architectures": ["BertForMaskedLM"], "model_type": "bert", "vocab_size": 20,
  "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
  "max_position_embeddings": 16, "type_vocab_size": 2, "hidden_act": "gelu"})";

// Attention that is asked for, for one test.
class AskedAttention {
 public:
  explicit AskedAttention(AttentionPattern attention) { chosen_attention().attention = attention; }
  ~AskedAttention() { chosen_attention() = {}; }
};

TEST_F(DialectTest, BertStartsABigBirdWithItsPositionsRepeatedEightTimes) {
  const AskedAttention asked(AttentionPattern::bigbird);
  text("config.json", bert_config);
  ModelConfig source = tiny(HeadType::masked_lm);
  source.max_position_embeddings = 16;
  const ParameterLayout layout(source);
  const std::vector<float> parameters = initial_parameters(layout, source, 5);
  write_weights(source, parameters, [](const std::string& name) { return name; });
  const LoadedModel model = load();
  EXPECT_EQ(model.dialect, Dialect::bert);
  EXPECT_EQ(model.config.max_position_embeddings, 128);
  EXPECT_EQ(model.config.activation, Activation::gelu_erf);
  EXPECT_EQ(model.config.random_mode, RandomMode::google);
  EXPECT_EQ(model.config.head, HeadType::masked_lm);
  const char* table = "bert.embeddings.position_embeddings.weight";
  const float* stored = parameters.data() + layout.offset(table);
  const float* loaded = model.parameters.data() + ParameterLayout(model.config).offset(table);
  for (std::int64_t i = 0; i < 128 * 8; ++i) ASSERT_EQ(loaded[i], stored[i % (16 * 8)]) << i;
  EXPECT_TRUE(says(model, "BERT as a warm start"));
  EXPECT_TRUE(says(model, "position rows 0 to 15 of the file repeated to 128 positions"));
}

TEST_F(DialectTest, RobertaLosesItsFirstTwoPositionsAndGainsATokenType) {
  const AskedAttention asked(AttentionPattern::bigbird);
  text("config.json", R"({"architectures": ["RobertaForMaskedLM"], "model_type": "roberta", "vocab_size": 20,
    "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
    "max_position_embeddings": 18, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2})");
  ModelConfig source = tiny(HeadType::masked_lm);
  source.max_position_embeddings = 18;
  source.block_size = 2;
  source.type_vocab_size = 1;
  const ParameterLayout layout(source);
  const std::vector<float> parameters = initial_parameters(layout, source, 5);
  const std::map<std::string, std::string> names{
      {"cls.predictions.transform.dense.weight", "lm_head.dense.weight"},
      {"cls.predictions.transform.dense.bias", "lm_head.dense.bias"},
      {"cls.predictions.transform.LayerNorm.weight", "lm_head.layer_norm.weight"},
      {"cls.predictions.transform.LayerNorm.bias", "lm_head.layer_norm.bias"},
      {"cls.predictions.bias", "lm_head.bias"}};
  write_weights(source, parameters, [&](const std::string& name) {
    const auto found = names.find(name);
    return found != names.end() ? found->second : "roberta" + name.substr(4);
  });
  const LoadedModel model = load();
  const ParameterLayout loaded(model.config);
  EXPECT_EQ(model.config.max_position_embeddings, 128);
  EXPECT_EQ(model.config.pad_token_id, 1);
  EXPECT_EQ(model.config.sep_token_id, 2);
  const char* table = "bert.embeddings.position_embeddings.weight";
  const float* from = parameters.data() + layout.offset(table) + 2 * 8;
  const float* to = model.parameters.data() + loaded.offset(table);
  for (std::int64_t i = 0; i < 128 * 8; ++i) ASSERT_EQ(to[i], from[i % (16 * 8)]) << i;
  const char* types = "bert.embeddings.token_type_embeddings.weight";
  for (std::int64_t i = 0; i < 16; ++i) {
    ASSERT_EQ(model.parameters[static_cast<std::size_t>(loaded.offset(types) + i)],
              parameters[static_cast<std::size_t>(layout.offset(types) + i % 8)]);
  }
  const TensorSpec& bias = *loaded.find("cls.predictions.transform.dense.weight");
  EXPECT_EQ(model.parameters[static_cast<std::size_t>(bias.offset)],
            parameters[static_cast<std::size_t>(layout.offset("cls.predictions.transform.dense.weight"))]);
}

TEST_F(DialectTest, ALongformerHasAWindowForAllLayersOrForEach) {
  nlohmann::json json = {{"model_type", "longformer"},
                         {"num_hidden_layers", 3},
                         {"attention_window", {4, 8, 8}},
                         {"max_position_embeddings", 66},
                         {"architectures", {"LongformerModel"}},
                         {"hidden_size", 8},
                         {"num_attention_heads", 2},
                         {"pad_token_id", 1}};
  const auto config = [&] {
    return parse_config(translated_config(json.dump(), "config.json"), "config.json");
  };
  const ModelConfig read = config();
  EXPECT_EQ(read.attention, AttentionPattern::longformer);
  EXPECT_EQ(read.attention_options.longformer.windows, (std::vector<std::int64_t>{4, 8, 8}));
  EXPECT_EQ(read.max_position_embeddings, 64);  // two are never used
  EXPECT_EQ(read.embedding_norm, EmbeddingNorm::before_dropout);
  json["attention_window"] = 16;
  EXPECT_EQ(config().attention_options.longformer.windows, (std::vector<std::int64_t>{16}));
  const auto refusal = [&](const char* field, const nlohmann::json& value) {
    nlohmann::json changed = json;
    changed[field] = value;
    try {
      parse_config(translated_config(changed.dump(), "config.json"), "config.json");
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << field;
      return error.message();
    }
    return std::string("read");
  };
  // One too few, of which one alone would have been all layers'.
  EXPECT_EQ(refusal("attention_window", {4, 8}),
            "config.json: field attention_window has 2 windows for 3 layers");
  EXPECT_EQ(refusal("attention_window", nlohmann::json::array({4})),
            "config.json: field attention_window has 1 windows for 3 layers");
  EXPECT_NE(refusal("attention_window", "wide").find("window"), std::string::npos);
  EXPECT_EQ(refusal("pad_token_id", 0), "config.json: field pad_token_id is 0");
}

TEST_F(DialectTest, OtherModelsAreRefusedByName) {
  write_own(tiny(HeadType::encoder));
  text("config.json", R"({"model_type": "gpt2"})");
  expect_refused("model_type gpt2 is not read");
  text("config.json", R"({"model_type": "bert", "is_decoder": true})");
  expect_refused("a decoder");
  text("config.json", R"({"model_type": "bert", "position_embedding_type": "relative_key"})");
  expect_refused("position_embedding_type relative_key is not read");
  text("config.json",
       R"({"model_type": "bert", "pre_layer_norm": true, "position_embedding_type": "relative_key"})");
  expect_refused("position_embedding_type relative_key is not read");
  text("config.json", R"({"model_type": "bert", "sparse_attention": {"num_heads": 2}})");
  expect_refused("field sparse_attention.block is missing");
  text("config.json", "[]");
  expect_refused("not a JSON object");
  for (const char* rows : {"-9223372036854775808", "18446744073709551615", "0", "\"many\""}) {
    text("config.json",
         std::string(R"({"model_type": "bert", "vocab_size": 20, "hidden_size": 8, "num_hidden_layers": 1,
           "num_attention_heads": 2, "intermediate_size": 12, "max_position_embeddings": )") +
             rows + "}");
    expect_refused("max_position_embeddings");
  }
}

// --- 16 bits

TEST_F(DialectTest, SixteenBitsAreRoundedAndComeBack) {
  const ModelConfig config = tiny(HeadType::encoder);
  const ParameterLayout layout(config);
  const std::vector<float> parameters = initial_parameters(layout, config, 5);
  for (const TensorType type : {TensorType::bf16, TensorType::f16}) {
    WriteOptions options;
    options.type = type;
    write_model_files(path(), config, layout, parameters, "", "card\n", options);
    const LoadedModel model = load();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const float expected = type == TensorType::bf16 ? bfloat16_to_float(float_to_bfloat16(parameters[i]))
                                                      : float16_to_float(float_to_float16(parameters[i]));
      ASSERT_EQ(model.parameters[i], expected);
    }
    EXPECT_NE(testing::read_text(folder_ / "config.json")
                  .find(type == TensorType::bf16 ? "\"bfloat16\"" : "\"float16\""),
              std::string::npos);
  }
}

TEST_F(DialectTest, ValuesBeyondHalfPrecisionAreRefused) {
  const ModelConfig config = tiny(HeadType::encoder);
  const ParameterLayout layout(config);
  std::vector<float> parameters = initial_parameters(layout, config, 5);
  parameters[3] = 1e6f;
  WriteOptions options;
  options.type = TensorType::f16;
  EXPECT_THROW(write_model_files(path(), config, layout, parameters, "", "card\n", options), Error);
}

}  // namespace
}  // namespace bigbird
