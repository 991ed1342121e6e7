// lib/genomics holds what the tasks over genomes share: substitutions (ism), attribution and effect scores.
// Each task has a folder, and none of them includes another.
//
// How much each base of a region adds to a logit of fine-tuned models, by the gradients at the vectors of
// its tokens (the word's, without type and position). The gradient is taken at the tokens themselves
// (gradient x input) or is the mean over the path from a baseline to them (integrated gradients); it is
// multiplied with the vector less the baseline's and summed over the width, and a token's value is spread
// evenly over its bases. Of several models the values are averaged.
//
// Gradient x input is a local, linear account of one sequence: its values do not add up to the logit or to
// its difference from anything. Those of integrated gradients add up to the logit less that of the baseline.
// What a substitution does is another question: `bigbird ism` asks it.
//
// The straight path on which an attribution takes its gradients: from a baseline to the word vectors of the
// tokens (token embeddings without type and position). Gradient x input is one point of it, the tokens
// themselves, from a baseline of zeros; integrated gradients (Sundararajan, Taly and Yan 2017, equation 1)
// are the mean of the gradients over all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/finetuned_model.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/genome/region.h"
#include "lib/io/genome/track.h"

namespace bigbird {

class Tokenizer;

enum class AttributionMethod { gradient_x_input, integrated_gradients };
// "gradient-x-input" or "gxi", "integrated-gradients" or "ig". Error{usage} for anything else.
AttributionMethod parse_attribution_method(const std::string& word);
std::string name_of(AttributionMethod method);  // the long ones

// The vector that the path of every token starts from: zeros, which the paper recommends for text, the mean
// over the pieces that are not special, or that of a piece (N, [PAD], [MASK]).
enum class AttributionBaseline { zero, mean, n, pad, mask };
// "zero", "mean", "n" or "N", "pad", "mask". Error{usage} for anything else.
AttributionBaseline parse_attribution_baseline(const std::string& word);
std::string name_of(AttributionBaseline baseline);

struct AttributionOptions {
  AttributionMethod method = AttributionMethod::gradient_x_input;
  // Of integrated gradients.
  std::int64_t steps = 32;
  AttributionBaseline baseline = AttributionBaseline::zero;
};

// A point baseline + position (word - baseline), and its share of the mean.
struct PathPoint {
  double position = 1;
  double weight = 1;
};

// Points and weights of Gauss and Legendre on (0, 1), ascending: the mean of any polynomial of degree
// 2 count - 1 or less over the unit interval is exact, and neither end is a point. `count` is at least 1.
std::vector<PathPoint> gauss_legendre_points(std::size_t count);

// Those of the method. Error{usage}: no `steps`.
std::vector<PathPoint> attribution_points(const AttributionOptions& options);

// [width], from a model's word table, of which [vocabulary of the tokenizer, width] are read.
// Error{bad_input} for a vocabulary without a piece for N.
std::vector<float> baseline_vector(AttributionBaseline baseline, std::span<const float> words,
                                   std::size_t width, const Tokenizer& tokenizer);

// What integrated gradients leave out, summed over sequences, of one output: the values of a sequence add up
// to its logit less that of the baseline, but for the error of the integral.
struct Completeness {
  double missed = 0;      // |sum of the values - difference of the logits|
  double difference = 0;  // |difference of the logits|
  double baseline = 0;    // logit of the baseline
  std::size_t sequences = 0;
  void add(const Completeness& other);
  // missed / difference; 0 of nothing.
  double gap() const;
};

// Values of one sequence.
struct BaseAttributions {
  // [outputs][bases]; NaN for N, for bases of special pieces, and behind the last token that a model takes.
  std::vector<std::vector<double>> values;
  bool cut = false;                        // whether there are bases behind the last token of a model
  std::vector<Completeness> completeness;  // [outputs] of integrated gradients, over the models; else empty
};

// Gradients of one model's logits at the vectors of a sequence's tokens, along a path, spread over bases.
class ModelAttributor {
 public:
  // As BaseAttributor.
  // Error{bad_input}: a model with a stem.
  ModelAttributor(const FinetunedModel& model, const std::vector<std::size_t>& outputs,
                  const AttributionOptions& options, const BatchSize& batch, kernels::Backend& backend);

  // Both ends of the path, whose logits differ by what the values add up to, and the points between.
  std::size_t passes() const { return path_.size() + (integrated_ ? 2 : 0); }
  // As BaseAttributor::add; `told` (may be empty) is called after each pass.
  void add(const std::string& sequence, const std::function<void()>& told,
           std::function<void(BaseAttributions)> done);
  void finish() { runner_.finish(); }

 private:
  // A sequence on its way through the passes.
  struct Walk {
    std::string sequence;
    std::vector<std::uint32_t> tokens, starts;  // starts end with the end of the sequence
    std::vector<std::int64_t> bases;            // of each token those that get a share; 0: it stays as it is
    bool cut = false;
    std::vector<std::vector<double>> sums;       // [outputs][tokens]
    std::vector<double> at_tokens, at_baseline;  // [outputs] logits
  };
  std::shared_ptr<Walk> begin(const std::string& sequence) const;
  // The tokens with their vectors at this position of the path.
  SequenceInput input_at(const Walk& walk, double position) const;
  std::vector<double> logits_of(const SequenceResult& result) const;
  void add_gradients(Walk& walk, const SequenceResult& result, double weight) const;
  BaseAttributions spread(const Walk& walk) const;

  std::vector<std::vector<float>> logits_;  // [outputs], weights of the logits that each one is
  bool integrated_;
  std::vector<PathPoint> path_;
  SequenceRunner runner_;
  std::vector<float> words_;     // [V, C], times sqrt(C) where the model rescales
  std::vector<float> baseline_;  // [C], like words_
};

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
