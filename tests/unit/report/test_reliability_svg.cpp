// Reliability diagrams: where the bins lie, and that empty ones are passed over.
#include "lib/report/curves.h"

#include <gtest/gtest.h>

#include <limits>

namespace bigbird {
namespace {

TEST(ReliabilitySvg, BinsLieAtTheirMeanAndShare) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  MeasuredMethod method;
  method.method = CalibrationMethod::platt;
  method.pooled.scores.ece_equal_width = 0.125;
  method.pooled.equal_width = {{
                                   0,
                                   0.5,
                                   4,
                                   0.25,
                                   0.5,
                               },
                               {0.5, 0.75, 0, none, none},
                               {0.75, 1, 6, 1, 1}};
  method.pooled.equal_count = {{0, 1, 10, 0.5, 0.75}};
  const std::string svg = reliability_svg("a title", {method});
  // The square is 320 wide and its upper left corner at 84, 76: y = 396 - 320 * share.
  EXPECT_NE(svg.find("M164.0 236.0 L404.0 76.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("platt, calibration error 0.1250"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  // How many examples a bin has: the areas of its dot, and the range in the legend.
  EXPECT_NE(svg.find("platt, calibration error 0.1250, bins of 4 to 6"), std::string::npos);
  EXPECT_NE(svg.find("cx=\"404.0\" cy=\"76.0\" r=\"8.0\""), std::string::npos) << svg;
  EXPECT_NE(svg.find("cx=\"164.0\" cy=\"236.0\" r=\"6.5\""), std::string::npos) << "8 times the root of 4/6";
  for (const char* part : {"role=\"img\"", "<title>a title</title>", "<desc>Panels: Bins of equal width"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_NE(svg.find("a title"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
