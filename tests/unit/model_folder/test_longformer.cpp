// Folders of Longformer: what transformers wrote is read and written again as it was, what its class cannot
// hold keeps a form of our own, and a RoBERTa folder begins one.
#include "lib/model_folder/longformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lib/core/error.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"
#include "tests/support/tiny_roberta.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using Json = nlohmann::json;

// Of the shape that transformers' class has.
ModelConfig longformer_config(HeadType head) {
  ModelConfig config = tiny_config();
  config.attention = AttentionPattern::longformer;
  config.attention_options.longformer = {{4, 6}, 0};
  config.embedding_norm = EmbeddingNorm::before_dropout;
  config.activation = Activation::gelu_erf;
  config.type_vocab_size = 1;
  config.pad_token_id = 1;
  config.bos_token_id = 0;
  config.eos_token_id = config.sep_token_id = 2;
  config.head = head;
  config.head_form = HeadForm::roberta;
  config.num_labels = 2;
  return config;
}

struct StoredBytes {
  std::vector<std::int64_t> shape;
  std::string bytes;
  bool operator==(const StoredBytes&) const = default;
};
std::map<std::string, StoredBytes> tensors_of(const std::string& folder) {
  const SafetensorsFile file(folder + "/model.safetensors");
  std::map<std::string, StoredBytes> tensors;
  for (const TensorInfo& info : file.tensors()) {
    const auto bytes = file.bytes(info.name);
    tensors[info.name] = {info.shape, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size())};
  }
  return tensors;
}

void write_model(const std::string& folder, const ModelConfig& config, const std::vector<float>& values) {
  write_model_files(folder, config, ParameterLayout(config), values, "", "card\n");
}

Json json_of(const std::string& folder) {
  return Json::parse(read_text(folder + "/config.json"));
}

TEST(Longformer, L2AFolderOfTransformersIsWrittenAsItWasRead) {
  for (const char* name : {"masked_lm_29_no_globals", "classification_29", "question_answering_29"}) {
    const std::string golden = (source_dir() / "tests/golden/longformer" / name).string();
    const LoadedModel model = load_model(golden, LoadOptions{});
    EXPECT_TRUE(model.fresh.empty()) << name;
    const TemporaryFolder folder;
    write_model(folder.path(), model.config, model.parameters);
    EXPECT_TRUE(tensors_of(golden) == tensors_of(folder.path())) << name;
    const Json before = json_of(golden), after = json_of(folder.path());
    for (const auto& [field, value] : before.items()) {
      if (field == "transformers_version") continue;
      EXPECT_EQ(after.value(field == "dtype" ? "torch_dtype" : field, Json()), value) << name << ' ' << field;
    }
  }
}

TEST(Longformer, L2WhatIsWrittenIsReadAgain) {
  const auto settings = [](ModelConfig& config) {
    config.attention_options.longformer.global_first = 3;
    config.classifier_dropout = 0.25;
    config.hidden_dropout_prob = 0.2;
    config.attention_probs_dropout_prob = 0.3;
    config.block_size = 8;
    config.max_position_embeddings = 48;
    config.input_length = 16;
    config.tokenizer_digest = "abc";
    config.num_random_blocks = 1;
    config.label_names = {};
  };
  for (const HeadType head :
       {HeadType::encoder, HeadType::masked_lm, HeadType::classification, HeadType::question_answering}) {
    for (const bool changed : {false, true}) {
      ModelConfig config = longformer_config(head);
      if (changed) settings(config);
      if (head == HeadType::masked_lm) config.tie_word_embeddings = !changed;
      const std::vector<float> values = random_parameters(config, 3);
      const TemporaryFolder folder;
      write_model(folder.path(), config, values);
      EXPECT_EQ(json_of(folder.path()).at("model_type"), "longformer");
      EXPECT_EQ(json_of(folder.path()).at("architectures")[0], longformer_class(head));
      const LoadedModel back = load_model(folder.path(), LoadOptions{});
      EXPECT_TRUE(back.parameters == values) << name_of(head);
      EXPECT_EQ(config_fields(back.config), config_fields(config)) << name_of(head);
      EXPECT_EQ(back.config.attention_options, config.attention_options);
      EXPECT_EQ(back.config.classifier_dropout, config.classifier_dropout);
      EXPECT_TRUE(is_longformer_architecture(back.config));
      EXPECT_TRUE(is_huggingface_architecture(back.config));
      // Names of theirs, and the two rows that no token has.
      const auto tensors = tensors_of(folder.path());
      for (const auto& [tensor, stored] : tensors)
        EXPECT_FALSE(tensor.starts_with("bert.") || tensor.starts_with("cls.")) << tensor;
      const StoredBytes& table = tensors.at("longformer.embeddings.position_embeddings.weight");
      EXPECT_EQ(table.shape[0], config.max_position_embeddings + 2);
      const std::size_t row = static_cast<std::size_t>(config.hidden_size) * sizeof(float);
      EXPECT_EQ(table.bytes.substr(0, 2 * row), std::string(2 * row, '\0'));
    }
  }
}

