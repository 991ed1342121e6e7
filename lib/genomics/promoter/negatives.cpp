// Negative examples made from a window; see negatives.h.
#include "lib/genomics/promoter/negatives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<NegativeKind, const char*>, 5> kind_names{
    {{NegativeKind::random, "random"},
     {NegativeKind::permute, "permute"},
     {NegativeKind::dinucleotide, "dinucleotide"},
     {NegativeKind::genomic, "genomic"},
     {NegativeKind::hard, "hard"}}};

constexpr int most_of_a_kind = 1000;

constexpr std::string_view negative_suffix = ":negative";

constexpr std::string_view letters = "ACGTN";

std::size_t code_of(char base) {
  const std::size_t code = letters.find(base);
  return code == std::string_view::npos ? letters.size() - 1 : code;
}

// The blocks that change, in ascending order.
std::vector<std::size_t> choose_blocks(CounterRng& rng) {
  std::vector<std::size_t> blocks(negative_blocks);
  std::iota(blocks.begin(), blocks.end(), std::size_t{0});
  shuffle(blocks, rng);
  blocks.resize(negative_blocks_changed);
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

std::size_t block_length(std::string_view window) {
  const std::size_t length = window.size() / negative_blocks;
  if (length == 0)
    throw_bad_input("a window of fewer than 20 bases cannot be cut into 20 blocks", "give longer windows");
  return length;
}

// Whether every letter's last exit leads on to `root`, so that an Euler path exists that uses these exits
// last.
bool reaches_root(const std::array<std::size_t, 5>& last_exit, const std::array<bool, 5>& used,
                  std::size_t root) {
  for (std::size_t start = 0; start < last_exit.size(); ++start) {
    if (!used[start]) continue;
    std::size_t at = start;
    for (std::size_t step = 0; at != root; ++step) {
      if (step == last_exit.size()) return false;
      at = last_exit[at];
    }
  }
  return true;
}

constexpr int most_draws = 2000;

struct Range {  // [begin, end) of window begins
  std::int64_t begin;
  std::int64_t end;
};

// G and C, and N, of any stretch of a contig: counts up to every 256th base, and the rest by looking.
class Composition {
 public:
  explicit Composition(std::string bases) : bases_(std::move(bases)) {
    sums_.reserve(bases_.size() / step + 1);
    Counts counts;
    for (std::size_t i = 0; i < bases_.size(); ++i) {
      if (i % step == 0) sums_.push_back(counts);
      counts.add(bases_[i]);
    }
    if (bases_.size() % step == 0) sums_.push_back(counts);
  }

  const std::string& bases() const { return bases_; }

  // Of the known bases; 0 when there are none.
  double gc_share(std::int64_t begin, std::int64_t end) const {
    const Counts to = counts_before(static_cast<std::size_t>(end));
    const Counts from = counts_before(static_cast<std::size_t>(begin));
    const std::int64_t known = (end - begin) - (to.n - from.n);
    return known == 0 ? 0.0 : static_cast<double>(to.gc - from.gc) / static_cast<double>(known);
  }

 private:
  static constexpr std::size_t step = 256;

  struct Counts {
    std::int64_t gc = 0;
    std::int64_t n = 0;
    void add(char base) {
      gc += base == 'G' || base == 'C' ? 1 : 0;
      n += base == 'N' ? 1 : 0;
    }
  };

  Counts counts_before(std::size_t end) const {
    Counts counts = sums_[end / step];
    for (std::size_t i = end / step * step; i < end; ++i) counts.add(bases_[i]);
    return counts;
  }

  std::string bases_;
  std::vector<Counts> sums_;
};

// The begins of windows that may be drawn on one contig, as ranges, ascending.
std::vector<Range> eligible_begins(const std::string& bases, std::vector<Range> forbidden,
                                   const GenomicNegativeOptions& options) {
  const std::int64_t length = options.length;
  const std::int64_t last = static_cast<std::int64_t>(bases.size()) - length;
  std::sort(forbidden.begin(), forbidden.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  forbidden.push_back({last + 1, last + 1});
  const auto most_n = static_cast<std::int64_t>(std::floor(options.max_n * static_cast<double>(length)));
  std::vector<Range> ranges;
  std::int64_t at = 0;
  for (const Range& gap : forbidden) {
    const std::int64_t end = std::min(gap.begin, last + 1);
    if (at < end) {
      const auto base = [&](std::int64_t i) { return bases[static_cast<std::size_t>(i)]; };
      std::int64_t n = 0;
      for (std::int64_t i = at; i < at + length; ++i) n += base(i) == 'N' ? 1 : 0;
      for (std::int64_t begin = at; begin < end; ++begin) {
        if (n <= most_n) {
          if (!ranges.empty() && ranges.back().end == begin) {
            ++ranges.back().end;
          } else {
            ranges.push_back({begin, begin + 1});
          }
        }
        if (begin + 1 < end) n += (base(begin + length) == 'N' ? 1 : 0) - (base(begin) == 'N' ? 1 : 0);
      }
    }
    at = std::max(at, gap.end);
  }
  return ranges;
}

// Uniform draws among the begins of some ranges.
class BeginDraws {
 public:
  explicit BeginDraws(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    for (const Range& range : ranges_) {
      first_.push_back(total_);
      total_ += static_cast<std::uint64_t>(range.end - range.begin);
    }
  }
  bool empty() const { return total_ == 0; }
  std::int64_t draw(CounterRng& rng) const {
    const std::uint64_t drawn = rng.below(total_);
    const auto after = std::upper_bound(first_.begin(), first_.end(), drawn);
    const auto index = static_cast<std::size_t>(after - first_.begin()) - 1;
    return ranges_[index].begin + static_cast<std::int64_t>(drawn - first_[index]);
  }

 private:
  std::vector<Range> ranges_;
  std::vector<std::uint64_t> first_;  // how many begins lie in the ranges before
  std::uint64_t total_ = 0;
};

// Begins of the negatives chosen so far on one contig; all have the same length.
class Taken {
 public:
  explicit Taken(std::int64_t length) : length_(length) {}
  bool free(std::int64_t begin) const {
    const auto next = begins_.upper_bound(begin - length_);
    return next == begins_.end() || *next >= begin + length_;
  }
  void add(std::int64_t begin) { begins_.insert(begin); }

 private:
  std::int64_t length_;
  std::set<std::int64_t> begins_;
};

struct WindowDraw {
  std::int64_t begin;
  double difference;  // of the fractions of G and C
  bool free;
};

std::optional<GenomicNegative> choose(const Composition& composition, const BeginDraws& begins,
                                      const Taken& taken, const GenomicRequest& promoter,
                                      const GenomicNegativeOptions& options) {
  const double wanted = composition.gc_share(promoter.begin, promoter.end);
  const bool matches = options.gc_tolerance < 1;
  const auto share = [&](std::int64_t begin) { return composition.gc_share(begin, begin + options.length); };
  const auto result = [&](const WindowDraw& draw, std::size_t step) {
    return GenomicNegative{draw.begin, draw.begin + options.length, share(draw.begin), wanted, step,
                           !draw.free};
  };
  CounterRng rng(options.seed, Purpose::promoter_negatives, promoter.key);
  std::vector<WindowDraw> draws;
  for (int i = 0; i < most_draws; ++i) {
    const std::int64_t begin = begins.draw(rng);
    const WindowDraw draw{begin, matches ? std::abs(share(begin) - wanted) : 0.0, taken.free(begin)};
    if (draw.free && draw.difference <= options.gc_tolerance * gc_steps[0]) return result(draw, 0);
    if (draw.free || promoter.may_overlap) draws.push_back(draw);
  }
  if (draws.empty()) return std::nullopt;
  for (const bool free : {true, false}) {
    for (std::size_t step = 0; step < gc_steps.size(); ++step) {
      for (const WindowDraw& draw : draws) {
        if (draw.free == free && draw.difference <= options.gc_tolerance * gc_steps[step]) {
          return result(draw, step);
        }
      }
    }
  }
  return result(*std::min_element(draws.begin(), draws.end(),
                                  [](const WindowDraw& a, const WindowDraw& b) {
                                    return std::tuple(a.difference, !a.free) <
                                           std::tuple(b.difference, !b.free);
                                  }),
                gc_steps.size());
}

// "genomic" or "genomic:10".
NegativesOfKind parse_negatives_of_kind(std::string_view word, const std::string& words) {
  const std::size_t colon = word.find(':');
  NegativesOfKind of{parse_negative_kind(word.substr(0, colon)), 1};
  if (colon == std::string_view::npos) return of;
  const std::string_view digits = word.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), of.count);
  if (error != std::errc() || end != digits.data() + digits.size() || of.count < 1 ||
      of.count > most_of_a_kind) {
    throw_usage(message("`negatives` {}: '{}' is not a number of negatives", words, digits),
                fmt::format("give 1 to {} of a kind for each promoter, as in genomic:10", most_of_a_kind));
  }
  return of;
}

}  // namespace

