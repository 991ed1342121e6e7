// See class_names.h.
#include "lib/text/class_names.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "lib/metrics/class_metrics.h"

namespace bigbird {

std::optional<std::int64_t> number_of_name(const std::string& name) {
  std::int64_t value = 0;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

namespace {

std::vector<std::string> sorted_names(std::vector<std::string> names) {
  const bool numbers =
      std::all_of(names.begin(), names.end(), [](const std::string& name) { return number_of_name(name); });
  std::sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    if (!numbers) return a < b;
    return std::pair(*number_of_name(a), a) < std::pair(*number_of_name(b), b);
  });
  return names;
}

}  // namespace

ClassNames::ClassNames(std::vector<std::string> names)
    : ClassNames(in_order(sorted_names(std::move(names)))) {}

ClassNames ClassNames::in_order(std::vector<std::string> names) {
  ClassNames result;
  result.names_ = std::move(names);
  for (std::size_t i = 0; i < result.names_.size(); ++i)
    result.numbers_.emplace(result.names_[i], static_cast<std::int32_t>(i));
  // A name that is there as it stands keeps its own number.
  for (std::size_t i = 0; i < result.names_.size(); ++i)
    result.numbers_.emplace(class_of_label(result.names_[i]), static_cast<std::int32_t>(i));
  return result;
}

std::optional<std::int32_t> ClassNames::number(const std::string& name) const {
  auto found = numbers_.find(name);
  if (found == numbers_.end()) found = numbers_.find(std::string(class_of_label(name)));
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace bigbird
