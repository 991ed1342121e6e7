// The table of names that were; see old_names.h.
#include "apps/old_names.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace bigbird::apps {
namespace {

constexpr std::string_view verbs_that_score =
    "variants, variants background, promoter scan, promoter predict, promoter evaluate, promoter calibrate, "
    "chromatin predict, chromatin evaluate, chromatin calibrate, ism, attribute, report, cluster plan";
constexpr std::string_view in_parts =
    "variants, variants background, promoter scan, chromatin predict, ism, embed, text classify predict, "
    "text qa predict, text summarize predict, cluster plan";

// In the order of the old names.
constexpr OldName old_name_table[] = {
    {"--baseline", "--ig-baseline", "attribute"},
    {"--baseline-bins", "--baseline-samples", "chromatin evaluate"},
    {"--bins", "--bins-file", "chromatin import-deepsea"},
    {"--bins", "--bins-per-window", "chromatin finetune"},
    {"--blacklist", "--exclude", "chromatin build"},
    {"--calibrate", "--data", "quantize"},
    {"--chromosomes", "--chromosome-count", "simulate"},
    {"--chunk", "--chunk-size", in_parts},
    {"--cuda", "--device=cuda:*", "devices"},
    {"--documents", "--batch", "text summarize predict, text summarize evaluate"},
    {"--format", "--output-type", "chunk"},
    {"--json", "--output", "attention"},
    {"--json", "--summary", "variants evaluate, copies"},
    {"--keep", "--keep-layers", "quantize"},
    {"--labels", "--classes", "text classify evaluate, text glue predict, text glue evaluate"},
    {"--labels", "--data", "chromatin evaluate"},
    {"--labels-column", "--label-column", "variants evaluate"},
    {"--length-windows", "--length-samples", "chromatin finetune"},
    {"--max-examples", "--samples", "quantize"},
    {"--memory", "--memory-limit", "chromatin import-deepsea"},
    {"--model", "--tokenizer", "tokenize, text pretrain-data"},
    {"--most-windows", "--samples", "chromatin calibrate"},
    {"--n-best", "--n-best-size", "text qa predict"},
    {"--nbest", "--candidates", "text qa predict"},
    {"--no-join", "--no-pack", "text pretrain-data"},
    {"--no-provenance", "--provenance=none", ""},
    {"--output-format", "--output-type", "chromatin predict"},
    {"--per-profile", "--table", "chromatin calibrate"},
    {"--positions", "--max-positions", "convert"},
    {"--positions", "--position-embedding", "pretrain"},
    {"--profile", "--profiles", "variants, chromatin predict, ism, attribute"},
    {"--profiles", "--profile-names", "chromatin import-deepsea"},
    {"--profiles-tsv", "--table", "chromatin evaluate"},
    {"--report", "--summary-prefix", "variants, merge"},
    {"--reverse-complement", "--strands=both", "chunk"},
    {"--sample", "--effect-samples", "quantize"},
    {"--shard-size", "--shard-tokens", "tokenize"},
    {"--split", "--split-by", "promoter build"},
    {"--splits", "--split-preset", "chromatin build"},
    {"--steps", "--ig-steps", "attribute"},
    {"--strand", "--strands", verbs_that_score},
    {"--strand", "--strands", "chromatin finetune"},
    {"--summary", "--summary-tokens", "pretrain, convert, attention"},
    {"--text", "--lines", "embed, tokenize, train-bpe"},
    {"--valid-bins", "--eval-samples", "chromatin finetune"},
    {"--variants", "--ablations", "chromatin predict"},
    {"--window", "--attention-window", "pretrain, convert, attention"},
};

const OldName* find(std::string_view verb, std::string_view name) {
  const auto found = std::find_if(std::begin(old_name_table), std::end(old_name_table),
                                  [&](const OldName& row) { return row.old == name && had_name(row, verb); });
  return found == std::end(old_name_table) ? nullptr : &*found;
}

// "--device" and "cuda:*" of "--device=cuda:*".
std::string_view option_of(const OldName& name) {
  return name.now.substr(0, name.now.find('='));
}
bool was_flag(const OldName& name) {
  return name.now.find('=') != name.now.npos && name.now.find('*') == name.now.npos;
}
std::string value_of(const OldName& name, const std::string& typed) {
  const std::size_t equal = name.now.find('='), star = name.now.find('*');
  if (equal == name.now.npos) return typed;
  std::string value(name.now.substr(equal + 1));
  if (star != name.now.npos) value.replace(star - equal - 1, 1, typed);
  return value;
}

}  // namespace

std::span<const OldName> old_names() {
  return old_name_table;
}

bool had_name(const OldName& name, std::string_view verb) {
  if (name.verbs.empty()) return true;
  for (std::size_t at = 0; at < name.verbs.size();) {
    const std::size_t end = std::min(name.verbs.find(", ", at), name.verbs.size());
    if (name.verbs.substr(at, end - at) == verb) return true;
    at = end + 2;
  }
  return false;
}

void use_names_of_today(const std::string& verb, std::vector<std::string>& words) {
  std::vector<std::string> today;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--") {
      today.insert(today.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    const std::size_t equal = std::min(words[i].find('='), words[i].size());
    const OldName* const name =
        words[i].starts_with("--") ? find(verb, std::string_view(words[i]).substr(0, equal)) : nullptr;
    const bool has_value = equal < words[i].size();
    if (name == nullptr) {
      today.push_back(words[i]);
    } else if (was_flag(*name)) {
      if (!has_value || words[i].substr(equal) != "=false") today.emplace_back(name->now);
    } else if (has_value) {
      today.push_back(std::string(option_of(*name)) + "=" + value_of(*name, words[i].substr(equal + 1)));
    } else if (name->now.find('=') == name->now.npos) {
      today.emplace_back(name->now);
    } else {
      const bool ends = i + 1 == words.size();  // the parser misses the value
      today.push_back(std::string(option_of(*name)) + (ends ? "" : "=" + value_of(*name, words[i + 1])));
      ++i;
    }
  }
  words = std::move(today);
}

bool use_name_of_today(const std::string& verb, CLI::ConfigItem& item) {
  const OldName* const name = item.parents.empty() ? find(verb, "--" + item.name) : nullptr;
  if (name == nullptr) return true;
  if (was_flag(*name) && item.inputs == std::vector<std::string>{"false"}) return false;
  item.name = option_of(*name).substr(2);
  for (std::string& value : item.inputs) value = value_of(*name, value);
  return true;
}

void use_variables_of_today(const std::string& verb) {
  for (const OldName& name : old_name_table) {
    if (!had_name(name, verb)) continue;
    const char* const typed = std::getenv(environment_variable(name.old.substr(2)).c_str());
    if (typed == nullptr || *typed == '\0' || (was_flag(name) && std::string_view(typed) == "false"))
      continue;
    setenv(environment_variable(option_of(name).substr(2)).c_str(), value_of(name, typed).c_str(), 0);
  }
}

std::string environment_variable(std::string_view long_name) {
  std::string name = "BIGBIRD_";
  for (const char c : long_name)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace bigbird::apps
