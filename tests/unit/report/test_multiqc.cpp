// MultiQC's files: every run and every file of a report is a sample of its own, whatever it is called, in one
// report or in several.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "lib/report/report.h"
#include "lib/report/report_inputs.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using Files = std::map<std::string, std::string>;

class Multiqc : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  std::string run(const std::string& name) const {
    file(name + "/metrics.tsv", "#step\tloss\n1\t2\n2\t1.5\n");
    file(name + "/valid.tsv", "#step\tloss\n2\t1.75\n");
    return (folder_ / name).string();
  }
  static Files files(const std::vector<std::string>& inputs) {
    return multiqc_files(make_report(inputs, {}, {}));
  }
  // Keys of `data` over the files of these reports, which must not have one twice.
  static std::set<std::string> samples(const std::vector<Files>& reports, const std::string& name) {
    std::set<std::string> found;
    for (const Files& report : reports) {
      const auto json = nlohmann::json::parse(report.at(name));
      for (const auto& [sample, data] : json["data"].items()) {
        EXPECT_TRUE(found.insert(sample).second) << name << ": " << sample;
      }
    }
    return found;
  }

  static constexpr const char* loss = "bigbird_run_loss_mqc.json";
  static constexpr const char* facts = "bigbird_run_run_mqc.json";
  testing::TemporaryFolder folder_;
};

TEST_F(Multiqc, RunsOfSeveralReportsAreSeveralSamples) {
  // Of one name in two folders, and two whose names differ behind a dot.
  const std::vector<std::string> runs = {run("a/run"), run("b/run"), run("x/b/run"), run("c/lr-0.0001"),
                                         run("c/lr-0.0005")};
  std::vector<Files> alone;
  for (const std::string& each : runs) alone.push_back(files({each}));
  for (const std::vector<Files>& reports : {alone, {files(runs)}}) {
    EXPECT_EQ(samples(reports, loss).size(), 2 * runs.size());
    EXPECT_EQ(samples(reports, facts).size(), runs.size());
  }
  const std::set<std::string> lines = samples({files({runs[0]})}, loss);
  EXPECT_TRUE(lines.begin()->ends_with(" a run training")) << *lines.begin();
  EXPECT_TRUE(lines.rbegin()->ends_with(" a run validation")) << *lines.rbegin();
}

// The columns at the head of MultiQC's report: each sample has its own row, and each kind declares all its
// columns.
TEST_F(Multiqc, GeneralStatisticsHaveARowForEachRun) {
  std::vector<Files> reports;
  for (const char* name : {"one/run", "two/run", "three/run"}) reports.push_back(files({run(name)}));
  const std::string name = "bigbird_run_general_mqc.json";
  EXPECT_EQ(samples(reports, name).size(), 3u);
  const auto json = nlohmann::json::parse(reports[0].at(name));
  EXPECT_EQ(json["plot_type"], "generalstats");
  std::set<std::string> declared;
  for (const auto& column : json["pconfig"]) {
    for (const auto& [key, settings] : column.items()) declared.insert(key);
  }
  EXPECT_EQ(declared.size(), general_columns("run").size());
  const auto row = json["data"].begin().value();
  EXPECT_EQ(row["training_loss"], 1.5);
  EXPECT_EQ(row["validation_loss"], 1.75);
  EXPECT_EQ(row["updates"], 2);
  for (const auto& [key, value] : row.items()) EXPECT_EQ(declared.count(key), 1u) << key;
  const std::string predictions = file("p.tsv", "#label\tscore\n1\t0.9\n0\t0.2\n1\t0.4\n");
  const auto other = nlohmann::json::parse(files({predictions}).at("bigbird_predictions_general_mqc.json"));
  EXPECT_EQ(other["data"].begin().value()["auroc"], 1.0);
}

// Every number of a first screen has its column.
TEST_F(Multiqc, GeneralStatisticsDeclareWhatSectionsHave) {
  file("s.bedgraph.summary.json",
       R"({"positions": 6, "positions_scored": 6, "calls": 1, "step": 50, "evaluation": {"within": 5,
    "any_strand": {"recall": 0.5, "precision": 0.5}, "ranking": {"model": {"average_precision": 0.5, "auroc": 0.5,
    "precision_at_recall_50": 1, "best_f1": 1}}}})");
  const std::vector<std::string> inputs = {
      run("run"),
      file("p.tsv", "#label\tscore\n1\t0.9\n0\t0.2\n"),
      file("c.tsv", "#label\tp0\tp1\tp2\n0\t0.8\t0.1\t0.1\n1\t0.1\t0.9\t0\n2\t0\t0\t1\n"),
      file("e.json", R"({"auroc": 0.5, "f1": 0.5})"),
      file("m.json", R"({"mlm_loss": 1, "bits_per_base": 2})"),
      file("a.json", R"({"accuracy": 0.5, "exact_match": 0.25, "rouge1": 0.125})"),
      file("o.json", R"({"evaluations": [{"name": "rc", "groups": {"all": {"median_auroc": 0.7}}}]})"),
      file("profiles.tsv", "#index\tname\tauroc\tauprc\n0\tA\t0.9\t0.5\n"),
      file("s.bedgraph", "chr1\t0\t100\t0.25\n"),
      file("calls.bed", "chr1\t0\t400\tcall1\t900\t+\t100\t101\n"),
      file("o.shards/1.log", "begun\n")};
  Report report = make_report({inputs.begin(), inputs.end() - 1}, {}, {});
  report.sections.push_back(shards_section((folder_ / "o.shards").string()));
  int numbers = 0;
  for (const ReportSection& section : report.sections) {
    const auto& columns = general_columns(section.kind);
    EXPECT_FALSE(section.first.general.empty()) << section.name;
    for (const auto& [name, value] : section.first.general) {
      ++numbers;
      EXPECT_NE(std::find(columns.begin(), columns.end(), name), columns.end())
          << section.kind << ": " << name;
    }
  }
  EXPECT_GT(numbers, 20);
}

