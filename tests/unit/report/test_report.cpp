// Reports: what each kind of file becomes, that pictures, tables and MultiQC's files have the same numbers,
// and that pages are well-formed and need nothing from outside.
#include "lib/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lib/report/charts.h"
#include "lib/report/report_inputs.h"
#include "tests/support/page.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::Page;
using testing::read_page;
using testing::write_text;

class ReportOf : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  static Report make(const std::vector<std::string>& inputs, const ReportOptions& options = {}) {
    return make_report(inputs, options, {});
  }
  static Page page(const Report& report) {
    const Page read = read_page(report_html(report));
    EXPECT_EQ(read.error, "");
    EXPECT_TRUE(read.outside.empty());
    EXPECT_EQ(read.elements.count("script"), 0u);
    return read;
  }
  template <typename Chart>
  static const Chart* chart(const Report& report, const std::string& title) {
    for (const ReportSection& section : report.sections) {
      for (const ReportElement& element : section.elements) {
        if (const auto* charts = std::get_if<ReportCharts>(&element)) {
          for (const ReportChart& each : *charts) {
            if (const auto* found = std::get_if<Chart>(&each); found != nullptr && found->title == title)
              return found;
          }
        }
      }
    }
    return nullptr;
  }
  std::string predictions() const {
    return file("p.tsv",
                "##bigbird_command=bigbird promoter predict\n##negatives=random\n#id\tlabel\tscore\n"
                "a\t1\t0.9\nb\t1\t0.4\nc\t0\t0.6\nd\t0\t0.2\ne\t0\t.\n");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(ReportOf, PredictionsHaveCurvesWhoseEndsAreKnown) {
  const Report report = make({predictions()});
  const Page read = page(report);
  EXPECT_TRUE(read.has_key_figure("AUROC: 0.75: chance 0.5"));
  EXPECT_EQ(read.fact("examples"), "4");
  EXPECT_EQ(read.fact("without a score"), "1");
  EXPECT_EQ(read.fact("negatives"), "random");
  EXPECT_EQ(read.fact("command"), "bigbird promoter predict");
  const auto* roc = chart<LineChart>(report, "ROC");
  ASSERT_NE(roc, nullptr);
  EXPECT_EQ(roc->lines[0].points,
            (std::vector<std::pair<double, double>>{{0, 0}, {0, 0.5}, {0.5, 0.5}, {0.5, 1}, {1, 1}}));
  const auto* ranks = chart<LineChart>(report, "precision and recall");
  ASSERT_NE(ranks, nullptr);
  // The area under the steps is average precision: 1/2 * 1 + 1/2 * 2/3.
  double area = 0;
  const auto& points = ranks->lines[0].points;
  for (std::size_t i = 1; i < points.size(); ++i)
    area += (points[i].first - points[i - 1].first) * points[i].second;
  EXPECT_NEAR(area, 0.5 + 1.0 / 3, 1e-12);
  EXPECT_TRUE(read.has_key_figure("AUPRC: 0.833: chance 0.5, the share of positives"));
  const auto* confusion = chart<MatrixChart>(report, "confusion, threshold 0.5");
  ASSERT_NE(confusion, nullptr);
  EXPECT_EQ(confusion->counts, (std::vector<std::int64_t>{1, 1, 1, 1}));
  ReportOptions strict;
  strict.threshold = 0.7;
  const Report other = make({predictions()}, strict);
  EXPECT_EQ(chart<MatrixChart>(other, "confusion, threshold 0.7")->counts,
            (std::vector<std::int64_t>{2, 0, 1, 1}));
  EXPECT_EQ(page(other).fact("positives"), "2") << "labels, not what is predicted";
}

TEST_F(ReportOf, MoreClassesHaveF1ByClass) {
  const Report report =
      make({file("p.tsv", "#label\tp0\tp1\tp2\n0\t0.8\t0.1\t0.1\n1\t0.6\t0.3\t0.1\n2\t0\t0\t1\n")});
  const auto* bars = chart<BarChart>(report, "F1 by class");
  ASSERT_NE(bars, nullptr);
  EXPECT_NEAR(bars->bars[0].value, 2.0 / 3, 1e-12);
  EXPECT_EQ(bars->bars[1].value, 0);
  EXPECT_TRUE(page(report).has_key_figure("accuracy: 0.667"));
}

TEST_F(ReportOf, MultiqcHasTheNumbersOfTheCharts) {
  const Report report = make({predictions()});
  const auto files = multiqc_files(report);
  ASSERT_EQ(files.count("bigbird_predictions_roc_mqc.json"), 1u);
  const auto roc = nlohmann::json::parse(files.at("bigbird_predictions_roc_mqc.json"));
  EXPECT_EQ(roc["plot_type"], "linegraph");
  const auto points = chart<LineChart>(report, "ROC")->lines[0].points;
  const auto& data = roc["data"].begin().value();
  ASSERT_EQ(data.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_EQ(data[i][0].get<double>(), points[i].first);
    EXPECT_EQ(data[i][1].get<double>(), points[i].second);
  }
  const auto facts = nlohmann::json::parse(files.at("bigbird_predictions_predictions_mqc.json"));
  EXPECT_EQ(facts["plot_type"], "table");
  EXPECT_EQ(facts["data"].begin().value()["AUROC"], 0.75);
  for (const auto& [name, text] : files) {
    EXPECT_TRUE(name.ends_with("_mqc.json")) << name;
    const auto json = nlohmann::json::parse(text);
    for (const char* key : {"id", "plot_type", "data", "pconfig"}) EXPECT_TRUE(json.contains(key)) << name;
    // General Statistics are a table of MultiQC's own, the others have a section.
    EXPECT_EQ(json.contains("section_name"), json["plot_type"] != "generalstats") << name;
  }
}

TEST_F(ReportOf, AnEvaluationShowsEverythingItHolds) {
  const Report report =
      make({file("e.json", R"({"auroc": 0.72, "tp": 3, "fp": 1, "tn": 4, "fn": 2, "none": null,
    "evaluations": [{"name": "single", "rows": 8, "groups": {
      "TF": {"median_auroc": 0.8, "min_auroc": 0.5, "max_auroc": 0.9},
      "all": {"median_auroc": 0.7, "min_auroc": 0.4, "max_auroc": 0.9}}}],
    "provenance": {"command": "bigbird x", "inputs": [{"role": "data", "path": "d.npy"}]}})")});
  const Page read = page(report);
  EXPECT_EQ(read.fact("AUROC"), "0.72");
  EXPECT_EQ(read.fact("none"), "no value");
  EXPECT_EQ(read.fact("command"), "bigbird x");
  EXPECT_EQ(read.fact("data"), "d.npy");
  EXPECT_EQ(chart<MatrixChart>(report, "confusion")->counts, (std::vector<std::int64_t>{4, 1, 2, 3}));
  const auto* bars = chart<BarChart>(report, "evaluations: median AUROC");
  ASSERT_NE(bars, nullptr);
  EXPECT_EQ(read.fact("TF"), "forward strand");
  EXPECT_EQ(bars->bars[0].name, "TF forward strand");
  EXPECT_EQ(bars->mark, 0.5) << "chance";
  EXPECT_EQ(bars->bars[0].value, 0.8);
  EXPECT_EQ(bars->bars[1].interval, std::pair(0.4, 0.9));
}

TEST_F(ReportOf, ProfilesReliabilityAndTablesByTheirColumns) {
  const std::string profiles =
      file("profiles.tsv",
           "#index\tname\tgroup\tpositives\tauroc\tauprc\n0\tA\tTF\t5\t0.9\t0.5\n1\tB\tTF\t5\t0.7\t0.5\n"
           "2\tC\tDHS\t0\t.\t.\n3\tD\tDHS\t5\t0.6\t0.5\n");
  const Report report = make({profiles});
  const auto* medians = chart<BarChart>(report, "median AUROC");
  ASSERT_NE(medians, nullptr);
  EXPECT_NEAR(medians->bars[0].value, 0.8, 1e-12);
  EXPECT_EQ(medians->bars[1].value, 0.6);
  EXPECT_EQ(page(report).fact("with an AUROC"), "3");

  const Report curve =
      make({file("curve.tsv",
                 "#method\tbins\tbin\tlower\tupper\tn\tmean_predicted\tobserved\n"
                 "none\tequal_width\t1\t0\t0.5\t4\t0.2\t0.25\nnone\tequal_width\t2\t0.5\t1\t0\t.\t.\n"
                 "platt\tequal_width\t1\t0\t0.5\t4\t0.3\t0.25\n")});
  const auto* lines = chart<LineChart>(curve, "reliability, bins of equal width");
  ASSERT_NE(lines, nullptr);
  ASSERT_EQ(lines->lines.size(), 2u);
  EXPECT_EQ(lines->lines[0].points, (std::vector<std::pair<double, double>>{{0.2, 0.25}}));

  const Report evaluation = make({file("v.tsv",
                                       "#score\tdirection\tclass\tpositives\tauroc\tauroc_low\tauroc_high\n"
                                       "diff\tsize\tall\t9\t0.6\t0.5\t0.7\nlfc\tsize\tall\t9\t.\t.\t.\n")});
  const auto* bars = chart<BarChart>(evaluation, "AUROC");
  ASSERT_NE(bars, nullptr);
  EXPECT_EQ(bars->bars[0].name, "diff size all");
  EXPECT_EQ(bars->bars[0].interval, std::pair(0.5, 0.7));
  EXPECT_TRUE(std::isnan(bars->bars[1].value));
  page(evaluation);

  const Report errors = make({file("c.tsv", "#method\tece\tauroc\tmeasured_on\nplatt\t0.25\t0.6\ttest\n")});
  bars = chart<BarChart>(errors, "calibration error");
  ASSERT_NE(bars, nullptr);
  EXPECT_EQ(bars->bars[0].name, "platt");
  EXPECT_EQ(bars->bars[0].value, 0.25);
}

TEST_F(ReportOf, AScanOfABedGraph) {
  file("s.bedgraph.summary.json",
       R"({"positions": 6, "step": 50, "windows_rich_in_n": 3, "evaluation": {"within": 500,
    "any_strand": {"tss": 2, "recall": 0.5, "precision": null}, "by_threshold": [
      {"threshold": 0.5, "recall": 0.5, "precision": null}, {"threshold": 0.9, "recall": 0.25, "precision": 1.0}],
    "ranking": {"model": {"average_precision": 0.25, "auroc": 0.5, "precision_at_recall_50": null, "best_f1": 0.5},
      "gc": {"average_precision": 0.75, "auroc": 0.875, "precision_at_recall_50": 1.0, "best_f1": 0.625,
             "promoters_have": "less"}}}})");
  const Report report = make(
      {file("s.bedgraph", "#made\nchr1\t0\t100\t0.25\nchr1\t100\t150\t0.75\n"),
       file("calls.bed", "chr1\t0\t400\tcall1\t900\t+\t100\t101\nchr2\t0\t400\tcall2\t950\t-\t90\t91\n")});
  const auto* scores = chart<LineChart>(report, "scores of positions");
  ASSERT_NE(scores, nullptr);
  double sum = 0;
  for (const auto& [x, y] : scores->lines[0].points) sum += y;
  EXPECT_EQ(sum, 3) << "an interval of two steps is two positions";
  const auto* thresholds = chart<LineChart>(report, "calls by threshold: recall, precision");
  ASSERT_NE(thresholds, nullptr);
  EXPECT_EQ(thresholds->lines[1].points, (std::vector<std::pair<double, double>>{{0.9, 1.0}}));
  const Page read = page(report);
  EXPECT_TRUE(read.has_key_figure("calls: 2"));
  EXPECT_EQ(read.fact("fraction of G and C (less near TSS)"), "0.75");
  EXPECT_EQ(read.headings.size(), 3u);
}

