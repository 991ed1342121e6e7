// A table of counts as shaded cells, for pages (html_page.h): what was predicted of each class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bigbird {

struct MatrixChart {
  std::string title;
  std::vector<std::string> names;    // of rows and columns
  std::vector<std::int64_t> counts;  // [names, names]: rows are labels, columns predictions
};

// An <svg> element. A cell is as dark as its fraction of its row.
std::string matrix_chart_svg(const MatrixChart& chart);

}  // namespace bigbird
