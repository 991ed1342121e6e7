// Problems of a decoder's attention, and what reference/attention.h says of them: over keys of other
// rows, and causal; ragged batches, lengths that are not multiples of the block, padding on both sides,
// dropout. The backends' tests share them.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/philox.h"
#include "kernels/types.h"
#include "reference/attention.h"

namespace bigbird::kernels {

// Every query block lists every key block; causal: those up to its own.
struct DecoderPlan {
  std::vector<std::int32_t> row_offsets{0}, key_blocks, column_offsets{0}, query_blocks;
  BlockPlanView view;

  DecoderPlan(Index heads, Index queries, Index keys, bool causal) {
    static std::atomic<std::uint64_t> made{std::uint64_t{1} << 40};  // beside the plans of other tests
    for (Index head = 0; head < heads; ++head) {
      for (Index query = 0; query < queries; ++query) {
        for (Index key = 0; key < (causal ? query + 1 : keys); ++key)
          key_blocks.push_back(static_cast<std::int32_t>(key));
        row_offsets.push_back(static_cast<std::int32_t>(key_blocks.size()));
      }
      for (Index key = 0; key < keys; ++key) {
        for (Index query = causal ? key : 0; query < queries; ++query)
          query_blocks.push_back(static_cast<std::int32_t>(query));
        column_offsets.push_back(static_cast<std::int32_t>(query_blocks.size()));
      }
    }
    view = {++made,
            heads,
            queries,
            row_offsets.data(),
            key_blocks.data(),
            column_offsets.data(),
            query_blocks.data(),
            causal ? 0 : keys};
  }
};

struct DecoderCase {
  const char* name;
  Index heads, head_size, block_size;
  std::vector<Index> queries;  // real ones, of each sequence
  std::vector<Index> keys;     // empty: causal, over the queries' own rows
  double drop_probability = 0;
};

struct DecoderProblem {
  const DecoderCase& shape;
  std::vector<DecoderPlan> plans;
  std::vector<const BlockPlanView*> views;
  std::vector<Index> query_offsets{0}, key_offsets{0}, key_lengths;
  std::uint64_t seed = 77;
  AttentionBatch batch;

