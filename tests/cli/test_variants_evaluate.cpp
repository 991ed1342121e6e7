// bigbird variants evaluate: numbers of scikit-learn and SciPy, every shape of input, and what is refused.
#include <nlohmann/json.hpp>

#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

class VariantsEvaluate : public VariantsFixture {
 protected:
  static void SetUpTestSuite() {
    VariantsFixture::SetUpTestSuite();
    write_text(
        path("scored.tsv"),
        "##bigbird_version=0.1.0\n"
        "#chrom\tpos\tid\tref\talt\tallele\tdiff\tlfc\tprofile\tfunsig\ttrack_phylop\tskip\tp_ctcf_diff"
        "\tp7_lfc\n"
        "1\t100\t.\tA\tG\t1\t0.30\t1.5\t0\t0.001\t4.1\t.\t0.1\t0.1\n"
        "1\t101\t.\tC\tT\t1\t-0.02\t-0.4\t0\t0.4\t0.2\t.\t-0.5\t-0.5\n"
        "1\t105\t.\tG\tA\t1\t-0.25\t-1.1\t0\t0.01\t3.3\t.\t0.1\t0.1\n"
        "2\t6\t.\tATT\tATAT\t1\t0.01\t0.05\t0\t0.9\t.\t.\t0.1\t0.1\n"
        "2\t50\t.\tAC\tA\t1\t-0.11\t-0.9\t0\t0.03\t-0.5\t.\t0.1\t0.1\n"
        "2\t90\t.\tG\tT\t1\t0.12\t0.8\t0\t0.03\t1.9\t.\t0.1\t0.1\n"
        "X\t33\t.\tG\tC\t1\t0.05\t0.3\t0\t0.2\t2.5\t.\t0.1\t0.1\n"
        "X\t34\t.\tg\tc\t1\t-0.01\t-0.2\t0\t0.8\t-1.2\t.\t0.1\t0.1\n"
        "X\t40\t.\tT\tC\t1\t0.30\t1.5\t0\t0.15\t0.2\t.\t0.1\t0.1\n"
        "3\t11\t.\tT\tC\t1\t.\t.\t.\t.\t.\tedge\t.\t.\n"
        "4\t11\t.\tT\tC\t1\t0.2\t0.2\t0\t0.4\t0.2\t.\t0.1\t0.1\n"
        "X\t33\t.\tG\tC\t1\t0.05\t0.3\t0\t0.2\t2.5\t.\t0.1\t0.1\n");
    write_text(path("labels.tsv"),
               "chrom\tpos\tref\talt\tlabel\tclass\n"
               "1\t100\tA\tG\t1\tmissense_variant\n"
               "1\t101\tC\tT\t0\tmissense_variant\n"
               "1\t105\tG\tA\t1\tmissense_variant,splice_donor_variant\n"
               "chr2\t7\tT\tTA\t0\tintron_variant\n"
               "2\t50\tAC\tA\t1\tintron_variant\n"
               "2\t90\tG\tT\t0\tmissense_variant\n"
               "X\t33\tG\tC\t1\t.\n"
               "X\t34\tG\tC\t0\t.\n"
               "X\t40\tT\tC\t0\tintron_variant\n"
               "3\t11\tT\tC\t1\tintron_variant\n"
               "9\t11\tT\tC\t1\tintron_variant\n");
    write_text(path("tool.tsv"),
               "#Chrom\tPos\tRef\tAlt\tPHRED\tother\n"
               "1\t100\tA\tG\t20.5\t1\n1\t101\tC\tT\t3.1\t1\n1\t105\tG\tA\t31\t1\nchr2\t7\tT\tTA\t1.5\t1\n"
               "2\t50\tAC\tA\t.\t1\n2\t90\tG\tT\t12\t1\nX\t33\tG\tC\t9\t1\nX\t34\tG\tC\t2.5\t1\n"
               "X\t40\tT\tC\t3.1\t1\n3\t11\tT\tC\t17\t1\n");
  }

