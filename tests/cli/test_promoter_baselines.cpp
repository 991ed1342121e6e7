// What stands beside promoter evaluate and promoter scan: the fraction of G and C, and 6-mers; computed here
// window by window from the genome.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/rng.h"
#include "lib/genomics/promoter/promoter_baselines.h"
#include "lib/io/genome/fasta.h"
#include "lib/metrics/metrics.h"
#include "tests/cli/text_fixture.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {
namespace {

constexpr std::int64_t bases_before = 60, bases_from = 40, contig_length = 4000;

std::string random_bases(CounterRng& random, std::size_t length, std::uint64_t strong) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) {
    const bool is_strong = random.below(100) < strong;
    text += is_strong ? "GC"[random.below(2)] : "AT"[random.below(2)];
  }
  return text;
}

// A contig whose promoters have less G and C, and a word on their own strand; windows of the same kind to
// train on.
class PromoterBaselineVerbs : public TextFixture {
 protected:
  static void SetUpTestSuite() {
    TextFixture::SetUpTestSuite();
    TinyClassifier shape;
    shape.problem = ProblemType::single_label;
    shape.profiles = {{"promoter", "."}};
    shape.labels = 2;
    shape.window = {"promoter", bases_before + bases_from, bases_before, 1};
    write_tiny_classifier(path("promoter"), shape);
    CounterRng random(4, Purpose::test, 0);
    genome_ = random_bases(random, contig_length, 50);
    std::string tss;
    for (const std::int64_t at : {500, 1501, 2500, 3300}) {
      std::string promoter = window(random, true);
      if (at % 2 != 0) promoter = reverse_complement(promoter);
      const std::int64_t begin = at % 2 != 0 ? at - bases_from + 1 : at - bases_before;
      genome_.replace(static_cast<std::size_t>(begin), promoter.size(), promoter);
      tss += fmt::format("chr1\t{}\t{}\tp{}\t0\t{}\n", at, at + 1, at, at % 2 != 0 ? '-' : '+');
    }
    write("genome.fa", ">chr1\n" + genome_ + "\n");
    write("tss.bed", tss);
    std::filesystem::create_directories(path("windows"));
    for (const char* side : {"train", "valid", "test"}) {
      std::string table = "sequence\tlabel\n";
      for (int i = 0; i < 60; ++i)
        table += fmt::format("{}\t{}\n", window(random, i % 3 == 0), i % 3 == 0 ? 1 : 0);
      write(fmt::format("windows/{}.tsv", side), table);
    }
  }
  static std::string window(CounterRng& random, bool promoter) {
    std::string text = random_bases(random, bases_before + bases_from, promoter ? 44 : 50);
    if (promoter) text.replace(30, 8, "TATAAAAG");
    return text;
  }
  static nlohmann::json json(const std::string& text) { return nlohmann::json::parse(text); }
  static Words evaluate(const Words& more) {
    return Words{"promoter",       "evaluate", "-m", path("promoter"), "--data", path("windows/test.tsv"),
                 "--no-provenance"} +
           more;
  }
  static Words scan(const Words& more) {
    return Words{"promoter",
                 "scan",
                 "-m",
                 path("promoter"),
                 "-f",
                 path("genome.fa"),
                 "--step",
                 "20",
                 "--merge-distance",
                 "100",
                 "--within",
                 "50",
                 "--chunk-size",
                 "50",
                 "--no-provenance",
                 "--tss",
                 path("tss.bed")} +
           more;
  }
  static std::string genome_;
};

std::string PromoterBaselineVerbs::genome_;

TEST_F(PromoterBaselineVerbs, StandBesideAnEvaluation) {
  const auto alone = json(must(evaluate({})).out).at("baselines");
  EXPECT_FALSE(alone.contains("kmers"));
  EXPECT_FALSE(alone.at("gc").contains("mcc")) << "there is no threshold";
  EXPECT_EQ(alone.at("gc").at("promoters_have"), "less");
  EXPECT_GT(alone.at("gc").at("auroc").get<double>(), 0.6);

  const RunResult run = must(evaluate({"--baseline-from", path("windows"), "-@", "1"}));
  const auto both = json(run.out).at("baselines");
  EXPECT_EQ(both, json(must(evaluate({"--baseline-from", path("windows"), "-@", "3"})).out).at("baselines"));
  EXPECT_EQ(both.at("gc").at("auroc"), alone.at("gc").at("auroc"));
  EXPECT_EQ(both.at("gc").at("auprc"), alone.at("gc").at("auprc"));
  EXPECT_GT(both.at("gc").at("mcc").get<double>(), 0.0);
  const double threshold = both.at("gc").at("threshold");
  EXPECT_GT(threshold, 0.35);
  EXPECT_LT(threshold, 0.55);
  const auto& kmers = both.at("kmers");
  EXPECT_GT(kmers.at("auroc").get<double>(), 0.95) << "of a word that all promoters have";
  EXPECT_GT(kmers.at("mcc").get<double>(), 0.7);
  EXPECT_EQ(kmers.at("windows"), 60);
  EXPECT_EQ(kmers.at("l2_from"), "valid");
  EXPECT_EQ(kmers.at("tp").get<int>() + kmers.at("fn").get<int>(), 20);
  EXPECT_TRUE(holds(run.err, "by a lower fraction of G and C, ")) << run.err;

  // A table alone has no side to choose the penalty by.
  const auto table =
      json(must(evaluate({"--baseline-from", path("windows/train.tsv")})).out).at("baselines").at("kmers");
  EXPECT_EQ(table.at("l2_from"), "default");
  EXPECT_EQ(table.at("l2"), 100);
}

