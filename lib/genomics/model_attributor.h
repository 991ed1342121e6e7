// Gradients of one model's logits at the vectors of a sequence's tokens, along the path of
// attribution_path.h, spread over bases: what attribute.h averages over models and strands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/genomics/attribution_path.h"
#include "lib/inference/finetuned_model.h"
#include "lib/inference/sequence_runner.h"

namespace bigbird {

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

class ModelAttributor {
 public:
  // As BaseAttributor.
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

}  // namespace bigbird
