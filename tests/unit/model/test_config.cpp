// config.json: round trip, and every kind of bad field named.
#include "lib/model/config.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/model/network/validate_config.h"
#include "lib/model/plans/plan_table.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

class ConfigFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    testing::write_text(folder_ / "config.json", text);
    return (folder_ / "config.json").string();
  }
  // The message of the Error that reading this text must throw.
  std::string failure(const std::string& text) {
    try {
      read_config(write(text));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      return error.message();
    }
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  std::string failure_with(const std::string& field, const nlohmann::json& value) {
    auto json = nlohmann::json::parse(config_json(ModelConfig{}));
    json[field] = value;
    return failure(json.dump());
  }
  testing::TemporaryFolder folder_;
};

TEST_F(ConfigFile, EveryFieldSurvivesARoundTrip) {
  ModelConfig config;
  config.vocab_size = 320;
  config.hidden_size = 48;
  config.num_hidden_layers = 3;
  config.num_attention_heads = 4;
  config.intermediate_size = 96;
  config.max_position_embeddings = 512;
  config.block_size = 16;
  config.num_random_blocks = 2;
  config.num_labels = 5;
  config.hidden_dropout_prob = 0.25;
  config.attention_probs_dropout_prob = 0.0;
  config.classifier_dropout = 0.3;
  config.layer_norm_eps = 1e-5;
  config.use_bias = false;
  config.rescale_embeddings = true;
  config.attention = AttentionPattern::window_random;
  config.random_mode = RandomMode::hf_train;
  config.norm_type = NormType::prenorm;
  config.head = HeadType::classification;
  config.problem_type = ProblemType::multi_label;
  config.positive_weight = 8.0;
  config.input_length = 64;
  config.tokenizer_digest = "abc";
  const ModelConfig back = read_config(write(config_json(config)));
  EXPECT_EQ(config_json(back), config_json(config));
  EXPECT_EQ(back.attention, AttentionPattern::window_random);
  EXPECT_EQ(back.norm_type, NormType::prenorm);
  EXPECT_EQ(back.num_labels, 5);
  EXPECT_EQ(back.positive_weight, 8.0);
  EXPECT_EQ(back.tokenizer_digest, "abc");
}

TEST_F(ConfigFile, AStemSurvivesARoundTripAndIsNoneOfTransformers) {
  ModelConfig config;
  config.vocab_size = 10;
  config.sep_token_id = 3;
  config.type_vocab_size = 0;
  config.position_type = PositionType::rotary;
  config.rotary_dim = 64;
  config.block_size = 80;
  config.max_position_embeddings = 4000;
  config.stem = {.kernel = 21, .channels = 96, .stride = 10};
  const std::string text = config_json(config);
  const ModelConfig back = read_config(write(text));
  EXPECT_EQ(back.stem, config.stem);
  EXPECT_EQ(config_json(back), text);
  EXPECT_FALSE(is_huggingface_architecture(back));
  EXPECT_EQ(nlohmann::json::parse(text)["model_type"], "bigbird_extended");
  auto json = nlohmann::json::parse(text);
  json["bigbird"]["stem"].erase("channels");
  EXPECT_NE(failure(json.dump()).find("bigbird: stem: field channels is missing"), std::string::npos);
  json["bigbird"]["stem"] = 7;
  EXPECT_NE(failure(json.dump()).find("bigbird: stem is not an object"), std::string::npos);
}

TEST_F(ConfigFile, ScoresAndTypesOfAnswersSurviveARoundTrip) {
  ModelConfig config;
  config.head = HeadType::structured_answers;
  config.token_scores = {{"start", true}, {"sentence", false}};
  for (const std::vector<std::string>& types :
       {std::vector<std::string>{"span", "yes", "no"}, {}, {"LABEL_0", "LABEL_1"}}) {
    config.label_names = types;
    config.num_labels = static_cast<std::int64_t>(types.size());
    const std::string text = config_json(config);
    const ModelConfig back = read_config(write(text));
    EXPECT_EQ(config_json(back), text);
    EXPECT_EQ(back.head, HeadType::structured_answers);
    EXPECT_EQ(back.token_scores, config.token_scores);
    EXPECT_EQ(back.label_names, types);
    EXPECT_EQ(back.num_labels, config.num_labels);
    EXPECT_FALSE(is_huggingface_architecture(back));
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["architectures"][0], "BigBirdForStructuredAnswers");
    EXPECT_EQ(json["model_type"], "bigbird_extended");
  }
  EXPECT_EQ(name_of(HeadType::structured_answers), "structured-answers");
}