// One damaged number of a track was a place in memory for every step to it.
TEST_F(ReportOf, ATrackTakesNoMemoryForTheBasesOfItsIntervals) {
  file("s.bedgraph.summary.json", R"({"positions": 6, "step": 1})");
  const Report report =
      make({file("s.bedgraph", "chr1\t0\t100\t0.25\nchr1\t100\t4611686018427387904\t0.75\n")});
  const auto* scores = chart<LineChart>(report, "scores of positions");
  ASSERT_NE(scores, nullptr);
  EXPECT_EQ(scores->lines[0].points[1].second, 100);
  for (const char* row : {"chr1\t9\t9\t1\n", "chr1\t9\t5\t1\n", "chr1\t-9\t5\t1\n"}) {
    testing::expect_bad_input(testing::error_of([&] { make({file("s.bedgraph", row)}); }), "s.bedgraph:1",
                              "is not an interval");
  }
  for (const char* step : {"0", "-5", "1e300", "\"9\"", "18446744073709551615"}) {
    file("s.bedgraph.summary.json", std::string(R"({"positions": 6, "step": )") + step + "}");
    testing::expect_bad_input(testing::error_of([&] { make({file("s.bedgraph", "chr1\t0\t100\t0.25\n")}); }),
                              "s.bedgraph.summary.json", "its step is not a number from 1");
  }
}

