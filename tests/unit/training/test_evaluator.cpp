// Evaluation: deterministic, independent of the batch, bits per base by their definition; baselines by brute
// force.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "lib/core/error.h"
#include "lib/model/network/model.h"
#include "lib/training/evaluator.h"
#include "lib/training/next_tokens.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class Evaluation : public TrainingTest {
 protected:
  Evaluation()
      : tokenizer_(load_tokenizer(path("tokenizer"))),
        shards_(path("valid")),
        batches_(shards_, *tokenizer_, tiny_config(), {}, 128, 1) {}

  EvaluationResult evaluate(std::int64_t batch, std::uint64_t max_samples = 0) {
    Model model(*backend_, tiny_config(), batches_.limits(batch), {});
    model.set_parameters(initial_parameters(model.layout(), tiny_config(), 3));
    EvaluationOptions options;
    options.batch = batch;
    options.max_samples = max_samples;
    options.keep_scored = true;
    return evaluate_pretraining(model, batches_, *tokenizer_, options);
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  TokenShards shards_;
  PretrainingBatches batches_;
};

TEST_F(Evaluation, DoesNotDependOnTheBatch) {
  const EvaluationResult one = evaluate(1);
  const EvaluationResult four = evaluate(4);
  EXPECT_EQ(one.samples, batches_.sampler().size());
  EXPECT_EQ(one.samples, four.samples);
  EXPECT_EQ(one.tokens, four.tokens);
  EXPECT_EQ(one.bases_covered, four.bases_covered);
  EXPECT_EQ(one.sums[LossMean::mlm].correct, four.sums[LossMean::mlm].correct);
  EXPECT_NEAR(one.sums[LossMean::mlm].sum, four.sums[LossMean::mlm].sum, 1e-6 * one.sums[LossMean::mlm].sum);
  EXPECT_EQ(evaluate(1).sums[LossMean::mlm].sum, one.sums[LossMean::mlm].sum);
}

TEST_F(Evaluation, MaskedTokensAreHeldAgainstTheirBases) {
  const EvaluationResult result = evaluate(2);
  std::uint64_t bases = 0;
  for (const ScoredToken& token : result.scored)
    bases += tokenizer_->piece_length(static_cast<std::uint32_t>(token.label));
  EXPECT_EQ(result.scored.size(), static_cast<std::size_t>(result.sums[LossMean::mlm].count));
  EXPECT_EQ(result.bases_covered, bases);
  // A fresh model guesses among 26 pieces.
  EXPECT_NEAR(result.mlm_loss(), std::log(26.0), 0.3);
}

// The row of the largest value in each of `rows` rows.
std::vector<std::int32_t> largest(const std::vector<float>& values, std::size_t rows) {
  const auto width = static_cast<std::ptrdiff_t>(values.size() / rows);
  std::vector<std::int32_t> result;
  for (auto row = values.begin(); row != values.end(); row += width) {
    result.push_back(static_cast<std::int32_t>(std::max_element(row, row + width) - row));
  }
  return result;
}

TEST_F(Evaluation, WhatIsCorrectIsCountedAnswerByAnswer) {
  ModelConfig config = tiny_config();
  config.initializer_range = 0.5;  // answers that differ
  Model model(*backend_, config, batches_.limits(4), {});
  model.set_parameters(initial_parameters(model.layout(), config, 3));
  std::int64_t masked = 0, masked_correct = 0, pairs = 0, pairs_correct = 0, second_answers = 0;
  for (std::uint64_t piece = 0; piece < batches_.sampler().size(); ++piece) {
    const Batch batch = batches_.piece_batch(std::span(&piece, 1));
    model.forward(batch, {});
    const auto tokens = largest(model.masked_logits(), batch.masked_labels.size());
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      masked += 1;
      masked_correct += tokens[i] == batch.masked_labels[i] ? 1 : 0;
    }
    const std::int32_t answer = largest(model.sequence_logits(), 1)[0];
    pairs += 1;
    pairs_correct += answer == batch.sequence_labels[0] ? 1 : 0;
    second_answers += answer;
  }
  EvaluationOptions options;
  options.batch = 4;
  const LossSums sums = evaluate_pretraining(model, batches_, *tokenizer_, options).sums;
  EXPECT_EQ(sums[LossMean::mlm].count, masked);
  EXPECT_EQ(sums[LossMean::mlm].correct, masked_correct);
  EXPECT_EQ(sums[LossMean::sequence].count, pairs);
  EXPECT_EQ(sums[LossMean::sequence].correct, pairs_correct);
  EXPECT_GT(masked_correct, 0);
  EXPECT_GT(pairs_correct, 0);
  EXPECT_LT(pairs_correct, pairs);
  EXPECT_GT(second_answers, 0);
}

