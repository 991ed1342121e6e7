// Pair rules and relative terms on fragments of scores (tiles.cuh): what a warp's 16 rows start from before
// the product with the keys is added, and what becomes of their gradients. See pairs.h.
//
// A hidden score starts at minus infinity, and stays there. Distances are tested where a fragment crosses the
// window's edge; where all its pairs lie within it, the test of the fragment is all. So it is with labels:
// far from the diagonal all pairs of a fragment have one.
#pragma once

#include <cmath>

#include "kernels/cuda/attention/pairs.h"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {

// Where a fragment lies: its first query and key, each in the rows of its sequence's keys, where queries
// stand (AttentionBatch::query_starts), and the rows 0 of that count in the batch.
struct PairPlace {
  int query, key;
  int first_query, first_key;
  int head;
};

// Scores of 16 rows and `columns` columns: queries and keys, or, with keys_in_rows, keys and queries.
template <int columns, bool keys_in_rows>
struct PairFragment {
  using Scores = float[columns / 8][4];
  const PairView& pairs;
  const PairPlace at;
  // Of this lane's first element: its row and column, and how far its key stands behind its query.
  const int row, column, distance;

  BIGBIRD_DEVICE PairFragment(Thread& thread, const PairView& view, const PairPlace& place)
      : pairs(view),
        at(place),
        row(thread.lane() >> 2),
        column((thread.lane() & 3) * 2),
        distance(ahead() + (keys_in_rows ? row - column : column - row)) {}

  BIGBIRD_DEVICE int ahead() const { return at.key - at.query; }
  BIGBIRD_DEVICE int nearest() const { return ahead() - (keys_in_rows ? columns - 1 : 15); }
  BIGBIRD_DEVICE int furthest() const { return ahead() + (keys_in_rows ? 15 : columns - 1); }
  // Key row minus query row of element (n, j).
  BIGBIRD_DEVICE int distance_of(int n, int j) const {
    const int step = 8 * n + (j & 1) - 4 * (j & 2);
    return keys_in_rows ? distance - step : distance + step;
  }

  // What scores are before the product is added: the terms of their labels, or zero; minus infinity where the
  // pair does not meet, and in columns from `valid` on.
  BIGBIRD_DEVICE void begin(int valid, Scores& scores) const {
    if (pairs.terms != nullptr) {
      put_terms(scores);
    } else {
      set(scores, [](int, int) { return 0.0f; });
    }
    if (valid < columns) {
      hide(scores, [&](int n, int j) { return n * 8 + column + (j & 1) >= valid; });
    }
    if (pairs.before >= 0 && nearest() < -pairs.before) {
      hide(scores, [&](int n, int j) { return distance_of(n, j) < -pairs.before; });
    }
    if (pairs.after >= 0 && furthest() > pairs.after) {
      hide(scores, [&](int n, int j) { return distance_of(n, j) > pairs.after; });
    }
    if (pairs.hidden != nullptr) hide_keys(scores);
    if (pairs.query_groups != nullptr) {
      const unsigned met = equal(pairs.query_groups, pairs.key_groups);
      hide(scores, [&](int n, int j) { return (met >> (4 * n + j) & 1u) == 0; });
    }
    if (pairs.needed_links > 0) {
      const unsigned met = linked(pairs.needed_links) | free();
      hide(scores, [&](int n, int j) { return (met >> (4 * n + j) & 1u) == 0; });
    }
    // The keys of lone queries are told apart when their probabilities are there (last_own()).
    if ((pairs.no_self || (!keys_in_rows && pairs.self_last)) && crosses_diagonal()) {
      hide(scores, [&](int n, int j) { return distance_of(n, j) == 0; });
    }
  }

