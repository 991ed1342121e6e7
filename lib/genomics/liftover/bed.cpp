// BED records lifted; see liftover.h.
#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "lib/genomics/liftover/liftover.h"

namespace bigbird {
namespace {

// narrowPeak's column 10: the offset of the peak's summit. Nothing where it is none (-1, or no number).
std::optional<std::int64_t> peak_of(const std::vector<std::string_view>& fields, std::int64_t length) {
  std::int64_t offset = 0;
  if (fields.size() != 10) return std::nullopt;
  const auto [end, error] = std::from_chars(fields[9].data(), fields[9].data() + fields[9].size(), offset);
  if (error != std::errc() || end != fields[9].data() + fields[9].size()) return std::nullopt;
  return offset >= 0 && offset < length ? std::optional<std::int64_t>(offset) : std::nullopt;
}

}  // namespace

std::string BedLifter::lift(std::string_view line, const LineReader& lines, std::string& out) {
  parse_bed_line(line, lines, options_.bed_columns, fields_, record_);
  const auto from = assembly_.from(record_.chrom, [&] { return lines.where(); });
  if (!from) return lift_outcome_text(LiftOutcome::unknown_contig);
  const Contig& old_contig = assembly_.from_contig(*from);
  const bool is_empty = record_.begin == record_.end;
  if (record_.end > old_contig.length || (is_empty && record_.begin == old_contig.length))
    return beyond_contig_reason;

  if (record_.columns == 7) return "A thick start without a thick end";

  parts_.clear();
  for (const BedBlock& block : record_.blocks) {
    const std::int64_t begin = record_.begin + block.begin;
    if (block.length == 0) return "A block without bases";
    parts_.push_back({begin, begin + block.length});
  }
  if (parts_.empty()) parts_.push_back({record_.begin, is_empty ? record_.begin + 1 : record_.end});
  std::optional<ChainInterval> inner;
  const std::optional<std::int64_t> peak = peak_of(fields_, record_.end - record_.begin);
  const bool has_thick = record_.columns > 7;
  if (has_thick && record_.thick_begin < record_.thick_end) {
    inner = ChainInterval{record_.thick_begin, record_.thick_end};
  } else if (peak) {
    inner = ChainInterval{record_.begin + *peak, record_.begin + *peak + 1};
  }
  const LiftedParts lifted = assembly_.chain().lift_parts(old_contig.name, parts_, inner, options_.min_match);
  if (!lifted.ok()) return lift_outcome_text(lifted.outcome);
  const auto to = assembly_.to(lifted.chrom);
  if (!to) return not_in_genome_reason;
  if (lifted.parts.back().end > assembly_.contigs()[*to].length) return beyond_new_reason;

  std::int64_t begin = lifted.parts.front().begin;
  std::int64_t end = lifted.parts.back().end;
  // The point before a base is, on the other strand, the point after it.
  if (is_empty) (lifted.reversed ? begin : end) = lifted.reversed ? end : begin;
  std::vector<std::string> changed(fields_.size());
  changed[0] = assembly_.contigs()[*to].name;
  changed[1] = std::to_string(begin);
  changed[2] = std::to_string(end);
  if (record_.columns > 5 && lifted.reversed && record_.strand != '.')
    changed[5] = record_.strand == '+' ? '-' : '+';
  if (has_thick) {
    const bool kept = lifted.inner.has_value();
    changed[6] = std::to_string(kept ? lifted.inner->begin : begin);
    changed[7] = std::to_string(kept ? lifted.inner->end : begin);
  } else if (peak) {
    changed[9] = lifted.inner ? std::to_string(lifted.inner->begin - begin) : "-1";
  }
  if (!record_.blocks.empty()) {
    for (const ChainInterval& part : lifted.parts) {
      changed[10] += fmt::format("{},", part.end - part.begin);
      changed[11] += fmt::format("{},", part.begin - begin);
    }
  }
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (i > 0) out += '\t';
    out += changed[i].empty() ? fields_[i] : std::string_view(changed[i]);
  }
  out += '\n';
  return {};
}

}  // namespace bigbird
