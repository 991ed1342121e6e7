// Problems of attention with a rule for pairs and a term for their labels, and what
// reference/attention_pairs.h says of them: ragged batches, windows of tokens, hidden keys, groups, links,
// keys of other rows, queries without any key. The backends' tests share them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/philox.h"
#include "kernels/types.h"
#include "reference/attention_pairs.h"
#include "tests/kernels/pair_cases.h"

namespace bigbird::kernels {

struct PairProblem {
  const PairCase& shape;
  std::vector<Index> query_offsets{0}, key_offsets{0}, key_lengths;
  // Of every row of the batch, padding too.
  std::vector<std::uint8_t> hidden, free_queries;
  std::vector<std::int32_t> query_groups, key_groups, query_links, key_links, query_parts, key_parts;
  std::uint64_t seed = 78;
  AttentionBatch batch;
  PairRule rule;
  RelativeTerm relative;  // weight and bias are the test's

  explicit PairProblem(const PairCase& chosen) : shape(chosen) {
    key_lengths = cross() ? shape.keys : shape.queries;
    for (std::size_t s = 0; s < shape.queries.size(); ++s) {
      // A block of padding more, of queries and of keys, in some.
      const Index queries = blocks(shape.queries[s]) + static_cast<Index>(s % 2);
      const Index keys = cross() ? blocks(key_lengths[s]) + static_cast<Index>((s + 1) % 2) : queries;
      query_offsets.push_back(query_offsets.back() + queries * shape.block_size);
      key_offsets.push_back(key_offsets.back() + keys * shape.block_size);
    }
    draw_rows();
    for (std::size_t s = 0; s < shape.queries.size(); ++s) plans_.push_back(listed(s));
    for (Lists& plan : plans_) views_.push_back(&plan.view);
    batch.sequences = static_cast<Index>(shape.queries.size());
    batch.heads = shape.heads;
    batch.head_size = shape.head_size;
    batch.block_size = shape.block_size;
    batch.token_offsets = query_offsets.data();
    batch.lengths = key_lengths.data();
    batch.query_lengths = shape.queries.data();
    batch.plans = views_.data();
    batch.scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size));
    batch.drop_probability = static_cast<float>(shape.drop_probability);
    batch.dropout_seed = &seed;
    batch.dropout_site = 6;
    if (cross()) batch.key_offsets = key_offsets.data();
    if (!shape.starts.empty()) batch.query_starts = shape.starts.data();
    batch.causal = shape.causal;
    rule.before = shape.before;
    rule.after = shape.after;
    if (shape.hidden) rule.hidden = hidden.data();
    if (shape.groups) {
      rule.query_groups = query_groups.data();
      rule.key_groups = key_groups.data();
    }
    rule.link_columns = shape.links;
    if (shape.links > 0) {
      rule.query_links = query_links.data();
      rule.key_links = key_links.data();
    }
    rule.needed_links = shape.needed;
    if (shape.free_queries) rule.free_queries = free_queries.data();
    rule.self_last = shape.self_last;
    rule.no_self = shape.no_self;
    batch.rule = &rule;
    relative.labels = shape.labels;
    relative.most = shape.most;
    relative.by_links = shape.by_links;
    relative.behind = shape.behind;
    if (shape.parts) {
      relative.query_parts = query_parts.data();
      relative.key_parts = key_parts.data();
    }
    if (shape.labels > 0) batch.relative = &relative;
  }
  PairProblem(const PairProblem&) = delete;
  PairProblem& operator=(const PairProblem&) = delete;

  bool cross() const { return !shape.keys.empty(); }
  Index blocks(Index tokens) const { return (tokens + shape.block_size - 1) / shape.block_size; }
  Index width() const { return shape.heads * shape.head_size; }
  Index query_rows() const { return query_offsets.back(); }
  Index key_rows() const { return key_offsets.back(); }
  std::size_t query_size() const { return static_cast<std::size_t>(query_rows() * width()); }
  std::size_t key_size() const { return static_cast<std::size_t>(key_rows() * width()); }
  std::size_t weight_size() const { return static_cast<std::size_t>(shape.labels * width()); }
  std::size_t bias_size() const { return static_cast<std::size_t>(shape.labels * shape.heads); }

  bool linked(std::size_t s, std::size_t i, std::size_t j, Index columns) const {
    for (Index c = 0; c < columns; ++c) {
      if (query_links[static_cast<std::size_t>(c * query_rows()) + query_row(s, i)] ==
          key_links[static_cast<std::size_t>(c * key_rows()) + key_row(s, j)])
        return true;
    }
    return false;
  }
  bool is_masked(Index label) const {
    return std::count(shape.masked.begin(), shape.masked.end(), label) > 0;
  }
  // Key row minus the one that query i stands at.
  std::ptrdiff_t distance(std::size_t s, std::size_t i, std::size_t j) const {
    return static_cast<std::ptrdiff_t>(j) - start(s) - static_cast<std::ptrdiff_t>(i);
  }
  Index start(std::size_t s) const { return shape.starts.empty() ? 0 : shape.starts[s]; }
  // Of real rows; a query's own key as any other, but where it is none's.
  bool visible(std::size_t s, std::size_t i, std::size_t j) const {
    const Index distance = this->distance(s, i, j);
    if (shape.causal && distance > 0) return false;
    if (shape.no_self && distance == 0) return false;
    if (shape.labels > 0 && is_masked(static_cast<Index>(label(s, i, j)))) return false;
    if (shape.after >= 0 && distance > shape.after) return false;
    if (shape.before >= 0 && -distance > shape.before) return false;
    if (shape.hidden && hidden[key_row(s, j)] != 0) return false;
    if (shape.groups && query_groups[query_row(s, i)] != key_groups[key_row(s, j)]) return false;
    const bool goes_free = shape.free_queries && free_queries[query_row(s, i)] != 0;
    return shape.needed == 0 || goes_free || linked(s, i, j, shape.needed);
  }
  std::size_t label(std::size_t s, std::size_t i, std::size_t j) const {
    const auto most = static_cast<std::size_t>(shape.most);
    if (shape.by_links) return 2 * most + 1 + (linked(s, i, j, shape.links) ? 1 : 0);
    if (shape.parts && query_parts[query_row(s, i)] != key_parts[key_row(s, j)]) return 2 * most + 3;
    if (shape.behind) return reference::label_behind(std::min<Index>(distance(s, i, j), 0), most);
    return reference::relative_label(distance(s, i, j), most);
  }

  // The real rows of one head of one sequence out of a matrix of all.
  reference::Matrix head_of(const std::vector<float>& rows, Index first, Index count, Index head) const {
    reference::Matrix result(static_cast<std::size_t>(count), static_cast<std::size_t>(shape.head_size));
    for (std::size_t t = 0; t < result.rows; ++t) {
      for (std::size_t d = 0; d < result.columns; ++d)
        result(t, d) = static_cast<double>(rows[element(first, t, head, d)]);
    }
    return result;
  }

  // What the oracle says of [query rows, C], [key rows, C], [labels, C] and [labels, H]; padding is zeros.
  struct Expected {
    reference::Vector out, log_sum_exp, dq, dk, dv, dweight, dbias;
  };
  Expected expected(const std::vector<float>& q, const std::vector<float>& k, const std::vector<float>& v,
                    const std::vector<float>& weight, const std::vector<float>& bias,
                    const std::vector<float>& dout) const {
    Expected result{reference::Vector(query_size()),
                    reference::Vector(static_cast<std::size_t>(query_rows() * shape.heads), INFINITY),
                    reference::Vector(query_size()),
                    reference::Vector(key_size()),
                    reference::Vector(key_size()),
                    reference::Vector(weight_size()),
                    reference::Vector(bias_size())};
    for (std::size_t s = 0; s < shape.queries.size(); ++s) {
      for (Index head = 0; head < shape.heads; ++head) {
        const Index first = query_offsets[s], first_key = key_offsets[s];
        const reference::PairAttention pairs = oracle(s, head, weight, bias);
        const reference::Matrix query = head_of(q, first, shape.queries[s], head);
        const reference::Matrix key = head_of(k, first_key, key_lengths[s], head);
        const reference::Matrix value = head_of(v, first_key, key_lengths[s], head);
        const auto forward = pair_attention_forward(pairs, query, key, value);
        const auto back =
            pair_attention_backward(pairs, query, key, value, head_of(dout, first, shape.queries[s], head));
        put(forward.output, first, head, result.out);
        for (std::size_t i = 0; i < forward.log_sum_exp.size(); ++i)
          result.log_sum_exp[static_cast<std::size_t>(head * query_rows()) + query_row(s, i)] =
              forward.log_sum_exp[i];
        put(back.query, first, head, result.dq);
        put(back.key, first_key, head, result.dk);
        put(back.value, first_key, head, result.dv);
        put(back.weight, 0, head, result.dweight);
        for (std::size_t label = 0; label < back.bias.size(); ++label)
          result.dbias[label * static_cast<std::size_t>(shape.heads) + static_cast<std::size_t>(head)] +=
              back.bias[label];
      }
    }
    return result;
  }

 private:
  // A block plan and its lists.
  struct Lists {
    std::vector<std::int32_t> row_offsets{0}, key_blocks, column_offsets{0}, query_blocks;
    BlockPlanView view;
  };

  std::size_t query_row(std::size_t s, std::size_t i) const {
    return static_cast<std::size_t>(query_offsets[s]) + i;
  }
  std::size_t key_row(std::size_t s, std::size_t j) const {
    return static_cast<std::size_t>(key_offsets[s]) + j;
  }
  std::size_t element(Index first, std::size_t row, Index head, std::size_t column) const {
    return (static_cast<std::size_t>(first) + row) * static_cast<std::size_t>(width()) +
           static_cast<std::size_t>(head * shape.head_size) + column;
  }

  void draw_rows() {
    std::mt19937 generator(91);
    const auto draw = [&](std::size_t count, unsigned below, auto& to) {
      to.resize(count);
      for (auto& value : to)
        value = static_cast<std::remove_reference_t<decltype(value)>>(generator() % below);
    };
    const auto queries = static_cast<std::size_t>(query_rows()), keys = static_cast<std::size_t>(key_rows());
    const auto columns = static_cast<std::size_t>(shape.links);
    draw(keys, 5, hidden);
    for (std::uint8_t& value : hidden) value = value == 0 ? 1 : 0;
    draw(queries, 4, free_queries);
    for (std::uint8_t& value : free_queries) value = value == 0 ? 1 : 0;
    draw(queries, 3, query_groups);
    draw(keys, 3, key_groups);
    draw(queries * columns, 6, query_links);
    draw(keys * columns, 6, key_links);
    draw(queries, 2, query_parts);
    if (!cross()) key_groups = query_groups;
    key_parts = query_parts;
    if (cross()) draw(keys, 2, key_parts);
  }

  // Of every head the blocks with a pair that meets.
  Lists listed(std::size_t s) const {
    static std::atomic<std::uint64_t> made{std::uint64_t{1} << 41};  // beside the plans of other tests
    const Index queries = (query_offsets[s + 1] - query_offsets[s]) / shape.block_size;
    const Index keys = (key_offsets[s + 1] - key_offsets[s]) / shape.block_size;
    const auto meets = [&](Index query_block, Index key_block) {
      const Index b = shape.block_size;
      for (Index i = query_block * b; i < std::min((query_block + 1) * b, shape.queries[s]); ++i) {
        for (Index j = key_block * b; j < std::min((key_block + 1) * b, key_lengths[s]); ++j) {
          if (visible(s, static_cast<std::size_t>(i), static_cast<std::size_t>(j))) return true;
        }
      }
      return false;
    };
    Lists lists;
    for (Index head = 0; head < shape.heads; ++head) {
      for (Index i = 0; i < queries; ++i) {
        for (Index j = 0; j < keys; ++j) {
          if (meets(i, j)) lists.key_blocks.push_back(static_cast<std::int32_t>(j));
        }
        lists.row_offsets.push_back(static_cast<std::int32_t>(lists.key_blocks.size()));
      }
      for (Index j = 0; j < keys; ++j) {
        for (Index i = 0; i < queries; ++i) {
          if (meets(i, j)) lists.query_blocks.push_back(static_cast<std::int32_t>(i));
        }
        lists.column_offsets.push_back(static_cast<std::int32_t>(lists.query_blocks.size()));
      }
    }
    lists.view = {++made,
                  shape.heads,
                  queries,
                  lists.row_offsets.data(),
                  lists.key_blocks.data(),
                  lists.column_offsets.data(),
                  lists.query_blocks.data(),
                  cross() ? keys : 0};
    return lists;
  }

  reference::PairAttention oracle(std::size_t s, Index head, const std::vector<float>& weight,
                                  const std::vector<float>& bias) const {
    reference::PairAttention pairs;
    pairs.visible = [this, s](std::size_t i, std::size_t j) { return visible(s, i, j); };
    pairs.scale = static_cast<double>(batch.scale);
    pairs.self_last = shape.self_last;
    pairs.start = static_cast<std::size_t>(start(s));
    if (shape.labels > 0) {
      pairs.label = [this, s](std::size_t i, std::size_t j) { return label(s, i, j); };
      pairs.weight = head_of(weight, 0, shape.labels, head);
      for (Index of = 0; shape.bias && of < shape.labels; ++of)
        pairs.bias.push_back(static_cast<double>(bias[static_cast<std::size_t>(of * shape.heads + head)]));
    }
    if (shape.drop_probability > 0) {
      pairs.factors = reference::Matrix(static_cast<std::size_t>(shape.queries[s]),
                                        static_cast<std::size_t>(key_lengths[s]));
      for (std::size_t i = 0; i < pairs.factors.rows; ++i) {
        for (std::size_t j = 0; j < pairs.factors.columns; ++j) {
          const std::size_t drawn = (static_cast<std::size_t>(head * query_rows()) + query_row(s, i)) *
                                        static_cast<std::size_t>(key_rows()) +
                                    key_row(s, j);
          pairs.factors(i, j) = dropout_keep(seed, batch.dropout_site, drawn, batch.drop_probability)
                                    ? 1.0 / (1.0 - shape.drop_probability)
                                    : 0.0;
        }
      }
    }
    return pairs;
  }
  void put(const reference::Matrix& from, Index first, Index head, reference::Vector& rows) const {
    for (std::size_t t = 0; t < from.rows; ++t) {
      for (std::size_t d = 0; d < from.columns; ++d) rows[element(first, t, head, d)] += from(t, d);
    }
  }

  std::vector<Lists> plans_;
  std::vector<const BlockPlanView*> views_;
};

}  // namespace bigbird::kernels
