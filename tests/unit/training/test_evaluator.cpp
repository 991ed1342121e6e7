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

}  // namespace
}  // namespace bigbird
