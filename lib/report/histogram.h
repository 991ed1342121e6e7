// How often values lie where, as lines of a chart.
#pragma once

#include <string>
#include <vector>

#include "lib/report/line_chart.h"

namespace bigbird {

// Values of one kind: "promoters", "others".
struct HistogramValues {
  std::string name;
  std::vector<double> values;       // those that are not finite are left out
  std::vector<double> counts = {};  // how often each of them stands; empty: once
};

// One chart of several kinds over the same `bins` bins of equal width from the lowest to the highest value of
// all; a line's y is the number of values in the bin, or with `shares` its share of its kind (of kinds that
// differ much in number). The last bin holds its upper end.
LineChart histogram(const std::string& title, const std::string& x_label,
                    const std::vector<HistogramValues>& kinds, bool shares, std::size_t bins = 50);

}  // namespace bigbird
