// `bigbird chromatin predict`: predictions for all targets of an input into files, chunk by chunk, so that
// shards share the input and a run that was stopped goes on; and the files of all shards as those of one
// run. Files: a table, a matrix with an index of its rows, or a track per profile. Each appears whole or not
// at all.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/calibration/calibrated_scores.h"
#include "lib/genomics/chromatin/predict.h"
#include "lib/inference/model_task.h"
#include "lib/inference/sequence_scorer.h"
#include "lib/io/genome/most_n.h"
#include "lib/parts/parts.h"

namespace bigbird {

enum class PredictionFormat { tsv, npy, h5, bedgraph, bigwig };
inline constexpr std::array<std::pair<PredictionFormat, const char*>, 5> prediction_format_names{
    {{PredictionFormat::tsv, "tsv"},
     {PredictionFormat::npy, "npy"},
     {PredictionFormat::h5, "h5"},
     {PredictionFormat::bedgraph, "bedgraph"},
     {PredictionFormat::bigwig, "bigwig"}}};
PredictionFormat parse_prediction_format(const std::string& name);  // Error{usage} listing the names
const char* name_of(PredictionFormat format);
// bedgraph or bigwig: places in a genome.
bool is_track(PredictionFormat format);

class PredictionSink {
 public:
  virtual ~PredictionSink() = default;
  // One value per selected column; empty for a row that was not scored: "." in a table, NaN in a matrix, no
  // interval in a track.
  virtual void add(const PredictedRow& row, std::span<const float> values) = 0;
  virtual void close() = 0;
};

// tsv: columns chrom start end name window_start window_end shift n_share cut status, then a column "K:NAME"
// per profile K. npy: float32 [rows, columns] and STEM.rows.tsv with the first ten columns of tsv. h5:
// datasets "predictions", "profile_index", "profile_name", "profile_group", "chrom", "start", "end",
// "status". bedgraph and bigwig: of one column the file itself; of several a folder with K.bedgraph or K.bw
// and tracks.tsv (index name group file); the targets must be in the order of the genome and not overlap.
// `contigs`: of the genome, for tracks; they must outlive the sink. Error{usage}: a path that does not suit
// the format.
std::unique_ptr<PredictionSink> make_prediction_sink(PredictionFormat format, const std::string& path,
                                                     const PredictionColumns& columns,
                                                     const std::vector<Contig>& contigs,
                                                     const std::vector<std::string>& comments);

// The files that such a sink writes; none where it writes to stdout.
std::vector<std::string> prediction_files(PredictionFormat format, const std::string& path,
                                          const PredictionColumns& columns);

// The matrix alone, without an index (.npy).
std::unique_ptr<PredictionSink> make_matrix_sink(const std::string& path, const PredictionColumns& columns);

struct ChromatinPredictOptions {
  std::string input;   // file of the targets, for messages and to know it again; "-": stdin; may be a folder
  std::string output;  // file, folder of several tracks, or "-"
  PredictionFormat format = PredictionFormat::tsv;
  PredictionColumns columns;
  double max_n = most_n_of_scored_window;
  // Beside OUT.npy, of all models: OUT.single.npy (first model, forward strand) and OUT.rc.npy (first model,
  // both strands; where both are read).
  bool variants = false;
  std::vector<std::string> comments;  // provenance, without "##"
  ChunkedWork work;
};

// Errors: as the targets; Error{bad_input} where there is nothing to predict, or no window could be scored (a
// shard may be without one: the merge looks at all of them). Every matrix has the means that `calibrated`
// gives.
PredictionCounts run_chromatin_predict(const ChromatinPredictOptions& options, PredictionTargets& targets,
                                       SequenceScorer& scorer, const CalibratedScores& calibrated);

// The kind of such a run's shards (chunked_numbers.h).
inline constexpr const char* chromatin_predict_kind = "chromatin predict";
// The files of one run at `output`, in the format of the run.
PredictionCounts merge_chromatin_predictions(const std::vector<std::string>& shards,
                                             const std::string& output);

}  // namespace bigbird
