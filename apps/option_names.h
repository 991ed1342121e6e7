// What users call the settings that lib's messages name. lib names its own fields, in backticks
// ("`learning_rate` 2: must lie between 0 and 1", see lib/core/error.h); on the way to stderr they become the
// options of the verb that runs ("--lr 2: must lie between 0 and 1").
#pragma once

#include <string>
#include <vector>

namespace bigbird::apps {

// The text for a user of a verb that takes these options, written as they are typed ("--lr", "-f"). Each word
// in backticks becomes the option it is known by: by the table in option_names.cpp, else its own name with
// dashes. Where the verb has no such option the bare word stays, without the backticks. What is in backticks
// and is no snake_case word ("`bigbird check`"), or is the program's own name, stands as it is.
std::string name_options(const std::string& text, const std::vector<std::string>& options);

// The verb that runs, for the functions below; until it is set they leave everything as it is.
void set_running_verb(std::string name, std::vector<std::string> options);

// name_options() for the verb that runs, as one line that a terminal may show: control characters, which
// names of files and bytes of hostile ones may hold, become '?', and a very long line ends in "...".
std::string option_text(const std::string& text);

// The hint of a usage error for a user: its own, or where the options of the verb are explained.
std::string usage_hint(const std::string& hint);

}  // namespace bigbird::apps
