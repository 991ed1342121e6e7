// Numbers with three digits; see shown_numbers.h.
#include "lib/report/shown_numbers.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <string_view>

#include "lib/report/svg_text.h"

namespace bigbird {

std::string count_text(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "no value";
  const double size = std::abs(value);
  if (size < 999.5) return fmt::format("{:.3g}", value);
  if (size >= 1e9) return fmt::format("{:.2e}", value);
  const double unit = std::pow(10.0, std::floor(std::log10(size)) - 2);
  return (value < 0 ? "-" : "") +
         count_text(static_cast<std::uint64_t>(std::round(size / unit) * unit + 0.5));
}

std::string percent_text(double share) {
  return three_digits(100 * share) + " %";
}

std::string shown_cell(const std::string& text) {
  const std::string_view number = std::string_view(text).substr(0, text.find(' '));
  if (number.find_first_of(".e") == std::string_view::npos || !is_number_text(number)) return text;
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return std::isfinite(value) ? three_digits(value) + text.substr(number.size()) : text;
}

bool begins_with_number(const std::string& text) {
  return is_number_text(std::string_view(text).substr(0, text.find(' ')));
}

}  // namespace bigbird
