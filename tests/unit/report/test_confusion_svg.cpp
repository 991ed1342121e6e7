// The confusion table as a picture: a cell for each pair, shaded by the share of its row.
#include "lib/report/text_evaluations.h"

#include <gtest/gtest.h>

#include "tests/unit/io/expect_error.h"
#include "tests/unit/report/occurrences.h"

namespace bigbird {
namespace {

ScoredTexts three_classes() {
  ScoredTexts scored;
  scored.classes = ClassNames::in_order({"a<b", std::string(40, 'x'), "never"});
  scored.labels = {0, 0, 0, 0, 1};
  scored.predicted = {0, 0, 0, 1, 2};
  return scored;
}

TEST(ConfusionSvg, EveryPairHasACellAndItsCount) {
  const std::string svg = confusion_svg(three_classes());
  EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
  EXPECT_EQ(occurrences(svg, "<rect "), 9u + occurrences(svg, "fill=\"white\"/>"));
  EXPECT_EQ(occurrences(svg, "fill-opacity=\"0.750\""), 1u);
  EXPECT_EQ(occurrences(svg, "fill-opacity=\"0.250\""), 1u);
  EXPECT_EQ(occurrences(svg, "fill-opacity=\"1.000\""), 1u);
  EXPECT_EQ(occurrences(svg, "fill-opacity=\"0.000\""), 6u);  // a class without examples divides by nothing
  EXPECT_EQ(occurrences(svg, ">3</text>"), 1u);
  EXPECT_EQ(occurrences(svg, "nan"), 0u);
  for (const char* part : {"role=\"img\"", "<title>", "<desc>rows: gold class"})
    EXPECT_EQ(occurrences(svg, part), 1u);
}

// Each class stands at its row and at its column, escaped; a long name is shortened.
TEST(ConfusionSvg, NamesAreEscapedAndShortened) {
  const std::string svg = confusion_svg(three_classes());
  EXPECT_EQ(occurrences(svg, ">a&lt;b</text>"), 2u);
  EXPECT_EQ(occurrences(svg, std::string(23, 'x') + "…</text>"), 2u);
  EXPECT_EQ(occurrences(svg, std::string(24, 'x')), 0u);
  EXPECT_EQ(occurrences(svg, ">never</text>"), 2u);
}

TEST(ConfusionSvg, WhatHasNoTableIsRefused) {
  ScoredTexts scored = three_classes();
  scored.problem = ProblemType::multi_label;
  testing::expect_bad_input(testing::error_of([&] { confusion_svg(scored); }), "one class each", "100");
  std::vector<std::string> names;
  for (int i = 0; i < 101; ++i) names.push_back(std::to_string(i));
  scored = three_classes();
  scored.classes = ClassNames(names);
  testing::expect_bad_input(testing::error_of([&] { confusion_svg(scored); }), "at most", "100 classes");
}

}  // namespace
}  // namespace bigbird
