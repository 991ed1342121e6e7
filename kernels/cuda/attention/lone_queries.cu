// Queries that see their own key in want of others (PairRule::self_last). The kernels hide that key from all
// of them; here the list of each is searched, until it shows company, for those that have none.
#include <cmath>

#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/pairs.cuh"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

// One pair at a time, of rows of a sequence's keys, where its queries stand.
struct OnePair {
  const PairView& pairs;
  Index first_query, first_key;  // row 0 of that count in the batch
  int head;

  BIGBIRD_DEVICE OnePair(const PairView& view, const AttentionSequence& sequence, int of_head)
      : pairs(view),
        first_query(sequence.first_row - sequence.query_start),
        first_key(sequence.first_key_row),
        head(of_head) {}

  BIGBIRD_DEVICE bool linked(int query, int key, int columns) const {
    for (int c = 0; c < columns; ++c) {
      if (pairs.query_links[c * pairs.queries + first_query + query] ==
          pairs.key_links[c * pairs.keys + first_key + key])
        return true;
    }
    return false;
  }
  // By all conditions but self_last.
  BIGBIRD_DEVICE bool meets(int query, int key) const {
    const int distance = key - query;
    if (pairs.no_self && distance == 0) return false;
    if (pairs.bias != nullptr && pairs.bias[Index{label(query, key)} * pairs.heads + head] == -INFINITY)
      return false;
    if (pairs.before >= 0 && distance < -pairs.before) return false;
    if (pairs.after >= 0 && distance > pairs.after) return false;
    if (pairs.hidden != nullptr && pairs.hidden[first_key + key] != 0) return false;
    if (pairs.query_groups != nullptr &&
        pairs.query_groups[first_query + query] != pairs.key_groups[first_key + key])
      return false;
    if (pairs.needed_links == 0) return true;
    if (pairs.free_queries != nullptr && pairs.free_queries[first_query + query] != 0) return true;
    return linked(query, key, pairs.needed_links);
  }
  BIGBIRD_DEVICE int label(int query, int key) const {
    if (pairs.by_links) return pairs.wide_label(linked(query, key, pairs.link_columns) ? 1 : 0);
    const bool apart = pairs.query_parts != nullptr &&
                       pairs.query_parts[first_query + query] != pairs.key_parts[first_key + key];
    return apart ? pairs.wide_label(2) : pairs.label_of_distance(key - query);
  }
};

// What the list of a query tile says of its rows: a warp for each.
template <int rows>
struct LoneSearch {
  AttentionView view;
  PairView pairs;

  // use(head, row of the sequence's keys that it stands at, sequence), by whole warps, of every query without
  // company.
  template <class Use>
  BIGBIRD_DEVICE void operator()(Thread& thread, int warps, const Use& use) const {
    const int number = find_sequence(view.query_pieces, view.count, thread.block());
    const AttentionSequence& sequence = view.sequences[number];
    const AttentionPiece* const pieces = sequence.by_query.pieces;
    const int at = thread.block() - view.query_pieces[number];
    const int end = view.query_pieces[number + 1] - view.query_pieces[number];
    const AttentionPiece piece = pieces[at];
    // The first piece of a cut list has all of it.
    if (at > 0 && pieces[at - 1].head == piece.head && pieces[at - 1].tile == piece.tile) return;
    int count = piece.count;
    for (int i = at + 1; i < end && pieces[i].head == piece.head && pieces[i].tile == piece.tile; ++i)
      count += pieces[i].count;
    const ListedTile* const list = sequence.by_query.tiles + piece.first;
    const OnePair pair(pairs, sequence, piece.head);
    for (int row = thread.warp(); row < rows; row += warps) {
      const int asking = piece.tile * rows + row, query = asking + sequence.query_start;
      if (asking >= sequence.query_length || query >= sequence.length || !pair.meets(query, query)) continue;
      if (alone(thread, pair, list, count, query, sequence.length)) use(piece.head, query, sequence);
    }
  }

 private:
  // Whether of all keys that are listed the query's own meets it, and no other.
  BIGBIRD_DEVICE static bool alone(Thread& thread, const OnePair& pair, const ListedTile* list, int count,
                                   int query, int length) {
    bool own = false;
    for (int i = 0; i < count; ++i) {
      const int first = list[i].tile * rows;
      own = own || list[i].tile == query / rows;
      for (int k = 0; k < rows; k += 32) {
        const int key = first + k + thread.lane();
        const bool other = k + thread.lane() < rows && key < length && key != query && pair.meets(query, key);
        if (thread.ballot(other) != 0) return false;
      }
    }
    return own;
  }
};

