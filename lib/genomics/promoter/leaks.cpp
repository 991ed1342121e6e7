// The leak check; see leaks.h.
#include "lib/genomics/promoter/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/hash.h"
#include "lib/core/names.h"
#include "lib/genomics/promoter/negatives.h"
#include "lib/io/genome/fasta.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<Leak, const char*>, 5> leak_names{
    {{Leak::shared_promoter, "shared promoter"},
     {Leak::parted_negative, "negative apart from its promoter"},
     {Leak::equal_sequence, "equal sequence"},
     {Leak::reverse_complement, "reverse complement"},
     {Leak::overlapping_windows, "overlapping window"}}};

constexpr std::size_t no_example = std::numeric_limits<std::size_t>::max();

// For each key the first example that has it, and the first one of another side than that: enough to find one
// of another side than any.
template <typename Key>
class SideIndex {
 public:
  void add(const Key& key, std::size_t example, std::uint8_t side) {
    const auto [found, is_new] = entries_.emplace(key, Entry{side, example, no_example});
    Entry& entry = found->second;
    if (!is_new && entry.second == no_example && entry.side != side) entry.second = example;
  }
  // An example with this key on another side than `side`, or `nothing`.
  std::size_t elsewhere(const Key& key, std::uint8_t side) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return no_example;
    return found->second.side != side ? found->second.first : found->second.second;
  }

 private:
  struct Entry {
    std::uint8_t side;  // of `first`
    std::size_t first;
    std::size_t second;
  };
  std::unordered_map<Key, Entry> entries_;
};

}  // namespace

const char* leak_name(Leak leak) {
  return find_name(leak_names, leak);
}

bool LeakReport::any() const {
  return std::any_of(counts.begin(), counts.end(), [](std::int64_t count) { return count > 0; });
}

std::string LeakReport::text() const {
  std::string text;
  for (std::size_t kind = 0; kind < leak_kinds; ++kind) {
    if (counts[kind] == 0) continue;
    text += fmt::format("{}{} x {} ({})", text.empty() ? "" : ", ", counts[kind],
                        leak_name(static_cast<Leak>(kind)), first[kind]);
  }
  return text;
}

std::uint64_t sequence_key(std::string_view sequence) {
  return std::min(fnv1a_64(sequence), fnv1a_64(reverse_complement(sequence)));
}

void LeakCheck::add(const std::string& side, const Window& window) {
  auto found = std::find(sides_.begin(), sides_.end(), side);
  if (found == sides_.end()) found = sides_.insert(sides_.end(), side);
  std::uint32_t chrom = no_place;
  if (window.chrom != ".") {
    chrom = chroms_.emplace(window.chrom, static_cast<std::uint32_t>(chroms_.size() + 1)).first->second;
  }
  examples_.push_back({static_cast<std::uint8_t>(found - sides_.begin()), chrom, window.begin, window.end,
                       fnv1a_64(window.sequence), fnv1a_64(reverse_complement(window.sequence)), window.id});
}

void LeakCheck::add_all(const std::string& side, WindowReader& windows) {
  Window window;
  while (windows.next(window)) {
    throw_if_cancelled();
    add(side, window);
  }
}

LeakReport LeakCheck::report() const {
  LeakReport report;
  report.examples = static_cast<std::int64_t>(examples_.size());
  const auto found = [&](Leak leak, std::size_t example, std::size_t other) {
    const auto kind = static_cast<std::size_t>(leak);
    if (report.counts[kind]++ == 0) {
      report.first[kind] = name_of(examples_[other]) + ", " + name_of(examples_[example]);
    }
  };
  SideIndex<std::uint64_t> sequences;
  SideIndex<std::string> ids;
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    sequences.add(examples_[i].forward, i, examples_[i].side);
    if (examples_[i].chrom != no_place) ids.add(examples_[i].id, i, examples_[i].side);
  }
  for (std::size_t i = 0; i < examples_.size(); ++i) {
    const Example& example = examples_[i];
    if (const std::size_t other = sequences.elsewhere(example.forward, example.side); other != no_example) {
      found(Leak::equal_sequence, i, other);
    }
    if (const std::size_t other = sequences.elsewhere(example.reverse, example.side);
        other != no_example && example.reverse != example.forward) {
      found(Leak::reverse_complement, i, other);
    }
    if (example.chrom == no_place) continue;
    if (const std::size_t other = ids.elsewhere(example.id, example.side); other != no_example) {
      found(Leak::shared_promoter, i, other);
    }
    const std::optional<NegativeId> negative = parse_negative_id(example.id);
    if (!negative) continue;
    if (const std::size_t other = ids.elsewhere(negative->promoter, example.side); other != no_example) {
      found(Leak::parted_negative, i, other);
    }
  }

  // Overlaps, in two sweeps over the windows by their begins: forwards, a window overlaps one before it on
  // another side that reaches furthest; backwards, one behind it that begins first.
  std::vector<std::size_t> order(examples_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tie(examples_[a].chrom, examples_[a].begin, a) <
           std::tie(examples_[b].chrom, examples_[b].begin, b);
  });
  std::vector<std::size_t> overlapped(examples_.size(), no_example);
  std::vector<std::size_t> furthest(sides_.size(), no_example), nearest(sides_.size(), no_example);
  const auto sweep = [&](std::size_t i, std::vector<std::size_t>& kept, bool forwards) {
    const Example& example = examples_[i];
    if (example.chrom == no_place) return;
    for (std::size_t side = 0; side < kept.size(); ++side) {
      if (kept[side] == no_example || side == example.side) continue;
      const Example& other = examples_[kept[side]];
      if (other.chrom == example.chrom && other.begin < example.end && example.begin < other.end) {
        overlapped[i] = kept[side];
      }
    }
    std::size_t& own = kept[example.side];
    if (own == no_example || !forwards || examples_[own].chrom != example.chrom ||
        examples_[own].end < example.end) {
      own = i;
    }
  };
  for (const std::size_t i : order) sweep(i, furthest, true);
  for (auto i = order.rbegin(); i != order.rend(); ++i) sweep(*i, nearest, false);
  for (std::size_t i = 0; i < overlapped.size(); ++i) {
    if (overlapped[i] != no_example) found(Leak::overlapping_windows, i, overlapped[i]);
  }
  return report;
}

}  // namespace bigbird