TEST_F(ReportOf, AJobInShardsSumsItsLogs) {
  file("o.shards/1.log",
       "[variants] bigbird 0.1.0: 10.00 s wall, 19.00 s CPU, 300 MiB peak memory\n"
       "[variants] bigbird 0.1.0: 5.00 s wall, 9.00 s CPU, 200 MiB peak memory, 7 alleles/s\n");
  file("o.shards/1.vcf.gz", "x");
  file("o.shards/2.log", "bigbird: error: model: no such file or folder\nhint: x\n");
  file("o.shards/4.log", "begun\n");
  std::filesystem::create_directories(folder_ / "o.shards/4.vcf.gz.parts");
  const Report report = make({(folder_ / "o.shards").string()});
  const Page read = page(report);
  EXPECT_EQ(read.fact("shards"), "3");
  EXPECT_EQ(read.fact("whole"), "1");
  EXPECT_EQ(read.fact("indices without any file"), "1");
  EXPECT_EQ(read.fact("1"), "whole");
  EXPECT_EQ(read.fact("2"), "bigbird: error: model: no such file or folder");
  EXPECT_EQ(chart<BarChart>(report, "wall time")->bars[0].value, 15);
  EXPECT_EQ(chart<BarChart>(report, "peak memory")->bars[0].value, 300);
  EXPECT_EQ(read.fact("CPU hours"), "0.0078");
}

