// VCF lines lifted; see liftover.h. Kinds of ALT as VCF 4.3 defines them.
#include "lib/genomes/liftover/liftover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "lib/core/error.h"
#include "lib/io/genome/base_letters.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr const char* vcf_hint =
    "VCF lines are tab-separated: CHROM POS ID REF ALT and, where there is more, QUAL FILTER INFO";
constexpr const char* flipped_reason = "Structural variant on a flipped strand";
constexpr const char* ref_reason = "REF is not the new genome's";
constexpr const char* gap_reason = "Bases added or lost next to an indel in new";
constexpr const char* unknown_gap_reason = "Indel near a gap of the chain needs the new genome";
constexpr const char* long_repeat_reason = "Indel in a repeat that is too long to follow";
// Without the new genome, whether an indel can be moved to a gap is not known: so near to one it could.
constexpr std::int64_t unknown_reach = 200;
// With it, a repeat is followed so far.
constexpr std::int64_t longest_repeat = 1 << 16;
// How far an indel on the other strand is moved left; beyond it the record is right, only not leftmost.
constexpr int most_moves = 1000;

bool is_sequence(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char letter) {
    return base_letters[static_cast<std::uint8_t>(letter)] != not_a_base;
  });
}

char base_of(char letter) {
  return static_cast<char>(base_letters[static_cast<std::uint8_t>(letter)] & 0x7F);
}

char upper(char letter) {
  return static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
}

// The letters as a FASTA is read: upper case, IUPAC letters as N.
std::string bases_of(std::string_view letters) {
  std::string bases(letters);
  for (char& letter : bases) letter = base_of(letter);
  return bases;
}

// How many of the letters beyond an insertion or deletion go on with its own, `surplus`, over and over: so
// far it can be moved, and is the same allele. Letters are read away from it.
std::size_t moves_over(std::string_view surplus, std::string_view beyond) {
  std::size_t moves = 0;
  for (; moves < beyond.size(); ++moves) {
    const char letter = moves < surplus.size() ? surplus[moves] : beyond[moves - surplus.size()];
    if (letter != beyond[moves] || letter == 'N') break;
  }
  return moves;
}

// Has no place of its own, and reads the same on both strands.
bool is_placeless(std::string_view alt) {
  return alt == "." || alt == "*" || alt == "<*>" || alt == "<NON_REF>";
}

bool is_breakend(std::string_view alt) {
  return alt.find_first_of("[]") != std::string_view::npos;
}

// The value of KEY=VALUE in INFO; nothing when it has none.
std::optional<std::string_view> info_value(std::string_view info, std::string_view key) {
  while (!info.empty()) {
    const std::size_t end = std::min(info.find(';'), info.size());
    const std::string_view entry = info.substr(0, end);
    if (entry.size() > key.size() && entry.starts_with(key) && entry[key.size()] == '=')
      return entry.substr(key.size() + 1);
    info.remove_prefix(std::min(end + 1, info.size()));
  }
  return std::nullopt;
}

// The value of a key in a line of the form ##contig=<ID=chr1,length=5,...>; empty when it has none.
std::string_view contig_value(std::string_view line, std::string_view key) {
  const std::size_t open = line.find('<');
  if (open == std::string_view::npos) return {};
  for (std::size_t begin = open + 1; begin < line.size();) {
    bool quoted = false;
    std::size_t end = begin;
    for (; end < line.size(); ++end) {
      if (line[end] == '"') quoted = !quoted;
      if (!quoted && (line[end] == ',' || line[end] == '>')) break;
    }
    const std::string_view entry = line.substr(begin, end - begin);
    if (entry.starts_with(key) && entry.size() > key.size() && entry[key.size()] == '=')
      return entry.substr(key.size() + 1);
    begin = end + 1;
  }
  return {};
}

}  // namespace

struct VcfLifter::Record {
  std::size_t from = 0;       // contig
  std::int64_t position = 0;  // 1-based, as in the file
  std::string ref;
  std::vector<std::string> alts;
  std::string info;
  bool has_info = false;
};

