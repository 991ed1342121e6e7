// The rules for alleles; see alleles.h and docs/variants.md.
#include "lib/genomics/variants/alleles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/genomics/variants/alleles_letters.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<SkipReason, const char*>, 16> reason_names{
    {{SkipReason::none, "scored"},
     {SkipReason::spanning_deletion, "spanning_deletion"},
     {SkipReason::symbolic, "symbolic"},
     {SkipReason::breakend, "breakend"},
     {SkipReason::monomorphic, "monomorphic"},
     {SkipReason::alt_is_ref, "alt_is_ref"},
     {SkipReason::not_bases, "not_bases"},
     {SkipReason::ambiguous_ref, "ambiguous_ref"},
     {SkipReason::ambiguous_alt, "ambiguous_alt"},
     {SkipReason::unknown_contig, "unknown_contig"},
     {SkipReason::outside_contig, "outside_contig"},
     {SkipReason::ref_mismatch, "ref_mismatch"},
     {SkipReason::too_long, "too_long"},
     {SkipReason::edge, "edge"},
     {SkipReason::too_many_n, "too_many_n"},
     {SkipReason::filtered, "filtered"}}};
constexpr std::array<std::pair<RefMismatch, const char*>, 3> mismatch_names{
    {{RefMismatch::skip, "skip"}, {RefMismatch::use, "use"}, {RefMismatch::swap, "swap"}}};
constexpr std::array<std::pair<EdgeRule, const char*>, 3> edge_names{
    {{EdgeRule::pad, "pad"}, {EdgeRule::shift, "shift"}, {EdgeRule::skip, "skip"}}};

// A stretch that is read at once, because neighbouring records need nearly the same bases.
constexpr std::int64_t cached_bases = 1 << 17;

// What ALT's text alone says; none for bases.
SkipReason kind_of(const std::string& ref, const std::string& alt) {
  if (alt.empty()) return SkipReason::not_bases;
  if (alt == ".") return SkipReason::monomorphic;
  if (alt == "*") return SkipReason::spanning_deletion;
  if (alt.front() == '<' || alt.back() == '>') return SkipReason::symbolic;
  if (alt.find_first_of("[]") != std::string::npos || alt.front() == '.' || alt.back() == '.')
    return SkipReason::breakend;
  if (!is_iupac(ref) || !is_iupac(alt)) return SkipReason::not_bases;
  return SkipReason::none;
}

std::int64_t length_of(const std::string& text) {
  return static_cast<std::int64_t>(text.size());
}

std::string piece(const std::string& text, std::int64_t begin, std::int64_t size) {
  return text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(size));
}

}  // namespace

const char* skip_reason_name(SkipReason reason) {
  return find_name(reason_names, reason);
}

const char* edge_rule_name(EdgeRule rule) {
  return find_name(edge_names, rule);
}

RefMismatch parse_ref_mismatch(std::string_view word) {
  return parse_name(mismatch_names, word, message("choice of `ref_mismatch`"));
}

EdgeRule parse_edge_rule(std::string_view word) {
  return parse_name(edge_names, word, message("choice of `edge`"));
}

std::string flags_text(unsigned flags) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 9> names = {
      {{flag_ref_mismatch, "ref_mismatch"},
       {flag_swapped, "swapped"},
       {flag_edge_padded, "edge_padded"},
       {flag_edge_shifted, "edge_shifted"},
       {flag_trimmed, "trimmed"},
       {flag_aligned, "aligned"},
       {flag_cut, "tokens_cut"},
       {flag_cpg, "cpg"},
       {flag_derived_ref, "derived_ref"}}};
  std::string text;
  for (const auto& [flag, name] : names) {
    if ((flags & flag) == 0) continue;
    if (!text.empty()) text += '|';
    text += name;
  }
  return text.empty() ? "." : text;
}

AlleleJudge::AlleleJudge(const Fasta& fasta, const ContigNames& contigs, const AlleleRules& rules)
    : fasta_(fasta.clone()), contigs_(contigs), rules_(rules) {
  if (rules.window < 1) throw_usage("the window of a variant needs at least one base");
  if (rules.grid == 0 && (rules.offset < 0 || rules.offset >= rules.window)) {
    throw_usage(
        fmt::format("the variant's place {} is outside of the window of {} bp", rules.offset, rules.window),
        "it counts from 0, below the window's length");
  }
  if (rules.grid < 0 ||
      (rules.grid > 0 && (rules.target_offset < 0 || rules.target_offset + rules.grid > rules.window))) {
    throw_usage(fmt::format("a bin of {} bp at {} is outside of the window of {} bp", rules.grid,
                            rules.target_offset, rules.window));
  }
}