TEST_F(ReportOf, RunsStandFirstAndPicturesAreTheirOwnDocuments) {
  file("run/metrics.tsv", "#step\tloss\n1\t2\n2\t1.5\n");
  file(
      "run/memory.tsv",
      "#where\tpart\tbytes\nmemory\tparameters\t1048576\nmemory\tpeak to expect\t2097152\nmemory\tlimit\t4194304\n"
      "memory\tused at the most\t1572864\n");
  const std::string svg =
      file("x.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>");
  const Report report = make({predictions(), svg, (folder_ / "run").string()});
  const Page read = page(report);
  ASSERT_EQ(read.headings.size(), 4u);
  EXPECT_EQ(read.headings[1], (folder_ / "run").string());
  EXPECT_TRUE(read.has_chart("x.svg"));
  EXPECT_EQ(read.elements.at("img"), 1);
  EXPECT_EQ(read.fact("memory, used at the most"), "1.5 MiB");
  const auto* memory = chart<BarChart>(report, "memory");
  ASSERT_NE(memory, nullptr);
  ASSERT_EQ(memory->bars.size(), 3u);
  EXPECT_EQ(memory->bars[0].value, 1);
  EXPECT_EQ(memory->bars[1].value, 2);
  EXPECT_EQ(memory->mark, 2) << "the plan's peak";
  EXPECT_EQ(memory->bars[2].note, "") << "below the plan";
}

TEST_F(ReportOf, LettersThatXmlLacksDoNotBreakAPage) {
  page(make({file("e.json", "{\"a<b\": \"x\\u0001 & \\u00e9\", \"empty\": {}, \"list\": [1, 2]}")}));
}

