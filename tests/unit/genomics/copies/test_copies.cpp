// Near-copies of a held-out side: words and their places against their plain meaning, alignments against the
// whole table of distances, planted copies on both strands, and what must not be found.
#include "lib/genomics/copies/copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/rng.h"
#include "lib/genomics/copies/free_end_alignment.h"
#include "lib/genomics/copies/word_index.h"
#include "lib/io/genome/fasta.h"
#include "tests/support/support.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::TemporaryFolder;
using testing::write_text;

std::string random_bases(CounterRng& rng, std::size_t length, std::string_view letters = "ACGT") {
  std::string bases;
  for (std::size_t i = 0; i < length; ++i) bases += letters[rng.below(letters.size())];
  return bases;
}

// Every tenth base or so replaced, one in fifty left out, one in fifty put in.
std::string altered(const std::string& bases, CounterRng& rng) {
  std::string result;
  for (const char base : bases) {
    const std::uint64_t draw = rng.below(100);
    if (draw < 2) continue;
    if (draw < 4) result += 'G';
    result += draw < 12 ? "ACGT"[rng.below(4)] : base;
  }
  return result;
}

std::size_t fewest_edits(const std::string& pattern, const std::string& text) {
  std::vector<std::size_t> row(pattern.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::size_t best = row.back();
  for (const char letter : text) {
    std::size_t diagonal = row[0];  // stays 0: the text's begin is free
    for (std::size_t i = 1; i < row.size(); ++i) {
      const bool same =
          pattern[i - 1] == letter && std::string_view("ACGT").find(letter) != std::string::npos;
      const std::size_t value = std::min({row[i] + 1, row[i - 1] + 1, diagonal + (same ? 0u : 1u)});
      diagonal = row[i];
      row[i] = value;
    }
    best = std::min(best, row.back());
  }
  return best;
}

TEST(FreeEndAlignment, IsTheWholeTableOfDistances) {
  CounterRng rng(1, Purpose::test, 1);
  for (const std::size_t length : {1u, 5u, 63u, 64u, 65u, 100u, 128u, 200u, 259u}) {
    for (int i = 0; i < 40; ++i) {
      const std::string pattern = random_bases(rng, length, i % 4 == 3 ? "ACGTN" : "ACGT");
      std::string text = random_bases(rng, rng.below(150), "ACGTN");
      if (i % 2 == 0) text += altered(pattern, rng) + random_bases(rng, rng.below(150));
      const FreeEndAlignment aligned = align_free_ends(pattern, text);
      ASSERT_EQ(aligned.edits, fewest_edits(pattern, text)) << pattern << ' ' << text;
      ASSERT_LE(aligned.begin, aligned.end);
      ASSERT_LE(aligned.end, text.size());
      // The part that it names is one that has these edits.
      ASSERT_EQ(fewest_edits(pattern, text.substr(aligned.begin, aligned.end - aligned.begin)),
                aligned.edits);
    }
  }
}

TEST(FreeEndAlignment, NamesThePartOfTheText) {
  const FreeEndAlignment aligned = align_free_ends("ACGTTGCA", "TTTTACGTGCATTTT");
  EXPECT_EQ(aligned.edits, 1u);
  EXPECT_EQ(aligned.begin, 4u);
  EXPECT_EQ(aligned.end, 11u);
}

// What WordScanner says a word is, letter by letter.
bool is_plain_word(const std::string& bases) {
  if (bases.find_first_not_of("ACGT") != std::string::npos || bases == reverse_complement(bases))
    return false;
  std::map<std::string, int> triples;
  for (std::size_t i = 0; i + 3 <= bases.size(); ++i) ++triples[bases.substr(i, 3)];
  int pairs = 0;
  for (const auto& entry : triples) pairs += entry.second * (entry.second - 1) / 2;
  return pairs <= 1.5 * static_cast<double>(bases.size() - 3);
}

std::uint32_t number_of(const std::string& bases) {
  std::uint32_t number = 0;
  for (const char base : bases)
    number = number * 4 + static_cast<std::uint32_t>(std::string("ACGT").find(base));
  return number;
}

std::string words_text(CounterRng& rng) {
  std::string text =
      random_bases(rng, 400) + "N" + random_bases(rng, 10) + "NN" + random_bases(rng, 300, "AC");
  text += std::string(40, 'A') + random_bases(rng, 100);
  for (int i = 0; i < 20; ++i) text += "CA";
  for (int i = 0; i < 20; ++i) text += "CAG";
  text += "ACGTACGGCCGTACGTA" + random_bases(rng, 100);
  return text + text.substr(50, 100) + reverse_complement(text.substr(200, 100));
}

TEST(WordScanner, WordsOfOneStrandWithoutLowComplexity) {
  CounterRng rng(1, Purpose::test, 2);
  const std::string text = words_text(rng);
  WordScanner scanner;
  std::size_t words = 0, others = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_word = scanner.next(text[i]);
    if (i + 1 < word_length) {
      ASSERT_FALSE(is_word);
      continue;
    }
    const std::string bases = text.substr(i + 1 - word_length, word_length);
    ASSERT_EQ(is_word, is_plain_word(bases)) << bases;
    ++(is_word ? words : others);
    if (!is_word) continue;
    const std::uint32_t forward = number_of(bases), backward = number_of(reverse_complement(bases));
    ASSERT_EQ(scanner.word().value, std::min(forward, backward));
    ASSERT_EQ(scanner.word().reverse, backward < forward);
  }
  EXPECT_GT(words, 500u);
  EXPECT_GT(others, 100u);
}

