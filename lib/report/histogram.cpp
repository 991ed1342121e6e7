// Counts values by bins; see charts.h.
#include "lib/report/charts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bigbird {

LineChart histogram(const std::string& title, const std::string& x_label,
                    const std::vector<HistogramValues>& kinds, bool shares, std::size_t bins) {
  LineChart chart;
  chart.title = title;
  chart.x_label = x_label;
  chart.y_label = shares ? "share" : "count";
  chart.from_zero = true;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const HistogramValues& kind : kinds) {
    for (const double value : kind.values) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return chart;
  if (low == high) {
    const double room = std::max(std::abs(low), 1e-6) * 0.5;
    low -= room;
    high += room;
  }
  const double width = (high - low) / static_cast<double>(bins);
  for (const HistogramValues& kind : kinds) {
    std::vector<double> counts(bins, 0);
    double all = 0;
    for (std::size_t i = 0; i < kind.values.size(); ++i) {
      const double value = kind.values[i];
      if (!std::isfinite(value)) continue;
      const double count = kind.counts.empty() ? 1 : kind.counts[i];
      counts[std::min(bins - 1, static_cast<std::size_t>((value - low) / width))] += count;
      all += count;
    }
    ChartLine line{kind.name, {{low, 0}}, false, true};
    for (std::size_t bin = 0; bin < bins; ++bin)
      line.points.emplace_back(low + width * static_cast<double>(bin),
                               shares && all > 0 ? counts[bin] / all : counts[bin]);
    line.points.emplace_back(high, 0);
    chart.lines.push_back(std::move(line));
  }
  return chart;
}

}  // namespace bigbird
