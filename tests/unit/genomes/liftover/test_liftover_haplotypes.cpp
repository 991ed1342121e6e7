// A lifted record means the same sequence: the sample's sequence is rebuilt on the old and on the new genome,
// whole, over random chains with gaps, an inversion and repeats, apart from the code that lifts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "lib/genomes/liftover/liftover.h"
#include "tests/support/sanitizer.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using testing::read_text;
using testing::TemporaryFolder;
using testing::write_text;

std::string turned(const std::string& bases) {
  static const std::map<char, char> other = {{'A', 'T'}, {'C', 'G'}, {'G', 'C'}, {'T', 'A'}};
  std::string result;
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) result += other.at(*base);
  return result;
}

struct Allele {
  std::size_t begin = 0;  // 0-based
  std::string ref;
  std::string alt;
};

std::string with(const std::string& genome, const Allele& allele) {
  EXPECT_EQ(genome.substr(allele.begin, allele.ref.size()), allele.ref);
  return genome.substr(0, allele.begin) + allele.alt + genome.substr(allele.begin + allele.ref.size());
}

// Two genomes and the chain between them, and where each base of the old one lies in the new one.
struct Pair {
  std::string old_genome;
  std::string new_genome;
  std::string chain;
  std::vector<long> place;    // -1: nowhere
  std::vector<bool> flipped;  // of each base

  // Whether the bases before and after old position `at` are neighbours in the new genome too.
  bool is_whole_at(std::size_t at) const {
    if (at == 0) return place[0] == 0 && !flipped[0];
    if (at == place.size())
      return place[at - 1] + 1 == static_cast<long>(new_genome.size()) && !flipped[at - 1];
    return place[at - 1] >= 0 && place[at] >= 0 && flipped[at - 1] == flipped[at] &&
           place[at] - place[at - 1] == (flipped[at] ? -1 : 1);
  }
  bool is_whole(std::size_t begin, std::size_t end) const {
    for (std::size_t at = begin; at <= end; ++at) {
      if (!is_whole_at(at)) return false;
    }
    return true;
  }
  // The new genome with the allele in the place of [begin, end), which is whole.
  std::string carried(std::size_t begin, std::size_t end, const std::string& alt) const {
    const bool before = begin > 0;  // the neighbour that says where it is
    const std::size_t neighbour = before ? begin - 1 : end;
    const bool flip = flipped[neighbour];
    const auto at = static_cast<std::size_t>(place[neighbour]);
    const std::size_t length = end - begin;
    std::size_t from = before ? at + 1 : at - length;
    if (flip) from = before ? at - length : at + 1;
    return new_genome.substr(0, from) + (flip ? turned(alt) : alt) + new_genome.substr(from + length);
  }
};

class Maker {
 public:
  explicit Maker(unsigned seed)
      : random_(seed),
        letters_(seed % 3 == 0   ? "ACGT"
                 : seed % 3 == 1 ? "AC"
                                 : "AT") {}

  std::size_t below(std::size_t size) { return random_() % size; }
  std::string bases(std::size_t length) {
    std::string text;
    while (text.size() < length) {
      const std::size_t unit = 1 + below(3);
      if (text.size() >= unit && below(2) == 0) {
        text += text.substr(text.size() - unit);  // a repeat
      } else {
        text += letters_[below(letters_.size())];
      }
    }
    return text.substr(0, length);
  }

  // Blocks and gaps between them, as lines of a chain.
  struct Part {
    std::string old_bases;
    std::string new_bases;
    std::string lines;
    std::vector<long> place;  // in new_bases
  };
  Part part() {
    Part made;
    const std::size_t blocks = 2 + below(3);
    for (std::size_t i = 0; i < blocks; ++i) {
      const std::string block = bases(6 + below(30));
      for (std::size_t k = 0; k < block.size(); ++k)
        made.place.push_back(static_cast<long>(made.new_bases.size() + k));
      made.old_bases += block;
      made.new_bases += block;
      made.lines += std::to_string(block.size());
      if (i + 1 == blocks) continue;
      const std::size_t kind = below(3);
      std::string lost = kind == 0 ? "" : gap(block), added = kind == 1 ? "" : gap(block);
      made.lines += fmt::format("\t{}\t{}\n", lost.size(), added.size());
      made.place.insert(made.place.end(), lost.size(), -1);
      made.old_bases += lost;
      made.new_bases += added;
    }
    return made;
  }

