// The .fai and .gzi indexes of a FASTA file: reading and building them (whether they fit: fasta_fit.cpp,
// bgzf_blocks.cpp). See fasta.h; format: samtools faidx(5). Built here and not by htslib's fai_build, which
// drops duplicate names and accepts empty records without an error.
#include "lib/io/genome/fasta_index.h"

#include <fmt/format.h>
#include <htslib/bgzf.h>
#include <htslib/hts.h>

#include <unordered_set>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"
#include "lib/io/files/output_set.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/genome/fasta.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// Fed the decompressed bytes of a FASTA in pieces of any size; lines may be as long as a chromosome.
class IndexBuilder {
 public:
  explicit IndexBuilder(std::string path) : path_(std::move(path)) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t newline = bytes.find('\n');
      const std::string_view piece = bytes.substr(0, newline);
      if (!piece.empty()) extend_line(piece);
      if (newline == std::string_view::npos) break;
      finish_line();
      bytes.remove_prefix(newline + 1);
    }
  }

  std::string finish() {
    if (line_length_ > 0) finish_line();
    finish_record();
    if (names_.empty()) throw_bad_input(fmt::format("{}: holds no sequence", path_), "give a FASTA file");
    return std::move(text_);
  }

 private:
  void extend_line(std::string_view piece) {
    if (line_length_ == 0) {
      if (offset_ == 0 && piece.starts_with(byte_order_mark)) {
        offset_ += static_cast<std::int64_t>(byte_order_mark.size());
        piece.remove_prefix(byte_order_mark.size());
        if (piece.empty()) return;
      }
      is_header_ = piece.front() == '>';
      header_.clear();
    }
    if (is_header_) {
      header_ += piece;
    } else if (!names_.empty()) {
      check_bases(piece);
    }
    line_length_ += static_cast<std::int64_t>(piece.size());
    last_letter_ = piece.back();
  }

  // \r may end a line, and nothing else may follow it there.
  void check_bases(std::string_view piece) const {
    const auto fail_at = [&](std::uint8_t byte) {
      throw_no_base(fmt::format("{}:{}", path_, line_number_ + 1), byte, name_);
    };
    if (line_length_ > 0 && last_letter_ == '\r') fail_at('\r');
    const std::string_view bases = piece.substr(0, piece.size() - (piece.back() == '\r' ? 1 : 0));
    // A byte that is no base is the flag alone; of letters that are replaced, others are set as well.
    bool all_bases = true;
    for (const char byte : bases) all_bases &= base_letters[static_cast<std::uint8_t>(byte)] != not_a_base;
    if (all_bases) return;
    for (const char byte : bases) {
      if (base_letters[static_cast<std::uint8_t>(byte)] == not_a_base)
        fail_at(static_cast<std::uint8_t>(byte));
    }
  }

  void finish_line() {
    ++line_number_;
    const std::int64_t bases = line_length_ - (line_length_ > 0 && last_letter_ == '\r' ? 1 : 0);
    if (line_length_ > 0 && is_header_) {
      finish_record();
      start_record();
    } else if (names_.empty()) {
      if (bases > 0) fail("does not start with '>'", "give a FASTA file");
    } else if (bases == 0) {
      last_line_seen_ = true;
    } else {
      add_sequence_line(bases);
    }
    offset_ += line_length_ + 1;
    line_length_ = 0;
    last_letter_ = '\0';
  }

  void start_record() {
    const std::size_t name_end = header_.find_first_of(" \t\r");
    name_ = header_.substr(1, name_end == std::string::npos ? name_end : name_end - 1);
    header_line_ = line_number_;
    if (name_.empty()) fail("a record has no name", "write a name right after '>'");
    if (!names_.insert(name_).second) {
      fail(fmt::format("duplicate record {}", name_), "rename or remove one of the records of that name");
    }
    entry_ = {};
    last_line_seen_ = false;
  }

  void add_sequence_line(std::int64_t bases) {
    const std::int64_t width = line_length_ + 1;
    if (entry_.length == 0) {
      entry_.offset = offset_;
      entry_.line_bases = bases;
      entry_.line_width = width;
    } else if (last_line_seen_ || bases > entry_.line_bases) {
      fail(fmt::format("lines of different length in record {}", name_),
           "an index needs lines of equal length; rewrite the file, for instance with: seqtk seq -l 60 FILE");
    } else if (bases < entry_.line_bases || width != entry_.line_width) {
      last_line_seen_ = true;
    }
    entry_.length += bases;
  }

  void finish_record() {
    if (names_.empty()) return;
    if (entry_.length == 0) {
      throw_bad_input(fmt::format("{}:{}: record {} is empty", path_, header_line_, name_),
                      "remove the record, or add its sequence");
    }
    text_ += fmt::format("{}\t{}\t{}\t{}\t{}\n", name_, entry_.length, entry_.offset, entry_.line_bases,
                         entry_.line_width);
  }

  [[noreturn]] void fail(const std::string& what, const std::string& hint) const {
    throw_bad_input(fmt::format("{}:{}: {}", path_, line_number_, what), hint);
  }

  std::string path_;
  std::string text_;
  std::unordered_set<std::string> names_;
  std::string header_;
  std::string name_;
  FastaIndexEntry entry_;
  std::int64_t offset_ = 0;  // of the current line's first byte
  std::int64_t line_length_ = 0;
  std::uint64_t line_number_ = 0;
  std::uint64_t header_line_ = 0;
  char last_letter_ = '\0';
  bool is_header_ = false;
  bool last_line_seen_ = false;  // a short or blank line: no more bases may follow in this record
};

