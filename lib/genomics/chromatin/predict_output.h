// Files of predictions: a table, a matrix with an index of its rows, or a track per profile. Each appears
// whole or not at all.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lib/genomics/chromatin/predict.h"
#include "lib/inference/model_task.h"

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
// `contigs`: of the genome, for tracks. Error{usage}: a path that does not suit the format.
std::unique_ptr<PredictionSink> make_prediction_sink(PredictionFormat format, const std::string& path,
                                                     const PredictionColumns& columns,
                                                     const std::vector<Contig>& contigs,
                                                     const std::vector<std::string>& comments);

// The files that such a sink writes; none where it writes to stdout.
std::vector<std::string> prediction_files(PredictionFormat format, const std::string& path,
                                          const PredictionColumns& columns);

// The matrix alone, without an index (.npy).
std::unique_ptr<PredictionSink> make_matrix_sink(const std::string& path, const PredictionColumns& columns);

}  // namespace bigbird
