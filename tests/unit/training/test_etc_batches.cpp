// Batches of BigBird-ETC against rules written apart: links, examples, hidden sentences and the same
// sentences read alone; and what a fresh model of it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "lib/core/error.h"
#include "lib/data/masked_sentences.h"
#include "lib/model/network/validate_config.h"
#include "tests/support/tiny_text_data.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

using Ids = std::vector<std::int32_t>;

class EtcBatches : public TrainingTest {
 protected:
  EtcBatches() {
    testing::write_tiny_text_tokenizer(folder_ / "letters");
    text_ = load_tokenizer(path("letters"));
    dna_ = load_tokenizer(path("tokenizer"));
    // Documents of one sentence to some, which say few words, so that some sentences are equal.
    TokenShardWriter writer(path("text"), text_->vocab_size());
    for (std::size_t d = 0; d < 60; ++d) {
      CounterRng rng(4, Purpose::test, d);
      std::vector<std::uint32_t> ids, lengths;
      for (std::uint64_t s = 0, sentences = 1 + rng.below(d % 6 == 0 ? 40 : 7); s < sentences; ++s) {
        const std::size_t before = ids.size();
        for (std::uint64_t word = 0, words = 1 + rng.below(3); word < words; ++word) {
          const auto letter = static_cast<std::uint32_t>(rng.below(2));
          ids.insert(ids.end(), {testing::first_word_start + letter, testing::first_inner + letter});
        }
        lengths.push_back(static_cast<std::uint32_t>(ids.size() - before));
      }
      writer.add_document(ids, lengths, ids.size());
    }
    TextShardFacts facts;
    writer.finish(text_->digest(), nullptr, &facts);
  }

  static ModelConfig etc_config(const Tokenizer& tokenizer, bool cpc, std::int64_t globals = 20) {
    ModelConfig config = tiny_config();
    config.vocab_size = static_cast<std::int64_t>(tokenizer.vocab_size());
    config.attention = AttentionPattern::etc;
    config.attention_options.etc.globals = globals;
    config.attention_options.etc.cpc = cpc;
    config = fresh_architecture(config);
    config.head = pretraining_head(config);
    return config;
  }
  static PretrainingObjective objective(bool cpc) {
    PretrainingObjective asked;
    asked.cpc = cpc;
    return asked;
  }

  std::unique_ptr<Tokenizer> text_, dna_;
};

// What the batch hides put back.
Ids as_it_was(const Batch& batch) {
  Ids ids = batch.ids;
  for (std::size_t i = 0; i < batch.masked_rows.size(); ++i)
    ids[static_cast<std::size_t>(batch.masked_rows[i])] = batch.masked_labels[i];
  return ids;
}

Ids rows_of(const Ids& ids, const Batch& batch, std::size_t sequence) {
  const auto begin = ids.begin() + batch.token_offsets[sequence];
  return {begin, begin + batch.lengths[sequence]};
}

// One sequence's global ids, links and examples by the rules, token by token.
void expect_inputs(const Batch& batch, std::size_t sequence, const PretrainSample& sample,
                   const std::set<std::size_t>& hidden) {
  const GlobalTokens& globals = batch.globals;
  ASSERT_EQ(globals.lengths[sequence], static_cast<std::int64_t>(sample.sentences.size()));
  const auto first = static_cast<std::size_t>(batch.token_offsets[sequence]);
  const auto first_global = static_cast<std::size_t>(globals.token_offsets[sequence]);
  const std::int32_t documents = sample.sentences.back().document + 1;
  const auto example = [&](const Ids& column, std::size_t at) { return column.empty() ? 0 : column[at]; };
  // Numbers fall from left to right; of a lone one any number will do that both sides have.
  const auto number_of = [&](std::int32_t document) { return documents - document; };
  for (std::size_t s = 0; s < sample.sentences.size(); ++s) {
    const bool is_hidden = hidden.contains(s);
    EXPECT_EQ(globals.ids[first_global + s], is_hidden ? 2 : 1);
    EXPECT_EQ(globals.types[first_global + s], 0);
    if (documents > 1) {
      EXPECT_EQ(example(globals.global_examples, first_global + s), number_of(sample.sentences[s].document));
    }
  }
  std::size_t sentence = 0;
  for (std::size_t t = 0; t < sample.ids.size(); ++t) {
    while (static_cast<std::int32_t>(t) >= sample.sentences[sentence].end) ++sentence;
    EXPECT_EQ(globals.links[0][first + t], static_cast<std::int32_t>(sentence));
    EXPECT_EQ(batch.types[first + t], 1);
    if (documents > 1) {
      EXPECT_EQ(example(globals.examples, first + t), number_of(sample.sentences[sentence].document));
    }
  }
  for (auto row = first + sample.ids.size();
       row < static_cast<std::size_t>(batch.token_offsets[sequence + 1]); ++row) {
    EXPECT_EQ(globals.links[0][row], -1);
    EXPECT_EQ(example(globals.examples, row), 0);
  }
}

