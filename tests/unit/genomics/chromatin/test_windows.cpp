// Samples and batches of chromatin fine-tuning, and the targets of chromatin predict, on a genome of 6,321
// bases.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/genomics/chromatin/finetune.h"
#include "lib/genomics/chromatin/predict.h"
#include "lib/genomics/chromatin/predict_run.h"
#include "lib/inference/windows.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

using testing::error_of;
using testing::expect_bad_input;
using testing::read_text;
using testing::write_text;

// Windows of 100 bases around bins of 20, as the tiny classifier's.
const ModelWindow model_window{"chromatin", 100, 40, 20};

class ChromatinModelData : public ::testing::Test {
 protected:
  ChromatinModelData() {
    CounterRng rng(11, Purpose::test, 0);
    std::string bases;
    for (int i = 0; i < 400; ++i) bases += "ACGT"[rng.between(0, 3)];
    bases.replace(200, 90, std::string(90, 'N'));
    chr1_ = bases;
    write_text(genome_, ">chr1\n" + bases + "\n>tiny\n" + bases.substr(0, 60) + "\n");
    testing::write_tiny_classifier(folder_ / "model");
    ChromatinDatasetWriter writer((folder_ / "data").string(), false, {{"chr1", 400}, {"tiny", 60}},
                                  testing::TinyClassifier{}.profiles, model_window, {});
    for (int i = 0; i < 20; ++i) {
      const std::vector<std::uint8_t> packed = {static_cast<std::uint8_t>(i % 8)};
      writer.write({0, i < 13 ? Split::train : Split::valid, i * 20}, packed);
    }
    writer.commit(genome_, "{}");
    data_.emplace((folder_ / "data").string());
    tokenizer_ = load_tokenizer((folder_ / "model").string());
    options_.batch = 5;
    options_.accumulate = 2;  // 3 + 2
    config_ = read_config((folder_ / "model/config.json").string());
  }
  std::vector<ChromatinSample> training_windows(std::uint64_t bins = 1) const {
    return neighbouring_bins(*data_, data_->rows(Split::train), bins);
  }
  ChromatinTask task(StrandSampling strands, const ChromatinWindows& windows, std::uint64_t bins = 1,
                     std::int64_t shift = 0) const {
    return {options_,
            config_,
            *data_,
            windows,
            {strands, shift, training_windows(bins), data_->rows(Split::valid)}};
  }
  // An epoch of windows of five bins, on both strands.
  Batch epoch_of_neighbours(std::int64_t shift) {
    const ChromatinWindows windows(*data_, *tokenizer_);
    config_.input_length = 0;
    config_.pooling = parse_head_pooling("middle:20");
    options_.batch = 6;
    options_.accumulate = 1;
    const ChromatinTask both = task(StrandSampling::both, windows, 5, shift);
    EXPECT_EQ(both.samples(), 6u);
    return both.whole_update(0).at(0);
  }
  // The bases of every span, read back from its tokens, are those of a bin with its labels, on either strand.
  // A token that begins in a bin may end behind it, and one that ends in it begin before.
  void expect_spans_are_bins(const Batch& batch) const {
    ASSERT_EQ(batch.output_spans.size(), 26u);
    ASSERT_EQ(batch.sequence_targets.size(), 26u * 3);
    std::multiset<std::uint32_t> seen;
    for (std::size_t i = 0; i < batch.output_spans.size(); ++i) {
      const OutputSpan& span = batch.output_spans[i];
      std::string bases;
      for (std::int32_t t = span.first; t < span.first + span.length; ++t)
        bases += tokenizer_->piece(static_cast<std::uint32_t>(batch.ids[static_cast<std::size_t>(t)]));
      const auto first = batch.sequence_targets.begin() + static_cast<std::ptrdiff_t>(3 * i);
      const std::optional<std::uint32_t> row = bin_of(bases, std::vector<float>(first, first + 3));
      EXPECT_TRUE(row) << i << " " << bases;
      if (row) seen.insert(*row);
    }
    for (const std::uint32_t row : data_->rows(Split::train)) EXPECT_EQ(seen.count(row), 2u) << row;
  }
  // The training bin with these labels whose bases these are; the first token begins at most one token's
  // length into it.
  std::optional<std::uint32_t> bin_of(const std::string& bases, const std::vector<float>& labels) const {
    for (const std::uint32_t row : data_->rows(Split::train)) {
      std::vector<float> of_row(3);
      data_->labels().unpack(row, of_row);
      if (labels != of_row) continue;
      const std::string bin = chr1_.substr(row * 20, 20);
      for (const std::string& strand : {bin, reverse_complement(bin)}) {
        for (std::size_t begin = 0; begin < 8; ++begin) {
          const std::string rest = strand.substr(begin);
          if (bases.size() >= rest.size() && bases.compare(0, rest.size(), rest) == 0) return row;
        }
      }
    }
    return std::nullopt;
  }
  SequenceScorer scorer(std::int64_t batch_tokens = 1024) {
    return {{{(folder_ / "model").string()}, Strands::both, {batch_tokens}}, *backend_};
  }