  Pair pair() {
    const Part first = part(), middle = part(), last = part();
    Pair made;
    made.old_genome = first.old_bases + middle.old_bases + last.old_bases;
    made.new_genome = first.new_bases + turned(middle.new_bases) + last.new_bases;
    const auto add = [&](const Part& one, std::size_t at, bool flip) {
      for (const long place : one.place) {
        const long inside = flip ? static_cast<long>(one.new_bases.size()) - 1 - place : place;
        made.place.push_back(place < 0 ? -1 : static_cast<long>(at) + inside);
        made.flipped.push_back(flip);
      }
    };
    const std::size_t inversion = first.new_bases.size(), end = inversion + middle.new_bases.size();
    add(first, 0, false);
    add(middle, inversion, true);
    add(last, end, false);
    const std::size_t olds = made.old_genome.size(), news = made.new_genome.size();
    const std::size_t old_inversion = first.old_bases.size();
    made.chain = fmt::format("chain 900 o {0} + 0 {0} n {1} + 0 {1} 1\n{2}\t{3}\t{4}\n{5}\n\n", olds, news,
                             first.lines, middle.old_bases.size(), middle.new_bases.size(), last.lines);
    made.chain += fmt::format("chain 500 o {} + {} {} n {} - {} {} 2\n{}\n\n", olds, old_inversion,
                              old_inversion + middle.old_bases.size(), news, news - end, news - inversion,
                              middle.lines);
    return made;
  }

  Allele allele(const std::string& genome) {
    Allele made;
    made.begin = below(genome.size() - 8);
    const std::size_t kind = below(5);
    if (kind == 0) {  // substitutions
      made.ref = genome.substr(made.begin, 1 + below(3));
      do made.alt = bases(made.ref.size());
      while (made.alt == made.ref);
      return made;
    }
    if (kind == 1) {  // both lost and added
      made.ref = genome.substr(made.begin, 1 + below(5));
      do made.alt = bases(1 + below(5));
      while (made.alt == made.ref);
      return made;
    }
    const std::string anchor = genome.substr(made.begin, 1);
    const std::size_t length = 1 + below(4);
    // What is inserted is often a copy of what stands there.
    const std::string inserted = below(2) == 0 ? bases(length) : genome.substr(made.begin + 1, length);
    made.ref = kind < 4 ? anchor : anchor + genome.substr(made.begin + 1, length);
    made.alt = kind < 4 ? anchor + inserted : anchor;
    return made;
  }

 private:
  std::string gap(const std::string& block) {
    const std::size_t length = 1 + below(4);
    return below(2) == 0 ? block.substr(block.size() - length) : bases(length);
  }

  std::mt19937 random_;
  std::string letters_;
};

// What became of each record, by its ID: the lifted one, or the reason.
struct Outcome {
  std::map<std::size_t, Allele> lifted;
  std::map<std::size_t, std::string> refused;
};

