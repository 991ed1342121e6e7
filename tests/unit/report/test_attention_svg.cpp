// The picture of a plan: one cell a listed block in each panel it belongs to.
#include "lib/report/attention_svg.h"

#include <gtest/gtest.h>

#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/patterns.h"
#include "tests/unit/report/occurrences.h"

namespace bigbird {
namespace {

TEST(AttentionSvg, DrawsEveryBlockInItsColourTwice) {
  const std::int64_t n = 12;
  const auto rows = pattern_rows(AttentionPattern::bigbird, n, 1,
                                 random_blocks(n, 64, 1, 1, 0, RandomMode::google, 4096))[0];
  const std::string svg = attention_svg({AttentionPattern::bigbird, 64, "title & more", rows});
  // Each block appears in its own panel and in the combined one. Global: two full rows and two full columns.
  EXPECT_EQ(occurrences(svg, "#7fbf7b"), 2u * (2 * 12 + 2 * 10));
  EXPECT_EQ(occurrences(svg, "#f0a35e"), 2u * 10);
  EXPECT_EQ(occurrences(svg, "#6aa5d8"), 2u * (8 * 3 + 2 * 2));
  EXPECT_EQ(occurrences(svg, "#00000055"), 0u);
  EXPECT_EQ(occurrences(svg, "<svg"), 1u);
  EXPECT_EQ(occurrences(svg, "title &amp; more"), 2u) << "as the document's title and in the picture";
}

TEST(AttentionSvg, OfManyBlocksFitsAScreen) {
  for (const std::size_t blocks : {10u, 400u}) {
    const std::string svg =
        attention_svg({AttentionPattern::window, 64, "t", std::vector<std::vector<std::int32_t>>(blocks)});
    const std::size_t width = svg.find(" width=\"") + 8;
    EXPECT_LE(std::stod(svg.substr(width)), 1280);
    for (const char* part : {"role=\"img\"", "<title>t</title>", "<desc>Attention over "})
      EXPECT_NE(svg.find(part), std::string::npos) << part;
  }
}

TEST(AttentionSvg, RepeatsAreDarker) {
  const std::string svg = attention_svg({AttentionPattern::random, 64, "t", {{0, 2, 2}, {1}, {2}}});
  EXPECT_EQ(occurrences(svg, "#00000055"), 2u);
}

TEST(AttentionSvg, OtherSystemsHaveThePanelsOfTheirParts) {
  // Four blocks: itself, and block 0's row and column; each in its panel and in the combined one.
  const std::string star = attention_svg({AttentionPattern::star, 64, "t", star_rows(4, 1)[0]});
  EXPECT_EQ(occurrences(star, "#6aa5d8"), 2u * 3);
  EXPECT_EQ(occurrences(star, "#7fbf7b"), 2u * 7);
  // Two chunks of two: four chunk blocks of each, and the last column of the other.
  const std::string sparse =
      attention_svg({AttentionPattern::sparse_fixed, 64, "t", sparse_fixed_rows({2, 1}, 4, 1, 0)[0], 2});
  EXPECT_EQ(occurrences(sparse, "#6aa5d8"), 2u * 8);
  EXPECT_EQ(occurrences(sparse, "#7fbf7b"), 2u * 4);
  // One panel: the row's own part, or another one.
  const KeyLists parts = blockbert_rows(4, 2, {1, 1});
  EXPECT_EQ(occurrences(attention_svg({AttentionPattern::blockbert, 64, "t", parts[0]}), "#6aa5d8"), 8u);
  EXPECT_EQ(occurrences(attention_svg({AttentionPattern::blockbert, 64, "t", parts[1]}), "#f0a35e"), 8u);
}

TEST(AttentionSvg, CellsOfTokensAreFaintWhereFewMeet) {
  const std::string svg = attention_svg(
      {AttentionPattern::longformer, 64, "t", {}, 0, {{{0, true, 1.0}, {0, false, 0.5}}, {{1, true, 0.1}}}});
  EXPECT_EQ(occurrences(svg, "#6aa5d8"), 2u * 2);
  EXPECT_EQ(occurrences(svg, "#7fbf7b"), 2u);
  EXPECT_EQ(occurrences(svg, "opacity"), 2u + 2);
  EXPECT_EQ(occurrences(svg, ">(b) global tokens<"), 1u);
}

TEST(AttentionSvg, ALayerIsDarkWhereAllHeadsSee) {
  const std::string svg =
      comparison_svg("a & b", {{"one", "1 key", {{1, 1}, {0, 1}}}, {"two", "", {{1, 0}, {0.5, 0.5}}}});
  // A rectangle for every run of one shade: two rows of one head, then a block that both heads see, and two
  // that one of them sees.
  EXPECT_EQ(occurrences(svg, "height=\"1\""), 2u + 2);
  EXPECT_EQ(occurrences(svg, "opacity"), 1u);
  EXPECT_EQ(occurrences(svg, "a &amp; b"), 2u);
  EXPECT_EQ(occurrences(svg, "<g "), 2u);
}

}  // namespace
}  // namespace bigbird
