// A whole encoder-decoder in double precision, forward and backward, without dropout: BigBird-Pegasus (paper,
// section 4.1), the coupled model of the paper's base size, whose decoder computes with the encoder's
// weights, and decoders of their own on any other encoder with a position table. docs/specification.md 2.6
// and 2.7 have the formulas and the names of the parameters.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/encoder.h"
#include "reference/losses.h"

namespace bigbird::reference {

struct EncoderDecoderConfig {
  EncoderConfig encoder;   // whose form of layers, norms and activation the decoder has too
  std::size_t layers = 0;  // of the decoder
  std::size_t heads = 0;
  bool coupled = false;  // all but cross-attention is the encoder's; layers and heads are then equal
};

// What the decoder reads of each sequence and is to predict, end to end and without padding.
struct DecoderTargets {
  std::vector<std::size_t> ids;
  std::vector<std::size_t> lengths;  // per sequence
  std::vector<std::int64_t> labels;  // of all ids: what stands behind each, or ignored_label (losses.h)
  LabelShares shares = {};           // what label smoothing makes of a label
};

struct GenerationResult {
  Matrix encoder_state;  // (tokens, hidden): what cross-attention reads
  Matrix decoder_state;  // (ids, hidden): what the logits are made of
  Matrix logits;         // (ids, vocabulary)
  double loss = 0.0;     // mean over the labels
  // Of loss, one entry per parameter, summed over all its uses. The derivative itself: also that of
  // final_logits_bias, and of a pad token's row as an input.
  Parameters gradients;
};
GenerationResult generation(const EncoderDecoderConfig& config, const Parameters& parameters,
                            const Sequences& sequences, const DecoderTargets& targets);
// The loss alone.
double generation_loss(const EncoderDecoderConfig& config, const Parameters& parameters,
                       const Sequences& sequences, const DecoderTargets& targets);

}  // namespace bigbird::reference
