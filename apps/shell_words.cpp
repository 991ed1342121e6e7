// See shell_words.h.
#include "apps/shell_words.h"

#include <algorithm>
#include <cctype>

namespace bigbird::apps {

std::string shell_word(const std::string& word) {
  const std::string plain = "-_./:=,+@%^";
  const bool safe = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || plain.find(c) != std::string::npos;
  });
  if (safe) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace bigbird::apps
