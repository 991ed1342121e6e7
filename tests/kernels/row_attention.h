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

}  // namespace bigbird::kernels