TEST_F(EtcBatches, LinkEveryTokenToItsSentenceAndKeepDocumentsApart) {
  for (const bool text : {true, false}) {
    const Tokenizer& tokenizer = text ? *text_ : *dna_;
    const TokenShards shards(path(text ? "text" : "train"));
    const PretrainingBatches batches(shards, tokenizer, etc_config(tokenizer, true), {}, 100, 3);
    EXPECT_FALSE(batches.objective().nsp);
    EXPECT_FALSE(batches.objective().cpc);  // nobody asked
    std::size_t packed = 0;
    for (std::uint64_t draw = 0; draw < 60; draw += 3) {
      const Batch batch = batches.training_batch(draw, 3);
      ASSERT_EQ(batch.sequences(), 3);
      EXPECT_TRUE(batch.sequence_labels.empty());
      EXPECT_TRUE(batch.sentence_pairs.contexts.empty());
      EXPECT_GT(batch.masked_rows.size(), 0u);
      const Ids ids = as_it_was(batch);
      for (std::size_t s = 0; s < 3; ++s) {
        const PretrainSample sample = batches.sampler().training_sample(draw + s);
        EXPECT_EQ(rows_of(ids, batch, s), sample.ids);
        expect_inputs(batch, s, sample, {});
        packed += sample.sentences.back().document > 0 ? 1u : 0u;
      }
    }
    EXPECT_EQ(packed > 20, text);
  }
}