  testing::TemporaryFolder folder_;
  std::string genome_ = (folder_ / "genome.fa").string();
  std::string chr1_;
  std::optional<ChromatinDataset> data_;
  std::unique_ptr<Tokenizer> tokenizer_;
  RunOptions options_;
  ModelConfig config_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST(DrawsOfUpdate, VisitEverySampleOnceAnEpochInAnotherOrder) {
  std::vector<std::uint64_t> seen;
  for (std::uint64_t step = 0; step < 5; ++step) {
    for (const Draw& draw : draws_of_run(1, 10, step * 4, 4)) {
      EXPECT_EQ(draw.number, seen.size());
      seen.push_back(draw.sample);
    }
  }
  const auto middle = seen.begin() + 10;
  EXPECT_FALSE(std::equal(seen.begin(), middle, middle));
  std::sort(seen.begin(), middle);
  std::sort(middle, seen.end());
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(seen[i], i % 10);
}

TEST_F(ChromatinModelData, AnEpochReadsEveryWindowOnBothStrandsWithItsLabels) {
  const ChromatinWindows windows(*data_, *tokenizer_);
  // What each sample must look like, on either strand: ids and targets. At the left end bins share a window.
  std::set<std::pair<std::vector<std::int32_t>, std::vector<float>>> expected;
  Fasta fasta = data_->fasta().clone();
  for (const std::uint32_t row : data_->rows(Split::train)) {
    const std::string sequence = data_->window_sequence(fasta, row);
    std::vector<float> labels(3);
    data_->labels().unpack(row, labels);
    for (const std::string& strand : {sequence, reverse_complement(sequence)}) {
      std::vector<std::int32_t> ids;
      encode_window(*tokenizer_, strand, config_.input_length, ids);
      expected.insert({ids, labels});
    }
  }
  ASSERT_EQ(expected.size(), 26u);
  const ChromatinTask both = task(StrandSampling::both, windows);
  EXPECT_EQ(both.samples(), 26u);
  auto left = expected;
  options_.batch = 26;
  options_.accumulate = 4;
  std::size_t sequences = 0;
  for (const Batch& batch : both.whole_update(0)) {
    ASSERT_EQ(batch.sequence_targets.size(), batch.lengths.size() * 3);
    for (std::size_t s = 0; s < batch.lengths.size(); ++s, ++sequences) {
      const auto first = batch.ids.begin() + batch.token_offsets[s];
      const std::vector<std::int32_t> ids(first, first + batch.lengths[s]);
      const auto targets = batch.sequence_targets.begin() + static_cast<std::ptrdiff_t>(s * 3);
      EXPECT_EQ(left.erase({ids, std::vector<float>(targets, targets + 3)}), 1u);
    }
  }
  EXPECT_EQ(sequences, 26u);
  EXPECT_TRUE(left.empty());
}

// 13 training bins of 20 bases make windows of 5, 5 and 3 bins; their labels are 0 .. 7, 0 .. 4 in three
// bits.
TEST_F(ChromatinModelData, NeighbouringBinsShareAWindowAndKeepTheirLabels) {
  const std::vector<ChromatinSample> samples = training_windows(5);
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[0].bins, 5u);
  EXPECT_EQ(samples[2].row, 10u);
  EXPECT_EQ(samples[2].bins, 3u);
  const std::vector<std::uint32_t> apart = {0, 1, 3, 4};
  EXPECT_EQ(neighbouring_bins(*data_, apart, 5).size(), 2u) << "a bin is missing between them";

  expect_spans_are_bins(epoch_of_neighbours(0));
}

TEST_F(ChromatinModelData, AShiftMovesWindowsAndNotTheirLabels) {
  const Batch still = epoch_of_neighbours(0), moved = epoch_of_neighbours(7), again = epoch_of_neighbours(7);
  EXPECT_NE(moved.ids, still.ids);
  EXPECT_EQ(moved.ids, again.ids);
  expect_spans_are_bins(moved);

  // Windows of one bin: every one is the data set's, moved by at most 7 bases, and not all by the same.
  options_.batch = 13;
  config_.pooling = {};
  const ChromatinWindows windows(*data_, *tokenizer_);
  const ChromatinTask forward = task(StrandSampling::forward, windows, 1, 7);
  Fasta fasta = data_->fasta().clone();
  std::map<std::vector<std::int32_t>, std::int64_t> known;
  for (const std::uint32_t row : data_->rows(Split::train)) {
    for (std::int64_t shift = -7; shift <= 7; ++shift) {
      std::vector<std::int32_t> ids;
      encode_window(*tokenizer_, data_->window_sequence(fasta, row, shift), 512, ids);
      known.emplace(ids, shift);
    }
  }
  std::set<std::int64_t> shifts;
  for (const Batch& batch : forward.whole_update(0)) {
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const auto first = batch.ids.begin() + batch.token_offsets[s];
      const auto found = known.find({first, first + batch.lengths[s]});
      ASSERT_NE(found, known.end()) << s;
      shifts.insert(found->second);
    }
  }
  EXPECT_GT(shifts.size(), 4u);
}

