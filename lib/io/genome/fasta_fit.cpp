// Whether a .fai fits its FASTA; see fasta_index.h. An index of another version of the file would shift every
// base without a word.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "lib/core/error.h"
#include "lib/io/genome/bgzf_blocks.h"
#include "lib/io/genome/fasta_index.h"

namespace bigbird {
namespace {

constexpr std::int64_t most_looked_at = 1 << 16;  // bytes of one place
constexpr std::size_t sampled_plain = 4096, sampled_compressed = 1024;
constexpr const char* blanks = " \t\r\v\f";
constexpr const char* blanks_and_ends = " \t\r\v\f\n";

class FastaFit {
 public:
  FastaFit(const FastaIndex& index, FastaBytes& fasta) : index_(index), fasta_(fasta) {}

  void check(std::size_t sampled) {
    // Whoever sorted an index, or took lines out of it, did not touch the places.
    order_.resize(index_.entries.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::sort(order_.begin(), order_.end(), [&](std::size_t left, std::size_t right) {
      return index_.entries[left].offset < index_.entries[right].offset;
    });
    for (std::size_t i = 0; i < order_.size(); ++i) check_place(i);
    const std::size_t step = std::max<std::size_t>(1, (order_.size() + sampled - 1) / sampled);
    for (std::size_t i = 0; i < order_.size(); i += step) {
      check_header(i);
      check_lines(i);
    }
    check_header(order_.size() - 1);
    check_lines(order_.size() - 1);
    check_end();
  }

 private:
  const FastaIndexEntry& entry(std::size_t i) const { return index_.entries[order_[i]]; }
  const std::string& name(std::size_t i) const { return index_.contigs[order_[i]].name; }
  std::int64_t end_before(std::size_t i) const { return i == 0 ? 0 : entry(i - 1).end(); }

  [[noreturn]] void misfit(const std::string& what) const {
    throw_bad_input(fmt::format("{0}.fai: does not fit {0}: {1}", fasta_.path(), what),
                    fmt::format("make the index again: samtools faidx {0} (or remove it: it is made anew)",
                                fasta_.path()));
  }

  void check_place(std::size_t i) const {
    const auto least_header = static_cast<std::int64_t>(name(i).size()) + (i == 0 ? 2 : 3);
    if (entry(i).end() > fasta_.size()) {
      misfit(fmt::format("{} would end at byte {} of {}", shown(name(i)), entry(i).end(), fasta_.size()));
    }
    if (entry(i).offset - end_before(i) < least_header) {
      misfit(fmt::format("{} leaves no place for its header at byte {}", shown(name(i)), end_before(i)));
    }
  }

  // What lies between the last base before and the first base: a line end, blank lines, the header.
  void check_header(std::size_t i) {
    const std::int64_t begin = end_before(i);
    const std::int64_t size = entry(i).offset - begin;
    std::string_view gap = bytes(begin, std::min(size, most_looked_at));
    const auto place = [&](std::string_view rest) {
      return begin + std::min(size, most_looked_at) - static_cast<std::int64_t>(rest.size());
    };
    if (i == 0 && gap.starts_with("\xEF\xBB\xBF")) gap.remove_prefix(3);
    std::string_view rest = gap.substr(std::min(gap.find_first_not_of(blanks_and_ends), gap.size()));
    const std::string_view before = gap.substr(0, gap.size() - rest.size());
    if (!rest.starts_with('>') || (!before.empty() && before.back() != '\n') || (i > 0 && before.empty())) {
      misfit(fmt::format("the header of {} is not at byte {}", shown(name(i)), place(rest)));
    }
    const std::string_view found = rest.substr(1, rest.find_first_of(blanks_and_ends) - 1);
    if (found != name(i)) {
      misfit(fmt::format("{} is at byte {}, where {} should be", shown(found), place(rest), shown(name(i))));
    }
    const std::size_t line_end = rest.find('\n');
    if (size > most_looked_at) {
      // A header line of more than 64 KiB, or much that the index does not know.
      const bool goes_on = line_end == std::string_view::npos;
      if (!goes_on || bytes(entry(i).offset - 1, 1) != "\n") begins_elsewhere(i);
      return;
    }
    if (line_end == std::string_view::npos) begins_elsewhere(i);
    rest.remove_prefix(line_end + 1);
    const std::size_t other = rest.find_first_not_of(blanks_and_ends);
    if (other != std::string_view::npos || (!rest.empty() && rest.back() != '\n')) begins_elsewhere(i);
  }

  [[noreturn]] void begins_elsewhere(std::size_t i) const {
    misfit(fmt::format("{} does not begin at byte {}", shown(name(i)), entry(i).offset));
  }

  void check_lines(std::size_t i) {
    const FastaIndexEntry& record = entry(i);
    const std::int64_t last = (record.length - 1) / record.line_bases;
    for (const std::int64_t line : {std::int64_t{0}, last / 2, last - 1}) {
      if (line < 0 || line >= last) continue;
      const std::int64_t begin = record.offset + line * record.line_width;
      check_bases(i, begin, begin + record.line_bases);
      const std::string_view end = bytes(begin + record.line_bases, record.line_width - record.line_bases);
      if (end.back() != '\n' || end.find_first_not_of(blanks) != end.size() - 1) {
        misfit(fmt::format("no line of {} ends at byte {}", shown(name(i)), begin + record.line_bases));
      }
    }
    check_bases(i, record.offset + last * record.line_width, record.end());
  }

  // Bases of one line. Of a long one, its first and last bytes are looked at.
  void check_bases(std::size_t i, std::int64_t begin, std::int64_t end) {
    const std::int64_t size = std::min(end - begin, most_looked_at);
    for (const std::int64_t from : {begin, end - size}) {
      const std::string_view line = bytes(from, size);
      const std::size_t bad = line.find_first_of("\n>");
      if (bad != std::string_view::npos) {
        misfit(fmt::format("a line of {} ends at byte {} already", shown(name(i)),
                           from + static_cast<std::int64_t>(bad)));
      }
      if (size == end - begin) break;
    }
  }

  void check_end() {
    const std::int64_t begin = entry(order_.size() - 1).end();
    const std::string_view rest = bytes(begin, std::min(fasta_.size() - begin, most_looked_at));
    const std::size_t other = rest.find_first_not_of(blanks_and_ends);
    if (other == std::string_view::npos) return;
    misfit(fmt::format("the file goes on after {}, at byte {}", shown(name(order_.size() - 1)),
                       begin + static_cast<std::int64_t>(other)));
  }

  static std::string shown(std::string_view name) { return text_for_message(name, 40); }

  // Valid until the next call.
  std::string_view bytes(std::int64_t begin, std::int64_t size) {
    if (size <= 0) return {};
    buffer_.resize(static_cast<std::size_t>(size));
    fasta_.seek(begin);
    const std::size_t count = fasta_.read(buffer_.data(), buffer_.size());
    if (count != buffer_.size()) {
      misfit(fmt::format("the file ends at byte {}", begin + static_cast<std::int64_t>(count)));
    }
    return buffer_;
  }

  const FastaIndex& index_;
  FastaBytes& fasta_;
  std::vector<std::size_t> order_;  // by place
  std::string buffer_;
};

}  // namespace

void check_fasta_index(const FastaIndex& index, FastaBytes& fasta, bool compressed) {
  FastaFit(index, fasta).check(compressed ? sampled_compressed : sampled_plain);
  warn_if_older(fasta.path() + ".fai", fasta.path());
}

}  // namespace bigbird