std::vector<PlacedAllele> AlleleJudge::judge(const VcfRecord& record, std::int64_t shift) {
  std::vector<PlacedAllele> alleles;
  const std::string ref = upper_case(record.ref);
  const bool filtered = rules_.pass_only && record.filter != "PASS" && record.filter != ".";
  for (std::size_t i = 0; i < std::max<std::size_t>(record.alts.size(), 1); ++i) {
    const std::string alt = record.alts.empty() ? "." : upper_case(record.alts[i]);
    if (filtered) {
      alleles.emplace_back().reason = SkipReason::filtered;
    } else {
      alleles.push_back(judge_allele(record, ref, alt, shift));
    }
  }
  return alleles;
}

std::optional<std::size_t> contig_of(const VcfRecord& record, const ContigNames& contigs) {
  const bool is_mitochondrial = canonical_contig_name(record.chrom) == "MT";
  if (is_mitochondrial && record.contig_length > 0) return contigs.find(record.chrom, record.contig_length);
  return contigs.find(record.chrom);
}

std::optional<std::size_t> AlleleJudge::find_contig(const VcfRecord& record) {
  if (name_length_ == record.contig_length && name_ == record.chrom) return named_;
  name_ = record.chrom;
  name_length_ = record.contig_length;
  named_ = contig_of(record, contigs_);
  return named_;
}

// Bases of the contig into cached_.
void AlleleJudge::hold(std::size_t contig, std::int64_t begin, std::int64_t end) {
  const bool held =
      contig == cached_contig_ && begin >= cached_begin_ && end <= cached_begin_ + length_of(cached_);
  if (held) return;
  cached_begin_ = std::max<std::int64_t>(0, begin - cached_bases / 8);
  cached_ = fasta_.fetch(contig, cached_begin_,
                         std::min(contigs_[contig].length, std::max(end, cached_begin_ + cached_bases)),
                         rules_.counts_repeats ? &cached_letters_ : nullptr);
  cached_contig_ = contig;
}

std::string AlleleJudge::bases(std::size_t contig, std::int64_t begin, std::int64_t end) {
  const std::int64_t length = contigs_[contig].length;
  const std::int64_t first = std::clamp<std::int64_t>(begin, 0, length);
  const std::int64_t last = std::clamp<std::int64_t>(end, first, length);
  hold(contig, first, last);
  return std::string(static_cast<std::size_t>(first - std::min(begin, first)), 'N') +
         piece(cached_, first - cached_begin_, last - first) +
         std::string(static_cast<std::size_t>(std::max(end, last) - last), 'N');
}

// An insertion or deletion stands where left alignment puts it, so that a change has one window however a
// file writes it.
bool AlleleJudge::align(PlacedAllele& allele, const std::string& overlay, std::int64_t overlay_begin) {
  if (allele.ref.empty() == allele.alt.empty()) return false;
  return left_align(allele.ref.empty() ? allele.alt : allele.ref, allele.begin, [&](std::int64_t place) {
    const std::int64_t inside = place - overlay_begin;
    if (inside >= 0 && inside < length_of(overlay)) return overlay[static_cast<std::size_t>(inside)];
    hold(allele.contig, place, place + 1);
    return cached_[static_cast<std::size_t>(place - cached_begin_)];
  });
}