TEST_F(ChromatinModelData, BatchesAreAFunctionOfTheStepAlone) {
  const ChromatinWindows windows(*data_, *tokenizer_);
  for (const StrandSampling strands : {StrandSampling::both, StrandSampling::coin, StrandSampling::forward}) {
    const ChromatinTask one = task(strands, windows), other = task(strands, windows);
    one.whole_update(0);
    kernels::set_thread_count(1);
    const std::vector<Batch> a = one.whole_update(3);
    kernels::set_thread_count(3);
    const std::vector<Batch> b = other.whole_update(3);
    kernels::set_thread_count(0);
    ASSERT_EQ(a.size(), 2u);
    ASSERT_EQ(b.size(), 2u);
    EXPECT_EQ(a[0].lengths.size(), 3u);
    EXPECT_EQ(a[1].lengths.size(), 2u);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(a[i].ids, b[i].ids);
      EXPECT_EQ(a[i].sequence_targets, b[i].sequence_targets);
    }
  }
}

TEST_F(ChromatinModelData, WindowsThatDoNotFitAreCutAndCounted) {
  const ChromatinWindows windows(*data_, *tokenizer_);
  EXPECT_GT(windows.longest_of_sample(training_windows(), true, 100, 512, 1), 40);
  config_.input_length = 16;
  const ChromatinTask cut = task(StrandSampling::forward, windows);
  for (const Batch& batch : cut.whole_update(0)) {
    for (const std::int64_t length : batch.lengths) EXPECT_LE(length, 16);
  }
  EXPECT_EQ(cut.seen(), 5u);
  EXPECT_GT(cut.cut(), 0u);
}

TEST_F(ChromatinModelData, BinsGetTheirWindowsWithReasonsForThoseThatAreNotScored) {
  const std::string bed = (folder_ / "bins.bed").string();
  write_text(bed,
             "chr1\t100\t120\tmiddle\nchr1\t0\t20\tleft\nchr1\t380\t400\tright\nchr1\t230\t250\tn\n"
             "tiny\t20\t40\tshort\nchr1\t0\t100\twhole\n");
  const auto targets = bed_targets(bed, genome_, model_window);
  std::vector<PredictedRow> rows;
  std::vector<double> first;
  SequenceScorer model = scorer();
  PredictionCounts counts;
  Progress progress("", 0, "");
  predict_chromatin(*targets, model, 0.5, progress,
                    [&](const PredictedRow& row, const SequenceScores* scores) {
                      EXPECT_EQ(scores != nullptr, row.status == PredictionStatus::scored) << row.name;
                      rows.push_back(row);
                      counts.add(row);
                      first.push_back(scores == nullptr ? -1.0 : scores->mean(0));
                    });
  ASSERT_EQ(rows.size(), 6u);
  const auto check = [&](std::size_t i, const char* name, std::int64_t begin, std::int64_t shift,
                         PredictionStatus status) {
    EXPECT_EQ(rows[i].name, name);
    EXPECT_EQ(rows[i].window_begin, begin) << name;
    EXPECT_EQ(rows[i].shift, shift) << name;
    EXPECT_EQ(rows[i].status, status) << name;
  };
  check(0, "middle", 60, 0, PredictionStatus::scored);
  check(1, "left", 0, 40, PredictionStatus::scored);
  check(2, "right", 300, -40, PredictionStatus::scored);
  check(3, "n", 190, 0, PredictionStatus::too_many_n);
  check(4, "short", 0, 0, PredictionStatus::short_contig);
  check(5, "whole", 0, 0, PredictionStatus::scored);
  EXPECT_NEAR(rows[3].n_share, 0.9, 1e-12);
  EXPECT_EQ(first[1], first[5]);  // the same window
  EXPECT_EQ(counts.rows, 6u);
  EXPECT_EQ(counts.scored, 4u);
  EXPECT_EQ(counts.shifted, 2u);
  EXPECT_EQ(counts.skipped.text(), "short_contig 1, too_many_n 1");
}