TEST(Longformer, L2WhatTransformersHasNoClassForKeepsItsForm) {
  const auto with = [](HeadType head, const std::function<void(ModelConfig&)>& change) {
    ModelConfig config = longformer_config(head);
    change(config);
    return config;
  };
  const std::vector<ModelConfig> others = {
      with(HeadType::encoder, [](ModelConfig& c) { c.pad_token_id = 0; }),
      with(HeadType::encoder, [](ModelConfig& c) { c.embedding_norm = EmbeddingNorm::after_dropout; }),
      with(HeadType::encoder, [](ModelConfig& c) { c.norm_type = NormType::prenorm; }),
      with(HeadType::encoder, [](ModelConfig& c) { c.type_vocab_size = 0; }),
      with(HeadType::encoder, [](ModelConfig& c) { c.rescale_embeddings = true; }),
      with(HeadType::encoder,
           [](ModelConfig& c) {
             c.attention_options.longformer.dilations = {2};
             c.attention_options.longformer.dilated_heads = 1;
           }),
      with(HeadType::masked_lm, [](ModelConfig& c) { c.activation = Activation::gelu_tanh; }),
      with(HeadType::classification, [](ModelConfig& c) { c.head_form = HeadForm::bigbird; }),
      with(HeadType::question_answering, [](ModelConfig& c) { c.head_form = HeadForm::bigbird; }),
      with(HeadType::pretraining, [](ModelConfig&) {}),
      with(HeadType::structured_answers, [](ModelConfig& c) {
        c.token_scores = {{"start", true}};
        c.num_labels = 0;
      })};
  for (const ModelConfig& config : others) {
    const std::vector<float> values = random_parameters(config, 3);
    const TemporaryFolder folder;
    write_model(folder.path(), config, values);
    EXPECT_EQ(json_of(folder.path()).at("model_type"), "bigbird_extended");
    const LoadedModel back = load_model(folder.path(), LoadOptions{});
    EXPECT_TRUE(back.parameters == values);
    EXPECT_EQ(config_fields(back.config), config_fields(config));
    EXPECT_EQ(back.config.attention_options, config.attention_options);
    EXPECT_EQ(back.config.head_form, config.head_form);
    EXPECT_FALSE(is_huggingface_architecture(back.config));
  }
  // Nor does big_bird have these heads.
  ModelConfig bigbird = tiny_config();
  for (const HeadType head : {HeadType::classification, HeadType::question_answering}) {
    bigbird.head = head;
    bigbird.head_form = HeadForm::bigbird;
    EXPECT_TRUE(is_huggingface_architecture(bigbird));
    bigbird.head_form = HeadForm::roberta;
    EXPECT_FALSE(is_huggingface_architecture(bigbird));
  }
}

TEST(Longformer, WithoutItsHeadAFolderHasTheFormOfItsHeads) {
  const std::string golden = (source_dir() / "tests/golden/longformer/masked_lm_29_no_globals").string();
  for (const HeadType head : {HeadType::classification, HeadType::question_answering}) {
    const LoadedModel model = load_model(golden, head, 1, 3);
    EXPECT_EQ(model.config.head_form, HeadForm::roberta);
    EXPECT_TRUE(is_longformer_architecture(model.config));
  }
}

// With the attention chosen for the whole process, as the verbs do it.
struct Chosen {
  explicit Chosen(AttentionPattern attention, std::map<std::string, std::string> options = {}) {
    chosen_attention() = {attention, std::move(options), {}, {}};
  }
  ~Chosen() { chosen_attention() = {}; }
};

TEST(Longformer, OptionsAreSetOnTopOfTheModelsOwn) {
  const TemporaryFolder folder;
  const ModelConfig config = longformer_config(HeadType::masked_lm);
  write_model(folder.path(), config, random_parameters(config, 3));
  const std::string file = folder.path().string() + "/config.json";
  for (const bool named : {false, true}) {
    const Chosen chosen(AttentionPattern::longformer, {{"--global", "first:2"}});
    if (!named) chosen_attention().attention.reset();
    const LongformerOptions options = read_config(file).attention_options.longformer;
    EXPECT_EQ(options.windows, (std::vector<std::int64_t>{4, 6}));
    EXPECT_EQ(options.global_first, 2);
  }
  const Chosen chosen(AttentionPattern::bigbird);
  chosen_attention().options = {{"--global", "first:2"}};
  try {
    read_config(file);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_EQ(error.message(), "--global is of attention longformer, not of bigbird");
  }
}

// Hidden states of the real tokens.
std::vector<float> states_of(const LoadedModel& model, const Batch& batch) {
  const auto backend = kernels::make_cpu_backend();
  const auto network = make_model(*backend, model.config, batch, {}, model.parameters);
  network->forward(batch, {});
  return network->last_hidden_state();
}