TEST_F(ReportOf, WhatItDoesNotKnowIsNamed) {
  const auto refused = [&](const std::string& path, const std::string& says) {
    testing::expect_message(testing::error_of([&] { make({path}); }), path, says);
  };
  refused((folder_ / "absent").string(), "no such file");
  refused(file("a.json", "{"), "no JSON");
  refused(file("b.json", "[1]"), "no JSON object");
  refused(file("c.tsv", "#x\ty\n1\t2\n"), "knows nothing to show");
  refused(file("d.bedgraph", "chr1\t0\t1\t1\n"), "summary.json");
  refused(file("e.vcf", "##fileformat=VCFv4.2\n"), "summary.json");
  refused(file("f.svg", "text"), "no SVG");
  refused(file("g.tsv", "#label\tscore\n1\t.\n"), "no predictions in it");
  file("h.bedgraph.summary.json", "{\"step\": 0}");
  testing::expect_message(testing::error_of([&] { make({file("h.bedgraph", "")}); }),
                          "h.bedgraph.summary.json", "step");
  file("i.bedgraph.summary.json", "{\"step\": 50}");
  refused(file("i.bedgraph", "chr1\t0\t50\n"), "not the four columns");
}

TEST(Histogram, CountsAValueAsOftenAsItStands) {
  const LineChart chart = histogram("", "", {{"a", {0, 1}, {3, 5e9}}}, false, 2);
  EXPECT_EQ(chart.lines[0].points[1].second, 3);
  EXPECT_EQ(chart.lines[0].points[2].second, 5e9);
}

// Beside each other, not over each other: the bars of a bin share its width.
TEST(Histogram, BinsOfSeveralKindsDoNotOverlap) {
  const LineChart chart = histogram("", "", {{"a", {0, 1, 1}}, {"b", {0, 1}}}, false, 2);
  const std::string svg = line_chart_svg(chart);
  std::vector<std::pair<double, double>> bars;
  const std::string opening = "<rect class=\"bin line-";
  for (std::size_t at = svg.find(opening); at != std::string::npos; at = svg.find(opening, at + 1)) {
    const std::size_t x = svg.find(" x=\"", at) + 4, width = svg.find(" width=\"", at) + 8;
    bars.emplace_back(std::stod(svg.substr(x)), std::stod(svg.substr(width)));
  }
  ASSERT_EQ(bars.size(), 4u);
  std::sort(bars.begin(), bars.end());
  for (std::size_t i = 1; i < bars.size(); ++i)
    EXPECT_LE(bars[i - 1].first + bars[i - 1].second, bars[i].first + 0.02);
}

TEST(TickTexts, TellNeighboursApart) {
  EXPECT_EQ(tick_texts({0.10451, 0.10452}), (std::vector<std::string>{"0.10451", "0.10452"}));
  EXPECT_EQ(tick_texts({0, 1000}), (std::vector<std::string>{"0", "1,000"}));
}

TEST(Smoothed, IsTheMeanOfWhatLiesAround) {
  const ChartLine mean = smoothed({"", {{1, 0}, {2, 3}, {3, NAN}, {4, 6}, {5, 0}}, false, false}, 3);
  EXPECT_EQ(mean.points, (std::vector<std::pair<double, double>>{{1, 1.5}, {2, 3}, {4, 3}, {5, 3}}));
  EXPECT_TRUE(mean.derived);
}

TEST(Histogram, CountsEveryValueOnce) {
  const LineChart chart = histogram("", "", {{"a", {0, 0.1, 0.5, 1, NAN}}, {"b", {1}}}, false, 2);
  ASSERT_EQ(chart.lines.size(), 2u);
  EXPECT_EQ(chart.lines[0].points,
            (std::vector<std::pair<double, double>>{{0, 0}, {0, 2}, {0.5, 2}, {1, 0}}));
  EXPECT_EQ(chart.lines[1].points,
            (std::vector<std::pair<double, double>>{{0, 0}, {0, 0}, {0.5, 1}, {1, 0}}));
  EXPECT_EQ(histogram("", "", {{"a", {0, 1}}}, true, 2).lines[0].points[1].second, 0.5);
  EXPECT_EQ(histogram("", "", {{"a", {0.75, 1}}}, false, 2, 0.5).lines[0].points.front().first, 0.5)
      << "chance is seen";
  EXPECT_TRUE(histogram("", "", {{"a", {}}}, false).lines.empty());
}

}  // namespace
}  // namespace bigbird
