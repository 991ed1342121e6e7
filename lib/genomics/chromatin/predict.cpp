// Targets and the run over them; see predict.h.
#include "lib/genomics/chromatin/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/core/progress.h"
#include "lib/inference/windows.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/bed.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<PredictionStatus, const char*>, 3> status_names{
    {{PredictionStatus::scored, "scored"},
     {PredictionStatus::too_many_n, "too_many_n"},
     {PredictionStatus::short_contig, "short_contig"}}};

constexpr std::size_t chunk_windows = 64;  // encoded at the same time by all threads

// Places the window around [begin, end) of the row, or says that the contig is too short for it.
void place_window(PredictedRow& row, const ModelWindow& window, std::int64_t contig_length) {
  const std::int64_t wanted = row.begin - window.target_offset;
  if (contig_length < window.length) {
    row.window_begin = 0;
    row.window_end = contig_length;
    row.status = PredictionStatus::short_contig;
    return;
  }
  row.window_begin = std::clamp<std::int64_t>(wanted, 0, contig_length - window.length);
  row.window_end = row.window_begin + window.length;
  row.shift = row.window_begin - wanted;
}

class FastaTargets : public PredictionTargets {
 public:
  FastaTargets(const std::string& path, const std::optional<ModelWindow>& window)
      : path_(path), reader_(read_fasta_windows(path)), window_(window) {}

  bool next(PredictedRow& row, std::string& sequence) override {
    if (!reader_->next(record_)) return false;
    const auto length = static_cast<std::int64_t>(record_.sequence.size());
    if (length == 0) {
      throw_bad_input(fmt::format("{}: record {} is empty", path_, record_.id), "remove the record");
    }
    if (window_ && length != window_->length) {
      throw_bad_input(fmt::format("{}: record {} has {} bases, the model reads windows of {}", path_,
                                  record_.id, length, window_->length),
                      message("cut the windows to this length, or give bins: `fasta` GENOME `regions` BED"));
    }
    row = {};
    row.chrom = row.name = record_.id;
    row.end = row.window_end = length;
    if (window_) {
      row.begin = window_->target_offset;
      row.end = row.begin + window_->target_length;
    }
    sequence = std::move(record_.sequence);
    return true;
  }
  const std::vector<Contig>& contigs() const override { return none_; }

 private:
  std::string path_;
  std::unique_ptr<WindowReader> reader_;
  std::optional<ModelWindow> window_;
  Window record_;
  std::vector<Contig> none_;
};

class BedTargets : public PredictionTargets {
 public:
  BedTargets(const std::string& bed, const std::string& fasta, const std::optional<ModelWindow>& window)
      : reader_(bed, 4), fasta_(fasta), names_(fasta_.contigs()), window_(window) {}

  bool next(PredictedRow& row, std::string& sequence) override {
    if (!reader_.next(record_)) {
      if (!std::exchange(told_, true)) warn_of_replaced_letters(fasta_.path(), fasta_.iupac_replaced());
      return false;
    }
    row = {};
    row.contig = names_.require(record_.chrom, reader_.where());
    const std::int64_t contig_length = names_[row.contig].length;
    row.chrom = record_.chrom;
    row.begin = record_.begin;
    row.end = record_.end;
    row.name = record_.name;
    if (row.end > contig_length) {
      throw_bad_input(fmt::format("{}: {}-{} reaches beyond {} ({} bp)", reader_.where(), row.begin, row.end,
                                  row.chrom, contig_length),
                      "is it the genome that these intervals are of?");
    }
    const std::int64_t length = row.end - row.begin;
    if (length == 0) {
      throw_bad_input(reader_.where() + ": the interval is empty", "remove it, or give the bin around it");
    }
    if (window_ && length == window_->target_length) {
      place_window(row, *window_, contig_length);
    } else if (!window_ || length == window_->length) {
      row.window_begin = row.begin;
      row.window_end = row.end;
    } else {
      throw_bad_input(
          fmt::format("{}: an interval of {} bp; the model takes bins of {} bp or windows of {} bp",
                      reader_.where(), length, window_->target_length, window_->length),
          fmt::format("cut the regions into bins, such as by `bedtools makewindows -w {}`",
                      window_->target_length));
    }
    sequence.clear();
    if (row.status == PredictionStatus::scored) {
      sequence = fasta_.fetch(row.contig, row.window_begin, row.window_end);
    }
    return true;
  }
  const std::vector<Contig>& contigs() const override { return fasta_.contigs(); }

 private:
  BedReader reader_;
  Fasta fasta_;
  ContigNames names_;
  std::optional<ModelWindow> window_;
  BedRecord record_;
  bool told_ = false;
};

class DatasetTargets : public PredictionTargets {
 public:
  DatasetTargets(const ChromatinDataset& data, std::vector<std::uint32_t> rows)
      : data_(data), fasta_(data.fasta().clone()), rows_(std::move(rows)) {}