std::string faidx_hint(const std::string& path) {
  return fmt::format("make it where you may write, and put it next to the FASTA: samtools faidx {}", path);
}

// bgzf or no_compression. Errors: a pipe, a folder, plain gzip.
int compression_of_fasta(const std::string& path) {
  refuse_stream(path, "places of a FASTA are read through an index, which needs a file");
  const BgzfHandle handle = open_bgzf(path);
  const int compression = bgzf_compression(handle.get());
  if (compression == gzip) refuse_plain_gzip(path);
  return compression;
}

}  // namespace

FastaBytes::FastaBytes(const std::string& path, std::shared_ptr<const BgzfBlocks> blocks)
    : path_(path), blocks_(std::move(blocks)) {
  if (blocks_) {
    handle_ = open_bgzf(path);
    size_ = blocks_->content_size();
  } else {
    plain_ = std::make_unique<RandomFile>(path);
    size_ = plain_->size();
  }
}

void FastaBytes::seek(std::int64_t place) {
  if (!blocks_) {
    place_ = place;
    return;
  }
  const std::int64_t wanted = blocks_->virtual_offset(place);
  // The block that is there already need not be decompressed again.
  constexpr std::int64_t in_block = 0xffff;
  if (handle_->block_length > 0 && handle_->block_address == wanted >> 16 &&
      (wanted & in_block) < handle_->block_length) {
    handle_->block_offset = static_cast<int>(wanted & in_block);
    return;
  }
  if (bgzf_seek(handle_.get(), wanted, SEEK_SET) != 0) throw_damaged_compression(path_);
}

std::size_t FastaBytes::read(char* buffer, std::size_t size) {
  if (plain_) {
    const std::size_t count = plain_->read(place_, buffer, size);
    place_ += static_cast<std::int64_t>(count);
    return count;
  }
  const ssize_t count = bgzf_read(handle_.get(), buffer, size);
  if (count < 0) throw_damaged_compression(path_);
  return static_cast<std::size_t>(count);
}

void refuse_plain_gzip(const std::string& path) {
  throw_bad_input(fmt::format("{}: plain gzip cannot be read at random places", path),
                  fmt::format("recompress it as BGZF: gunzip -c {} | bgzip > recompressed.fa.gz", path));
}

void build_fasta_index(const std::string& path) {
  const bool is_bgzf = compression_of_fasta(path) == bgzf;
  const BgzfHandle handle = open_bgzf(path);
  if (is_bgzf && bgzf_index_build_init(handle.get()) != 0) throw_runtime(path + ": cannot start an index");
  IndexBuilder builder(path);
  std::string buffer(1 << 20, '\0');
  for (;;) {
    const ssize_t count = bgzf_read(handle.get(), buffer.data(), buffer.size());
    if (count < 0) throw_damaged_compression(path);
    if (count == 0) break;
    builder.feed(std::string_view(buffer).substr(0, static_cast<std::size_t>(count)));
  }
  const std::string text = builder.finish();
  try {
    OutputSet both({{"", path + ".gzi"}, {"", path + ".fai"}});
    if (is_bgzf) {
      AtomicFile gzi(path + ".gzi");
      if (bgzf_index_dump(handle.get(), gzi.written_path().c_str(), nullptr) != 0) {
        throw_runtime(path + ".gzi: cannot write");
      }
      gzi.commit();
    }
    write_text_atomic(path + ".fai", text);
    both.commit();
  } catch (const Error& error) {
    throw_bad_input(fmt::format("{}: has no index, and none could be written ({})", path, error.message()),
                    faidx_hint(path));
  }
}