  static std::vector<std::string> evaluate(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"variants", "evaluate", path("scored.tsv"), "--no-provenance"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  using Row = std::map<std::string, std::string>;
  static Row find(const std::vector<Row>& rows, const std::string& score, const std::string& of_class) {
    for (const Row& row : rows) {
      if (row.at("score") == score && row.at("class") == of_class) return row;
    }
    ADD_FAILURE() << "no row of " << score << ", " << of_class;
    return {};
  }
};

// With scikit-learn's roc_auc_score and average_precision_score of the same columns, an allele in each of its
// classes, rows without a score left out; diff and lfc by their size, funsig by its negative.
TEST_F(VariantsEvaluate, NumbersAreThoseOfScikitLearn) {
  const RunResult run =
      must(evaluate({"--labels", path("labels.tsv"), "--baseline", "tool=" + path("tool.tsv"),
                     "--baseline-columns", "phred", "--summary", path("all.json")}));
  const auto rows = read_table(run.out);
  struct Expected {
    const char *score, *direction, *of_class, *positives, *negatives, *missing;
    double auroc, auprc;
  };
  const std::vector<Expected> expected = {
      {"effect", "size", "all", "4", "5", "1", 0.775, 0.6458333333333333},
      {"effect", "size", "intron_variant", "1", "2", "1", 0.5, 0.5},
      {"diff", "size", "all", "4", "5", "1", 0.725, 0.6083333333333333},
      {"lfc", "size", "all", "4", "5", "1", 0.725, 0.6220238095238095},
      {"funsig", "lower", "all", "4", "5", "1", 0.875, 0.8541666666666666},
      {"track_phylop", "higher", "all", "4", "4", "2", 0.8125, 0.8928571428571428},
      {"track_phylop", "higher", "intron_variant", "1", "1", "2", 0, 0.5},
      {"tool_phred", "higher", "all", "4", "5", "1", 0.95, 0.95},
      {"tool_phred", "higher", "missense_variant", "2", "2", "0", 1, 1}};
  for (const Expected& one : expected) {
    const Row row = find(rows, one.score, one.of_class);
    EXPECT_EQ(row.at("direction"), one.direction) << one.score;
    EXPECT_EQ(row.at("positives"), one.positives) << one.score << one.of_class;
    EXPECT_EQ(row.at("negatives"), one.negatives) << one.score << one.of_class;
    EXPECT_EQ(row.at("missing"), one.missing) << one.score << one.of_class;
    EXPECT_NEAR(std::stod(row.at("auroc")), one.auroc, 1e-5) << one.score << one.of_class;
    EXPECT_NEAR(std::stod(row.at("auprc")), one.auprc, 1e-5) << one.score << one.of_class;
    const double low = std::stod(row.at("auroc_low")), high = std::stod(row.at("auroc_high"));
    EXPECT_TRUE(low <= one.auroc + 1e-6 && one.auroc <= high + 1e-6) << low << " " << high;
  }
  EXPECT_EQ(find(rows, "effect", "all").at("share"), "0.444444");
  EXPECT_EQ(find(rows, "effect", "splice_donor_variant").at("auroc"), "NA");
  // Six scores, "all" and three classes; the profile's column is none of the usual ones.
  EXPECT_EQ(rows.size(), 24U);
  EXPECT_EQ(rows[0].at("class"), "all");
  const auto json = nlohmann::json::parse(file("all.json"));
  EXPECT_EQ(json.at("labels").at("alleles"), 11);
  EXPECT_EQ(json.at("labels").at("found"), 10);
  EXPECT_EQ(json.at("labels").at("rows_repeated"), 1);
  EXPECT_EQ(json.at("scores").size(), 24U);
  EXPECT_NEAR(json.at("scores").at(0).at("auprc").get<double>(), 0.6458333333333333, 1e-12);
}

TEST_F(VariantsEvaluate, ScoresAndDirectionsAreChosen) {
  const auto rows =
      read_table(must(evaluate({"--labels", path("labels.tsv"), "--score", "P_CTCF_diff", "--score",
                                "diff:higher", "--score", "track_phylop:lower", "--bootstrap", "0"}))
                     .out);
  EXPECT_EQ(rows.size(), 12U);
  EXPECT_EQ(find(rows, "p_ctcf_diff", "all").at("direction"), "size");
  // One of five negatives is larger, the others are equal: 0.5 * 4/5.
  EXPECT_EQ(find(rows, "p_ctcf_diff", "all").at("auroc"), "0.4");
  EXPECT_EQ(find(rows, "p_ctcf_diff", "all").at("auroc_low"), "NA");
  EXPECT_EQ(find(rows, "diff", "all").at("direction"), "higher");
  EXPECT_EQ(find(rows, "track_phylop", "all").at("auroc"), "0.1875");
  refused(evaluate({"--labels", path("labels.tsv"), "--score", "cadd"}), 1, "there is no column cadd");
  refused(evaluate({"--labels", path("labels.tsv"), "--score", "diff:up"}), 2, "'up' is not a direction");
}

TEST_F(VariantsEvaluate, DrawsAreOfTheSeed) {
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words =
        evaluate({"--labels", path("labels.tsv"), "--score", "effect", "--bootstrap", "50"});
    words.insert(words.end(), more.begin(), more.end());
    return must(words).out;
  };
  EXPECT_EQ(run({"-@", "1"}), run({"-@", "2"}));
  EXPECT_NE(run({}), run({"--seed", "2"}));
}

