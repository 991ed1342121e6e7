// Which pairs of a query and a key meet, and the term for a pair's label (PairRule, RelativeTerm in types.h),
// on scores that lie transposed, (keys, queries).
//
// The terms of a query block are one product beforehand, of its queries with the labels' rows in place of
// keys; a score then adds the number of its label. Back, what scores get is collected by label and query
// first, and is multiplied with the rows and the queries once a block.
#pragma once

#include "kernels/cpu/levels/labels_behind.h"

namespace bigbird::kernels::BIGBIRD_LEVEL {

// What hidden scores are set to. It is finite, so that differences of two are no NaN: where all keys so far
// are hidden they count, until the first that is seen multiplies the sums by zero. A maximum below
// `least_seen` has seen nothing.
constexpr float hidden_score = -1e30f;
constexpr float least_seen = -1e29f;

// A piece of the scores: keys [keys] from `first_key` on, of queries [queries] from `first_query` on, both
// counted in the rows of the sequence's keys, `width` floats from one key to the next.
struct ScorePiece {
  Index first_query;
  Index queries;
  Index first_key;
  Index keys;
  Index width;
};

BIGBIRD_INLINE bool hides_pairs(const AttentionHead& head) {
  return head.causal || (head.pairs != nullptr && head.pairs->hides);
}
BIGBIRD_INLINE bool has_labels(const AttentionHead& head) {
  return head.pairs != nullptr && head.pairs->relative.weight != nullptr;
}

// The first of `Columns` columns of links in which a key is linked to a query.
template <unsigned Columns>
struct LinksOfKey {
  const int32_t* queries[Columns];
  int32_t key[Columns];