Outcome lift(const std::string& chain, const std::string& new_genome, const std::vector<Allele>& alleles) {
  const TemporaryFolder folder;
  write_text(folder / "x.chain", chain);
  if (!new_genome.empty()) write_text(folder / "n.fa", ">n\n" + new_genome + "\n");
  std::string records = "#CHROM\tPOS\tID\tREF\tALT\n";
  for (std::size_t i = 0; i < alleles.size(); ++i)
    records += fmt::format("o\t{}\t{}\t{}\t{}\n", alleles[i].begin + 1, i, alleles[i].ref, alleles[i].alt);
  write_text(folder / "in.vcf", records);
  LiftoverOptions options;
  options.chain = folder / "x.chain";
  options.input = folder / "in.vcf";
  options.output = folder / "out.vcf";
  options.unmapped = folder / "lost.vcf";
  if (!new_genome.empty()) options.fasta = folder / "n.fa";
  lift_file(options);
  Outcome outcome;
  const auto read = [&](const std::string& path, bool lifted) {
    std::istringstream lines(read_text(path));
    std::string reason;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('#')) {
        reason = line.substr(1);
        continue;
      }
      std::istringstream fields(line);
      std::string contig;
      std::size_t position = 0, id = 0;
      Allele allele;
      fields >> contig >> position >> id >> allele.ref >> allele.alt;
      allele.begin = position - 1;
      if (lifted) {
        outcome.lifted[id] = allele;
      } else {
        outcome.refused[id] = reason;
      }
    }
  };
  read(folder / "out.vcf", true);
  read(folder / "lost.vcf", false);
  return outcome;
}

// Whatever way an insertion or deletion is written: the places where it can stand, and the letters there.
struct Ways {
  std::vector<std::size_t> begins;
  std::size_t lost = 0;
  std::size_t added = 0;
};

Ways ways_to_write(const std::string& genome, const std::string& sample) {
  Ways ways;
  ways.lost = genome.size() - std::min(genome.size(), sample.size());
  ways.added = sample.size() - std::min(genome.size(), sample.size());
  for (std::size_t begin = 0; begin + ways.lost <= genome.size(); ++begin) {
    if (genome.substr(0, begin) == sample.substr(0, begin) &&
        genome.substr(begin + ways.lost) == sample.substr(begin + ways.added))
      ways.begins.push_back(begin);
  }
  return ways;
}

// An allele of both kinds without what REF and ALT share.
Allele trimmed(Allele allele) {
  while (!allele.ref.empty() && !allele.alt.empty() && allele.ref.back() == allele.alt.back()) {
    allele.ref.pop_back();
    allele.alt.pop_back();
  }
  while (!allele.ref.empty() && !allele.alt.empty() && allele.ref.front() == allele.alt.front()) {
    allele.ref.erase(0, 1);
    allele.alt.erase(0, 1);
    ++allele.begin;
  }
  return allele;
}

struct HaplotypeCounts {
  int lifted = 0;
  int refused = 0;
};

