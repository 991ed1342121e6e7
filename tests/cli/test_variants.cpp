// bigbird variants: every number of a table against scores of windows that the test cuts itself; the same
// numbers in every format; every record under a score or a reason.
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/tables/hdf5.h"
#include "lib/io/tables/npy.h"
#include "tests/cli/variants_fixture.h"

namespace bigbird::testing {
namespace {

class Variants : public VariantsFixture {
 protected:
  // Windows by plain surgery on strings: common ends cut off, insertions and deletions moved to the left, the
  // variant at `offset`, N beyond the contig, flank lost or won at the right end.
  static std::pair<std::string, std::string> windows(const std::string& chrom, std::int64_t position,
                                                     std::string ref, std::string alt) {
    std::int64_t begin = position - 1;
    while (!ref.empty() && !alt.empty() && ref.back() == alt.back()) {
      ref.pop_back();
      alt.pop_back();
    }
    while (!ref.empty() && !alt.empty() && ref[0] == alt[0]) {
      ref.erase(0, 1);
      alt.erase(0, 1);
      ++begin;
    }
    std::string& change = ref.empty() ? alt : ref;
    while (ref.empty() != alt.empty() &&
           genome().at(chrom)[static_cast<std::size_t>(begin - 1)] == change.back()) {
      change = change.back() + change.substr(0, change.size() - 1);
      --begin;
    }
    const std::string flank(500, 'N');
    const std::string before = flank + genome().at(chrom) + flank;
    std::string after = before;
    const auto place = static_cast<std::size_t>(begin) + flank.size();
    EXPECT_EQ(before.substr(place, ref.size()), ref);
    after.replace(place, ref.size(), alt);
    const std::size_t first = place - offset;
    return {before.substr(first, window), after.substr(first, window)};
  }
};

// One probability for each strand, the mean of the models; first index the profile.
std::vector<std::vector<double>> probabilities(SequenceScorer& scorer, const std::string& bases) {
  std::vector<std::vector<double>> values(scorer.outputs());
  scorer.add(bases, [&](const SequenceScores& scores) {
    for (std::size_t profile = 0; profile < values.size(); ++profile) {
      for (std::size_t strand = 0; strand < 2; ++strand) {
        values[profile].push_back((scores.at(0, strand, profile) + scores.at(1, strand, profile)) / 2);
      }
    }
  });
  scorer.finish();
  return values;
}

void expect_number(const std::string& text, double expected, const std::string& what) {
  EXPECT_NEAR(std::stod(text), expected, std::abs(expected) * 2e-5 + 2e-7) << what << " " << text;
}

double log2_odds(double p) {
  return std::log2(p / (1 - p + 1e-12));
}

TEST_F(Variants, EveryNumberIsThatOfWindowsCutByHand) {
  const RunResult run = must(command({path("in.vcf"), "-O", "tsv"}));
  const auto rows = read_table(run.out);
  ASSERT_EQ(rows.size(), 40u + 8 + 18);
  kernels::set_thread_count(1);  // sequences this small only wait for each other's threads
  const auto backend = kernels::make_cpu_backend();
  SequenceScorer scorer({{path("model"), path("model2")}, Strands::both, {}}, *backend);
  // Of a name that two have, with the number.
  const std::vector<std::string> labels = {"K562|CTCF:0", "K562|CTCF:1", "K562|DNase"};
  int scored = 0;
  for (const auto& row : rows) {
    if (row.at("skip") != "NA") continue;
    ++scored;
    const std::string what = row.at("chrom") + ":" + row.at("pos") + row.at("ref") + ">" + row.at("alt");
    const auto [before, after] = windows(row.at("chrom") == "1" ? "chr1" : row.at("chrom"),
                                         std::stoll(row.at("pos")), row.at("ref"), row.at("alt"));
    const auto reference = probabilities(scorer, before);
    const auto alternative = probabilities(scorer, after);
    double largest = -1;
    std::string best_diff, best_profile;
    for (std::size_t k = 0; k < 3; ++k) {
      const double ref = (reference[k][0] + reference[k][1]) / 2;
      const double alt = (alternative[k][0] + alternative[k][1]) / 2;
      const double change = (log2_odds(alternative[k][0]) - log2_odds(reference[k][0]) +
                             log2_odds(alternative[k][1]) - log2_odds(reference[k][1])) /
                            2;
      const std::string name = columns_of(k);
      expect_number(row.at(name + "ref"), ref, what);
      expect_number(row.at(name + "alt"), alt, what);
      expect_number(row.at(name + "diff"), alt - ref, what);
      expect_number(row.at(name + "lfc"), change, what);
      if (std::abs(change * (alt - ref)) > largest) {
        largest = std::abs(change * (alt - ref));
        best_diff = row.at(name + "diff");
        best_profile = labels[k];
      }
    }
    EXPECT_EQ(row.at("diff"), best_diff) << what;
    EXPECT_EQ(row.at("profile"), best_profile) << what;
    EXPECT_EQ(row.at("dhs_diff"), row.at("p_k562_dnase_diff")) << what;
    const auto of_tf = std::find(labels.begin(), labels.end(), row.at("tf_diff_profile")) - labels.begin();
    ASSERT_LT(of_tf, 2) << what;
    EXPECT_EQ(row.at("tf_diff"), row.at(columns_of(static_cast<std::size_t>(of_tf)) + "diff")) << what;
    const double n = static_cast<double>(std::count(before.begin(), before.end(), 'N')) / window;
    expect_number(row.at("n"), n, what);
    EXPECT_GT(std::stod(row.at("tokens")), 0.0) << what;
    EXPECT_LT(std::stod(row.at("tokens")), 0.6) << what;
  }
  // 48 SNV alleles among neighbours, insertion (twice), deletion, MNP, alias, one beside * and <DEL>, and
  // none of those beside the contig's ends or N: their windows are half N.
  EXPECT_EQ(scored, 48 + 2 + 1 + 1 + 1 + 1);
}

TEST_F(Variants, ReasonsNameEveryAlleleThatIsNotScored) {
  must(command({path("in.vcf"), "-o", path("reasons.tsv")}));
  std::string reasons;
  for (const auto& row : read_table(file("reasons.tsv.skipped.tsv"))) {
    reasons += row.at("chrom") + ":" + row.at("pos") + " " + row.at("alt") + " " + row.at("reason") + "\n";
  }
  const std::string breakend = reference("chr1", 1030) + "]chr2:10]";
  EXPECT_EQ(reasons,
            "chr1:1010 * spanning_deletion\nchr1:1010 <DEL> symbolic\nchr1:1020 NA monomorphic\n"
            "chr1:1030 " +
                breakend + " breakend\nchr1:1040 " + reference("chr1", 1040) + " alt_is_ref\nchr1:1050 " +
                other(reference("chr1", 1050), 2) + " ref_mismatch\nchr1:1060 N ambiguous_alt\nchr1:1 " +
                other(reference("chr1", 1)) + " too_many_n\nchr1:6000 " + other(reference("chr1", 6000)) +
                " too_many_n\nchr1:6001 C outside_contig\nchr2:690 " + other(reference("chr2", 690)) +
                " too_many_n\nchr9:10 C unknown_contig\n");
  const auto summary = nlohmann::json::parse(file("reasons.tsv.summary.json"));
  EXPECT_EQ(summary.at("records"), 40 + 16);
  EXPECT_EQ(summary.at("alleles"), 48 + 18);
  EXPECT_EQ(summary.at("scored"), 54);
  EXPECT_EQ(summary.at("skipped"), 12);
  EXPECT_EQ(summary.at("reasons").at("too_many_n"), 3);
  EXPECT_EQ(summary.at("unknown_contigs").at("chr9"), 1);
  EXPECT_EQ(summary.at("run").at("models").size(), 2u);
  EXPECT_EQ(summary.at("provenance").at("inputs").size(), 2u);
  // The insertion that stands there twice, and both ALTs of a line, share windows: two models, two strands.
  EXPECT_EQ(summary.at("forward_passes").at("saved"), (8 + 2) * 4);
  EXPECT_FALSE(std::filesystem::exists(path("reasons.tsv.parts")));
}

TEST_F(Variants, VcfHoldsTheNumbersOfTheTableForEachAlt) {
  const auto rows = read_table(must(command({path("in.vcf"), "-O", "tsv"})).out);
  const std::string vcf = must(command({path("in.vcf")})).out;
  std::size_t row = 0;
  std::vector<std::string> input = split(file("in.vcf"), '\n');
  std::erase_if(input, [](const std::string& line) { return line.starts_with("#"); });
  auto record = input.begin();
  for (const std::string& line : split(vcf, '\n')) {
    if (line.starts_with("#")) continue;
    const std::vector<std::string> fields = split(line, '\t');
    ASSERT_EQ(fields.size(), 8u);
    // All as it was, and the fields added.
    ASSERT_NE(record, input.end());
    EXPECT_TRUE(line.starts_with(*record++)) << line;
    std::map<std::string, std::vector<std::string>> info;
    for (const std::string& entry : split(fields[7], ';')) {
      const std::size_t sign = entry.find('=');
      info[entry.substr(0, sign)] = split(entry.substr(sign + 1), ',');
    }
    const std::size_t alts = split(fields[4], ',').size();
    for (std::size_t alt = 0; alt < alts; ++alt, ++row) {
      for (const auto& [name, text] : rows[row]) {
        if (name == "chrom" || name == "pos" || name == "id" || name == "ref" || name == "alt") continue;
        if (name == "allele") {
          EXPECT_EQ(text, fields[4] == "." ? "0" : std::to_string(alt + 1));
          continue;
        }
        std::string id = "BB_" + name;
        for (char& letter : id) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
        // A profile's name keeps its letters as they are.
        if (const std::size_t name_at = id.find("DNASE"); name_at != std::string::npos)
          id.replace(name_at, 5, "DNase");
        const auto found = info.find(id);
        if (found == info.end() || fields[4] == ".") {
          EXPECT_TRUE(text == "NA" || fields[4] == ".") << line << name;
        } else {
          ASSERT_EQ(found->second.size(), alts) << line;
          EXPECT_EQ(found->second[alt], text == "NA" ? "." : text) << line << name;
        }
        EXPECT_NE(vcf.find("##INFO=<ID=" + id + ",Number=A,"), std::string::npos) << id;
      }
    }
  }
  EXPECT_EQ(row, rows.size());
  EXPECT_EQ(record, input.end());
  EXPECT_NE(vcf.find("##bigbird_command="), std::string::npos);
}

TEST_F(Variants, MatricesHoldARowForEachAllele) {
  must(command({path("in.vcf"), "-o", path("m.npy")}));
  must(command({path("in.vcf"), "-o", path("m.h5"), "--profiles", "1-2"}));
  const auto rows = read_table(must(command({path("in.vcf"), "-O", "tsv"})).out);
  const auto index = read_table(file("m.rows.tsv"));
  ASSERT_EQ(index.size(), rows.size());
  for (const auto& [matrix, column] : {std::pair<const char*, const char*>{"ref", "ref"},
                                       {"alt", "alt"},
                                       {"diff", "diff"},
                                       {"logfc", "lfc"}}) {
    const NpyMatrix values(path(std::string("m.") + matrix + ".npy"));
    const std::vector<float> stored = Hdf5Reader(path("m.h5")).read_floats(matrix);
    ASSERT_EQ(values.rows(), rows.size());
    ASSERT_EQ(values.columns(), 3u);
    ASSERT_EQ(stored.size(), 2 * rows.size());
    for (std::size_t row = 0; row < rows.size(); ++row) {
      EXPECT_EQ(index[row].at("row"), std::to_string(row));
      EXPECT_EQ(index[row].at("alt"), rows[row].at("alt"));
      EXPECT_EQ(index[row].at("skip"), rows[row].at("skip"));
      for (std::size_t profile = 0; profile < 3; ++profile) {
        const std::string text = rows[row].at(columns_of(profile) + column);
        const double value = values.number(row, profile);
        EXPECT_EQ(std::isnan(value), text == "NA") << row;
        if (text != "NA") expect_number(text, value, matrix);
        if (profile > 0 && text != "NA") {
          EXPECT_EQ(static_cast<double>(stored[2 * row + profile - 1]), value) << matrix << row;
        }
      }
    }
  }
  EXPECT_EQ(Hdf5Reader(path("m.h5")).read_strings("profile_name"),
            (std::vector<std::string>{"K562|CTCF", "K562|DNase"}));
}

TEST_F(Variants, ShiftsAverageOverWindows) {
  // Three windows: the mean of three runs whose offsets the shifts make.
  const auto shifted =
      read_table(must(command({path("in.vcf"), "-O", "tsv", "--shifts", "3", "--shift-step", "7"})).out);
  std::vector<std::vector<std::map<std::string, std::string>>> single;
  for (const char* place : {"42", "49", "56"}) {
    single.push_back(read_table(must(command({path("in.vcf"), "-O", "tsv", "--offset", place})).out));
  }
  int compared = 0;
  for (std::size_t row = 0; row < shifted.size(); ++row) {
    if (shifted[row].at("skip") != "NA") continue;
    for (const char* column :
         {"p_k562_ctcf_0_ref", "p_k562_ctcf_1_alt", "p_k562_dnase_diff", "p_k562_ctcf_0_lfc", "tokens"}) {
      double mean = 0;
      for (const auto& table : single) mean += std::stod(table[row].at(column)) / 3;
      EXPECT_NEAR(std::stod(shifted[row].at(column)), mean, 1e-5 * std::abs(mean) + 1e-6) << column;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200);
}

TEST_F(Variants, TheOtherStrandOfTheGenomeGivesTheSameScores) {
  const std::string& bases = genome().at("chr1");
  write_text(path("reverse.fa"), ">chr1\n" + reverse_complement(bases) + "\n");
  std::string forward = header(), reverse = header();
  for (std::int64_t position = 300; position < 700; position += 31) {
    const std::string ref = reference("chr1", position);
    forward += line("chr1", position, ref, other(ref));
    reverse += line("chr1", static_cast<std::int64_t>(bases.size()) + 1 - position, reverse_complement(ref),
                    reverse_complement(other(ref)));
  }
  write_text(path("forward.vcf"), forward);
  write_text(path("reverse.vcf"), reverse);
  const auto one = read_table(must(command({path("forward.vcf"), "-O", "tsv", "--offset", "49"})).out);
  const auto two =
      read_table(must({"variants", "-m", path("model"), "-m", path("model2"), "-f", path("reverse.fa"), "-@",
                       "1", path("reverse.vcf"), "-O", "tsv", "--offset", "50"})
                     .out);
  ASSERT_EQ(one.size(), 13u);
  ASSERT_EQ(one.size(), two.size());
  for (std::size_t row = 0; row < one.size(); ++row) {
    for (const char* column :
         {"diff", "lfc", "p_k562_ctcf_0_ref", "p_k562_ctcf_1_alt", "p_k562_dnase_diff", "p_k562_dnase_lfc"}) {
      expect_number(one[row].at(column), std::stod(two[row].at(column)), column);
    }
  }
}

TEST_F(Variants, WindowsOnTheGridAreSharedByTheVariantsOfABin) {
  must(command({path("in.vcf"), "-o", path("grid.tsv"), "--anchor", "bin"}));
  const auto summary = nlohmann::json::parse(file("grid.tsv.summary.json"));
  EXPECT_EQ(summary.at("run").at("anchor"), "bin");
  EXPECT_EQ(summary.at("run").at("background_sha256"), "");
  // 540 bases of neighbours in bins of 20 bases: 27 or 28 REF windows for 48 alleles.
  EXPECT_GE(summary.at("forward_passes").at("saved").get<int>(), 20 * 4);
  EXPECT_EQ(summary.at("scored"), 54);
}

TEST_F(Variants, OneWrongThingIsOneLineAndAHint) {
  refused(command({path("in.vcf"), "--shard", "3/2"}), 2, "3/2: no shard");
  refused(command({path("in.vcf"), "--shard", "0/2"}), 2, "0/2: no shard");
  refused(command({path("in.vcf"), "--shifts", "2"}), 2, "odd");
  refused(command({path("in.vcf"), "--profiles", "0,7"}), 2, "profiles 0 to 2");
  refused(command({path("in.vcf"), "--profiles", "x"}), 2, "there is no profile x");
  refused(command({path("in.vcf"), "-O", "xml"}), 2, "'xml' is not a choice of -O");
  refused(command({path("in.vcf"), "-O", "npy"}), 2, "stdout");
  refused(command({path("in.vcf"), "--resume"}), 2, "stdout");
  refused(command({path("in.vcf"), "--shifts", "31"}), 2, "leaves the window");
  refused(command({path("in.vcf"), "--background", path("model/model.safetensors")}), 1, "no background");
  write_text(path("lost.vcf"), header() + line("chr9", 5, "A", "C") + line("chr8", 5, "A", "C"));
  refused(command({path("lost.vcf"), "-o", path("lost.tsv")}), 1, "none of 2 alleles was scored");
  EXPECT_FALSE(std::filesystem::exists(path("lost.tsv")));
  EXPECT_EQ(read_table(file("lost.tsv.skipped.tsv")).size(), 2u);
  TinyClassifier regression;
  regression.problem = ProblemType::regression;
  write_tiny_classifier(path("regression"), regression);
  refused({"variants", "-m", path("regression"), "-f", path("genome.fa"), path("in.vcf")}, 1, "regression");
  if (std::filesystem::exists("/dev/full")) {
    const RunResult full =
        run_bigbird(command({path("in.vcf"), "-o", "/dev/full", "--summary-prefix", path("full")}));
    EXPECT_EQ(full.status, 1) << full.err;
    EXPECT_FALSE(std::filesystem::exists("/dev/full.parts"));
  }
}

}  // namespace
}  // namespace bigbird::testing
