// What the verbs write, read by the tools of the field: samtools, bcftools and tabix find in it what was put
// there.
#include <algorithm>

#include "lib/io/genome/fasta.h"
#include "tests/cli/variants_fixture.h"
#include "tests/support/programs.h"

namespace bigbird::testing {
namespace {

std::string without_header(const std::string& vcf) {
  std::string records;
  for (const std::string& text : split(vcf, '\n')) {
    if (!text.starts_with("#")) records += text + "\n";
  }
  return records;
}

// A simulated genome with its variants.
class SimulatedFiles : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    const RunResult run =
        run_bigbird({"simulate", "-o", path("g"), "--bp", "600K", "--chromosome-count", "2"});
    ASSERT_EQ(run.status, 0) << run.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }

  static inline TemporaryFolder* folder_ = nullptr;
};

TEST_F(SimulatedFiles, TheIndexOfTheGenomeIsTheOneThatSamtoolsMakes) {
  BIGBIRD_REQUIRE_PROGRAM("samtools");
  std::filesystem::copy_file(path("g/genome.fa.gz"), path("copy.fa.gz"));
  output_of({"samtools", "faidx", path("copy.fa.gz")});
  EXPECT_EQ(read_text(path("g/genome.fa.gz.fai")), read_text(path("copy.fa.gz.fai")));
  EXPECT_EQ(read_text(path("g/genome.fa.gz.gzi")), read_text(path("copy.fa.gz.gzi")));
}

TEST_F(SimulatedFiles, SamtoolsFindsTheBasesThatTheReaderFinds) {
  BIGBIRD_REQUIRE_PROGRAM("samtools");
  const Fasta genome(path("g/genome.fa.gz"));
  Fasta reader = genome.clone();
  for (const auto& [contig, begin, end] : {std::tuple<std::size_t, std::int64_t, std::int64_t>{0, 0, 60},
                                           {0, 65270, 65300},
                                           {1, 123456, 130000}}) {
    std::string region = genome.contigs()[contig].name;
    region += ":" + std::to_string(begin + 1) + "-" + std::to_string(end);
    std::string bases = output_of({"samtools", "faidx", path("g/genome.fa.gz"), region});
    bases.erase(0, bases.find('\n') + 1);
    std::erase(bases, '\n');
    for (char& letter : bases) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    EXPECT_EQ(bases, reader.fetch(contig, begin, end)) << region;
  }
}

TEST_F(SimulatedFiles, EveryRefOfTheVariantsIsTheGenomes) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  const RunResult checked = run_program({"bcftools", "norm", "--check-ref", "e", "-f", path("g/genome.fa.gz"),
                                         path("g/variants.vcf.gz"), "-o", path("n.vcf")});
  EXPECT_EQ(checked.status, 0) << checked.err;
  // Nothing had to be moved or joined: they are written leftmost and by their place.
  EXPECT_EQ(without_header(read_text(path("n.vcf"))),
            without_header(output_of({"bcftools", "view", path("g/variants.vcf.gz")})));
}

TEST_F(SimulatedFiles, TheIndexOfTheVariantsFindsAndCountsThem) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  BIGBIRD_REQUIRE_PROGRAM("tabix");
  const std::string vcf = path("g/variants.vcf.gz");
  const std::string all = without_header(output_of({"gzip", "-dc", vcf}));
  const auto count = std::count(all.begin(), all.end(), '\n');
  EXPECT_GT(count, 50);
  EXPECT_EQ(output_of({"bcftools", "index", "--nrecords", vcf}), std::to_string(count) + "\n");
  std::string expected;
  for (const std::string& text : split(all, '\n')) {
    const auto fields = split(text, '\t');
    const std::int64_t begin = std::stoll(fields[1]),
                       end = begin + static_cast<std::int64_t>(fields[3].size()) - 1;
    if (fields[0] == "chr2" && begin <= 200000 && end >= 100000) expected += text + "\n";
  }
  EXPECT_GT(expected.size(), 100u);
  EXPECT_EQ(output_of({"tabix", vcf, "chr2:100000-200000"}), expected);
  const std::string found =
      output_of({"bcftools", "query", "-f", "%CHROM\\n", "-r", "chr2:100000-200000", vcf});
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), std::count(expected.begin(), expected.end(), '\n'));
}