TEST_F(EtcBatches, HideSentencesAndReadThemAloneBehindTheSamples) {
  const TokenShards shards(path("text"));
  const PretrainingBatches batches(shards, *text_, etc_config(*text_, true), objective(true), 100, 3);
  EXPECT_TRUE(batches.objective().cpc);
  const BatchLimits limits = batches.limits(4);
  std::size_t hidden_in_all = 0, equal_texts = 0;
  for (std::uint64_t first = 0; first < 80; first += 4) {
    const Batch batch = batches.training_batch(first, 4);
    const SentencePairs& pairs = batch.sentence_pairs;
    ASSERT_EQ(pairs.contexts.size(), pairs.targets.size());
    ASSERT_EQ(pairs.contexts.size(), pairs.texts.size());
    // Those of a sample share a sequence.
    std::set<std::int64_t> samples_with_hidden;
    for (const std::int32_t context : pairs.contexts) {
      std::int64_t s = 0;
      while (batch.globals.token_offsets[static_cast<std::size_t>(s) + 1] <= context) ++s;
      samples_with_hidden.insert(s);
    }
    ASSERT_EQ(batch.sequences(), static_cast<std::int64_t>(4 + samples_with_hidden.size()));
    std::size_t alone = 3, place = 0;  // the sequence, and where its next sentence begins
    EXPECT_LE(batch.sequences(), limits.sequences);
    EXPECT_LE(batch.tokens(), limits.tokens);
    EXPECT_LE(batch.globals.tokens(), limits.globals);
    EXPECT_LE(static_cast<std::int64_t>(pairs.contexts.size()), limits.sentence_pairs);
    EXPECT_LE(static_cast<std::int64_t>(batch.masked_rows.size()), limits.masked_tokens);
    const Ids ids = as_it_was(batch);
    const std::set<std::int32_t> targets(batch.masked_rows.begin(), batch.masked_rows.end());
    ASSERT_FALSE(batch.masked_rows.empty());
    EXPECT_LT(batch.masked_rows.back(), batch.token_offsets[4]);

    std::size_t pair = 0;
    std::map<Ids, std::int32_t> numbers;
    for (std::size_t s = 0; s < 4; ++s) {
      const PretrainSample sample = batches.sampler().training_sample(first + s);
      std::set<std::size_t> hidden;
      Ids expected = sample.ids;
      for (std::size_t i = 0; i < sample.sentences.size(); ++i) {
        const std::int64_t global = batch.globals.token_offsets[s] + static_cast<std::int64_t>(i);
        if (pair == pairs.contexts.size() || pairs.contexts[pair] != global) continue;
        hidden.insert(i);
        const SentenceSpan span = sample.sentences[i];
        EXPECT_GE(span.size(), least_masked_tokens);
        const Ids words(sample.ids.begin() + span.begin, sample.ids.begin() + span.end);
        std::fill(expected.begin() + span.begin, expected.begin() + span.end,
                  static_cast<std::int32_t>(testing::tiny_mask));
        for (std::int32_t t = span.begin; t < span.end; ++t)
          EXPECT_FALSE(targets.contains(static_cast<std::int32_t>(batch.token_offsets[s]) + t));
        // The same sentence, alone: an example of its own, with one global token.
        if (hidden.size() == 1) {
          ++alone;
          place = 0;
        }
        const auto first_row = static_cast<std::size_t>(batch.token_offsets[alone]) + place;
        const auto number = static_cast<std::int32_t>(hidden.size()) - 1;
        const auto target = static_cast<std::size_t>(pairs.targets[pair]);
        EXPECT_EQ(pairs.targets[pair], batch.globals.token_offsets[alone] + number);
        EXPECT_EQ(batch.globals.ids[target], 1);
        for (std::size_t t = 0; t < words.size(); ++t) {
          EXPECT_EQ(batch.ids[first_row + t], words[t]);
          EXPECT_EQ(batch.globals.links[0][first_row + t], number);
          EXPECT_EQ(batch.globals.examples[first_row + t], batch.globals.global_examples[target]);
        }
        EXPECT_EQ(batch.globals.global_examples[target], number + 1);
        place += words.size();
        EXPECT_LE(static_cast<std::int64_t>(place), batch.lengths[alone]);
        const auto [known, is_new] = numbers.emplace(words, pairs.texts[pair]);
        EXPECT_EQ(known->second, pairs.texts[pair]);
        equal_texts += is_new ? 0u : 1u;
        ++pair;
      }
      EXPECT_EQ(rows_of(ids, batch, s), expected);
      expect_inputs(batch, s, sample, hidden);
      // As many of each document as its sentences ask for, as far as there are long ones.
      for (std::int32_t document = 0; document <= sample.sentences.back().document; ++document) {
        std::int64_t of_it = 0, could_be = 0, are = 0;
        for (std::size_t i = 0; i < sample.sentences.size(); ++i) {
          if (sample.sentences[i].document != document) continue;
          ++of_it;
          could_be += sample.sentences[i].size() >= 4 ? 1 : 0;
          are += hidden.contains(i) ? 1 : 0;
        }
        EXPECT_EQ(are, std::min(could_be, masked_sentence_count(of_it)));
        hidden_in_all += static_cast<std::size_t>(are);
      }
      // Of the rest a share of the words, as without hidden sentences.
      std::set<std::int32_t> words;
      std::int64_t left = 0;
      for (std::size_t t = 0; t < expected.size(); ++t) {
        const std::int32_t id = expected[t];
        const bool begins = id >= static_cast<std::int32_t>(testing::first_word_start) &&
                            id < static_cast<std::int32_t>(testing::first_inner);
        if (!begins) continue;
        ++left;
        if (targets.contains(
                static_cast<std::int32_t>(batch.token_offsets[s] + static_cast<std::int64_t>(t))))
          words.insert(static_cast<std::int32_t>(t));
      }
      EXPECT_EQ(static_cast<std::int64_t>(words.size()), masked_count(0.15, left));
    }
    EXPECT_EQ(pair, pairs.contexts.size());
    std::set<std::int32_t> used(pairs.texts.begin(), pairs.texts.end());
    EXPECT_EQ(used.size(), numbers.size());  // other words have other numbers
  }
  EXPECT_GT(hidden_in_all, 150u);
  EXPECT_GT(equal_texts, 50u);
}

TEST_F(EtcBatches, AreAFunctionOfTheDraw) {
  const TokenShards shards(path("text"));
  const ModelConfig config = etc_config(*text_, true);
  const PretrainingBatches one(shards, *text_, config, objective(true), 100, 3);
  const PretrainingBatches two(shards, *text_, config, objective(true), 100, 3);
  const PretrainingBatches other(shards, *text_, config, objective(true), 100, 4);
  int differ = 0;
  for (const std::uint64_t first : {90u, 0u, 41u, 7u}) {
    const Batch a = one.training_batch(first, 3), b = two.training_batch(first, 3);
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.masked_rows, b.masked_rows);
    EXPECT_EQ(a.globals.ids, b.globals.ids);
    EXPECT_EQ(a.globals.links[0], b.globals.links[0]);
    EXPECT_EQ(a.sentence_pairs.contexts, b.sentence_pairs.contexts);
    EXPECT_EQ(a.sentence_pairs.texts, b.sentence_pairs.texts);
    differ += a.globals.ids != other.training_batch(first, 3).globals.ids ? 1 : 0;
    // A sample hides the same sentences in whatever batch it stands.
    const Batch alone = one.training_batch(first + 1, 1);
    const auto begin = a.ids.begin() + a.token_offsets[1];
    EXPECT_EQ(rows_of(alone.ids, alone, 0), Ids(begin, begin + a.lengths[1]));
  }
  EXPECT_EQ(differ, 4);
}

