// Compressive Transformer (Rae et al. 2019, sections 3.1 and 3.2) in double precision, one stream at a time:
// its layers are those of recurrent.h over [compressed memory; memory], and this file says what becomes of
// the rows that leave the memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reference/recurrent.h"

namespace bigbird::reference {

enum class CompressionKind { conv, dilated, mean, max, most_used };

struct CompressiveConfig {
  RecurrentConfig recurrent;
  std::size_t memory = 1;      // n_m: rows that a layer remembers as they are
  std::size_t compressed = 1;  // n_cm: compressed rows
  std::size_t rate = 2;        // c: rows of which one is made
  CompressionKind kind = CompressionKind::mean;
};

// A convolution over rows: output j has rows stride j + stride - 1 - (rate - 1 - t) dilation of x under
// weight [out, rate, in] at t, zeros before the first row; there are x.rows / stride outputs.
Matrix row_convolution(const Matrix& x, const Vector& weight, const Vector& bias, std::size_t rate,
                       std::size_t dilation, std::size_t stride);
struct ConvolutionGradients {
  Matrix x;
  Vector weight, bias;
};
ConvolutionGradients row_convolution_backward(const Matrix& x, const Vector& weight, std::size_t rate,
                                              std::size_t dilation, std::size_t stride, const Matrix& d_y);

// f_c of a layer: old.rows / rate rows. `usage` [old.rows]: the mean weight of each row in its last step, of
// most_used alone.
Matrix compressed_rows(const CompressiveConfig& config, const Parameters& parameters, std::size_t layer,
                       const Matrix& old, const Vector& usage = {});

// [layer] rows of both memories as they are read, the compressed ones first.
struct CompressiveMemories {
  Memories compressed, plain;

  Memories together() const;
};
CompressiveMemories no_compressive_memories(const CompressiveConfig& config);

// What a segment makes: the states of its layers, what is remembered behind it, and the reconstruction loss
// with its gradients (of f_c's tensors alone; empty without any).
struct CompressiveSegment {
  std::vector<Matrix> states;
  CompressiveMemories memories;
  double loss = 0.0;
  Parameters loss_gradients;
};
CompressiveSegment compressive_segment(const CompressiveConfig& config, const Parameters& parameters,
                                       const std::vector<std::size_t>& ids,
                                       const CompressiveMemories& before);

// Softmax attention over contents: no positions, no output product. Weights [width, width] are (out, in).
Matrix content_attention(const Matrix& h, const Matrix& rows, const Vector& query, const Vector& key,
                         const Vector& value, std::size_t heads);
// The mean square of content_attention(h, old) - content_attention(h, compressed), and its gradient with
// respect to the compressed rows.
struct Reconstruction {
  double loss = 0.0;
  Matrix d_compressed;
};
Reconstruction reconstruction(const Matrix& h, const Matrix& old, const Matrix& compressed,
                              const Vector& query, const Vector& key, const Vector& value, std::size_t heads);

}  // namespace bigbird::reference
