// Letters of sequences, and what is said of those that are no bases; see base_letters.h.
#include "lib/io/genome/base_letters.h"

#include <fmt/format.h>

#include "lib/core/error.h"
#include "lib/core/log.h"

namespace bigbird {
namespace {

std::string name_of_byte(std::uint8_t byte) {
  if (byte == ' ') return "a blank";
  if (byte == '\t') return "a tab";
  if (byte == 0) return "a NUL byte";
  if (byte == '\n' || byte == '\r') return "a line end";
  if (byte > ' ' && byte < 0x7f) return fmt::format("'{}'", static_cast<char>(byte));
  return fmt::format("byte 0x{:02x}", byte);
}

std::string hint_of_byte(std::uint8_t byte) {
  constexpr std::string_view of_proteins = "EFILOPQZJefilopqzj*";
  if (byte == ' ' || byte == '\t' || byte == '\r') {
    return "take blanks out of the lines of bases: sed '/^>/!s/[[:space:]]//g' FILE > NEW.fa";
  }
  if (byte == '-' || byte == '.') {
    return "gaps are of alignments: take them out (sed '/^>/!s/[-.]//g' FILE > NEW.fa; places change), or write N "
           "for them";
  }
  if (byte == 0)
    return "the file is damaged, or its text is UTF-16; copy it again, or write it as plain text";
  if (of_proteins.find(static_cast<char>(byte)) != std::string_view::npos) {
    return "such letters are of proteins; bases are A C G T U N and the IUPAC letters R Y S W K M B D H V; write "
           "N for what is not known";
  }
  return "bases are A C G T U N and the IUPAC letters R Y S W K M B D H V; write N for what is not known";
}

}  // namespace

BasesRead read_bases(std::string& letters) {
  BasesRead read;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::uint8_t letter = base_letters[static_cast<std::uint8_t>(letters[i])];
    if (letter == not_a_base) {
      read.bad = i;
      return read;
    }
    if ((letter & base_flag) != 0) ++read.replaced;
    letters[i] = static_cast<char>(letter & ~base_flag);
  }
  return read;
}

void warn_of_replaced_letters(const std::string& where, std::uint64_t count) {
  if (count == 0) return;
  log_warning(fmt::format("{}: {} IUPAC letter{} other than A C G T N {} read as N", where, count,
                          count == 1 ? "" : "s", count == 1 ? "was" : "were"));
}

void throw_no_base(const std::string& where, std::uint8_t byte, std::string_view record) {
  throw_bad_input(fmt::format("{}: {} in record {} is not a base", where, name_of_byte(byte),
                              text_for_message(record, 40)),
                  hint_of_byte(byte));
}

}  // namespace bigbird
