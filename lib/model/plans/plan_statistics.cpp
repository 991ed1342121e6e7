// Graph facts of a block plan; see plan_statistics.h.
#include "lib/model/plans/plan_statistics.h"

#include <algorithm>
#include <cstddef>
#include <set>

namespace bigbird {

PlanStatistics plan_statistics(const std::vector<std::vector<std::int32_t>>& rows) {
  const std::size_t n = rows.size();
  PlanStatistics result;
  result.blocks = static_cast<std::int64_t>(n);
  if (n == 0) return result;
  std::vector<std::int64_t> in(n, 0);
  std::vector<std::set<std::int32_t>> seen(n), seen_by(n);
  result.min_out = static_cast<std::int64_t>(rows[0].size());
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t out = static_cast<std::int64_t>(rows[i].size());
    result.listed += out;
    result.min_out = std::min(result.min_out, out);
    result.max_out = std::max(result.max_out, out);
    for (const std::int32_t key : rows[i]) {
      ++in[static_cast<std::size_t>(key)];
      seen[i].insert(key);
      seen_by[static_cast<std::size_t>(key)].insert(static_cast<std::int32_t>(i));
    }
  }
  result.mean_out = static_cast<double>(result.listed) / static_cast<double>(n);
  result.min_in = *std::min_element(in.begin(), in.end());
  result.max_in = *std::max_element(in.begin(), in.end());
  std::int64_t reached_pairs = 0, path_sum = 0;
  for (std::size_t start = 0; start < n; ++start) {
    result.distinct += static_cast<std::int64_t>(seen[start].size());
    if (seen[start].size() == n && seen_by[start].size() == n) {
      result.star_centres.push_back(static_cast<std::int64_t>(start));
    }
    std::vector<std::int64_t> distance(n, -1);
    distance[start] = 0;
    std::vector<std::size_t> queue{start};
    for (std::size_t head = 0; head < queue.size(); ++head) {
      for (const std::int32_t next : seen[queue[head]]) {
        std::int64_t& d = distance[static_cast<std::size_t>(next)];
        if (d >= 0) continue;
        d = distance[queue[head]] + 1;
        queue.push_back(static_cast<std::size_t>(next));
      }
    }
    for (std::size_t end = 0; end < n; ++end) {
      if (end == start) continue;
      if (distance[end] < 0) {
        ++result.unreachable_pairs;
        continue;
      }
      ++reached_pairs;
      path_sum += distance[end];
      result.longest_path = std::max(result.longest_path, distance[end]);
    }
  }
  if (reached_pairs > 0)
    result.mean_path = static_cast<double>(path_sum) / static_cast<double>(reached_pairs);
  return result;
}

}  // namespace bigbird