// Positions and both strands of each, by the library's window scores.
TEST_F(PromoterBaselineVerbs, StandBesideAScan) {
  must(scan({"--baseline-from", path("windows"), "-o", path("scan.bedgraph"), "--per-strand"}));
  const auto ranking = json(read_text(path("scan.bedgraph.summary.json"))).at("evaluation").at("ranking");
  const PromoterBaselines fitted = fit_promoter_baselines(path("windows"), 0.05);
  EXPECT_TRUE(fitted.less_gc);
  BaselineScorer scorer(fitted);
  std::vector<double> gc_near, gc_far, kmers_near, kmers_far;
  for (std::int64_t p = 0; p < contig_length; p += 20) {
    std::vector<std::string> windows;
    if (p >= bases_before && p + bases_from <= contig_length)
      windows.push_back(
          genome_.substr(static_cast<std::size_t>(p - bases_before), bases_before + bases_from));
    if (p + 1 >= bases_from && p + bases_before + 1 <= contig_length) {
      windows.push_back(reverse_complement(
          genome_.substr(static_cast<std::size_t>(p - bases_from + 1), bases_before + bases_from)));
    }
    if (windows.empty()) continue;
    double gc = -2, kmers = -1e9;
    for (const std::string& window : windows) {
      gc = std::max(gc, -scorer.gc(window));
      kmers = std::max(kmers, scorer.kmers(window));
    }
    bool near = false;
    for (const std::int64_t at : {500, 1501, 2500, 3300}) near = near || std::abs(p - at) <= 50;
    (near ? gc_near : gc_far).push_back(gc);
    (near ? kmers_near : kmers_far).push_back(kmers);
  }
  const RankMetrics gc = rank_metrics(gc_near, gc_far), kmers = rank_metrics(kmers_near, kmers_far);
  EXPECT_EQ(ranking.at("gc").at("positions_near_tss"), gc.positives);
  EXPECT_EQ(ranking.at("gc").at("positions"), gc.positives + gc.negatives);
  EXPECT_NEAR(ranking.at("gc").at("average_precision").get<double>(), gc.auprc, 1e-12);
  EXPECT_NEAR(ranking.at("kmers").at("average_precision").get<double>(), kmers.auprc, 1e-12);
  EXPECT_NEAR(ranking.at("kmers").at("auroc").get<double>(), kmers.auroc, 1e-12);
  EXPECT_EQ(ranking.at("gc").at("promoters_have"), "less");
  EXPECT_GT(ranking.at("gc").at("threshold_at_recall_50").get<double>(), 0) << "a fraction of G and C";
  EXPECT_EQ(ranking.at("model").at("positions"), ranking.at("gc").at("positions"));
  // Where no strand of a window lies at the place itself, the word is elsewhere in it.
  EXPECT_GE(ranking.at("kmers").at("precision_at_recall_50").get<double>(), 0.5);

  // Without training windows the better side of G and C is taken, and the model's numbers stay.
  const RunResult plain = must(scan({"-o", path("plain.bedgraph")}));
  const auto other = json(read_text(path("plain.bedgraph.summary.json"))).at("evaluation").at("ranking");
  EXPECT_EQ(other.at("gc"), ranking.at("gc"));
  EXPECT_EQ(other.at("model"), ranking.at("model"));
  EXPECT_FALSE(other.contains("kmers"));
  EXPECT_TRUE(holds(plain.err, "by a lower fraction of G and C: average precision of positions"))
      << plain.err;
}

TEST_F(PromoterBaselineVerbs, AreMergedFromShards) {
  const Words command = scan({"--baseline-from", path("windows")});
  must(command + Words{"-o", path("whole.bedgraph")});
  Words shards;
  for (const char* shard : {"2/3", "1/3", "3/3"}) {
    shards.push_back(path(std::string("part") + shard[0]));
    must(command + Words{"--shard", shard, "-o", shards.back()});
  }
  must(Words{"merge"} + shards + Words{"-o", path("merged.bedgraph"), "--summary", path("merged.json")});
  EXPECT_EQ(read_text(path("merged.json")), read_text(path("whole.bedgraph.summary.json")));
  // A shard with other 6-mers is of another run.
  must(scan({"--baseline-from", path("windows/valid.tsv"), "--shard", "2/3", "-o", path("other")}));
  shards[0] = path("other");
  refused(Words{"merge"} + shards + Words{"-o", path("mixed.bedgraph")}, 1, "baselines");
}

TEST_F(PromoterBaselineVerbs, RefuseWhatTheyCannotBeFittedTo) {
  write("one.tsv", "sequence\tlabel\nACGTACGTAA\t1\nACGTACGTAC\t1\n");
  write("three.tsv", "sequence\tlabel\nACGTACGTAA\t1\nACGTACGTAC\t2\n");
  std::filesystem::create_directories(path("empty"));
  refused(evaluate({"--baseline-from", path("one.tsv")}), 1, "2 windows, 2 of them promoters");
  refused(evaluate({"--baseline-from", path("three.tsv")}), 1, "has label 2");
  refused(evaluate({"--baseline-from", path("empty")}), 1, "no train.tsv");
  write("scored.tsv", "#id\tlabel\tscore\na\t1\t0.9\nb\t0\t0.4\n");
  refused({"promoter", "evaluate", "--predictions", path("scored.tsv"), "--baseline-from", path("windows")},
          2, "predictions have no sequences");
  refused({"promoter", "scan", "-m", path("promoter"), "-f", path("genome.fa"), "--baseline-from",
           path("windows")},
          2, "give --tss");
}

}  // namespace
}  // namespace bigbird::testing
