// Predictions of chromatin profiles for bins of a genome, for the bins of a data set, or for sequences:
// streamed in input order, whatever the batch or the number of threads.
//
// Around a 200-bp bin the window is cut that the model was trained on (window.json), moved inwards at the end
// of a contig. Coordinates are 0-based half-open, on the forward strand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/core/progress.h"
#include "lib/core/reason_counts.h"
#include "lib/genomics/chromatin/dataset.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/contig_names.h"

namespace bigbird {

enum class PredictionStatus : std::uint8_t {
  scored,
  too_many_n,    // the fraction of N in the window is above the limit
  short_contig,  // the contig is shorter than the window
};
std::string name_of(PredictionStatus status);

// One row of the output.
struct PredictedRow {
  std::string chrom;
  std::int64_t begin = 0;  // the target: a bin, or the whole window of a record
  std::int64_t end = 0;
  std::string name = ".";
  std::int64_t window_begin = 0;
  std::int64_t window_end = 0;
  std::int64_t shift = 0;  // bp that the window was moved: above 0 to the right
  double n_share = 0;      // of the window
  bool cut = false;        // it had more tokens than a model takes, on some strand, and lost its right end
  PredictionStatus status = PredictionStatus::scored;
  std::size_t contig = 0;  // of contigs(); 0 where there is no genome
};

// What is predicted, one row at a time.
class PredictionTargets {
 public:
  virtual ~PredictionTargets() = default;
  // Fills the row's places and the window's sequence; the sequence of a row that is not to be scored is
  // empty. False at the end.
  virtual bool next(PredictedRow& row, std::string& sequence) = 0;
  // Of the genome that the rows lie in; empty where there is none.
  virtual const std::vector<Contig>& contigs() const = 0;
};

// Every record of a FASTA ("-": standard input) is one window. Error{bad_input} for a record of another
// length than the model's window.
std::unique_ptr<PredictionTargets> fasta_targets(const std::string& path,
                                                 const std::optional<ModelWindow>& window);
// Intervals of a BED: as long as the model's target (a bin: the window is cut around it), or as long as its
// window (which is then taken as it is). Error{bad_input} naming file and line for any other, and for one
// that reaches beyond its contig. Bins have no strand: column 6 is not used.
std::unique_ptr<PredictionTargets> bed_targets(const std::string& bed, const std::string& fasta,
                                               const std::optional<ModelWindow>& window);
// The bins of a split (all bins without it). Error{bad_input} when the data set has another window than the
// model.
std::unique_ptr<PredictionTargets> dataset_targets(const ChromatinDataset& data, std::optional<Split> split,
                                                   const std::optional<ModelWindow>& window);
// Those of some rows of its bins, in this order.
std::unique_ptr<PredictionTargets> dataset_targets(const ChromatinDataset& data,
                                                   std::vector<std::uint32_t> rows,
                                                   const std::optional<ModelWindow>& window);

struct PredictionCounts {
  std::uint64_t rows = 0;
  std::uint64_t scored = 0;
  ReasonCounts skipped;       // by name_of(PredictionStatus)
  std::uint64_t shifted = 0;  // of those scored
  std::uint64_t cut = 0;
  std::uint64_t predicted = 0;  // of those scored: by this call, not by a run before it

  void add(const PredictedRow& row);
  // Error{bad_input} naming `input` where no row was scored.
  void require_scored(const std::string& input) const;
};

// Targets through models, chunk by chunk.
class TargetScorer {
 public:
  // Null for a target that is not scored: a window with a larger fraction of N than max_n, or of a contig
  // that is too short.
  using Row = std::function<void(PredictedRow&, const SequenceScores*)>;

  TargetScorer(SequenceScorer& scorer, double max_n, Progress& progress)
      : scorer_(scorer), max_n_(max_n), progress_(progress) {}
  // `row` is called for every target, in order, now or later.
  void add(PredictionTargets& targets, const Row& row);
  // Every row was given afterwards.
  void finish();

 private:
  void give_missing();

  SequenceScorer& scorer_;
  double max_n_;
  Progress& progress_;
  // All rows that were not given yet, in order; those to be scored get their scores in the same order.
  std::deque<std::pair<PredictedRow, std::shared_ptr<const Row>>> waiting_;
};

// All targets at once.
void predict_chromatin(PredictionTargets& targets, SequenceScorer& scorer, double max_n, Progress& progress,
                       const TargetScorer::Row& row);

}  // namespace bigbird
