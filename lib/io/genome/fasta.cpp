// Random access to FASTA; see fasta.h. The arithmetic of lines and the bounds are ours, because faidx clamps
// ranges without a word.
#include "lib/io/genome/fasta.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/fasta_index.h"
#include "lib/io/genome/region.h"

namespace bigbird {
namespace {

constexpr std::array<char, 256> make_complement_table() {
  std::array<char, 256> table{};
  for (auto& entry : table) entry = 'N';
  constexpr std::string_view from = "ACGTURYSWKMBDHVN";
  constexpr std::string_view to = "TGCAAYRSWMKVHDBN";
  for (std::size_t i = 0; i < from.size(); ++i) {
    table[static_cast<std::uint8_t>(from[i])] = to[i];
    table[static_cast<std::uint8_t>(from[i] + 32)] = static_cast<char>(to[i] + 32);
  }
  return table;
}
constexpr auto complement_table = make_complement_table();

constexpr std::size_t piece_size = 1 << 18;

}  // namespace

struct Fasta::Shared {
  std::string path;
  IndexedFasta indexed;
  std::atomic<std::uint64_t> iupac_replaced{0};
};

struct Fasta::Handle {
  explicit Handle(const Shared& shared)
      : bytes(shared.path, shared.indexed.blocks), piece(piece_size, '\0') {}

  FastaBytes bytes;
  std::string piece;  // raw bytes of the file, reused
};

Fasta::Fasta(const std::string& path) : shared_(std::make_shared<Shared>()) {
  shared_->path = path;
  shared_->indexed = open_fasta_index(path);
  handle_ = std::make_unique<Handle>(*shared_);
}

Fasta::Fasta(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)), handle_(std::make_unique<Handle>(*shared_)) {}

Fasta::~Fasta() = default;
Fasta::Fasta(Fasta&&) noexcept = default;
Fasta& Fasta::operator=(Fasta&&) noexcept = default;

const std::string& Fasta::path() const {
  return shared_->path;
}
const std::vector<Contig>& Fasta::contigs() const {
  return shared_->indexed.index.contigs;
}
std::uint64_t Fasta::iupac_replaced() const {
  return shared_->iupac_replaced.load();
}
Fasta Fasta::clone() const {
  return Fasta(shared_);
}

std::string Fasta::fetch(std::size_t contig, std::int64_t begin, std::int64_t end, std::string* letters) {
  if (contig >= contigs().size()) throw_runtime(fmt::format("{}: has no contig number {}", path(), contig));
  const Contig& target = contigs()[contig];
  if (begin < 0 || end < begin || end > target.length) {
    throw_bad_input(fmt::format("{}: {} is outside of {}, which has {} bases", path(),
                                format_region(target.name, begin, end), target.name, target.length),
                    "check that the coordinates and the FASTA are of the same assembly");
  }
  std::string sequence(static_cast<std::size_t>(end - begin), '\0');
  if (letters != nullptr) letters->assign(sequence.size(), '\0');
  if (begin == end) return sequence;
  const FastaIndexEntry& entry = shared_->indexed.index.entries[contig];
  const auto refuse = [&](const char* at, std::uint8_t byte) {
    const std::int64_t base = begin + (at - sequence.data());
    // The first and last lines were held against the file: what ends earlier is a line between them.
    if (byte == '\n' || byte == '\r' || byte == '>') {
      throw_bad_input(
          fmt::format("{0}.fai: does not fit {0}: base {1} of {2} would be a line end or a header", path(),
                      base + 1, text_for_message(target.name, 40)),
          fmt::format("make the index again: samtools faidx {0} (or remove it: it is made anew)", path()));
    }
    throw_no_base(
        fmt::format("{}: base {}, line {} of its record", path(), base + 1, base / entry.line_bases + 1),
        byte, target.name);
  };
  std::int64_t raw_left = entry.place_of(end - 1) + 1 - entry.place_of(begin);
  handle_->bytes.seek(entry.place_of(begin));

  char* out = sequence.data();
  // bytes into the current line; line ends are columns >= line_bases
  std::int64_t column = begin % entry.line_bases;
  std::uint64_t replaced = 0;
  while (raw_left > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(raw_left, piece_size));
    const std::size_t count = handle_->bytes.read(handle_->piece.data(), wanted);
    if (count != wanted) {
      throw_bad_input(fmt::format("{}: ends within {}", path(), text_for_message(target.name, 40)),
                      "it was cut meanwhile; copy or download the file again");
    }
    raw_left -= static_cast<std::int64_t>(count);
    const auto* raw = reinterpret_cast<const std::uint8_t*>(handle_->piece.data());
    const std::uint8_t* const raw_end = raw + count;
    while (raw < raw_end) {
      if (column >= entry.line_bases) {
        const std::int64_t skipped = std::min<std::int64_t>(entry.line_width - column, raw_end - raw);
        raw += skipped;
        column += skipped;
        if (column == entry.line_width) column = 0;
        continue;
      }
      const std::int64_t bases = std::min<std::int64_t>(entry.line_bases - column, raw_end - raw);
      std::uint8_t flags = 0;
      if (letters != nullptr) std::copy(raw, raw + bases, letters->data() + (out - sequence.data()));
      for (std::int64_t i = 0; i < bases; ++i) {
        const std::uint8_t letter = base_letters[raw[i]];
        flags |= letter;
        out[i] = static_cast<char>(letter & ~base_flag);
      }
      if ((flags & base_flag) != 0) {
        for (std::int64_t i = 0; i < bases; ++i) {
          const std::uint8_t letter = base_letters[raw[i]];
          if (letter == not_a_base) refuse(out + i, raw[i]);
          if ((letter & base_flag) != 0) ++replaced;
        }
      }
      raw += bases;
      out += bases;
      column += bases;
    }
  }
  if (replaced > 0) shared_->iupac_replaced.fetch_add(replaced);
  return sequence;
}

std::string reverse_complement(std::string_view sequence) {
  std::string result(sequence.size(), '\0');
  const std::size_t size = sequence.size();
  for (std::size_t i = 0; i < size; ++i) {
    result[i] = complement_table[static_cast<std::uint8_t>(sequence[size - 1 - i])];
  }
  return result;
}

}  // namespace bigbird
