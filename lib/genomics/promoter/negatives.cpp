// Negative examples made from a window; see negatives.h.
#include "lib/genomics/promoter/negatives.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/names.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<NegativeKind, const char*>, 4> kind_names{
    {{NegativeKind::random, "random"},
     {NegativeKind::permute, "permute"},
     {NegativeKind::dinucleotide, "dinucleotide"},
     {NegativeKind::genomic, "genomic"}}};

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

}  // namespace

NegativeKind parse_negative_kind(std::string_view word) {
  return parse_name(kind_names, word, message("choice of `negatives`"));
}

const char* negative_kind_name(NegativeKind kind) {
  return find_name(kind_names, kind);
}

std::vector<NegativeKind> parse_negative_kinds(const std::string& words) {
  std::vector<NegativeKind> kinds;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find('+', begin), words.size());
    const NegativeKind kind = parse_negative_kind(std::string_view(words).substr(begin, end - begin));
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw_usage(message("`negatives` ") + words + ": names a kind twice",
                  "give each kind once, as in random+genomic");
    }
    kinds.push_back(kind);
    begin = end + 1;
  }
  return kinds;
}

std::string negative_kinds_name(const std::vector<NegativeKind>& kinds) {
  std::string names;
  for (const NegativeKind kind : kinds) {
    names += names.empty() ? "" : "+";
    names += negative_kind_name(kind);
  }
  return names;
}

std::string negative_id(const std::string& promoter, NegativeKind kind, bool several) {
  std::string id = promoter + std::string(negative_suffix);
  if (several) id += std::string(":") + negative_kind_name(kind);
  return id;
}

std::optional<NegativeId> parse_negative_id(std::string_view id) {
  std::optional<NegativeKind> kind;
  if (!id.ends_with(negative_suffix)) {
    const std::size_t colon = id.rfind(':');
    if (colon == std::string_view::npos) return std::nullopt;
    kind = find_value(kind_names, id.substr(colon + 1));
    id = id.substr(0, colon);
    if (!kind || !id.ends_with(negative_suffix)) return std::nullopt;
  }
  return NegativeId{std::string(id.substr(0, id.size() - negative_suffix.size())), kind};
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
      break;
  }
  throw std::logic_error("a genomic negative is cut from the genome");
}

FreshNegatives::FreshNegatives(NegativeKind kind, std::uint64_t seed, std::vector<std::string> promoters)
    : kind_(kind), seed_(seed), promoters_(std::move(promoters)) {
  if (kind == NegativeKind::genomic) {
    throw_usage(message("`fresh_negatives` genomic: these are not made of the promoters"),
                "`bigbird promoter build` cuts them from the genome, once");
  }
}

std::string FreshNegatives::negative(std::uint64_t epoch, std::uint64_t index) const {
  CounterRng rng(seed_, Purpose::fresh_negatives, epoch * promoters_.size() + index);
  return make_negative(kind_, promoter(index), rng);
}

}  // namespace bigbird
