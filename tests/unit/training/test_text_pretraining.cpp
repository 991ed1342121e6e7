// Pretraining on text: whole words of joined documents through the same runs, and warm starts from another
// vocabulary.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/config_json.h"
#include "lib/model_folder/vocabulary_transfer.h"
#include "lib/training/evaluator.h"
#include "tests/support/sanitizer.h"
#include "tests/support/tiny_roberta.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

class TextPretraining : public TrainingTest {
 protected:
  TextPretraining() {
    testing::write_tiny_text_tokenizer(folder_ / "letters");
    tokenizer_ = load_tokenizer(path("letters"));
    write_shards("text", 40, 1);
    write_shards("held_out", 10, 2);
  }
  ~TextPretraining() override { set_log_sink(nullptr); }

  // A document says one of four words again and again, another one now and then: its other words tell.
  void write_shards(const std::string& name, std::size_t documents, std::uint64_t seed, bool join = true) {
    const std::vector<std::string> spoken_words = {"the", "cat", "sat", "down"};
    std::vector<std::vector<std::uint32_t>> all;
    for (std::size_t d = 0; d < documents; ++d) {
      CounterRng rng(seed, Purpose::test, d);
      std::vector<std::uint32_t> ids;
      const std::uint64_t own = rng.below(4);
      for (std::uint64_t word = 0, words = 2 + rng.below(d % 10 == 0 ? 150 : 20); word < words; ++word) {
        const std::uint64_t spoken = rng.below(10) == 0 ? rng.below(4) : own;
        const std::string& letters = spoken_words[static_cast<std::size_t>(spoken)];
        for (std::size_t i = 0; i < letters.size(); ++i) {
          ids.push_back((i == 0 ? testing::first_word_start : testing::first_inner) +
                        static_cast<std::uint32_t>(letters[i] - 'a'));
        }
      }
      all.push_back(ids);
    }
    testing::write_text_shards(path(name), *tokenizer_, all, join);
  }

