// BGZF FASTA with its indexes; see fasta_writer.h.
#include "lib/io/fasta_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "lib/io/file.h"

namespace bigbird {
namespace {
constexpr std::size_t line_bases = 60;
constexpr std::size_t lines_per_write = 65'536;
}  // namespace

FastaWriter::FastaWriter(const std::string& path) : path_(path), file_(path) {}

void FastaWriter::add(const std::string& name, std::string_view bases) {
  file_.write(">" + name + "\n");
  fai_ += fmt::format("{}\t{}\t{}\t{}\t{}\n", name, bases.size(), file_.size(), line_bases, line_bases + 1);
  std::string text;
  for (std::size_t at = 0; at < bases.size(); at += line_bases * lines_per_write) {
    const std::string_view part = bases.substr(at, line_bases * lines_per_write);
    text.clear();
    for (std::size_t line = 0; line < part.size(); line += line_bases) {
      text.append(part.substr(line, line_bases)).push_back('\n');
    }
    file_.write(text);
  }
}

void FastaWriter::close() {
  file_.close();
  write_text_atomic(path_ + ".gzi", file_.gzi());
  write_text_atomic(path_ + ".fai", fai_);
}

}  // namespace bigbird