TEST_F(ChromatinModelData, ADataSetAndABedOfItsBinsGiveTheSameScoresInAnyBatch) {
  const auto scores_of = [&](PredictionTargets& targets, std::int64_t batch_tokens) {
    SequenceScorer model = scorer(batch_tokens);
    std::vector<double> values;
    Progress progress("", 0, "");
    predict_chromatin(targets, model, 1.0, progress, [&](const PredictedRow&, const SequenceScores* scores) {
      for (std::size_t k = 0; k < 3; ++k) values.push_back(scores->mean(k));
    });
    return values;
  };
  const auto of_data = dataset_targets(*data_, Split::valid, model_window);
  const std::vector<double> expected = scores_of(*of_data, 128);
  ASSERT_EQ(expected.size(), 21u);
  std::string lines;
  for (int i = 13; i < 20; ++i) lines += fmt::format("1\t{}\t{}\n", i * 20, i * 20 + 20);
  write_text(folder_ / "bins.bed", lines);
  const auto of_bed = bed_targets((folder_ / "bins.bed").string(), genome_, model_window);
  EXPECT_EQ(scores_of(*of_bed, 1024), expected);
}

TEST_F(ChromatinModelData, IntervalsThatDoNotFitAreRefusedByLine) {
  const std::string bed = (folder_ / "bins.bed").string();
  PredictedRow row;
  std::string sequence;
  write_text(bed, "chr1\t0\t20\nchr1\t0\t30\n");
  const auto other = bed_targets(bed, genome_, model_window);
  other->next(row, sequence);
  expect_bad_input(error_of([&] { other->next(row, sequence); }), "bins.bed:2", "an interval of 30 bp");
  write_text(bed, "chr1\t390\t410\n");
  expect_bad_input(error_of([&] { bed_targets(bed, genome_, model_window)->next(row, sequence); }),
                   "bins.bed:1", "390-410 reaches beyond chr1");
  write_text(bed, "chr1\t50\t50\n");
  expect_bad_input(error_of([&] { bed_targets(bed, genome_, model_window)->next(row, sequence); }),
                   "bins.bed:1", "empty");
  expect_bad_input(error_of([&] { fasta_targets(genome_, model_window)->next(row, sequence); }), "genome.fa",
                   "record chr1 has 400 bases, the model reads windows of 100");
  expect_bad_input(error_of([&] {
                     dataset_targets(*data_, Split::valid, ModelWindow{"chromatin", 100, 0, 20});
                   }),
                   "data", "windows of 100 bp");
}

TEST(SelectProfiles, TakesNumbersRangesAndEveryProfileOfAName) {
  const std::vector<Profile> profiles = {{"a", "TF"}, {"b", "TF"}, {"a", "DHS"}, {"c-d", "HM"}};
  using Columns = std::vector<std::size_t>;
  EXPECT_EQ(select_profiles(profiles, "").selected, (Columns{0, 1, 2, 3}));
  EXPECT_EQ(select_profiles(profiles, "all").selected, (Columns{0, 1, 2, 3}));
  EXPECT_EQ(select_profiles(profiles, "3,0-1").selected, (Columns{3, 0, 1}));
  EXPECT_EQ(select_profiles(profiles, "a").selected, (Columns{0, 2}));
  EXPECT_EQ(select_profiles(profiles, "c-d").selected, (Columns{3}));
  EXPECT_THROW(select_profiles(profiles, "none"), Error);
  EXPECT_THROW(select_profiles(profiles, "4"), Error);
  EXPECT_THROW(select_profiles(profiles, "2-1"), Error);
  EXPECT_THROW(select_profiles(profiles, "a,"), Error);
}

TEST_F(ChromatinModelData, TracksAreAFolderOfFilesWithoutRowsThatWereNotScored) {
  const PredictionColumns columns = select_profiles(testing::TinyClassifier{}.profiles, "0,2");
  const std::string out = (folder_ / "tracks").string();
  const std::vector<Contig> contigs = {{"chr1", 400}, {"tiny", 60}};
  const auto sink = make_prediction_sink(PredictionFormat::bedgraph, out, columns, contigs, {"made=here"});
  PredictedRow row;
  row.end = 20;
  sink->add(row, std::vector<float>{0.25f, 0.5f});
  row.begin = 20;
  row.end = 40;
  sink->add(row, {});
  EXPECT_FALSE(std::filesystem::exists(out));
  sink->close();
  const std::string track = read_text(folder_ / "tracks/2.bedgraph");
  EXPECT_NE(track.find("chr1\t0\t20\t0.5\n"), std::string::npos) << track;
  EXPECT_EQ(track.find("\t40\t"), std::string::npos) << track;
  EXPECT_NE(read_text(folder_ / "tracks/tracks.tsv").find("2\tK562|DNase\tDHS\t2.bedgraph\n"),
            std::string::npos);
}

}  // namespace
}  // namespace bigbird
