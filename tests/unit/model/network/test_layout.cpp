// The tensor table: published parameter counts, neighbours, decay groups, and initial values.
#include "lib/model/network/layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "kernels/parallel.h"

namespace bigbird {
namespace {

TEST(Layout, CountsOfTheBaseModelMatchThePublishedOnes) {
  ModelConfig config;
  EXPECT_EQ(ParameterLayout(config).count(), 128'112'824);  // docs/specification.md 2.2
  config.vocab_size = 32000;
  EXPECT_EQ(ParameterLayout(config).count(), 113'995'522);
}

TEST(Layout, QueryKeyAndValueAreNeighbours) {
  ModelConfig config;
  config.hidden_size = 6;
  config.num_attention_heads = 2;
  const ParameterLayout layout(config);
  const std::string self = "bert.encoder.layer.3.attention.self.";
  const std::int64_t c = config.hidden_size;
  EXPECT_EQ(layout.offset(self + "key.weight"), layout.offset(self + "query.weight") + c * c);
  EXPECT_EQ(layout.offset(self + "value.weight"), layout.offset(self + "query.weight") + 2 * c * c);
  EXPECT_EQ(layout.offset(self + "value.bias"), layout.offset(self + "query.bias") + 2 * c);
}

TEST(Layout, TensorsCoverTheArenaWithoutGaps) {
  for (const HeadType head :
       {HeadType::encoder, HeadType::pretraining, HeadType::masked_lm, HeadType::classification,
        HeadType::question_answering, HeadType::structured_answers}) {
    for (const NormType norm : {NormType::postnorm, NormType::prenorm}) {
      ModelConfig config;
      config.head = head;
      config.norm_type = norm;
      config.token_scores = {{"start", true}, {"end", true}};
      config.embedding_norm = usual_embedding_norm(norm);
      const ParameterLayout layout(config);
      std::int64_t next = 0;
      for (const TensorSpec& spec : layout.tensors()) {
        EXPECT_EQ(spec.offset, next) << spec.name;
        next += spec.count;
      }
      EXPECT_EQ(next, layout.count());
    }
  }
}

TEST(Layout, OnlyMatricesInUseDecay) {
  for (const HeadType head : {HeadType::pretraining, HeadType::masked_lm, HeadType::classification,
                              HeadType::question_answering, HeadType::structured_answers}) {
    ModelConfig config;
    config.head = head;
    config.token_scores = {{"start", true}, {"end", true}};
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      const bool unused = spec.name.starts_with("bert.pooler.") && head != HeadType::pretraining;
      EXPECT_EQ(spec.decay, spec.shape.size() == 2 && !unused) << spec.name;
    }
  }
}

// As from_pretrained of transformers 4.57.1 asks for: nothing missing, nothing left over.
TEST(Layout, HeadsHoldTheTensorsThatTransformersLoads) {
  const auto names_behind_the_layers = [](HeadType head) {
    ModelConfig config;
    config.head = head;
    config.token_scores = {{"start", true}};
    const ParameterLayout layout(config);
    std::set<std::string> names;
    for (const TensorSpec& spec : layout.tensors()) {
      if (!spec.name.starts_with("bert.embeddings.") && !spec.name.starts_with("bert.encoder."))
        names.insert(spec.name);
    }
    return names;
  };
  using Names = std::set<std::string>;
  const Names pooler{"bert.pooler.bias", "bert.pooler.weight"};
  Names masked{"cls.predictions.bias", "cls.predictions.transform.LayerNorm.bias",
               "cls.predictions.transform.LayerNorm.weight", "cls.predictions.transform.dense.bias",
               "cls.predictions.transform.dense.weight"};
  masked.insert(pooler.begin(), pooler.end());
  Names pretraining{"cls.seq_relationship.bias", "cls.seq_relationship.weight"};
  pretraining.insert(masked.begin(), masked.end());
  Names classification{"classifier.dense.bias", "classifier.dense.weight", "classifier.out_proj.bias",
                       "classifier.out_proj.weight"};
  classification.insert(pooler.begin(), pooler.end());
  EXPECT_EQ(names_behind_the_layers(HeadType::encoder), pooler);
  EXPECT_EQ(names_behind_the_layers(HeadType::masked_lm), masked);
  EXPECT_EQ(names_behind_the_layers(HeadType::pretraining), pretraining);
  EXPECT_EQ(names_behind_the_layers(HeadType::classification), classification);
  // Which transformers does not know.
  EXPECT_EQ(names_behind_the_layers(HeadType::structured_answers),
            (Names{"answer_scores.token.bias", "answer_scores.token.weight", "answer_scores.type.bias",
                   "answer_scores.type.weight"}));
  EXPECT_EQ(names_behind_the_layers(HeadType::question_answering),
            (Names{"qa_classifier.intermediate.dense.bias", "qa_classifier.intermediate.dense.weight",
                   "qa_classifier.output.LayerNorm.bias", "qa_classifier.output.LayerNorm.weight",
                   "qa_classifier.output.dense.bias", "qa_classifier.output.dense.weight",
                   "qa_classifier.qa_outputs.bias", "qa_classifier.qa_outputs.weight"}));
}

TEST(Layout, BiasesOfTheProjectionsCanBeAbsent) {
  ModelConfig config;
  config.use_bias = false;
  const ParameterLayout layout(config);
  EXPECT_EQ(layout.find("bert.encoder.layer.0.attention.self.query.bias"), nullptr);
  EXPECT_NE(layout.find("bert.encoder.layer.0.attention.output.dense.bias"), nullptr);
}

TEST(InitialParameters, AreCutNormalWithAZeroPadRowAndAFunctionOfTheSeedAlone) {
  ModelConfig config;
  config.vocab_size = 3000;
  config.hidden_size = 64;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 4;
  const ParameterLayout layout(config);
  kernels::set_thread_count(1);
  const std::vector<float> one = initial_parameters(layout, config, 7);
  kernels::set_thread_count(3);
  EXPECT_EQ(initial_parameters(layout, config, 7), one);
  kernels::set_thread_count(0);
  EXPECT_NE(initial_parameters(layout, config, 8), one);

  const TensorSpec& words = *layout.find("bert.embeddings.word_embeddings.weight");
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < words.count; ++i) {
    const float value = one[static_cast<std::size_t>(words.offset + i)];
    if (i < config.hidden_size) {
      EXPECT_EQ(value, 0.0f) << "pad row";
    }
    EXPECT_LE(std::fabs(value), 0.04f);
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const double n = static_cast<double>(words.count);
  EXPECT_NEAR(sum / n, 0.0, 5e-4);
  EXPECT_NEAR(std::sqrt(squares / n), 0.02 * 0.8796,
              5e-4);  // standard deviation of a normal cut at two sigma
  EXPECT_EQ(one[static_cast<std::size_t>(layout.offset("bert.embeddings.LayerNorm.weight"))], 1.0f);
}

}  // namespace
}  // namespace bigbird
