// Markov models of bases: probabilities by hand, and bits per base beside plain Python's
// (tests/peers/make_baselines.py).
#include "lib/training/markov_models.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/tokenization/tokenizer.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

double bits_of(MarkovModels& models, std::string_view document, int order) {
  return models.score({document}).bits[static_cast<std::size_t>(order)];
}

TEST(MarkovModels, GiveWhatWittenAndBellDo) {
  MarkovModels models;
  models.count("AAAC");
  EXPECT_EQ(models.bases(), 4u);
  // Order 0 has seen A three times and C once, two kinds: p(A) = (3 + 2/4) / 6, p(G) = (2/4) / 6.
  const double a = 3.5 / 6, c = 1.5 / 6, g = 0.5 / 6;
  EXPECT_NEAR(bits_of(models, "A", 0), -std::log2(a), 1e-12);
  EXPECT_NEAR(bits_of(models, "G", 0), -std::log2(g), 1e-12);
  // After A: A twice, C once.
  const double a_after_a = (2 + 2 * a) / 5, c_after_a = (1 + 2 * c) / 5;
  EXPECT_NEAR(bits_of(models, "AA", 1), -std::log2(a) - std::log2(a_after_a), 1e-12);
  EXPECT_NEAR(bits_of(models, "AC", 1), -std::log2(a) - std::log2(c_after_a), 1e-12);
  // After AA: one of each. Nothing was seen after C.
  EXPECT_NEAR(bits_of(models, "AAC", 2),
              -std::log2(a) - std::log2(a_after_a) - std::log2((1 + 2 * c_after_a) / 4), 1e-12);
  EXPECT_NEAR(bits_of(models, "CA", 1), -std::log2(c) - std::log2(a), 1e-12);
  EXPECT_NEAR(bits_of(models, "CA", 12), bits_of(models, "CA", 1), 1e-12);
}

TEST(MarkovModels, OtherLettersAndEndsBreakTheContext) {
  MarkovModels models, apart;
  models.count("ACGTN");
  models.count("TTGA");
  apart.count("ACGT");
  apart.break_context();
  apart.count("TTGA");
  MarkovModels joined;
  joined.count("ACGT");
  joined.count("TTGA");
  for (const int order : {1, 2, 5}) {
    EXPECT_EQ(bits_of(models, "ACGTTTGA", order), bits_of(apart, "ACGTTTGA", order));
    EXPECT_NE(bits_of(models, "ACGTTTGA", order), bits_of(joined, "ACGTTTGA", order));
  }
  const MarkovModels::Bits broken = models.score({"ACNGT"}), two = models.score({"AC", "GT"});
  EXPECT_EQ(broken.bits, two.bits);
  EXPECT_EQ(broken.bases, 4u);
}

TEST(MarkovModels, WithoutCountsEveryBaseTakesTwoBits) {
  MarkovModels models;
  const MarkovModels::Bits sums = models.score({"ACGTACGTTTGGAANCC"});
  EXPECT_EQ(sums.bases, 16u);
  for (int order = 0; order <= 12; ++order) EXPECT_DOUBLE_EQ(sums.per_base(order), 2.0);
  EXPECT_EQ(sums.best_order(), 1);
}

TEST(MarkovModels, AreThoseOfPlainPython) {
  const auto golden =
      nlohmann::json::parse(testing::read_text(testing::source_dir() / "tests" / "golden" / "baselines.json"))
          .at("markov");
  MarkovModels models;
  for (const auto& text : golden.at("training")) {
    models.count(text.get<std::string>());
    models.break_context();
  }
  const auto held_out = golden.at("held_out").get<std::vector<std::string>>();
  const MarkovModels::Bits sums = models.score({held_out.begin(), held_out.end()});
  EXPECT_EQ(sums.bases, golden.at("bases").get<std::uint64_t>());
  const auto wanted = golden.at("bits_per_base").get<std::vector<double>>();
  ASSERT_EQ(wanted.size(), 13u);
  for (int order = 0; order <= 12; ++order)
    EXPECT_NEAR(sums.per_base(order), wanted[static_cast<std::size_t>(order)], 1e-12) << order;
  EXPECT_EQ(sums.best_order(), 3) << "as the documents were made";
}

// Tokens are read as the bases of their pieces, one document after another.
class MarkovShards : public TrainingTest {};

TEST_F(MarkovShards, AreCountedByTheirBases) {
  const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(path("tokenizer"));
  const TokenShards train(path("train")), valid(path("valid"));
  const auto texts = [&](const TokenShards& shards) {
    std::vector<std::string> documents;
    for (std::uint64_t d = 0; d < shards.document_count(); ++d) {
      const TokenView tokens = shards.document_tokens(d);
      std::string& text = documents.emplace_back();
      for (std::size_t i = 0; i < tokens.size(); ++i)
        text += tokenizer->is_special(tokens[i]) ? "N" : tokenizer->piece(tokens[i]);
    }
    return documents;
  };
  MarkovModels models, by_text;
  models.count(train, *tokenizer, 0, 1);
  for (const std::string& text : texts(train)) {
    by_text.count(text);
    by_text.break_context();
  }
  EXPECT_EQ(models.bases(), by_text.bases());
  EXPECT_LT(models.bases(), train.base_count()) << "it has N";
  EXPECT_GT(models.bases(), train.base_count() * 9 / 10);
  const std::vector<std::string> held_out = texts(valid);
  const MarkovModels::Bits one = models.score(valid, *tokenizer),
                           other = by_text.score({held_out.begin(), held_out.end()});
  EXPECT_EQ(one.bases, other.bases);
  EXPECT_GT(one.bases, 1000u);
  for (std::size_t order = 0; order < one.bits.size(); ++order)
    EXPECT_NEAR(one.bits[order], other.bits[order], 1e-9 * other.bits[order]);
  // A part of the tokens is a part of the bases.
  MarkovModels some;
  some.count(train, *tokenizer, train.token_count() / 2, 1);
  EXPECT_LT(some.bases(), models.bases());
  EXPECT_GT(some.bases(), models.bases() / 4);
}

}  // namespace
}  // namespace bigbird
