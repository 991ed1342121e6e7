// Queries over rows of a cache that lie anywhere and come in any order, and what reference/attention.h
// says of them. The backends' tests share them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/types.h"
#include "reference/attention.h"
#include "reference/attention_pairs.h"

namespace bigbird::kernels {

// Keys and values lie side by side in a cache [cached, 2C].
struct RowProblem {
  Index heads, head_size, cached;
  std::vector<std::int32_t> rows, offsets{0};

  // A query for each of `counts`, over so many rows.
  RowProblem(Index of_heads, Index of_size, Index of_cache, const std::vector<Index>& counts)
      : heads(of_heads), head_size(of_size), cached(of_cache) {
    std::vector<std::int32_t> all(static_cast<std::size_t>(cached));
    std::iota(all.begin(), all.end(), 0);
    std::mt19937 random(9);
    for (const Index count : counts) {
      std::shuffle(all.begin(), all.end(), random);
      rows.insert(rows.end(), all.begin(), all.begin() + count);
      offsets.push_back(static_cast<std::int32_t>(rows.size()));
    }
  }
  Index queries() const { return static_cast<Index>(offsets.size()) - 1; }
  Index width() const { return heads * head_size; }
  std::size_t query_size() const { return static_cast<std::size_t>(queries() * width()); }
  std::size_t cache_size() const { return static_cast<std::size_t>(cached * 2 * width()); }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(head_size)); }

  // [queries, C]
  reference::Vector expected(const std::vector<float>& q, const std::vector<float>& kv) const {
    const auto size = static_cast<std::size_t>(head_size), columns = static_cast<std::size_t>(width());
    reference::Vector result(query_size());
    for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
      const auto first = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
      for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head) {
        reference::Matrix query(1, size), key(end - first, size), value(end - first, size);
        for (std::size_t d = 0; d < size; ++d) {
          query(0, d) = static_cast<double>(q[i * columns + head * size + d]);
          for (std::size_t j = first; j < end; ++j) {
            const std::size_t at = static_cast<std::size_t>(rows[j]) * 2 * columns + head * size + d;
            key(j - first, d) = static_cast<double>(kv[at]);
            value(j - first, d) = static_cast<double>(kv[at + columns]);
          }
        }
        const reference::Matrix out =
            reference::cross_attention_forward({.seen = end - first, .causal = false}, query, key, value);
        std::copy(out.values.begin(), out.values.end(),
                  result.begin() + static_cast<std::ptrdiff_t>(i * columns + head * size));
      }
    }
    return result;
  }
};

// Queries and keys are the rows of one matrix [rows, 3C], each with a list of some of them and a label for
// each, a quarter of them or, of many, a 40th; the last row names nobody and nobody names it, and row 0 sees
// all others but that.
struct LabelledRows {
  Index heads, head_size, rows;
  bool by_head;
  static constexpr Index label_count = 7;
  std::vector<std::int32_t> listed, offsets{0}, labels;
  std::vector<std::int32_t> queries, key_offsets{0}, key_labels;  // the lists the other way around

