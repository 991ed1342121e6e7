// lib/io/genome holds files of genomes: FASTA, regions, BED, VCF and BCF, chains, tracks, tabix indexes.
// Coordinates are 0-based half-open whatever the format says. htslib ends here.
//
// How a byte of sequence is read, wherever it stands (FASTA, lines, typed text): upper-cased, A C G T N kept,
// U as T, other IUPAC letters N.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace bigbird {

// The letter stands in the low 7 bits; base_flag is set for IUPAC letters that were replaced by N, and alone
// for bytes that are no bases.
inline constexpr std::uint8_t base_flag = 0x80;
inline constexpr std::uint8_t not_a_base = base_flag;

constexpr std::array<std::uint8_t, 256> make_base_letters() {
  std::array<std::uint8_t, 256> table{};
  for (auto& entry : table) entry = not_a_base;
  constexpr std::string_view kept = "ACGTN";
  constexpr std::string_view replaced = "RYSWKMBDHVX";
  for (const char letter : kept) {
    table[static_cast<std::uint8_t>(letter)] = static_cast<std::uint8_t>(letter);
    table[static_cast<std::uint8_t>(letter + 32)] = static_cast<std::uint8_t>(letter);
  }
  table[static_cast<std::uint8_t>('U')] = table[static_cast<std::uint8_t>('u')] = 'T';
  for (const char letter : replaced) {
    table[static_cast<std::uint8_t>(letter)] = base_flag | 'N';
    table[static_cast<std::uint8_t>(letter + 32)] = base_flag | 'N';
  }
  return table;
}
inline constexpr auto base_letters = make_base_letters();

struct BasesRead {
  std::size_t bad = std::string_view::npos;  // the first byte that is no base; what follows is not read
  std::uint64_t replaced = 0;                // IUPAC letters that became N
};
// Reads letters in place.
BasesRead read_bases(std::string& letters);
// One warning of IUPAC letters that were read as N, "WHERE: ..."; none of none.
void warn_of_replaced_letters(const std::string& where, std::uint64_t count);

// The Error for a byte of a sequence that is no base: "WHERE: '-' in RECORD is no base", with what such a
// letter is of, and how to write the file without it.
[[noreturn]] void throw_no_base(const std::string& where, std::uint8_t byte, std::string_view record);

}  // namespace bigbird
