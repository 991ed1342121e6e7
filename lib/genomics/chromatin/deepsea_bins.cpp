// The places of DeepSEA's samples; see deepsea_bins.h.
#include "lib/genomics/chromatin/deepsea_bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/io/genome/bed.h"

namespace bigbird {
namespace {

constexpr std::size_t bins_per_task = 512;
constexpr std::int64_t bases_per_fetch = 1 << 17;  // neighbouring bins are compared with one piece of genome
constexpr const char* order_hint =
    "use the published allTFs.pos.bed, unsorted, with the matrices it belongs to";

}  // namespace

DeepseaBins::DeepseaBins(const std::string& path, const std::string& fasta)
    : path_(path), fasta_(fasta), names_(fasta_.contigs()) {
  BedReader reader(path, 3);
  BedRecord record;
  std::string name;
  std::uint32_t contig = 0;
  while (reader.next(record)) {
    if (record.chrom != name) {
      name = record.chrom;
      contig = static_cast<std::uint32_t>(names_.require(name, reader.where()));
    }
    const std::int64_t length = record.end - record.begin;
    if (lines_.empty()) length_ = length;
    if (length != length_ || length <= 0) {
      throw_bad_input(
          fmt::format("{}: a bin of {} bp, and the first has {}", reader.where(), length, length_),
          order_hint);
    }
    if (record.end > names_[contig].length) {
      throw_bad_input(fmt::format("{}: {}-{} is beyond {} of {} bp", reader.where(), record.begin, record.end,
                                  name, names_[contig].length),
                      "bins and genome must be of one assembly (hg19)");
    }
    lines_.push_back({contig, Split::none, record.begin});
  }
  if (lines_.empty()) throw_bad_input(path + ": no bin", order_hint);
  for (int i = 0; i < kernels::thread_count(); ++i) handles_.push_back(fasta_.clone());
}

std::vector<ChromatinBin> DeepseaBins::split(Split split, std::int64_t first, std::int64_t count) const {
  std::vector<bool> is_test(names_.size());
  for (const char* name : {"chr8", "chr9"}) {
    if (const auto contig = names_.find(name)) is_test[*contig] = true;
  }
  std::vector<ChromatinBin> bins;
  const auto add = [&](ChromatinBin bin) {
    bin.split = split;
    bins.push_back(bin);
  };
  if (split == Split::test) {
    for (const ChromatinBin& bin : lines_) {
      if (is_test[bin.contig]) add(bin);
    }
    if (static_cast<std::int64_t>(bins.size()) != count) {
      throw_bad_input(fmt::format("{}: {} lines of chr8 and chr9, and the test matrix holds {} bins", path_,
                                  bins.size(), count),
                      order_hint);
    }
    return bins;
  }
  if (first + count > static_cast<std::int64_t>(lines_.size())) {
    throw_bad_input(fmt::format("{}: {} lines, and the {} matrix ends at line {}", path_, lines_.size(),
                                split_side_name(split), first + count),
                    order_hint);
  }
  for (std::int64_t line = first; line < first + count; ++line) {
    const ChromatinBin& bin = lines_[static_cast<std::size_t>(line)];
    if (is_test[bin.contig]) {
      throw_bad_input(fmt::format("{}: bin {} is on {}, which is of the test set, and in the {} matrix",
                                  path_, line + 1, names_[bin.contig].name, split_side_name(split)),
                      order_hint);
    }
    add(bin);
  }
  return bins;
}

std::uint64_t DeepseaBins::check(const std::vector<ChromatinBin>& bins, std::size_t index, std::size_t count,
                                 const std::string& letters, std::int64_t positions, std::int64_t every,
                                 const std::string& source) {
  if (every <= 0) return 0;
  const std::int64_t before = (positions - length_) / 2;
  const auto begin_of = [&](const ChromatinBin& bin) {
    return std::clamp<std::int64_t>(bin.begin - before, 0, names_[bin.contig].length - positions);
  };
  const std::size_t tasks = (count + bins_per_task - 1) / bins_per_task;
  std::vector<std::uint64_t> compared(tasks, 0);
  std::vector<std::size_t> bad(tasks, count);
  kernels::parallel_for_worker(tasks, [&](std::size_t task, int worker) {
    throw_if_cancelled();
    Fasta& genome = handles_[static_cast<std::size_t>(worker)];
    std::string piece;
    std::int64_t piece_begin = 0, piece_end = 0;
    std::uint32_t contig = 0;
    for (std::size_t i = task * bins_per_task; i < std::min(count, (task + 1) * bins_per_task); ++i) {
      if ((index + i) % static_cast<std::size_t>(every) != 0) continue;
      const ChromatinBin& bin = bins[index + i];
      ++compared[task];
      if (names_[bin.contig].length < positions) {
        bad[task] = i;
        return;
      }
      const std::int64_t begin = begin_of(bin);
      if (bin.contig != contig || begin < piece_begin || begin + positions > piece_end) {
        // As far as the bins of this task that follow without a jump.
        contig = bin.contig;
        piece_begin = begin;
        piece_end = begin + positions;
        for (std::size_t j = i + 1; j < std::min(count, (task + 1) * bins_per_task); ++j) {
          const ChromatinBin& next = bins[index + j];
          const std::int64_t end = begin_of(next) + positions;
          if (next.contig != contig || end < piece_end || end - piece_begin > bases_per_fetch) break;
          if (begin_of(next) > piece_end + positions) break;
          piece_end = end;
        }
        piece = genome.fetch(contig, piece_begin, piece_end);
      }
      const auto length = static_cast<std::size_t>(positions);
      const std::string_view expected =
          std::string_view(piece).substr(static_cast<std::size_t>(begin - piece_begin), length);
      if (expected != std::string_view(letters).substr(i * length, length)) {
        bad[task] = i;
        return;
      }
    }
  });
  const auto first = std::find_if(bad.begin(), bad.end(), [&](std::size_t i) { return i < count; });
  if (first != bad.end()) {
    const ChromatinBin& bin = bins[index + *first];
    throw_bad_input(
        fmt::format(
            "{}: the sequence of sample {} is not that of {} around bin {}:{}-{} of {}: wrong genome or "
            "wrong bins",
            source, index + *first + 1, fasta_.path(), names_[bin.contig].name, bin.begin,
            bin.begin + length_, path_),
        "the genome is GRCh37 (hg19); bins and matrices must be of one bundle, in its order");
  }
  std::uint64_t total = 0;
  for (const std::uint64_t number : compared) total += number;
  return total;
}

}  // namespace bigbird
