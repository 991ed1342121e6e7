// DeepSEA's matrices, small and made here in both file formats, become data sets; traps are refused.
#include <gtest/gtest.h>

#include "lib/core/error.h"
#include "lib/genomics/chromatin/deepsea_matrix.h"
#include "lib/genomics/chromatin/import_deepsea.h"
#include "lib/io/genome/fasta_stream.h"
#include "tests/support/matlab_files.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::TemporaryFolder;

constexpr std::size_t deepsea_positions = 1000, factor_count = 11;

struct Sample {
  std::string letters;
  std::vector<int> labels;
};

// As the bundle stores them: bases in the order A G C T.
std::vector<testing::MatlabVariable> variables(const std::string& split, const std::vector<Sample>& samples) {
  const std::size_t n = samples.size();
  testing::MatlabVariable sequences{split + "xdata", {n, 4, deepsea_positions}, {}},
      labels{split + "data", {n, factor_count}, {}};
  for (std::size_t k = 0; k < deepsea_positions; ++k) {
    for (const char base : std::string("AGCT")) {
      for (const Sample& sample : samples) sequences.bytes.push_back(sample.letters[k] == base ? 1 : 0);
    }
  }
  for (std::size_t k = 0; k < factor_count; ++k) {
    for (const Sample& sample : samples) labels.bytes.push_back(static_cast<std::uint8_t>(sample.labels[k]));
  }
  return {sequences, labels};
}

// The forward samples, then their reverse complements.
std::vector<Sample> both_strands(std::vector<Sample> samples) {
  const std::size_t n = samples.size();
  for (std::size_t i = 0; i < n; ++i) {
    samples.push_back({reverse_complement(samples[i].letters), samples[i].labels});
  }
  return samples;
}

class ImportDeepsea : public ::testing::Test {
 protected:
  // A genome of four chromosomes with skewed bases, so that no base can stand for another, and some N.
  void SetUp() override {
    std::uint32_t state = 7;
    FastaWriter fasta(path("genome.fa.gz"));
    for (const char* name : {"chr1", "chr7", "chr8", "chr9"}) {
      std::string bases;
      for (int i = 0; i < 20000; ++i) {
        state = state * 1664525U + 1013904223U;
        bases += "AAAACCCGGT"[(state >> 16U) % 10];
      }
      bases.replace(2100, 30, 30, 'N');
      fasta.add(name, bases);
      genome_[name] = bases;
    }
    fasta.close();
    std::string bed;
    for (const auto& [name, bins] : places_) {
      for (const std::int64_t begin : bins) {
        bed += name + "\t" + std::to_string(begin) + "\t" + std::to_string(begin + 200) + "\n";
      }
    }
    testing::write_text(folder_ / "bins.bed", bed);
    testing::write_matlab73(path("train.mat"), variables("train", both_strands(samples("chr1", 0, 9))), 4);
    testing::write_matlab5(path("valid.mat"), variables("valid", both_strands(samples("chr7", 9, 3))));
    auto test = samples("chr8", 12, 2);
    const auto rest = samples("chr9", 14, 2);
    test.insert(test.end(), rest.begin(), rest.end());
    testing::write_matlab5(path("test.mat"), variables("test", both_strands(test)));
  }