TEST(WordIndex, FindsEveryPlaceInOrder) {
  CounterRng rng(1, Purpose::test, 3);
  const std::string text = words_text(rng);
  const WordIndex index(text);
  std::map<std::uint32_t, std::vector<std::size_t>> places;
  for (std::size_t i = 0; i + word_length <= text.size(); ++i) {
    const std::string bases = text.substr(i, word_length);
    if (is_plain_word(bases))
      places[std::min(number_of(bases), number_of(reverse_complement(bases)))].push_back(i);
  }
  std::size_t several = 0;
  for (const auto& [word, expected] : places) {
    std::vector<WordPlace> found;
    index.find(word, 1000, found);
    std::vector<std::size_t> begins;
    for (const WordPlace& place : found) begins.push_back(place.begin);
    ASSERT_EQ(begins, expected);
    several += expected.size() > 1 ? 1u : 0u;
    found.clear();
    index.find(word, 1, found);
    ASSERT_EQ(found.size(), 1u);
    ASSERT_EQ(found[0].begin, expected[0]);
  }
  EXPECT_GT(several, 100u);
  std::vector<WordPlace> none;
  index.find(number_of("AAAAAAAAAAAAAAAA"), 10, none);
  EXPECT_TRUE(none.empty());
}

// chrA is held out. Of it 2,000-2,600 stands in chrB from 5,000 on, altered; 6,000-6,400 in chrC from 1,000
// on, altered and on the other strand; 9,000-9,080 in chrC from 4,000 on as it is. Both sides have repeats of
// one, two and three letters.
class NearCopies : public ::testing::Test {
 protected:
  NearCopies() {
    CounterRng rng(1, Purpose::test, 4);
    std::string a = random_bases(rng, 12'000), b = random_bases(rng, 12'000), c = random_bases(rng, 6'000);
    for (std::string* const bases : {&a, &b}) {
      for (std::size_t i = 0; i < 300; ++i) {
        (*bases)[500 + i] = 'T';
        (*bases)[1'000 + i] = "CA"[i % 2];
        (*bases)[10'000 + i] = "CAG"[i % 3];
      }
    }
    const std::string first = altered(a.substr(2'000, 600), rng);
    b.replace(5'000, first.size(), first);
    second_ = reverse_complement(altered(a.substr(6'000, 400), rng));
    c.replace(1'000, second_.size(), second_);
    c.replace(4'000, 80, a.substr(9'000, 80));
    write_text(folder_ / "g.fa", ">chrA\n" + a + "\n>chrB\n" + b + "\n>chrC\n" + c + "\n");
    options_.fasta = folder_ / "g.fa";
    options_.of = "chrA";
    first_end_ = 5'000 + static_cast<std::int64_t>(first.size());
  }

  void expect_planted(const CopySummary& summary) const {
    ASSERT_EQ(summary.regions.size(), 3u);
    const auto near = [](std::int64_t value, std::int64_t expected, std::int64_t by) {
      EXPECT_LE(std::abs(value - expected), by) << value << " for " << expected;
    };
    const CopyRegion &one = summary.regions[0], &two = summary.regions[1], &three = summary.regions[2];
    near(one.begin, 2'000, 60);
    near(one.end, 2'600, 60);
    EXPECT_EQ(one.partner_contig, 1u);
    EXPECT_FALSE(one.reverse);
    near(one.partner_begin, 5'000, 60);
    near(one.partner_end, first_end_, 60);
    EXPECT_GT(one.mean_identity, 0.82);
    EXPECT_LT(one.mean_identity, 0.95);
    near(two.begin, 6'000, 60);
    near(two.end, 6'400, 60);
    EXPECT_EQ(two.partner_contig, 2u);
    EXPECT_TRUE(two.reverse);
    near(two.partner_begin, 1'000, 60);
    near(two.partner_end, 1'000 + static_cast<std::int64_t>(second_.size()), 60);
    near(three.begin, 9'000, 40);
    near(three.end, 9'080, 40);
    EXPECT_EQ(three.partner_contig, 2u);
    near(three.partner_begin, 4'000, 40);
    EXPECT_GE(three.identity, 0.8);
    EXPECT_LT(three.identity, 1.0) << "the window is longer than what is the same";
  }

  std::string bed(const CopySummary& summary) const {
    write_copies(folder_ / "copies.bed", summary, {});
    return testing::read_text(folder_ / "copies.bed");
  }

  TemporaryFolder folder_;
  CopyOptions options_;
  std::string second_;
  std::int64_t first_end_ = 0;
};

TEST_F(NearCopies, PlantedOnBothStrandsAndNoRepeats) {
  const CopySummary summary = find_copies(options_);
  expect_planted(summary);
  EXPECT_EQ(summary.bases, 12'000);
  EXPECT_EQ(summary.searched, 18'000);
  EXPECT_EQ(summary.windows, (12'000 - 100) / 25 + 1);
  ASSERT_EQ(summary.contigs.size(), 1u);
  EXPECT_EQ(summary.contigs[0].regions, 3);
  EXPECT_EQ(summary.contigs[0].copied, summary.copied);
  const std::string text = bed(summary);
  const CopyRegion& two = summary.regions[1];
  EXPECT_NE(text.find("chrA\t" + std::to_string(two.begin) + "\t" + std::to_string(two.end) + "\tchrC:" +
                      std::to_string(two.partner_begin + 1) + "-" + std::to_string(two.partner_end) + "\t"),
            std::string::npos)
      << text;
}

TEST_F(NearCopies, TheSameInSmallPiecesAndForAnyThreads) {
  const std::string whole = bed(find_copies(options_));
  kernels::set_thread_count(3);
  EXPECT_EQ(bed(find_copies(options_)), whole);
  kernels::set_thread_count(0);
  // Borders of pieces come to lie in every place of the planted copies.
  for (std::size_t piece = 700; piece < 1'100; piece += 37) {
    options_.piece = piece;
    expect_planted(find_copies(options_));
  }
}

TEST_F(NearCopies, TheOtherWayRoundAndInARegion) {
  options_.of = "rest";
  options_.in = "chrA";
  EXPECT_EQ(find_copies(options_).regions.size(), 3u);
  options_.of = "chrB,chrC";
  options_.in = "chrA:1-3000";
  const CopySummary summary = find_copies(options_);
  ASSERT_EQ(summary.regions.size(), 1u);
  EXPECT_EQ(summary.regions[0].contig, 1u);
  EXPECT_LE(std::abs(summary.regions[0].partner_begin - 2'000), 60);
  options_.identity = 0.99;
  EXPECT_TRUE(find_copies(options_).regions.empty());
  EXPECT_EQ(
      bed(find_copies(options_)),
      "#chrom\tstart\tend\tpartner\tscore\tstrand\tpartner_chrom\tpartner_start\tpartner_end\tmean_identity\n");
}

TEST_F(NearCopies, TheEndOfAnIntervalAndOneShorterThanAWindow) {
  // 2,000-2,580 in windows from 1,990 on: the last one ends with the interval.
  options_.of = "chrA:1991-2580,chrA:9001-9080";
  const CopySummary summary = find_copies(options_);
  ASSERT_EQ(summary.regions.size(), 2u);
  EXPECT_EQ(summary.regions[0].end, 2'580);
  EXPECT_EQ(summary.regions[1].begin, 9'000);
  EXPECT_EQ(summary.regions[1].end, 9'080);
  EXPECT_EQ(summary.regions[1].identity, 1.0);
  EXPECT_EQ(summary.windows, (590 - 100 + 24) / 25 + 1 + 1);
}

TEST_F(NearCopies, SidesThatCannotBe) {
  const auto refusal = [&] { return error_of([&] { find_copies(options_); }); };
  options_.in = "chrB,chrA:5000-5001";
  expect_bad_input(refusal(), "chrA:1-12000", "share bases");
  options_.in = "chrD";
  expect_bad_input(refusal(), "chrD", "unknown contig");
  options_.of = "chrA,chrB,chrC";
  options_.in = "rest";
  EXPECT_THROW(find_copies(options_), Error);
}

}  // namespace
}  // namespace bigbird
