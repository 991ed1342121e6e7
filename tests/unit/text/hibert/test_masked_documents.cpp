// Which sentences are masked (H3): counts, shares, what a choice depends on; and the batches made of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lib/model/network/validate_config.h"
#include "lib/text/hibert/masked_documents.h"
#include "lib/text/hibert/pretrain.h"

namespace bigbird {
namespace {

// |count - n p| within 3 standard deviations.
void expect_share(double count, double draws, double share, const char* what) {
  EXPECT_LT(std::abs(count - draws * share), 3 * std::sqrt(draws * share * (1 - share))) << what;
}

TEST(SentenceChoice, H3CountsAreTheFormulas) {
  for (std::size_t sentences = 1; sentences <= 40; ++sentences) {
    const auto expected = static_cast<std::size_t>(
        std::min(std::max(1, static_cast<int>(0.15 * static_cast<double>(sentences))), 5));
    EXPECT_EQ(sentences_to_choose(sentences), expected) << sentences;
    const std::vector<ChosenSentence> chosen = choose_sentences(3, sentences, 0, {sentences, 4});
    EXPECT_EQ(chosen.size(), expected);
    std::set<std::size_t> distinct;
    for (const ChosenSentence& of : chosen) distinct.insert(of.sentence);
    EXPECT_EQ(distinct.size(), expected);
    EXPECT_LT(*distinct.rbegin(), sentences);
  }
}

TEST(SentenceChoice, H3SharesAreThosePublished) {
  constexpr std::uint64_t draws = 100000;
  const std::vector<std::size_t> counts = {20, 2, 7};  // three of 20
  std::map<SentenceChange, double> changes;
  std::vector<double> places(20, 0.0);
  std::map<std::size_t, double> others;
  double chosen = 0;
  for (std::uint64_t draw = 0; draw < draws; ++draw) {
    for (const ChosenSentence& of : choose_sentences(11, draw, 0, counts)) {
      ++chosen;
      ++changes[of.change];
      ++places[of.sentence];
      if (of.change != SentenceChange::replaced) continue;
      ASSERT_NE(of.document, 0u);
      ASSERT_LT(of.other, counts[of.document]);
      ++others[of.document * 10 + of.other];
    }
  }
  EXPECT_EQ(chosen, 3.0 * draws);
  expect_share(changes[SentenceChange::masked], chosen, 0.8, "masked");
  expect_share(changes[SentenceChange::kept], chosen, 0.1, "kept");
  const double replaced = changes[SentenceChange::replaced];
  expect_share(replaced, chosen, 0.1, "replaced");
  // 20 places each at three deviations: one in 18 runs of another seed would miss a place.
  for (const double count : places) expect_share(count, static_cast<double>(draws), 0.15, "place");
  ASSERT_EQ(others.size(), 9u);
  expect_share(others[10] + others[11], replaced, 0.5, "a document");
  expect_share(others[20], replaced, 0.5 / 7, "a sentence of it");
}

TEST(SentenceChoice, IsAFunctionOfSeedAndDraw) {
  const std::vector<std::size_t> counts = {30, 30};
  const auto numbers = [&](std::uint64_t seed, std::uint64_t draw) {
    std::vector<std::size_t> of;
    for (const ChosenSentence& chosen : choose_sentences(seed, draw, 1, counts)) {
      of.insert(of.end(), {chosen.sentence, static_cast<std::size_t>(chosen.change), chosen.other});
    }
    return of;
  };
  EXPECT_EQ(numbers(1, 5), numbers(1, 5));
  EXPECT_NE(numbers(1, 5), numbers(1, 6));
  EXPECT_NE(numbers(1, 5), numbers(2, 5));
}

TEST(SentenceChoice, AloneADocumentHasNothingToReplaceWith) {
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    for (const ChosenSentence& of : choose_sentences(1, draw, 0, {6}))
      EXPECT_NE(of.change, SentenceChange::replaced);
  }
}

TEST(MaskedDocuments, HaveTheirChangesAndWhatIsToBeWritten) {
  ModelConfig config;
  config.hidden_size = 16;
  config.num_attention_heads = 2;
  config.num_hidden_layers = 1;
  config.intermediate_size = 16;
  config.vocab_size = 40;
  config = hibert_architecture(config);
  config.decoder.start_token_id = 2;
  validate(config, "test");
  SentenceDocuments documents;
  documents.documents = {{{10, 11, 3}, {12, 3}, {13, 14, 15, 3}}, {{20, 3}, {21, 22, 3}}};
  Batch batch;
  append_masked_document(batch, config, documents, 1, {}, 4);
  append_masked_document(batch, config, documents, 0,
                         {{0, SentenceChange::masked, 0, 0},
                          {1, SentenceChange::replaced, 1, 1},
                          {2, SentenceChange::kept, 0, 0}},
                         4);
  EXPECT_EQ(batch.documents.sentence_offsets, (std::vector<std::int64_t>{0, 2, 5}));
  EXPECT_EQ(batch.documents.written, (std::vector<std::int32_t>{2, 3, 4}));
  const auto sequence = [](const auto& of, const std::vector<std::int32_t>& ids, std::size_t s) {
    const auto first = ids.begin() + of.token_offsets[s];
    return std::vector<std::int32_t>(first, first + of.lengths[s]);
  };
  EXPECT_EQ(sequence(batch, batch.ids, 2), (std::vector<std::int32_t>{4, 4, 3}));
  EXPECT_EQ(sequence(batch, batch.ids, 3), (std::vector<std::int32_t>{21, 22, 3}));
  EXPECT_EQ(sequence(batch, batch.ids, 4), (std::vector<std::int32_t>{13, 14, 15, 3}));
  EXPECT_EQ(sequence(batch.targets, batch.targets.ids, 1), (std::vector<std::int32_t>{2, 12}));
  EXPECT_EQ(sequence(batch.targets, batch.targets.labels, 0), (std::vector<std::int32_t>{10, 11, 3}));
  EXPECT_EQ(sequence(batch.targets, batch.targets.labels, 1), (std::vector<std::int32_t>{12, 3}));
}

}  // namespace
}  // namespace bigbird