// With scipy.stats.spearmanr and scikit-learn of the same alleles, two rows of one as their mean.
TEST_F(VariantsEvaluate, MeasuredEffectsAreThoseOfSciPy) {
  write_text(path("measured.tsv"),
             "#chrom\tpos1\tref\talt\tstrand\tlogFC\tFDR\tknown\n"
             "chr1\t100\tA\tG\t+\t1.2\t0.001\t1\n"
             "chr1\t101\tC\tT\t+\t-0.25\t0.5\t1\n"
             "chr1\t101\tC\tT\t-\t0.5\t0.6\t1\n"
             "chr1\t105\tG\tA\t+\t-0.8\t0.01\t1\n"
             "chr2\t7\tT\tTA\t+\t0.1\t0.9\t1\n"
             "chr2\t50\tAC\tA\t+\t0.4\t0.2\t1\n"
             "chr2\t90\tG\tT\t+\t0.4\t0.04\t1\n"
             "chrX\t33\tG\tC\t+\t-0.3\t0.3\t1\n"
             "chrX\t34\tG\tC\t+\t9\t0.3\t0\n"
             "chrX\t40\tT\tC\t+\t0.9\t0.05\t1\n"
             "chr3\t11\tT\tC\t+\t0.9\t0.05\t1\n"
             "chr4\t11\tT\tC\t+\tNA\t0.05\t1\n"
             "chr9\t11\tT\tC\t+\t0.9\t0.05\t1\n");
  const std::vector<std::string> measured = {"--effects",
                                             path("measured.tsv"),
                                             "--effects-column",
                                             "logFC",
                                             "--effects-where",
                                             "known=1",
                                             "--significance-column",
                                             "FDR",
                                             "--summary",
                                             path("effects.json")};
  const RunResult run = must(evaluate(measured));
  EXPECT_NE(run.err.find("9 of 10 measured alleles (11 rows) are in 12 rows"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find("measured rows left out: no number 1, not known=1 1"), std::string::npos) << run.err;
  const auto rows = read_table(run.out);
  struct Expected {
    const char *score, *measured;
    double spearman, auroc, auprc;
  };
  const double none = std::nan("");
  const std::vector<Expected> expected = {
      {"effect", "size", 0.987952, 0.766667, 0.588889}, {"diff", "signed", 0.710843, none, none},
      {"diff", "size", 0.987952, 0.833333, 0.638889},   {"lfc", "signed", 0.710843, none, none},
      {"lfc", "size", 0.963855, 0.766667, 0.588889},    {"funsig", "size", 0.855422, 0.966667, 0.916667}};
  ASSERT_EQ(rows.size(), 8U) << run.out;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Row& row = rows[i];
    EXPECT_EQ(row.at("score"), expected[i].score);
    EXPECT_EQ(row.at("measured"), expected[i].measured) << expected[i].score;
    EXPECT_EQ(row.at("alleles"), "8");
    EXPECT_EQ(row.at("missing"), "1");
    EXPECT_NEAR(std::stod(row.at("spearman")), expected[i].spearman, 1e-6) << expected[i].score;
    EXPECT_LE(std::stod(row.at("spearman_low")), expected[i].spearman);
    EXPECT_GE(std::stod(row.at("spearman_high")), expected[i].spearman - 1e-6);
    if (std::isnan(expected[i].auroc)) {
      EXPECT_EQ(row.at("auroc"), "NA");
      EXPECT_EQ(row.at("significant"), "NA");
      continue;
    }
    EXPECT_EQ(row.at("significant"), "3");
    EXPECT_NEAR(std::stod(row.at("auroc")), expected[i].auroc, 1e-6) << expected[i].score;
    EXPECT_NEAR(std::stod(row.at("auprc")), expected[i].auprc, 1e-6) << expected[i].score;
  }
  const auto json = nlohmann::json::parse(file("effects.json"));
  EXPECT_EQ(json.at("measured").at("rows"), 11);
  EXPECT_EQ(json.at("measured").at("significant"), 3);
  EXPECT_EQ(json.at("effects").size(), 8U);

  // Draws, seeds, and what cannot be.
  std::vector<std::string> again = measured;
  again.insert(again.end(), {"-@", "1"});
  EXPECT_EQ(must(evaluate(again)).out, run.out);
  again.insert(again.end(), {"--bootstrap", "0", "--significant-below", "0.005"});
  const Row low = read_table(must(evaluate(again)).out)[0];
  EXPECT_EQ(low.at("spearman_low"), "NA");
  EXPECT_EQ(low.at("significant"), "1");
  refused(evaluate({"--effects", path("measured.tsv")}), 1, "there is no column effect");
  refused(evaluate({"--labels", path("labels.tsv"), "--effects-column", "logFC"}), 2, "--effects");
  refused(evaluate({"--effects", path("measured.tsv"), "--significant-below", "0.1"}), 2,
          "--significance-column");
  refused(evaluate({"--effects", path("measured.tsv"), "--effects-column", "strand"}), 1,
          "measured.tsv:2: strand is not a number: +");
  refused(
      evaluate({"--effects", path("measured.tsv"), "--effects-column", "logFC", "--effects-where", "known"}),
      2, "known: not of the form COLUMN=VALUE");
  refused(evaluate(
              {"--effects", path("measured.tsv"), "--effects-column", "logFC", "--effects-where", "known=7"}),
          1, "no allele has a measured number");
}