void VcfLifter::header(std::string_view line, const LineReader& lines, std::string& out) {
  const auto write_contigs = [&] {
    if (contigs_written_) return;
    contigs_written_ = true;
    for (const Contig& contig : assembly_.contigs())
      out += fmt::format("##contig=<ID={},length={}>\n", contig.name, contig.length);
  };
  if (line.starts_with("##contig=")) {
    const std::string_view name = contig_value(line, "ID");
    const std::string_view length = contig_value(line, "length");
    if (!name.empty()) {
      assembly_.declare(name, length.empty() ? 0 : parse_integer(length, lines.where(), "contig length"),
                        lines.where());
    }
    write_contigs();
    return;
  }
  if (line.starts_with("##reference=")) return;
  if (line.starts_with("#CHROM")) {
    write_contigs();
    if (!fasta_.empty()) out += fmt::format("##reference={}\n", fasta_);
    for (const std::string& added : lines_) out += "##" + added + "\n";
  }
  (out += line) += '\n';
}

VcfLifter::Record VcfLifter::parse(const LineReader& lines) {
  const auto fail = [&](const std::string& what) {
    throw_bad_input(fmt::format("{}: {}", lines.where(), what), vcf_hint);
  };
  if (fields_.size() < 5) fail(fmt::format("{} tab-separated columns; VCF has at least 5", fields_.size()));
  Record record;
  record.position = parse_integer(fields_[1], lines.where(), "POS");
  if (record.position < 0) fail(fmt::format("POS {} is negative", record.position));
  record.ref = fields_[3];
  if (!is_sequence(record.ref)) fail(fmt::format("REF is not a sequence: {}", record.ref.substr(0, 40)));
  std::string_view alts = fields_[4];
  for (;;) {
    const std::size_t comma = alts.find(',');
    const std::string_view alt = alts.substr(0, comma);
    if (alt.empty()) fail("an empty ALT");
    record.alts.emplace_back(alt);
    if (comma == std::string_view::npos) break;
    alts.remove_prefix(comma + 1);
  }
  record.has_info = fields_.size() > 7;
  if (record.has_info) record.info = fields_[7];
  return record;
}

std::string VcfLifter::lift(std::string_view line, const LineReader& lines, std::string& out) {
  split_tabs(line, fields_);
  Record record = parse(lines);
  const auto from = assembly_.from(fields_[0], [&] { return lines.where(); });
  if (!from) return lift_outcome_text(LiftOutcome::unknown_contig);
  if (record.position == 0) return "POS 0, before the first base";
  const Contig& old_contig = assembly_.from_contig(*from);
  record.from = *from;
  const auto length = static_cast<std::int64_t>(record.ref.size());
  std::int64_t begin = record.position - 1;
  if (begin > old_contig.length - length) return beyond_contig_reason;
  const Lifted lifted = assembly_.chain().lift_interval(old_contig.name, begin, begin + length, 1.0);
  if (!lifted.ok()) return lift_outcome_text(lifted.outcome);
  if (lifted.end - lifted.begin != length) return "Bases added inside of REF in new";
  const auto to = assembly_.to(lifted.chrom);
  if (!to) return not_in_genome_reason;
  if (lifted.end > assembly_.contigs()[*to].length) return beyond_new_reason;
  begin = lifted.begin;

  if (std::string reason = carry_alts(record, lines); !reason.empty()) return reason;
  if (lifted.reversed) {
    record.ref = reverse_complement(record.ref);
    for (std::string& alt : record.alts) {
      if (is_sequence(alt)) {
        alt = reverse_complement(alt);
      } else if (!is_placeless(alt)) {
        return flipped_reason;
      }
    }
  }
  if (assembly_.has_bases()) {
    const std::string bases = assembly_.bases(*to, lifted.begin, lifted.end);
    const bool same = std::equal(bases.begin(), bases.end(), record.ref.begin(),
                                 [](char base, char letter) { return base == base_of(letter); });
    if (!same) return ref_reason;
  }
  if (lifted.reversed && !assembly_.has_bases()) {  // it has nothing to move with, and says so first
    if (std::string reason = flip(record, *to, begin); !reason.empty()) return reason;
  }
  for (const std::string& alt : record.alts) {
    if (!is_sequence(alt) || alt.size() == record.ref.size()) continue;
    if (std::string reason = check_surroundings(record.ref, alt, *to, lifted); !reason.empty()) return reason;
  }
  if (std::string reason = carry_info(record, lifted.chrom, begin, lifted.reversed); !reason.empty())
    return reason;
  if (lifted.reversed) {
    if (std::string reason = flip(record, *to, begin); !reason.empty()) return reason;
  }

  out += fmt::format("{}\t{}\t{}\t{}\t", assembly_.contigs()[*to].name, begin + 1, fields_[2], record.ref);
  for (std::size_t i = 0; i < record.alts.size(); ++i) (out += i == 0 ? "" : ",") += record.alts[i];
  for (std::size_t i = 5; i < fields_.size(); ++i) {
    out += '\t';
    out += i == 7 ? std::string_view(record.info) : fields_[i];
  }
  out += '\n';
  return {};
}

