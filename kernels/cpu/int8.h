// Products in int8: weights as integers of 8 bits with a scale for each output channel, activations as such
// integers with a scale for each row, sums of whole numbers, which are exact: a row's result does not depend
// on the rows beside it, and is the same on every processor up to its last multiplication.
// reference/int8_linear.h says which integers.
//
// Activations are unsigned, weights signed, as AVX-512 VNNI's vpdpbusd multiplies them, four neighbours in
// depth at a time ("quads"). What stands for 0 in a row, times the sum of a channel's weights, is taken off
// at the end.
#pragma once

#include "kernels/int8_weights.h"
#include "kernels/types.h"

namespace bigbird::kernels {

struct Level;

constexpr Index int8_tile_rows = 6;  // of a, multiplied side by side
constexpr Index int8_panel = 64;     // output channels that are packed together
// Beyond it a sum might not fit 32 bits: 255 * 127 * 2^16 < 2^31.
constexpr Index int8_most_depth = Index{1} << 16;

static inline Index int8_quads(Index depth) {
  return (depth + 3) / 4;
}
static inline Index int8_panels(Index columns) {
  return (columns + int8_panel - 1) / int8_panel;
}
// Bytes of one row of a, and of one panel of b.
static inline Index int8_row_bytes(Index depth) {
  return 4 * int8_quads(depth);
}
static inline Index int8_panel_bytes(Index depth) {
  return int8_panel * int8_row_bytes(depth);
}
// Bytes of a whole packed weight: its panels, then the scales of all channels, then the sum of each channel's
// integers; channels up to a multiple of int8_panel, those behind the last are zeros.
static inline Index int8_weight_bytes(Index columns, Index depth) {
  return int8_panels(columns) * (int8_panel_bytes(depth) + 2 * 4 * int8_panel);
}
// Where the scales, and where the sums begin.
static inline Index int8_scales_at(Index columns, Index depth) {
  return int8_panels(columns) * int8_panel_bytes(depth);
}
static inline Index int8_sums_at(Index columns, Index depth) {
  return int8_scales_at(columns, depth) + 4 * int8_panels(columns) * int8_panel;
}

// A weight [columns, depth], as int8_weight_bytes(columns, depth) bytes.
void pack_int8_weight(const float* weight, Index columns, Index depth, void* to);

// A row of activations: value = scale * (integer - zero).
struct Int8Row {
  float scale = 0.0f;
  std::int32_t zero = 0;
};

struct Int8Product {
  Index m = 0;
  Index n = 0;  // channels from `column`, a multiple of int8_panel, on
  Index k = 0;
  const void* a = nullptr;          // packed: rows int8_row_bytes(k) apart
  const Int8Row* a_rows = nullptr;  // [m]
  const void* b = nullptr;          // a whole packed weight
  Index b_columns = 0;              // all of its channels
  Index column = 0;
  float* c = nullptr;  // of (row 0, `column`)
  Index c_row = 0;
};

// Packed memory is 64-byte aligned.
struct Int8Kernels {
  const char* name;  // of the instructions, for people
  // Rows of floats, `row_step` apart, as integers.
  void (*quantize)(const float* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts);
  void (*quantize_bf16)(const bf16* from, Index row_step, Index rows, Index depth, void* to, Int8Row* facts);
  // c = a b on the calling thread.
  void (*multiply)(const Int8Product& product);
  Index tile_rows;  // rows of a that it multiplies side by side
};

// Plain C++, for every processor.
const Int8Kernels& plain_int8_kernels();
// Null when the processor lacks AVX-512 VNNI, and when the program was built for another architecture.
const Int8Kernels* vnni_int8_kernels();
// Null without tiles for int8 and AVX-512 VNNI beside them; as amx_kernels() else.
const Int8Kernels* amx_int8_kernels();
// Those that a backend of this level computes with: the instructions at the best one alone.
const Int8Kernels& int8_kernels(const Level& level);

}  // namespace bigbird::kernels
