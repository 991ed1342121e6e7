// Which pairs meet, and the term for their label (PairRule and RelativeTerm, kernels/types.h), as the paired
// forms of attention's kernels find them (pairs.cuh). Plain C++.
//
// The term of a row is made before the kernels run: t[h, row, u] = q.weight[u] + bias[u], one product of the
// queries with the labels' rows in place of keys (labels.cu); a score then starts from the number of its
// label instead of zero. Back, w[h, row, u] is the sum of the gradients of the scores of that label, from
// which the gradients of q, weight and bias follow.
//
// Most labels are of one distance, so of one key of a row: who has the pair writes w. Up to three others are
// of many keys, the `wide` ones: far ahead, far behind and of other parts; or, by links, unlinked and linked.
// Of labels behind the first two are one.
#pragma once

#include <cfloat>
#include <cstdint>

#include "kernels/cuda/attention/schedule.h"
#include "kernels/philox.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

constexpr int wide_labels = 3;

// Rows whose share of the gradients of labels is summed up by one block, before the sums are added.
constexpr Index label_chunk_rows = 256;

// In place of the sum of dout * out of a row whose only key is its own, where that counts in want of others
// only: finite, so that zero times it is zero.
constexpr float lone_product = FLT_MAX;

struct PairView {
  Index queries = 0, keys = 0;  // rows of the batch
  // PairRule. `after` is 0 of causal attention.
  std::int32_t before = -1, after = -1;
  std::int32_t link_columns = 0, needed_links = 0;
  const std::uint8_t *hidden = nullptr, *free_queries = nullptr;
  const std::int32_t *query_groups = nullptr, *key_groups = nullptr;
  const std::int32_t *query_links = nullptr, *key_links = nullptr;
  bool self_last = false, no_self = false;
  // RelativeTerm
  bool by_links = false, behind = false;
  std::int32_t labels = 0, most = 0;
  const std::int32_t *query_parts = nullptr, *key_parts = nullptr;
  const float *weight = nullptr, *bias = nullptr;
  std::int32_t heads = 0;
  std::int32_t columns = 0;  // of a head in weight; those of the kernel behind them are zeros
  // Labels of distances, key row minus query row, where these count. Those of keys that labels behind do not
  // reach are read by nobody who sees the key.
  BIGBIRD_HOST_DEVICE std::int32_t label_of_distance(std::int32_t distance) const {
    const std::int32_t apart = distance < 0 ? -distance : distance, label = apart < most ? apart : most;
    if (behind) return distance < 0 ? label : 0;
    return distance < 0 ? most + label : label;
  }
  // Whether the label is that of this distance alone.
  BIGBIRD_HOST_DEVICE bool is_told_apart(std::int32_t distance) const {
    return distance > -most && (behind ? distance <= 0 : distance < most);
  }
  // The workspace: null without a term, the last two in a backward pass only.
  float* terms = nullptr;           // t, [H, queries, labels]
  float* received = nullptr;        // w, [H, queries, labels]
  float* partial_labels = nullptr;  // [query slots][wide labels][tile rows]

  BIGBIRD_HOST_DEVICE std::int32_t wide_label(int i) const {
    if (by_links) return 2 * most + 1 + i;  // the third is none
    if (behind) return most;
    return i == 0 ? most : i == 1 ? 2 * most : 2 * most + 3;
  }
};

// A member of the kernels' paired forms; of the others nothing, not a byte of their arguments.
template <bool paired>
struct PairMember {};
template <>
struct PairMember<true> {
  PairView pairs;
};

}  // namespace bigbird::kernels::cuda
