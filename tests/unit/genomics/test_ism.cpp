// In-silico mutagenesis against predictions of the mutated sequences made one by one: windows, strands,
// ensembles, what is left out, and inputs that must be refused.
#include "lib/genomics/ism.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "lib/genomics/effect_scores.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/tables/npy.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_message;
using testing::read_text;
using testing::TemporaryFolder;
using testing::TinyClassifier;
using testing::write_text;
using testing::write_tiny_classifier;

// 400 bases without a pattern, by a small linear congruence.
std::string some_bases(std::size_t length) {
  std::string bases;
  std::uint32_t state = 7;
  while (bases.size() < length) {
    state = state * 1664525U + 1013904223U;
    bases += ism_letters[state >> 30];
  }
  return bases;
}

class Ism : public ::testing::Test {
 protected:
  void SetUp() override {
    genome_ = some_bases(400);
    genome_[205] = 'N';
    write_text(folder_ / "g.fa", ">chr1\n" + genome_ + "\n");
    write_tiny_classifier(folder_ / "model");
    backend_ = kernels::make_cpu_backend();
  }

  IsmOptions options(const std::string& region) const {
    IsmOptions options;
    options.models = {(folder_ / "model").string()};
    options.fasta = (folder_ / "g.fa").string();
    options.region = region;
    return options;
  }

  // The value of one substitution, from two predictions made alone.
  double direct(const IsmOptions& options, bool both, const std::string& window, std::size_t at, char letter,
                std::size_t profile) {
    // Loaded once for each choice of models and strands.
    std::unique_ptr<SequenceScorer>& scorer = scorers_[{options.models, both}];
    if (!scorer)
      scorer = std::make_unique<SequenceScorer>(
          ScorerOptions{options.models, both ? Strands::both : Strands::forward, {}}, *backend_);
    std::string mutated = window;
    mutated[at] = letter;
    std::vector<std::vector<double>> values;
    for (const std::string& sequence : {window, mutated}) {
      scorer->add(sequence, [&](const SequenceScores& scores) {
        values.emplace_back();
        for (std::size_t strand = 0; strand < scores.strands; ++strand)
          values.back().push_back(scores.mean_of_models(strand, profile));
      });
    }
    scorer->finish();
    const Effect effect = effect_of(values[0], values[1]);
    return options.value == IsmValue::difference ? effect.difference : effect.log_fold_change;
  }

  TemporaryFolder folder_;
  std::string genome_;
  std::unique_ptr<kernels::Backend> backend_;
  std::map<std::pair<std::vector<std::string>, bool>, std::unique_ptr<SequenceScorer>> scorers_;
};

// The tiny model reads 100 bp with its target at 40-60: its middle is base 49, as for variants.
TEST_F(Ism, OneWindowForARegionThatFits) {
  IsmOptions asked = options("chr1:201-207");
  const IsmResult result = mutate_region(asked, *backend_);
  EXPECT_EQ(result.window, IsmWindow::region);
  EXPECT_EQ(result.strands, Strands::both);
  EXPECT_EQ(result.window_begin, 154) << "base 203, the middle of 200-207, is base 49 of the window";
  EXPECT_EQ(result.bases, genome_.substr(200, 7));
  EXPECT_EQ(result.sequences, 1 + 3 * 6) << "the N has no substitutions";
  ASSERT_EQ(result.values.size(), 3u * 7u * 4u);
  const std::string window = genome_.substr(154, 100);
  std::set<float> different;
  for (std::size_t base = 0; base < 7; ++base) {
    for (std::size_t letter = 0; letter < 4; ++letter) {
      const float value = result.at(1, base)[letter];
      if (base == 5) {
        EXPECT_TRUE(std::isnan(value));
      } else if (ism_letters[letter] == result.bases[base]) {
        EXPECT_EQ(value, 0.0F);
      } else {
        different.insert(value);
        if (base % 2 == 0) {
          EXPECT_NEAR(value, direct(asked, true, window, 46 + base, ism_letters[letter], 1), 1e-7);
        }
      }
    }
  }
  EXPECT_GT(different.size(), 12u) << "a model to which all bases are alike would test nothing";
}

TEST_F(Ism, AWindowForEachBase) {
  IsmOptions asked = options("chr1:201-203");
  asked.window_at = IsmWindow::base;
  asked.value = IsmValue::log_fold_change;
  asked.profiles = "2,0";
  const IsmResult result = mutate_region(asked, *backend_);
  EXPECT_EQ(result.window, IsmWindow::base);
  EXPECT_EQ(result.selected.size(), 2u);
  EXPECT_EQ(result.sequences, 12);
  for (std::size_t base = 0; base < 3; ++base) {
    const std::string window = genome_.substr(151 + base, 100);
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t letter = 0; letter < 4; ++letter) {
        if (ism_letters[letter] == result.bases[base]) continue;
        EXPECT_NEAR(result.at(row, base)[letter],
                    direct(asked, true, window, 49, ism_letters[letter], result.selected[row]), 1e-6);
      }
    }
  }
}

