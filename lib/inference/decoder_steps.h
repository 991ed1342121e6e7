// A decoder one token at a time, with the keys and values of what it has read kept (Vaswani et al. 2017; the
// numbers are those of Model::forward() over the whole text). Rows are texts that are being written: several
// of one source in a beam search, which share its keys and values, and go on from one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/types.h"
#include "lib/model/config.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/network/top_tokens.h"

namespace bigbird {

class Model;

struct DecoderLimits {
  std::int64_t source_tokens = 0;  // T of the batch of sources, with its padding
  std::int64_t rows = 0;           // of one step
  std::int64_t length = 0;         // tokens that a row reads, the start token included
};

// What DecoderSteps takes beside the model, row by row; the same numbers as its allocation.
std::vector<MemoryRow> plan_decoder_memory(const ModelConfig& config, const DecoderLimits& limits,
                                           const kernels::Backend& backend);

class DecoderSteps {
 public:
  // model has a decoder, is built for inference and outlives this. Error{runtime} otherwise.
  DecoderSteps(Model& model, const DecoderLimits& limits);
  ~DecoderSteps();
  DecoderSteps(const DecoderSteps&) = delete;
  DecoderSteps& operator=(const DecoderSteps&) = delete;

  // After model.forward() of a batch of sources without targets: computes their keys and values. What was
  // written before is forgotten.
  void begin();
  // Reads a token in each row. tokens [rows]: its first time the start token; parents [rows]: the row of the
  // call before that it goes on from (not read the first time); sources [rows]: the sequence of the batch
  // that it is written of, ascending. Error{runtime} beyond the limits.
  void step(std::span<const std::int32_t> tokens, std::span<const std::int32_t> parents,
            std::span<const std::int32_t> sources);
  // What may stand behind, of the last step and valid until the next: all logits [rows, V], or the `count`
  // (1 to most_top_tokens and at most V) best tokens alone, which are found on the device.
  std::span<const float> logits();
  TopTokens top(std::int64_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace bigbird