std::string VcfLifter::carry_alts(Record& record, const LineReader& lines) {
  for (std::string& alt : record.alts) {
    if (is_sequence(alt) || is_placeless(alt)) continue;
    if (is_breakend(alt)) {
      if (std::string reason = carry_breakend(alt, lines); !reason.empty()) return reason;
      continue;
    }
    const bool symbolic = alt.size() > 2 && alt.front() == '<' && alt.back() == '>';
    const bool single_breakend = alt.size() > 1 && (alt.front() == '.' || alt.back() == '.');
    if (!symbolic && !single_breakend) {
      throw_bad_input(
          fmt::format("{}: ALT is neither a sequence nor symbolic: {}", lines.where(), alt.substr(0, 40)),
          vcf_hint);
    }
  }
  return {};
}

// "G]17:198982]": the place between the brackets lifts as a base.
std::string VcfLifter::carry_breakend(std::string& alt, const LineReader& lines) {
  const std::size_t open = alt.find_first_of("[]");
  const std::size_t close = alt.find_first_of("[]", open + 1);
  const std::string mate = close == std::string::npos ? "" : alt.substr(open + 1, close - open - 1);
  const std::size_t colon = mate.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    throw_bad_input(
        fmt::format("{}: a breakend without its mate's place: {}", lines.where(), alt.substr(0, 40)),
        "breakends are of the form G]17:198982]");
  }
  const std::int64_t position =
      parse_integer(std::string_view(mate).substr(colon + 1), lines.where(), "position of a breakend's mate");
  const auto from = assembly_.from(std::string_view(mate).substr(0, colon), [&] { return lines.where(); });
  if (!from || position < 1) return "Mate of a breakend does not lift";
  const Lifted lifted = assembly_.chain().lift_base(assembly_.from_contig(*from).name, position - 1);
  const auto to = lifted.ok() ? assembly_.to(lifted.chrom) : std::nullopt;
  if (!to) return "Mate of a breakend does not lift";
  if (lifted.reversed) return flipped_reason;
  alt = fmt::format("{}{}:{}{}", alt.substr(0, open + 1), assembly_.contigs()[*to].name, lifted.begin + 1,
                    alt.substr(close));
  return {};
}

std::string VcfLifter::carry_info(Record& record, const std::string& chrom, std::int64_t begin,
                                  bool reversed) {
  for (const char* key : {"CHR2", "POS2", "END2"}) {
    if (info_value(record.info, key)) return fmt::format("INFO names a second place ({})", key);
  }
  const auto end_text = info_value(record.info, "END");
  if (!end_text || *end_text == ".") return {};
  if (reversed) return flipped_reason;
  constexpr const char* reason = "END does not lift next to POS";
  const std::string place = fmt::format("END of {}:{}", fields_[0], fields_[1]);
  const std::int64_t end = parse_integer(*end_text, place, "END");
  if (end < record.position) return reason;
  const Lifted lifted = assembly_.chain().lift_base(assembly_.from_contig(record.from).name, end - 1);
  if (!lifted.ok() || lifted.reversed || lifted.chrom != chrom || lifted.begin < begin) return reason;
  if (info_value(record.info, "SVLEN") && lifted.begin - begin != end - record.position)
    return "Length from POS to END changes, but SVLEN is given";
  const auto at = static_cast<std::size_t>(end_text->data() - record.info.data());
  record.info.replace(at, end_text->size(), std::to_string(lifted.begin + 1));
  return {};
}

