// Which options of which verbs some test passes, read from the tests' sources and the pipelines' scripts. No
// parser of C++: it knows functions by their layout, which clang-format keeps, and what a test passes by its
// string literals.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace bigbird::policy {

// One option under all its names, the long one first: {"--output", "-o"}.
using OptionNames = std::vector<std::string>;

// Verb -> its options, from what `bigbird completion bash` prints.
std::map<std::string, std::vector<OptionNames>> options_of_verbs(const std::string& completion);

// Functions of a source, tests included: with the line of their name, without what stands between them.
std::vector<std::string> functions_of(const std::string& source);

// Verb -> words that are passed to it in a source. A function passes what literals stand in it and in those
// that it calls of this source and of `headers`; it speaks to the verbs whose names begin a list in braces
// there ({"promoter", "predict"), or stand in a shell's text (bigbird simulate). Of several verbs in one
// function each gets all.
std::map<std::string, std::set<std::string>> passed_words(const std::string& source,
                                                          const std::string& headers,
                                                          const std::set<std::string>& verbs);

// The same of a shell script: of the commands that begin with bigbird or "$BIGBIRD".
std::map<std::string, std::set<std::string>> passed_words_of_script(const std::string& script,
                                                                    const std::set<std::string>& verbs);

}  // namespace bigbird::policy
