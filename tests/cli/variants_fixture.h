// A small genome, small models and a VCF with every kind of record, for the tests of the variant verbs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "lib/core/rng.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"

namespace bigbird::testing {

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// A table by its columns: row -> name -> text.
inline std::vector<std::map<std::string, std::string>> read_table(const std::string& text) {
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> names;
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with("##")) continue;
    const std::vector<std::string> fields = split(line, '\t');
    if (names.empty()) {
      names = fields;
      if (names[0].starts_with("#")) names[0].erase(0, 1);  // as other tools write it
      continue;
    }
    EXPECT_EQ(fields.size(), names.size()) << line;
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < std::min(names.size(), fields.size()); ++i) row[names[i]] = fields[i];
  }
  return rows;
}

class VariantsFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t window = 100;
  static constexpr std::int64_t offset = 49;  // target 40..60 of the tiny classifier

  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    TinyClassifier shape;
    write_tiny_classifier(path("model"), shape);
    shape.seed = 2;
    write_tiny_classifier(path("model2"), shape);
    CounterRng random(3, Purpose::test, 0);
    for (const auto& [name, size] : {std::pair<const char*, int>{"chr1", 6000}, {"chr2", 1500}}) {
      std::string& bases = genome()[name];
      for (int i = 0; i < size; ++i) bases += "ACGT"[random.below(4)];
    }
    genome()["chr2"].replace(700, 60, std::string(60, 'N'));
    std::string fasta;
    for (const auto& [name, bases] : genome()) fasta += ">" + name + "\n" + bases + "\n";
    write_text(path("genome.fa"), fasta);
    write_text(path("in.vcf"), vcf(random));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
    genome().clear();
  }

  static std::string path(const std::string& name) { return (folder_->path() / name).string(); }
  static std::map<std::string, std::string>& genome() {
    static std::map<std::string, std::string> contigs;
    return contigs;
  }
  static std::string header() {
    return "##fileformat=VCFv4.2\n##FILTER=<ID=PASS,Description=\"All filters passed\">\n"
           "##INFO=<ID=DP,Number=1,Type=Integer,Description=\"Depth\">\n"
           "##contig=<ID=chr1>\n##contig=<ID=1>\n##contig=<ID=chr2>\n##contig=<ID=chr9>\n##contig=<ID=chr8>\n"
           "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n";
  }
  static std::string line(const std::string& chrom, std::int64_t position, const std::string& ref,
                          const std::string& alt) {
    return chrom + "\t" + std::to_string(position) + "\t.\t" + ref + "\t" + alt + "\t.\tPASS\tDP=3\n";
  }
  static std::string reference(const std::string& chrom, std::int64_t position, std::size_t size = 1) {
    return genome().at(chrom).substr(static_cast<std::size_t>(position - 1), size);
  }
  // What the columns of a profile of the tiny classifier begin with in a table of `variants`.
  static std::string columns_of(std::size_t profile) {
    static const std::vector<std::string> names = {"p_k562_ctcf_0_", "p_k562_ctcf_1_", "p_k562_dnase_"};
    return names.at(profile);
  }
  static std::string other(const std::string& base, int turn = 1) {
    return std::string(1, "ACGT"[(std::string("ACGT").find(base[0]) + static_cast<std::size_t>(turn)) % 4]);
  }

  // Neighbouring SNVs, indels, several ALTs, ends of contigs, and whatever is not scored; in no order.
  static std::string vcf(CounterRng& random) {
    std::string text = header();
    for (int i = 0; i < 40; ++i) {
      const std::int64_t position = 200 + 13 * i + random.between(0, 5);
      const std::string ref = reference("chr1", position);
      text += line("chr1", position, ref, i % 5 == 0 ? other(ref) + "," + other(ref, 2) : other(ref));
    }
    const auto at = [&](std::int64_t position, std::size_t size = 1) {
      return reference("chr1", position, size);
    };
    text += line("chr1", 900, at(900), at(900) + "ACGTTT");                                   // insertion
    text += line("chr1", 950, at(950, 8), at(950));                                           // deletion
    text += line("chr1", 990, at(990, 3), other(at(990)) + other(at(991)) + other(at(992)));  // MNP
    text += line("1", 1000, at(1000), other(at(1000)));                                       // by its alias
    text += line("chr1", 1010, at(1010), "*," + other(at(1010)) + ",<DEL>");
    text += line("chr1", 1020, at(1020), ".");
    text += line("chr1", 1030, at(1030), at(1030) + "]chr2:10]");
    text += line("chr1", 1040, at(1040), at(1040));
    text += line("chr1", 1050, other(at(1050)), other(at(1050), 2));  // REF is not the genome's
    text += line("chr1", 1060, at(1060), "N");
    text += line("chr1", 1, at(1), other(at(1)));  // needs padding
    text += line("chr1", 6000, at(6000), other(at(6000)));
    text += line("chr1", 6001, "A", "C");                                              // outside
    text += line("chr2", 690, reference("chr2", 690), other(reference("chr2", 690)));  // beside N
    text += line("chr9", 10, "A", "C");                                                // no such contig
    text += line("chr1", 900, at(900), at(900) + "ACGTTT");                            // again
    return text;
  }

  static std::vector<std::string> command(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"variants",     "-m", path("model"),    "-m",
                                      path("model2"), "-f", path("genome.fa")};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static RunResult must(const std::vector<std::string>& arguments, const std::string& input = {}) {
    const RunResult run = run_bigbird(arguments, input);
    EXPECT_EQ(run.status, 0) << run.err;
    return run;
  }
  static void refused(const std::vector<std::string>& arguments, int status, const std::string& words) {
    const RunResult run = run_bigbird(arguments);
    EXPECT_EQ(run.status, status) << run.err;
    EXPECT_NE(run.err.find(words), std::string::npos) << run.err;
    EXPECT_NE(run.err.find("hint: "), std::string::npos) << run.err;
  }
  static std::string file(const std::string& name) { return read_text(path(name)); }

  static inline TemporaryFolder* folder_ = nullptr;
};

}  // namespace bigbird::testing