  LabelledRows(Index of_heads, Index of_size, Index row_count, bool with_labels, bool labels_by_head)
      : heads(of_heads), head_size(of_size), rows(row_count), by_head(labels_by_head) {
    std::mt19937 random(static_cast<std::uint32_t>(17 * of_heads + of_size));
    std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> of_keys(static_cast<std::size_t>(rows));
    for (Index query = 0; query < rows; ++query) {
      for (Index key = 0; key + 1 < rows && query + 1 < rows; ++key) {
        if (query > 0 && random() % (rows > 100 ? 40 : 4) != 0) continue;
        const auto label = static_cast<std::int32_t>(random() % label_count);
        listed.push_back(static_cast<std::int32_t>(key));
        if (with_labels) labels.push_back(label);
        of_keys[static_cast<std::size_t>(key)].push_back({static_cast<std::int32_t>(query), label});
      }
      offsets.push_back(static_cast<std::int32_t>(listed.size()));
    }
    for (const auto& key : of_keys) {
      for (const auto& [query, label] : key) {
        queries.push_back(query);
        if (with_labels) key_labels.push_back(label);
      }
      key_offsets.push_back(static_cast<std::int32_t>(queries.size()));
    }
  }
  Index width() const { return heads * head_size; }
  std::size_t table_size() const {
    return static_cast<std::size_t>(label_count * (by_head ? width() : head_size));
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(head_size)); }

  struct Result {
    reference::Vector out, log_sum_exp, dqkv, dlabels;  // [rows, C], [H, rows], [rows, 3C], as the table
  };
  // A bias for each label and head [label_count, H], of one label and head -infinity.
  std::vector<float> biases() const {
    std::vector<float> all(static_cast<std::size_t>(label_count * heads));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i * 7 % 11) - 4.5f;
    all[static_cast<std::size_t>(2 * heads)] = -INFINITY;
    return all;
  }

  // qkv [rows, 3C], table [label_count, D or C], dout [rows, C], bias [label_count, H] or none
  Result expected(const std::vector<float>& qkv, const std::vector<float>& table,
                  const std::vector<float>& dout, const std::vector<float>& bias = {}) const {
    const auto count = static_cast<std::size_t>(rows), size = static_cast<std::size_t>(head_size),
               columns = static_cast<std::size_t>(width());
    std::vector<int> pair_label(count * count, -1);  // -1: no pair
    for (std::size_t i = 0; i < count; ++i) {
      for (auto entry = static_cast<std::size_t>(offsets[i]);
           entry < static_cast<std::size_t>(offsets[i + 1]); ++entry)
        pair_label[i * count + static_cast<std::size_t>(listed[entry])] = labels.empty() ? 0 : labels[entry];
    }
    Result result{reference::Vector(count * columns),
                  {},
                  reference::Vector(3 * count * columns),
                  reference::Vector(table.size())};
    for (std::size_t head = 0; head < static_cast<std::size_t>(heads); ++head) {
      const auto part = [&](const std::vector<float>& from, std::size_t stride, std::size_t first) {
        reference::Matrix matrix(from.size() / stride, size);
        for (std::size_t i = 0; i < matrix.rows; ++i) {
          for (std::size_t d = 0; d < size; ++d)
            matrix(i, d) = static_cast<double>(from[i * stride + first + d]);
        }
        return matrix;
      };
      const auto put = [&](const reference::Matrix& from, reference::Vector& to, std::size_t stride,
                           std::size_t first) {
        for (std::size_t i = 0; i < from.rows; ++i) {
          for (std::size_t d = 0; d < size; ++d) to[i * stride + first + d] += from(i, d);
        }
      };
      const std::size_t column = head * size, of_table = by_head ? column : 0;
      const std::size_t table_stride = by_head ? columns : size;
      reference::PairAttention pairs;
      pairs.scale = static_cast<double>(scale());
      pairs.visible = [&](std::size_t i, std::size_t j) { return pair_label[i * count + j] >= 0; };
      if (!labels.empty()) {
        pairs.label = [&](std::size_t i, std::size_t j) {
          return static_cast<std::size_t>(pair_label[i * count + j]);
        };
        pairs.weight = part(table, table_stride, of_table);
        for (std::size_t label = head; label < bias.size(); label += static_cast<std::size_t>(heads))
          pairs.bias.push_back(static_cast<double>(bias[label]));
      }
      const reference::Matrix q = part(qkv, 3 * columns, column),
                              k = part(qkv, 3 * columns, columns + column),
                              v = part(qkv, 3 * columns, 2 * columns + column);
      const auto forward = reference::pair_attention_forward(pairs, q, k, v);
      put(forward.output, result.out, columns, column);
      result.log_sum_exp.insert(result.log_sum_exp.end(), forward.log_sum_exp.begin(),
                                forward.log_sum_exp.end());
      const auto gradients = reference::pair_attention_backward(pairs, q, k, v, part(dout, columns, column));
      put(gradients.query, result.dqkv, 3 * columns, column);
      put(gradients.key, result.dqkv, 3 * columns, columns + column);
      put(gradients.value, result.dqkv, 3 * columns, 2 * columns + column);
      if (!labels.empty()) put(gradients.weight, result.dlabels, table_stride, of_table);
    }
    return result;
  }
};

}  // namespace bigbird::kernels