TEST_F(Evaluation, AChoiceOfSamplesIsSeededAndOfTheSizeAskedFor) {
  EXPECT_EQ(evaluate(2, 3).samples, 3u);
  EXPECT_EQ(evaluate(2, 3).sums[LossMean::mlm].sum, evaluate(2, 3).sums[LossMean::mlm].sum);
  EXPECT_EQ(evaluate(2, 100000).samples, batches_.sampler().size());
}

TEST_F(Evaluation, LeftNeighboursAreTheTrueTokens) {
  std::vector<std::int32_t> left;
  const Batch batch = batches_.piece_batch(std::vector<std::uint64_t>{0, 1, 2}, &left);
  ASSERT_EQ(left.size(), batch.masked_rows.size());
  ASSERT_EQ(batch.sequence_labels.size(), 3u);
  for (std::uint64_t piece = 0; piece < 3; ++piece) {
    const PretrainSample original = batches_.sampler().sample(piece, piece);
    const std::int64_t first = batch.token_offsets[static_cast<std::size_t>(piece)];
    for (std::size_t i = 0; i < left.size(); ++i) {
      const std::int64_t position = batch.masked_rows[i] - first;
      if (position < 0 || position >= batch.lengths[static_cast<std::size_t>(piece)]) continue;
      EXPECT_EQ(left[i], original.ids[static_cast<std::size_t>(position - 1)]);
      EXPECT_EQ(batch.masked_labels[i], original.ids[static_cast<std::size_t>(position)]);
    }
  }
}

// Counts with maps, and the formulas of evaluator.h written out.
struct PlainCounts {
  std::map<std::int32_t, double> token, left;
  std::map<std::pair<std::int32_t, std::int32_t>, double> pair;
  double all = 0;

  explicit PlainCounts(const TokenShards& shards) {
    for (std::uint64_t d = 0; d < shards.document_count(); ++d) {
      std::vector<std::uint32_t> ids;
      for (std::uint64_t s = shards.document(d).first; s < shards.document(d).last; ++s)
        shards.sentence(s).append_to(ids);
      for (std::size_t i = 0; i < ids.size(); ++i) {
        const auto id = static_cast<std::int32_t>(ids[i]);
        ++token[id];
        ++all;
        if (i == 0) continue;
        const auto before = static_cast<std::int32_t>(ids[i - 1]);
        ++left[before];
        ++pair[{before, id}];
      }
    }
  }
};

TEST_F(Evaluation, BaselinesEqualTheirFormulasAndSumToOne) {
  const TokenShards train(path("train"));
  const NgramModel ngrams(train, *tokenizer_, 0, 1);
  PlainCounts plain(train);
  EXPECT_EQ(static_cast<double>(ngrams.tokens()), plain.all);
  const double k = ngrams.bigram_prior();
  for (std::int32_t left = 2; left < 26; ++left) {
    double sum = 0;
    for (std::int32_t token = 5; token < 26; ++token) {
      const double unigram = (plain.token[token] + 1) / (plain.all + 21);
      EXPECT_DOUBLE_EQ(ngrams.unigram(token), unigram);
      EXPECT_DOUBLE_EQ(ngrams.bigram(left, token),
                       (plain.pair[{left, token}] + k * unigram) / (plain.left[left] + k));
      sum += ngrams.bigram(left, token);
    }
    EXPECT_NEAR(sum, 1.0, 1e-12);
  }
}

TEST_F(Evaluation, TheBigramBaselineBeatsTheUnigramWhereNeighboursTell) {
  const TokenShards train(path("train"));
  const EvaluationResult result = evaluate(4);
  const BaselineScores scores = score_baselines(NgramModel(train, *tokenizer_, 0, 1), result.scored);
  const auto count = static_cast<double>(result.scored.size());
  EXPECT_NEAR(scores.unigram / count, std::log(21.0), 0.1);
  EXPECT_LT(scores.bigram, 0.9 * scores.unigram);
}

