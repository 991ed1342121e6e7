// Model folders: round trip, change of head, and files that do not fit their config.
#include "lib/model_folder/checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "lib/core/error.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

ModelConfig tiny() {
  ModelConfig config;
  config.vocab_size = 20;
  config.hidden_size = 8;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.intermediate_size = 12;
  config.max_position_embeddings = 32;
  config.block_size = 4;
  return config;
}

class Checkpoint : public ::testing::Test {
 protected:
  Checkpoint() : layout_(tiny()), parameters_(initial_parameters(layout_, tiny(), 3)) {
    write_model_files(path(), tiny(), layout_, parameters_, "", "# card\n");
  }
  std::string path() const { return folder_.path().string(); }

  // Rewrites the weights: every tensor as it was but for what `change` does to the list.
  template <typename Change>
  void rewrite(const Change& change) {
    std::vector<TensorToWrite> tensors;
    for (const TensorSpec& spec : layout_.tensors()) {
      tensors.push_back({spec.name, TensorType::f32, spec.shape, parameters_.data() + spec.offset});
    }
    change(tensors);
    write_safetensors(path() + "/model.safetensors", tensors);
  }
  std::string load_failure() {
    try {
      load_model(path(), HeadType::pretraining, 1);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return error.message();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  testing::TemporaryFolder folder_;
  ParameterLayout layout_;
  std::vector<float> parameters_;
};

TEST_F(Checkpoint, RoundTripIsExact) {
  const LoadedModel model = load_model(path(), HeadType::pretraining, 1);
  EXPECT_EQ(model.parameters, parameters_);
  EXPECT_EQ(config_json(model.config), config_json(tiny()));
  EXPECT_EQ(testing::read_text(folder_ / "README.md"), "# card\n");
}

TEST_F(Checkpoint, AnotherHeadKeepsTheEncoderAndStartsTheHeadFromTheSeed) {
  const LoadedModel model = load_model(path(), HeadType::classification, 9, 3);
  const ParameterLayout layout(model.config);
  EXPECT_EQ(model.config.num_labels, 3);
  const TensorSpec& words = *layout.find("bert.embeddings.word_embeddings.weight");
  EXPECT_TRUE(std::equal(parameters_.begin() + layout_.offset(words.name),
                         parameters_.begin() + layout_.offset(words.name) + words.count,
                         model.parameters.begin() + words.offset));
  EXPECT_EQ(load_model(path(), HeadType::classification, 9, 3).parameters, model.parameters);
  EXPECT_NE(load_model(path(), HeadType::classification, 10, 3).parameters, model.parameters);
}

TEST_F(Checkpoint, ParametersGoIntoMemoryThatIsGiven) {
  for (const HeadType head : {HeadType::pretraining, HeadType::classification}) {  // as stored; partly drawn
    LoadOptions options;
    options.head = head;
    options.seed = 9;
    const std::vector<float> expected = load_model(path(), options).parameters;
    std::vector<float> memory;
    options.memory = [&](const ModelConfig& config) {
      EXPECT_EQ(config.head, head);
      memory.assign(static_cast<std::size_t>(ParameterLayout(config).count()), -7.0f);
      return memory.data();
    };
    EXPECT_TRUE(load_model(path(), options).parameters.empty());
    EXPECT_EQ(memory, expected) << name_of(head);
    options.memory = [](const ModelConfig&) { return nullptr; };
    EXPECT_EQ(load_model(path(), options).parameters, expected) << name_of(head);
  }
}

TEST_F(Checkpoint, OfSeveralBadTensorsTheFirstIsNamed) {
  const auto& specs = layout_.tensors();
  for (const std::size_t i : {specs.size() - 1, specs.size() / 2, std::size_t{3}})
    parameters_[static_cast<std::size_t>(specs[i].offset)] = std::nanf("");
  rewrite([](auto&) {});
  for (int i = 0; i < 20; ++i) ASSERT_NE(load_failure().find(specs[3].name), std::string::npos);
}

TEST_F(Checkpoint, AnotherHeadKeepsThePoolerThatIsThere) {
  for (const HeadType head : {HeadType::encoder, HeadType::classification}) {
    const LoadedModel model = load_model(path(), head, 9);
    const ParameterLayout layout(model.config);
    const TensorSpec& pooler = *layout.find("bert.pooler.weight");
    EXPECT_TRUE(std::equal(parameters_.begin() + layout_.offset(pooler.name),
                           parameters_.begin() + layout_.offset(pooler.name) + pooler.count,
                           model.parameters.begin() + pooler.offset))
        << name_of(head);
  }
}

TEST_F(Checkpoint, AFreshHeadTakesThePlaceOfTheStoredOneOfItsKind) {
  LoadedModel stored = load_model(path(), HeadType::classification, 9, 3);
  stored.config.label_names = {"a", "b", "c"};
  stored.config.problem_type = ProblemType::multi_label;
  stored.config.positive_weight = 8;
  stored.config.pooling = {HeadPooling::Kind::mean, 0};
  const testing::TemporaryFolder classifier;
  write_model_files(classifier.path().string(), stored.config, ParameterLayout(stored.config),
                    stored.parameters, "", "# card\n");
  const std::string folder = classifier.path().string();
  EXPECT_EQ(load_model(folder, HeadType::classification, 5, 2).config.num_labels, 3);

  const LoadedModel fresh = load_model(folder, HeadType::classification, 5, 2, true);
  EXPECT_EQ(fresh.config.num_labels, 2);
  EXPECT_TRUE(fresh.config.label_names.empty());
  EXPECT_EQ(fresh.config.problem_type, ProblemType::single_label);
  EXPECT_EQ(fresh.config.positive_weight, 1);
  EXPECT_FALSE(fresh.config.pools());
  // The head is that of the seed, all else is as it was stored.
  const ParameterLayout before(stored.config), layout(fresh.config);
  const std::vector<float> drawn = initial_parameters(layout, fresh.config, 5);
  for (const TensorSpec& spec : layout.tensors()) {
    const bool of_head = spec.name.starts_with("classifier.");
    const std::vector<float>& source = of_head ? drawn : stored.parameters;
    const std::int64_t at = of_head ? spec.offset : before.offset(spec.name);
    EXPECT_TRUE(std::equal(source.begin() + at, source.begin() + at + spec.count,
                           fresh.parameters.begin() + spec.offset))
        << spec.name;
  }
}

TEST_F(Checkpoint, AHeadForAnswersInPartsStartsFromTheSeedUnlessItIsTheStoredOne) {
  LoadOptions options;
  options.head = HeadType::structured_answers;
  options.seed = 9;
  options.token_scores = {{"start", true}, {"end", true}};
  options.type_names = {"span", "yes", "no"};
  const LoadedModel fresh = load_model(path(), options);
  const ParameterLayout layout(fresh.config);
  EXPECT_EQ(fresh.config.token_scores, options.token_scores);
  EXPECT_EQ(fresh.config.label_names, options.type_names);
  EXPECT_EQ(fresh.config.num_labels, 3);
  const std::vector<float> drawn = initial_parameters(layout, fresh.config, 9);
  const auto part = [&](const std::vector<float>& values, const std::string& name) {
    const TensorSpec& spec = *layout.find(name);
    return std::vector<float>(values.begin() + spec.offset, values.begin() + spec.offset + spec.count);
  };
  const std::string words = "bert.embeddings.word_embeddings.weight", scores = "answer_scores.token.weight";
  EXPECT_EQ(part(fresh.parameters, scores), part(drawn, scores));
  EXPECT_NE(part(fresh.parameters, words), part(drawn, words));

  testing::TemporaryFolder trained;
  const std::string folder = trained.path().string();
  write_model_files(folder, fresh.config, layout, fresh.parameters, "", "# card\n");
  options.seed = 10;
  EXPECT_EQ(load_model(folder, options).parameters, fresh.parameters);
  EXPECT_EQ(load_model(folder, LoadOptions{}).parameters, fresh.parameters);
  EXPECT_EQ(load_model(folder, HeadType::structured_answers, 10).parameters, fresh.parameters);
  // Equal shapes, other meanings.
  options.token_scores = {{"start", true}, {"sentence", false}};
  const LoadedModel other = load_model(folder, options);
  EXPECT_EQ(other.config.token_scores, options.token_scores);
  EXPECT_NE(part(other.parameters, scores), part(fresh.parameters, scores));
  EXPECT_EQ(part(other.parameters, words), part(fresh.parameters, words));
  options.type_names.clear();
  EXPECT_EQ(load_model(folder, options).config.num_labels, 0);
  options.token_scores.clear();
  EXPECT_EQ(load_model(folder, options).config.num_labels, 3);  // as stored
  EXPECT_THROW(load_model(path(), options), Error);             // scores must be said where none are stored
  options.head = HeadType::classification;
  EXPECT_TRUE(load_model(folder, options).config.token_scores.empty());
}

TEST_F(Checkpoint, AnUnusedPoolerMayBeMissing) {
  ModelConfig config = tiny();
  config.head = HeadType::classification;
  const ParameterLayout layout(config);
  const std::vector<float> parameters = initial_parameters(layout, config, 4);
  write_model_files(path(), config, layout, parameters, "", "# card\n");
  std::vector<TensorToWrite> tensors;
  for (const TensorSpec& spec : layout.tensors()) {
    if (spec.name.starts_with("bert.pooler.")) continue;
    tensors.push_back({spec.name, TensorType::f32, spec.shape, parameters.data() + spec.offset});
  }
  write_safetensors(path() + "/model.safetensors", tensors);
  EXPECT_EQ(load_model(path(), HeadType::classification, 4).parameters, parameters);
}

TEST_F(Checkpoint, MissingTensorIsNamed) {
  rewrite([](std::vector<TensorToWrite>& tensors) { tensors.erase(tensors.begin() + 5); });
  EXPECT_NE(load_failure().find("model.safetensors: tensor " + layout_.tensors()[5].name + " is missing"),
            std::string::npos);
}

TEST_F(Checkpoint, WrongShapeIsNamed) {
  rewrite([](std::vector<TensorToWrite>& tensors) { tensors[0].shape = {10, 16}; });
  EXPECT_NE(load_failure().find("has shape [10, 16], config.json asks for [20, 8]"), std::string::npos);
}

TEST_F(Checkpoint, AnUntiedDecoderIsRefusedAndAnEqualOneAccepted) {
  std::vector<float> decoder(parameters_.begin(), parameters_.begin() + 160);
  rewrite([&](std::vector<TensorToWrite>& tensors) {
    tensors.push_back({"cls.predictions.decoder.weight", TensorType::f32, {20, 8}, decoder.data()});
  });
  EXPECT_EQ(load_model(path(), HeadType::pretraining, 1).parameters, parameters_);
  decoder[30] += 1.0f;
  rewrite([&](std::vector<TensorToWrite>& tensors) {
    tensors.push_back({"cls.predictions.decoder.weight", TensorType::f32, {20, 8}, decoder.data()});
  });
  EXPECT_NE(load_failure().find("cls.predictions.decoder.weight differs"), std::string::npos);
}

TEST_F(Checkpoint, AnUntiedOutputTableIsReadAndWritten) {
  ModelConfig config = tiny();
  config.tie_word_embeddings = false;
  const ParameterLayout layout(config);
  ASSERT_EQ(layout.count(), layout_.count() + 160);
  const std::vector<float> parameters = initial_parameters(layout, config, 4);
  write_model_files(path(), config, layout, parameters, "", "# card\n");
  const LoadedModel loaded = load_model(path(), LoadOptions());
  EXPECT_FALSE(loaded.config.tie_word_embeddings);
  EXPECT_EQ(loaded.parameters, parameters);
  EXPECT_TRUE(load_model(path(), HeadType::classification, 4).config.tie_word_embeddings);
}

TEST_F(Checkpoint, AMissingFolderOrFileIsNamed) {
  EXPECT_THROW(load_model(path() + "/nowhere", HeadType::pretraining, 1), Error);
  std::filesystem::remove(folder_ / "model.safetensors");
  EXPECT_NE(load_failure().find("model.safetensors"), std::string::npos);
}

TEST(TokenizerAgreement, SizeAndDigestAreCompared) {
  ModelConfig config = tiny();
  config.tokenizer_digest = "aaaaaaaaaaaaaaaa";
  EXPECT_NO_THROW(check_tokenizer_agrees(config, 20, "aaaaaaaaaaaaaaaa", "model", "tokenizer"));
  EXPECT_THROW(check_tokenizer_agrees(config, 21, "aaaaaaaaaaaaaaaa", "model", "tokenizer"), Error);
  EXPECT_THROW(check_tokenizer_agrees(config, 20, "bbbbbbbbbbbbbbbb", "model", "tokenizer"), Error);
}

TEST(TokenizerAgreement, RowsThatStandForNoPieceAreAllowedAndMissingOnesAreNot) {
  ModelConfig config = tiny();
  EXPECT_NO_THROW(check_tokenizer_agrees(config, 18, "a", "model", "model"));
  // From elsewhere only what padding to a multiple of 8 explains; in the own folder any, but for more than
  // half.
  EXPECT_THROW(check_tokenizer_agrees(config, 18, "a", "model", "tokenizer"), Error);
  config.vocab_size = 24;
  EXPECT_NO_THROW(check_tokenizer_agrees(config, 18, "a", "model", "tokenizer"));
  config.vocab_size = 36;
  EXPECT_NO_THROW(check_tokenizer_agrees(config, 18, "a", "model", "model"));
  config.vocab_size = 37;
  EXPECT_THROW(check_tokenizer_agrees(config, 18, "a", "model", "model"), Error);
  try {
    check_tokenizer_agrees(tiny(), 21, "a", "model", "model");
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("has 21 pieces, the model in model only 20 rows"), std::string::npos);
    EXPECT_NE(error.hint().find("resize_token_embeddings"), std::string::npos) << error.hint();
  }
}

}  // namespace
}  // namespace bigbird
