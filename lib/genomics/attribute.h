// lib/genomics holds what the tasks over genomes share: substitutions (ism), attribution, effect scores,
// choices of profiles, the fingerprint of a genome. Each task has a folder, and none of them includes
// another.
//
// How much each base of a region adds to a logit of fine-tuned models, by the gradients at the vectors of its
// tokens (the word's, without type and position). The gradient is taken at the tokens themselves (gradient x
// input) or is the mean over the path from a baseline to them (integrated gradients, attribution_path.h); it
// is multiplied with the vector less the baseline's and summed over the width, and a token's value is spread
// evenly over its bases. Of several models the values are averaged.
//
// Gradient x input is a local, linear account of one sequence: its values do not add up to the logit or to
// its difference from anything. Those of integrated gradients add up to the logit less that of the baseline.
// What a substitution does is another question: `bigbird ism` asks it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "lib/genomics/model_attributor.h"
#include "lib/inference/finetuned_model.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track.h"

namespace bigbird {

// Models that are asked for the gradients of some of their outputs, sequence by sequence. What comes out of a
// sequence does not depend on its neighbours.
class BaseAttributor {
 public:
  // `outputs`: of profiles(), which the models have in common. Of two classes the one output is the logit of
  // class 1 less that of class 0, else an output is the logit of its label. Memory for the largest batch of
  // every model is taken here. Error{bad_input} for models that differ (FinetunedModel::require_like).
  BaseAttributor(const std::vector<FinetunedModel>& models, const std::vector<std::size_t>& outputs,
                 const AttributionOptions& options, const BatchSize& batch, kernels::Backend& backend);
  ~BaseAttributor();

  std::size_t outputs() const { return outputs_; }
  // Passes that a sequence takes through all models, forward and backward for each output; `told` is called
  // once for each.
  std::size_t passes() const;
  void on_pass(std::function<void()> told) { on_pass_ = std::move(told); }
  // `sequence`: A C G T N, upper case, read as it is. `done` is called once, in the order of the calls of
  // add, now or later.
  void add(const std::string& sequence, std::function<void(const BaseAttributions&)> done);
  // Runs what is queued; every `done` has been called afterwards.
  void finish();

 private:
  struct Entry;
  void deliver();

  std::size_t outputs_;
  std::function<void()> on_pass_;
  std::vector<std::unique_ptr<ModelAttributor>> models_;
  std::deque<std::shared_ptr<Entry>> queue_;
};

// Bases of the region that one window answers for, and the window, which is read on either strand; 0-based
// half-open on the forward strand.
struct AttributionTile {
  std::int64_t begin = 0, end = 0;
  std::int64_t window_begin = 0, window_end = 0;
  bool operator==(const AttributionTile&) const = default;
};

// A region that fits into the window is one tile; a longer one is cut into tiles of half a window. The
// middle of a tile (middle_base) stands at the window's scored_place, as a base that `ism` or `variants`
// scores; where a part of the tile or an end of the contig would be passed, the window is moved. A contig
// shorter than the window is one window.
std::vector<AttributionTile> attribution_tiles(const Region& region, std::int64_t contig_length,
                                               const ModelWindow& window);

struct Attribution {
  // [outputs][bases of the region]; NaN where a model or a strand that was asked for has no value.
  std::vector<std::vector<double>> values;
  std::size_t tiles = 0;
  std::int64_t n_bases = 0;                // of the region
  double n_share = 0;                      // the largest fraction of N in a window
  std::int64_t cut_bases = 0;              // of the region, without N: behind the last token on some strand
  std::vector<Completeness> completeness;  // [outputs] over all windows, of integrated gradients; else empty
};

// Means over the models and over the strands that are asked for (not automatic).
Attribution attribute_region(BaseAttributor& models, Fasta& fasta, const Region& region,
                             const ModelWindow& window, Strands strands);

// Neighbouring bases with one value become one interval; bases without a value none.
void write_attribution(TrackWriter& track, const Region& region, const std::vector<double>& values);

}  // namespace bigbird
