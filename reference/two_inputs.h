// The encoder of BigBird-ETC (Ainslie et al. 2020; google-research/etcmodel) in double precision, one
// sequence at a time and without padding: every pair of tokens is asked whether it meets and which label it
// has.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/encoder.h"
#include "reference/tensor.h"

namespace bigbird::reference {

struct TwoInputsConfig {
  EncoderConfig encoder;  // positions, pre_layer_norm, rotary: not used
  std::size_t radius = 1;
  std::size_t distance = 0;  // 0: no labels
  bool hard_g2l = false;
  bool hard_l2g = false;
  // [layer][head][block of queries] blocks of long keys beyond the window; empty: none.
  std::vector<std::vector<std::vector<std::vector<std::size_t>>>> random = {};
  std::size_t block = 0;  // their tokens
};

// What is empty is not there. links [3][longs]: the number of a global token, or -1.
struct TwoInputsSequence {
  std::vector<std::size_t> ids, types, global_ids, global_types;
  std::array<std::vector<std::int32_t>, 3> links;
  std::vector<std::int32_t> segments, examples;      // [longs]
  std::vector<std::int32_t> parts, global_examples;  // [globals]
  std::vector<std::uint8_t> free, global_free;
};

// Which pairs meet, but for random blocks. `long_query`: the query is a long token; `own`: the key is of the
// query's input.
bool pair_meets(const TwoInputsConfig& config, const TwoInputsSequence& sequence, bool long_query, bool own,
                std::size_t query, std::size_t key);
// The label of the same pair.
std::size_t pair_label(const TwoInputsConfig& config, const TwoInputsSequence& sequence, bool long_query,
                       bool own, std::size_t query, std::size_t key);

// [input, a layer's output ..., the last]: the embeddings first. Parameters go by the names of the layout;
// which projections there are says what is shared. Position tables are used where they are there.
struct TwoInputsStates {
  std::vector<Matrix> longs, globals;
};
TwoInputsStates two_inputs_forward(const TwoInputsConfig& config, const Parameters& parameters,
                                   const TwoInputsSequence& sequence);

// Of sum(last long states * d_longs) + sum(last global states * d_globals): by parameter.
Parameters two_inputs_backward(const TwoInputsConfig& config, const Parameters& parameters,
                               const TwoInputsSequence& sequence, const Matrix& d_longs,
                               const Matrix& d_globals);

}  // namespace bigbird::reference
