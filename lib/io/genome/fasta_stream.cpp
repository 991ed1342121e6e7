// FASTA records one after another; see fasta_stream.h.
#include "lib/io/genome/fasta_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
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

constexpr std::size_t line_bases = 60;
constexpr std::size_t lines_per_write = 65'536;

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

FastaWriter::FastaWriter(const std::string& path) : path_(path), file_(path) {}

void FastaWriter::add(const std::string& name, std::string_view bases) {
  begin(name);
  append(bases);
}

void FastaWriter::begin(const std::string& name) {
  end_record();
  file_.write(">" + name + "\n");
  name_ = name;
  bases_ = 0;
  offset_ = file_.size();
}

void FastaWriter::append(std::string_view bases) {
  std::string text;
  while (!bases.empty()) {
    text.clear();
    for (std::size_t line = 0; line < lines_per_write && !bases.empty(); ++line) {
      const std::size_t room = line_bases - bases_ % line_bases;
      const std::string_view part = bases.substr(0, room);
      text.append(part);
      if (part.size() == room) text.push_back('\n');
      bases_ += part.size();
      bases.remove_prefix(part.size());
    }
    file_.write(text);
  }
}

void FastaWriter::end_record() {
  if (name_.empty()) return;
  if (bases_ % line_bases != 0) file_.write("\n");
  fai_ += fmt::format("{}\t{}\t{}\t{}\t{}\n", name_, bases_, offset_, line_bases, line_bases + 1);
}

void FastaWriter::close() {
  end_record();
  file_.close();
  write_text_atomic(path_ + ".gzi", file_.gzi());
  write_text_atomic(path_ + ".fai", fai_);
}

}  // namespace bigbird