TEST_F(Ism, ARegionLongerThanTheWindowTakesAWindowForEachBase) {
  // 103 bases, of which 6 can be substituted.
  write_text(folder_ / "n.fa", ">chr1\nACGT" + std::string(97, 'N') + "GATTACA\n");
  IsmOptions asked = options("chr1:3-105");
  asked.fasta = (folder_ / "n.fa").string();
  asked.max_n = 1;
  asked.profiles = "0";
  const IsmResult result = mutate_region(asked, *backend_);
  EXPECT_EQ(result.window, IsmWindow::base);
  EXPECT_EQ(result.sequences, 4 * 6);
  asked.window_at = IsmWindow::region;
  expect_message(error_of([&] { mutate_region(asked, *backend_); }), "chr1:3-105", "do not fit");
}

TEST_F(Ism, TheReverseStrandIsAReadingOfTheSameWindow) {
  IsmOptions asked = options("chr1:201-203");
  asked.strands = Strands::reverse;
  const IsmResult result = mutate_region(asked, *backend_);
  EXPECT_EQ(result.window_begin, 201 - 49);
  const std::string window = reverse_complement(genome_.substr(152, 100));
  for (std::size_t letter = 0; letter < 4; ++letter) {
    if (ism_letters[letter] == result.bases[1]) continue;
    const std::string other = reverse_complement(ism_letters.substr(letter, 1));
    EXPECT_NEAR(result.at(0, 1)[letter], direct(asked, false, window, 50, other[0], 0), 1e-7);
  }
}

TEST_F(Ism, PromoterModelsReadTheForwardStrandAloneWhereThatIsAskedFor) {
  TinyClassifier shape;
  shape.problem = ProblemType::single_label;
  shape.profiles = {{"promoter", "."}};
  shape.labels = 2;
  shape.window = {"promoter", 100, 60, 1};
  write_tiny_classifier(folder_ / "promoter", shape);
  IsmOptions asked = options("chr1:201-203");
  asked.models = {(folder_ / "promoter").string()};
  EXPECT_EQ(mutate_region(asked, *backend_).strands, Strands::both) << "the default of every verb";
  asked.strands = Strands::automatic;
  const IsmResult result = mutate_region(asked, *backend_);
  EXPECT_EQ(result.strands, Strands::forward);
  EXPECT_EQ(result.window_begin, 201 - 60);
  EXPECT_EQ(result.values.size(), 12u);
}

TEST_F(Ism, ModelsAreAveragedAndBatchesDoNotMatter) {
  TinyClassifier other;
  other.seed = 2;
  write_tiny_classifier(folder_ / "other", other);
  IsmOptions asked = options("chr1:201-203");
  asked.models.push_back((folder_ / "other").string());
  const IsmResult result = mutate_region(asked, *backend_);
  const std::string window = genome_.substr(152, 100);
  const std::size_t letter = result.bases[0] == 'A' ? 1 : 0;
  EXPECT_NEAR(result.at(0, 0)[letter], direct(asked, true, window, 48, ism_letters[letter], 0), 1e-7);
  asked.batch.tokens = 1;
  EXPECT_EQ(mutate_region(asked, *backend_).values, result.values);
}

TEST_F(Ism, OffsetPutsTheBaseElsewhere) {
  IsmOptions asked = options("chr1:201-203");
  asked.offset = 10;
  EXPECT_EQ(mutate_region(asked, *backend_).window_begin, 201 - 10);
  asked.offset = 100;
  expect_message(error_of([&] { mutate_region(asked, *backend_); }), "`offset` 100", "window of 100 bp");
}

TEST_F(Ism, ARegionOfTooManySequencesIsRefused) {
  IsmOptions asked = options("chr1:201-203");
  asked.max_sequences = 9;
  const auto refused = error_of([&] { mutate_region(asked, *backend_); });
  expect_message(refused, "chr1:201-203", "10 sequences");
  EXPECT_EQ(refused->kind(), ErrorKind::usage);
  asked.max_sequences = 10;
  EXPECT_EQ(mutate_region(asked, *backend_).sequences, 10);
  asked.max_sequences = 0;
  EXPECT_EQ(mutate_region(asked, *backend_).sequences, 10);
  EXPECT_EQ(IsmOptions().max_sequences, 1'000'000) << "a slip such as -r chr1 is hours of work";
}

