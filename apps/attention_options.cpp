// See attention_options.h.
#include "apps/attention_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "apps/verb_options.h"

namespace bigbird::apps {
namespace {

const AttentionOption* option_with(const AttentionSystem& system, const std::string& flag) {
  const auto found = std::find_if(system.options.begin(), system.options.end(),
                                  [&](const AttentionOption& option) { return option.flag() == flag; });
  return found == system.options.end() ? nullptr : &*found;
}

// The systems that have an option: "blockbert, bpt".
std::string systems_with(const std::string& flag) {
  std::string names;
  for (const AttentionSystem& system : attention_systems()) {
    if (option_with(system, flag) != nullptr) names += (names.empty() ? "" : ", ") + std::string(system.name);
  }
  return names;
}

}  // namespace

void AttentionOptionGroup::add(VerbOptions& verb, const std::string& otherwise) {
  verb.add_option("--attention NAME", attention_,
                  fmt::format("Attention: {} (default: {})", attention_system_names(), otherwise));
  for (const AttentionSystem& system : attention_systems()) {
    for (const AttentionOption& option : system.options) {
      const std::string flag = option.flag();
      if (typed_.contains(flag)) continue;  // another system's as well
      verb.add_option(
          flag + " " + option.value, typed_[flag],
          fmt::format("{}; for {} (default: {})", option.help, systems_with(flag), option.otherwise));
    }
  }
}

bool AttentionOptionGroup::given() const {
  return named() ||
         std::any_of(typed_.begin(), typed_.end(), [](const auto& one) { return !one.second.empty(); });
}

std::vector<std::string> AttentionOptionGroup::flags() const {
  std::vector<std::string> flags = {"--attention"};
  for (const auto& [flag, typed] : typed_) flags.push_back(flag);
  return flags;
}

AttentionChoice AttentionOptionGroup::choice() const {
  AttentionChoice choice;
  if (named()) choice.attention = parse_attention_pattern(attention_);
  for (const auto& [flag, typed] : typed_) {
    if (!typed.empty()) choice.options.emplace(flag, typed);
  }
  return choice;
}

void AttentionOptionGroup::apply(ModelConfig& config) const {
  apply_attention(choice(), config);
}

void AttentionOptionGroup::apply_known(ModelConfig& config) const {
  for (const auto& [flag, typed] : typed_) {
    const AttentionOption* const option = option_with(system_of(config.attention), flag);
    if (option != nullptr && !typed.empty()) option->parse(config.attention_options, typed, flag);
  }
}

}  // namespace bigbird::apps