  explicit DecoderProblem(const DecoderCase& chosen) : shape(chosen) {
    const auto blocks = [&](Index tokens) { return (tokens + shape.block_size - 1) / shape.block_size; };
    key_lengths = causal() ? shape.queries : shape.keys;
    for (std::size_t s = 0; s < shape.queries.size(); ++s) {
      // A block of padding more, of queries and of keys, in some.
      const Index queries = blocks(shape.queries[s]) + static_cast<Index>(s % 2);
      const Index keys = causal() ? queries : blocks(key_lengths[s]) + static_cast<Index>((s + 1) % 2);
      plans.emplace_back(shape.heads, queries, keys, causal());
      query_offsets.push_back(query_offsets.back() + queries * shape.block_size);
      key_offsets.push_back(key_offsets.back() + keys * shape.block_size);
    }
    for (const DecoderPlan& plan : plans) views.push_back(&plan.view);
    batch.sequences = static_cast<Index>(shape.queries.size());
    batch.heads = shape.heads;
    batch.head_size = shape.head_size;
    batch.block_size = shape.block_size;
    batch.token_offsets = query_offsets.data();
    batch.lengths = key_lengths.data();
    batch.query_lengths = shape.queries.data();
    batch.plans = views.data();
    batch.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size));
    batch.drop_probability = static_cast<float>(shape.drop_probability);
    batch.dropout_seed = &seed;
    batch.dropout_site = 5;
    batch.causal = causal();
    if (!causal()) batch.key_offsets = key_offsets.data();
  }
  DecoderProblem(const DecoderProblem&) = delete;
  DecoderProblem& operator=(const DecoderProblem&) = delete;

  bool causal() const { return shape.keys.empty(); }
  Index width() const { return shape.heads * shape.head_size; }
  Index query_rows() const { return query_offsets.back(); }
  Index key_rows() const { return key_offsets.back(); }

  // Numbers of a matrix of queries' rows, and of one of keys' rows.
  std::size_t query_size() const { return static_cast<std::size_t>(query_rows() * width()); }
  std::size_t key_size() const { return static_cast<std::size_t>(key_rows() * width()); }

  // The real rows of one head of one sequence out of a matrix of all.
  reference::Matrix head_of(const std::vector<float>& rows, const std::vector<Index>& offsets, Index count,
                            std::size_t s, Index head) const {
    reference::Matrix result(static_cast<std::size_t>(count), static_cast<std::size_t>(shape.head_size));
    for (Index t = 0; t < count; ++t) {
      for (Index d = 0; d < shape.head_size; ++d) {
        result(static_cast<std::size_t>(t), static_cast<std::size_t>(d)) = static_cast<double>(
            rows[static_cast<std::size_t>((offsets[s] + t) * width() + head * shape.head_size + d)]);
      }
    }
    return result;
  }
  void put(const reference::Matrix& from, const std::vector<Index>& offsets, std::size_t s, Index head,
           reference::Vector& rows) const {
    for (std::size_t t = 0; t < from.rows; ++t) {
      for (std::size_t d = 0; d < from.columns; ++d) {
        rows[static_cast<std::size_t>((offsets[s] + static_cast<Index>(t)) * width() +
                                      head * shape.head_size) +
             d] = from(t, d);
      }
    }
  }
  reference::Matrix factors(std::size_t s, Index head) const {
    if (shape.drop_probability == 0) return {};
    const Index queries = shape.queries[s], keys = key_lengths[s];
    reference::Matrix result(static_cast<std::size_t>(queries), static_cast<std::size_t>(keys));
    for (Index t = 0; t < queries; ++t) {
      for (Index u = 0; u < keys; ++u) {
        const Index element = (head * query_rows() + query_offsets[s] + t) * key_rows() + key_offsets[s] + u;
        const bool kept = dropout_keep(seed, batch.dropout_site, static_cast<std::uint64_t>(element),
                                       batch.drop_probability);
        result(static_cast<std::size_t>(t), static_cast<std::size_t>(u)) =
            kept ? 1.0 / (1.0 - shape.drop_probability) : 0.0;
      }
    }
    return result;
  }

  // What the oracle says of [query rows, C] and [key rows, C]; padding is zeros in all of them.
  struct Expected {
    reference::Vector out, dq, dk, dv;
  };
  Expected expected(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                    const std::vector<float>& dout) const {
    Expected result{reference::Vector(query_size()), reference::Vector(query_size()),
                    reference::Vector(key_size()), reference::Vector(key_size())};
    for (std::size_t s = 0; s < plans.size(); ++s) {
      const reference::CrossAttentionShape of_sequence{static_cast<std::size_t>(key_lengths[s]), causal()};
      for (Index head = 0; head < shape.heads; ++head) {
        const Index queries = shape.queries[s], keys = key_lengths[s];
        const reference::Matrix query = head_of(q, query_offsets, queries, s, head);
        const reference::Matrix key = head_of(k, key_offsets, keys, s, head);
        const reference::Matrix value = head_of(v, key_offsets, keys, s, head);
        const reference::Matrix kept = factors(s, head);
        put(reference::cross_attention_forward(of_sequence, query, key, value, kept), query_offsets, s, head,
            result.out);
        const reference::CrossAttentionGradients gradients = reference::cross_attention_backward(
            of_sequence, query, key, value, head_of(dout, query_offsets, queries, s, head), kept);
        put(gradients.query, query_offsets, s, head, result.dq);
        put(gradients.key, key_offsets, s, head, result.dk);
        put(gradients.value, key_offsets, s, head, result.dv);
      }
    }
    return result;
  }
};

}  // namespace bigbird::kernels
