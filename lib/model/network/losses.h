// The losses of all heads, listed once. Adding one edits two files: this one (its name in Loss and its row in
// loss_kinds) and the source of the head that computes it (heads_*.cpp: its labels, its sum, its gradient).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"

namespace bigbird {

// In the order in which they are added up, and their weights lie on the device.
enum class Loss {
  mlm,  // nats over masked tokens
  // NSP, classification, or the types of answers in parts. Single label: nats over sequences. Multi-label
  // (nats, positives weighted) and regression (squares): over all sequences times labels, so that the mean is
  // Hugging Face's.
  sequence,
  // Question answering, nats over the sequences whose position is not ignored, or over the groups of
  // Batch::token_targets with a right row.
  start,
  end,
  // Answers in parts: the softmaxes of all scores, nats over groups with a right row; and the sigmoids, nats
  // over groups, which every such score has as many of.
  choice,
  mark,
  target,    // what a decoder predicts, nats over the labels of Batch::targets
  contrast,  // masked sentences among those of the batch, nats over Batch::sentence_pairs (contrast.h)
  // What the spans of a model cost in training (adaptive_span.h): the same of every micro-batch, each of
  // which counts as one label, so that the mean is what one of them has.
  span,
  // What a learned compression loses in training (compressive.h): squares over sequences of streams, those
  // that compress nothing with 0.
  compression,
  // How far tokens are from their centroids in training (attention_routing.h): squares, means over columns
  // and heads, sums over queries, keys and layers; over tokens.
  commitment,
};

// Of pretraining with contrast, 0.8 of masked tokens and 0.2 of sentences (ETC's own weights as far as they
// are known). A loss without labels leaves the other its weight.
inline constexpr double contrast_share = 0.2;

// What training minimises is a sum of means (with sentences to predict: weighted, contrast_share). Losses of
// one mean count their labels together.
enum class LossMean { mlm, sequence, mark, contrast, span, compression, commitment };

struct LossKind {
  const char* name;
  LossMean mean;
};
inline constexpr std::array<LossKind, 11> loss_kinds = {{{"mlm", LossMean::mlm},
                                                         {"sequence", LossMean::sequence},
                                                         {"start", LossMean::sequence},
                                                         {"end", LossMean::sequence},
                                                         {"choice", LossMean::sequence},
                                                         {"mark", LossMean::mark},
                                                         {"target", LossMean::sequence},
                                                         {"contrast", LossMean::contrast},
                                                         {"span", LossMean::span},
                                                         {"compression", LossMean::compression},
                                                         {"commitment", LossMean::commitment}}};

constexpr const char* name_of(Loss loss) {
  return loss_kinds[static_cast<std::size_t>(loss)].name;
}

template <typename Value>
struct OfLosses {
  std::array<Value, loss_kinds.size()> all{};  // in the order of Loss

  Value& operator[](Loss loss) { return all[static_cast<std::size_t>(loss)]; }
  const Value& operator[](Loss loss) const { return all[static_cast<std::size_t>(loss)]; }
  bool operator==(const OfLosses&) const = default;
};

// Weights: each loss is (weight * sum), so 1 / count for a mean. Model::backward() uses them.
using LossScale = OfLosses<float>;
using LabelCounts = OfLosses<std::int64_t>;

struct LossTerm {
  double sum = 0;
  std::int64_t count = 0;    // labels
  std::int64_t correct = 0;  // of mlm, target, and sequences with a single label

  void add(const LossTerm& other);
};

// Sums over a batch, so that accumulation and averaging are the caller's. All deterministic.
struct ForwardResult : OfLosses<LossTerm> {
  std::vector<float> mlm_losses;  // per masked token, in Batch order

  bool has_labels() const;  // of any loss
};

// The labels of a batch that the head of the config has losses for: the counts of its ForwardResult.
LabelCounts label_counts(const Batch& batch, const ModelConfig& config);

// The scale of Hugging Face's loss for this result: the mean of each loss, half of it for start and end. For
// answers in parts that of docs/specification.md 3.4: one mean over choices and types, and that of marks. A
// loss without labels weighs nothing.
LossScale mean_scale(const ForwardResult& result);
// The weights of training for so many labels: those of one mean share it.
LossScale scale_of_means(const LabelCounts& labels);
// The weighted sum of the losses.
double scaled_loss(const ForwardResult& result, const LossScale& scale);

// Sums over a set of samples, by what is averaged together; means are taken where they are shown.
class LossSums {
 public:
  LossSums() = default;
  explicit LossSums(const ForwardResult& result);

  LossTerm& operator[](LossMean mean) { return means_[static_cast<std::size_t>(mean)]; }
  const LossTerm& operator[](LossMean mean) const { return means_[static_cast<std::size_t>(mean)]; }
  void add(const LossSums& other);
  // The sum of the means, of those that have labels: what is minimised.
  double loss() const;

  // As doubles, which hold the counts exactly: what goes from rank to rank.
  static constexpr std::size_t width = 21;
  std::array<double, width> numbers() const;
  static LossSums of_numbers(const double* numbers);

 private:
  std::array<LossTerm, 7> means_;
};

}  // namespace bigbird
