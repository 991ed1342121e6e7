// Performer's attention (FAVOR+, Choromanski et al. 2020, sections 2.2 to 2.4, with the stabilizers of the
// published code) in double precision, one head of one sequence and without padding: every pair of a query
// and a key has its own product of features, and nothing is summed up beforehand.
//
//   out_i = sum_j w_ij v_j / n_i,  w_ij = phi(q_i).phi(k_j),  n_i = sum_j w_ij
//
// With x' = D^-1/4 x and M rows of W:
//   positive       phi = M^-1/2 (exp(W x' - |x'|^2 / 2 - most) + epsilon)
//   trigonometric  phi = M^-1/2 (cos W x', sin W x') exp(|x'|^2 / 2 - most)
//   relu           phi = relu(W x) + 0.001, or of x itself where there is no W
//   elu            phi = elu(W x) + 1, likewise
// The largest exponent `most` is a constant of the gradients: of positive features the largest number of
// W x', of trigonometric ones the largest |x'|^2 / 2. Of a query it is its own; of a key that of all keys
// which the query sees: from left to right, of those up to it. So no token knows a later one.
#pragma once

#include <cstddef>

#include "reference/tensor.h"

namespace bigbird::reference {

enum class Features { positive, trigonometric, relu, elu };

struct FeatureAttention {
  Features features = Features::positive;
  Matrix projection;  // W [M, D]; no rows: none
  double epsilon = 1e-6;
  bool causal = false;
};

// The largest exponents: of each query, and of the keys that each query sees.
struct LargestExponents {
  Vector of_query, of_keys;
};
LargestExponents largest_exponents(const FeatureAttention& attention, const Matrix& query, const Matrix& key);

// phi of one row [D]: M numbers, of trigonometric 2 M. `most` is its largest exponent.
Vector features_of(const FeatureAttention& attention, const Vector& row, double most);

// query, key and value [T, D]. The second form has exponents of its own, for numerical derivatives.
Matrix feature_attention_forward(const FeatureAttention& attention, const Matrix& query, const Matrix& key,
                                 const Matrix& value);
Matrix feature_attention_forward(const FeatureAttention& attention, const LargestExponents& most,
                                 const Matrix& query, const Matrix& key, const Matrix& value);

struct FeatureAttentionGradients {
  Matrix query, key, value;
};
// Of sum(out * d_out).
FeatureAttentionGradients feature_attention_backward(const FeatureAttention& attention, const Matrix& query,
                                                     const Matrix& key, const Matrix& value,
                                                     const Matrix& d_out);

}  // namespace bigbird::reference
