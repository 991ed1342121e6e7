// Routing Transformer's attention (Roy et al. 2021, section 4.1, with what
// google-research/routing_transformer adds) in double precision, one head of one sequence without padding:
// pair by pair, from lists of each cluster's queries and keys. Queries and keys become x = (row - mean) /
// sqrt(variance + 1e-6).
//
//   out_i = sum over clusters c of i of sum_j p_cij v_j / (number of those c + 0.01),  p_cij ~ exp(x_i.y_j)
#pragma once

#include <cstddef>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

Matrix routed_rows(const Matrix& rows);

// For each of `centroids` [k, D] the min(window, T) tokens of x with the largest products, ascending.
std::vector<std::vector<std::size_t>> cluster_members(const Matrix& x, const Matrix& centroids,
                                                      std::size_t window);
// Of each token the centroid with the largest product.
std::vector<std::size_t> nearest_clusters(const Matrix& x, const Matrix& centroids);

struct RoutedAttention {
  std::vector<std::vector<std::size_t>> queries, keys;  // of each cluster
  bool causal = false;  // queries are keys, and one sees its cluster up to itself
};

// query, key and value [T, D]; of a causal one the key is not read.
Matrix routed_attention_forward(const RoutedAttention& attention, const Matrix& query, const Matrix& key,
                                const Matrix& value);

struct RoutedAttentionGradients {
  Matrix query, key, value;
};
// Of sum(out * d_out); the lists stay as they are.
RoutedAttentionGradients routed_attention_backward(const RoutedAttention& attention, const Matrix& query,
                                                   const Matrix& key, const Matrix& value,
                                                   const Matrix& d_out);

// sum |x - mu|^2 over the tokens, mu the nearest centroid, and its gradient to the rows that x is made of.
double commitment(const Matrix& rows, const Matrix& centroids);
Matrix commitment_backward(const Matrix& rows, const Matrix& centroids);

// sums [k, D] over counts [k] that are smoothed: (n_c + 1e-5) n / (n + 1e-5 k). Of nothing counted the sums.
Matrix smoothed_centroids(const Matrix& sums, const Vector& counts);

}  // namespace bigbird::reference
