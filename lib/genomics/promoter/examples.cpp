// Reading and writing of promoter examples; see examples.h.
#include "lib/genomics/promoter/examples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/core/rng.h"

namespace bigbird {
namespace {

constexpr std::array<std::pair<SplitUnit, const char*>, 3> unit_names{
    {{SplitUnit::promoter, "promoter"}, {SplitUnit::gene, "gene"}, {SplitUnit::chromosome, "chromosome"}}};

// The representative of a group in a union of groups.
std::size_t find_root(std::vector<std::size_t>& parent, std::size_t at) {
  while (parent[at] != at) at = parent[at] = parent[parent[at]];
  return at;
}

// Joins promoters with overlapping windows: in order of their begins, a window overlaps one before it when it
// begins before the furthest end so far.
template <typename Join>
void join_overlaps(std::span<const PromoterPlace> places, const Join& join) {
  struct Stretch {
    std::string_view chrom;
    PlaceWindow window;
    std::size_t place;
  };
  std::vector<Stretch> stretches;
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (const PlaceWindow& window : places[i].windows) stretches.push_back({places[i].chrom, window, i});
  }
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.chrom, a.window.begin, a.place) < std::tie(b.chrom, b.window.begin, b.place);
  });
  for (std::size_t i = 1, furthest = 0; i < stretches.size(); ++i) {
    const bool same_chrom = stretches[i].chrom == stretches[furthest].chrom;
    if (same_chrom && stretches[i].window.begin < stretches[furthest].window.end) {
      join(stretches[i].place, stretches[furthest].place);
    }
    if (!same_chrom || stretches[i].window.end > stretches[furthest].window.end) furthest = i;
  }
}

const std::vector<std::string>& column_names() {
  static const std::vector<std::string> names = {"id",     "chrom", "start", "end",
                                                 "strand", "label", "split", "sequence"};
  return names;
}

int parse_label(std::string_view text, const std::string& where) {
  if (text == "0" || text == "1") return text[0] - '0';
  throw_bad_input(fmt::format("{}: label '{}' is neither 0 nor 1", where, text),
                  "labels are 1 for promoters, else 0");
}

class ExampleWindows : public WindowReader {
 public:
  explicit ExampleWindows(const std::string& path) : reader_(path) {}

  bool next(Window& window) override {
    if (!reader_.next(example_)) return false;
    window = {example_.id,     example_.chrom, example_.start,   example_.end,
              example_.strand, example_.label, example_.sequence};
    return true;
  }

 private:
  PromoterExampleReader reader_;
  PromoterExample example_;
};

}  // namespace

SplitPlan parse_split(std::string_view word) {
  if (const auto unit = find_value(unit_names, word)) return {*unit, 0};
  constexpr std::string_view kfold = "kfold:";
  if (word.starts_with(kfold)) {
    const std::string_view rest = word.substr(kfold.size());
    const std::string_view digits = rest.substr(0, rest.find(':'));
    const auto unit = digits.size() == rest.size() ? SplitUnit::promoter
                                                   : find_value(unit_names, rest.substr(digits.size() + 1));
    int folds = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), folds);
    if (unit && error == std::errc() && end == digits.data() + digits.size() && folds >= 3 && folds <= 100) {
      return {*unit, folds};
    }
  }
  throw_usage(fmt::format("split '{}' is not known", word),
              "choose promoter, gene, chromosome, kfold:K or kfold:K:UNIT with K from 3 to 100");
}

std::string split_name(const SplitPlan& plan) {
  if (plan.folds == 0) return find_name(unit_names, plan.unit);
  const std::string folds = "kfold:" + std::to_string(plan.folds);
  return plan.unit == SplitUnit::promoter ? folds : folds + ":" + find_name(unit_names, plan.unit);
}

std::vector<std::size_t> group_promoters(std::span<const PromoterPlace> places, SplitUnit unit) {
  std::vector<std::size_t> parent(places.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto join = [&](std::size_t i, std::size_t k) {
    const std::size_t first = find_root(parent, i), second = find_root(parent, k);
    parent[std::max(first, second)] = std::min(first, second);
  };
  std::map<std::string, std::size_t> first_of_key;
  const auto join_by_key = [&](const std::string& key, std::size_t i) {
    const auto [entry, is_new] = first_of_key.emplace(key, i);
    if (!is_new) join(i, entry->second);
  };
  std::map<std::uint64_t, std::size_t> first_of_sequence;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PromoterPlace& place = places[i];
    if (unit == SplitUnit::chromosome) {
      join_by_key(place.chrom, i);
      continue;
    }
    join_by_key(fmt::format("{}\t{}\t{}", place.chrom, place.tss, place.strand), i);
    if (unit == SplitUnit::gene) join_by_key("gene\t" + place.gene, i);
    for (const std::uint64_t sequence : place.sequences) {
      const auto [entry, is_new] = first_of_sequence.emplace(sequence, i);
      if (!is_new) join(i, entry->second);
    }
  }
  join_overlaps(places, join);
  std::vector<std::size_t> groups(places.size());
  std::map<std::size_t, std::size_t> number;
  for (std::size_t i = 0; i < places.size(); ++i) {
    groups[i] = number.emplace(find_root(parent, i), number.size()).first->second;
  }
  return groups;
}

