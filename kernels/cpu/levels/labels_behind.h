// Terms for labels behind (RelativeTerm::behind): the label of a pair is its distance, up to the largest one.
//
// In a row of scores, which is a key's, the label grows by one from query to query. So the terms lie slanted:
// row t has at query j the term of label t + j, and a key at distance t from the first query takes its row
// as it lies. Products with the labels' rows are straight, [labels][queries]; they are slanted in place, and
// what scores got is straightened in place. Rows are there for the distances that the block's lists meet.
#pragma once

#include "kernels/cpu/levels/tile.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// Of vectors that pass one behind the other, lanes whose number has no bit `Step` come Step vectors later.
// passed: the last vectors of the group before, zeros at first.
template <unsigned Step>
BIGBIRD_INLINE void delay_lanes(Floats (&group)[lanes], Floats (&passed)[lanes]) {
  Ints stays = {};
  for (Index lane = 0; lane < lanes; ++lane) stays[lane] = (lane & Step) != 0 ? -1 : 0;
  Floats last[Step];
  BIGBIRD_UNROLL
  for (Index i = 0; i < Step; ++i) last[i] = group[lanes - Step + i];
  BIGBIRD_UNROLL
  for (Index i = lanes - 1; i >= Step; --i) group[i] = stays ? group[i] : group[i - Step];
  BIGBIRD_UNROLL
  for (Index i = 0; i < Step; ++i) {
    group[i] = stays ? group[i] : passed[i];
    passed[i] = last[i];
  }
}

// Vectors that pass, `lanes` at a time: lane l of what comes out went in lanes - 1 - l vectors before.
struct SlantedLanes {
  Floats one[lanes] = {}, two[lanes] = {}, four[lanes] = {}, eight[lanes] = {};

  BIGBIRD_INLINE_MEMBER void pass(Floats (&group)[lanes]) {
    delay_lanes<1>(group, one);
    delay_lanes<2>(group, two);
    if constexpr (lanes > 4) delay_lanes<4>(group, four);
    if constexpr (lanes > 8) delay_lanes<8>(group, eight);
  }
};

// What a query block meets. Rows are kept of the distances [low, high] from a key to the block's first query;
// `high` is `most` at most, and its row serves all keys from there on.
struct LabelSpan {
  Index low = 0;
  Index high = -1;
  Index first = 0;  // labels [first, last] have a part in them
  Index last = -1;

  BIGBIRD_INLINE_MEMBER Index rows() const { return high - low + 1; }
  BIGBIRD_INLINE_MEMBER Index row_of(Index distance, Index most) const {
    return smaller(distance, most) - low;
  }
};

static inline LabelSpan labels_behind(const AttentionHead& head, Index query_block, Index queries) {
  const Index most = head.pairs->relative.most;
  const Index origin = head.query_origin + query_block * head.block_size;
  LabelSpan span{most, -queries, 0, -1};
  for (Index at = head.row_offsets[query_block]; at < head.row_offsets[query_block + 1]; ++at) {
    const Index furthest = origin - head.key_blocks[at] * head.block_size;
    const Index nearest = furthest - head.block_size + 1;
    if (furthest <= -queries) continue;  // no key at any query, or before it
    span.low = smaller(span.low, nearest > -queries ? nearest : 1 - queries);
    if (furthest > span.high) span.high = furthest;
  }
  span.high = smaller(span.high, most);
  if (span.rows() <= 0) return LabelSpan{};
  span.first = span.low > 0 ? span.low : 0;
  span.last = smaller(span.high + queries - 1, most);
  return span;
}

// terms: straight rows of the labels [first, last], each at row label - low. Becomes the slanted rows.
static inline void slant_terms(const LabelSpan& span, Index width, float* terms) {
  const Index rows = span.rows();
  for (Index j = 0; rows > 0 && j < width; j += lanes) {
    SlantedLanes slanted;
    for (Index at = 0; at < rows + lanes - 1; at += lanes) {
      Floats group[lanes];
      BIGBIRD_UNROLL
      for (Index i = 0; i < lanes; ++i) {
        const Index label = span.low + j + at + i;  // behind the last one there are no others
        group[i] = label < 0 ? Floats{} : load(terms + (smaller(label, span.last) - span.low) * width + j);
      }
      slanted.pass(group);
      BIGBIRD_UNROLL
      for (Index i = 0; i < lanes; ++i) {
        const Index row = at + i - (lanes - 1);
        if (row >= 0 && row < rows) store(terms + row * width + j, group[i]);
      }
    }
  }
}

// The way back, from the last label to the first: labels beyond the last one are the last one.
static inline void straighten_terms(const LabelSpan& span, Index width, float* terms) {
  for (Index j = 0; j < width; j += lanes) {
    SlantedLanes slanted;
    Floats beyond = {};
    const Index top = span.high + j + lanes - 1;
    for (Index label = span.last; label > top; --label) store(terms + (label - span.low) * width + j, beyond);
    for (Index at = 0; top - at >= span.first; at += lanes) {
      Floats group[lanes];
      BIGBIRD_UNROLL
      for (Index i = 0; i < lanes; ++i) {
        const Index row = span.rows() - 1 - at - i;
        group[i] = row < 0 ? Floats{} : load(terms + row * width + j);
      }
      slanted.pass(group);
      BIGBIRD_UNROLL
      for (Index i = 0; i < lanes; ++i) {
        const Index label = top - at - i;
        if (label >= span.last) {
          beyond += group[i];
          group[i] = beyond;
        }
        if (label >= span.first && label <= span.last)
          store(terms + (label - span.low) * width + j, group[i]);
      }
    }
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
