// What users call the settings that lib's messages name (lib/core/settings.h): the options of a verb. And the
// nearest known word to a mistyped one: for verbs, options and keys of a config file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bigbird::apps {

// The option that a field of lib is known by, of a verb that takes these, written as they are typed ("--lr",
// "-f"): by the table in option_names.cpp, else its own name with dashes. The bare name where the verb has no
// such option. What is no snake_case word stays in backticks.
std::string option_name(std::string_view field, const std::vector<std::string>& options);

// The candidate at the smallest edit distance (insertions, deletions, substitutions and swaps of neighbours
// cost 1 each), the first of equals; empty when none is close enough to be a slip.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace bigbird::apps
