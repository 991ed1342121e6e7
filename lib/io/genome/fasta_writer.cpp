// BGZF FASTA with its indexes; see fasta_writer.h.
#include "lib/io/genome/fasta_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "lib/io/files/file.h"

namespace bigbird {
namespace {
constexpr std::size_t line_bases = 60;
constexpr std::size_t lines_per_write = 65'536;
}  // namespace

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
