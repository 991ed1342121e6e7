// Which characters stand side by side in pieces of a vocabulary. Between two characters that do not, no piece
// goes over: a text may be cut there, and its parts be encoded one by one.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>

#include "lib/core/unicode.h"

namespace bigbird {

class NeighbourPairs {
 public:
  void add(std::string_view piece) {
    char32_t before = 0;
    for (const CodePoint& c : CodePoints(piece)) {
      if (c.begin > 0) pairs_.insert(key(before, c.value));
      before = c.value;
    }
  }
  bool has(char32_t left, char32_t right) const { return pairs_.count(key(left, right)) != 0; }

 private:
  static std::uint64_t key(char32_t left, char32_t right) {
    return std::uint64_t{left} << 32 | std::uint64_t{right};
  }

  std::unordered_set<std::uint64_t> pairs_;
};

}  // namespace bigbird
