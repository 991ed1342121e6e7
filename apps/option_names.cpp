// From the names of lib's fields to the options of a verb; see option_names.h.
#include "apps/option_names.h"

#include <algorithm>
#include <string_view>

#include "lib/core/settings.h"

namespace bigbird::apps {
namespace {

// Settings whose option is not their own name with dashes: the first row whose option the verb has is taken.
// An option may come with the value that means the setting.
struct OptionName {
  std::string_view setting;
  std::string_view option;
};
constexpr OptionName option_names[] = {
    {"anchor_bin", "--anchor bin"},
    {"average_decay", "--average"},
    {"chain", "--lift"},
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
};

// Settings of one or two verbs, whose names stand beside them in every text ("bigbird check with
// `write_digest` ..."): options whatever verb runs.
constexpr OptionName options_of_named_verbs[] = {
    {"allow_missing", "--allow-missing"},
    {"allow_nan", "--allow-nan"},
    {"decoder", "--decoder"},
    {"write_digest", "--write-digest"},
};

constexpr bool are_settings() {
  for (const OptionName& row : option_names) {
    if (!is_setting(row.setting)) return false;
  }
  for (const OptionName& row : options_of_named_verbs) {
    if (!is_setting(row.setting)) return false;
  }
  return true;
}
static_assert(are_settings(), "a row of no setting");

bool is_field(std::string_view word) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !word.empty() && is_lower(word.front()) &&
         std::all_of(word.begin(), word.end(),
                     [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

}  // namespace

std::string option_name(std::string_view field, const std::vector<std::string>& options) {
  if (!is_field(field)) return "`" + std::string(field) + "`";
  const auto has = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option.substr(0, option.find(' '))) != options.end();
  };
  for (const OptionName& row : options_of_named_verbs) {
    if (row.setting == field) return std::string(row.option);
  }
  for (const OptionName& row : option_names) {
    if (row.setting == field && has(row.option)) return std::string(row.option);
  }
  std::string kebab = "--" + std::string(field);
  std::replace(kebab.begin(), kebab.end(), '_', '-');
  return has(kebab) ? kebab : std::string(field);
}

}  // namespace bigbird::apps
