// Attention of a decoder against reference/attention_cross.h: over keys of other rows, and causal; ragged
// batches, lengths that are not multiples of the block, padding on both sides, dropout.
#include <string>
#include <utility>

#include "kernels/philox.h"
#include "reference/attention_cross.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

// Every query block lists every key block; causal: those up to its own.
struct DecoderPlan {
  std::vector<std::int32_t> row_offsets{0}, key_blocks, column_offsets{0}, query_blocks;
  BlockPlanView view;

  DecoderPlan(Index heads, Index queries, Index keys, bool causal) {
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
    view = {0,
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

const DecoderCase decoder_cases[] = {
    {"causal, one block that is not full", 2, 16, 16, {9}, {}},
    {"causal, one token", 1, 8, 16, {1}, {}},
    {"causal, ragged, many blocks, head size 63", 2, 63, 16, {64, 97, 1, 160}, {}},
    {"causal, more keys than a chunk", 1, 32, 64, {330}, {}},
    {"causal, a block that fills no vector", 3, 5, 3, {20, 13}, {}},
    {"causal, dropout", 2, 16, 8, {29, 17}, {}, 0.25},
    {"cross, fewer queries than keys", 2, 64, 64, {9}, {300}},
    {"cross, more queries than keys", 2, 16, 16, {70}, {5}},
    {"cross, ragged", 3, 16, 16, {9, 40, 1, 16}, {100, 7, 64, 33}},
    {"cross, many heads", 16, 8, 16, {20, 3}, {50, 17}},
    {"cross, dropout", 2, 16, 8, {9, 21}, {33, 12}, 0.25},
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

  // The real rows of one head of one sequence out of a matrix of all.
  reference::Matrix head_of(const Floats& rows, const std::vector<Index>& offsets, Index count, std::size_t s,
                            Index head) const {
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
};

class CrossAttentionKernel : public KernelTest {};

TEST_P(CrossAttentionKernel, EqualsTheDenseOracle) {
  for (const DecoderCase& chosen : decoder_cases) {
    SCOPED_TRACE(chosen.name);
    const DecoderProblem p(chosen);
    const Index c = p.width();
    const auto query_size = static_cast<std::size_t>(p.query_rows() * c);
    const auto key_size = static_cast<std::size_t>(p.key_rows() * c);
    const Floats q = random_floats(query_size, 41, 2.0f), k = random_floats(key_size, 42, 2.0f),
                 v = random_floats(key_size, 43), dout = random_floats(query_size, 44);
    const auto got = run([&](Backend& backend) {
      Guarded out(query_size, 77.0f),
          log_sum_exp(static_cast<std::size_t>(p.query_rows() * p.shape.heads), 0.0f);
      Guarded dq(query_size), dk(key_size), dv(key_size);
      const QueryKeyValue inputs{{q.data(), c}, {k.data(), c}, {v.data(), c}};
      backend.attention_forward(p.batch, inputs, {out.data(), c}, log_sum_exp.data());
      backend.attention_backward(p.batch, inputs, Rows{out.data(), c}, log_sum_exp.data(), {dout.data(), c},
                                 {{dq.data(), c}, {dk.data(), c}, {dv.data(), c}});
      return std::vector<Floats>{out.take(), dq.take(), dk.take(), dv.take()};
    });
    // Padding is zeros in all of them.
    reference::Vector out(query_size), dq(query_size), dk(key_size), dv(key_size);
    for (std::size_t s = 0; s < p.plans.size(); ++s) {
      const reference::CrossAttentionShape shape{static_cast<std::size_t>(p.key_lengths[s]), p.causal()};
      for (Index head = 0; head < p.shape.heads; ++head) {
        const Index queries = p.shape.queries[s], keys = p.key_lengths[s];
        const reference::Matrix query = p.head_of(q, p.query_offsets, queries, s, head);
        const reference::Matrix key = p.head_of(k, p.key_offsets, keys, s, head);
        const reference::Matrix value = p.head_of(v, p.key_offsets, keys, s, head);
        const reference::Matrix factors = p.factors(s, head);
        p.put(reference::cross_attention_forward(shape, query, key, value, factors), p.query_offsets, s, head,
              out);
        const reference::CrossAttentionGradients gradients = reference::cross_attention_backward(
            shape, query, key, value, p.head_of(dout, p.query_offsets, queries, s, head), factors);
        p.put(gradients.query, p.query_offsets, s, head, dq);
        p.put(gradients.key, p.key_offsets, s, head, dk);
        p.put(gradients.value, p.key_offsets, s, head, dv);
      }
    }
    EXPECT_LT(relative_error(got[0], out), forward_tolerance);
    EXPECT_LT(relative_error(got[1], dq), gradient_tolerance);
    EXPECT_LT(relative_error(got[2], dk), gradient_tolerance);
    EXPECT_LT(relative_error(got[3], dv), gradient_tolerance);
  }
}

// What stands behind a query does not reach it, to the last bit.
TEST_P(CrossAttentionKernel, ACausalRowDoesNotDependOnLaterOnes) {
  const DecoderCase shape{"causal", 2, 16, 16, {75}, {}};
  const DecoderProblem p(shape);
  const Index c = p.width();
  const auto size = static_cast<std::size_t>(p.query_rows() * c);
  const auto forward = [&](Index changed) {
    Floats qkv[3];
    for (std::uint32_t i = 0; i < 3; ++i) {
      qkv[i] = random_floats(size, 51 + i, 2.0f);
      if (changed >= 0) {
        const Floats other = random_floats(size, 61 + i, 2.0f);
        std::copy(other.begin() + changed * c, other.end(), qkv[i].begin() + changed * c);
      }
    }
    return run([&](Backend& backend) {
      Guarded out(size, 77.0f);
      backend.attention_forward(p.batch, {{qkv[0].data(), c}, {qkv[1].data(), c}, {qkv[2].data(), c}},
                                {out.data(), c}, nullptr);
      return std::vector<Floats>{out.take()};
    })[0];
  };
  const Floats whole = forward(-1);
  for (const Index changed : {1, 16, 37, 74}) {
    const Floats other = forward(changed);
    EXPECT_EQ(std::memcmp(whole.data(), other.data(), static_cast<std::size_t>(changed * c) * sizeof(float)),
              0)
        << changed;
    EXPECT_NE(whole[static_cast<std::size_t>(changed * c)], other[static_cast<std::size_t>(changed * c)]);
  }
}

BIGBIRD_KERNEL_TESTS(CrossAttentionKernel);

}  // namespace
}  // namespace bigbird::kernels
