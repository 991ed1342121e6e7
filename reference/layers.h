// The layers of the encoder except attention, forward and backward, on matrices whose rows are tokens.
#pragma once

#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

// y = x W^T + b; weight is (outputs, inputs) row-major. An empty bias means none.
Matrix linear_forward(const Matrix& x, const Vector& weight, const Vector& bias);
struct LinearGradients {
  Matrix x;
  Vector weight;
  Vector bias;  // (outputs), whether or not the layer has a bias
};
LinearGradients linear_backward(const Matrix& x, const Vector& weight, const Matrix& d_y);

// Per row: gamma * (x - mean) / sqrt(biased variance + epsilon) + beta.
Matrix layer_norm_forward(const Matrix& x, const Vector& gamma, const Vector& beta, double epsilon);
struct LayerNormGradients {
  Matrix x;
  Vector gamma;
  Vector beta;
};
LayerNormGradients layer_norm_backward(const Matrix& x, const Vector& gamma, double epsilon,
                                       const Matrix& d_y);

// Element by element. gelu in the tanh form is 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), in the erf
// form 0.5 x (1 + erf(x / sqrt(2))); relu is max(x, 0), its derivative 0 at 0; silu is x / (1 + exp(-x)).
enum class Activation { gelu_tanh, gelu_erf, relu, silu };
Matrix activation_forward(const Matrix& x, Activation form = Activation::gelu_tanh);
Matrix activation_backward(const Matrix& x, const Matrix& d_y, Activation form = Activation::gelu_tanh);
// Of a gated layer (Shazeer 2020, "GLU variants improve transformer"), whose rows are an input and as many
// gates: activation(input) * gate.
Matrix gated_forward(const Matrix& x, Activation form);
Matrix gated_backward(const Matrix& x, const Matrix& d_y, Activation form);
Matrix tanh_forward(const Matrix& x);
Matrix tanh_backward(const Matrix& x, const Matrix& d_y);

// Row t: word[ids[t]] * scale * word_scales[t] + type[types[t]] + position[positions[t]]; the tables are
// matrices with one row per entry. No word_scales are ones.
Matrix embedding_forward(const Matrix& word, const Matrix& type, const Matrix& position, double scale,
                         const std::vector<std::size_t>& ids, const std::vector<std::size_t>& types,
                         const std::vector<std::size_t>& positions, const Vector& word_scales = {});
struct EmbeddingGradients {
  Matrix word;
  Matrix type;
  Matrix position;
};
EmbeddingGradients embedding_backward(const Matrix& word, const Matrix& type, const Matrix& position,
                                      double scale, const std::vector<std::size_t>& ids,
                                      const std::vector<std::size_t>& types,
                                      const std::vector<std::size_t>& positions, const Matrix& d_y,
                                      const Vector& word_scales = {});

// ESM's token dropout of sequences end to end, so many rows and tokens that count of each: what their word
// rows are multiplied by, 0 for the mask, for others 0.88 / (1 - masks / counted), and zeros where all are
// masks.
Vector token_dropout_scales(const std::vector<std::size_t>& ids, const std::vector<std::size_t>& rows,
                            const std::vector<std::size_t>& counted, std::size_t mask);

// A convolution of one-hot letters: row i is bias + the sum over d of row ids[i + d - kernel / 2] of table d,
// over the places that are in 0 .. letters - 1. Of `rows` rows, at least as many as letters. The tables are
// (kernel, vocabulary, channels), row-major.
struct LetterFilters {
  std::size_t kernel = 0;
  std::size_t vocabulary = 0;
  std::size_t channels = 0;
  Vector tables;
  Vector bias;
};
Matrix letters_forward(const LetterFilters& filters, const std::vector<std::size_t>& ids, std::size_t letters,
                       std::size_t rows);
struct LetterGradients {
  Vector tables;
  Vector bias;
};
LetterGradients letters_backward(const LetterFilters& filters, const std::vector<std::size_t>& ids,
                                 std::size_t letters, const Matrix& d_y);

}  // namespace bigbird::reference
