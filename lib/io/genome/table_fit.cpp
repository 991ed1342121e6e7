// Whether a .tbi or .csi fits its file; see table_index.h.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/htslib_handles.h"
#include "lib/io/genome/bgzf_blocks.h"
#include "lib/io/genome/table_index.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::size_t most_of_a_line = 1 << 16;
constexpr std::size_t sampled_contigs = 256;
constexpr std::uint64_t in_block = 0xffff;

class TableFit {
 public:
  TableFit(const TableIndex& index, const std::vector<std::string>* header_contigs)
      : index_(index),
        header_contigs_(header_contigs),
        stored_(index.data),
        records_(open_bgzf(index.data)) {}

  void check() {
    check_contigs();
    check_beginning();
    if (index_.end != 0 && anything_from(index_.end)) misfit("the file has records after its end");
  }

 private:
  bool is_bcf() const { return header_contigs_ != nullptr; }

  [[noreturn]] void misfit(const std::string& what) const {
    throw_bad_input(fmt::format("{}: does not fit {}: {}", index_.path, index_.data, what),
                    table_index_hint(index_));
  }

  std::string name(std::size_t contig) const {
    const std::vector<std::string>& names = is_bcf() ? *header_contigs_ : index_.names;
    return contig < names.size() ? text_for_message(names[contig], 40) : fmt::format("contig {}", contig);
  }

  // The first records of contigs, and what else the index names, where it says and of what it says.
  void check_contigs() {
    if (is_bcf() && index_.contigs.size() > header_contigs_->size()) {
      misfit(fmt::format("{} contigs, and {} in the header", index_.contigs.size(), header_contigs_->size()));
    }
    if (!is_bcf() && index_.names.empty() && !index_.contigs.empty()) misfit("it has no names of contigs");
    const std::size_t step = std::max<std::size_t>(1, index_.contigs.size() / sampled_contigs);
    for (std::size_t i = 0; i < index_.contigs.size(); i += step) {
      const TableIndex::Contig& contig = index_.contigs[i];
      if (contig.first != TableIndex::nowhere) check_place({contig.first, i, contig.least, contig.most});
    }
    for (const TableIndex::Place& place : index_.places) check_place(place);
  }

  void check_place(const TableIndex::Place& place) {
    const auto nothing = [&] {
      misfit(fmt::format("no record {} at the place that it names (byte {}, {} in its block)",
                         place.contig ? "of " + name(*place.contig) + " begins" : "ends", place.offset >> 16,
                         place.offset & in_block));
    };
    if (static_cast<std::int64_t>(place.offset >> 16) == stored_.size() && !place.contig) return;
    if (!in_a_block(place.offset)) nothing();
    if (is_bcf()) {
      std::int32_t record[4] = {};  // two lengths, contig, position
      const std::string bytes = bytes_from(place.offset, sizeof record);
      if (bytes.empty() && !place.contig) return;
      if (bytes.size() != sizeof record) nothing();
      std::memcpy(record, bytes.data(), sizeof record);
      const auto contigs = static_cast<std::int32_t>(header_contigs_->size());
      constexpr std::int32_t least_record = 24;
      if (record[0] < least_record || record[1] < 0 || record[2] < 0 || record[2] >= contigs) nothing();
      if (!place.contig) return;
      if (record[2] != static_cast<std::int32_t>(*place.contig)) nothing();
      position_ = record[3];
    } else {
      if ((place.offset & in_block) != 0 && bytes_from(place.offset - 1, 1) != "\n") nothing();
      if (!place.contig) return;
      constexpr std::size_t enough = 4096;
      std::string bytes = bytes_from(place.offset, enough);
      std::string_view line = first_record_of(bytes);
      if (line.empty()) {
        bytes = bytes_from(place.offset, most_of_a_line);
        line = first_record_of(bytes);
      }
      const auto column = static_cast<std::size_t>(index_.sequence) - 1;
      if (line.empty() || fields_[column] != index_.names[*place.contig]) nothing();
      position_ -= index_.zero_based ? 0 : 1;
    }
    if (position_ < place.least || position_ > place.most) nothing();
  }

  // Whether a line is a record, by its columns: others may lie in between, and tabix passes over them.
  bool is_record(std::string_view line) {
    if (line.empty() || line.front() == index_.meta) return false;
    split_tabs(line, fields_);
    if (fields_.size() < static_cast<std::size_t>(std::max(index_.sequence, index_.begin))) return false;
    const std::string_view digits = fields_[static_cast<std::size_t>(index_.begin) - 1];
    return std::from_chars(digits.data(), digits.data() + digits.size(), position_).ec == std::errc();
  }
  std::string_view first_record_of(std::string_view text) {
    while (!text.empty()) {
      const std::size_t newline = text.find('\n');
      const std::string_view line = text.substr(0, newline);
      if (is_record(line)) return line;
      text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    }
    return {};
  }

