// From the names of lib's fields to the options of a verb; see option_names.h.
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
    {"chain", "--lift"},
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
    {"learning_rate", "--lr"},
    {"max_position_embeddings", "--max-positions"},
    {"max_length", "--max-tokens"},
    {"min_length", "--min-tokens"},
    {"model", "-m"},
    {"models", "-m"},
    {"num_attention_heads", "--heads"},
    {"num_hidden_layers", "--layers"},
    {"num_random_blocks", "--random-blocks"},
    {"output", "-o"},
    {"plan_file", "--plan"},
    {"preset", "--splits"},
    {"region", "-r"},
    {"regions", "-R"},
    {"sample_bases", "--sample-bp"},
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

}  // namespace bigbird::apps
