// From the names of lib's fields, and from mistyped words, to the options of a verb; see option_names.h.
#include "apps/option_names.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "lib/core/settings.h"

namespace bigbird::apps {
namespace {

// Settings whose option is not their own name with dashes: the first row whose option the verb has is taken.
// An option may come with the value that means the setting.
struct OptionName {
  std::string_view setting;
  std::string_view option;
  bool of_named_verb = false;  // one whose name stands beside it in every text: whatever verb runs
};
constexpr OptionName option_names[] = {
    {"allow_missing", "--allow-missing", true},
    {"allow_nan", "--allow-nan", true},
    {"anchor_bin", "--anchor bin"},
    {"average_decay", "--average"},
    {"baseline", "--ig-baseline"},
    {"bins", "--bins-file"},
    {"bins", "--bins-per-window"},
    {"chain", "--lift"},
    {"chromosomes", "--chromosome-count"},
    {"decoder", "--decoder", true},
    {"documents", "-d"},
    {"fasta", "-f"},
    {"files", "--mat"},
    {"final_state", "--final"},
    {"format", "--print"},
    {"format", "--format"},
    {"format", "-O"},
    {"hidden_size", "--width"},
    {"intermediate_size", "--intermediate"},
    {"keep", "--keep-layers"},
    {"labels", "--classes"},
    {"labels", "--labels"},
    {"labels", "--data"},
    {"learning_rate", "--lr"},
    {"max_position_embeddings", "--max-positions"},
    {"max_length", "--max-tokens"},
    {"min_length", "--min-tokens"},
    {"model", "-m"},
    {"models", "-m"},
    {"n_best", "--n-best-size"},
    {"num_attention_heads", "--heads"},
    {"num_hidden_layers", "--layers"},
    {"num_random_blocks", "--random-blocks"},
    {"output", "-o"},
    {"plan_file", "--plan"},
    {"positions", "--position-embedding"},
    {"positions", "--max-positions"},
    {"preset", "--split-preset"},
    {"region", "-r"},
    {"regions", "-R"},
    {"report", "--summary-prefix"},
    {"sample_bases", "--sample-bp"},
    {"shard_size", "--shard-tokens"},
    {"split", "--split-by"},
    {"steps", "--ig-steps"},
    {"strand", "--strands"},
    {"text", "--lines"},
    {"window_length", "--window"},
    {"windows", "-R"},
    {"write_digest", "--write-digest", true},
};

static_assert(std::all_of(std::begin(option_names), std::end(option_names),
                          [](const OptionName& row) { return is_setting(row.setting); }));

bool is_field(std::string_view word) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !word.empty() && is_lower(word.front()) && std::all_of(word.begin(), word.end(), [&](char c) {
    return is_lower(c) || (c >= '0' && c <= '9') || c == '_';
  });
}

// Optimal string alignment.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1, 0));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string option_name(std::string_view field, const std::vector<std::string>& options) {
  if (!is_field(field)) return "`" + std::string(field) + "`";
  const auto has = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option.substr(0, option.find(' '))) != options.end();
  };
  for (const OptionName& row : option_names) {
    if (row.setting == field && (row.of_named_verb || has(row.option))) return std::string(row.option);
  }
  std::string kebab = "--" + std::string(field);
  std::replace(kebab.begin(), kebab.end(), '_', '-');
  return has(kebab) ? kebab : std::string(field);
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = word.size() / 3 + 2;  // farther than this is another word, not a slip
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    const bool shares_something = distance < std::max(word.size(), candidate.size());
    if (shares_something && distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace bigbird::apps
