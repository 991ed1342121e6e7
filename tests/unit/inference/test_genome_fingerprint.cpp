// The digest that tells genomes apart: of names, lengths, order and bases; not of case, line width or place.
#include "lib/inference/model_identity.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/support.h"

namespace bigbird {
namespace {

class GenomeFingerprint : public ::testing::Test {
 protected:
  std::string of(const std::string& name, const std::string& fasta) const {
    const std::string path = (folder_.path() / name).string();
    testing::write_text(path, fasta);
    return genome_fingerprint(path);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(GenomeFingerprint, IsOfWhatTheGenomeIs) {
  const std::string genome = of("a.fa", ">one\nACGTACGTAC\nGTTTAC\n>two\nCCCC\n");
  EXPECT_EQ(genome.size(), 64u);
  EXPECT_EQ(of("b.fa", ">one more words\nACGTAcgtACGTTTAC\n>two\ncccc\n"), genome);
  EXPECT_EQ(of("c.fa", ">one\nACGTACGTAC\nGTTTAC\n>two\nCCCC\n"), genome);
}

TEST_F(GenomeFingerprint, EveryDifferenceOfASmallGenomeChangesIt) {
  std::set<std::string> digests;
  int number = 0;
  const auto add = [&](const std::string& fasta) {
    digests.insert(of(std::to_string(number++) + ".fa", fasta));
    EXPECT_EQ(digests.size(), static_cast<std::size_t>(number)) << fasta;
  };
  add(">one\nACGTACGT\n>two\nCCCC\n");
  add(">one\nACGTACGA\n>two\nCCCC\n");
  add(">one\nTCGTACGT\n>two\nCCCC\n");
  add(">one\nACGTACGT\n>two\nCCCG\n");
  add(">two\nCCCC\n>one\nACGTACGT\n");
  add(">one\nACGTACGT\n>Two\nCCCC\n");
  add(">one\nACGTACGTC\n>two\nCCC\n");
  add(">one\nACGTACGT\n");
}

TEST_F(GenomeFingerprint, ReachesFromEndToEndOfALargeOne) {
  // 512 stretches of 64 in 512,000 bases: one in every thousand.
  std::string bases(512'000, 'A');
  const auto with = [&](std::size_t place) {
    std::string changed = bases;
    changed[place] = 'C';
    return of("large.fa", ">x\n" + changed + "\n");
  };
  const std::string plain = of("plain.fa", ">x\n" + bases + "\n");
  EXPECT_NE(with(63), plain);
  EXPECT_EQ(with(64), plain);
  EXPECT_EQ(with(999), plain);
  EXPECT_NE(with(1000), plain);
  EXPECT_NE(with(511'063), plain);
}

}  // namespace
}  // namespace bigbird