  // No record before the first one that is listed.
  void check_beginning() {
    std::uint64_t first = TableIndex::nowhere;
    for (const TableIndex::Contig& contig : index_.contigs) first = std::min(first, contig.first);
    if (is_bcf()) {
      std::uint32_t header_size = 0;
      constexpr std::size_t magic_size = 5;
      const std::string head = bytes_from(0, magic_size + sizeof header_size);
      if (head.size() != magic_size + sizeof header_size) misfit("the file has no header");
      std::memcpy(&header_size, head.data() + magic_size, sizeof header_size);
      for (std::size_t left = header_size; left > 0;) {
        const std::string part = read(std::min(left, most_of_a_line));
        if (part.empty()) misfit("the file ends within its header");
        left -= part.size();
      }
      const std::int64_t begin = bgzf_tell(records_.get());
      const bool empty = read(1).empty();
      if (first == TableIndex::nowhere ? !empty : !same_place(static_cast<std::uint64_t>(begin), first)) {
        misfit("the first record of the file is not its first one");
      }
      return;
    }
    LineReader lines(index_.data);
    std::string_view line;
    bool found = false;
    while (!found && lines.next(line)) {
      found = lines.line_number() > static_cast<std::uint64_t>(index_.skip) && is_record(line);
    }
    if (!found && first == TableIndex::nowhere) return;
    constexpr std::size_t enough = 1024;
    const std::string bytes = first == TableIndex::nowhere ? "" : bytes_from(first, most_of_a_line);
    if (!found || first_record_of(bytes).substr(0, enough) != line.substr(0, enough)) {
      misfit("the first record of the file is not its first one");
    }
  }

  // The end of a block and the beginning of the next one are one place.
  bool same_place(std::uint64_t one, std::uint64_t other) const {
    return one == other || following(one) == following(other);
  }
  std::uint64_t following(std::uint64_t place) const {
    const auto block = bgzf_block_at(stored_, static_cast<std::int64_t>(place >> 16));
    const bool at_end = block && static_cast<std::int64_t>(place & in_block) == block->content;
    return at_end ? ((place >> 16) + static_cast<std::uint64_t>(block->stored)) << 16 : place;
  }

  bool in_a_block(std::uint64_t place) const {
    const auto block = bgzf_block_at(stored_, static_cast<std::int64_t>(place >> 16));
    return block && static_cast<std::int64_t>(place & in_block) <= block->content;
  }

  // Whether records lie at a place or behind it: any byte of a BCF is of one.
  bool anything_from(std::uint64_t place) {
    if (static_cast<std::int64_t>(place >> 16) == stored_.size()) return false;
    if (!in_a_block(place)) misfit(fmt::format("no block is at byte {}", place >> 16));
    // More may have been put behind the empty block at the end.
    for (auto block = bgzf_block_at(stored_, static_cast<std::int64_t>(place >> 16));
         block && static_cast<std::int64_t>(place & in_block) == block->content;
         block = bgzf_block_at(stored_, static_cast<std::int64_t>(place >> 16))) {
      place = ((place >> 16) + static_cast<std::uint64_t>(block->stored)) << 16;
    }
    if (static_cast<std::int64_t>(place >> 16) == stored_.size()) return false;
    const std::string bytes = bytes_from(place, most_of_a_line);
    if (is_bcf()) return !bytes.empty();
    return !first_record_of(bytes).empty();
  }

  std::string bytes_from(std::uint64_t place, std::size_t size) {
    const auto offset = static_cast<int>(place & in_block);
    // The block that is there already need not be decompressed again.
    const bool is_there =
        records_->block_length > offset && records_->block_address == static_cast<std::int64_t>(place >> 16);
    if (is_there) {
      records_->block_offset = offset;
    } else if (bgzf_seek(records_.get(), static_cast<std::int64_t>(place), SEEK_SET) != 0) {
      misfit("no such place");
    }
    return read(size);
  }
  std::string read(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t count = bgzf_read(records_.get(), bytes.data(), size);
    if (count < 0) throw_damaged_compression(index_.data);
    bytes.resize(static_cast<std::size_t>(count));
    return bytes;
  }

  const TableIndex& index_;
  const std::vector<std::string>* header_contigs_;
  RandomFile stored_;
  BgzfHandle records_;
  std::vector<std::string_view> fields_;  // of the line that was looked at last
  std::int64_t position_ = 0;             // as it has it
};

}  // namespace

void check_table_index(const TableIndex& index, const std::vector<std::string>* header_contigs) {
  TableFit(index, header_contigs).check();
  warn_if_older(index.path, index.data);
}

}  // namespace bigbird
