// Pages of training runs: the numbers of the tables are in the pictures, texts cannot become markup, and what
// is no run is refused. Ticks are round.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "lib/report/charts.h"
#include "lib/report/html_page.h"
#include "lib/report/report_inputs.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::write_text;

// As `bigbird report` makes it of runs.
std::string run_report_html(const std::vector<std::string>& runs,
                            const std::vector<std::string>& provenance) {
  Report report = make_report(runs, {}, {});
  report.provenance = provenance;
  return report_html(report);
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(RoundTicks, AreMultiplesOfOneTwoOrFiveInsideTheRange) {
  EXPECT_EQ(round_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(round_ticks(3, 1003, 5), (std::vector<double>{200, 400, 600, 800, 1000}));
  const std::vector<double> small = round_ticks(-0.03, 0.031, 7);
  EXPECT_EQ(small.size(), 7u);
  EXPECT_NEAR(small.front(), -0.03, 1e-12);
  EXPECT_EQ(round_ticks(5, 5, 4), std::vector<double>{5});
}

TEST(TickText, IsShort) {
  EXPECT_EQ(tick_text(0), "0");
  EXPECT_EQ(tick_text(1234567), "1,234,567");
  EXPECT_EQ(tick_text(-12000), "-12,000");
  EXPECT_EQ(tick_text(0.25), "0.25");
  EXPECT_EQ(tick_text(3e-5), "3e-05");
}

// The points of the first line, by the path of the picture. By hand: a std::regex goes as deep into the stack
// as its text is long.
std::vector<std::pair<double, double>> drawn_points(const std::string& svg) {
  const std::string opening = "class=\"line line-0\" d=\"";
  const std::size_t begin = svg.find(opening);
  if (begin == std::string::npos) return {};
  const std::size_t first = begin + opening.size();
  std::string path = svg.substr(first, svg.find('"', first) - first);
  for (char& c : path) c = c == 'M' || c == 'L' ? ' ' : c;
  std::istringstream numbers(path);
  std::vector<std::pair<double, double>> points;
  for (double x = 0, y = 0; numbers >> x >> y;) points.emplace_back(x, y);
  return points;
}

TEST(LineChart, PutsPointsInProportion) {
  const auto points =
      drawn_points(line_chart_svg({"loss", "updates", {{"", {{0, 1}, {5, 3}, {10, 2}}, false, false}}}));
  ASSERT_EQ(points.size(), 3u);
  EXPECT_NEAR(points[1].first, (points[0].first + points[2].first) / 2, 0.1);
  EXPECT_NEAR(points[2].second, (points[0].second + points[1].second) / 2, 0.1);
  EXPECT_LT(points[1].second, points[0].second) << "upwards is smaller in SVG";
}

TEST(LineChart, OfPowersOfTenIsEven) {
  const auto points = drawn_points(
      line_chart_svg({"norm", "", {{"", {{1, 0.1}, {2, 10}, {3, 1}, {4, 0}}, false, false}}, true}));
  ASSERT_EQ(points.size(), 3u) << "zero has no logarithm";
  EXPECT_NEAR(points[2].second, (points[0].second + points[1].second) / 2, 0.1);
}

TEST(LineChart, KeepsTheExtremesOfALongLine) {
  ChartLine line;
  for (int i = 0; i < 100000; ++i) line.points.emplace_back(i, i == 54321 ? 9.0 : i == 77777 ? -9.0 : 0.0);
  const auto points = drawn_points(line_chart_svg({"long", "", {line}}));
  EXPECT_LE(points.size(), 1200u);
  double low = 1e9, high = -1e9;
  for (const auto& [x, y] : points) {
    low = std::min(low, y);
    high = std::max(high, y);
  }
  EXPECT_GT(high - low, 150) << "both peaks are there";
}

TEST(HtmlPage, TextsCannotBecomeMarkup) {
  HtmlPage page("<run>");
  page.table({"a & b", {"x"}, {{"<script>"}, {"12.5"}}, false, 0, {"", "https://a.b/?c=\"d\"&e"}});
  page.listing("options", "a = \"<b>\"");
  const std::string text = page.text();
  EXPECT_FALSE(contains(text, "<script>"));
  EXPECT_TRUE(contains(text, "<td>&lt;script&gt;</td>"));
  EXPECT_TRUE(contains(text, "<td class=\"n\"><a href=\"https://a.b/?c=&quot;d&quot;&amp;e\">12.5</a></td>"));
  EXPECT_TRUE(contains(text, "<h1>&lt;run&gt;</h1>"));
}

class RunReport : public ::testing::Test {
 protected:
  // Two updates and a validation.
  std::string run(const std::string& name, const std::string& loss) const {
    std::filesystem::create_directories(folder_ / name);
    write_text(folder_ / name / "metrics.tsv",
               "##bigbird_command=bigbird pretrain --train a&b\n"
               "#step\tloss\tmlm_accuracy\tlr\tgrad_norm\ttokens\ttokens_per_second\tseconds\n"
               "1\t7.5\tNA\t0.001\t2\t100\t50.0\t2.000\n2\t" +
                   loss + "\t0.25\t0.0005\t20\t200\t70.0\t4.000\n");
    write_text(folder_ / name / "valid.tsv", "#step\tloss\tmlm_accuracy\n2\t6.75\t0.5\n");
    write_text(folder_ / name / "config.toml", "batch = 16\n");
    return (folder_ / name).string();
  }

  testing::TemporaryFolder folder_;
};

TEST_F(RunReport, HasCurvesFactsAndOptions) {
  const std::string page = run_report_html({run("one", "6.25") + "/"}, {"made by a test"});
  for (const char* part :
       {"aria-label=\"loss\"", "aria-label=\"masked-token accuracy\"", "aria-label=\"learning rate\"",
        "aria-label=\"norm of the gradient\"", "aria-label=\"tokens a second\"", "after update 2; first 7.5",
        "6.75 after update 2", "the run has not ended", "bigbird pretrain --train a&amp;b", "batch = 16",
        "made by a test"})
    EXPECT_TRUE(contains(page, part)) << part;
  EXPECT_FALSE(contains(page, "aria-label=\"seconds\""));
  // Alone in one file: nothing is fetched, nothing runs.
  for (const char* part : {"<script", "<link", "<img", "src=", "http://", "https://"})
    EXPECT_FALSE(contains(page, part)) << part;
}

// The run above is of an earlier version, which did not write them.
TEST_F(RunReport, SpeedsOfTheModelHaveCurvesWhereTheyAreKnown) {
  const std::string path = run("one", "6.25");
  const std::string without = run_report_html({path}, {});
  EXPECT_FALSE(contains(without, "GFLOP/s of the model"));
  write_text(folder_ / "one/metrics.tsv",
             "#step\tloss\ttokens_per_second\tseconds\tmodel_flops_per_second\tmfu\n"
             "1\t7.5\t50.0\t2.000\tNA\tNA\n2\t7.25\t50.0\t4.000\t3.5e+14\t0.3538\n");
  const std::string page = run_report_html({path}, {});
  for (const char* part :
       {"aria-label=\"GFLOP/s of the model\"", "aria-label=\"share of the peak\"", "35.4 %"})
    EXPECT_TRUE(contains(page, part)) << part;
}

TEST_F(RunReport, SeveralRunsShareTheirCharts) {
  const std::string first = run("one", "6.25"), second = run("two", "6.5");
  const std::string page = run_report_html({first, second}, {});
  EXPECT_TRUE(contains(page, "<h1>2 training runs: lowest validation loss 6.75 of " + first + "</h1>"));
  EXPECT_TRUE(contains(page, first + ", training"));
  EXPECT_TRUE(contains(page, second + ", validation"));
}

TEST_F(RunReport, ARunOfSeveralRatesIsTheRunsOfEach) {
  run("swept/lr-0.001", "6.25");
  run("swept/lr-0.01", "6.5");
  write_text(folder_ / "swept/rates.tsv", "#rate\tbest_step\tvalid_loss\tchosen\n0.001\t2\t6.75\t1\n");
  const std::string page = run_report_html({(folder_ / "swept").string()}, {});
  EXPECT_TRUE(contains(page, "swept lr-0.001"));
  EXPECT_TRUE(contains(page, "swept lr-0.01"));
  EXPECT_TRUE(contains(page, "0.001\t2\t6.75\t1"));
}

TEST_F(RunReport, WhatIsNoRunOrIsDamagedIsNamed) {
  testing::expect_bad_input(testing::error_of([&] { run_report_html({folder_.path().string()}, {}); }),
                            folder_.path().string(), "neither a run nor shards");
  const std::string path = run("one", "six");
  testing::expect_message(testing::error_of([&] { run_report_html({path}, {}); }), "metrics.tsv:4", "six");
}

}  // namespace
}  // namespace bigbird