TEST_F(Evaluation, BaselinesCanBeFittedOnAPart) {
  const TokenShards train(path("train"));
  EXPECT_EQ(NgramModel(train, *tokenizer_, 500, 1).tokens(), 500u);
}

// Ids are places in tables of the baselines and of the masker.
TEST_F(Evaluation, ShardsWithIdsOfNoPieceAreRefused) {
  TokenShardWriter writer(path("other"), 500);
  const std::vector<std::uint32_t> ids{7, 8, 499, 9}, lengths{4};
  for (int document = 0; document < 2; ++document) writer.add_document(ids, lengths, 4);
  writer.finish("", nullptr);
  const TokenShards other(path("other"));
  EXPECT_THROW(NgramModel(other, *tokenizer_, 0, 1), Error);
  EXPECT_THROW(PretrainingBatches(other, *tokenizer_, tiny_config(), {}, 128, 1), Error);
}

// Sixths of memory and segment against weights that are read one stream after another.
TEST_F(Evaluation, BucketsAreMeansOverWholeSegments) {
  ModelConfig config = tiny_config();
  config.attention = AttentionPattern::transformer_xl;
  config.attention_options.recurrent.memory = 18;
  become_recurrent(config);
  config.head = HeadType::causal_lm;
  constexpr std::int64_t length = 12, memory = 18;
  const auto tokenizer = load_tokenizer(path("tokenizer"));
  const TokenShards shards(path("train"));
  const std::vector<float> parameters = initial_parameters(ParameterLayout(config), config, 5);
  const auto model_of = [&](std::int64_t streams) {
    BatchLimits limits;
    limits.tokens = limits.masked_tokens = streams * 2 * length;
    limits.sequences = limits.streams = streams;
    limits.longest = 2 * length;
    auto model = std::make_unique<Model>(*backend_, config, limits, ModelOptions{.key_weights = true});
    model->set_parameters(parameters);
    return model;
  };
  std::vector<AttentionBuckets> made;
  for (const std::int64_t batch : {1, 3}) {
    EvaluationOptions options;
    options.batch = batch;
    options.attention_buckets = true;
    made.push_back(evaluate_streams(*model_of(batch), shards, *tokenizer, length, 7, options).buckets);
  }
  EXPECT_EQ(made[0].layers, made[1].layers);
  EXPECT_EQ(made[0].compressed, 0);
  EXPECT_EQ(made[0].plain, memory);
  EXPECT_EQ(made[0].own, length);

  const StreamSampler sampler(shards, tokenizer->special(),
                              {.length = length, .streams = 64, .seed = 7, .once = true});
  const NextTokens next(*tokenizer, config);
  const auto model = model_of(1);
  std::vector<std::vector<double>> sums(2, std::vector<double>(18));
  double segments = 0;
  ForwardOptions pass;
  pass.key_weights = [&](const KeyWeights& of) {
    if (of.remembered != memory || of.rows.size() != memory + length) return;
    segments += of.layer == 0 ? 1 : 0;
    for (std::size_t row = 0; row < of.rows.size(); ++row) {
      const std::size_t part = row < memory ? 6 + row / 3 : 12 + (row - memory) / 2;
      sums[static_cast<std::size_t>(of.layer)][part] += of.rows[row];
    }
  };
  for (std::int64_t stream = 0; stream < sampler.options().streams; ++stream) {
    for (std::uint64_t number = 0;; ++number) {
      const Batch batch = stream_batch(sampler, next, {stream, 1}, number, -stream);
      if (batch.sequences() == 0) break;
      model->forward(batch, pass);
    }
  }
  EXPECT_EQ(static_cast<double>(made[0].segments), segments);
  ASSERT_GT(segments, 3);
  for (std::size_t layer = 0; layer < 2; ++layer) {
    double all = 0.0;
    for (std::size_t part = 0; part < 18; ++part) {
      EXPECT_NEAR(made[0].layers[layer][part], sums[layer][part] / segments, 1e-9) << layer << " " << part;
      all += made[0].layers[layer][part];
    }
    EXPECT_NEAR(all, 1.0, 1e-5);
  }
}

}  // namespace
}  // namespace bigbird
