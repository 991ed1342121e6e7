// First screens: what was asked and how it came out, key figures beside what they are compared with,
// warnings, the table of contents; and that nothing on a page is a key of JSON or a number of more than three
// digits.
#include "lib/report/first_screen.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "lib/genomics/variants/alleles.h"
#include "lib/genomics/variants/summary.h"
#include "lib/report/labels.h"
#include "lib/report/report_inputs.h"
#include "lib/report/shown_numbers.h"
#include "tests/support/page.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::Page;
using Lines = std::vector<std::string>;

class FirstScreenOf : public ::testing::Test {
 protected:
  std::string file(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    testing::write_text(folder_ / name, text);
    return (folder_ / name).string();
  }
  static Page page(const Lines& inputs) {
    const Page read = testing::read_page(report_html(make_report(inputs, {}, {})));
    EXPECT_EQ(read.error, "");
    for (const std::string& head : read.heads) EXPECT_EQ(head.find('_'), std::string::npos) << head;
    return read;
  }
  // A run whose last validation is `valid`, after one of 1.
  std::string run(const std::string& name, const std::string& valid, const std::string& used) const {
    file(name + "/metrics.tsv",
         "##bigbird_command=bigbird pretrain --train data/train -o run\n#step\tloss\ttokens_per_second\n"
         "1\t2.123456\t1234.5\n2\t1.5\t2000\n");
    file(name + "/valid.tsv", "#step\tloss\n1\t1\n2\t" + valid + "\n");
    file(name + "/memory.tsv",
         "#where\tpart\tbytes\nmemory\tpeak to expect\t2097152\nmemory\tused at the most\t" + used + "\n");
    std::filesystem::create_directories(folder_ / name / "final");
    return (folder_ / name).string();
  }

  testing::TemporaryFolder folder_;
};

TEST(AskedOf, IsTheVerbAndWhatItWasGiven) {
  EXPECT_EQ(asked_of("bigbird promoter evaluate -m a/run/final --data d.tsv",
                     {{"model", "a/run/final"}, {"data", "x/d.tsv"}}, "out.json"),
            "promoter evaluate of d.tsv by run/final");
  EXPECT_EQ(asked_of("bigbird pretrain --train build/train -o run", {}, "run"), "pretrain of train");
  EXPECT_EQ(asked_of("bigbird variants -m m v.vcf", {{"model", "m"}}, "s.vcf", "in/v.vcf"),
            "variants of v.vcf by m");
  EXPECT_EQ(asked_of("", {}, "folder/scored.tsv"), "scored.tsv");
  // Of a file that went through two verbs, the last one.
  EXPECT_EQ(asked_of_lines({"bigbird_command=bigbird simulate", "bigbird_input=seed:s",
                            "bigbird_command=bigbird promoter scan -m m", "bigbird_reference=g/genome.fa",
                            "bigbird_input=tss:t.bed", "bigbird_input=model:m sha256=0"},
                           "c.bed"),
            "promoter scan of genome.fa by m");
}

TEST(ShownNumbers, HaveThreeDigitsAndWholeNumbersStay) {
  EXPECT_EQ(three_digits(0.0279990), "0.028");
  EXPECT_EQ(three_digits(18364.8), "18,400");
  EXPECT_EQ(three_digits(-6.090590854), "-6.09");
  EXPECT_EQ(three_digits(999.7), "1,000");
  EXPECT_EQ(three_digits(1e-6), "1e-06");
  EXPECT_EQ(three_digits(std::nan("")), "no value");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(count_text(123), "123");
  EXPECT_EQ(percent_text(0.0886), "8.86 %");
  for (const auto& [text, shown] : std::vector<std::pair<std::string, std::string>>{
           {"1292964", "1292964"},
           {"0.435494", "0.435"},
           {"6.736138 after update 120", "6.74 after update 120"},
           {"0.1.0", "0.1.0"},
           {"chr1", "chr1"},
           {"", ""},
           {"e", "e"},
           {"1.5e-7", "1.5e-07"},
           {"bits 1.23456", "bits 1.23456"}})
    EXPECT_EQ(shown_cell(text), shown);
}

