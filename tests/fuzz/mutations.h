// Damaged copies of a file, a function of (seed bytes, index): a short fuzzing run that every build can do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

#include "lib/core/rng.h"

namespace bigbird::fuzz {

// One to four of: a byte changed, a stretch removed, a stretch repeated elsewhere, a number or a word of the
// file's kind put in, the end cut off.
inline std::string mutated(std::string bytes, std::uint64_t index) {
  CounterRng rng(20200728, Purpose::test, index);
  const char* const words[] = {"0",  "-1", "4294967296", "1e999", "null",    "true", "\"\"",
                               "[]", "{}", "[[",         "}",     "\\u0000", "\xFF", "\"A\""};
  for (std::int64_t steps = rng.between(1, 4); steps > 0 && !bytes.empty(); --steps) {
    const std::size_t at = rng.below(bytes.size());
    const std::size_t length = 1 + rng.below(std::min<std::size_t>(bytes.size() - at, 40));
    switch (rng.below(6)) {
      case 0:
        bytes[at] = static_cast<char>(rng.below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << rng.below(8)));
        break;
      case 2:
        bytes.erase(at, length);
        break;
      case 3:
        bytes.insert(rng.below(bytes.size()), bytes.substr(at, length));
        break;
      case 4:
        bytes.replace(at, length, words[rng.below(std::size(words))]);
        break;
      default:
        if (rng.below(4) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

}  // namespace bigbird::fuzz
