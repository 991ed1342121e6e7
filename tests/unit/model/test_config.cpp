// config.json: round trip, and every kind of bad field named.
#include "lib/model/config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
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
  config.input_length = 64;
  config.tokenizer_digest = "abc";
  const ModelConfig back = read_config(write(config_json(config)));
  EXPECT_EQ(config_json(back), config_json(config));
  EXPECT_EQ(back.attention, AttentionPattern::window_random);
  EXPECT_EQ(back.norm_type, NormType::prenorm);
  EXPECT_EQ(back.num_labels, 5);
  EXPECT_EQ(back.tokenizer_digest, "abc");
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
  EXPECT_NE(failure_with("hidden_act", "relu").find("hidden_act relu"), std::string::npos);
  EXPECT_NE(failure_with("attention_type", "sparse").find("attention_type sparse"), std::string::npos);
  EXPECT_NE(failure("{").find("not valid JSON"), std::string::npos);
  EXPECT_NE(failure("[]").find("not a JSON object"), std::string::npos);
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