  PretrainOptions text_options(const std::string& run) const {
    PretrainOptions options = TrainingTest::options(run);
    options.train = path("text");
    options.tokenizer = path("letters");
    options.config.vocab_size = testing::tiny_text_pieces;
    return options;
  }
  static ModelConfig text_config() {
    ModelConfig config = tiny_config();
    config.vocab_size = testing::tiny_text_pieces;
    return config;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(TextPretraining, LearnsWholeWordsAndNoNextSentences) {
  const TokenShards text(path("text")), dna(path("train"));
  const PretrainingObjective of_text = objective_for(text, text_config(), {}),
                             of_dna = objective_for(dna, tiny_config(), {});
  EXPECT_EQ(of_text.unit, MaskingUnit::words);
  EXPECT_FALSE(of_text.nsp);
  EXPECT_EQ(of_dna.unit, MaskingUnit::tokens);
  EXPECT_TRUE(of_dna.nsp);
  PretrainingObjective pairs;
  pairs.nsp_of_text = true;
  EXPECT_TRUE(objective_for(text, text_config(), pairs).nsp);

  PretrainOptions run = text_options("run");
  run.steps = 2;
  pretrain(run, *backend_);
  EXPECT_EQ(first_metric("run", "nsp_loss"), "NA");
  EXPECT_NE(first_metric("run", "mlm_loss"), "NA");
  const std::string card = testing::read_text(path("run") + "/final/README.md");
  EXPECT_NE(card.find("masked words (0.15)"), std::string::npos) << card;
  EXPECT_NE(card.find("tags: [bigbird, text]"), std::string::npos) << card;
  EXPECT_EQ(card.find("dna"), std::string::npos) << card;
}

TEST_F(TextPretraining, NextSentencesOfTextAreToBeHadOnRequest) {
  PretrainOptions run = text_options("run");
  run.steps = 1;
  run.warmup = 0;
  run.objective.nsp_of_text = true;
  pretrain(run, *backend_);
  EXPECT_NE(first_metric("run", "nsp_loss"), "NA");
  run.run = path("nothing");
  run.objective.nsp_of_text = false;
  run.objective.mlm = false;
  EXPECT_THROW(pretrain(run, *backend_), Error);
}

TEST_F(TextPretraining, TenStepsEqualFiveAndASaveAndALoadAndFive) {
  run_whole_and_in_parts(text_options("whole"), text_options("parts"), 5);
}

TEST_F(TextPretraining, ARunDoesNotGoOnWithDocumentsApart) {
  PretrainOptions run = text_options("run");
  run.steps = 2;
  pretrain(run, *backend_);
  write_shards("text", 40, 1, false);
  run.start = RunStart::resume;
  EXPECT_THROW(pretrain(run, *backend_), Error);
}

TEST_F(TextPretraining, BatchesAreAFunctionOfTheDrawAndKeepTheirLimits) {
  const TokenShards text(path("text"));
  const PretrainingBatches one(text, *tokenizer_, text_config(), {}, 64, 3);
  const PretrainingBatches two(text, *tokenizer_, text_config(), {}, 64, 3);
  const BatchLimits limits = one.limits(4);
  EXPECT_EQ(limits.masked_tokens, 4 * 62);  // words may be long where samples are short
  for (const std::uint64_t first : {200u, 0u, 36u, 4u}) {
    const Batch a = one.training_batch(first, 4);
    const Batch b = two.training_batch(first, 4);
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.masked_rows, b.masked_rows);
    EXPECT_EQ(a.masked_labels, b.masked_labels);
    EXPECT_LE(static_cast<std::int64_t>(a.masked_labels.size()), limits.masked_tokens);
    EXPECT_TRUE(a.sequence_labels.empty());
    // Whole words: what follows a hidden piece is hidden too, or begins a word, or is no letter.
    const std::set<std::int32_t> hidden(a.masked_rows.begin(), a.masked_rows.end());
    const Batch plain = [&] {
      Batch batch = a;
      for (std::size_t i = 0; i < a.masked_rows.size(); ++i) {
        batch.ids[static_cast<std::size_t>(a.masked_rows[i])] = a.masked_labels[i];
      }
      return batch;
    }();
    for (const std::int32_t row : a.masked_rows) {
      const auto next = static_cast<std::size_t>(row) + 1;
      const bool inner = plain.ids[next] >= static_cast<std::int32_t>(testing::first_inner);
      EXPECT_EQ(inner, inner && hidden.contains(row + 1));
    }
  }
}

TEST_F(TextPretraining, EvaluationCountsBitsByTokenAndByByte) {
  const TokenShards text(path("held_out"));
  const PretrainingBatches batches(text, *tokenizer_, text_config(), {}, 64, 1);
  const auto evaluate = [&](std::int64_t size) {
    Model model(*backend_, text_config(), batches.limits(size), {});
    model.set_parameters(initial_parameters(model.layout(), text_config(), 3));
    EvaluationOptions options;
    options.batch = size;
    options.keep_scored = true;
    return evaluate_pretraining(model, batches, *tokenizer_, options);
  };
  const EvaluationResult one = evaluate(1), three = evaluate(3);
  EXPECT_EQ(one.samples, batches.sampler().size());
  EXPECT_EQ(one.sums[LossMean::mlm].count, three.sums[LossMean::mlm].count);
  EXPECT_NEAR(one.sums[LossMean::mlm].sum, three.sums[LossMean::mlm].sum, 1e-6 * one.sums[LossMean::mlm].sum);
  std::uint64_t bytes = 0;
  for (const ScoredToken& token : one.scored) {
    // A word's first piece covers its blank.
    bytes += token.label < static_cast<std::int32_t>(testing::first_inner) ? 2 : 1;
  }
  ASSERT_GT(bytes, 0u);
  EXPECT_EQ(one.bases_covered, bytes);
  EXPECT_NEAR(one.mlm_loss(), std::log(60.0), 0.28);  // a fresh model guesses
}

TEST_F(TextPretraining, PredictsBetterThanTheUnigramsDo) {
  if (testing::under_sanitizer) GTEST_SKIP() << "600 updates; the other runs are watched";
  PretrainOptions run = text_options("run");
  run.valid = path("held_out");
  run.steps = 600;
  run.batch = 8;
  run.learning_rate = 5e-3;
  run.config.norm_type = NormType::prenorm;  // learns faster at this size
  run.config.embedding_norm = usual_embedding_norm(NormType::prenorm);
  run.warmup = 20;
  run.eval_every = 600;
  run.config.hidden_dropout_prob = 0.0;
  run.config.attention_probs_dropout_prob = 0.0;
  pretrain(run, *backend_);
  const TokenShards text(path("text")), held_out(path("held_out"));
  const ModelConfig config = read_config(path("run") + "/final/config.json");
  const PretrainingBatches batches(held_out, *tokenizer_, config, {}, 128, 1);
  Model model(*backend_, config, batches.limits(2), {});
  model.set_parameters(load_model(path("run") + "/final", HeadType::pretraining, 1).parameters);
  EvaluationOptions options;
  options.batch = 2;
  options.keep_scored = true;
  const EvaluationResult result = evaluate_pretraining(model, batches, *tokenizer_, options);
  const NgramModel ngrams(text, *tokenizer_, 0, 1);
  const double unigram =
      score_baselines(ngrams, result.scored).unigram / static_cast<double>(result.sums[LossMean::mlm].count);
  EXPECT_LT(result.mlm_loss(), 0.85 * unigram);
}

TEST_F(TextPretraining, TextAndDnaDoNotMix) {
  PretrainOptions run = text_options("run");
  run.valid = path("valid");
  EXPECT_THROW(pretrain(run, *backend_), Error);  // another tokenizer's
  // Shards of the same tokenizer that do not say they are text.
  TokenShardWriter writer(path("unsaid"), tokenizer_->vocab_size());
  const std::vector<std::uint32_t> ids(50, testing::first_word_start), lengths = {50};
  writer.add_document(ids, lengths, 50);
  writer.add_document(ids, lengths, 50);
  writer.finish(tokenizer_->digest(), nullptr);
  run.valid = path("unsaid");
  try {
    pretrain(run, *backend_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(error.message().find("text are shards of text"), std::string::npos) << error.message();
  }
}

// --- warm starts

class WarmStart : public TextPretraining {
 protected:
  ~WarmStart() override { chosen_attention() = {}; }
  PretrainOptions from(const std::string& model, const std::string& run) {
    PretrainOptions options = text_options(run);
    options.init = path(model);
    if (model == "roberta") chosen_attention().attention = AttentionPattern::bigbird;
    options.config = read_config(options.init + "/config.json");
    options.config.block_size = 16;
    options.steps = 1;
    options.warmup = 1;  // the rate of the first update is 0
    set_log_sink([this](LogLevel, const std::string& line) { log_ += line + '\n'; });
    return options;
  }
  std::string log_;
};

TEST_F(WarmStart, OfRobertaMapsItsPiecesAndSaysSo) {
  testing::write_tiny_roberta(folder_ / "roberta");
  const PretrainOptions run = from("roberta", "run");
  pretrain(run, *backend_);
  // Of 26 letters in two places: inside of a word all, at its begin "t" and "a"; and the blank.
  const std::string expected = "29 of 60 pieces mapped by string, 5 special, 26 random";
  EXPECT_NE(log_.find(path("roberta") + ": " + expected), std::string::npos) << log_;
  const std::string card = testing::read_text(path("run") + "/final/README.md");
  EXPECT_NE(card.find(expected), std::string::npos) << card;

  const auto source = load_tokenizer(path("roberta"));
  const LoadedModel roberta = load_model(path("roberta"), HeadType::pretraining, run.seed);
  const LoadedModel model = load_model(path("run") + "/final", HeadType::pretraining, 99);
  EXPECT_EQ(model.config.vocab_size, testing::tiny_text_pieces);
  EXPECT_EQ(model.config.tokenizer_digest, tokenizer_->digest());
  EXPECT_EQ(model.config.max_position_embeddings, 128);
  EXPECT_EQ(model.config.sep_token_id, testing::tiny_sep);
  EXPECT_EQ(model.parameters, transferred_parameters(roberta, model.config,
                                                     match_vocabularies(*source, *tokenizer_), run.seed));
}

TEST_F(WarmStart, ResumesAsAnyRun) {
  testing::write_tiny_roberta(folder_ / "roberta");
  PretrainOptions whole = from("roberta", "whole"), parts = from("roberta", "parts");
  whole.steps = parts.steps = 6;
  run_whole_and_in_parts(whole, parts, 3);
}

TEST_F(WarmStart, OfTheSameVocabularyTakesAllAsItIs) {
  PretrainOptions first = text_options("first");
  first.steps = 2;
  pretrain(first, *backend_);
  pretrain(from("first/final", "second"), *backend_);
  EXPECT_EQ(log_.find("mapped by string"), std::string::npos) << log_;
  EXPECT_EQ(tensors(path("second") + "/final/model.safetensors"),
            tensors(path("first") + "/final/model.safetensors"));
}

TEST_F(WarmStart, OfDnaOrWithoutATokenizerIsRefused) {
  PretrainOptions first = options("dna");
  first.steps = 2;
  pretrain(first, *backend_);
  EXPECT_THROW(pretrain(from("dna/final", "of_dna"), *backend_), Error);

  testing::write_tiny_roberta(folder_ / "bare");
  fs::remove(folder_ / "bare/vocab.json");
  fs::remove(folder_ / "bare/merges.txt");
  try {
    pretrain(from("bare", "of_bare"), *backend_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.message().find("the tokenizer has 60 pieces"), std::string::npos) << error.message();
  }
}

TEST_F(WarmStart, ATokenizerThatIsNotTheModelsIsRefused) {
  testing::write_tiny_roberta(folder_ / "roberta");
  const PretrainOptions run = from("roberta", "run");
  fs::remove(folder_ / "roberta/vocab.json");
  fs::remove(folder_ / "roberta/merges.txt");
  SentencePieceModel model = testing::tiny_text_model();
  model.pieces.push_back({"more", -1});
  testing::write_tiny_text_tokenizer(folder_ / "roberta", model);
  EXPECT_THROW(pretrain(run, *backend_), Error);
}

}  // namespace
}  // namespace bigbird