TEST_F(VariantsEvaluate, ExcludedRegionsAreLeftOut) {
  // REF of 1:105 is the base 104; of 2:6 ATT the bases 5 to 7.
  write_text(path("copies.bed"), "chr1\t104\t105\nchr2\t7\t8\n3\t0\t50\n");
  const RunResult run = must(evaluate({"--labels", path("labels.tsv"), "--score", "effect", "--exclude",
                                       path("copies.bed"), "--summary", path("left.json")}));
  EXPECT_NE(run.err.find("3 of 12 rows touch an excluded region"), std::string::npos) << run.err;
  const Row row = find(read_table(run.out), "effect", "all");
  EXPECT_EQ(row.at("positives"), "3");
  EXPECT_EQ(row.at("negatives"), "4");
  EXPECT_EQ(nlohmann::json::parse(file("left.json")).at("rows_excluded"), 3);
  write_text(path("copies.bed"), "chr1\t103\t104\nchr2\t4\t5\nchr2\t8\t9\n");
  EXPECT_EQ(find(read_table(must(evaluate({"--labels", path("labels.tsv"), "--score", "effect", "--exclude",
                                           path("copies.bed")}))
                                .out),
                 "effect", "all")
                .at("missing"),
            "1")
      << "neighbours of REF do not touch it";
}

TEST_F(VariantsEvaluate, OtherToolsAreCompared) {
  // scipy.stats.spearmanr over the eight alleles with both, of which one stands in two rows here.
  std::string text = file("scored.tsv");
  text.resize(text.rfind("X\t33"));
  write_text(path("once.tsv"), text);
  const auto rows = read_table(must({"variants", "evaluate", path("once.tsv"), "--baseline",
                                     "tool=" + path("tool.tsv"), "--baseline-columns", "phred"})
                                   .out);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("baseline"), "tool_phred");
  EXPECT_EQ(rows[0].at("ours"), "effect");
  EXPECT_EQ(rows[0].at("alleles"), "8");
  EXPECT_EQ(rows[0].at("missing"), "2");
  EXPECT_NEAR(std::stod(rows[0].at("spearman")), 0.7289156626506024, 1e-6);
  EXPECT_EQ(rows[0].at("top_100"), "NA");
  // Many alleles: the tool's score is that of the effect but for every tenth, which it puts last.
  std::string many = "#chrom\tpos\tref\talt\tdiff\tlfc\n", tool = "chrom\tpos\tref\talt\tx\n";
  for (int i = 1; i <= 3000; ++i) {
    const std::string allele = "7\t" + std::to_string(i) + "\tA\tC\t";
    many += allele + "0.1\t" + std::to_string(i) + "\n";
    tool += allele + std::to_string(i % 10 == 0 ? -i : i) + "\n";
  }
  write_text(path("many.tsv"), many);
  write_text(path("many_tool.tsv"), tool);
  const auto top =
      read_table(must({"variants", "evaluate", path("many.tsv"), "--baseline", path("many_tool.tsv")}).out);
  EXPECT_EQ(top[0].at("baseline"), "many_tool_x");
  EXPECT_EQ(top[0].at("top_100"), "0.9");
  EXPECT_EQ(top[0].at("top_1000"), "0.9");
  EXPECT_EQ(top[0].at("top_1_percent"), "0.9");
  const RunResult neither = run_bigbird(evaluate({}));
  EXPECT_EQ(neither.status, 2) << neither.err;
  EXPECT_NE(neither.err.find("give --labels, --effects, --baseline, or several of them"), std::string::npos)
      << neither.err;
}

