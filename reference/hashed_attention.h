// Reformer's attention (Kitaev et al. 2020, section 2, with the published code's norm of keys) in double
// precision, one head of one sequence without padding: pair by pair, from a list of the places of each token.
//
// A round sorts the tokens by buckets of a random rotation, those of a bucket in their order, and cuts them
// into chunks of equal size, the last of which may have empty places. The chunks of all rounds lie behind
// each other; a token sees its chunk and the one before, the first one the last, in one softmax over what it
// meets in all rounds, repeats counted:
//
//   out_i = sum_j p_ij v_j,  p_ij ~ exp(q_i.k_j),  k_j = q_j / sqrt(D (mean q_j^2 + 1e-6))
//
// and itself only where it meets no other.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "reference/tensor.h"

namespace bigbird::reference {

constexpr std::size_t no_token = static_cast<std::size_t>(-1);

// Of one round: rows of `rotations` [columns, D] for the first factor, then for the second, which may be 0.
std::vector<std::size_t> buckets_of(const Matrix& query, const Matrix& rotations,
                                    const std::array<std::size_t, 2>& factors);

// Places of the chunks of all rounds: tokens, or no_token. A sequence of one chunk has one round.
std::vector<std::size_t> hashed_places(const Matrix& query, const std::vector<Matrix>& rotations,
                                       const std::array<std::size_t, 2>& factors, std::size_t chunk);

struct HashedAttention {
  std::size_t chunk = 0;
  bool causal = false;
  std::vector<std::size_t> places;
};

// query and value [T, D].
Matrix hashed_attention_forward(const HashedAttention& attention, const Matrix& query, const Matrix& value);

struct HashedAttentionGradients {
  Matrix query, value;  // that of a query with what it gets as a key
};
// Of sum(out * d_out); places stay as they are.
HashedAttentionGradients hashed_attention_backward(const HashedAttention& attention, const Matrix& query,
                                                   const Matrix& value, const Matrix& d_out);

}  // namespace bigbird::reference
