// kernels/cpu/levels holds what is compiled once for each level of processor: the register-blocked products
// and the attention over them. One skeleton; instructions of their own have a folder each.
//
// What attention forward and backward share. Scores are kept transposed, (keys, queries), with queries in the
// lanes: then softmax reduces down columns without shuffles, and of the seven products none needs a repacked
// K or V; only the query block is packed, once for all its key blocks.
#pragma once

#include "kernels/cpu/levels/pair_rule.h"
#include "kernels/cpu/levels/philox_lanes.h"
#include "kernels/cpu/levels/tile.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// How many of the first `length` tokens lie in a block.
BIGBIRD_INLINE Index tokens_in_block(const AttentionHead& head, Index length, Index block) {
  const Index left = length - block * head.block_size;
  return left < 0 ? 0 : smaller(left, head.block_size);
}
BIGBIRD_INLINE Index keys_in_block(const AttentionHead& head, Index block) {
  return tokens_in_block(head, head.length, block);
}
BIGBIRD_INLINE Index queries_in_block(const AttentionHead& head, Index block) {
  return tokens_in_block(head, head.query_length, block);
}

// The key blocks that a query block lists, each once. One that is listed n times counts n times in the
// softmax, as if log2(n) stood on its scores, which are powers of two. Hugging Face's attention in eval mode
// lists block 0 four times.
struct KeyBlocks {
  static constexpr Index most = 32;  // of a list where repeats are looked for; longer ones are taken as given
  const int32_t* blocks = nullptr;
  Index count = 0;
  int32_t own[most];
  float raised[most];  // what is added to the scores of a block
  bool repeats = false;

  BIGBIRD_INLINE_MEMBER KeyBlocks(const AttentionHead& head, Index query_block)
      : blocks(head.key_blocks + head.row_offsets[query_block]),
        count(head.row_offsets[query_block + 1] - head.row_offsets[query_block]) {
    if (count > most) return;
    Index times[most];
    Index distinct = 0;
    for (Index at = 0; at < count; ++at) {
      Index before = 0;
      while (before < distinct && own[before] != blocks[at]) ++before;
      if (before < distinct) {
        ++times[before];
        continue;
      }
      own[distinct] = blocks[at];
      times[distinct++] = 1;
    }
    repeats = distinct < count;
    if (!repeats) return;
    for (Index i = 0; i < distinct; ++i) raised[i] = __builtin_logf(static_cast<float>(times[i])) * log2_e;
    blocks = own;
    count = distinct;
  }
  KeyBlocks(const KeyBlocks&) = delete;
  KeyBlocks& operator=(const KeyBlocks&) = delete;

  BIGBIRD_INLINE_MEMBER void raise(Index at, float* scores, Index size) const {
    if (!repeats || raised[at] == 0.0f) return;
    for (Index i = 0; i < size; i += lanes) store(scores + i, load(scores + i) + splat(raised[at]));
  }
};

// to[row][0..padded) = from[row] * scale, zeros behind.
template <typename Element>
static inline void copy_rows(const Element* from, Index stride, Index rows, Index columns, float scale,
                             float* to, Index padded) {
  for (Index row = 0; row < rows; ++row) {
    for_each_vector(columns, [&](Index i, auto part) {
      store(to + row * padded + i, widened(part.get(from + row * stride + i)) * splat(scale));
    });
  }
}

// The factors of attention-probability dropout, 1 / (1 - p) or 0, for one key row and `lanes` query rows at a
// time; keys must be visited in ascending order within a block. Four neighbouring elements share one Philox
// call, which is kept.
struct ProbabilityDropout {
  uint64_t seed;
  uint64_t site;
  uint64_t first;  // element index of (first query row of the lanes, key row 0)
  uint64_t row;
  uint32_t threshold;
  float scale;
  bool have = false;
  PhiloxLanes bits = {};