  bool next(PredictedRow& row, std::string& sequence) override {
    if (next_ == rows_.size()) {
      if (!std::exchange(told_, true)) warn_of_replaced_letters(fasta_.path(), fasta_.iupac_replaced());
      return false;
    }
    const ChromatinBin& bin = data_.bins()[rows_[next_]];
    const Contig& contig = fasta_.contigs()[bin.contig];
    row = {};
    row.contig = bin.contig;
    row.chrom = contig.name;
    row.begin = bin.begin;
    row.end = bin.begin + data_.window().target_length;
    row.name = split_side_name(bin.split);
    place_window(row, data_.window(), contig.length);
    sequence = data_.window_sequence(fasta_, rows_[next_]);
    ++next_;
    return true;
  }
  const std::vector<Contig>& contigs() const override { return fasta_.contigs(); }

 private:
  const ChromatinDataset& data_;
  Fasta fasta_;
  std::vector<std::uint32_t> rows_;
  std::size_t next_ = 0;
  bool told_ = false;
};

}  // namespace

std::string name_of(PredictionStatus status) {
  return find_name(status_names, status);
}

std::unique_ptr<PredictionTargets> fasta_targets(const std::string& path,
                                                 const std::optional<ModelWindow>& window) {
  return std::make_unique<FastaTargets>(path, window);
}

std::unique_ptr<PredictionTargets> bed_targets(const std::string& bed, const std::string& fasta,
                                               const std::optional<ModelWindow>& window) {
  return std::make_unique<BedTargets>(bed, fasta, window);
}

std::unique_ptr<PredictionTargets> dataset_targets(const ChromatinDataset& data, std::optional<Split> split,
                                                   const std::optional<ModelWindow>& window) {
  std::vector<std::uint32_t> rows;
  if (split) {
    rows = data.rows(*split);
  } else {
    rows.resize(data.bins().size());
    std::iota(rows.begin(), rows.end(), 0U);
  }
  return dataset_targets(data, std::move(rows), window);
}

std::unique_ptr<PredictionTargets> dataset_targets(const ChromatinDataset& data,
                                                   std::vector<std::uint32_t> rows,
                                                   const std::optional<ModelWindow>& window) {
  if (window && *window != data.window()) {
    throw_bad_input(
        fmt::format("{}: windows of {} bp with the bin at {}, the model's have {} bp with the target at {}",
                    data.folder(), data.window().length, data.window().target_offset, window->length,
                    window->target_offset),
        "build the data set with the window of the model");
  }
  return std::make_unique<DatasetTargets>(data, std::move(rows));
}

void PredictionCounts::add(const PredictedRow& row) {
  ++rows;
  if (row.status != PredictionStatus::scored) {
    skipped.add(name_of(row.status));
    return;
  }
  ++scored;
  if (row.shift != 0) ++shifted;
  if (row.cut) ++cut;
}

void PredictionCounts::require_scored(const std::string& input) const {
  if (scored == 0) throw_bad_input(input + ": no window could be scored", message("see `max_n`"));
}

void TargetScorer::give_missing() {
  for (; !waiting_.empty() && waiting_.front().first.status != PredictionStatus::scored; waiting_.pop_front())
    (*waiting_.front().second)(waiting_.front().first, nullptr);
}

void TargetScorer::add(PredictionTargets& targets, const Row& row) {
  const auto give = std::make_shared<const Row>(row);
  const auto give_scored = [this](const SequenceScores& scores) {
    give_missing();
    (*waiting_.front().second)(waiting_.front().first, &scores);
    waiting_.pop_front();
    give_missing();
    progress_.advance(1);
  };
  std::vector<PredictedRow> chunk(chunk_windows);
  std::vector<std::string> sequences(chunk_windows);
  std::vector<EncodedSequence> encoded(chunk_windows);
  for (bool more = true; more;) {
    throw_if_cancelled();
    std::size_t size = 0;
    while (size < chunk_windows && (more = targets.next(chunk[size], sequences[size]))) ++size;
    kernels::parallel_for(size, [&](std::size_t i) {
      PredictedRow& target = chunk[i];
      target.n_share = share_of_n(sequences[i]);
      if (target.status == PredictionStatus::scored && target.n_share > max_n_) {
        target.status = PredictionStatus::too_many_n;
      }
      if (target.status != PredictionStatus::scored) return;
      encoded[i] = scorer_.encode(sequences[i]);
      target.cut = encoded[i].cut;
    });
    for (std::size_t i = 0; i < size; ++i) {
      const PredictionStatus status = chunk[i].status;
      waiting_.emplace_back(std::move(chunk[i]), give);
      if (status == PredictionStatus::scored) scorer_.add(std::move(encoded[i]), give_scored);
    }
  }
}

void TargetScorer::finish() {
  scorer_.finish();
  give_missing();
}

void predict_chromatin(PredictionTargets& targets, SequenceScorer& scorer, double max_n, Progress& progress,
                       const TargetScorer::Row& row) {
  TargetScorer targets_scorer(scorer, max_n, progress);
  targets_scorer.add(targets, row);
  targets_scorer.finish();
}

}  // namespace bigbird
