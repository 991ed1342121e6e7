// Named values and tallies of ids; see metric_list.h.
#include "lib/metrics/metric_list.h"

#include <cstddef>
#include <unordered_set>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::size_t shown_ids = 5;

// Counts the ids that are not among `known`, and keeps the first ones.
std::int64_t count_absent_ids(std::span<const std::string_view> ids,
                              const std::unordered_set<std::string_view>& known,
                              std::vector<std::string>& first) {
  std::int64_t count = 0;
  for (const std::string_view id : ids) {
    if (known.contains(id)) continue;
    ++count;
    if (first.size() < shown_ids) first.emplace_back(id);
  }
  return count;
}

}  // namespace

double metric_value(const MetricList& metrics, std::string_view name) {
  for (const Metric& metric : metrics) {
    if (metric.name == name) return metric.value;
  }
  throw_runtime("no metric '" + std::string(name) + "'");
}

IdTally tally_ids(std::span<const std::string_view> gold, std::span<const std::string_view> predicted) {
  IdTally tally;
  tally.questions = static_cast<std::int64_t>(gold.size());
  tally.missing = count_absent_ids(gold, {predicted.begin(), predicted.end()}, tally.missing_ids);
  tally.unknown = count_absent_ids(predicted, {gold.begin(), gold.end()}, tally.unknown_ids);
  return tally;
}

}  // namespace bigbird
