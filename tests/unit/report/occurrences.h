// Counting in an SVG.
#pragma once

#include <cstddef>
#include <string>

namespace bigbird {

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

}  // namespace bigbird
