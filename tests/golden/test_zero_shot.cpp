// What a masked language model says of changes of sequence, against transformers in plain loops
// (tests/peers/make_zero_shot.py): SNVs, several bases, insertions, deletions, ends of windows and N, with
// single bases, pairs, longer pieces and 6-mers for a vocabulary, on both strands.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lib/genomics/language_scorer.h"
#include "lib/tokenization/sentencepiece_model.h"
#include "tests/golden/huggingface_file.h"
#include "tests/support/kmers.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

const nlohmann::json& golden() {
  static const nlohmann::json file =
      nlohmann::json::parse(read_text(source_dir() / "tests/golden/zero_shot.json"));
  return file;
}

class ZeroShotGolden : public ::testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (vocabulary.at("pieces").is_null()) {
      write_six_mers();
    } else {
      write_pieces(vocabulary.at("pieces"));
    }
    for (const nlohmann::json& row : vocabulary.at("changes")) {
      changes.push_back({row.at("reference"), row.at("begin"), row.at("removed"), row.at("added")});
      where.push_back(fmt::format("change {}", where.size()));
    }
  }

  void write_pieces(const std::vector<std::string>& pieces) {
    write_text(folder.path() / "spiece.model", serialize_sentencepiece_model(make_dna_model(pieces, 16)));
    nlohmann::json config = golden().at("config");
    config["vocab_size"] = 10 + pieces.size();
    config["model_type"] = "big_bird";
    config["architectures"] = {"BigBirdForMaskedLM"};
    write_formula_model(folder.path().string(), config.dump());
  }
  // Nucleotide Transformer's.
  void write_six_mers() {
    write_text(folder.path() / "vocab.txt",
               "<unk>\n<pad>\n<mask>\n<cls>\n" + every_kmer(6) + "A\nT\nC\nG\nN");
    write_text(folder.path() / "tokenizer_config.json",
               R"({"tokenizer_class": "EsmTokenizer", "cls_token": "<cls>", "pad_token": "<pad>",
                   "mask_token": "<mask>", "unk_token": "<unk>", "eos_token": null})");
    nlohmann::json config = golden().at("esm_config");
    config["model_type"] = "esm";
    config["architectures"] = {"EsmForMaskedLM"};
    write_formula_model(folder.path().string(), config.dump());
  }

  std::vector<ChangeScores> scores_of(const LanguageScorerOptions& options, std::uint64_t* passes = nullptr) {
    LanguageScorer scorer(options, *backend);
    for (const nlohmann::json& text : vocabulary.at("counted")) scorer.count_pieces(text.get<std::string>());
    std::vector<ChangeScores> scores;
    scorer.add(changes, where, [&](const std::vector<ChangeScores>& made) { scores = made; });
    scorer.finish();
    if (passes != nullptr) *passes = scorer.passes().asked;
    return scores;
  }

  const nlohmann::json& vocabulary = golden().at("vocabularies").at(GetParam());
  TemporaryFolder folder;
  std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
  std::vector<SequenceChange> changes;
  std::vector<std::string> where;
};

TEST_P(ZeroShotGolden, EveryNumberIsTransformers) {
  const std::map<std::string, LanguagePasses> ways{{"left-to-right", LanguagePasses::left_to_right},
                                                   {"joint", LanguagePasses::joint},
                                                   {"none", LanguagePasses::unmasked}};
  double largest = 0;
  for (const auto& [name, way] : ways) {
    std::uint64_t passes = 0, expected_passes = 0;
    const std::vector<ChangeScores> scores = scores_of(
        {.models = {folder.path().string()}, .passes = way, .distances = name == "joint", .batch = {}},
        &passes);
    ASSERT_EQ(scores.size(), 20u);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      ASSERT_EQ(scores[i].strands.size(), 2u);
      for (std::size_t strand = 0; strand < 2; ++strand) {
        SCOPED_TRACE(fmt::format("{}, {}, strand {}", name, where[i], strand));
        const nlohmann::json& wanted = vocabulary.at("changes").at(i).at("strands").at(strand);
        const StrandChange& made = scores[i].strands[strand];
        const auto near = [&](double value, const char* of) {
          const double expected = wanted.at(of);
          largest = std::max(largest, std::abs(value - expected));
          EXPECT_NEAR(value, expected, 1e-5 * std::max(1.0, std::abs(expected))) << of;
        };
        near(made.ratio, name.c_str());
        near(made.control, "control");
        if (name == "joint") {
          near(made.distance, "l2");
          near(made.cosine, "cos");
        }
        const std::vector<std::uint64_t> different = wanted.at("different");
        for (const std::uint64_t tokens : different)
          expected_passes += name == "left-to-right" ? tokens : name == "joint" ? tokens > 0 ? 2 : 1 : 1;
      }
    }
    EXPECT_EQ(passes, expected_passes) << name;
  }
  RecordProperty("largest_difference", fmt::format("{:.3g}", largest));
}

// The same bits, whatever else is asked for together, and on one strand.
TEST_P(ZeroShotGolden, WhatIsAddedTogetherChangesNothing) {
  const LanguageScorerOptions options{.models = {folder.path().string()}, .batch = {}};
  const std::vector<ChangeScores> together = scores_of(options);
  LanguageScorerOptions reverse = options;
  reverse.strands = Strands::reverse;
  const std::vector<SequenceChange> all = changes;
  for (std::size_t i = 0; i < all.size(); i += 3) {
    changes = {all[i]};
    const ChangeScores alone = scores_of(options).front();
    for (std::size_t strand = 0; strand < 2; ++strand) {
      const StrandChange &a = alone.strands[strand], &b = together[i].strands[strand];
      EXPECT_EQ(a.ratio, b.ratio);
      EXPECT_EQ(a.control, b.control);
      EXPECT_EQ(a.distance, b.distance);
      EXPECT_EQ(a.cosine, b.cosine);
    }
    const std::vector<StrandChange> second = scores_of(reverse).front().strands;
    ASSERT_EQ(second.size(), 1u);
    EXPECT_EQ(second[0].ratio, together[i].strands[1].ratio);
    EXPECT_EQ(second[0].distance, together[i].strands[1].distance);
  }
  // Two models of the same weights have the mean of one; what they ask for they share with none.
  changes = all;
  LanguageScorerOptions twice = options;
  twice.models.push_back(folder.path().string());
  const std::vector<ChangeScores> mean = scores_of(twice);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    EXPECT_NEAR(mean[i].strands[0].ratio, together[i].strands[0].ratio, 1e-12);
    EXPECT_NEAR(mean[i].strands[0].distance, together[i].strands[0].distance, 1e-12);
    EXPECT_NEAR(mean[i].strands[0].control, together[i].strands[0].control, 1e-12);
  }
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, ZeroShotGolden, ::testing::Values(0, 1, 2, 3), [](const auto& test) {
  return golden().at("vocabularies").at(test.param).at("name").template get<std::string>();
});

}  // namespace
}  // namespace bigbird::testing
