// Scores of variants: values worked out by hand, what happens at the ends of probability, groups, shares of
// changed tokens against a plain table of longest common subsequences, and E-values against plain counting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/genomics/effect_scores.h"
#include "lib/genomics/variants/background.h"
#include "lib/genomics/variants/chunk_scorer.h"
#include "tests/support/support.h"

namespace bigbird::testing {
namespace {

TEST(VariantScores, AreTakenOnEachStrandAndThenAveraged) {
  const std::vector<double> reference{0.5, 0.2};
  const std::vector<double> alternative{0.75, 0.8};
  const Effect effect = effect_of(reference, alternative);
  EXPECT_DOUBLE_EQ(effect.reference, 0.35);
  EXPECT_DOUBLE_EQ(effect.alternative, 0.775);
  EXPECT_DOUBLE_EQ(effect.difference, 0.425);
  // Odds 1 -> 3 and 1/4 -> 4: (log2 3 + log2 16) / 2. Of the averaged probabilities it would be 2.68.
  EXPECT_NEAR(effect.log_fold_change, (std::log2(3.0) + 4) / 2, 1e-10);
  // DeepSEA's guard as the formula has it.
  const Effect one = effect_of(std::vector<double>{0.9}, std::vector<double>{1.0});
  EXPECT_NEAR(one.log_fold_change, std::log2(1.0 / 1e-12) - std::log2(0.9 / (0.1 + 1e-12)), 1e-9);
}

TEST(VariantScores, AreFiniteForProbabilitiesOfNothingAndOfOne) {
  for (const double before : {0.0, 1e-300, 0.5, 1.0}) {
    for (const double after : {0.0, 1e-300, 0.5, 1.0}) {
      const Effect effect = effect_of(std::vector<double>{before}, std::vector<double>{after});
      EXPECT_TRUE(std::isfinite(effect.log_fold_change)) << before << " " << after;
      EXPECT_EQ(effect.log_fold_change > 0, after > before) << before << " " << after;
      EXPECT_EQ(effect.log_fold_change < 0, after < before) << before << " " << after;
    }
  }
}

TEST(VariantScores, ExchangingTheAllelesTurnsTheSigns) {
  const std::vector<double> one{0.1, 0.3}, other{0.6, 0.2};
  const Effect forth = effect_of(one, other), back = effect_of(other, one);
  EXPECT_DOUBLE_EQ(forth.difference, -back.difference);
  EXPECT_DOUBLE_EQ(forth.log_fold_change, -back.log_fold_change);
  EXPECT_EQ(effect_size(0.5f, -2.0f), 1.0f);
}

TEST(VariantScores, NamesOfColumnsAreDistinctInLowerCase) {
  EXPECT_EQ(column_ids({"A549|MAX", "CTCF:0", "CTCF:1", "a549 max", "A549_MAX_2", "A549.MAX", "Z"}),
            (std::vector<std::string>{"A549_MAX", "CTCF_0", "CTCF_1", "a549_max_2", "A549_MAX_2_2",
                                      "A549_MAX_3", "Z"}));
  EXPECT_EQ(column_ids({"\xCE\xB1", "8988T"}), (std::vector<std::string>{"__", "8988T"}));
}

TEST(VariantScores, GroupsKeepTheChangeOfLargestSize) {
  const std::vector<ProfileGroup> groups =
      profile_groups({{"a", "TF"}, {"b", "DHS"}, {"c", "TF"}, {"d", "."}, {"e", "T-F"}, {"f", "T.F"}});
  ASSERT_EQ(groups.size(), 5u);
  EXPECT_EQ(groups[0].id, "TF");
  EXPECT_EQ(groups[0].profiles, (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(groups[2].id, "OTHER");
  EXPECT_EQ(groups[3].id, "T_F");
  EXPECT_EQ(groups[4].id, "T_F_2");
  const std::vector<float> differences{0.1f, 9, -0.4f, 9, 9, 9};
  const std::vector<float> changes{3, 9, -3, 9, 9, 9};
  const GroupSummary summary = summarize_group(groups[0], differences, changes);
  EXPECT_EQ(summary.difference, -0.4f);
  EXPECT_EQ(summary.difference_profile, 2);
  EXPECT_EQ(summary.log_fold_change, 3.0f);
  EXPECT_EQ(summary.log_fold_change_profile, 0);  // the first of equals
  EXPECT_TRUE(profile_groups({{"a", "TF"}, {"b", "TF"}}).empty());
  EXPECT_TRUE(profile_groups({{"a", "."}}).empty());
}

TEST(VariantScores, FunctionalScoreIsTheGeometricMean) {
  EXPECT_NEAR(functional_score(std::vector<double>{0.5, 0.08}), 0.2, 1e-12);
  EXPECT_NEAR(functional_score(std::vector<double>{1e-6}), 1e-6, 1e-15);
  // The product of two geometric means: 0.2 times the cube root of 0.5 * 0.02 * 0.8, with NumPy.
  EXPECT_NEAR(functional_score(std::vector<double>{0.5, 0.08}, std::vector<double>{0.5, 0.02, 0.8}), 0.04,
              1e-12);
}

// The textbook table.
double share_by_table(const std::vector<std::int32_t>& before, const std::vector<std::int32_t>& after) {
  std::vector<std::vector<int>> common(before.size() + 1, std::vector<int>(after.size() + 1, 0));
  for (std::size_t i = 1; i <= before.size(); ++i) {
    for (std::size_t j = 1; j <= after.size(); ++j) {
      common[i][j] = before[i - 1] == after[j - 1] ? common[i - 1][j - 1] + 1
                                                   : std::max(common[i - 1][j], common[i][j - 1]);
    }
  }
  const std::size_t longer = std::max(before.size(), after.size());
  if (longer == 0) return 0;
  return 1 - static_cast<double>(common.back().back()) / static_cast<double>(longer);
}

TEST(TokenChange, IsOneMinusTheShareOfALongestCommonSubsequence) {
  using Ids = std::vector<std::int32_t>;
  EXPECT_EQ(changed_token_share(Ids{}, Ids{}), 0.0);
  EXPECT_EQ(changed_token_share(Ids{1, 2, 3}, Ids{1, 2, 3}), 0.0);
  EXPECT_EQ(changed_token_share(Ids{1, 2}, Ids{3, 4, 5}), 1.0);
  EXPECT_EQ(changed_token_share(Ids{1, 2, 3, 4}, Ids{9, 1, 2, 3}), 0.25);
  EXPECT_EQ(changed_token_share(Ids{}, Ids{3}), 1.0);
  CounterRng random(5, Purpose::test, 1);
  for (int round = 0; round < 300; ++round) {
    Ids before(random.below(30)), after(random.below(30));
    const std::uint32_t letters = 1 + static_cast<std::uint32_t>(random.below(6));
    for (std::int32_t& id : before) id = static_cast<std::int32_t>(random.below(letters));
    for (std::int32_t& id : after) id = static_cast<std::int32_t>(random.below(letters));
    ASSERT_NEAR(changed_token_share(before, after), share_by_table(before, after), 1e-12) << round;
  }
}

TEST(VariantBackground, CountsStrictlyLargerEffects) {
  const TemporaryFolder folder;
  const std::string path = folder / "background.safetensors";
  const BackgroundOrigin origin{"abc", "window=10"};
  // More than one tile of rows, with ties.
  constexpr std::size_t variants = 10000, profiles = 3;
  std::vector<std::vector<float>> rows;
  CounterRng random(7, Purpose::test, 2);
  {
    BackgroundWriter writer(path, profiles);
    for (std::size_t i = 0; i < variants; ++i) {
      rows.push_back({static_cast<float>(random.below(50)), static_cast<float>(random.below(1000000)) / 7.0f,
                      static_cast<float>(i)});
      writer.add(rows.back());
    }
    EXPECT_EQ(writer.variants(), static_cast<std::int64_t>(variants));
    writer.commit(origin, {});
  }
  const VariantBackground background(path, profiles, origin);
  EXPECT_EQ(background.variants(), static_cast<std::int64_t>(variants));
  EXPECT_EQ(background.digest().size(), 64u);
  for (std::size_t profile = 0; profile < profiles; ++profile) {
    for (const float size : {-1.0f, 0.0f, 25.0f, 49.0f, 5000.0f, 9998.0f, 9999.0f, 2e5f}) {
      const auto larger =
          std::count_if(rows.begin(), rows.end(), [&](const auto& row) { return row[profile] > size; });
      const double expected = larger == 0 ? 1e-6 : static_cast<double>(larger) / variants;
      EXPECT_DOUBLE_EQ(background.e_value(profile, size), expected) << profile << " " << size;
    }
  }
  // Nothing but the file is left.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);

  EXPECT_THROW(VariantBackground(path, profiles, {"abd", "window=10"}), Error);
  EXPECT_THROW(VariantBackground(path, profiles, {"abc", "window=11"}), Error);
  EXPECT_THROW(VariantBackground(path, 4, origin), Error);
  // Without tracks there is nothing to compare tracks with.
  EXPECT_THROW(VariantBackground(path, profiles, {"abc", "window=10", {"A:1"}}), Error);
  BackgroundWriter empty(folder / "empty.safetensors", profiles);
  EXPECT_THROW(empty.commit(origin, {}), Error);
}

TEST(VariantBackground, TracksCountWhatIsAtLeastAsLarge) {
  const TemporaryFolder folder;
  const std::string path = folder / "background.safetensors";
  const BackgroundOrigin origin{"abc", "window=10", {"PHYLOP:1a", "GERP:2b"}};
  const float none = std::numeric_limits<float>::quiet_NaN();
  {
    BackgroundWriter writer(path, 1);
    const std::vector<std::vector<float>> rows = {{3, -1}, {none, 2}, {1, none}, {3, -5}, {-2, none}};
    for (const auto& row : rows) writer.add(std::vector<float>{1}, row);
    writer.commit(origin, {});
  }
  const VariantBackground background(path, 1, origin);
  EXPECT_DOUBLE_EQ(background.track_e_value(0, 3), 0.4);
  EXPECT_DOUBLE_EQ(background.track_e_value(0, 2.5), 0.4);
  EXPECT_DOUBLE_EQ(background.track_e_value(0, 1), 0.6);
  EXPECT_DOUBLE_EQ(background.track_e_value(0, -9), 0.8);  // the one without a value is lower than any
  EXPECT_DOUBLE_EQ(background.track_e_value(0, 4), 1e-6);
  EXPECT_DOUBLE_EQ(background.track_e_value(0, none), 1);
  EXPECT_DOUBLE_EQ(background.track_e_value(1, -5), 0.6);
  // Tracks are found by their names.
  const VariantBackground exchanged(path, 1, {"abc", "window=10", {"GERP:2b", "PHYLOP:1a"}});
  EXPECT_DOUBLE_EQ(exchanged.track_e_value(0, -5), 0.6);
  EXPECT_EQ(exchanged.digest(), background.digest());
  EXPECT_NO_THROW(VariantBackground(path, 1, {"abc", "window=10"}));
  const auto message = [&](const std::vector<std::string>& tracks) {
    try {
      VariantBackground(path, 1, {"abc", "window=10", tracks});
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  EXPECT_NE(message({"GERP:2b"}).find("made with other tracks (PHYLOP, GERP), not with GERP"),
            std::string::npos);
  EXPECT_NE(message({"GERP:2b", "PHASTCONS:1a"}).find("other tracks"), std::string::npos);
  EXPECT_NE(message({"GERP:2b", "PHYLOP:1b"}).find("another file of track PHYLOP"), std::string::npos);
}

TEST(VariantWindows, TheVariantStandsInTheMiddleOfTheTarget) {
  const auto placed = [](VariantWindows windows, const std::optional<ModelWindow>& model) {
    AlleleRules rules;
    place_windows(rules, windows, model);
    return std::vector<std::int64_t>{rules.window, rules.offset, rules.grid, rules.target_offset};
  };
  using Numbers = std::vector<std::int64_t>;
  // DeepSEA: base 499 (from 0) of 1,000.
  EXPECT_EQ(placed({}, ModelWindow{"chromatin", 1000, 400, 200}), (Numbers{1000, 499, 0, 0}));
  EXPECT_EQ(placed({}, ModelWindow{"promoter", 8000, 5000, 1}), (Numbers{8000, 5000, 0, 0}));
  VariantWindows typed;
  typed.window = 1000;
  EXPECT_EQ(placed(typed, std::nullopt), (Numbers{1000, 499, 0, 0}));
  typed.anchor_bin = true;
  EXPECT_EQ(placed(typed, ModelWindow{"chromatin", 1000, 400, 200}), (Numbers{1000, 499, 200, 400}));
  EXPECT_THROW(placed(typed, std::nullopt), Error);
  EXPECT_THROW(placed(typed, ModelWindow{"promoter", 1000, 500, 1}), Error);
  EXPECT_THROW(placed({}, std::nullopt), Error);
  typed.shifts = 4;
  EXPECT_THROW(placed(typed, ModelWindow{"chromatin", 1000, 400, 200}), Error);
}

}  // namespace
}  // namespace bigbird::testing