TEST(Labels, KnowEveryReasonAndFlagOfVariants) {
  for (const std::string& reason : skip_reason_names()) EXPECT_NE(reason_in_words(reason), "") << reason;
  for (unsigned flag = 1; flag <= flag_aligned; flag *= 2)
    EXPECT_NE(flag_in_words(flags_text(flag)), "") << flag;
  EXPECT_EQ(label_of("mlm_loss"), "masked-token loss");
  EXPECT_EQ(label_of("of_no_table"), "of no table");
  EXPECT_EQ(set_name("my_group"), "my_group") << "a name of a user is not touched";
}

TEST_F(FirstScreenOf, ARunThatIsFineHasNoWarnings) {
  const Page read = page({run("run", "0.5", "1048576")});
  EXPECT_EQ(read.headings.front(), "pretrain of train: validation loss 0.5 after 2 updates");
  EXPECT_EQ(read.key_figures, (Lines{"training loss, last: 1.5: after update 2; first 2.12",
                                     "validation loss, last: 0.5: lowest 0.5 after update 2",
                                     "tokens a second, median: 2,000"}));
  EXPECT_TRUE(read.warnings.empty()) << read.warnings.front();
  EXPECT_TRUE(read.contents.empty()) << "of one part";
  EXPECT_EQ(read.fact("validation loss, last"), "") << "it stands among the key figures";
}

TEST_F(FirstScreenOf, ARunWarnsOfItsMemoryAndOfAWorseEnd) {
  const std::string bad = run("run", "1.25", "3145728");
  std::filesystem::remove(folder_ / "run/final");
  EXPECT_EQ(
      page({bad}).warnings,
      (Lines{"The last validation loss, 1.25, is worse than the lowest, 1 after update 1.",
             "memory: 3 MiB were used, 50 % above the 2 MiB that were planned.", "The run has not ended."}));
}

TEST_F(FirstScreenOf, SeveralRunsAreComparedBeforeTheirCharts) {
  const Page read = page({run("one", "0.5", "1"), run("two", "0.25", "1")});
  EXPECT_EQ(read.headings.front(),
            "2 training runs: lowest validation loss 0.25 of " + (folder_ / "two").string());
  ASSERT_GE(read.rows.size(), 3u);
  EXPECT_EQ(read.rows[1], (Lines{(folder_ / "one").string(), "2", "1.5", "0.5", "0.5", "2000"}));
  EXPECT_EQ(read.contents.size(), 2u);
}

TEST_F(FirstScreenOf, PromotersStandBesideTheirBaselines) {
  const std::string json = file("e.json", R"({"precision": 0.25, "recall": 0.5, "f1": 0.333, "auroc": 0.7251,
    "threshold": 0.5, "tp": 1, "fp": 3, "tn": 4, "fn": 1, "baselines": {"gc": {"auroc": 0.8, "f1": 0.1},
    "kmers": {"auroc": 0.6, "f1": 0.2}}, "provenance": {"command": "bigbird promoter evaluate -m m --data d.tsv",
    "inputs": [{"role": "model", "path": "m"}, {"role": "data", "path": "d.tsv"}]}})");
  const Page read = page({json});
  EXPECT_EQ(read.headings.front(), "promoter evaluate of d.tsv by m: AUROC 0.725, F1 0.333");
  EXPECT_EQ(read.key_figures,
            (Lines{"AUROC: 0.725: G and C 0.8, 6-mers 0.6", "F1: 0.333: G and C 0.1, 6-mers 0.2",
                   "precision: 0.25: recall 0.5, threshold 0.5"}));
  EXPECT_EQ(read.warnings,
            (Lines{"AUROC: the model's 0.725 is worse than G and C 0.8.",
                   "Precision is 0.25: most examples that are predicted to be positive are wrong."}));
  EXPECT_EQ(read.fact("false positives"), "") << "the confusion has them";
}

