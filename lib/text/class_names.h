// lib/text holds what the tasks over texts share: how a text becomes an input, and what a model was trained
// to read. Each task has a folder, and none of them includes another. Metrics are in lib/metrics.
//
// Classes by name and by number, of texts and of words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace bigbird {

// Classes in the order of their numbers: by value where all names are whole numbers, else by name (bytes).
class ClassNames {
 public:
  ClassNames() = default;
  // Distinct names, in any order.
  explicit ClassNames(std::vector<std::string> names);
  // Names as they stand in config.json, in their order.
  static ClassNames in_order(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  std::size_t size() const { return names_.size(); }
  // Nothing for a name that is none of them; "1.0" is "1", where not both are classes (class_of_label).
  std::optional<std::int32_t> number(const std::string& name) const;

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::int32_t> numbers_;
};

// The whole number that a name is; nothing for another.
std::optional<std::int64_t> number_of_name(const std::string& name);

}  // namespace bigbird
