// See shell_words.h.
#include "lib/core/shell_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace bigbird {
namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
}

// Bash's $'...'.
std::string escaped(const std::string& word) {
  std::string quoted = "$'";
  for (const char c : word) {
    if (c == '\'' || c == '\\') {
      quoted += std::string("\\") + c;
    } else if (is_control(c)) {
      quoted += fmt::format("\\{:03o}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

}  // namespace

std::string shell_word(const std::string& word) {
  const std::string plain = "-_./:=,+@%^";
  const bool safe = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || plain.find(c) != std::string::npos;
  });
  if (safe) return word;
  if (std::any_of(word.begin(), word.end(), is_control)) return escaped(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace bigbird