class ScoredFiles : public VariantsFixture {
 protected:
  // A VCF of SNVs in order, and a deletion.
  static std::string sorted_input() {
    std::string records;
    for (std::int64_t position = 300; position < 900; position += 50) {
      const std::string ref = reference("chr1", position);
      records += line("chr1", position, ref, position == 400 ? other(ref) + "," + other(ref, 2) : other(ref));
    }
    records += line("chr1", 950, reference("chr1", 950, 8), reference("chr1", 950)) +
               line("chr1", 1020, reference("chr1", 1020), ".");
    write_text(path("sorted.vcf"), header() + records);
    return path("sorted.vcf");
  }
};

TEST_F(ScoredFiles, BcftoolsReadsTheSameRecordsFromEveryType) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  const std::string input = sorted_input();
  std::vector<std::string> views;
  for (const char* name : {"o.vcf", "o.vcf.gz", "o.bcf"}) {
    must(command({input, "-o", path(name), "--no-provenance"}));
    const RunResult view = run_program({"bcftools", "view", "--no-version", path(name)});
    EXPECT_EQ(view.status, 0) << view.err;
    EXPECT_EQ(view.err, "") << name << ": bcftools has something to say of the header or a record";
    views.push_back(view.out);
  }
  EXPECT_EQ(views[0], views[1]);
  EXPECT_EQ(views[0], views[2]);
  EXPECT_EQ(without_header(views[0]), without_header(file("o.vcf")));
}

TEST_F(ScoredFiles, QueriesGiveTheColumnsOfTheTable) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  const std::string input = sorted_input();
  const auto rows = read_table(must(command({input, "-O", "tsv"})).out);
  must(command({input, "-o", path("q.bcf")}));
  std::string expected;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto& first = rows[row];
    std::string difference = first.at("diff"), profile = first.at("profile"), skip = first.at("skip");
    for (; row + 1 < rows.size() && rows[row + 1].at("pos") == first.at("pos"); ++row) {
      difference += "," + rows[row + 1].at("diff");
      profile += "," + rows[row + 1].at("profile");
      skip = ".";
    }
    if (first.at("alt") == "NA") skip = ".";  // a field of each ALT has no place where there is none
    std::string line = first.at("pos") + " " + difference + " " + profile + " " + skip + "\n";
    for (std::size_t at = line.find("NA"); at != std::string::npos; at = line.find("NA", at))
      line.replace(at, 2, ".");
    expected += line;
  }
  EXPECT_EQ(output_of({"bcftools", "query", "-f", "%POS %BB_DIFF %BB_PROFILE %BB_SKIP\\n", path("q.bcf")}),
            expected);
}

TEST_F(ScoredFiles, AnIndexOverThemFindsRegions) {
  BIGBIRD_REQUIRE_PROGRAM("bcftools");
  const std::string input = sorted_input();
  for (const char* name : {"i.vcf.gz", "i.bcf"}) {
    must(command({input, "-o", path(name)}));
    output_of({"bcftools", "index", "-f", path(name)});
    EXPECT_EQ(output_of({"bcftools", "query", "-f", "%POS\\n", "-r", "chr1:440-510", path(name)}),
              "450\n500\n")
        << name;
    // And the toolkit takes that index.
    must(command({path(name), "-r", "chr1:440-510", "-O", "tsv", "-o", path("again.tsv")}));
    EXPECT_EQ(read_table(file("again.tsv")).size(), 2u);
  }
}

}  // namespace
}  // namespace bigbird::testing