FastaIndex read_fasta_index(const std::string& fai_path) {
  FastaIndex index;
  LineReader lines(fai_path);
  std::string_view line;
  std::vector<std::string_view> fields;
  std::unordered_set<std::string> names;
  const std::string fasta = has_suffix(fai_path, ".fai") ? fai_path.substr(0, fai_path.size() - 4) : "FASTA";
  const std::string hint =
      fmt::format("make the index again: samtools faidx {} (or remove it: it is made anew)", fasta);
  while (lines.next(line)) {
    if (line.empty()) continue;
    split_tabs(line, fields);
    if (fields.size() < 5 || fields[0].empty()) {
      throw_bad_input(fmt::format("{}: an index line has 5 columns", lines.where()), hint);
    }
    Contig contig{std::string(fields[0]), parse_integer(fields[1], lines.where(), "length")};
    const FastaIndexEntry entry{contig.length, parse_integer(fields[2], lines.where(), "offset"),
                                parse_integer(fields[3], lines.where(), "bases per line"),
                                parse_integer(fields[4], lines.where(), "bytes per line")};
    if (contig.length == 0) {
      throw_bad_input(fmt::format("{}: record {} is empty", lines.where(), text_for_message(contig.name)),
                      "remove the record from the FASTA, and index it again");
    }
    // Bounds far above any genome, so that offsets computed from them cannot overflow.
    constexpr std::int64_t limit = std::int64_t{1} << 48;
    const bool sane = contig.length > 0 && contig.length < limit && entry.offset >= 0 &&
                      entry.offset < limit && entry.line_bases > 0 && entry.line_bases <= limit &&
                      entry.line_width > entry.line_bases && entry.line_width <= entry.line_bases + 2;
    if (!sane)
      throw_bad_input(
          fmt::format("{}: impossible values for {}", lines.where(), text_for_message(contig.name)), hint);
    if (!names.insert(contig.name).second) {
      throw_bad_input(fmt::format("{}: duplicate record {}", lines.where(), text_for_message(contig.name)),
                      "rename or remove one of the records of that name");
    }
    index.contigs.push_back(std::move(contig));
    index.entries.push_back(entry);
  }
  if (index.contigs.empty()) throw_bad_input(fmt::format("{}: the index lists no sequence", fai_path), hint);
  return index;
}

IndexedFasta open_fasta_index(const std::string& path) {
  const bool is_bgzf = compression_of_fasta(path) == bgzf;
  const bool missing = !file_exists(path + ".fai") || (is_bgzf && !file_exists(path + ".gzi"));
  if (missing) build_fasta_index(path);
  IndexedFasta indexed;
  indexed.index = read_fasta_index(path + ".fai");
  if (is_bgzf) indexed.blocks = std::make_shared<BgzfBlocks>(BgzfBlocks::of_index(path));
  FastaBytes bytes(path, indexed.blocks);
  if (!missing) check_fasta_index(indexed.index, bytes, is_bgzf);
  return indexed;
}

std::vector<Contig> load_fai(const std::string& path) {
  const bool is_index = has_suffix(path, ".fai");
  const std::string fasta = is_index ? path.substr(0, path.size() - 4) : path;
  const std::string fai_path = fasta + ".fai";
  const bool has_fasta = file_exists(fasta);
  if (!file_exists(fai_path)) {
    if (!has_fasta) {
      throw_bad_input(fmt::format("{}: neither the FASTA nor its index {} exists", fasta, fai_path),
                      "check the path");
    }
    build_fasta_index(fasta);
    return read_fasta_index(fai_path).contigs;
  }
  FastaIndex index = read_fasta_index(fai_path);
  if (has_fasta) {
    // Places are not needed here: a .gzi may be missing.
    std::shared_ptr<const BgzfBlocks> blocks;
    if (compression_of_fasta(fasta) == bgzf) {
      blocks = std::make_shared<BgzfBlocks>(file_exists(fasta + ".gzi") ? BgzfBlocks::of_index(fasta)
                                                                        : BgzfBlocks::of_file(fasta));
    }
    FastaBytes bytes(fasta, blocks);
    check_fasta_index(index, bytes, blocks != nullptr);
  }
  return std::move(index.contigs);
}

}  // namespace bigbird