template <class ElementType, int width, int rows>
struct AttendLoneQueries {
  using Element = ElementType;
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;

  LoneSearch<rows> search;
  const Element *q, *k, *v;
  Index q_stride, k_stride, v_stride;
  Element* out;
  Index out_stride;
  float* log_sum_exp;
  float scale, out_scale;
  bool dropping;
  ProbabilityDropout dropout;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    search(thread, threads / 32, [&](int head, int query, const AttentionSequence& sequence) {
      const Index row = sequence.first_row - sequence.query_start + query;
      const Index key_row = sequence.first_key_row + query;
      float score = 0.0f;
      for (int column = head * width + thread.lane(); column < (head + 1) * width; column += 32) {
        score = fmaf(to_float(q[row * q_stride + column]), to_float(k[key_row * k_stride + column]), score);
        out[row * out_stride + column] =
            to_element<Element>(kept_factor(head, row, key_row) * to_float(v[key_row * v_stride + column]));
      }
      score = warp_sum(thread, score);
      const PairView& pairs = search.pairs;
      if (pairs.terms != nullptr) {
        const OnePair pair(pairs, sequence, head);
        score += pairs.terms[(head * pairs.queries + row) * pairs.labels + pair.label(query, query)];
      }
      if (log_sum_exp != nullptr && thread.lane() == 0)
        log_sum_exp[head * pairs.queries + row] = scale * score;
    });
  }

 private:
  BIGBIRD_DEVICE float kept_factor(int head, Index row, Index key_row) const {
    if (!dropping) return 1.0f;
    const Index element = dropout.element(head, row, key_row);
    const unsigned kept = dropout.four_kept(*dropout.seed, element / 4 * 4) >> (element % 4);
    return (kept & 1u) != 0 ? out_scale : 0.0f;
  }
};

template <int rows>
struct MarkLoneQueries {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;

  LoneSearch<rows> search;
  float* output_products;  // [H, T]

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    search(thread, threads / 32, [&](int head, int query, const AttentionSequence& sequence) {
      const Index row = sequence.first_row - sequence.query_start + query;
      if (thread.lane() == 0) output_products[head * search.pairs.queries + row] = lone_product;
    });
  }
};

template <int rows>
void attend(const AttentionForwardArguments& a, Index head_size, Stream stream) {
  for_head_size(head_size, [&](auto width) {
    with_type(a.q.data.type(), [&](auto type) {
      using Element = decltype(type);
      AttendLoneQueries<Element, width(), rows> kernel{};
      kernel.search = {a.view, a.pairs};
      kernel.q = a.q.data.as<Element>();
      kernel.k = a.k.data.as<Element>();
      kernel.v = a.v.data.as<Element>();
      kernel.q_stride = a.q.stride;
      kernel.k_stride = a.k.stride;
      kernel.v_stride = a.v.stride;
      kernel.out = a.out.data.as<Element>();
      kernel.out_stride = a.out.stride;
      kernel.log_sum_exp = a.log_sum_exp;
      kernel.scale = a.scale;
      kernel.out_scale = 1.0f / (1.0f - a.drop_probability);
      kernel.dropping = a.drop_probability > 0.0f;
      kernel.dropout = {a.dropout_seed, a.dropout_site, a.tokens, a.keys,
                        first_kept_word(a.drop_probability)};
      launch(kernel, {.blocks = a.pieces}, stream);
    });
  });
}

}  // namespace

void launch_lone_queries(const AttentionForwardArguments& a, Index head_size, int tile_rows, Stream stream) {
  tile_rows == 64 ? attend<64>(a, head_size, stream) : attend<16>(a, head_size, stream);
}

void mark_lone_queries(const AttentionBackwardArguments& a, int tile_rows, Stream stream) {
  if (tile_rows == 64) {
    launch(MarkLoneQueries<64>{{a.view, a.pairs}, a.output_products}, {.blocks = a.query_pieces}, stream);
  } else {
    launch(MarkLoneQueries<16>{{a.view, a.pairs}, a.output_products}, {.blocks = a.query_pieces}, stream);
  }
}

}  // namespace bigbird::kernels::cuda
