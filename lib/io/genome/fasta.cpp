// Random access to FASTA; see fasta.h. The bytes come through htslib's BGZF layer; the arithmetic of lines
// and the bounds are ours, because faidx clamps ranges without a word.
#include "lib/io/genome/fasta.h"

#include <fmt/format.h>
#include <htslib/bgzf.h>
#include <htslib/hts.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"
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
  FastaIndex index;
  std::atomic<std::uint64_t> iupac_replaced{0};
};

struct Fasta::Handle {
  BgzfHandle bgzf;
  std::string piece;  // raw bytes of the file, reused
};

Fasta::Fasta(const std::string& path)
    : shared_(std::make_shared<Shared>()), handle_(std::make_unique<Handle>()) {
  shared_->path = path;
  handle_->bgzf = open_bgzf(path);
  const int compression = bgzf_compression(handle_->bgzf.get());
  if (compression == gzip) refuse_plain_gzip(path);
  const bool is_bgzf = compression == bgzf;
  const std::string fai_path = path + ".fai";
  if (!file_exists(fai_path) || (is_bgzf && !file_exists(path + ".gzi"))) build_fasta_index(path);
  shared_->index = read_fasta_index(fai_path);
  if (is_bgzf && bgzf_index_load(handle_->bgzf.get(), path.c_str(), ".gzi") != 0) {
    throw_bad_input(fmt::format("{}.gzi: cannot be read as an index of {}", path, path),
                    fmt::format("remove it and make it again: samtools faidx {}", path));
  }
  handle_->piece.resize(piece_size);
}

Fasta::Fasta(std::shared_ptr<Shared> shared)
    : shared_(std::move(shared)), handle_(std::make_unique<Handle>()) {
  handle_->bgzf = open_bgzf(shared_->path);
  if (bgzf_compression(handle_->bgzf.get()) == bgzf &&
      bgzf_index_load(handle_->bgzf.get(), shared_->path.c_str(), ".gzi") != 0) {
    throw_bad_input(fmt::format("{}.gzi: cannot be read", shared_->path));
  }
  handle_->piece.resize(piece_size);
}

Fasta::~Fasta() = default;
Fasta::Fasta(Fasta&&) noexcept = default;
Fasta& Fasta::operator=(Fasta&&) noexcept = default;

const std::string& Fasta::path() const {
  return shared_->path;
}
const std::vector<Contig>& Fasta::contigs() const {
  return shared_->index.contigs;
}
std::uint64_t Fasta::iupac_replaced() const {
  return shared_->iupac_replaced.load();
}
Fasta Fasta::clone() const {
  return Fasta(shared_);
}

std::string Fasta::fetch(std::size_t contig, std::int64_t begin, std::int64_t end) {
  if (contig >= contigs().size()) throw_runtime(fmt::format("{}: has no contig number {}", path(), contig));
  const Contig& target = contigs()[contig];
  if (begin < 0 || end < begin || end > target.length) {
    throw_bad_input(fmt::format("{}: {} is outside of {}, which has {} bases", path(),
                                format_region(target.name, begin, end), target.name, target.length),
                    "check that the coordinates and the FASTA are of the same assembly");
  }
  const auto stale = [&] {
    throw_bad_input(
        fmt::format("{}: {} holds bytes that are no bases", path(), format_region(target.name, begin, end)),
        fmt::format("the index may belong to another version of the file; make it again: samtools faidx {}",
                    path()));
  };
  std::string sequence(static_cast<std::size_t>(end - begin), '\0');
  if (begin == end) return sequence;
  const FastaIndexEntry& entry = shared_->index.entries[contig];
  const auto offset_of = [&](std::int64_t base) {
    return entry.offset + base / entry.line_bases * entry.line_width + base % entry.line_bases;
  };
  std::int64_t raw_left = offset_of(end - 1) + 1 - offset_of(begin);
  if (bgzf_useek(handle_->bgzf.get(), offset_of(begin), SEEK_SET) != 0) throw_damaged_compression(path());

  char* out = sequence.data();
  // bytes into the current line; line ends are columns >= line_bases
  std::int64_t column = begin % entry.line_bases;
  std::uint64_t replaced = 0;
  while (raw_left > 0) {
    const auto wanted = static_cast<std::size_t>(std::min<std::int64_t>(raw_left, piece_size));
    const ssize_t count = bgzf_read(handle_->bgzf.get(), handle_->piece.data(), wanted);
    if (count < 0) throw_damaged_compression(path());
    if (static_cast<std::size_t>(count) != wanted) stale();
    raw_left -= count;
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
      for (std::int64_t i = 0; i < bases; ++i) {
        const std::uint8_t letter = base_letters[raw[i]];
        flags |= letter;
        out[i] = static_cast<char>(letter & ~base_flag);
      }
      if ((flags & base_flag) != 0) {
        for (std::int64_t i = 0; i < bases; ++i) {
          const std::uint8_t letter = base_letters[raw[i]];
          if (letter == not_a_base) stale();
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