TEST(LiftoverHaplotypes, OfTheSampleAreTheSameOnBothGenomes) {
  HaplotypeCounts indels, others, substitutions;
  int on_the_other_strand = 0;
  const unsigned pairs = testing::under_sanitizer ? 15 : 60;
  for (unsigned seed = 1; seed <= pairs; ++seed) {
    Maker maker(seed);
    const Pair pair = maker.pair();
    std::vector<Allele> alleles;
    while (alleles.size() < 200) {
      const Allele allele = maker.allele(pair.old_genome);
      if (allele.ref != allele.alt) alleles.push_back(allele);
    }
    const Outcome outcome = lift(pair.chain, pair.new_genome, alleles);
    for (std::size_t i = 0; i < alleles.size(); ++i) {
      const Allele& allele = alleles[i];
      const std::size_t end = allele.begin + allele.ref.size();
      SCOPED_TRACE(fmt::format("seed {}: {} {} {}\nold {}\nnew {}\n{}", seed, allele.begin + 1, allele.ref,
                               allele.alt, pair.old_genome, pair.new_genome, pair.chain));
      const bool lifted = outcome.lifted.contains(i);
      const std::string sample = with(pair.old_genome, allele);
      const std::string carried = lifted ? with(pair.new_genome, outcome.lifted.at(i)) : "";
      // The bases of REF are neighbours in the new genome; what stands around them is another matter.
      const bool ref_is_whole = pair.place[allele.begin] >= 0 && pair.is_whole(allele.begin + 1, end - 1);
      const Ways ways = ways_to_write(pair.old_genome, sample);
      if (allele.ref.size() == allele.alt.size()) {
        (lifted ? substitutions.lifted : substitutions.refused)++;
        EXPECT_EQ(lifted, ref_is_whole);
        if (!lifted) continue;
        const bool flip = pair.flipped[allele.begin];
        const auto from = static_cast<std::size_t>(pair.place[flip ? end - 1 : allele.begin]);
        EXPECT_EQ(carried, with(pair.new_genome, {from, flip ? turned(allele.ref) : allele.ref,
                                                  flip ? turned(allele.alt) : allele.alt}));
        continue;
      }
      if (!ways.begins.empty()) {
        const bool whole = std::all_of(ways.begins.begin(), ways.begins.end(), [&](std::size_t begin) {
          return pair.is_whole(begin, begin + ways.lost);
        });
        (lifted ? indels.lifted : indels.refused)++;
        EXPECT_EQ(lifted, whole && ref_is_whole) << (lifted ? "" : outcome.refused.at(i));
        if (!lifted) continue;
        on_the_other_strand += pair.flipped[allele.begin] ? 1 : 0;
        // Each way of writing it leads to the same sequence.
        for (const std::size_t begin : ways.begins)
          EXPECT_EQ(carried, pair.carried(begin, begin + ways.lost, sample.substr(begin, ways.added)));
        continue;
      }
      (lifted ? others.lifted : others.refused)++;
      if (!lifted) continue;
      const Allele bare = trimmed(allele);
      ASSERT_TRUE(pair.is_whole(bare.begin, bare.begin + bare.ref.size()));
      EXPECT_EQ(carried, pair.carried(bare.begin, bare.begin + bare.ref.size(), bare.alt));
    }
  }
  // The test would pass if nothing were lifted, or everything.
  for (const HaplotypeCounts& counts : {indels, others, substitutions}) {
    EXPECT_GT(counts.lifted, static_cast<int>(pairs) * 10);
    EXPECT_GT(counts.refused, static_cast<int>(pairs) * 2);
  }
  EXPECT_GT(on_the_other_strand, static_cast<int>(pairs) * 5);
}

// GG stands after C in the old genome, GGGG in the new one, wherever the chain says that they were added.
TEST(LiftoverHaplotypes, WhatTheNewGenomeHasAlreadyIsNotInserted) {
  const std::string old_genome = std::string(20, 'A') + "TACGGT" + std::string(20, 'A');
  const std::string new_genome = std::string(20, 'A') + "TACGGGGT" + std::string(20, 'A');
  for (const std::string gap : {"23\t0\t2\n23", "24\t0\t2\n22", "25\t0\t2\n21"}) {
    SCOPED_TRACE(gap);
    const std::string chain = "chain 9 o 46 + 0 46 n 48 + 0 48 1\n" + gap + "\n";
    const std::vector<Allele> alleles = {{22, "C", "CGG"}, {24, "G", "GGG"}, {22, "CG", "CGGG"},
                                         {22, "CG", "C"},  {23, "G", "GA"},  {22, "C", "T"},
                                         {10, "A", "AC"},  {25, "T", "TC"}};
    const Outcome with_genome = lift(chain, new_genome, alleles);
    for (const std::size_t moved : {0U, 1U, 2U, 3U})
      EXPECT_FALSE(with_genome.lifted.contains(moved)) << moved;
    EXPECT_TRUE(with_genome.lifted.contains(5)) << "a substitution stays where its base is";
    EXPECT_TRUE(with_genome.lifted.contains(6)) << "away from the gap";
    EXPECT_TRUE(with_genome.lifted.contains(7)) << "beside the repeat, in none";
    EXPECT_EQ(with_genome.refused.at(0), "Bases added or lost next to an indel in new");
    EXPECT_EQ(with_genome.refused.at(1), with_genome.refused.at(0)) << "one allele, written at two places";
    const Outcome without = lift(chain, "", alleles);
    for (const std::size_t moved : {0U, 1U, 2U, 3U}) EXPECT_FALSE(without.lifted.contains(moved)) << moved;
    EXPECT_TRUE(without.lifted.contains(5));
  }
}

