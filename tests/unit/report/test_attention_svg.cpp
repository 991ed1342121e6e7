// The picture of a plan: one cell a listed block in each panel it belongs to.
#include "lib/report/attention_svg.h"

#include <gtest/gtest.h>

#include "lib/model/plans/block_plan.h"
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
  EXPECT_EQ(occurrences(svg, "title &amp; more"), 1u);
}

TEST(AttentionSvg, RepeatsAreDarker) {
  const std::string svg = attention_svg({AttentionPattern::random, 64, "t", {{0, 2, 2}, {1}, {2}}});
  EXPECT_EQ(occurrences(svg, "#00000055"), 2u);
}

}  // namespace
}  // namespace bigbird