  // Of self_last, with keys in rows: probabilities of own keys are those of lone queries, no score has a
  // gradient. product(n, b): the sum of dout * out of column 8 n + b of this lane.
  template <class Product>
  BIGBIRD_DEVICE void last_own(const Product& product, Scores& probabilities, Scores& gradients) const {
    if (!pairs.self_last || !crosses_diagonal()) return;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (distance_of(n, j) != 0) continue;
        gradients[n][j] = 0.0f;
        if (product(n, j & 1) != lone_product) probabilities[n][j] = 0.0f;
      }
    }
  }

  // Adds the gradients of the scores, with queries in rows, to those of wide labels in `wide` (of this lane's
  // upper and lower row), and writes the others. Queries from `valid` on are padding.
  BIGBIRD_DEVICE void receive(int valid, const Scores& gradients, float (&wide)[2][wide_labels]) const {
    static_assert(!keys_in_rows);
    if (pairs.by_links) {
      const unsigned met = linked(pairs.link_columns);
#pragma unroll
      for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const bool is_linked = (met >> (4 * n + j) & 1u) != 0;
          wide[j / 2][0] += is_linked ? 0.0f : gradients[n][j];
          wide[j / 2][1] += is_linked ? gradients[n][j] : 0.0f;
        }
      }
      return;
    }
    if (pairs.query_parts == nullptr && one_label()) {
      const bool ahead_of = nearest() >= pairs.most;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float sum = 0.0f;
#pragma unroll
        for (int n = 0; n < columns / 8; ++n) sum += gradients[n][2 * half] + gradients[n][2 * half + 1];
        wide[half][0] += ahead_of ? sum : 0.0f;
        wide[half][1] += ahead_of ? 0.0f : sum;
      }
      return;
    }
    const unsigned same = parts();
    float* const upper = pairs.received + label_row(row);
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const int d = distance_of(n, j);
        const bool apart = (same >> (4 * n + j) & 1u) == 0;
        const float gradient = gradients[n][j];
        wide[j / 2][0] += !apart && d >= pairs.most ? gradient : 0.0f;
        wide[j / 2][1] += !apart && d < 0 && d <= -pairs.most ? gradient : 0.0f;
        wide[j / 2][2] += apart ? gradient : 0.0f;
        if (!apart && pairs.is_told_apart(d) && row + 4 * (j & 2) < valid) {
          upper[4 * (j & 2) * pairs.labels + pairs.label_of_distance(d)] = gradient;
        }
      }
    }
  }

 private:
  template <class Value>
  BIGBIRD_DEVICE static void set(Scores& scores, const Value& value) {
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) scores[n][j] = value(n, j);
    }
  }
  template <class Condition>
  BIGBIRD_DEVICE static void hide(Scores& scores, const Condition& condition) {
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (condition(n, j)) scores[n][j] = -INFINITY;
      }
    }
  }
  BIGBIRD_DEVICE bool crosses_diagonal() const {
    return nearest() <= 0 && furthest() >= 0;
  }
  // By distance: all pairs of the fragment lie far ahead, or far behind.
  BIGBIRD_DEVICE bool one_label() const {
    return nearest() >= pairs.most || (furthest() <= -pairs.most && furthest() < 0);
  }

  // In the batch: the first query, or key, of this lane.
  BIGBIRD_DEVICE Index own_query() const {
    return Index{at.first_query} + at.query + (keys_in_rows ? column : row);
  }
  BIGBIRD_DEVICE Index own_key() const {
    return Index{at.first_key} + at.key + (keys_in_rows ? row : column);
  }

  // Of numbers of queries and of keys, which pairs have equal ones: bit 4 n + j is that of scores[n][j].
  BIGBIRD_DEVICE unsigned equal(const std::int32_t* of_queries, const std::int32_t* of_keys) const {
    const std::int32_t* const rows = keys_in_rows ? of_keys + own_key() : of_queries + own_query();
    const std::int32_t* const across = keys_in_rows ? of_queries + own_query() : of_keys + own_key();
    const std::int32_t upper = rows[0], lower = rows[8];
    unsigned bits = 0;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        const std::int32_t other = across[n * 8 + b];
        if (other == upper) bits |= 1u << (4 * n + b);
        if (other == lower) bits |= 1u << (4 * n + b + 2);
      }
    }
    return bits;
  }
  BIGBIRD_DEVICE unsigned linked(int count) const {
    unsigned bits = 0;
#pragma unroll 1
    for (int c = 0; c < count; ++c) {
      bits |= equal(pairs.query_links + c * pairs.queries, pairs.key_links + c * pairs.keys);
    }
    return bits;
  }
  // Pairs of one part; all where there are none.
  BIGBIRD_DEVICE unsigned parts() const {
    return pairs.query_parts != nullptr ? equal(pairs.query_parts, pairs.key_parts) : 0xffffffffu;
  }
  // Pairs of queries that need no link.
  BIGBIRD_DEVICE unsigned free() const {
    if (pairs.free_queries == nullptr) return 0;
    const std::uint8_t* const from = pairs.free_queries + own_query();
    if (!keys_in_rows) return (from[0] != 0 ? 0x33333333u : 0u) | (from[8] != 0 ? 0xccccccccu : 0u);
    unsigned bits = 0;
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int b = 0; b < 2; ++b) {
        if (from[n * 8 + b] != 0) bits |= 5u << (4 * n + b);
      }
    }
    return bits;
  }
  BIGBIRD_DEVICE void hide_keys(Scores& scores) const {
    const std::uint8_t* const from = pairs.hidden + own_key();
#pragma unroll
    for (int n = 0; n < columns / 8; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (from[keys_in_rows ? 4 * (j & 2) : n * 8 + (j & 1)] != 0) scores[n][j] = -INFINITY;
      }
    }
  }

  // Where the labels of a query begin, that many rows behind the fragment's first.
  BIGBIRD_DEVICE Index label_row(int query) const {
    return ((Index{at.head} * pairs.queries + at.first_query + at.query) + query) * pairs.labels;
  }
  BIGBIRD_DEVICE void put_terms(Scores& scores) const {
    // Of the first query of this lane; that of element (n, j) stands `query` labels rows behind.
    const float* const first = pairs.terms + label_row(keys_in_rows ? column : row);
    const auto query = [&](int n, int j) {
      return (keys_in_rows ? n * 8 + (j & 1) : 4 * (j & 2)) * pairs.labels;
    };
    if (pairs.by_links) {
      const unsigned met = linked(pairs.link_columns);
      set(scores, [&](int n, int j) {
        return first[query(n, j) + pairs.wide_label(static_cast<int>(met >> (4 * n + j) & 1u))];
      });
    } else if (pairs.query_parts == nullptr && one_label()) {
      const int label = pairs.wide_label(nearest() >= pairs.most ? 0 : 1);
      set(scores, [&](int n, int j) { return first[query(n, j) + label]; });
    } else {
      const unsigned same = parts();
      set(scores, [&](int n, int j) {
        const bool apart = (same >> (4 * n + j) & 1u) == 0;
        return first[query(n, j) +
                     (apart ? pairs.wide_label(2) : pairs.label_of_distance(distance_of(n, j)))];
      });
    }
  }
};

}  // namespace bigbird::kernels::cuda
