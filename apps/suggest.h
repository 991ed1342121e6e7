// The nearest known word to a mistyped one: for verbs, options and keys of a config file.
#pragma once

#include <string>
#include <vector>

namespace bigbird::apps {

// The candidate at the smallest edit distance (insertions, deletions, substitutions and swaps of neighbours
// cost 1 each), the first of equals; empty when none is close enough to be a slip.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace bigbird::apps