std::vector<std::vector<std::string>> split_promoters(std::span<const std::size_t> groups,
                                                      const SplitPlan& plan, std::uint64_t seed) {
  const std::size_t group_count = groups.empty() ? 0 : *std::max_element(groups.begin(), groups.end()) + 1;
  const auto folds = static_cast<std::size_t>(plan.folds);
  const std::size_t sides = 1u + (plan.draws_test ? 1u : 0u) + (plan.draws_valid ? 1u : 0u);
  if (group_count < std::max(sides, folds)) {
    throw_bad_input(fmt::format("{} groups are too few to split by {}", group_count, split_name(plan)),
                    "promoters whose windows overlap stay together: choose a finer unit, smaller windows or "
                    "more promoters");
  }
  std::vector<std::size_t> sizes(group_count, 0);
  for (const std::size_t group : groups) ++sizes[group];
  std::vector<std::size_t> order(group_count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  CounterRng rng(seed, Purpose::promoter_split, 0);
  shuffle(order, rng);

  std::vector<std::vector<std::string>> splits;
  if (folds == 0) {
    std::vector<std::string> side(group_count, "train");
    std::size_t next = 0;
    // Each takes groups until it holds its tenth, but leaves at least one for every side after it.
    const auto fill = [&](const char* name, std::size_t left_over) {
      for (std::size_t held = 0; held * 10 < groups.size() && next + left_over < group_count; ++next) {
        side[order[next]] = name;
        held += sizes[order[next]];
      }
    };
    if (plan.draws_test) fill("test", plan.draws_valid ? 2 : 1);
    if (plan.draws_valid) fill("valid", 1);
    std::vector<std::string>& split = splits.emplace_back();
    for (const std::size_t group : groups) split.push_back(side[group]);
    return splits;
  }
  std::vector<std::size_t> fold_of(group_count);
  std::vector<std::size_t> fold_size(folds, 0);
  for (const std::size_t group : order) {
    const auto smallest =
        static_cast<std::size_t>(std::min_element(fold_size.begin(), fold_size.end()) - fold_size.begin());
    fold_of[group] = smallest;
    fold_size[smallest] += sizes[group];
  }
  for (std::size_t fold = 0; fold < folds; ++fold) {
    std::vector<std::string>& split = splits.emplace_back();
    for (const std::size_t group : groups) {
      split.push_back(fold_of[group] == fold                 ? "test"
                      : fold_of[group] == (fold + 1) % folds ? "valid"
                                                             : "train");
    }
  }
  return splits;
}

PromoterExampleWriter::PromoterExampleWriter(const std::string& path,
                                             const std::vector<std::string>& provenance)
    : out_(path), table_(out_, column_names(), provenance) {}

void PromoterExampleWriter::write(const PromoterExample& example) {
  table_.row({example.id, example.chrom, std::to_string(example.start), std::to_string(example.end),
              std::string(1, example.strand), std::to_string(example.label), example.split,
              example.sequence});
}

void PromoterExampleWriter::close() {
  out_.close();
}

PromoterExampleReader::PromoterExampleReader(const std::string& path) : table_(path) {
  for (const std::string& name : column_names()) columns_.push_back(table_.column(name));
}

bool PromoterExampleReader::next(PromoterExample& example) {
  if (!table_.next(fields_)) return false;
  const auto field = [&](std::size_t column) { return fields_[columns_[column]]; };
  example.id = field(0);
  example.chrom = field(1);
  example.start = parse_integer(field(2), where(), "start");
  example.end = parse_integer(field(3), where(), "end");
  if (field(4) != "+" && field(4) != "-") {
    throw_bad_input(fmt::format("{}: strand '{}' is neither + nor -", where(), field(4)));
  }
  example.strand = field(4)[0];
  example.label = parse_label(field(5), where());
  example.split = field(6);
  example.sequence = field(7);
  if (example.sequence.empty()) throw_bad_input(where() + ": the sequence is empty");
  for (char& base : example.sequence) {
    base = static_cast<char>(std::toupper(static_cast<unsigned char>(base)));
    if (std::string_view("ACGTN").find(base) == std::string_view::npos) {
      throw_bad_input(fmt::format("{}: '{}' in the sequence is none of A C G T N", where(), base));
    }
  }
  return true;
}

std::unique_ptr<WindowReader> read_example_windows(const std::string& path) {
  return std::make_unique<ExampleWindows>(path);
}

}  // namespace bigbird
