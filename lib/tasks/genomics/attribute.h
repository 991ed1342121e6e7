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
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track_writer.h"
#include "lib/tasks/finetuned_model.h"
#include "lib/tasks/sequence_runner.h"

namespace bigbird {

// Values of one sequence.
struct BaseAttributions {
  // [outputs][bases]; NaN for N, for bases of special pieces, and behind the last token that the model takes.
  std::vector<std::vector<double>> values;
  bool cut = false;  // whether there are bases behind the last token
};

// A model that is asked for the gradients of some of its outputs, sequence by sequence. What comes out of a
// sequence does not depend on its neighbours.
class BaseAttributor {
 public:
  // `outputs`: of model.profiles(). Of two classes the one output is the logit of class 1 less that of class
  // 0, else an output is the logit of its label. Memory for the largest batch is taken here.
  BaseAttributor(const FinetunedModel& model, const std::vector<std::size_t>& outputs, const BatchSize& batch,
                 kernels::Backend& backend);

  std::size_t outputs() const { return outputs_; }
  // `sequence`: A C G T N, upper case, read as it is. `done` is called once, in the order of the calls of
  // add, now or later.
  void add(const std::string& sequence, std::function<void(const BaseAttributions&)> done);
  // Runs what is queued; every `done` has been called afterwards.
  void finish() { runner_.finish(); }

 private:
  // The values of one sequence's bases, from the gradients of [CLS], its tokens and [SEP].
  std::vector<double> spread(const std::string& sequence, const std::vector<std::uint32_t>& tokens,
                             const std::vector<std::uint32_t>& starts,
                             std::span<const float> gradients) const;

  std::size_t outputs_;
  SequenceRunner runner_;
  std::vector<float> words_;  // [V, C], times sqrt(C) where the model rescales
};

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
  double n_share = 0;          // the largest fraction of N in a window
  std::int64_t cut_bases = 0;  // of the region, without N: behind the last token on some strand
};

// Means over the strands that are asked for (not automatic).
Attribution attribute_region(BaseAttributor& model, Fasta& fasta, const Region& region,
                             const ModelWindow& window, Strands strands);

// Neighbouring bases with one value become one interval; bases without a value none.
void write_attribution(TrackWriter& track, const Region& region, const std::vector<double>& values);

}  // namespace bigbird
