// Reading .tbi and .csi; see table_index.h.
#include "lib/io/genome/table_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <type_traits>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"

namespace bigbird {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{96} << 20;
constexpr std::size_t piece_bytes = 1 << 16;
constexpr int most_depth = 9, least_shift = 8, most_shift = 30;
constexpr std::int32_t most_column = 1 << 16;
// A window without records points to those before or behind it, by who wrote the index.
constexpr std::int64_t anywhere = std::numeric_limits<std::int64_t>::max();

// Numbers of a decompressed index, one after another.
class IndexNumbers {
 public:
  explicit IndexNumbers(const std::string& path) : in_(path), piece_(piece_bytes, '\0') {}

  // Little-endian, as the machines are that this runs on.
  template <typename Number>
  Number next() {
    static_assert(std::is_trivially_copyable_v<Number>);
    Number number{};
    take(&number, sizeof number);
    return number;
  }
  std::string text(std::size_t size) {
    std::string text(size, '\0');
    take(text.data(), size);
    return text;
  }
  // How many numbers of `size` bytes may still come, by the bound on the whole.
  bool may_hold(std::int64_t count, std::size_t size) const {
    return count >= 0 && static_cast<std::uint64_t>(count) <= (most_bytes - taken_) / size;
  }
  bool at_end() { return begin_ == end_ && !fill(); }

 private:
  bool fill() {
    begin_ = 0;
    end_ = in_.read(piece_.data(), piece_.size());
    return end_ > 0;
  }
  void take(void* to, std::size_t size) {
    if (size > most_bytes - taken_) throw_bad_input("it is larger than 96 MiB");
    taken_ += size;
    for (std::size_t done = 0; done < size;) {
      if (at_end()) throw_bad_input("it ends too early");
      const std::size_t part = std::min(size - done, end_ - begin_);
      std::memcpy(static_cast<char*>(to) + done, piece_.data() + begin_, part);
      begin_ += part;
      done += part;
    }
  }

  InputStream in_;
  std::string piece_;
  std::size_t begin_ = 0, end_ = 0;
  std::uint64_t taken_ = 0;
};

class IndexParser {
 public:
  IndexParser(TableIndex& index, std::int64_t data_size)
      : index_(index), numbers_(index.path), data_size_(static_cast<std::uint64_t>(data_size)) {}

  void parse() {
    const std::string magic = numbers_.text(4);
    index_.is_csi = magic == std::string_view("CSI\1", 4);
    if (!index_.is_csi && magic != std::string_view("TBI\1", 4)) refuse("it begins with other bytes");
    std::int32_t contigs = 0;
    if (index_.is_csi) {
      index_.min_shift = numbers_.next<std::int32_t>();
      index_.depth = numbers_.next<std::int32_t>();
      if (index_.min_shift < least_shift || index_.min_shift > most_shift || index_.depth < 0 ||
          index_.depth > most_depth) {
        refuse(fmt::format("bins of 2^{} bases in {} levels", index_.min_shift, index_.depth));
      }
      const auto size = numbers_.next<std::int32_t>();
      if (!numbers_.may_hold(size, 1)) refuse("a size that is impossible");
      if (size > 0) parse_columns(size);
      contigs = numbers_.next<std::int32_t>();
    } else {
      contigs = numbers_.next<std::int32_t>();
      parse_columns(-1);
    }
    // Of each contig at least the number of its bins.
    if (!numbers_.may_hold(contigs, sizeof(std::int32_t))) refuse("an impossible number of contigs");
    if (has_columns_ && index_.names.size() != static_cast<std::size_t>(contigs)) {
      refuse(fmt::format("{} contigs and {} names", contigs, index_.names.size()));
    }
    for (std::int32_t contig = 0; contig < contigs; ++contig) parse_contig();
    if (!numbers_.at_end()) {
      numbers_.next<std::uint64_t>();  // records without a place
      if (!numbers_.at_end()) refuse("it goes on after its end");
    }
    if (counted_) index_.records = counted_records_;
  }