std::string VcfLifter::check_surroundings(std::string_view ref, std::string_view alt, std::size_t contig,
                                          const Lifted& lifted) {
  // In the new assembly's order, as the alleles are by now.
  const std::string ref_bases = bases_of(ref), alt_bases = bases_of(alt);
  std::string_view ref_left = ref_bases, alt_left = alt_bases;
  std::size_t after = 0, before = 0;  // letters of REF that the allele keeps at its end, at its begin
  for (; !ref_left.empty() && !alt_left.empty() && ref_left.back() == alt_left.back(); ++after) {
    ref_left.remove_suffix(1);
    alt_left.remove_suffix(1);
  }
  for (; !ref_left.empty() && !alt_left.empty() && ref_left.front() == alt_left.front(); ++before) {
    ref_left.remove_prefix(1);
    alt_left.remove_prefix(1);
  }
  const std::string_view longer = std::max(
      ref_left, alt_left, [](std::string_view a, std::string_view b) { return a.size() < b.size(); });
  const std::size_t surplus = longer.size() - std::min(ref_left.size(), alt_left.size());
  const ChainRoom& room = lifted.room;
  const auto backwards = [](std::string_view letters) {
    return std::string(letters.rbegin(), letters.rend());
  };
  const std::string_view ref_view = ref_bases;
  std::string reason =
      check_side(backwards(longer.substr(0, surplus)), backwards(ref_view.substr(0, before)),
                 lifted.reversed ? room.after : room.before,
                 lifted.reversed ? room.ends_after : room.ends_before, contig, lifted.begin, -1);
  if (!reason.empty()) return reason;
  return check_side(std::string(longer.substr(longer.size() - surplus)),
                    std::string(ref_view.substr(ref_view.size() - after)),
                    lifted.reversed ? room.before : room.after,
                    lifted.reversed ? room.ends_before : room.ends_after, contig, lifted.end, 1);
}

// One side of an indel, read away from it: the letters of REF that it keeps there, then the `room` bases that
// the stretch goes on from `place`, upwards (step 1) or downwards (-1).
std::string VcfLifter::check_side(const std::string& surplus, std::string beyond, std::int64_t room,
                                  bool ends, std::size_t contig, std::int64_t place, int step) {
  const std::size_t kept = beyond.size();
  if (moves_over(surplus, beyond) < kept) return {};
  if (!assembly_.has_bases()) {
    if (ends || room >= unknown_reach) return {};
    return room == 0 ? gap_reason : unknown_gap_reason;
  }
  for (std::int64_t count = 64;; count *= 8) {
    const std::int64_t there = step > 0 ? assembly_.contigs()[contig].length - place : place;
    const std::int64_t taken = std::min({count, room, there});
    std::string bases = step > 0 ? assembly_.bases(contig, place, place + taken)
                                 : assembly_.bases(contig, place - taken, place);
    if (step < 0) std::reverse(bases.begin(), bases.end());
    beyond.resize(kept);
    beyond += bases;
    if (moves_over(surplus, beyond) < beyond.size()) return {};
    if (taken == room) return ends ? "" : gap_reason;
    if (taken == there) return beyond_new_reason;
    if (count >= longest_repeat) return long_repeat_reason;
  }
}

// On the other strand the anchor base of an indel is its last: it becomes the base before, and the indel is
// moved as far left as it can be (Tan et al. 2015, "Unified representation of genetic variants").
std::string VcfLifter::flip(Record& record, std::size_t contig, std::int64_t& begin) {
  std::vector<std::string*> alleles = {&record.ref};
  for (std::string& alt : record.alts) {
    if (is_sequence(alt)) alleles.push_back(&alt);
  }
  const bool one_length = std::all_of(alleles.begin(), alleles.end(), [&](const std::string* allele) {
    return allele->size() == record.ref.size();
  });
  const auto share_last = [&] {
    return std::all_of(alleles.begin(), alleles.end(), [&](const std::string* allele) {
      return upper(allele->back()) == upper(record.ref.back());
    });
  };
  if (one_length || !share_last()) return {};
  if (!assembly_.has_bases()) return "Anchor of an indel on a flipped strand needs the new genome";
  for (int moves = 0; moves < most_moves && share_last(); ++moves) {
    const bool at_anchor = std::any_of(alleles.begin(), alleles.end(),
                                       [](const std::string* allele) { return allele->size() == 1; });
    if (at_anchor) {
      if (begin == 0) return "No base before an indel on a flipped strand";
      --begin;
      const std::string base = assembly_.bases(contig, begin, begin + 1);
      for (std::string* allele : alleles) allele->insert(0, base);
    }
    for (std::string* allele : alleles) allele->pop_back();
  }
  const auto share_first = [&] {
    return std::all_of(alleles.begin(), alleles.end(), [&](const std::string* allele) {
      return allele->size() > 1 && upper(allele->front()) == upper(record.ref.front());
    });
  };
  while (share_first()) {
    for (std::string* allele : alleles) allele->erase(0, 1);
    ++begin;
  }
  return {};
}

}  // namespace bigbird
