// Transformer-XL (Dai et al. 2019, sections 3.2 and 3.3) and Adaptive-Span (Sukhbaatar et al. 2019, section
// 2.2) in double precision, one segment of one stream at a time and without padding: scores are the papers'
// terms, pair by pair. Spans hide nothing here: what they leave out has a weight of 0.
#pragma once

#include <cstddef>
#include <vector>

#include "reference/encoder.h"
#include "reference/tensor.h"

namespace bigbird::reference {

// Of Adaptive-Span: a key at distance d, 1 .. longest, has the weight clamp((ramp + z longest + 1 - d) /
// ramp, 0, 1) in front of its exponential; a token does not see itself.
struct SpanMask {
  std::size_t longest = 0;  // 0: not of Adaptive-Span
  double ramp = 1.0;
  bool dynamic = false;  // z of a token and head is 1 / (1 + exp(-(v.x + b))) of the layer's input

  double raw(double z, std::size_t distance) const {
    return (ramp + z * static_cast<double>(longest) + 1.0 - static_cast<double>(distance)) / ramp;
  }
};

struct RecurrentConfig {
  EncoderConfig encoder;  // positions, types, pre_layer_norm, rotary: not used
  std::size_t clamp = 0;  // larger distances count as this one; 0: none does
  // A query sees so many keys, its own among them; 0: all that are not behind it.
  std::size_t seen = 0;
  SpanMask spans = {};
};

// [layer] what it remembers: (rows, hidden), as many rows in each, perhaps none.
using Memories = std::vector<Matrix>;
// Of a model that remembers nothing.
Memories no_memories(const RecurrentConfig& config);
// What is remembered behind a segment: the last `most` rows of memory and inputs together.
Memories next_memories(const Memories& memories, const std::vector<Matrix>& states, std::size_t most);

// sin, then cos, of a distance's angles 10000^(-2a / width): [width].
Vector distance_row(std::size_t distance, std::size_t width);

// One head: query [queries, size] at the key rows from start on, key and value [keys, size], `distance`
// [distances, size] what W makes of each row of distances; of spans the table's row d - 1 of distance d.
struct RecurrentHead {
  std::size_t start = 0;
  std::size_t clamp = 0, seen = 0;
  Vector content_bias, position_bias;  // [size]
  Matrix distance;
  SpanMask spans = {};
  double z = 0.0;
  Vector own_z = {};  // [queries] of dynamic spans

  double z_of(std::size_t i) const { return own_z.empty() ? z : own_z[i]; }
};
struct RecurrentHeadOutput {
  Matrix output, probabilities;
  Matrix unmasked = {};  // of spans e^s over the sum of all masked ones
};
RecurrentHeadOutput recurrent_head_forward(const RecurrentHead& head, const Matrix& query, const Matrix& key,
                                           const Matrix& value);

// The input of each layer, and the last state.
std::vector<Matrix> recurrent_forward(const RecurrentConfig& config, const Parameters& parameters,
                                      const std::vector<std::size_t>& ids, const Memories& memories);
// [layer] the mean weight of each key row, over queries and heads.
std::vector<Vector> recurrent_key_weights(const RecurrentConfig& config, const Parameters& parameters,
                                          const std::vector<std::size_t>& ids, const Memories& memories);
// Of sum(last state * d_last), by parameter: memories are constants.
Parameters recurrent_backward(const RecurrentConfig& config, const Parameters& parameters,
                              const std::vector<std::size_t>& ids, const Memories& memories,
                              const Matrix& d_last);

}  // namespace bigbird::reference