NegativeKind parse_negative_kind(std::string_view word) {
  return parse_name(kind_names, word, message("choice of `negatives`"));
}

const char* negative_kind_name(NegativeKind kind) {
  return find_name(kind_names, kind);
}

bool is_of_genome(NegativeKind kind) {
  return kind == NegativeKind::genomic || kind == NegativeKind::hard;
}

NegativePlan parse_negative_plan(const std::string& words) {
  NegativePlan plan;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find('+', begin), words.size());
    const NegativesOfKind of =
        parse_negatives_of_kind(std::string_view(words).substr(begin, end - begin), words);
    if (negatives_of(plan, of.kind) > 0) {
      throw_usage(message("`negatives` ") + words + ": names a kind twice",
                  "give each kind once, as in random+genomic");
    }
    plan.push_back(of);
    begin = end + 1;
  }
  return plan;
}

std::string negative_plan_name(const NegativePlan& plan) {
  std::string names;
  for (const NegativesOfKind& of : plan) {
    names += names.empty() ? "" : "+";
    names += negative_kind_name(of.kind);
    if (of.count > 1) names += ":" + std::to_string(of.count);
  }
  return names;
}

int negatives_of(const NegativePlan& plan, NegativeKind kind) {
  for (const NegativesOfKind& of : plan) {
    if (of.kind == kind) return of.count;
  }
  return 0;
}