TEST_F(ConfigFile, DamagedScoresOfAnswersAreNamed) {
  ModelConfig config;
  config.head = HeadType::structured_answers;
  config.token_scores = {{"start", true}};
  config.label_names = {"span", "yes"};
  const auto failure_of = [&](const std::function<void(nlohmann::json&)>& damage) {
    auto json = nlohmann::json::parse(config_json(config));
    damage(json);
    return failure(json.dump());
  };
  using Json = nlohmann::json;
  const auto scores = [](const Json& value) {
    return [value](Json& json) { json["bigbird"]["token_scores"] = value; };
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const Json one = {{"name", "a"}, {"loss", "softmax"}};
  contains(failure_of([](Json& json) { json.erase("bigbird"); }), "token_scores, is missing");
  contains(failure_of([](Json& json) { json["bigbird"].erase("token_scores"); }), "token_scores are missing");
  contains(failure_of(scores(7)), "token_scores are missing");
  contains(failure_of(scores(Json::array())), "token_scores are 0, not 1 to 4");
  contains(failure_of(scores({one, one, one, one, one})), "token_scores are 5, not 1 to 4");
  contains(failure_of(scores({one, 3})), "token_scores[1] is not an object");
  contains(failure_of(scores({{{"name", "a"}, {"loss", "hinge"}}})), "token_scores[0]: loss \"hinge\"");
  contains(failure_of(scores({{{"name", 4}, {"loss", "softmax"}}})), "field name is not a text");
  contains(failure_of(scores({{{"loss", "softmax"}}})), "one of token_scores has no name");
  contains(failure_of(scores({one, one})), "two of token_scores are named a");
  contains(failure_of([](Json& json) { json["id2label"]["1"] = "span"; }), "two of id2label are named span");
  contains(failure_of([](Json& json) { json["id2label"].erase("0"); }), "no name for label 0");
}

TEST_F(ConfigFile, AHuggingFaceFileWithoutOurFieldsTakesTheDefaults) {
  const ModelConfig config = read_config(write(
      R"({"vocab_size":50358,"hidden_size":768,"num_hidden_layers":12,"num_attention_heads":12,"intermediate_size":3072,
          "max_position_embeddings":4096,"attention_type":"original_full","classifier_dropout":null})"));
  EXPECT_EQ(config.attention, AttentionPattern::full);
  EXPECT_EQ(config.random_mode, RandomMode::google);
  EXPECT_EQ(config.norm_type, NormType::postnorm);
  EXPECT_LT(config.classifier_dropout, 0.0);
}

TEST_F(ConfigFile, ActivationsAreReadUnderTheirNamesAndWrittenUnderTheFirst) {
  const std::pair<const char*, const char*> names[] = {
      {"gelu_new", "gelu_new"}, {"gelu_fast", "gelu_new"}, {"gelu_pytorch_tanh", "gelu_new"},
      {"gelu", "gelu"},         {"relu", "relu"},          {"silu", "silu"},
      {"swish", "silu"}};
  for (const auto& [read, written] : names) {
    auto json = nlohmann::json::parse(config_json(ModelConfig{}));
    json["hidden_act"] = read;
    EXPECT_EQ(nlohmann::json::parse(config_json(read_config(write(json.dump()))))["hidden_act"], written);
  }
}

TEST_F(ConfigFile, AMissingFieldIsNamed) {
  EXPECT_NE(failure(R"({"vocab_size": 100})").find("config.json: field hidden_size is missing"),
            std::string::npos);
}

TEST_F(ConfigFile, AbsurdValuesAreNamed) {
  EXPECT_NE(failure_with("hidden_size", -768).find("hidden_size = -768"), std::string::npos);
  EXPECT_NE(failure_with("num_hidden_layers", 1e9).find("num_hidden_layers"), std::string::npos);
  EXPECT_NE(failure_with("block_size", 0).find("block_size = 0"), std::string::npos);
  EXPECT_NE(failure_with("num_attention_heads", 7).find("not a multiple"), std::string::npos);
  EXPECT_NE(failure_with("max_position_embeddings", 4097).find("not a multiple of block_size"),
            std::string::npos);
  EXPECT_NE(failure_with("bigbird", {{"input_length", 100}}).find("input_length 100 is not a multiple"),
            std::string::npos);
  EXPECT_NE(failure_with("hidden_dropout_prob", 1.5).find("hidden_dropout_prob"), std::string::npos);
  EXPECT_NE(failure_with("layer_norm_eps", 0).find("layer_norm_eps"), std::string::npos);
}

TEST_F(ConfigFile, WrongTypesAreNamed) {
  EXPECT_NE(failure_with("hidden_size", "768").find("hidden_size is not a whole number"), std::string::npos);
  EXPECT_NE(failure_with("use_bias", 1).find("use_bias"), std::string::npos);
  EXPECT_NE(failure_with("hidden_act", "elu").find("hidden_act elu"), std::string::npos);
  EXPECT_NE(failure_with("attention_type", "sparse").find("attention_type sparse"), std::string::npos);
  EXPECT_NE(failure("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(failure("[]").find("not a JSON object"), std::string::npos);
}

TEST_F(ConfigFile, RandomModesOfFoldersBefore02AreRead) {
  auto json = nlohmann::json::parse(config_json(ModelConfig{}));
  json["bigbird"]["random_mode"] = "huggingface";
  EXPECT_EQ(read_config(write(json.dump())).random_mode, RandomMode::hf_train);
  json["bigbird"]["random_mode"] = "zeros";
  EXPECT_EQ(read_config(write(json.dump())).random_mode, RandomMode::hf_eval);
}

TEST_F(ConfigFile, TheEmbeddingsLayerNormIsTheUsualOneUnlessItIsNamed) {
  auto json = nlohmann::json::parse(config_json(ModelConfig{}));
  json["bigbird"] = {{"norm_type", "prenorm"}};
  EXPECT_EQ(read_config(write(json.dump())).embedding_norm, EmbeddingNorm::none);
  EXPECT_TRUE(read_config(write(json.dump())).has_final_norm());
  json["bigbird"] = {{"norm_type", "prenorm"}, {"embedding_norm", "before-dropout"}, {"final_norm", false}};
  EXPECT_EQ(read_config(write(json.dump())).embedding_norm, EmbeddingNorm::before_dropout);
  EXPECT_FALSE(read_config(write(json.dump())).has_final_norm());
  json["bigbird"] = {{"norm_type", "postnorm"}};
  EXPECT_EQ(read_config(write(json.dump())).embedding_norm, EmbeddingNorm::after_dropout);
}

TEST_F(ConfigFile, ContradictionsAreRefused) {
  EXPECT_NE(failure_with("bigbird", {{"final_norm", true}}).find("norm_type is postnorm"), std::string::npos);
  EXPECT_NE(
      failure_with("bigbird", {{"rotary_dim", 32}}).find("rotary_dim = 32, but the positions are absolute"),
      std::string::npos);
  for (const int dim : {0, 31, 66}) {  // heads of 64
    EXPECT_NE(failure_with("bigbird", {{"positions", "rotary"}, {"rotary_dim", dim}})
                  .find("is not an even number within 2..64"),
              std::string::npos);
  }
}

class ConfigWithPlan : public ConfigFile {
 protected:
  // Two heads of three blocks of 16.
  static ModelConfig planned(std::vector<PlanTable::Heads> layers) {
    ModelConfig config;
    config.num_attention_heads = 2;
    config.num_hidden_layers = 3;
    config.block_size = 16;
    config.random_mode = RandomMode::file;
    config.plan = std::make_shared<const PlanTable>(16, std::move(layers), "plan.json");
    return config;
  }
  static std::string refusal(const ModelConfig& config) {
    try {
      validate(config, "here");
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "accepted";
  }
  const PlanTable::Heads heads_{{{0}, {1}, {2}}, {{0, 1, 2}, {1}, {0, 0}}};
};

TEST_F(ConfigWithPlan, ItsFolderHoldsThePlan) {
  const ModelConfig config = planned({heads_});
  const std::string file = write(config_json(config));
  testing::write_text(folder_ / "attention_plan.json", config.plan->json());
  const ModelConfig back = read_config(file);
  EXPECT_EQ(back.random_mode, RandomMode::file);
  ASSERT_NE(back.plan, nullptr);
  EXPECT_EQ(back.plan->rows(2, 3), heads_);
}

TEST_F(ConfigWithPlan, APlanOfAnotherShapeIsRefused) {
  EXPECT_EQ(refusal(planned({heads_})), "accepted");
  EXPECT_EQ(refusal(planned({heads_, heads_, heads_})), "accepted");
  EXPECT_EQ(refusal(planned({heads_, heads_})), "here: the plan plan.json has layers = 2, the model has 3");
  ModelConfig config = planned({heads_});
  config.num_attention_heads = 4;
  EXPECT_EQ(refusal(config), "here: the plan plan.json has heads = 2, the model has 4");
  config = planned({heads_});
  config.block_size = 64;
  EXPECT_EQ(refusal(config), "here: the plan plan.json has block_size = 16, the model has 64");
  config = planned({heads_});
  config.attention = AttentionPattern::window;
  EXPECT_EQ(refusal(config), "here: random_mode is file, but attention is window");
  config.plan = nullptr;
  EXPECT_EQ(refusal(config), "here: random_mode is file, but there is no plan");
}

TEST_F(ConfigWithPlan, ARunGoesOnWithTheSamePlanOnly) {
  EXPECT_EQ(config_fields(planned({heads_})), config_fields(planned({heads_})));
  PlanTable::Heads other = heads_;
  other[1][1] = {1, 2};
  EXPECT_NE(config_fields(planned({heads_})), config_fields(planned({other})));
}

TEST(ConfigNames, UnknownNamesListTheKnownOnes) {
  EXPECT_EQ(parse_attention_pattern("window+random"), AttentionPattern::window_random);
  try {
    parse_random_mode("googel");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.hint().find("google, hf-train, hf-eval, none, file"), std::string::npos);
  }
}

}  // namespace
}  // namespace bigbird