PlacedAllele AlleleJudge::judge_allele(const VcfRecord& record, const std::string& ref,
                                       const std::string& alt, std::int64_t shift) {
  PlacedAllele allele;
  const auto skipped = [&](SkipReason reason) {
    allele.reason = reason;
    return allele;
  };
  if (const SkipReason kind = kind_of(ref, alt); kind != SkipReason::none) return skipped(kind);
  if (ref == alt) return skipped(SkipReason::alt_is_ref);
  if (!rules_.n_matches && !is_acgt(ref)) return skipped(SkipReason::ambiguous_ref);
  if (!is_acgt(alt)) return skipped(SkipReason::ambiguous_alt);
  const auto contig = find_contig(record);
  if (!contig) return skipped(SkipReason::unknown_contig);
  allele.contig = *contig;
  const std::int64_t begin = record.position;
  const std::int64_t end = begin + length_of(ref);
  const std::int64_t length = contigs_[*contig].length;
  if (begin < 0 || end > length) return skipped(SkipReason::outside_contig);

  // What stands for REF: codes that match (only with n_matches) mean the base that the genome has there.
  const std::string genome = bases(*contig, begin, end);
  std::string resolved = ref;
  bool agrees = true;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    const bool ambiguous = !is_acgt(ref[i]);
    agrees = agrees && (ambiguous ? code_holds(ref[i], genome[i]) : ref[i] == genome[i]);
    if (ambiguous) resolved[i] = genome[i];
  }
  allele.ref = resolved;
  allele.alt = alt;
  allele.begin = begin;
  std::string overlay;  // what the window has at [begin, ...) in place of the genome's bases
  if (!agrees) {
    if (rules_.ref_mismatch == RefMismatch::skip) return skipped(SkipReason::ref_mismatch);
    if (rules_.ref_mismatch == RefMismatch::use) {
      allele.flags |= flag_ref_mismatch;
      overlay = resolved;
    } else {
      // That ALT stands in the genome says something only where ALT has a base of its own: the anchor of a
      // deletion stands there in any case.
      std::string changed_ref = resolved;
      std::string changed_alt = alt;
      std::int64_t ignored = 0;
      trim_alleles(changed_ref, changed_alt, ignored);
      const std::int64_t alt_end = begin + length_of(alt);
      if (changed_alt.empty() || alt_end > length || bases(*contig, begin, alt_end) != alt)
        return skipped(SkipReason::ref_mismatch);
      allele.flags |= flag_swapped;
      allele.ref.swap(allele.alt);
    }
  }
  if (allele.ref == allele.alt) return skipped(SkipReason::alt_is_ref);  // through n_matches
  if (trim_alleles(allele.ref, allele.alt, allele.begin)) allele.flags |= flag_trimmed;
  if (align(allele, overlay, begin)) allele.flags |= flag_aligned;
  place(allele, overlay, begin, shift);
  return allele;
}

void AlleleJudge::place(PlacedAllele& allele, const std::string& overlay, std::int64_t overlay_begin,
                        std::int64_t shift) {
  const std::int64_t window = rules_.window;
  const std::int64_t ref_size = length_of(allele.ref);
  const std::int64_t alt_size = length_of(allele.alt);
  // A deletion's ALT window needs as many more bases at its right end.
  const std::int64_t needed = window + std::max<std::int64_t>(0, ref_size - alt_size);
  const std::int64_t length = contigs_[allele.contig].length;
  std::int64_t start = rules_.grid > 0 ? allele.begin / rules_.grid * rules_.grid - rules_.target_offset
                                       : allele.begin - rules_.offset;
  start += shift;
  const auto fits = [&] {
    const std::int64_t at = allele.begin - start;
    return at >= 0 && at + std::max(ref_size, alt_size) <= window;
  };
  allele.window_begin = start;
  if (!fits()) {
    allele.reason = SkipReason::too_long;
    return;
  }
  if (start < 0 || start + needed > length) {
    const bool has_room = needed <= length;
    if (rules_.edge == EdgeRule::skip || (rules_.edge == EdgeRule::shift && !has_room)) {
      allele.reason = SkipReason::edge;
      return;
    }
    if (rules_.edge == EdgeRule::shift) {
      start = std::clamp<std::int64_t>(start, 0, length - needed);
      allele.flags |= flag_edge_shifted;
      allele.window_begin = start;
      if (!fits()) {
        allele.reason = SkipReason::too_long;
        return;
      }
    } else {
      allele.flags |= flag_edge_padded;
    }
  }
  std::string genome = bases(allele.contig, start, start + needed);
  for (std::size_t i = 0; i < overlay.size(); ++i) {
    const std::int64_t at = overlay_begin + static_cast<std::int64_t>(i) - start;
    if (at >= 0 && at < needed) genome[static_cast<std::size_t>(at)] = overlay[i];
  }
  if (rules_.counts_repeats) {
    // What bases() has just held.
    const std::int64_t first = std::max<std::int64_t>(start, 0), last = std::min(start + window, length);
    const auto letters = cached_letters_.begin() + (first - cached_begin_);
    const auto small = std::count_if(letters, letters + std::max<std::int64_t>(0, last - first),
                                     [](char letter) { return letter >= 'a'; });
    allele.repeat_share = static_cast<double>(small) / static_cast<double>(window);
  }
  const std::int64_t at = allele.begin - start;
  allele.reference = piece(genome, 0, window);
  const auto n_count = std::count(allele.reference.begin(), allele.reference.end(), 'N');
  allele.n_share = static_cast<double>(n_count) / static_cast<double>(window);
  if (allele.n_share > rules_.max_n) {
    allele.reason = SkipReason::too_many_n;
    allele.reference.clear();
    return;
  }
  allele.alternative =
      piece(genome, 0, at) + allele.alt + piece(genome, at + ref_size, window - at - alt_size);
}

}  // namespace bigbird
