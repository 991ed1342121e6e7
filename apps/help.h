// The three faces of a verb's options: --help, its man page, and the table that completion scripts are made
// of. All are generated from the CLI11 description, so none can disagree with what the program accepts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/verbs.h"

namespace bigbird::apps {

// What Verb::parse() prints when it meets --help.
// option_table: a line for each option: its names, then a tab and "flag", "value" or "values", then a tab and
// what it is.
enum class HelpForm { text, man, option_table };
void set_help_form(HelpForm form);
// What `row --help` prints in this form.
std::string help_of(const VerbRow& row, HelpForm form);

// The verb's help in the form set; ends with a newline.
std::string verb_help(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples);

// Text for troff: a backslash or a leading dot would be a command, a plain '-' a hyphen.
std::string troff(const std::string& text);

// Option names with their dashes, as a user may type them ("--fasta-ref", "-f").
std::vector<std::string> option_words(const CLI::App& app);

}  // namespace bigbird::apps
