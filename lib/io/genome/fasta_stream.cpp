// FASTA records one after another; see fasta_stream.h.
#include "lib/io/genome/fasta_stream.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/genome/base_letters.h"

namespace bigbird {
namespace {

constexpr const char* fasta_hint = "a FASTA holds lines of >NAME, each followed by lines of bases";

std::string name_of_header(std::string_view line, const std::string& where) {
  const std::size_t end = line.find_first_of(" \t");
  const std::string_view name = line.substr(1, end == std::string_view::npos ? end : end - 1);
  if (name.empty()) throw_bad_input(where + ": a record without a name", fasta_hint);
  return std::string(name);
}

}  // namespace

bool FastaStream::next(FastaRecord& record) {
  if (at_end_) return false;
  std::string_view line;
  while (!started_) {
    if (!lines_.next(line)) return !(at_end_ = true);
    if (line.empty()) continue;
    if (line[0] != '>') throw_bad_input(lines_.where() + ": does not begin with >", fasta_hint);
    next_name_ = name_of_header(line, lines_.where());
    started_ = true;
  }
  record.name = std::move(next_name_);
  record.sequence.clear();
  at_end_ = true;
  while (lines_.next(line)) {
    if (!line.empty() && line[0] == '>') {
      next_name_ = name_of_header(line, lines_.where());
      at_end_ = false;
      break;
    }
    for (const char byte : line) {
      const std::uint8_t letter = base_letters[static_cast<std::uint8_t>(byte)];
      if (letter == not_a_base) throw_no_base(lines_.where(), static_cast<std::uint8_t>(byte), record.name);
      if ((letter & base_flag) != 0) ++iupac_replaced_;
      record.sequence += static_cast<char>(letter & ~base_flag);
    }
  }
  if (record.sequence.empty()) {
    throw_bad_input(fmt::format("{}: record {} holds no bases", lines_.where(), record.name), fasta_hint);
  }
  return true;
}

}  // namespace bigbird
