// The picture of substitution effects: heights, what is drawn and what is not, text that must be escaped.
#include "lib/report/sequence_logo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/report/occurrences.h"

namespace bigbird {
namespace {

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// A is worth 0.3, C hurts by 0.1, the effect of the second G is not known, N.
const SequenceLogo four_bases = {
    "chr1:9-12", "profile 0: K562|CTCF <TF>",
    "chr1",      9,
    "ACGN",      {0, -0.3F, -0.2F, -0.4F, 0.1F, 0, 0.1F, 0.1F, nan, nan, 0, nan, nan, nan, nan, nan}};

TEST(SequenceLogo, ImportanceIsMinusTheMeanOfTheSubstitutions) {
  EXPECT_NEAR(base_importance(four_bases, 0), 0.3, 1e-7);
  EXPECT_NEAR(base_importance(four_bases, 1), -0.1, 1e-7);
  EXPECT_TRUE(std::isnan(base_importance(four_bases, 2)));
  EXPECT_TRUE(std::isnan(base_importance(four_bases, 3)));
}

TEST(SequenceLogo, DrawsALetterForEachKnownBaseAndACellForEachSubstitution) {
  const std::string svg = sequence_logo_svg(four_bases);
  EXPECT_EQ(occurrences(svg, "<use href=\"#A\""), 1u);
  EXPECT_EQ(occurrences(svg, "<use href=\"#C\""), 1u);
  EXPECT_EQ(occurrences(svg, "<use href=\"#G\""), 0u);
  EXPECT_EQ(occurrences(svg, "<circle"), 3u) << "the base itself, where it is not a N";
  EXPECT_EQ(occurrences(svg, "#d9d9d9"), 7u) << "cells that are not known";
  EXPECT_EQ(occurrences(svg, "opacity"), 1u) << "the letter below the axis";
  EXPECT_NE(svg.find("K562|CTCF &lt;TF&gt;"), std::string::npos);
  EXPECT_NE(svg.find(">chr1:9-12<"), std::string::npos);
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  // 0.3 and -0.1 share 130 units of height: A is three times as high as C.
  EXPECT_NE(svg.find("97.50)"), std::string::npos) << svg;
  EXPECT_NE(svg.find("32.50)"), std::string::npos);
}

TEST(SequenceLogo, MarksTheVariantAndStatesItsScale) {
  SequenceLogo logo = four_bases;
  EXPECT_EQ(occurrences(sequence_logo_svg(logo), "class=\"variant\""), 0u);
  logo.marked = {1, 3};
  const std::string svg = sequence_logo_svg(logo);
  const std::size_t box = svg.find("<rect class=\"variant\" x=\"108.00\"");
  ASSERT_NE(box, std::string::npos) << svg;
  EXPECT_EQ(svg.find("width=\"48.00\"", box), svg.find("width=", box)) << "two bases of 24";
  EXPECT_NE(svg.find(">importance<"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "one scale for all rows: letters from -0.1 to 0.3, colours from -0.4 to 0.4"),
            1u);
  for (const char* part : {"role=\"img\"", "<title>chr1:9-12</title>", "<desc>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

TEST(SequenceLogo, LongRegionsAreBrokenIntoRows) {
  SequenceLogo logo{"chr1:1-250", "profile 0", "chr1", 1, std::string(250, 'A'), {}};
  for (std::size_t i = 0; i < 250; ++i) logo.effects.insert(logo.effects.end(), {0, -1, -1, -1});
  const std::string svg = sequence_logo_svg(logo);
  EXPECT_EQ(occurrences(svg, "<use"), 250u);
  for (const char* position : {">10<", ">100<", ">110<", ">250<"}) EXPECT_EQ(occurrences(svg, position), 1u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(SequenceLogo, NoEffectAtAllIsStillAPicture) {
  const SequenceLogo flat{"chr1:1-1", "", "chr1", 1, "A", {0, 0, 0, 0}};
  const std::string svg = sequence_logo_svg(flat);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_EQ(occurrences(svg, "<use"), 0u);
}

}  // namespace
}  // namespace bigbird