TEST_F(FirstScreenOf, AnEncoderStandsBesideCountsOfTokens) {
  const Page read =
      page({file("e.json", R"({"mlm_loss": 6.090590854803159, "bits_per_base": 1.5, "mlm_accuracy": 0.25,
    "baseline": {"unigram": {"bits_per_base": 1.88, "mlm_loss": 6.07}, "markov": {"best_bits_per_base": 1.6}}})")});
  EXPECT_EQ(read.key_figures,
            (Lines{"bits per base: 1.5: single tokens 1.88, Markov chains 1.6",
                   "masked-token loss: 6.09: single tokens 6.07", "masked-token accuracy: 25 %"}));
  EXPECT_EQ(read.warnings, Lines{"masked-token loss: the model's 6.09 is worse than single tokens 6.07."});
  EXPECT_EQ(read.fact("masked-token loss"), "") << "it is a key figure";
  // The whole value is in the cell's title.
  bool full = false;
  for (const auto& row : page({file("x.json", R"({"loss_of_it": 6.090590854803159})")}).full)
    full = full || row == Lines{"loss of it", "6.090590854803159"};
  EXPECT_TRUE(full);
}

TEST_F(FirstScreenOf, ProfilesHaveARowEachAndTheirGroupsBaselines) {
  std::string table = "#index\tname\tgroup\tpositives\tauroc\tauprc\tpredictions\n";
  for (const auto& [set, shift] : {std::pair{"single", 0}, {"rc", 1}, {"gc", -2}}) {
    for (int i = 0; i < 40; ++i) {
      table += std::to_string(i) + "\tP" + std::to_string(i) + "\tTF\t5\t0." +
               std::to_string(60 + i / 2 + shift) + "\t0.5\t" + set + "\n";
    }
  }
  const Report report = make_report({file("p.tsv", table)}, {}, {});
  const Page read = testing::read_page(report_html(report));
  EXPECT_EQ(read.key_figures, Lines{"median AUROC, TF: 0.705: G and C 0.675"});
  EXPECT_TRUE(read.warnings.empty());
  // The highest, the lowest, and all: no profile is in the first two.
  std::vector<const ReportTable*> tables;
  for (const ReportElement& element : report.sections[0].elements) {
    if (const auto* found = std::get_if<ReportTable>(&element)) tables.push_back(found);
  }
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[2]->rows.size(), 40u) << "one row for three sets";
  EXPECT_EQ(tables[0]->columns,
            (Lines{"index", "name", "group", "positives", "AUROC, forward strand", "AUROC, both strands",
                   "AUROC, G and C", "AUPRC, forward strand", "AUPRC, both strands", "AUPRC, G and C"}));
  std::set<std::string> listed;
  for (const ReportTable* each : {tables[0], tables[1]}) {
    for (const auto& row : each->rows) EXPECT_TRUE(listed.insert(row[0]).second) << row[0];
  }
  EXPECT_EQ(listed.size(), 30u);
  EXPECT_EQ(tables[0]->rows[0][5], "0.80");
  EXPECT_EQ(tables[1]->rows[0][5], "0.61");
}

TEST_F(FirstScreenOf, AScanOpensWithWhatItFound) {
  file("s.bedgraph.summary.json",
       R"({"positions": 100, "positions_scored": 50, "calls": 4, "step": 50, "threshold": 0.5,
    "evaluation": {"within": 500, "any_strand": {"tss": 4, "tss_found": 2, "recall": 0.5, "calls": 4,
      "calls_confirmed": 1, "precision": 0.25},
      "ranking": {"model": {"average_precision": 0.5, "auroc": 0.5, "precision_at_recall_50": null, "best_f1": 0.5},
                  "gc": {"average_precision": 0.25, "auroc": 0.5, "precision_at_recall_50": null, "best_f1": 0.5}}},
    "provenance": {"command": "bigbird promoter scan -m m -f g.fa", "reference": "x/g.fa"}})");
  const Page read = page({file("s.bedgraph", "chr1\t0\t100\t0.25\n")});
  EXPECT_EQ(read.headings.front(), "promoter scan of g.fa: 4 calls, recall 0.5, precision 0.25");
  EXPECT_EQ(read.key_figures, (Lines{"precision of calls: 0.25: 1 of 4 calls have a TSS within 500 bp",
                                     "recall of TSS: 0.5: 2 of 4 TSS have a call within 500 bp",
                                     "average precision: 0.5: G and C 0.25"}));
  EXPECT_EQ(read.warnings,
            (Lines{"Precision is 0.25: most calls are wrong.", "50 of 100 positions have no score."}));
}

