// UCSC chains; see chain.h. `from` is the chain's target (t), `to` its query (q), as liftOver uses them.
#include "lib/io/genome/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

void split_white(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  std::size_t begin = 0;
  while ((begin = line.find_first_not_of(" \t", begin)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end;
  }
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw_bad_input(fmt::format("{}: {}", where, what),
                  "give a UCSC chain file, for instance hg38ToHg19.over.chain.gz");
}

// Chains are found by the stretches of 2^17 bases that they reach into, as UCSC's bins.
constexpr int stretch_shift = 17;

std::size_t stretch_of(std::int64_t position) {
  return static_cast<std::size_t>(position >> stretch_shift);
}

// Bases that any of the pieces covers.
std::int64_t covered_bases(std::vector<ChainInterval>& pieces) {
  std::sort(pieces.begin(), pieces.end(),
            [](const ChainInterval& a, const ChainInterval& b) { return a.begin < b.begin; });
  std::int64_t covered = 0;
  std::int64_t reached = pieces.front().begin;
  for (const ChainInterval& piece : pieces) {
    covered += std::max<std::int64_t>(0, piece.end - std::max(piece.begin, reached));
    reached = std::max(reached, piece.end);
  }
  return covered;
}

// The sequences of one side, in order of first appearance.
class ContigCollector {
 public:
  std::size_t index(std::string_view name, std::int64_t length, const std::string& where) {
    const auto [found, is_new] = index_.emplace(std::string(name), contigs_.size());
    if (is_new) {
      contigs_.push_back({std::string(name), length});
    } else if (contigs_[found->second].length != length) {
      fail(where, fmt::format("{} has two lengths, {} and {}", name, contigs_[found->second].length, length));
    }
    return found->second;
  }
  std::vector<Contig> take() { return std::move(contigs_); }

 private:
  std::vector<Contig> contigs_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace

const char* lift_outcome_text(LiftOutcome outcome) {
  switch (outcome) {
    case LiftOutcome::lifted:
      return "Lifted";
    case LiftOutcome::deleted:
      return "Deleted in new";
    case LiftOutcome::partially_deleted:
      return "Partially deleted in new";
    case LiftOutcome::split:
      return "Split in new";
    case LiftOutcome::unknown_contig:
      return "Unknown contig";
  }
  return "";
}

ChainFile::ChainFile(const std::string& path) {
  LineReader lines(path);
  ContigCollector from;
  ContigCollector to;
  std::string_view line;
  std::vector<std::string_view> fields;
  while (lines.next(line)) {
    if (line.starts_with("#") || line.find_first_not_of(" \t") == std::string_view::npos) continue;
    split_white(line, fields);
    if (fields[0] != "chain" || fields.size() < 12)
      fail(lines.where(), "expected a line that starts with: chain");
    const auto number = [&](std::size_t field) {
      return parse_integer(fields[field], lines.where(), "chain field");
    };
    Chain chain;
    chain.score = parse_number(fields[1], lines.where(), "chain score");
    const std::int64_t from_length = number(3);
    const std::int64_t to_length = number(8);
    const std::int64_t to_end = number(11);
    chain.from_begin = number(5);
    chain.from_end = number(6);
    chain.reversed = fields[9] == "-";
    Block block{number(5), number(10), 0};
    const auto inside = [](std::int64_t begin, std::int64_t end, std::int64_t length) {
      return 0 <= begin && begin < end && end <= length;
    };
    if (fields[4] != "+" || (fields[9] != "+" && fields[9] != "-") ||
        !inside(block.from, chain.from_end, from_length) || !inside(block.to, to_end, to_length)) {
      fail(lines.where(), "impossible strands or positions in a chain header");
    }
    const std::size_t from_contig = from.index(fields[2], from_length, lines.where());
    chain.to_contig = to.index(fields[7], to_length, lines.where());
    for (bool last = false; !last;) {
      if (!lines.next(line)) fail(lines.where(), "the file ends inside a chain");
      split_white(line, fields);
      last = fields.size() == 1;
      if (fields.size() != 1 && fields.size() != 3) fail(lines.where(), "a chain's line has 1 or 3 numbers");
      block.length = number(0);
      const std::int64_t from_gap = last ? 0 : number(1);
      const std::int64_t to_gap = last ? 0 : number(2);
      if (block.length < 0 || from_gap < 0 || to_gap < 0 || block.length > chain.from_end - block.from ||
          block.length > to_end - block.to || from_gap > chain.from_end - block.from - block.length ||
          to_gap > to_end - block.to - block.length) {
        fail(lines.where(), "a block reaches beyond its chain");
      }
      if (block.length > 0) chain.blocks.push_back(block);
      block.from += block.length + from_gap;
      block.to += block.length + to_gap;
    }
    if (block.from != chain.from_end || block.to != to_end)
      fail(lines.where(), "blocks do not reach the chain's ends");
    if (by_contig_.size() <= from_contig) by_contig_.resize(from_contig + 1);
    by_contig_[from_contig].chains.push_back(std::move(chain));
  }
  from_ = ContigNames(from.take());
  to_ = ContigNames(to.take());
  if (from_.size() == 0) fail(path, "holds no chain");
  for (FromContig& contig : by_contig_) {
    // Ties keep the order of the file.
    std::stable_sort(contig.chains.begin(), contig.chains.end(),
                     [](const Chain& a, const Chain& b) { return a.score > b.score; });
    for (std::size_t i = 0; i < contig.chains.size(); ++i) {
      const std::size_t last = stretch_of(contig.chains[i].from_end - 1);
      if (contig.by_stretch.size() <= last) contig.by_stretch.resize(last + 1);
      for (std::size_t k = stretch_of(contig.chains[i].from_begin); k <= last; ++k)
        contig.by_stretch[k].push_back(static_cast<std::uint32_t>(i));
    }
  }
}

// What a chain holds of a part: how many bases, and from where to where, on the chain's own strand of `to`.
struct ChainFile::Mapped {
  std::int64_t bases = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

ChainFile::Mapped ChainFile::map_on(const Chain& chain, const ChainInterval& part,
                                    std::vector<ChainInterval>& pieces) {
  Mapped mapped;
  auto block =
      std::upper_bound(chain.blocks.begin(), chain.blocks.end(), part.begin,
                       [](std::int64_t position, const Block& b) { return position < b.from + b.length; });
  for (; block != chain.blocks.end() && block->from < part.end; ++block) {
    const std::int64_t low = std::max(part.begin, block->from);
    const std::int64_t high = std::min(part.end, block->from + block->length);
    if (mapped.bases == 0) mapped.begin = block->to + (low - block->from);
    mapped.end = block->to + (high - block->from);
    mapped.bases += high - low;
    pieces.push_back({low, high});
  }
  return mapped;
}

LiftedParts ChainFile::lift_parts(std::string_view chrom, const std::vector<ChainInterval>& parts,
                                  const std::optional<ChainInterval>& inner, double min_match) const {
  LiftedParts result;
  const auto contig = from_.find(chrom);
  if (!contig) {
    result.outcome = LiftOutcome::unknown_contig;
    return result;
  }
  std::int64_t total = 0;
  for (const ChainInterval& part : parts) total += part.end - part.begin;
  const double needed = min_match * static_cast<double>(total);
  const std::int64_t begin = parts.front().begin;
  const std::int64_t end = parts.back().end;
  std::vector<ChainInterval> pieces;  // that any chain holds
  std::vector<ChainInterval> ignored;
  std::size_t chains_hit = 0;
  for (const std::uint32_t index : chains_of(*contig, begin, end)) {
    const Chain& chain = by_contig_[*contig].chains[index];
    if (chain.from_end <= begin || chain.from_begin >= end) continue;
    result.parts.clear();
    std::int64_t bases = 0;
    bool every_part = true;
    for (const ChainInterval& part : parts) {
      const Mapped mapped = map_on(chain, part, pieces);
      bases += mapped.bases;
      every_part = every_part && mapped.bases > 0;
      result.parts.push_back({mapped.begin, mapped.end});
    }
    if (bases == 0) continue;
    ++chains_hit;
    if (!every_part || static_cast<double>(bases) < needed) continue;
    const Contig& target = to_[chain.to_contig];
    result.outcome = LiftOutcome::lifted;
    result.chrom = target.name;
    result.reversed = chain.reversed;
    if (inner) {
      const Mapped mapped = map_on(chain, *inner, ignored);
      if (mapped.bases > 0) result.inner = ChainInterval{mapped.begin, mapped.end};
    }
    if (chain.reversed) {
      const auto flip = [&](ChainInterval& part) {
        part = {target.length - part.end, target.length - part.begin};
      };
      std::for_each(result.parts.begin(), result.parts.end(), flip);
      std::reverse(result.parts.begin(), result.parts.end());
      if (result.inner) flip(*result.inner);
    }
    return result;
  }
  result.parts.clear();
  if (!pieces.empty()) {
    const bool enough_together = chains_hit > 1 && static_cast<double>(covered_bases(pieces)) >= needed;
    result.outcome = enough_together ? LiftOutcome::split : LiftOutcome::partially_deleted;
  }
  return result;
}

std::vector<std::uint32_t> ChainFile::chains_of(std::size_t contig, std::int64_t begin,
                                                std::int64_t end) const {
  const auto& by_stretch = by_contig_[contig].by_stretch;
  std::vector<std::uint32_t> indices;
  const std::size_t first = stretch_of(std::max<std::int64_t>(begin, 0));
  const std::size_t last = std::min(stretch_of(std::max<std::int64_t>(end - 1, 0)) + 1, by_stretch.size());
  for (std::size_t k = first; k < last; ++k)
    indices.insert(indices.end(), by_stretch[k].begin(), by_stretch[k].end());
  if (first + 1 < last) {  // the order of a single stretch is right already
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  }
  return indices;
}

Lifted ChainFile::lift_base(std::string_view chrom, std::int64_t position) const {
  return lift_interval(chrom, position, position + 1);
}

Lifted ChainFile::lift_interval(std::string_view chrom, std::int64_t begin, std::int64_t end,
                                double min_match) const {
  const bool is_empty = begin == end;
  const LiftedParts found = lift_parts(chrom, {{begin, is_empty ? begin + 1 : end}}, std::nullopt, min_match);
  Lifted result;
  result.outcome = found.outcome;
  if (!found.ok()) return result;
  result.chrom = found.chrom;
  result.reversed = found.reversed;
  result.begin = found.parts.front().begin;
  result.end = found.parts.front().end;
  if (is_empty) {
    // The point before a base is, on the other strand, the point after it.
    (found.reversed ? result.begin : result.end) = found.reversed ? result.end : result.begin;
  }
  return result;
}

}  // namespace bigbird
