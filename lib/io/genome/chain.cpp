// UCSC chains; see chain.h. `from` is the chain's target (t), `to` its query (q), as liftOver uses them.
#include "lib/io/genome/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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

// Far beyond any genome; a longer sequence is a damaged number.
constexpr std::int64_t longest_sequence = std::int64_t{1} << 40;

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
    if (!std::isfinite(chain.score)) fail(lines.where(), "a chain score that is not a number");
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
    if (from_length > longest_sequence || to_length > longest_sequence) {
      fail(lines.where(), fmt::format("a sequence of {} bases", std::max(from_length, to_length)));
    }
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
      // Blocks without a gap between them are one.
      const bool goes_on = !chain.blocks.empty() &&
                           chain.blocks.back().from + chain.blocks.back().length == block.from &&
                           chain.blocks.back().to + chain.blocks.back().length == block.to;
      if (goes_on) {
        chain.blocks.back().length += block.length;
      } else if (block.length > 0) {
        chain.blocks.push_back(block);
      }
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
    contig.index();
  }
}

void ChainFile::FromContig::index() {
  by_begin.resize(chains.size());
  std::iota(by_begin.begin(), by_begin.end(), std::uint32_t{0});
  std::stable_sort(by_begin.begin(), by_begin.end(), [&](std::uint32_t a, std::uint32_t b) {
    return chains[a].from_begin < chains[b].from_begin;
  });
  reach.resize(chains.size());
  fill_reach(0, chains.size());
}

// The furthest end among by_begin[first, last), which is noted at the middle.
std::int64_t ChainFile::FromContig::fill_reach(std::size_t first, std::size_t last) {
  if (first == last) return 0;
  const std::size_t middle = first + (last - first) / 2;
  const std::int64_t below = fill_reach(first, middle), above = fill_reach(middle + 1, last);
  return reach[middle] = std::max({chains[by_begin[middle]].from_end, below, above});
}

void ChainFile::FromContig::find(std::size_t first, std::size_t last, const ChainInterval& part,
                                 std::vector<std::uint32_t>& found) const {
  if (first == last) return;
  const std::size_t middle = first + (last - first) / 2;
  if (reach[middle] <= part.begin) return;  // every chain here ends before
  find(first, middle, part, found);
  const Chain& chain = chains[by_begin[middle]];
  if (chain.from_begin >= part.end) return;  // it and all to its right begin after
  if (chain.from_end > part.begin) found.push_back(by_begin[middle]);
  find(middle + 1, last, part, found);
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

// How far the block that holds a part goes on around it.
ChainRoom ChainFile::room_of(const Chain& chain, std::size_t contig, const ChainInterval& part) const {
  const auto block =
      std::upper_bound(chain.blocks.begin(), chain.blocks.end(), part.begin,
                       [](std::int64_t position, const Block& b) { return position < b.from + b.length; });
  if (block == chain.blocks.end() || block->from > part.begin || block->from + block->length < part.end)
    return {};
  const std::int64_t end = block->from + block->length;
  return {part.begin - block->from, end - part.end, block->from == 0 && block->to == 0,
          end == from_[contig].length && block->to + block->length == to_[chain.to_contig].length};
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
    if (parts.size() == 1) result.room = room_of(chain, *contig, parts.front());
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
  std::vector<std::uint32_t> indices;
  by_contig_[contig].find(0, by_contig_[contig].chains.size(), {begin, end}, indices);
  std::sort(indices.begin(), indices.end());
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
  result.room = found.room;
  if (is_empty) {
    // The point before a base is, on the other strand, the point after it.
    (found.reversed ? result.begin : result.end) = found.reversed ? result.end : result.begin;
  }
  return result;
}

}  // namespace bigbird