// At the end of a contig the base is not the middle of what is drawn around it.
TEST_F(Ism, AroundAPlaceTheWindowIsThatOfThePlace) {
  IsmOptions asked = options("");
  asked.max_n = 1;
  RegionMutator mutator(asked, *backend_);
  Progress progress("test", 0, "sequences");
  for (const std::int64_t position : {std::int64_t{3}, std::int64_t{201}, std::int64_t{398}}) {
    const IsmResult around = mutator.around("chr1", position, 10, progress);
    EXPECT_EQ(around.window_begin, position - 49);
    IsmOptions alone = options("chr1:" + std::to_string(position + 1) + "-" + std::to_string(position + 1));
    alone.max_n = 1;
    const IsmResult base = mutate_region(alone, *backend_);
    for (std::size_t letter = 0; letter < 4; ++letter)
      EXPECT_EQ(around.at(0, static_cast<std::size_t>(position - around.begin))[letter],
                base.at(0, 0)[letter]);
  }
}

TEST_F(Ism, WindowsOfManyNHaveNoValues) {
  write_text(folder_ / "n.fa", ">chr1\n" + some_bases(60) + std::string(100, 'N') + some_bases(60) + "\n");
  IsmOptions asked = options("chr1:51-60");
  asked.fasta = (folder_ / "n.fa").string();
  expect_message(error_of([&] { mutate_region(asked, *backend_); }), "chr1:51-60", "10 have a window");
  asked.max_n = 0.41;
  asked.window_at = IsmWindow::base;  // base 50 + i has 41 + i bases of N in its window
  const IsmResult result = mutate_region(asked, *backend_);
  EXPECT_EQ(result.n_rich, 9);
  EXPECT_FALSE(std::isnan(result.at(0, 0)[0]));
  EXPECT_TRUE(std::isnan(result.at(0, 1)[0]));
  asked.region = "chr1:11-12";  // 39 and 38 bases before the contig
  EXPECT_EQ(mutate_region(asked, *backend_).padded, 2);
}

TEST_F(Ism, BadRegionsAndChoices) {
  expect_message(error_of([&] { mutate_region(options("chr1:390-401"), *backend_); }), "chr1:390-401",
                 "outside");
  expect_message(error_of([&] { mutate_region(options("chr2:1-2"), *backend_); }), "chr2", "unknown contig");
  IsmOptions window = options("chr1:201-203");
  window.window_length = 50;
  expect_message(error_of([&] { mutate_region(window, *backend_); }), "model", "windows of 100 bp");
  for (const auto& error :
       {error_of([] { parse_ism_value("x"); }), error_of([] { parse_strands("x"); }),
        error_of([] { parse_ism_window("x"); }), error_of([] { check_ism_path("x.bed"); })}) {
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->kind(), ErrorKind::usage);
  }
  TinyClassifier regression;
  regression.problem = ProblemType::regression;
  write_tiny_classifier(folder_ / "regression", regression);
  IsmOptions fold = options("chr1:201-203");
  fold.models = {(folder_ / "regression").string()};
  EXPECT_EQ(mutate_region(fold, *backend_).values.size(), 36u);
  fold.value = IsmValue::log_fold_change;
  expect_message(error_of([&] { mutate_region(fold, *backend_); }), "regression", "not probabilities");
}

TEST_F(Ism, FilesOfAResult) {
  IsmOptions asked = options("chr1:204-206");
  asked.profiles = "1";
  const IsmResult result = mutate_region(asked, *backend_);
  write_ism((folder_ / "x.tsv").string(), result, {"note"});
  const std::string table = read_text(folder_ / "x.tsv");
  EXPECT_TRUE(table.starts_with("##note\nchrom\tpos\tref\talt\tK562|CTCF:1\nchr1\t204\t")) << table;
  EXPECT_TRUE(table.ends_with("chr1\t206\tN\tNA\tNA\n")) << table;
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2 + 3 + 3 + 1);
  write_ism((folder_ / "x.npy").string(), result, {});
  EXPECT_NE(read_text(folder_ / "x.npy").find("'shape': (1,3,4"), std::string::npos);
  EXPECT_EQ(read_text(folder_ / "x.profiles.tsv"), "row\tindex\tname\tgroup\n0\t1\tK562|CTCF\tTF\n");
  EXPECT_TRUE(read_text(folder_ / "x.rows.tsv").ends_with("2\tchr1\t206\tN\n"));
}

}  // namespace
}  // namespace bigbird