  BIGBIRD_INLINE_MEMBER LinksOfKey(const HeadPairs& pairs, Index first_query, Index of) {
    for (unsigned c = 0; c < Columns; ++c) {
      queries[c] = pairs.rule.query_links + c * pairs.query_link_stride + first_query;
      key[c] = pairs.rule.key_links[c * pairs.key_link_stride + of];
    }
  }
  BIGBIRD_INLINE_MEMBER bool operator()(Index query) const {
    bool linked = queries[0][query] == key[0];
    BIGBIRD_UNROLL
    for (unsigned c = 1; c < Columns; ++c) linked |= queries[c][query] == key[c];
    return linked;
  }
};

// body(LinksOfKey of so many columns) for a number that is known at run time only.
template <typename Body>
BIGBIRD_INLINE void with_links(Index columns, const HeadPairs& pairs, Index first_query, Index key,
                               const Body& body) {
  if (columns == 1) return body(LinksOfKey<1>(pairs, first_query, key));
  if (columns == 2) return body(LinksOfKey<2>(pairs, first_query, key));
  body(LinksOfKey<3>(pairs, first_query, key));
}

// The queries of a piece that lie near enough to a key: [begin, end).
struct QueryRange {
  Index begin;
  Index end;
};
BIGBIRD_INLINE QueryRange queries_near(const AttentionHead& head, const ScorePiece& piece, Index key) {
  Index before = -1, after = -1;
  if (head.pairs != nullptr) {
    before = head.pairs->rule.before;
    after = head.pairs->rule.after;
  }
  if (head.causal) after = 0;
  const Index apart = key - piece.first_query;  // of the piece's first query
  QueryRange near{0, piece.queries};
  if (after >= 0 && apart > after) near.begin = smaller(apart - after, piece.queries);
  if (before >= 0) {
    const Index end = apart + before + 1;
    near.end = end < near.begin ? near.begin : smaller(end, piece.queries);
  }
  return near;
}

static inline void hide_pairs(const AttentionHead& head, const ScorePiece& piece, float* scores) {
  if (!hides_pairs(head)) return;
  const Index queries = piece.queries;
  // Distances alone, and no key of the piece too far from any query: the inner blocks of a window.
  const QueryRange of_first = queries_near(head, piece, piece.first_key);
  const QueryRange of_last = queries_near(head, piece, piece.first_key + piece.keys - 1);
  const bool all_near =
      of_first.begin == 0 && of_last.begin == 0 && of_first.end == queries && of_last.end == queries;
  const bool by_rows = head.pairs != nullptr && head.pairs->hides_by_rows;
  const bool hides_own = head.pairs != nullptr && (head.pairs->rule.self_last || head.pairs->rule.no_self);
  const bool has_own =
      piece.first_key < piece.first_query + queries && piece.first_query < piece.first_key + piece.keys;
  if (all_near && !by_rows && !(hides_own && has_own)) return;
  for (Index at = 0; at < piece.keys; ++at) {
    const Index key = piece.first_key + at;
    float* const row = scores + at * piece.width;
    const QueryRange near = queries_near(head, piece, key);
    for (Index j = 0; j < near.begin; ++j) row[j] = hidden_score;
    for (Index j = near.end; j < queries; ++j) row[j] = hidden_score;
    const Index own_query = key - piece.first_query;
    if (hides_own && own_query >= 0 && own_query < queries) row[own_query] = hidden_score;
    if (!by_rows) continue;
    const HeadPairs& pairs = *head.pairs;
    const PairRule& rule = pairs.rule;
    if (rule.hidden != nullptr && rule.hidden[key] != 0) {
      for (Index j = 0; j < queries; ++j) row[j] = hidden_score;
      continue;
    }
    if (rule.query_groups != nullptr) {
      const int32_t* const of_queries = rule.query_groups + piece.first_query;
      const int32_t own = rule.key_groups[key];
      for (Index j = 0; j < queries; ++j) row[j] = of_queries[j] == own ? row[j] : hidden_score;
    }
    if (rule.needed_links > 0) {
      with_links(rule.needed_links, pairs, piece.first_query, key, [&](const auto& linked) {
        if (rule.free_queries == nullptr) {
          for (Index j = 0; j < queries; ++j) row[j] = linked(j) ? row[j] : hidden_score;
        } else {
          const uint8_t* const free = rule.free_queries + piece.first_query;
          for (Index j = 0; j < queries; ++j) row[j] = free[j] != 0 || linked(j) ? row[j] : hidden_score;
        }
      });
    }
  }
}

// The label of a query and its own key.
static inline Index label_of_own_key(const AttentionHead& head, Index query) {
  const RelativeTerm& relative = head.pairs->relative;
  Index label = 0;
  if (relative.by_links) {
    with_links(head.pairs->rule.link_columns, *head.pairs, query, query,
               [&](const auto& linked) { label = 2 * relative.most + (linked(0) ? 2 : 1); });
  } else if (relative.query_parts != nullptr && relative.query_parts[query] != relative.key_parts[query]) {
    label = 2 * relative.most + 3;
  }
  return label;
}
static inline float bias_of_own_key(const AttentionHead& head, Index query) {
  const RelativeTerm& relative = head.pairs->relative;
  if (relative.bias == nullptr) return 0.0f;
  return relative.bias[label_of_own_key(head, query) * head.pairs->bias_stride];
}

// Whether a query sees its own key in company of no other (PairRule::self_last): the key is real, its block
// is listed for the query's, and no other condition hides it.
static inline bool own_key_is_last(const AttentionHead& head, Index query_block, Index query) {
  if (head.pairs == nullptr || !head.pairs->rule.self_last || query >= head.length) return false;
  const PairRule& rule = head.pairs->rule;
  if (rule.no_self) return false;
  if (has_labels(head) && bias_of_own_key(head, query) == -__builtin_inff()) return false;
  if (rule.hidden != nullptr && rule.hidden[query] != 0) return false;
  if (rule.query_groups != nullptr && rule.query_groups[query] != rule.key_groups[query]) return false;
  if (rule.needed_links > 0 && (rule.free_queries == nullptr || rule.free_queries[query] == 0)) {
    bool linked = false;
    with_links(rule.needed_links, *head.pairs, query, query,
               [&](const auto& of_own_key) { linked = of_own_key(0); });
    if (!linked) return false;
  }
  for (Index at = head.row_offsets[query_block]; at < head.row_offsets[query_block + 1]; ++at) {
    if (head.key_blocks[at] == static_cast<int32_t>(query / head.block_size)) return true;
  }
  return false;
}

// A number of the head's rows, which are floats or bf16.
BIGBIRD_INLINE float number_at(const float* rows, const bf16* narrow, Index at) {
  if (rows != nullptr) return rows[at];
  const uint32_t bits = static_cast<uint32_t>(narrow[at].bits) << 16;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

BIGBIRD_INLINE Index label_of_distance(Index distance, Index most) {
  return distance >= 0 ? smaller(distance, most) : most + smaller(-distance, most);
}

// What a head has of each label and query of a block: the terms, then, in the backward pass, what they got;
// and the queries that they are made of.
struct LabelRoom {
  float* terms;     // [labels][width], scaled as scores are; of labels behind as labels_behind.h has them
  float* received;  // likewise, gradients of scores
  float* queries;   // [depth][width]
  float* rows;      // [queries][depth]

  BIGBIRD_INLINE_MEMBER LabelRoom(const AttentionHead& head, Index width)
      : terms(head.pairs->room),
        received(terms + rows_of(head, width) * width),
        queries(received + rows_of(head, width) * width),
        rows(queries + head.head_size * width) {}

  BIGBIRD_INLINE_MEMBER static Index rows_of(const AttentionHead& head, Index width) {
    return head.pairs->relative.labels + (head.pairs->relative.behind ? width : 0);
  }
};

// Minus infinity hides a label's pairs: as what it is hidden by is finite, so is this.
BIGBIRD_INLINE float hidden_or(float bias) {
  return bias == -__builtin_inff() ? hidden_score : bias;
}

// A span that a query has of its own (RelativeTerm::span_logits), and how it changes with its logit.
struct OwnSpan {
  float tokens;
  float slope;
};
BIGBIRD_INLINE OwnSpan own_span(const HeadPairs& pairs, Index query) {
  const float part = 1.0f / (1.0f + __builtin_expf(-pairs.relative.span_logits[query * pairs.span_stride]));
  const float tokens = pairs.relative.most_span * part;
  return {tokens, tokens * (1.0f - part)};
}
// The weight of a pair at such a distance, before it is cut to 0..1.
BIGBIRD_INLINE float span_weight(const HeadPairs& pairs, const OwnSpan& of, Index distance) {
  return (static_cast<float>(1 - distance) + of.tokens) / pairs.relative.ramp + 1.0f;
}

// Adds the logarithms of these weights to straight terms, rows of the labels from span.first on. unit: that
// of the terms, for a logarithm of 1.
static inline void add_own_spans(const HeadPairs& pairs, const LabelSpan& span, Index first_query,
                                 Index queries, Index width, float unit, float* terms) {
  for (Index j = 0; j < queries; ++j) {
    const OwnSpan of = own_span(pairs, first_query + j);
    // From the last label on to the first with a whole weight.
    for (Index label = span.last; label >= span.first; --label) {
      const float weight = span_weight(pairs, of, label);
      if (weight >= 1.0f) break;
      float* const term = terms + (label - span.first) * width + j;
      *term = weight > 0.0f ? *term + __builtin_logf(weight) * unit : hidden_score;
    }
  }
}

// The way back, of what straight terms got: m e^s / m is the exponential that the weight multiplies. Only
// within the ramp does a weight change with its span.
static inline void end_own_spans(const HeadPairs& pairs, const LabelSpan& span, Index first_query,
                                 Index queries, Index width, const float* received) {
  for (Index j = 0; j < queries; ++j) {
    const OwnSpan of = own_span(pairs, first_query + j);
    float sum = 0.0f;
    for (Index label = span.last; label >= span.first; --label) {
      const float weight = span_weight(pairs, of, label);
      if (weight > 1.0f) break;
      if (weight > 0.0f) sum += received[(label - span.first) * width + j] / weight;
    }
    pairs.span_gradients[(first_query + j) * pairs.span_stride] = sum / pairs.relative.ramp * of.slope;
  }
}

// scale: that of the scores' powers. `query_block`, and the piece below, count from the head's q. The labels
// that a block meets are known by what comes back.
static inline LabelSpan make_label_terms(const AttentionHead& head, Index query_block, Index queries,
                                         Index width, float scale) {
  const LabelRoom room(head, width);
  const HeadPairs& pairs = *head.pairs;
  const RelativeTerm& relative = pairs.relative;
  const Index depth = head.head_size, first_query = query_block * head.block_size;
  const LabelSpan span = relative.behind ? labels_behind(head, query_block, queries)
                                         : LabelSpan{0, relative.labels - 1, 0, relative.labels - 1};
  if (head.q != nullptr) {
    transpose(head.q + first_query * head.q_stride, head.q_stride, queries, depth, scale, room.queries, width,
              width);
  } else {
    for (Index row = 0; row < queries; ++row) {
      const bf16* const from = head.narrow_q + (first_query + row) * head.q_stride;
      for_each_vector(depth, [&](Index d, auto part) {
        part.put(room.rows + row * depth + d, widened(part.get(from + d)));
      });
    }
    transpose(room.rows, depth, queries, depth, scale, room.queries, width, width);
  }
  float* const terms = room.terms + (span.first - span.low) * width;
  multiply({span.last - span.first + 1, width, depth, relative.weight + span.first * pairs.label_stride,
            pairs.label_stride, 1, room.queries, width, terms, width, false});
  for (Index label = span.first; relative.bias != nullptr && label <= span.last; ++label) {
    const Floats bias = splat(hidden_or(relative.bias[label * pairs.bias_stride] * scale));
    float* const row = terms + (label - span.first) * width;
    for (Index j = 0; j < width; j += lanes) store(row + j, load(row + j) + bias);
  }
  if (relative.span_logits != nullptr)
    add_own_spans(pairs, span, head.query_origin + first_query, queries, width, scale / head.scale, terms);
  if (relative.behind) slant_terms(span, width, room.terms);
  return span;
}

// body(key of the piece, row of the terms) for all keys but those that no query has behind it.
template <typename Body>
BIGBIRD_INLINE void for_each_key_behind(const AttentionHead& head, const LabelSpan& span,
                                        const ScorePiece& piece, const Body& body) {
  for (Index at = 0; at < piece.keys; ++at) {
    const Index row = span.row_of(piece.first_query - piece.first_key - at, head.pairs->relative.most);
    if (row >= 0) body(at, row);
  }
}

// body(key of the piece, queries [begin, end), label) for every pair, runs of queries with one label
// together; linked pairs go to body(key, linked, unlinked label).
template <typename Runs, typename Links>
BIGBIRD_INLINE void for_each_label(const AttentionHead& head, const ScorePiece& piece, const Runs& runs,
                                   const Links& links) {
  const HeadPairs& pairs = *head.pairs;
  const RelativeTerm& relative = pairs.relative;
  const Index most = relative.most, queries = piece.queries;
  for (Index at = 0; at < piece.keys; ++at) {
    const Index key = piece.first_key + at;
    if (relative.by_links) {
      with_links(pairs.rule.link_columns, pairs, piece.first_query, key,
                 [&](const auto& linked) { links(at, linked, 2 * most + 1); });
      continue;
    }
    const Index apart = key - piece.first_query;  // of query 0: queries up to it look ahead
    const Index near = smaller(apart - most + 1 > 0 ? apart - most + 1 : 0, queries);
    const Index far = smaller(apart + most > near ? apart + most : near, queries);
    if (relative.query_parts != nullptr) {
      const int32_t* const parts = relative.query_parts + piece.first_query;
      for (Index j = 0; j < queries; ++j) {
        const bool together = parts[j] == relative.key_parts[key];
        runs(at, j, j + 1, together ? label_of_distance(apart - j, most) : 2 * most + 3);
      }
      continue;
    }
    runs(at, Index{0}, near, most);
    for (Index j = near; j < far; ++j) runs(at, j, j + 1, label_of_distance(apart - j, most));
    runs(at, far, queries, 2 * most);
  }
}

static inline void add_label_terms(const AttentionHead& head, const LabelSpan& span, const ScorePiece& piece,
                                   float* scores) {
  const Index width = piece.width;
  const LabelRoom room(head, width);
  if (head.pairs->relative.behind) {
    for_each_key_behind(head, span, piece, [&](Index at, Index row) {
      float* const score = scores + at * width;
      const float* const term = room.terms + row * width;
      for (Index j = 0; j < width; j += lanes) store(score + j, load(score + j) + load(term + j));
    });
    return;
  }
  for_each_label(
      head, piece,
      [&](Index at, Index begin, Index end, Index label) {
        float* const row = scores + at * width;
        const float* const term = room.terms + label * width;
        for (Index j = begin; j < end; ++j) row[j] += term[j];
      },
      [&](Index at, const auto& linked, Index label) {
        float* const row = scores + at * width;
        const float* const without = room.terms + label * width;
        const float* const with = without + width;
        for (Index j = 0; j < piece.queries; ++j) row[j] += linked(j) ? with[j] : without[j];
      });
}

// Before the first piece of a query block.
static inline void begin_labels(const AttentionHead& head, const LabelSpan& span, Index width) {
  const LabelRoom room(head, width);
  for (Index i = 0; i < span.rows() * width; ++i) room.received[i] = 0.0f;
}

// The score of a query and its own key, which is seen alone: log_sum_exp is nothing else.
static inline float own_key_score(const AttentionHead& head, Index query) {
  const bool labelled = has_labels(head);
  const float* const weight =
      labelled ? head.pairs->relative.weight + label_of_own_key(head, query) * head.pairs->label_stride
               : nullptr;
  float score = labelled ? bias_of_own_key(head, query) : 0.0f;
  for (Index d = 0; d < head.head_size; ++d) {
    float row = number_at(head.k, head.narrow_k, query * head.k_stride + d);
    if (labelled) row += weight[d];
    score += number_at(head.q, head.narrow_q, (query - head.query_origin) * head.q_stride + d) * row;
  }
  return score * head.scale;
}

// Collects the gradients of the scores.
static inline void collect_labels(const AttentionHead& head, const LabelSpan& span, const ScorePiece& piece,
                                  const float* gradients) {
  const Index width = piece.width;
  const LabelRoom room(head, width);
  if (head.pairs->relative.behind) {
    for_each_key_behind(head, span, piece, [&](Index at, Index row) {
      const float* const gradient = gradients + at * width;
      float* const received = room.received + row * width;
      for (Index j = 0; j < width; j += lanes) store(received + j, load(received + j) + load(gradient + j));
    });
    return;
  }
  for_each_label(
      head, piece,
      [&](Index at, Index begin, Index end, Index label) {
        const float* const row = gradients + at * width;
        float* const received = room.received + label * width;
        for (Index j = begin; j < end; ++j) received[j] += row[j];
      },
      [&](Index at, const auto& linked, Index label) {
        const float* const row = gradients + at * width;
        float* const without = room.received + label * width;
        float* const with = without + width;
        for (Index j = 0; j < piece.queries; ++j) {
          const bool is_linked = linked(j);
          with[j] += is_linked ? row[j] : 0.0f;
          without[j] += is_linked ? 0.0f : row[j];
        }
      });
}

// Behind the last piece: dq_columns [depth][width] get their share, without the scale of the scores, and the
// labels theirs. q_rows [queries][padded] are the queries times that scale.
static inline void end_labels(const AttentionHead& head, const LabelSpan& span, Index query_block,
                              Index queries, Index width, const float* q_rows, Index padded,
                              float* dq_columns) {
  const LabelRoom room(head, width);
  const HeadPairs& pairs = *head.pairs;
  const Index stride = pairs.label_stride, depth = head.head_size;
  if (pairs.relative.behind) straighten_terms(span, width, room.received);
  const Index labels = span.last - span.first + 1;
  const float* const received = room.received + (span.first - span.low) * width;
  if (pairs.span_gradients != nullptr)
    end_own_spans(pairs, span, head.query_origin + query_block * head.block_size, queries, width, received);
  multiply({depth, width, labels, pairs.relative.weight + span.first * stride, 1, stride, received, width,
            dq_columns, width, true});
  multiply({labels, depth, queries, received, width, 1, q_rows, padded,
            pairs.label_gradients + span.first * depth, depth, true});
  float* const of_bias = pairs.label_gradients + pairs.relative.labels * depth + span.first;
  for (Index label = 0; label < labels; ++label) {
    float sum = 0.0f;
    if (pairs.relative.behind) {
      Floats sums = {};
      for_each_vector(queries, [&](Index j, auto part) { sums += part.get(received + label * width + j); });
      sum = sum_of_lanes(sums);
    } else {
      for (Index j = 0; j < queries; ++j) sum += received[label * width + j];
    }
    of_bias[label] += sum * head.scale;
  }
}

}  // namespace bigbird::kernels::BIGBIRD_LEVEL