TEST(Longformer, L5BegunFromRobertaItComputesTheSameInAWindowOfAll) {
  const TemporaryFolder folder;
  const TinyRoberta source = write_tiny_roberta(folder.path());
  const std::string path = folder.path().string();
  const auto loaded = [&](AttentionPattern attention, std::int64_t positions,
                          std::map<std::string, std::string> options) {
    const Chosen chosen(attention, std::move(options));
    LoadOptions load;
    load.positions = positions;
    return load_model(path, load);
  };
  const LoadedModel roberta = loaded(AttentionPattern::full, 128, {});
  const LoadedModel model = loaded(AttentionPattern::longformer, 0, {{"--attention-window", "1024"}});
  EXPECT_EQ(model.config.type_vocab_size, 1);
  EXPECT_EQ(model.config.max_position_embeddings, 128);
  EXPECT_TRUE(is_longformer_architecture(model.config));
  Batch batch;
  for (const std::int64_t length : {16, 9, 1, 120}) {
    std::vector<std::int32_t> ids;
    for (std::int64_t i = 0; i < length; ++i)
      ids.push_back(static_cast<std::int32_t>(4 + (7 * i + length) % 50));
    batch.append(ids, {}, model.config.block_size, 1);
  }
  const std::vector<float> theirs = states_of(roberta, batch), ours = states_of(model, batch);
  const auto width = static_cast<std::size_t>(model.config.hidden_size);
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const auto first = static_cast<std::size_t>(batch.token_offsets[s]) * width;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(batch.lengths[s]) * width; ++i)
      ASSERT_NEAR(ours[i], theirs[i], 2e-5) << "sequence " << s;
  }
  // Another answer in a narrow window: the comparison can fail.
  const LoadedModel narrow = loaded(AttentionPattern::longformer, 0, {{"--attention-window", "2"}});
  const std::vector<float> others = states_of(narrow, batch);
  double most = 0;
  for (std::size_t i = 0; i < others.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(others[i] - theirs[i])));
  EXPECT_GT(most, 1e-3);

  // Positions of any number of blocks; projections of global tokens are the layer's own.
  const LoadedModel longer = loaded(AttentionPattern::longformer, 200, {});
  EXPECT_EQ(longer.config.max_position_embeddings, 256);
  const ParameterLayout layout(longer.config), stored(source.config);
  const char* table = "bert.embeddings.position_embeddings.weight";
  const float* to = longer.parameters.data() + layout.offset(table);
  const float* from = source.parameters.data() + stored.offset(table) + 2 * width;
  for (std::size_t i = 0; i < 256 * width; ++i) ASSERT_EQ(to[i], from[i % (16 * width)]) << i;
  for (const char* part : {"query", "key", "value"}) {
    const std::string self = "bert.encoder.layer.1.attention.self." + std::string(part);
    const float* const global = longer.parameters.data() + layout.offset(self + "_global.weight");
    EXPECT_TRUE(std::equal(global, global + width * width,
                           longer.parameters.data() + layout.offset(self + ".weight")))
        << part;
  }
  try {
    loaded(AttentionPattern::longformer, 12, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("has 16 already"), std::string::npos) << error.message();
  }
}

// RoBERTa's heads for classes and answers are Longformer's; a BigBird has others, and takes the encoder
// alone.
TEST(Longformer, L5ARobertaKeepsItsHeadAsALongformerAlone) {
  for (const HeadType head : {HeadType::classification, HeadType::question_answering}) {
    const std::string name =
        std::string("Roberta") + (longformer_class(head) + std::string("Longformer").size());
    const TemporaryFolder folder;
    ModelConfig config = longformer_config(head);
    config.attention = AttentionPattern::full;
    config.num_labels = 3;
    const ParameterLayout layout(config);
    const std::vector<float> values = random_parameters(config, 3);
    std::vector<TensorToWrite> tensors;
    for (const TensorSpec& spec : layout.tensors()) {
      const bool of_body = spec.name.starts_with("bert.");
      tensors.push_back({of_body ? "roberta" + spec.name.substr(4) : spec.name, TensorType::f32, spec.shape,
                         values.data() + spec.offset});
    }
    write_safetensors(folder.path().string() + "/model.safetensors", tensors);
    Json json = Json::parse(own_config_json(config, "float32"));
    json.erase("bigbird");
    json["model_type"] = "roberta";
    json["architectures"] = {name};
    write_text(folder / "config.json", json.dump());
    {
      const Chosen chosen(AttentionPattern::bigbird);
      EXPECT_EQ(read_config(folder.path().string() + "/config.json").foreign_class, name);
    }
    const Chosen chosen(AttentionPattern::longformer);
    const LoadedModel model = load_model(folder.path().string(), LoadOptions{});
    EXPECT_EQ(model.config.head, head);
    EXPECT_TRUE(is_longformer_architecture(model.config));
    EXPECT_TRUE(model.fresh.empty());
    const ParameterLayout taken(model.config);
    const char* const of_head =
        head == HeadType::classification ? "classifier.out_proj.weight" : "qa_outputs.weight";
    const float* const there = model.parameters.data() + taken.offset(of_head);
    EXPECT_TRUE(
        std::equal(there, there + taken.find(of_head)->count, values.data() + layout.offset(of_head)));
  }
}

}  // namespace
}  // namespace bigbird
