// Gradient x input: how much each base of a region adds to a logit of a fine-tuned model, to first order at
// the embeddings of its tokens. The gradient of the logit with respect to the vector of each token is
// multiplied with that vector (the word's, without type and position) and summed over the width; a token's
// value is spread evenly over its bases.
//
// It is a local, linear account of one sequence. The values do not add up to the logit or to its difference
// from anything, and what a substitution does is another question: `bigbird ism` asks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track_writer.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model.h"
#include "lib/tasks/model_task.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

// A model that is asked for its gradients, one sequence at a time.
class BaseAttributor {
 public:
  // Error{bad_input}: a folder without a classification head, or whose tokenizer is not for DNA.
  BaseAttributor(const std::string& model_folder, kernels::Backend& backend);

  // Two classes: one output, the logit of class 1 less that of class 0. Else a logit for each label.
  const std::vector<Profile>& profiles() const { return profiles_; }
  const std::optional<ModelWindow>& window() const { return window_; }
  // A value for each base of `sequence` (A C G T N, upper case, read as it is); NaN for N, for bases of
  // special pieces, and behind the last token that the model takes (`cut` says whether there are any).
  std::vector<double> attribute(const std::string& sequence, std::size_t output, bool& cut);

 private:
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<Profile> profiles_;
  std::optional<ModelWindow> window_;
  std::vector<float> words_;  // [V, C], times sqrt(C) where the model rescales
  std::unique_ptr<Model> model_;
  Batch batch_;
};

enum class AttributionStrand { both, plus, minus };
AttributionStrand parse_attribution_strand(const std::string& name);  // both, + or -

// Bases of the region that one window answers for, and the window on each strand; 0-based half-open on the
// forward strand.
struct AttributionTile {
  std::int64_t begin = 0, end = 0;
  std::int64_t plus_begin = 0, plus_end = 0;
  std::int64_t minus_begin = 0, minus_end = 0;
  bool operator==(const AttributionTile&) const = default;
};

// A region that fits into the window is one tile; a longer one is cut into tiles of half a window. The middle
// of the window's target lies over the middle of its tile, on either strand as the model reads it; where a
// part of the tile or an end of the contig would be passed, the window is moved. A contig shorter than the
// window is one window.
std::vector<AttributionTile> attribution_tiles(const Region& region, std::int64_t contig_length,
                                               const ModelWindow& window);

struct Attribution {
  // [outputs][bases of the region]; NaN where a strand that was asked for has no value.
  std::vector<std::vector<double>> values;
  std::size_t tiles = 0;
  std::int64_t n_bases = 0;    // of the region
  double n_share = 0;          // the largest share of N in a window
  std::int64_t cut_bases = 0;  // of the region, without N: behind the last token on some strand
};

// Means over the strands that are asked for.
Attribution attribute_region(BaseAttributor& model, Fasta& fasta, const Region& region,
                             const ModelWindow& window, const std::vector<std::size_t>& outputs,
                             AttributionStrand strand);

// Neighbouring bases with one value become one interval; bases without a value none.
void write_attribution(TrackWriter& track, const Region& region, const std::vector<double>& values);

}  // namespace bigbird