TEST_F(EtcBatches, PiecesOfAnEvaluationAreThoseOfTheShardsInTheirOrder) {
  const TokenShards shards(path("text"));
  const PretrainingBatches batches(shards, *text_, etc_config(*text_, true), objective(true), 100, 3);
  std::vector<std::uint64_t> pieces(static_cast<std::size_t>(batches.sampler().size()));
  std::iota(pieces.begin(), pieces.end(), 0u);
  Ids left;
  const Batch all = batches.piece_batch(pieces, &left);
  ASSERT_EQ(left.size(), all.masked_rows.size());
  std::size_t hidden = 0, target = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const PretrainSample sample = batches.sampler().sample(i, i);
    const Batch one = batches.piece_batch(std::vector<std::uint64_t>{i});
    EXPECT_EQ(rows_of(one.ids, one, 0), rows_of(all.ids, all, i));
    hidden += one.sentence_pairs.contexts.size();
    for (; target < left.size() && all.masked_rows[target] < all.token_offsets[i + 1]; ++target) {
      const auto at = static_cast<std::size_t>(all.masked_rows[target] - all.token_offsets[i]);
      EXPECT_EQ(left[target], sample.ids[at - 1]);
    }
  }
  EXPECT_EQ(hidden, all.sentence_pairs.contexts.size());
  EXPECT_GT(all.sequences(), static_cast<std::int64_t>(pieces.size()));
}

// Half of a run, and the other half after a stop, are the whole; so are two micro-batches on two threads.
TEST_F(EtcBatches, ARunWithHiddenSentencesGoesOnAsIfItHadNotStopped) {
  PretrainOptions whole = options("whole"), parts = options("parts");
  for (PretrainOptions* each : {&whole, &parts}) {
    each->train = path("text");
    each->tokenizer = path("letters");
    each->config = etc_config(*text_, true);
    each->length = 100;
    each->accumulate = 2;
  }
  run_whole_and_in_parts(whole, parts, 5);
  EXPECT_NE(first_metric("whole", "contrast_loss"), "NA");
  parts.run = path("threads");
  parts.start = RunStart::fresh;
  kernels::set_thread_count(2);
  pretrain(parts, *backend_);
  kernels::set_thread_count(1);
  EXPECT_EQ(tensors(path("threads") + "/final/model.safetensors"),
            tensors(path("whole") + "/final/model.safetensors"));
}

TEST_F(EtcBatches, AFreshModelIsEtcmodelsAndOthersAreAsTheyWere) {
  ModelConfig config = etc_config(*text_, false);
  EXPECT_NO_THROW(validate(config, "a test"));
  EXPECT_EQ(config.type_vocab_size, 16);
  EXPECT_EQ(config.num_random_blocks, 0);
  EXPECT_EQ(config.embedding_norm, EmbeddingNorm::before_dropout);
  EXPECT_EQ(config.position_type, PositionType::none);
  EXPECT_EQ(config.layer_norm_eps, 1e-12);
  const ModelConfig other = fresh_architecture(tiny_config());
  EXPECT_EQ(other.type_vocab_size, 2);
  EXPECT_EQ(other.num_random_blocks, 1);
  EXPECT_EQ(other.position_type, PositionType::absolute);
  EXPECT_EQ(pretraining_head(other), HeadType::pretraining);
}

TEST_F(EtcBatches, RefuseNextSentencesAndNothingToLearn) {
  const TokenShards shards(path("text"));
  const ModelConfig config = etc_config(*text_, false);
  const auto refused = [&](const PretrainingObjective& asked) {
    try {
      const PretrainingBatches batches(shards, *text_, config, asked, 100, 3);
      return std::string("taken");
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      return error.message();
    }
  };
  PretrainingObjective asked;
  EXPECT_EQ(refused(asked), "taken");  // as it is asked of DNA by default
  asked.nsp_of_text = true;
  EXPECT_EQ(refused(asked), "attention etc learns no next sentences");
  asked = {};
  asked.mlm = false;
  EXPECT_NE(refused(asked).find("leaves nothing to learn"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