TEST_F(VariantsEvaluate, ReadsWhatVariantsWrites) {
  // Labels for the scored SNVs: every other one; an insertion in another writing.
  must(command({path("in.vcf"), "-o", path("real.vcf.gz")}));
  must(command({path("in.vcf"), "-o", path("real.tsv")}));
  std::string labels = "chrom\tpos\tref\talt\tcausal\n";
  int label = 0;
  for (const Row& row : read_table(file("real.tsv"))) {
    if (row.at("ref").size() != 1 || row.at("alt").size() != 1 || row.at("skip") != "NA") continue;
    labels += row.at("chrom") + "\t" + row.at("pos") + "\t" + row.at("ref") + "\t" + row.at("alt") + "\t" +
              std::to_string(label) + "\n";
    label = 1 - label;
  }
  write_text(path("real_labels.tsv"), labels);
  const std::vector<std::string> options = {"--labels", path("real_labels.tsv"), "--label-column", "causal",
                                            "--no-provenance"};
  const auto run = [&](const std::string& scored, const std::string& input = {}) {
    std::vector<std::string> words = {"variants", "evaluate", scored};
    words.insert(words.end(), options.begin(), options.end());
    return must(words, input).out;
  };
  const std::string of_table = run(path("real.tsv"));
  EXPECT_EQ(run(path("real.vcf.gz")), of_table);
  EXPECT_EQ(run("-", file("real.tsv")), of_table);
  EXPECT_EQ(run("-", file("real.vcf.gz")), of_table);
  EXPECT_EQ(read_table(of_table)[0].at("score"), "effect");
  // As PROMOTER and so on would be: the groups of the model.
  EXPECT_GE(read_table(of_table).size(), 3U);
}

TEST_F(VariantsEvaluate, IndelsAreFoundWithTheGenome) {
  // A deletion of one base of a run of equal ones, written at its first and at its last base.
  const std::string& bases = genome().at("chr1");
  std::size_t at = 200;
  while (bases[at] != bases[at + 1] || bases[at - 1] == bases[at]) ++at;
  std::size_t last = at;
  while (bases[last + 1] == bases[at]) ++last;
  const auto row = [&](std::size_t place, const std::string& end) {
    return "chr1\t" + std::to_string(place) + "\t" + bases.substr(place - 1, 2) + "\t" + bases[place - 1] +
           end;
  };
  write_text(path("left.tsv"), "#chrom\tpos\tref\talt\ts\n" + row(at, "\t2\n") + "chr1\t9\tA\tC\t1\n");
  write_text(path("right.tsv"), "chrom\tpos\tref\talt\tlabel\n" + row(last, "\t1\n") + "chr1\t9\tA\tC\t0\n");
  const std::vector<std::string> words = {
      "variants", "evaluate", path("left.tsv"), "--labels", path("right.tsv"), "--score", "s"};
  refused(words, 1, "all 1 labelled alleles have label 0");
  std::vector<std::string> with_genome = words;
  with_genome.insert(with_genome.end(), {"-f", path("genome.fa")});
  EXPECT_EQ(read_table(must(with_genome).out)[0].at("auroc"), "1");
}

TEST_F(VariantsEvaluate, RefusesWhatCannotBeEvaluated) {
  write_text(path("elsewhere.tsv"), "chrom\tpos\tref\talt\tlabel\n8\t1\tA\tC\t1\n8\t2\tA\tC\t0\n");
  refused(evaluate({"--labels", path("elsewhere.tsv")}), 1, "none of its 12 alleles has a label in");
  write_text(path("one.tsv"), "chrom\tpos\tref\talt\tlabel\n1\t100\tA\tG\t1\n1\t101\tC\tT\t1\n");
  refused(evaluate({"--labels", path("one.tsv")}), 1, "all 2 labelled alleles have label 1");
  write_text(path("word.tsv"), "chrom\tpos\tref\talt\tlabel\n1\t100\tA\tG\tyes\n");
  refused(evaluate({"--labels", path("word.tsv")}), 1, "word.tsv:2: label is neither 0 nor 1: yes");
  write_text(path("place.tsv"), "chrom\tpos\tref\talt\tlabel\n1\tten\tA\tG\t1\n");
  refused(evaluate({"--labels", path("place.tsv")}), 1, "place.tsv:2: pos is not a whole number: ten");
  refused(evaluate({"--labels", path("genome.fa")}), 1, "genome.fa:1: there is no column chrom");
}

}  // namespace
}  // namespace bigbird::testing
