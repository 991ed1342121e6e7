// Options of the promoter, chromatin, ism and attribute verbs, each by its effect on models of random weights
// and small genomes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "lib/genomics/chromatin/dataset.h"
#include "lib/io/genome/bed.h"
#include "lib/io/tables/npy.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/matlab_files.h"

namespace bigbird::testing {
namespace {

using Row = std::map<std::string, std::string>;

// A genome of one contig whose bases 2000 to 2100 are N, and a promoter model that reads 60 bases before a
// TSS and 40 from it on.
class GenomicsOptions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TinyClassifier shape;
    shape.problem = ProblemType::single_label;
    shape.profiles = {{"promoter", "."}};
    shape.labels = 2;
    shape.window = {"promoter", 100, 60, 1};
    write_tiny_classifier(path("promoter"), shape);
    write_tiny_classifier(path("chromatin"));
    CounterRng random(6, Purpose::test, 0);
    for (int i = 0; i < 4000; ++i) bases() += "ACGT"[random.below(4)];
    bases().replace(2000, 100, std::string(100, 'N'));
    write_text(path("genome.fa"), ">chr1\n" + bases() + "\n");
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
    bases().clear();
  }
  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::string file(const std::string& name) { return read_text(path(name)); }
  static std::string& bases() {
    static std::string text;
    return text;
  }
  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static RunResult must(const std::vector<std::string>& arguments) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  // A track of intervals as a value for each base of the contig; NaN where there is none.
  static std::vector<double> values_of_track(const std::string& bedgraph) {
    std::vector<double> values(bases().size(), std::numeric_limits<double>::quiet_NaN());
    for (const std::string& line : split(bedgraph, '\n')) {
      if (line.starts_with("#")) continue;
      const auto fields = split(line, '\t');
      for (auto at = std::stoul(fields[1]); at < std::stoul(fields[2]); ++at)
        values[at] = std::stod(fields[3]);
    }
    return values;
  }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(GenomicsOptions, PromoterPredictionsLeaveOutWindowsRichInN) {
  const std::string clean(100, 'A'), rich = std::string(70, 'A') + std::string(30, 'N');
  write_text(path("windows.fa"), ">clean\n" + clean + "\n>rich\n" + rich + "\n");
  const auto scores = [&](const std::vector<std::string>& more) {
    std::vector<std::string> found;
    for (const Row& row : read_table(
             must(with({"promoter", "predict", "-m", path("promoter"), path("windows.fa"), "--no-provenance"},
                       more))
                 .out))
      found.push_back(row.at("score"));
    return found;
  };
  const auto all = scores({"--max-n", "0.5"});
  EXPECT_EQ(scores({}), (std::vector<std::string>{all[0], "NA"}));
  EXPECT_NE(all[1], "NA");
  EXPECT_EQ(scores({"--max-n", "0.3"}), all);
  EXPECT_EQ(scores({"--max-n", "0.29"}), (std::vector<std::string>{all[0], "NA"}));

  write_text(path("labelled.tsv"), "sequence\tlabel\n" + clean + "\t1\n" + rich + "\t0\n" + clean + "\t0\n");
  const auto left_out = [&](const char* share) {
    const auto json = nlohmann::json::parse(must({"promoter", "evaluate", "-m", path("promoter"), "--data",
                                                  path("labelled.tsv"), "--max-n", share})
                                                .out);
    return json.value("left_out", 0) * 10 + json.at("examples").get<int>();
  };
  EXPECT_EQ(left_out("0.3"), 3);
  EXPECT_EQ(left_out("0.29"), 12);
}

// What a model says of the strand - is what it says of the reverse complement.
TEST_F(GenomicsOptions, PromotersAreReadOnTheStrandThatIsTyped) {
  std::string forward = "sequence\tlabel\n", reverse = forward;
  for (std::size_t i = 0; i < 6; ++i) {
    const std::string sequence = bases().substr(300 * i, 100);
    const std::string label = "\t" + std::to_string(i % 2) + "\n";
    forward += sequence + label;
    reverse += reverse_complement(sequence) + label;
  }
  write_text(path("forward.tsv"), forward);
  write_text(path("reverse.tsv"), reverse);
  const auto run = [&](const char* verb, const char* data, const std::vector<std::string>& more) {
    const std::vector<std::string> words = {
        "promoter", verb, "-m", path("promoter"), "--data", path(data), "--no-provenance"};
    return must(with(words, more)).out;
  };
  for (const char* verb : {"predict", "evaluate"}) {
    const std::string plus = run(verb, "forward.tsv", {"--strands", "+"});
    EXPECT_EQ(run(verb, "forward.tsv", {"--strands", "+", "--batch-tokens", "64"}), plus) << verb;
    EXPECT_EQ(run(verb, "reverse.tsv", {"--strands", "-"}), plus) << verb;
  }
  EXPECT_NE(run("predict", "forward.tsv", {"--strands", "-"}), run("predict", "forward.tsv", {}));
  for (const char* strand : {"+", "-"}) {
    must({"promoter", "scan", "-m", path("promoter"), "-f", path("genome.fa"), "-r", "chr1:1001-1500",
          "--step", "10", "--strands", strand, "--summary", path("strand.json")});
    const auto summary = nlohmann::json::parse(file("strand.json"));
    EXPECT_EQ(summary.at("strands"), strand);
    EXPECT_EQ(summary.at("windows_scored"), 50);
  }
}

TEST_F(GenomicsOptions, ThresholdPartsTheClasses) {
  write_text(path("scored.tsv"), "#id\tlabel\tscore\na\t1\t0.9\nb\t1\t0.4\nc\t0\t0.6\nd\t0\t0.1\n");
  const auto counts = [&](const char* threshold) {
    const auto json = nlohmann::json::parse(
        must({"promoter", "evaluate", "--predictions", path("scored.tsv"), "--threshold", threshold}).out);
    EXPECT_EQ(json.at("threshold"), std::stod(threshold));
    return std::vector<int>{json.at("tp"), json.at("fp"), json.at("tn"), json.at("fn")};
  };
  EXPECT_EQ(counts("0.35"), (std::vector<int>{2, 1, 1, 0}));
  EXPECT_EQ(counts("0.4"), (std::vector<int>{2, 1, 1, 0}));  // a score at the threshold is one above it
  EXPECT_EQ(counts("0.7"), (std::vector<int>{1, 0, 2, 1}));
}

TEST_F(GenomicsOptions, AScanKeepsWindowNAndDistanceAsTyped) {
  const std::vector<std::string> scan = {
      "promoter", "scan", "-f", path("genome.fa"), "--step", "10", "--no-provenance", "-r", "chr1:1001-3000"};
  const auto scanned = [&](const std::string& model, const std::string& name,
                           const std::vector<std::string>& more) {
    must(with(with(scan, {"-m", path(model), "--summary", path(name)}), more));
    return nlohmann::json::parse(file(name));
  };
  // Every window that holds one N, and those of nothing but N.
  const auto strict = scanned("promoter", "strict.json", {"--max-n", "0"});
  const auto loose = scanned("promoter", "loose.json", {"--max-n", "1"});
  EXPECT_EQ(loose.at("windows_rich_in_n"), 0);
  EXPECT_EQ(strict.at("windows_rich_in_n"), 2 * 19 + 1);
  EXPECT_EQ(strict.at("windows_scored").get<int>() + strict.at("windows_rich_in_n").get<int>(),
            loose.at("windows_scored"));

  // A model that has no window is told.
  std::filesystem::copy(path("promoter"), path("untold"), std::filesystem::copy_options::recursive);
  std::filesystem::remove(path("untold/window.json"));
  const std::string told = must(with(scan, {"-m", path("promoter")})).out;
  EXPECT_EQ(must(with(scan, {"-m", path("untold"), "--left", "60", "--right", "40"})).out, told);
  EXPECT_NE(must(with(scan, {"-m", path("untold"), "--left", "50", "--right", "50"})).out, told);

  // A TSS 30 bases from a call agrees with it within 30 bases and not within 29.
  scanned("promoter", "calls.json",
          {"--calls", path("calls.bed"), "--threshold", "0", "--merge-distance", "400"});
  const std::vector<BedRecord> calls = read_bed(path("calls.bed"));
  ASSERT_FALSE(calls.empty());
  const std::int64_t tss = calls[0].begin + 30;
  write_text(path("known.bed"),
             "chr1\t" + std::to_string(tss) + "\t" + std::to_string(tss + 1) + "\tA_1\t1\t+\n");
  for (const auto& [distance, found] : {std::pair<const char*, int>{"29", 0}, {"30", 1}}) {
    const auto json = scanned(
        "promoter", "near.json",
        {"--tss", path("known.bed"), "--within", distance, "--threshold", "0", "--merge-distance", "400"});
    EXPECT_EQ(json.at("evaluation").at("within"), std::stoi(distance));
    EXPECT_EQ(json.at("evaluation").at("any_strand").at("tss_found"), found) << distance;
  }
}

// Twelve pairs of TSS 10 bases from each other, on an assembly whose bases lie 100 before the genome's.
TEST_F(GenomicsOptions, PromoterWindowsAreLiftedJoinedAndFreeOfN) {
  std::string text;
  for (int pair = 0; pair < 12; ++pair) {
    for (const int shift : {0, 10}) {
      const int tss = 150 + 300 * pair + shift;
      text += "old\t" + std::to_string(tss) + "\t" + std::to_string(tss + 1) + "\tG" +
              std::to_string(2 * pair + shift / 10) + "_1\t1\t+\n";
    }
  }
  write_text(path("old.bed"), text);
  write_text(path("old.chain"), "chain 10 old 3900 + 0 3900 chr1 4000 + 100 4000 1\n3900\n");
  const auto build = [&](const std::vector<std::string>& more) {
    return run_bigbird(with(
        {"promoter", "build", "--tss", path("old.bed"), "-f", path("genome.fa"), "--lift", path("old.chain"),
         "--left", "30", "--right", "20", "--negatives", "random", "--force", "-o", path("built")},
        more));
  };
  EXPECT_EQ(run_bigbird({"promoter", "build", "--tss", path("old.bed"), "-f", path("genome.fa"), "-o",
                         path("unlifted")})
                .status,
            1);
  ASSERT_EQ(build({"--max-n", "1"}).status, 0);
  std::set<std::string> begins;
  for (const char* side : {"train", "valid", "test"}) {
    for (const Row& row : read_table(file("built/" + std::string(side) + ".tsv"))) {
      begins.insert(row.at("start"));
      if (row.at("label") == "1") {
        EXPECT_EQ(row.at("sequence"), bases().substr(std::stoul(row.at("start")), 50));
      }
    }
  }
  EXPECT_EQ(begins.size(), 24u);
  EXPECT_EQ(begins.count("220"), 1u) << "base 150 is base 250 of the genome";
  // The seventh pair stands at bases 2050 and 2060, among N.
  ASSERT_EQ(build({"--max-n", "0"}).status, 0);
  const auto dropped = read_table(file("built/dropped.tsv"));
  ASSERT_EQ(dropped.size(), 2u);
  EXPECT_EQ(dropped[0].at("reason"), "too many N");
  EXPECT_EQ(dropped[0].at("tss"), "2050");

  const RunResult refused = build({"--no-join"});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_NE(refused.err.find("leaks between its sides"), std::string::npos) << refused.err;
  const RunResult allowed = build({"--no-join", "--allow-leaks"});
  ASSERT_EQ(allowed.status, 0) << allowed.err;
  EXPECT_NE(allowed.err.find("leaks between its sides"), std::string::npos) << allowed.err;
  const auto manifest = nlohmann::json::parse(file("built/manifest.json"));
  EXPECT_GT(manifest.at("splits")[0].at("leaks").at("overlapping window"), 0);
}

TEST_F(GenomicsOptions, ChromatinBuildClipsPeaksAndReplacesAFolder) {
  write_text(path("index.fa.fai"), "chr1\t2000\t6\t2000\t2001\n");
  write_text(path("beyond.bed"), "chr1\t1850\t2100\n");
  write_text(path("peaks.tsv"), "#name\tgroup\tfile\nx\tTF\tbeyond.bed\n");
  const std::vector<std::string> build = {"chromatin",      "build", "--peaks",    path("peaks.tsv"), "-f",
                                          path("index.fa"), "-o",    path("bins"), "--window",        "200"};
  EXPECT_EQ(run_bigbird(build).status, 1);
  EXPECT_FALSE(std::filesystem::exists(path("bins")));
  must(with(build, {"--clip"}));
  const auto manifest = nlohmann::json::parse(file("bins/manifest.json"));
  EXPECT_EQ(manifest.at("bins"), 1) << "150 of the last bin's 200 bases";
  EXPECT_EQ(run_bigbird(with(build, {"--clip", "--min-overlap", "0.8", "--keep", "all"})).status, 1)
      << "the folder is there";
  must(with(build, {"--clip", "--keep", "all", "--force"}));
  EXPECT_EQ(nlohmann::json::parse(file("bins/manifest.json")).at("bins"), 10);
}

// Bins of 20 bases on the genome, of which some lie in N; labels that mean nothing.
TEST_F(GenomicsOptions, ChromatinEvaluateReadsTheModelAsTyped) {
  TinyClassifier shape;
  ChromatinDatasetWriter writer(path("data"), false, {{"chr1", 4000}}, shape.profiles, shape.window, {});
  CounterRng random(7, Purpose::test, 0);
  for (std::int64_t i = 60; i < 140; ++i) {
    const auto labels = static_cast<std::uint8_t>(random.below(8));
    writer.write({0, Split::test, 20 * i}, {&labels, 1});
  }
  std::filesystem::copy_file(path("genome.fa"), path("moved.fa"));
  writer.commit(path("moved.fa"), "{}");
  const std::vector<std::string> evaluate = {
      "chromatin", "evaluate", "-m", path("chromatin"), "--data", path("data"), "--no-provenance"};
  const std::string both = must(evaluate).out;
  const auto set = [](const std::string& text, const std::string& name) {
    const auto json = nlohmann::json::parse(text);
    for (const auto& one : json.at("evaluations")) {
      if (one.at("name") == name) return one;
    }
    return nlohmann::json();
  };
  EXPECT_EQ(must(with(evaluate, {"--batch-tokens", "64"})).out, both);
  EXPECT_EQ(must(with(evaluate, {"--max-n", "0.1", "--strands", "both"})).out, both);
  // The forward strand alone is the first of the sets.
  const auto forward =
      nlohmann::json::parse(must(with(evaluate, {"--strands", "forward"})).out).at("evaluations");
  ASSERT_EQ(forward.size(), 2u);
  EXPECT_EQ(forward[1].at("name"), "gc");
  EXPECT_EQ(forward[0].at("groups"), set(both, "single").at("groups"));
  ASSERT_FALSE(set(both, "rc").is_null());
  EXPECT_NE(forward[0].at("groups"), set(both, "rc").at("groups"));
  EXPECT_GT(set(both, "single").at("missing"), 0);
  EXPECT_EQ(set(must(with(evaluate, {"--max-n", "1"})).out, "single").at("missing"), 0);
  // The genome may be given where the data set's own is gone.
  std::filesystem::remove(path("moved.fa"));
  EXPECT_EQ(run_bigbird(evaluate).status, 1);
  EXPECT_EQ(must(with(evaluate, {"-f", path("genome.fa")})).out, both);

  write_text(path("bins.bed"), "chr1\t1000\t1020\nchr1\t2030\t2050\nchr1\t2100\t2120\n");
  const auto scored = [&](const char* share) {
    std::string flags;
    const auto table =
        read_table(must({"chromatin", "predict", "-m", path("chromatin"), "-f", path("genome.fa"), "-R",
                         path("bins.bed"), "--max-n", share, "--no-provenance"})
                       .out);
    for (const Row& row : table)
      flags += row.rbegin()->second == "NA" || row.at("K562|CTCF:0") == "NA" ? "-" : "+";
    return flags;
  };
  // Their windows hold 0, 100 and 40 N.
  EXPECT_EQ(scored("0.39"), "+--");
  EXPECT_EQ(scored("0.4"), "+-+");
  EXPECT_EQ(scored("1"), "+++");
}

// What the strand - of the genome says is what the strand + of its reverse complement says: of the same
// piece, so that the base stands as far from the other end.
TEST_F(GenomicsOptions, IsmReadsTheStrandThatIsTyped) {
  write_text(path("reverse.fa"), ">chr1\n" + reverse_complement(bases()) + "\n");
  const auto ism = [&](const char* genome, const char* region, const char* strand,
                       const char* offset = "-1") {
    std::map<std::string, std::string> values;
    const RunResult run = must({"ism", "-m", path("chromatin"), "-f", path(genome), "-r", region, "--strands",
                                strand, "--offset", offset, "--provenance", "inline"});
    EXPECT_NE(run.out.find(std::string("##ism_strand=") + strand + "\n"), std::string::npos) << run.out;
    for (const Row& row : read_table(run.out)) values[row.at("pos") + row.at("alt")] = row.at("K562|DNase");
    return values;
  };
  const auto plus = ism("genome.fa", "chr1:1001-1005", "+");
  const auto minus = ism("genome.fa", "chr1:1001-1005", "-");
  const auto turned = ism("reverse.fa", "chr1:2996-3000", "+", "50");
  ASSERT_EQ(minus.size(), 15u);  // an odd region has its middle in the same base on both strands
  EXPECT_NE(plus, minus);
  EXPECT_NE(ism("genome.fa", "chr1:1001-1005", "both"), plus);
  for (const auto& [place, value] : minus) {
    const std::string mirrored =
        std::to_string(4001 - std::stoi(place)) + reverse_complement(place.substr(place.size() - 1));
    ASSERT_EQ(turned.count(mirrored), 1u) << place;
    EXPECT_NEAR(std::stod(value), std::stod(turned.at(mirrored)), 1e-6) << place;
  }
}

TEST_F(GenomicsOptions, IsmLeavesOutWindowsRichInN) {
  // The window around chr1:1961 holds some N.
  const auto rich = [&](const char* share) {
    return run_bigbird(
        {"ism", "-m", path("chromatin"), "-f", path("genome.fa"), "-r", "chr1:1961-1961", "--max-n", share});
  };
  EXPECT_EQ(read_table(rich("0.5").out).size(), 3u);
  EXPECT_EQ(rich("0").status, 1);
  EXPECT_NE(rich("0").err.find("1 have a window with more than 0 of N"), std::string::npos) << rich("0").err;
}

TEST_F(GenomicsOptions, StrandsOfAnAttributionAverageToBoth) {
  const auto track = [&](const char* strand) {
    return values_of_track(must({"attribute", "-m", path("chromatin"), "-f", path("genome.fa"), "-r",
                                 "chr1:1001-1020", "--profiles", "1", "--strands", strand, "--no-provenance"})
                               .out);
  };
  const auto plus = track("+"), minus = track("-"), both = track("both");
  double apart = 0;
  for (std::size_t at = 1000; at < 1020; ++at) {
    EXPECT_NEAR(both[at], (plus[at] + minus[at]) / 2,
                1e-5 * (std::abs(plus[at]) + std::abs(minus[at])) + 1e-7)
        << at;
    apart += std::abs(plus[at] - minus[at]);
  }
  EXPECT_GT(apart, 1e-4);
  const auto at_once =
      values_of_track(must({"attribute", "-m", path("chromatin"), "-f", path("genome.fa"), "-r",
                            "chr1:1001-1020", "--profiles", "1", "--batch-tokens", "2K"})
                          .out);
  for (std::size_t at = 1000; at < 1020; ++at) EXPECT_NEAR(at_once[at], both[at], 1e-6) << at;
}

// Two bins of 300 bases, A alone and C alone, each on both strands, with three profiles.
TEST(ImportDeepseaOptions, SamplesNamesAndPlacesAsTyped) {
  const TemporaryFolder folder;
  const auto path = [&](const std::string& name) { return (folder / name).string(); };
  MatlabVariable sequences{"validxdata", {4, 4, 300}, {}};
  for (int k = 0; k < 300; ++k) {
    for (const char base : std::string("AGCT")) {
      for (const char sample : std::string("ACTG")) sequences.bytes.push_back(sample == base ? 1 : 0);
    }
  }
  write_matlab5(path("valid.mat"), {sequences, {"validdata", {4, 3}, {1, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0, 0}}});
  const auto import = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"chromatin", "import-deepsea", "--mat",          path("valid.mat"),
                                      "-o",        path(name),       "--no-provenance"};
    words.insert(words.end(), more.begin(), more.end());
    return run_bigbird(words);
  };
  const auto file = [&](const std::string& name) { return read_text(path(name)); };
  ASSERT_EQ(import("pairs", {}).status, 0);
  const RunResult all = import("all", {"--no-pairs"});
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_NE(all.err.find("valid 4,"), std::string::npos) << all.err;
  EXPECT_EQ(nlohmann::json::parse(file("all/manifest.json")).at("bins"), 4);
  EXPECT_EQ(nlohmann::json::parse(file("pairs/manifest.json")).at("bins"), 2);
  ASSERT_EQ(import("slabs", {"--memory-limit", "2K"}).status, 0);
  for (const char* name : {"labels.npy", "bins.bed.gz", "sequences.fa.gz"})
    EXPECT_EQ(file(std::string("slabs/") + name), file(std::string("pairs/") + name)) << name;
  write_text(path("names.tsv"),
             "column\tgroup\tname\n0\tTF\tHepG2|CTCF\n1\tTF\tHepG2|MAX\n2\tDHS\tHepG2|DNase\n");
  ASSERT_EQ(import("named", {"--profile-names", path("names.tsv")}).status, 0);
  EXPECT_NE(file("named/profiles.tsv").find("\tHepG2|MAX\tTF\t"), std::string::npos)
      << file("named/profiles.tsv");

  // The same bins by their places: windows come from a genome that the samples are compared with.
  std::string bases = std::string(300, 'A') + std::string(300, 'C');
  write_text(path("genome.fa"), ">chr7\n" + bases + "\n");
  write_text(path("bins.bed"), "chr7\t50\t250\nchr7\t350\t550\n");
  const std::vector<std::string> placed = {
      "--bins-file", path("bins.bed"), "--fasta-ref", path("genome.fa"), "--left", "20", "--right", "30"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), placed.begin(), placed.end());
    return more;
  };
  EXPECT_EQ(import("unplaced", with({})).status, 1) << "without train.mat its 2,200,000 lines come first";
  for (const auto& [every, compared] :
       {std::pair<const char*, const char*>{"1", "2"}, {"2", "1"}, {"0", "0"}}) {
    const RunResult run =
        import(std::string("every") + every, with({"--train-lines", "0", "--check-every", every}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_NE(run.err.find(std::string(", ") + compared + " bins compared with the genome"),
              std::string::npos)
        << run.err;
  }
  const auto window = nlohmann::json::parse(file("every1/manifest.json")).at("window");
  EXPECT_EQ(window.at("length"), 250);
  EXPECT_EQ(window.at("target_offset"), 20);
  bases[400] = 'G';
  write_text(path("genome.fa"), ">chr7\n" + bases + "\n");
  EXPECT_EQ(import("other", with({"--train-lines", "0"})).status, 1);
  EXPECT_EQ(import("unchecked", with({"--train-lines", "0", "--check-every", "0"})).status, 0);
}

}  // namespace
}  // namespace bigbird::testing
