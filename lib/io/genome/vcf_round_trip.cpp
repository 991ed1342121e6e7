// Lines of VCF before and after they were BCF; see vcf_handles.h.
#include "lib/io/genome/vcf_handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::array<std::string_view, 7> fixed_columns = {"CHROM", "POS",  "ID",    "REF",
                                                           "ALT",   "QUAL", "FILTER"};
constexpr std::size_t info_column = 7;
constexpr std::size_t format_column = 8;
constexpr double float32_digits = 1.2e-7;  // relative
constexpr double smallest_float32 = 1.5e-45;

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<double> number_in(std::string_view text) {
  if (text.empty() || text.front() == ' ') return std::nullopt;
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  return value;
}

bool is_nothing(std::string_view text) {
  return text.empty() || text == ".";
}

bool same_value(std::string_view text, std::string_view made) {
  if (text == made || (is_nothing(text) && is_nothing(made))) return true;
  const auto one = number_in(text), other = number_in(made);
  if (!one || !other) return false;
  if (std::isnan(*one) || std::isnan(*other)) return std::isnan(*one) == std::isnan(*other);
  // "inf" may be written; 1e60 is a number that a float32 does not hold.
  const auto has_digits = [](std::string_view word) {
    return word.find_first_of("0123456789") != std::string_view::npos;
  };
  if (std::isinf(*one) || std::isinf(*other)) return *one == *other && !has_digits(text);
  if (*one == *other) return true;
  const auto is_whole = [](std::string_view word) {
    return word.find_first_not_of("+-0123456789") == std::string_view::npos;
  };
  // Of a float32 a million and more is printed with an exponent.
  if (is_whole(made) && (is_whole(text) || std::abs(*other) >= 1e6)) return false;
  // A float32 that is printed with six digits: half of one of the sixth.
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(*other))) - 5);
  const double rounding = std::max(float32_digits * std::abs(*one), smallest_float32);
  return *other != 0 && std::abs(*one - *other) <= unit / 2 + rounding;
}

// Lists of values; what is missing behind the last of them is not written.
bool same_list(std::string_view text, std::string_view made) {
  if (text == made) return true;
  const auto one = split_at(text, ','), other = split_at(made, ',');
  if (one.size() != other.size()) {
    // One "." stands for a whole list of them.
    const auto all_missing = [](const std::vector<std::string_view>& values) {
      for (const std::string_view value : values) {
        if (!is_nothing(value)) return false;
      }
      return true;
    };
    return all_missing(one) && all_missing(other);
  }
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!same_value(one[i], other[i])) return false;
  }
  return true;
}

std::string change(std::string_view name, std::string_view text, std::string_view made) {
  return fmt::format("{} {} would become {}", name, text_for_message(text),
                     made.empty() ? "nothing" : text_for_message(made));
}

std::vector<std::string_view> entries_of(std::string_view info) {
  std::vector<std::string_view> entries = split_at(info, ';');
  std::erase_if(entries, is_nothing);
  return entries;
}

// "DB" and "DB=" have an empty value.
std::pair<std::string_view, std::string_view> key_and_value(std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos) return {entry, {}};
  return {entry.substr(0, equals), entry.substr(equals + 1)};
}

std::string changed_info(std::string_view text, std::string_view made) {
  if (text == made) return {};
  const auto one = entries_of(text), other = entries_of(made);
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (i >= other.size()) return change("INFO entry", one[i], "");
    if (one[i] == other[i]) continue;
    const auto [key, value] = key_and_value(one[i]);
    const auto [made_key, made_value] = key_and_value(other[i]);
    if (key != made_key || !same_list(value, made_value)) return change("INFO", one[i], other[i]);
  }
  return other.size() > one.size() ? change("INFO", text, made) : std::string();
}

std::string changed_sample(std::size_t number, const std::vector<std::string_view>& keys,
                           std::string_view text, std::string_view made) {
  if (text == made) return {};
  const auto one = split_at(text, ':'), other = split_at(made, ':');
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    const std::string_view value = i < one.size() ? one[i] : ".", becomes = i < other.size() ? other[i] : ".";
    if (same_list(value, becomes)) continue;
    const std::string_view key = i < keys.size() ? keys[i] : "?";
    return change(fmt::format("FORMAT/{} of sample {}:", key, number), value, becomes);
  }
  return {};
}

}  // namespace

std::string changed_value(std::string_view line, std::string_view made) {
  while (line.ends_with('\r') || line.ends_with('\n')) line.remove_suffix(1);
  while (made.ends_with('\n')) made.remove_suffix(1);
  if (line == made) return {};
  const auto one = split_at(line, '\t'), other = split_at(made, '\t');
  for (std::size_t column = 0; column < fixed_columns.size(); ++column) {
    const std::string_view text = column < one.size() ? one[column] : ".";
    const std::string_view becomes = column < other.size() ? other[column] : ".";
    const bool is_number = fixed_columns[column] == "POS" || fixed_columns[column] == "QUAL";
    const bool same = text == becomes || (is_nothing(text) && is_nothing(becomes));
    if (!same && !(is_number && same_value(text, becomes)))
      return change(fixed_columns[column], text, becomes);
  }
  const auto at = [](const std::vector<std::string_view>& columns, std::size_t column) {
    return column < columns.size() ? columns[column] : std::string_view();
  };
  if (std::string info = changed_info(at(one, info_column), at(other, info_column)); !info.empty())
    return info;
  if (one.size() <= format_column) return {};
  // A FORMAT of which no sample has a value is not written at all.
  const std::string_view format = at(one, format_column), made_format = at(other, format_column);
  if (format != made_format && !(is_nothing(format) && is_nothing(made_format)))
    return change("FORMAT", format, made_format);
  const auto keys = split_at(format, ':');
  for (std::size_t column = format_column + 1; column < one.size(); ++column) {
    std::string sample = changed_sample(column - format_column, keys, one[column], at(other, column));
    if (!sample.empty()) return sample;
  }
  return {};
}

}  // namespace bigbird