TEST_F(FirstScreenOf, CallsSayHowFarAKnownTssIs) {
  const std::string tss = file("t.bed", "chr1\t139\t140\ta\t1\t+\nchr1\t9000\t9001\tb\t1\t-\n");
  const std::string calls =
      file("calls.bed",
           "chr1\t0\t400\tc1\t900\t+\t100\t101\nchr1\t4900\t5300\tc2\t950\t-\t5000\t5001\n"
           "chr2\t0\t400\tc3\t800\t-\t90\t91\n");
  const std::string beside =
      R"({"version": "0", "command": "bigbird promoter scan -m m --within 40", "inputs":
    [{"role": "tss", "path": ")" +
      tss + "\"}]}";
  file("calls.bed.provenance.json", beside);
  const Page read = page({calls});
  EXPECT_TRUE(read.has_key_figure("calls within 40 bp of a TSS: 1: of 3"));
  EXPECT_EQ(read.warnings, Lines{"Precision is 0.333: most calls are wrong."});
  std::vector<Lines> ends;
  for (const Lines& row : read.rows) {
    if (row.size() == 9) ends.push_back({row[3], row[7], row[8]});
  }
  EXPECT_EQ(ends, (std::vector<Lines>{{"name", "bp to a known TSS", "within 40 bp"},
                                      {"c2", "4000", "no"},
                                      {"c1", "39", "yes"},
                                      {"c3", "", "no"}}));
  std::filesystem::remove(tss);
  EXPECT_FALSE(page({calls}).has_key_figure("calls within 40 bp of a TSS: 1: of 3"));
}

TEST_F(FirstScreenOf, PredictionsAndTheirEvaluationSayEverythingOnce) {
  const std::string predictions = file("p.tsv", "#label\tscore\n1\t0.9\n1\t0.4\n0\t0.6\n0\t0.2\n");
  const std::string json =
      file("e.json", R"({"precision": 0.5, "recall": 0.5, "f1": 0.5, "auroc": 0.75, "mcc": 0.0,
    "specificity": 0.5, "threshold": 0.5, "tp": 1, "fp": 1, "tn": 1, "fn": 1, "examples": 4, "provenance":
    {"command": "bigbird promoter evaluate --predictions p.tsv", "inputs": [{"role": "predictions", "path": "p.tsv"}]}})");
  const Report report = make_report({json, predictions}, {}, {});
  const Page read = testing::read_page(report_html(report));
  std::map<std::string, int> times;
  for (const auto& row : read.rows) {
    if (row.size() == 2) ++times[row[0]];
  }
  for (const char* fact : {"precision", "recall", "MCC", "examples", "threshold"})
    EXPECT_EQ(times[fact], 1) << fact;
  EXPECT_EQ(times["specificity"], 1);
  int confusions = 0;
  for (const std::string& chart : read.charts) confusions += chart.rfind("confusion", 0) == 0 ? 1 : 0;
  EXPECT_EQ(confusions, 1);
  // Links of the contents lead to the parts.
  ASSERT_EQ(read.contents.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(read.contents[i], "#" + read.targets.at(i));
}

TEST_F(FirstScreenOf, WrittenAtIsTheFilesOwnTime) {
  const std::string path = file("x.txt", "x");
  std::filesystem::last_write_time(
      path, std::filesystem::file_time_type::clock::now() - std::chrono::hours(24 * 400));
  const std::string old = written_at(path);
  EXPECT_EQ(old.size(), std::string("2026-11-28 19:16 UTC").size());
  EXPECT_LT(old, written_at(file("y.txt", "y")));
  EXPECT_EQ(written_at((folder_ / "absent").string()), "");
}

}  // namespace
}  // namespace bigbird