 private:
  // `size`: of all of it, in a .csi.
  void parse_columns(std::int64_t size) {
    constexpr std::int64_t fixed = 7 * sizeof(std::int32_t);
    if (size >= 0 && size < fixed) refuse("columns that are cut short");
    has_columns_ = true;
    const auto format = numbers_.next<std::int32_t>();
    index_.sequence = numbers_.next<std::int32_t>();
    index_.begin = numbers_.next<std::int32_t>();
    const auto end = numbers_.next<std::int32_t>();
    const auto meta = numbers_.next<std::int32_t>();
    index_.skip = numbers_.next<std::int32_t>();
    const auto names_size = numbers_.next<std::int32_t>();
    constexpr std::int32_t zero_based = 0x10000, vcf = 2;
    index_.zero_based = (format & zero_based) != 0;
    index_.is_vcf = format == vcf;
    index_.meta = static_cast<char>(meta);
    const auto is_column = [](std::int32_t column) { return column > 0 && column < most_column; };
    if ((format & ~zero_based) < 0 || (format & ~zero_based) > vcf || !is_column(index_.sequence) ||
        !is_column(index_.begin) || end < 0 || end >= most_column || index_.skip < 0 || meta < 0 ||
        meta > 255) {
      refuse("impossible columns");
    }
    if (names_size < 0 || !numbers_.may_hold(names_size, 1) || (size >= 0 && names_size != size - fixed)) {
      refuse("an impossible size of names");
    }
    const std::string names = numbers_.text(static_cast<std::size_t>(names_size));
    if (!names.empty() && names.back() != '\0') refuse("names without an end");
    std::set<std::string> known;
    for (std::size_t at = 0; at < names.size();) {
      const std::string name(names.c_str() + at);
      at += name.size() + 1;
      if (name.empty() || !known.insert(name).second) refuse("names that are empty or twice there");
      index_.names.push_back(name);
    }
  }

  void parse_contig() {
    const auto bins = numbers_.next<std::int32_t>();
    if (!numbers_.may_hold(bins, sizeof(std::int64_t))) refuse("an impossible number of bins");
    const std::uint64_t bin_count = ((std::uint64_t{1} << (3 * index_.depth + 3)) - 1) / 7;
    std::vector<std::uint32_t> seen;
    TableIndex::Contig contig;
    for (std::int32_t i = 0; i < bins; ++i) {
      const auto bin = numbers_.next<std::uint32_t>();
      seen.push_back(bin);
      const std::uint64_t lowest = index_.is_csi ? numbers_.next<std::uint64_t>() : 0;
      check_offset(lowest);
      const auto chunks = numbers_.next<std::int32_t>();
      if (!numbers_.may_hold(chunks, 2 * sizeof(std::uint64_t))) refuse("an impossible number of chunks");
      if (bin == bin_count + 1) {
        parse_counts(chunks);
        continue;
      }
      if (bin >= bin_count) refuse(fmt::format("bin {} of {}", bin, bin_count));
      const auto [first, last_of_bin] = bounds_of(bin);
      keep({lowest, index_.contigs.size(), -1, anywhere});
      std::uint64_t last = 0;
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
        const auto begin = numbers_.next<std::uint64_t>();
        const auto end = numbers_.next<std::uint64_t>();
        check_offset(end);
        if (begin > end || begin < last) refuse("chunks that are out of order");
        last = begin;
        keep({begin, index_.contigs.size(), first, last_of_bin});
        keep({end, std::nullopt, 0, 0});
        index_.end = std::max(index_.end, end);
        if (begin < contig.first) {
          contig = {begin, first, last_of_bin};
        }
      }
    }
    std::sort(seen.begin(), seen.end());
    if (std::adjacent_find(seen.begin(), seen.end()) != seen.end()) refuse("a bin that is there twice");
    if (!index_.is_csi) {
      const auto windows = numbers_.next<std::int32_t>();
      if (!numbers_.may_hold(windows, sizeof(std::uint64_t))) refuse("an impossible number of windows");
      for (std::int32_t i = 0; i < windows; ++i) {
        const auto offset = numbers_.next<std::uint64_t>();
        check_offset(offset);
        keep({offset, index_.contigs.size(), -1, anywhere});
      }
    }
    index_.contigs.push_back(contig);
  }