  BIGBIRD_INLINE_MEMBER Floats factors(Index key) {
    const bool aligned = (row & 3) == 0;  // all lanes then pass to the next call together
    const uint64_t base = first + static_cast<uint64_t>(key);
    if (!have || !aligned || (base & 3) == 0) {
      uint32_t low[lanes];
      uint32_t high[lanes];
      for (Index lane = 0; lane < lanes; ++lane) {
        const uint64_t counter = (base + static_cast<uint64_t>(lane) * row) >> 2;
        low[lane] = static_cast<uint32_t>(counter);
        high[lane] = static_cast<uint32_t>(counter >> 32);
      }
      Words c0, c1;
      __builtin_memcpy(&c0, low, sizeof c0);
      __builtin_memcpy(&c1, high, sizeof c1);
      bits = philox_rounds(seed, c0, c1, site);
      have = true;
    }
    float value[lanes];
    for (Index lane = 0; lane < lanes; ++lane) {
      const uint64_t word = (base + static_cast<uint64_t>(lane) * row) & 3;
      value[lane] = (bits.word[word][lane] >> 8) >= threshold ? scale : 0.0f;
    }
    return load(value);
  }
};

BIGBIRD_INLINE ProbabilityDropout dropout_of(const AttentionHead& head, Index query) {
  return {head.dropout_seed,
          head.dropout_site,
          head.dropout_first + static_cast<uint64_t>(query) * head.dropout_row,
          head.dropout_row,
          keep_threshold(head.drop_probability),
          1.0f / (1.0f - head.drop_probability)};
}

// The factor of one element, by what makes those of all.
BIGBIRD_INLINE float dropout_factor(const AttentionHead& head, Index query, Index key) {
  return head.drop_probability > 0.0f ? dropout_of(head, query).factors(key)[0] : 1.0f;
}

static inline void zero_rows(float* rows, Index stride, Index count, Index width) {
  for (Index row = 0; row < count; ++row) {
    for (Index i = 0; i < width; ++i) rows[row * stride + i] = 0.0f;
  }
}

// The queries of a block that see their own key alone (PairRule::self_last), which passes dout to the key's
// value and nothing to anything else. room: as many floats as queries.
struct AloneQueries {
  const AttentionHead& head;
  const Index queries;
  float* const company;  // of every query: 1 where another key was seen
  const bool asked = head.pairs != nullptr && head.pairs->rule.self_last;

  AloneQueries(const AttentionHead& of, Index count, float* room) : head(of), queries(count), company(room) {
    for (Index j = 0; asked && j < queries; ++j) company[j] = 0.0f;
  }
  void look(const ScorePiece& piece, const float* scores) const {
    if (!asked) return;
    for (Index at = 0; at < piece.keys; ++at) {
      for (Index j = 0; j < queries; ++j)
        company[j] = scores[at * piece.width + j] > least_seen ? 1.0f : company[j];
    }
  }
  // `first_query` counts from the head's q, dout is at that row.
  void add_to_values(Index query_block, Index first_query, const float* dout,
                     const AttentionHeadGradients& gradients) const {
    for (Index j = 0; asked && j < queries; ++j) {
      const Index query = head.query_origin + first_query + j;
      if (company[j] != 0.0f || !own_key_is_last(head, query_block, query)) continue;
      const float factor = dropout_factor(head, first_query + j, query);
      float* const dv = gradients.dv + query * gradients.dv_stride;
      for (Index d = 0; d < head.head_size; ++d) dv[d] += dout[j * gradients.dout_stride + d] * factor;
    }
  }
};

// scores -> probabilities as they multiplied the values; gradient of the probabilities -> gradient of the
// scores.
static inline void softmax_backward(const AttentionHead& head, Index first_query, Index first_key, Index rows,
                                    Index width, const float* shift, const float* delta, float* scores,
                                    float* gradients) {
  const bool dropping = head.drop_probability > 0.0f;
  for (Index j = 0; j < width; j += lanes) {
    ProbabilityDropout drop = dropout_of(head, first_query + j);
    const Floats log_sum = load(shift + j);
    const Floats mean = load(delta + j);
    for (Index row = 0; row < rows; ++row) {
      float* score = scores + row * width + j;
      float* gradient = gradients + row * width + j;
      const Floats probability = exp2(load(score) - log_sum);
      if (dropping) {
        const Floats factor = drop.factors(first_key + row);
        store(gradient, probability * (load(gradient) * factor - mean));
        store(score, probability * factor);
      } else {
        store(gradient, probability * (load(gradient) - mean));
        store(score, probability);
      }
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
