// The data that int8 is held against, as the evaluate verbs read them: windows of a promoter or a chromatin
// model with labels, or token shards; and what a model says of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/calibration/calibration_run.h"
#include "lib/genomics/promoter/labelled_sequences.h"
#include "lib/inference/finetuned_model.h"
#include "lib/model/config.h"

namespace bigbird {

// Labelled windows of a classifier: its own split to measure the loss on, and another to choose layers by.
class QuantizationWindows {
 public:
  // `data`: for a chromatin model a data set of chromatin build; for others a folder of promoter build (or of
  // train and valid or dev files), or one file of labelled sequences, which then serves for both. `most`
  // windows of the loss, a random choice by the seed; 0: all (of promoters always all). Error{bad_input}.
  QuantizationWindows(const FinetunedModel& model, std::string data, std::string fasta, std::uint64_t most,
                      std::uint64_t seed);

  // So many sequences of the training side, evenly spaced over it.
  std::vector<std::string> sample(std::size_t count) const;
  // The validation side under a model folder, on the forward strand.
  LabelledScores scores(const std::string& model, kernels::Backend& backend) const;
  // Of what the loss is measured on, as far as it is in the data: sequences' places and labels.
  std::string digest() const;
  // Whether layers are chosen by the same windows that the loss is measured on.
  bool one_side() const { return !chromatin_ && train_.path == valid_.path; }

 private:
  bool chromatin_;
  std::string data_, fasta_;
  std::uint64_t most_, seed_;
  LabelledSource train_, valid_;
};

// SHA-256 of token shards: of their ids.
std::string shards_digest(const std::string& prefix);

struct RepeatedLoss {
  double quantized = 0.0;  // as QuantizationLoss has it
  double loss = 0.0;       // auroc: full - quantized; kl: what the loss of masked tokens has grown by
};
// What `quantize` measured, once more: the folder's model on the data it names, or `data` instead. The model
// before is not needed: what it gave is in the folder. Error{bad_input}: data that are not there, or others.
RepeatedLoss repeat_quantization_loss(const std::string& folder, const std::string& data,
                                      const std::string& fasta, kernels::Backend& backend);

}  // namespace bigbird
