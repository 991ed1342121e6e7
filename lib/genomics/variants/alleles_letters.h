// Letters of alleles: bases, and the IUPAC codes that stand for several.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bigbird {

inline std::string upper_case(std::string_view text) {
  std::string upper(text);
  for (char& letter : upper) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return upper;
}

// The bases that an upper-case code stands for, one bit each (A 1, C 2, G 4, T 8); 0 for any other letter.
constexpr unsigned iupac_bases(char code) {
  constexpr std::string_view codes = "ACMGRSVTWYHKDBN";  // in the order of the bits
  const std::size_t at = codes.find(code);
  return at == std::string_view::npos ? 0U : static_cast<unsigned>(at) + 1U;
}

constexpr bool is_acgt(char letter) {
  return letter == 'A' || letter == 'C' || letter == 'G' || letter == 'T';
}

inline bool is_acgt(std::string_view text) {
  for (const char letter : text) {
    if (!is_acgt(letter)) return false;
  }
  return true;
}

inline bool is_iupac(std::string_view text) {
  for (const char letter : text) {
    if (iupac_bases(letter) == 0) return false;
  }
  return !text.empty();
}

// Whether the code may stand for what the genome has; an N of the genome is held by N alone.
constexpr bool code_holds(char code, char base) {
  const unsigned held = iupac_bases(base);
  return held != 0 && (iupac_bases(code) & held) == held;
}

// Takes off the common end, then the common beginning; moves `begin` by the latter. False where there was
// neither.
inline bool trim_alleles(std::string& ref, std::string& alt, std::int64_t& begin) {
  const std::size_t before = ref.size();
  std::size_t end = 0;
  const std::size_t shorter = std::min(ref.size(), alt.size());
  while (end < shorter && ref[ref.size() - 1 - end] == alt[alt.size() - 1 - end]) ++end;
  ref.resize(ref.size() - end);
  alt.resize(alt.size() - end);
  std::size_t front = 0;
  while (front < std::min(ref.size(), alt.size()) && ref[front] == alt[front]) ++front;
  ref.erase(0, front);
  alt.erase(0, front);
  begin += static_cast<std::int64_t>(front);
  return ref.size() != before;
}

// Moves an insertion or deletion of `change` before base `begin` as far to the left as it is the same
// change, up to the beginning of its contig. A base to the left turns its letters round, and is the same
// change while the base before it is the letter that stands last (Tan et al. 2015,
// doi:10.1093/bioinformatics/btv112); N never is. `base_at(position)` is the genome's letter. False where it
// stays.
template <typename BaseAt>
bool left_align(std::string& change, std::int64_t& begin, const BaseAt& base_at) {
  const std::size_t size = change.size();
  std::size_t steps = 0;
  while (begin > 0 && base_at(begin - 1) == change[size - 1 - steps % size]) {
    --begin;
    ++steps;
  }
  std::rotate(change.begin(), change.end() - static_cast<std::ptrdiff_t>(steps % size), change.end());
  return steps > 0;
}

}  // namespace bigbird