  // The bin that is none: where the records of the contig lie, and how many there are.
  void parse_counts(std::int32_t chunks) {
    if (chunks != 2) refuse("counts that are not counts");
    check_offset(numbers_.next<std::uint64_t>());
    check_offset(numbers_.next<std::uint64_t>());
    const auto placed = numbers_.next<std::uint64_t>();
    const auto unplaced = numbers_.next<std::uint64_t>();
    constexpr std::uint64_t most = std::uint64_t{1} << 48;
    if (placed >= most || unplaced >= most) refuse("an impossible number of records");
    counted_ = true;
    counted_records_ += placed + unplaced;
  }

  // Bins of level l begin at ((1 << 3 l) - 1) / 7, eight to one of the level above. One base more at either
  // end: conventions of position 0 differ.
  std::pair<std::int64_t, std::int64_t> bounds_of(std::uint32_t bin) const {
    std::int64_t first = 0;
    int level = 0;
    while (first + (std::int64_t{1} << (3 * level)) <= bin) first += std::int64_t{1} << (3 * level++);
    const std::int64_t size = std::int64_t{1} << (index_.min_shift + 3 * (index_.depth - level));
    return {(bin - first) * size - 1, (bin - first + 1) * size};
  }

  // Every `stride_`-th place; once there are too many, every second of them and a stride twice as long.
  void keep(const TableIndex::Place& place) {
    constexpr std::size_t most_places = 1024;
    if (place.offset == 0 || seen_places_++ % stride_ != 0) return;  // 0: nothing
    index_.places.push_back(place);
    if (index_.places.size() < most_places) return;
    for (std::size_t i = 0; i < most_places / 2; ++i) index_.places[i] = index_.places[2 * i];
    index_.places.resize(most_places / 2);
    stride_ *= 2;
  }

  void check_offset(std::uint64_t offset) const {
    if (offset >> 16 > data_size_) {
      throw_bad_input(fmt::format("it points to byte {} of {}", offset >> 16, data_size_));
    }
  }

  [[noreturn]] static void refuse(const std::string& what) { throw_bad_input(what); }

  TableIndex& index_;
  IndexNumbers numbers_;
  std::uint64_t data_size_;
  bool has_columns_ = false, counted_ = false;
  std::uint64_t counted_records_ = 0;
  std::uint64_t seen_places_ = 0, stride_ = 1;
};

}  // namespace

std::optional<std::string> table_index_beside(const std::string& data) {
  for (const char* suffix : {".csi", ".tbi"}) {
    if (file_exists(data + suffix)) return data + suffix;
  }
  return std::nullopt;
}

namespace {

// BCF or VCF, by how the content begins; for the hint of an error, where more cannot be done about others.
std::string first_bytes_of(const std::string& path) {
  std::string bytes(16, '\0');
  try {
    InputStream in(path);
    bytes.resize(in.read(bytes.data(), bytes.size()));
  } catch (const Error&) {
    bytes.clear();
  }
  return bytes;
}

}  // namespace

std::string table_index_hint(const TableIndex& index) {
  const std::string again = "make the index again: ";
  const std::string first = first_bytes_of(index.data);
  const bool csi = has_suffix(index.path, ".csi");
  if (first.starts_with("BCF") || (csi && first.starts_with("##fileformat=VCF"))) {
    return again + "bcftools index -f " + index.data;
  }
  if (first.starts_with("##fileformat=VCF") || index.is_vcf) return again + "tabix -p vcf -f " + index.data;
  return fmt::format("{0}tabix {1}-s {2} -b {3} -e {3} -f {4}", again, csi ? "-C " : "", index.sequence,
                     index.begin, index.data);
}

TableIndex read_table_index(const std::string& path, const std::string& data) {
  TableIndex index;
  index.path = path;
  index.data = data;
  try {
    IndexParser(index, RandomFile(data).size()).parse();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_input) throw;
    throw_bad_input(fmt::format("{}: cannot be read as an index of {} ({})", path, data, error.message()),
                    table_index_hint(index));
  }
  return index;
}

}  // namespace bigbird