std::string negative_id(const NegativeId& id) {
  std::string text = id.promoter + std::string(negative_suffix);
  if (id.kind) text += std::string(":") + negative_kind_name(*id.kind);
  if (id.number > 0) text += ":" + std::to_string(id.number);
  return text;
}

std::string negative_id(const std::string& promoter, const NegativePlan& plan, NegativesOfKind of,
                        int number) {
  if (of.count > 1) return negative_id({promoter, of.kind, number + 1});
  if (plan.size() > 1) return negative_id({promoter, of.kind});
  return negative_id({promoter});
}

std::optional<NegativeId> parse_negative_id(std::string_view text) {
  NegativeId id;
  // What stands after the last colon, which is taken off.
  const auto last = [&]() -> std::string_view {
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return {};
    const std::string_view part = text.substr(colon + 1);
    text = text.substr(0, colon);
    return part;
  };
  if (!text.ends_with(negative_suffix)) {
    std::string_view word = last();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id.number);
    if (error == std::errc() && end == word.data() + word.size() && id.number > 0) word = last();
    id.kind = find_value(kind_names, word);
    if (!id.kind || !text.ends_with(negative_suffix)) return std::nullopt;
  }
  id.promoter = text.substr(0, text.size() - negative_suffix.size());
  return id;
}

std::string replace_blocks(std::string_view window, CounterRng& rng) {
  const std::size_t length = block_length(window);
  std::string negative(window);
  for (const std::size_t block : choose_blocks(rng)) {
    for (std::size_t i = block * length; i < (block + 1) * length; ++i) {
      negative[i] = letters[static_cast<std::size_t>(rng.below(4))];
    }
  }
  return negative;
}

std::string permute_blocks(std::string_view window, CounterRng& rng) {
  const std::size_t length = block_length(window);
  std::string negative(window);
  for (int attempt = 0; attempt < 100 && negative == window; ++attempt) {
    const std::vector<std::size_t> places = choose_blocks(rng);
    std::vector<std::size_t> sources = places;
    shuffle(sources, rng);
    for (std::size_t i = 0; i < places.size(); ++i) {
      negative.replace(places[i] * length, length, window.substr(sources[i] * length, length));
    }
  }
  return negative;
}

