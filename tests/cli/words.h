// Command lines as lists of words, and what is looked for in messages.
#pragma once

#include <string>
#include <vector>

namespace bigbird::testing {

using Words = std::vector<std::string>;

inline Words operator+(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

inline bool holds(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

}  // namespace bigbird::testing
