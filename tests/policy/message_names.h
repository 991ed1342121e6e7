// Names that messages and hints tell a user: settings in backticks (lib/core/settings.h), options, verbs. One
// that does not exist sends its reader nowhere.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/policy/passed_options.h"

namespace bigbird::policy {

struct Text {
  std::string words;
  bool is_message;  // the first argument of message()
};
// The string literals of a source, neighbours joined to one; without comments.
std::vector<Text> texts_of(std::string code);

using OptionsOfVerbs = std::map<std::string, std::vector<OptionNames>>;

// What the literals of a source name and the program does not have, as "path: what". `path` is relative to
// the repository. Of lib: a word in backticks that does not stand in a message(), or is an option of none of
// the verbs which its room works for, a command of bigbird that there is not, and any option written out, as
// lib knows no command line. Of apps: an option that is none of the verb's own (cmd_VERB.cpp) nor of one
// that the same text names, elsewhere of no verb.
std::vector<std::string> unknown_names(const std::string& path, const std::string& source,
                                       const OptionsOfVerbs& options);

}  // namespace bigbird::policy