TEST(LiftoverHaplotypes, WithoutAGenomeAnIndelLiftsFarFromGaps) {
  const std::string chain = "chain 9 o 2000 + 0 2000 n 2001 + 0 2001 1\n1000\t0\t1\n1000\n";
  const Outcome outcome = lift(chain, "",
                               {{500, "A", "AC"},
                                {900, "A", "AC"},
                                {900, "AC", "ACAC"},
                                {900, "CAG", "CTAG"},
                                {10, "A", "AC"},
                                {1990, "A", "AC"}});
  EXPECT_TRUE(outcome.lifted.contains(0));
  EXPECT_EQ(outcome.refused.at(1), "Indel near a gap of the chain needs the new genome");
  EXPECT_EQ(outcome.refused.at(2), "Indel near a gap of the chain needs the new genome");
  EXPECT_TRUE(outcome.lifted.contains(3)) << "the bases of REF tell that it cannot be moved";
  EXPECT_TRUE(outcome.lifted.contains(4)) << "the ends of both contigs are not in a gap";
  EXPECT_TRUE(outcome.lifted.contains(5));
}

// Of several alleles one that would change its meaning holds the record back; what has no letters does not.
TEST(LiftoverHaplotypes, OfSeveralAlleles) {
  const std::string old_genome = std::string(20, 'A') + "TACGGT" + std::string(20, 'A');
  const std::string new_genome = std::string(20, 'A') + "TACGGGGT" + std::string(20, 'A');
  const std::string chain = "chain 9 o 46 + 0 46 n 48 + 0 48 1\n23\t0\t2\n23\n";
  const Outcome outcome =
      lift(chain, new_genome,
           {{22, "C", "T,CGG"}, {22, "C", "T,*"}, {22, "C", "<*>"}, {21, "A", "AT,G"}, {22, "C", "TT"}});
  EXPECT_TRUE(outcome.refused.contains(0));
  EXPECT_TRUE(outcome.lifted.contains(1));
  EXPECT_TRUE(outcome.lifted.contains(2));
  EXPECT_TRUE(outcome.lifted.contains(3));
  EXPECT_TRUE(outcome.refused.contains(4)) << "it ends at the gap: what is added may be what is there";
}

// The place of END is one of the contig of POS.
TEST(LiftoverHaplotypes, EndOnAnotherContigDoesNotLift) {
  const TemporaryFolder folder;
  write_text(folder / "x.chain",
             "chain 9 o 100 + 0 50 a 50 + 0 50 1\n50\n\nchain 8 o 100 + 50 100 b 200 + 100 150 2\n50\n\n");
  write_text(folder / "in.vcf",
             "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\no\t10\t.\tA\t<DEL>\t.\t.\tEND=60\n"
             "o\t10\t.\tA\t<DEL>\t.\t.\tEND=40\n");
  LiftoverOptions options;
  options.chain = folder / "x.chain";
  options.input = folder / "in.vcf";
  options.output = folder / "out.vcf";
  options.unmapped = folder / "lost.vcf";
  lift_file(options);
  EXPECT_NE(
      read_text(folder / "lost.vcf").find("#END does not lift next to POS\no\t10\t.\tA\t<DEL>\t.\t.\tEND=60"),
      std::string::npos);
  EXPECT_NE(read_text(folder / "out.vcf").find("a\t10\t.\tA\t<DEL>\t.\t.\tEND=40\n"), std::string::npos);
}

}  // namespace
}  // namespace bigbird