std::string shuffle_dinucleotides(std::string_view window, CounterRng& rng) {
  if (window.size() < 3) return std::string(window);
  std::array<std::vector<std::size_t>, 5> exits;  // for each letter, the letters that follow it
  std::array<bool, 5> used{};
  for (std::size_t i = 0; i + 1 < window.size(); ++i)
    exits[code_of(window[i])].push_back(code_of(window[i + 1]));
  for (const char base : window) used[code_of(base)] = true;
  const std::size_t root = code_of(window.back());
  // The last exits form a tree towards the root, drawn uniformly among the edges; then the other exits come
  // in any order.
  std::array<std::size_t, 5> chosen{};
  std::array<std::size_t, 5> last_exit{};
  do {
    for (std::size_t letter = 0; letter < exits.size(); ++letter) {
      if (exits[letter].empty()) continue;
      chosen[letter] = static_cast<std::size_t>(rng.below(exits[letter].size()));
      last_exit[letter] = exits[letter][chosen[letter]];
    }
  } while (!reaches_root(last_exit, used, root));
  for (std::size_t letter = 0; letter < exits.size(); ++letter) {
    auto& list = exits[letter];
    if (list.empty()) continue;
    if (letter == root) {
      shuffle(list, rng);
      continue;
    }
    std::swap(list[chosen[letter]], list.back());
    list.pop_back();
    shuffle(list, rng);
    list.push_back(last_exit[letter]);
  }
  std::array<std::size_t, 5> next{};
  std::string shuffled(1, letters[code_of(window[0])]);
  for (std::size_t at = code_of(window[0]); shuffled.size() < window.size();) {
    at = exits[at][next[at]++];
    shuffled.push_back(letters[at]);
  }
  return shuffled;
}

std::string make_negative(NegativeKind kind, std::string_view window, CounterRng& rng) {
  switch (kind) {
    case NegativeKind::random:
      return replace_blocks(window, rng);
    case NegativeKind::permute:
      return permute_blocks(window, rng);
    case NegativeKind::dinucleotide:
      return shuffle_dinucleotides(window, rng);
    case NegativeKind::genomic:
    case NegativeKind::hard:
      break;
  }
  throw std::logic_error("negatives of this kind are cut from the genome");
}

FreshNegatives::FreshNegatives(NegativeKind kind, std::uint64_t seed, std::vector<std::string> promoters)
    : kind_(kind), seed_(seed), promoters_(std::move(promoters)) {
  if (is_of_genome(kind)) {
    throw_usage(
        message("`fresh_negatives` {}: these are not made of the promoters", negative_kind_name(kind)),
        "`bigbird promoter build` cuts them from the genome, once");
  }
}

std::string FreshNegatives::negative(std::uint64_t epoch, std::uint64_t index) const {
  CounterRng rng(seed_, Purpose::fresh_negatives, epoch * promoters_.size() + index);
  return make_negative(kind_, promoter(index), rng);
}

std::vector<std::optional<GenomicNegative>> draw_genomic_negatives(
    Fasta& fasta, std::span<const GenomicRequest> requests, const std::vector<std::vector<std::int64_t>>& tss,
    const GenomicNegativeOptions& options) {
  std::vector<std::optional<GenomicNegative>> negatives(requests.size());
  std::map<std::pair<std::size_t, int>, std::vector<std::size_t>> by_place;
  for (std::size_t i = 0; i < requests.size(); ++i)
    by_place[{requests[i].contig, requests[i].zone}].push_back(i);
  const std::int64_t distance = std::max<std::int64_t>(options.min_distance, 1);
  for (auto& [place, list] : by_place) {
    throw_if_cancelled();
    const std::size_t contig = place.first;
    const std::int64_t contig_length = fasta.contigs()[contig].length;
    if (contig_length < options.length) continue;
    std::sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
      return std::tie(requests[a].number, requests[a].begin, requests[a].key) <
             std::tie(requests[b].number, requests[b].begin, requests[b].key);
    });
    std::vector<Range> forbidden;
    for (const std::int64_t site : tss[contig]) {
      forbidden.push_back({site - distance - options.length + 2, site + distance});
    }
    const auto keep_off = [&](std::int64_t begin, std::int64_t end) {
      forbidden.push_back({begin - options.length + 1, end});
    };
    for (const std::size_t i : list) {
      if (requests[i].number == 0) keep_off(requests[i].begin, requests[i].end);
    }
    if (options.closed) {
      for (const Region& stretch : options.closed(contig, place.second)) keep_off(stretch.begin, stretch.end);
    }
    const Composition composition(fasta.fetch(contig, 0, contig_length));
    const BeginDraws begins(eligible_begins(composition.bases(), std::move(forbidden), options));
    if (begins.empty()) continue;
    Taken taken(options.length);
    for (const std::size_t i : list) {
      throw_if_cancelled();
      negatives[i] = choose(composition, begins, taken, requests[i], options);
      if (negatives[i]) taken.add(negatives[i]->begin);
    }
  }
  return negatives;
}

}  // namespace bigbird