  // Bins of a chromosome; `number` counts through the whole list.
  std::vector<Sample> samples(const std::string& chrom, std::size_t number, std::size_t count) const {
    std::vector<Sample> made;
    for (std::size_t i = 0; i < count; ++i) {
      for (const auto& [name, bins] : places_) {
        if (name != chrom) continue;
        const std::int64_t begin = std::min<std::int64_t>(std::max<std::int64_t>(bins[i] - 400, 0), 19000);
        Sample sample{genome_.at(chrom).substr(static_cast<std::size_t>(begin), deepsea_positions), {}};
        for (std::size_t k = 0; k < factor_count; ++k)
          sample.labels.push_back((number + i) % (k + 2) == 0 ? 1 : 0);
        made.push_back(sample);
      }
    }
    return made;
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  DeepseaImportOptions options(const std::string& output) const {
    DeepseaImportOptions options;
    options.files = {path("test.mat"), path("train.mat"), path("valid.mat")};
    options.output = path(output);
    options.left = options.right = 900;
    options.with_provenance = false;
    return options;
  }

  DeepseaImportOptions with_genome(const std::string& output) const {
    DeepseaImportOptions made = options(output);
    made.bins = path("bins.bed");
    made.fasta = path("genome.fa.gz");
    return made;
  }

  // The message of the Error, which must hint at something and leave no folder.
  std::string refusal(const DeepseaImportOptions& options) const {
    try {
      import_deepsea(options);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty()) << error.message();
      EXPECT_FALSE(std::filesystem::exists(options.output));
      return error.message();
    }
    return "no Error";
  }