// What the page draws for the eye alone is no line of MultiQC's.
TEST_F(Multiqc, SmoothedLinesStayOnThePage) {
  std::string rows = "#step\tloss\n";
  for (int i = 1; i <= 200; ++i) rows += std::to_string(i) + "\t" + std::to_string(i % 2) + "\n";
  file("run/metrics.tsv", rows);
  const Report report = make_report({(folder_ / "run").string()}, {}, {});
  const auto json = nlohmann::json::parse(multiqc_files(report).at(loss));
  EXPECT_EQ(json["data"].size(), 1u);
  EXPECT_EQ(json["data"].begin().value().size(), 200u);
  const std::string page = report_html(report);
  EXPECT_NE(page.find("line line-0 faint"), std::string::npos);
  EXPECT_NE(page.find("training, mean of 17 rows"), std::string::npos);
}

TEST_F(Multiqc, RatesOfASweepAreSeveralSamples) {
  run("sweep/lr-0.0001");
  run("sweep/lr-0.0005");
  file("sweep/rates.tsv", "#lr\tloss\n0.0001\t1\n0.0005\t1\n");
  EXPECT_EQ(samples({files({(folder_ / "sweep").string()})}, loss).size(), 4u);
}

TEST_F(Multiqc, FilesOfEveryKindAreSeveralSamples) {
  const std::string table = "#label\tscore\n1\t0.9\n0\t0.2\n1\t0.4\n";
  std::vector<Files> reports;
  for (const char* name : {"p.chr1.tsv", "p.chr2.tsv", "a/p.chr1.tsv", "a_counts/p.tsv", "a_qual/p.tsv"}) {
    reports.push_back(files({file(name, table)}));
  }
  EXPECT_EQ(samples(reports, "bigbird_predictions_roc_mqc.json").size(), reports.size());
  EXPECT_EQ(samples(reports, "bigbird_predictions_predictions_mqc.json").size(), reports.size());
  reports.clear();
  for (const char* name : {"one/e.json", "two/e.json"})
    reports.push_back(files({file(name, R"({"f1": 0.5})")}));
  EXPECT_EQ(samples(reports, "bigbird_evaluation_evaluation_mqc.json").size(), 2u);
  const std::string scan = R"({"positions": 6, "step": 50, "evaluation": {"within": 5, "by_threshold": [
    {"threshold": 0.5, "recall": 0.5, "precision": 1.0}]}})";
  reports.clear();
  for (const char* name : {"one/s.bedgraph", "two/s.bedgraph"}) {
    file(std::string(name) + ".summary.json", scan);
    reports.push_back(files({file(name, "chr1\t0\t100\t0.25\n")}));
  }
  for (const auto& [name, text] : reports[0]) samples(reports, name);
  EXPECT_GE(reports[0].size(), 2u);
}

TEST_F(Multiqc, ReportsMayShareAFolder) {
  const std::string shared = (folder_ / "mqc").string();
  std::filesystem::create_directories(shared);
  const auto report = [&](const std::string& input) {
    for (const auto& [name, text] : multiqc_files(make_report({input}, {}, {}), shared)) {
      testing::write_text(shared + "/" + name, text);
    }
  };
  for (const char* name : {"one", "two", "one"}) report(run(name));
  EXPECT_EQ(samples({{{loss, testing::read_text(shared + "/" + loss)}}}, loss).size(), 4u);
  EXPECT_EQ(samples({{{facts, testing::read_text(shared + "/" + facts)}}}, facts).size(), 2u);
  // What is no JSON there is no report's.
  testing::write_text(shared + "/" + loss, "{");
  report(run("one"));
  EXPECT_EQ(samples({{{loss, testing::read_text(shared + "/" + loss)}}}, loss).size(), 2u);
}

TEST_F(Multiqc, NamesAreNoHtmlAndAlwaysJson) {
  for (const char* name : {"<script>alert('1')<&", "\"quoted\"\nline", "t\xFF\xFEx", "G\u00E4nse"}) {
    const std::string input = file(std::string(name) + "/e.json", R"({"<b>f1": 0.5, "g\"1": 1})");
    for (const auto& [path, text] : files({input, run(std::string(name) + "/run")})) {
      const auto json = nlohmann::json::parse(text);
      EXPECT_EQ(text.find_first_of("<>&'"), std::string::npos) << text;
      for (const auto& [sample, data] : json["data"].items()) {
        EXPECT_EQ(sample.find_first_of("\"\n/"), std::string::npos) << sample;
      }
    }
  }
}

TEST(SampleNames, ArePathsBelowTheWorkingFolder) {
  const std::filesystem::path here = std::filesystem::current_path();
  const auto names = sample_names({"results/a/run", "run", "./results/b.c/scored.vcf.gz",
                                   (here / "x/y").string(), "results/a/t.tsv", "results/a/t.json"});
  EXPECT_EQ(names.at("results/a/run"), "results a run");
  EXPECT_EQ(names.at("run"), here.filename().string() + " run");
  EXPECT_EQ(names.at("./results/b.c/scored.vcf.gz"), "results b_c scored");
  EXPECT_EQ(names.at((here / "x/y").string()), "x y");
  EXPECT_NE(names.at("results/a/t.tsv"), names.at("results/a/t.json"));
  EXPECT_TRUE(names.at("results/a/t.tsv").ends_with("results a t_tsv"));
}

}  // namespace
}  // namespace bigbird
