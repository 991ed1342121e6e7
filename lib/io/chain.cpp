// UCSC chains; see chain.h. `from` is the chain's target (t), `to` its query (q), as liftOver uses them.
#include "lib/io/chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/io/file.h"
#include "lib/io/tsv.h"

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

Lifted not_lifted(LiftOutcome outcome) {
  Lifted result;
  result.outcome = outcome;
  return result;
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
    if (chains_.size() <= from_contig) chains_.resize(from_contig + 1);
    chains_[from_contig].push_back(std::move(chain));
  }
  from_ = ContigNames(from.take());
  to_ = ContigNames(to.take());
  if (from_.size() == 0) fail(path, "holds no chain");
  for (std::vector<Chain>& chains : chains_) {
    // Ties keep the order of the file.
    std::stable_sort(chains.begin(), chains.end(),
                     [](const Chain& a, const Chain& b) { return a.score > b.score; });
  }
}

Lifted ChainFile::lift_base(std::string_view chrom, std::int64_t position) const {
  return lift_interval(chrom, position, position + 1);
}

Lifted ChainFile::lift_interval(std::string_view chrom, std::int64_t begin, std::int64_t end,
                                double min_match) const {
  const auto contig = from_.find(chrom);
  if (!contig) return not_lifted(LiftOutcome::unknown_contig);
  const bool is_empty = begin == end;
  const std::int64_t stop = is_empty ? begin + 1 : end;
  const double needed = min_match * static_cast<double>(stop - begin);
  std::vector<std::pair<std::int64_t, std::int64_t>> mapped;  // pieces of [begin, stop) over all chains
  std::size_t chains_hit = 0;
  for (const Chain& chain : chains_[*contig]) {
    if (chain.from_end <= begin || chain.from_begin >= stop) continue;
    auto block =
        std::upper_bound(chain.blocks.begin(), chain.blocks.end(), begin,
                         [](std::int64_t position, const Block& b) { return position < b.from + b.length; });
    std::int64_t bases = 0;
    std::int64_t first = 0;
    std::int64_t last = 0;  // one past the last, both on the chain's own strand of `to`
    for (; block != chain.blocks.end() && block->from < stop; ++block) {
      const std::int64_t low = std::max(begin, block->from);
      const std::int64_t high = std::min(stop, block->from + block->length);
      if (bases == 0) first = block->to + (low - block->from);
      last = block->to + (high - block->from);
      bases += high - low;
      mapped.emplace_back(low, high);
    }
    if (bases == 0) continue;
    ++chains_hit;
    if (static_cast<double>(bases) < needed) continue;
    const Contig& target = to_[chain.to_contig];
    Lifted result{LiftOutcome::lifted, target.name, first, last, chain.reversed};
    if (chain.reversed) {
      result.begin = target.length - last;
      result.end = target.length - first;
    }
    if (is_empty) {
      // The point before a base is, on the other strand, the point after it.
      const std::int64_t point = chain.reversed ? result.end : result.begin;
      result.begin = point;
      result.end = point;
    }
    return result;
  }
  if (mapped.empty()) return not_lifted(LiftOutcome::deleted);
  std::sort(mapped.begin(), mapped.end());
  std::int64_t covered = 0;
  std::int64_t reached = begin;
  for (const auto& [low, high] : mapped) {
    covered += std::max<std::int64_t>(0, high - std::max(low, reached));
    reached = std::max(reached, high);
  }
  const bool enough_together = chains_hit > 1 && static_cast<double>(covered) >= needed;
  return not_lifted(enough_together ? LiftOutcome::split : LiftOutcome::partially_deleted);
}

}  // namespace bigbird