  void expect_refused(const DeepseaImportOptions& options, const std::string& what) const {
    const std::string message = refusal(options);
    EXPECT_NE(message.find(what), std::string::npos) << message;
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> genome_;
  // In the published order: training bins, validation, others of no split, test. Some at the ends.
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> places_ = {
      {"chr1", {0, 200, 2000, 2400, 5000, 5200, 9000, 19600, 19800}},
      {"chr7", {400, 1000, 19800, 3000, 4000}},
      {"chr8", {0, 10000}},
      {"chr9", {600, 19800}}};
};

TEST_F(ImportDeepsea, WithBinsTheWindowsComeFromTheGenome) {
  const DeepseaImportSummary summary = import_deepsea(with_genome("data"));
  EXPECT_EQ(summary.bins, (std::array<std::uint64_t, 4>{0, 9, 3, 4}));
  EXPECT_EQ(summary.pairs_checked, 16u);
  EXPECT_EQ(summary.genome_checked, 16u);
  EXPECT_EQ(summary.samples_with_n, 2u);
  const ChromatinDataset data(path("data"));
  EXPECT_EQ(data.window(), (ModelWindow{"chromatin", 2000, 900, 200}));
  ASSERT_EQ(data.bins().size(), 16u);
  EXPECT_EQ(data.profiles().front(), (Profile{"column0", "."}));
  std::size_t row = 0;
  for (const auto& [name, bins] : places_) {
    for (std::size_t i = 0; i < bins.size(); ++i) {
      if (name == "chr7" && i >= 3) continue;  // of no split
      EXPECT_EQ(data.bins()[row].begin, bins[i]);
      EXPECT_EQ(data.fasta().contigs()[data.bins()[row].contig].name, name);
      EXPECT_EQ(data.bins()[row].split, name == "chr1"   ? Split::train
                                        : name == "chr7" ? Split::valid
                                                         : Split::test);
      for (std::size_t k = 0; k < factor_count; ++k)
        EXPECT_EQ(data.labels().at(row, k), row % (k + 2) == 0) << row;
      ++row;
    }
  }
  Fasta genome = data.fasta().clone();
  EXPECT_EQ(data.window_sequence(genome, 4), genome_.at("chr1").substr(5000 - 900, 2000));
  EXPECT_EQ(data.window_sequence(genome, 8), genome_.at("chr1").substr(18000));
}

TEST_F(ImportDeepsea, WithoutBinsTheSequencesAreKept) {
  DeepseaImportOptions some = options("data");
  some.memory = 1;  // a sample at a time, or a chunk of them
  const DeepseaImportSummary summary = import_deepsea(some);
  EXPECT_EQ(summary.genome_checked, 0u);
  EXPECT_EQ(summary.pairs_checked, 16u);
  const ChromatinDataset data(path("data"));
  EXPECT_EQ(data.window(), (ModelWindow{"chromatin", 1000, 400, 200}));
  EXPECT_EQ(data.fasta().contigs().size(), 3u);
  Fasta sequences = data.fasta().clone();
  const auto expect = [&](std::size_t row, const Sample& sample) {
    EXPECT_EQ(data.window_sequence(sequences, row), sample.letters) << row;
    for (std::size_t k = 0; k < factor_count; ++k)
      EXPECT_EQ(data.labels().at(row, k), sample.labels[k] == 1) << row;
  };
  const auto train = samples("chr1", 0, 9), valid = samples("chr7", 9, 3), test = samples("chr9", 14, 2);
  for (std::size_t i = 0; i < 9; ++i) expect(i, train[i]);
  for (std::size_t i = 0; i < 3; ++i) expect(9 + i, valid[i]);
  for (std::size_t i = 0; i < 2; ++i) expect(14 + i, test[i]);
  EXPECT_NE(testing::read_text(path("data") + "/manifest.json").find("matrices, end to end"),
            std::string::npos);
  // The slabs change nothing.
  import_deepsea(options("again"));
  for (const char* name : {"bins.bed.gz", "labels.npy", "profiles.tsv", "sequences.fa.gz", "manifest.json"}) {
    EXPECT_EQ(testing::read_text(path("data") + "/" + name), testing::read_text(path("again") + "/" + name))
        << name;
  }
}

TEST_F(ImportDeepsea, NamesAndGroupsComeFromTheList) {
  std::string list = "column\tgroup\tname\n";
  for (std::size_t k = 0; k < factor_count; ++k)
    list += std::to_string(k) + "\tTF\tcell|" + std::to_string(k) + "\n";
  testing::write_text(folder_ / "names.tsv", list);
  DeepseaImportOptions some = options("data");
  some.profiles = path("names.tsv");
  some.files = {path("valid.mat")};
  import_deepsea(some);
  EXPECT_EQ(ChromatinDataset(path("data")).profiles().at(3), (Profile{"cell|3", "TF"}));
  some.output = path("other");
  testing::write_text(folder_ / "names.tsv", list.substr(0, list.rfind("10\t")));
  expect_refused(some, "10 profiles, and");
  testing::write_text(folder_ / "names.tsv", "column\tgroup\tname\n1\tTF\tx\n");
  expect_refused(some, "names.tsv:2: column 1 where 0 is due");
  testing::write_text(folder_ / "names.tsv", "number\tgroup\tname\n0\tTF\tx\n");
  expect_refused(some, "no column \"column\"");
  const std::vector<Profile> numbered = numbered_deepsea_profiles(919);
  EXPECT_EQ(numbered[124].group + numbered[125].group + numbered[814].group + numbered[815].group,
            "DHSTFTFHM");
}

TEST_F(ImportDeepsea, RefusesWhatIsNotInPairs) {
  auto broken = both_strands(samples("chr7", 9, 3));
  DeepseaImportOptions some = options("data");
  some.files = {path("broken.mat")};
  broken[4].labels[10] ^= 1;
  testing::write_matlab5(path("broken.mat"), variables("valid", broken));
  expect_refused(some, "samples 2 and 5 are not one bin on both strands: their labels differ");
  broken[4].labels[10] ^= 1;
  broken[5].letters[999] = broken[5].letters[999] == 'A' ? 'C' : 'A';
  testing::write_matlab73(path("broken.mat"), variables("valid", broken));
  expect_refused(some, "samples 3 and 6 are not one bin on both strands: their sequences differ");
  some.pairs = false;
  EXPECT_EQ(import_deepsea(some).bins[static_cast<std::size_t>(Split::valid)], 6u);
  some.pairs = true;
  some.output = path("other");
  broken.pop_back();
  testing::write_matlab5(path("broken.mat"), variables("valid", broken));
  expect_refused(some, "an odd number");
}

TEST_F(ImportDeepsea, RefusesWhatIsNeitherOneHotNorN) {
  DeepseaImportOptions some = options("data");
  some.files = {path("broken.mat")};
  const auto refused = [&](std::size_t variable, std::size_t at, std::uint8_t value,
                           const std::string& what) {
    for (const bool old : {true, false}) {
      auto broken = variables("valid", both_strands(samples("chr7", 9, 3)));
      broken[variable].bytes[at] = value;
      old ? testing::write_matlab5(path("broken.mat"), broken)
          : testing::write_matlab73(path("broken.mat"), broken);
      expect_refused(some, what);
    }
  };
  const auto good = variables("valid", both_strands(samples("chr7", 9, 3)));
  std::size_t zero = 2;  // of sample 3
  while (good[0].bytes[zero] != 0 || zero % 6 != 2) ++zero;
  refused(0, zero, 1, "validxdata: sample 3 is neither one-hot nor N");  // two bases
  std::size_t one = 4;
  while (good[0].bytes[one] != 1 || one % 6 != 4) ++one;
  refused(0, one, 2, "validxdata: sample 5 is neither one-hot nor N");  // the bit of another base
  refused(1, 6 + 1, 2, "validdata: sample 2 has a label that is neither 0 nor 1");
}

TEST_F(ImportDeepsea, RefusesAnotherGenomeOtherBinsAndOtherFiles) {
  DeepseaImportOptions some = with_genome("data");
  // One base of one chromosome differs, in the middle of the 5th bin.
  FastaWriter other(path("other.fa.gz"));
  for (const auto& [name, bases] : genome_) {
    std::string changed = bases;
    if (name == "chr1") changed[5400] = changed[5400] == 'A' ? 'C' : 'A';
    other.add(name, changed);
  }
  other.close();
  some.fasta = path("other.fa.gz");
  expect_refused(some, "sample 5 is not the one of " + path("other.fa.gz") + " around bin chr1:5000-5200");
  some.check_every = 0;
  EXPECT_EQ(import_deepsea(some).genome_checked, 0u);
  some = with_genome("more");
  some.check_every = 4;
  EXPECT_EQ(import_deepsea(some).genome_checked, 3u + 1u + 1u);

  some = with_genome("bad");
  const std::string bed = testing::read_text(path("bins.bed"));
  testing::write_text(folder_ / "bins.bed", bed.substr(bed.find('\n') + 1));  // a line less
  expect_refused(some, "wrong genome or wrong bins");
  testing::write_text(folder_ / "bins.bed", bed + "chr8\t4000\t4200\n");
  expect_refused(some, "5 lines of chr8 and chr9, and the test matrix holds 4 bins");
  testing::write_text(folder_ / "bins.bed", "chr8\t4000\t4200\n" + bed);
  expect_refused(some, "bin 1 is on chr8");
  testing::write_text(folder_ / "bins.bed", "chr1\t0\t200\n");
  expect_refused(some, "1 lines, and the train matrix ends at line 9");
  testing::write_text(folder_ / "bins.bed", "chr1\t0\t200\nchr1\t200\t500\n");
  expect_refused(some, "bins.bed:2: a bin of 300 bp");
  testing::write_text(folder_ / "bins.bed", "chr1\t19900\t20100\n");
  expect_refused(some, "beyond chr1");
  testing::write_text(folder_ / "bins.bed", "");
  expect_refused(some, "no bin");
  testing::write_text(folder_ / "bins.bed", bed);
  some.left = 30000;
  expect_refused(some, "a window has 31100");

  some = options("bad");
  some.files = {path("valid.mat"), path("valid.mat")};
  expect_refused(some, "the second file of split valid");
  testing::write_matlab5(path("only.mat"), {variables("valid", samples("chr7", 9, 2))[0]});
  some.files = {path("only.mat")};
  expect_refused(some, "lacks a variable");
  some.files = {path("bins.bed")};
  expect_refused(some, "not a whole HDF5");
  some.files = {path("absent.mat")};
  expect_refused(some, "cannot read");
  // Without train.mat the validation lines begin where the published ones do, unless told.
  some = with_genome("valid");
  some.files = {path("valid.mat")};
  expect_refused(some, "2200003");
  some.train_lines = 9;
  EXPECT_EQ(import_deepsea(some).genome_checked, 3u);
}

}  // namespace
}  // namespace bigbird
