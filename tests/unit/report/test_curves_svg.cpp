// Curves as pictures: where the points land, and which profiles are drawn.
#include "lib/report/curves.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

bool holds(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST(CurvesSvg, PointsLieInThePanelWithYUpwards) {
  PlotPanel panel{"ROC", "x", "y", true, {}};
  panel.lines.push_back({"a < b & c", {{0, 0}, {0.5, 1}, {1, 1}}, 0, 0, false, false});
  const std::string svg = curves_svg("title", {panel});
  // The square is 320 wide and its upper left corner at 84, 76.
  EXPECT_TRUE(holds(svg, "M84.0 396.0 L244.0 76.0 L404.0 76.0")) << svg;
  EXPECT_TRUE(holds(svg, "a &lt; b &amp; c"));
  panel.lines[0].points = {{0.25, 1}, {1, 0.5}};
  panel.lines[0].steps = true;
  EXPECT_TRUE(holds(curves_svg("title", {panel}), "M84 76.0 H164.0 V236.0 H404.0"));
}

ProfileScores scored(double auroc) {
  ProfileScores scores;
  scores.ranks = {10, 90, auroc, 0.5};
  scores.roc = {{0, 0}, {1, 1}};
  scores.precision_recall = {{1, 0.1}};
  return scores;
}

TEST(ChromatinCurves, TheMedianProfileOfEachGroupIsDrawn) {
  const std::vector<Profile> profiles = {{"t0", "TF"}, {"t1", "TF"},  {"t2", "TF"}, {"t3", "TF"},
                                         {"h0", "HM"}, {"d0", "DHS"}, {"t4", "TF"}};
  ChromatinScores scores;
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  for (const double auroc : {0.9, 0.6, 0.7, 0.8, 0.5}) scores.profiles.push_back(scored(auroc));
  scores.profiles.push_back({{0, 100, none, none}, {}, {}});
  scores.profiles.push_back({{0, 100, none, none}, {}, {}});
  scores.groups = score_groups(profiles, scores.profiles);
  ASSERT_EQ(scores.groups.size(), 4u);
  EXPECT_EQ(scores.groups[0].scored, 4u);
  EXPECT_EQ(scores.groups[0].profiles, 5u);
  EXPECT_DOUBLE_EQ(scores.groups[0].median_auroc, 0.75);
  EXPECT_DOUBLE_EQ(scores.groups[3].median_auroc, 0.7);
  EXPECT_DOUBLE_EQ(scores.groups[3].mean_auroc, 0.7);
  EXPECT_EQ(median_profiles(scores, profiles), (std::vector<std::size_t>{2, 4}));

  const std::string svg = chromatin_curves_svg("t", {scores}, profiles, {2, 4});
  EXPECT_TRUE(holds(svg, "2 t2 (TF), AUROC 0.700"));
  EXPECT_TRUE(holds(svg, "4 h0 (HM), AUPRC 0.500, 0.1 positive"));
  testing::expect_message(testing::error_of([&] { chromatin_curves_svg("t", {scores}, profiles, {5}); }),
                          "profile 5 (d0)", "no curve");
  testing::expect_message(testing::error_of([&] { chromatin_curves_svg("t", {scores}, profiles, {7}); }),
                          "profile 7", "no profile");
  const auto files = chromatin_curve_files({scores}, profiles, {2, 4});
  EXPECT_EQ(files.size(), 3u) << "medians, TF, HM; DHS has nothing to draw";
  EXPECT_TRUE(holds(files.at("TF.svg"), "TF: 4 of 4 profiles"));
}

}  // namespace
}  // namespace bigbird
