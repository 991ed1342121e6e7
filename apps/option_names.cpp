// From the names of lib's fields to the options of a verb; see option_names.h.
#include "apps/option_names.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "lib/core/message_text.h"

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

struct RunningVerb {
  std::string name;
  std::vector<std::string> options;
};

std::optional<RunningVerb>& running_verb() {
  static std::optional<RunningVerb> verb;
  return verb;
}

bool is_setting(std::string_view word) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  return !word.empty() && word != "bigbird" && is_lower(word.front()) &&
         std::all_of(word.begin(), word.end(),
                     [&](char c) { return is_lower(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string option_of(std::string_view setting, const std::vector<std::string>& options) {
  const auto has = [&](std::string_view option) {
    return std::find(options.begin(), options.end(), option.substr(0, option.find(' '))) != options.end();
  };
  for (const OptionName& row : options_of_named_verbs) {
    if (row.setting == setting) return std::string(row.option);
  }
  for (const OptionName& row : option_names) {
    if (row.setting == setting && has(row.option)) return std::string(row.option);
  }
  std::string kebab = "--" + std::string(setting);
  std::replace(kebab.begin(), kebab.end(), '_', '-');
  return has(kebab) ? kebab : std::string(setting);
}

}  // namespace

std::string name_options(const std::string& text, const std::vector<std::string>& options) {
  std::string named;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = text.find('`', at);
    const std::size_t close = open == std::string::npos ? open : text.find('`', open + 1);
    if (close == std::string::npos) return named + text.substr(at);
    const std::string word = text.substr(open + 1, close - open - 1);
    named += text.substr(at, open - at);
    named += is_setting(word) ? option_of(word, options) : "`" + word + "`";
    at = close + 1;
  }
}

void set_running_verb(std::string name, std::vector<std::string> options) {
  running_verb() = {std::move(name), std::move(options)};
}

std::string option_text(const std::string& text) {
  constexpr std::size_t most_code_points = 2000;
  return text_for_message(running_verb() ? name_options(text, running_verb()->options) : text,
                          most_code_points);
}

std::string usage_hint(const std::string& hint) {
  if (hint.empty() && running_verb()) return "see bigbird " + running_verb()->name + " --help";
  return option_text(hint);
}

}  // namespace bigbird::apps
