// The three faces of a verb's options: --help, its man page, and the option words that shell completion
// offers. All are generated from the CLI11 description, so none can disagree with what the program accepts.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace bigbird::apps {

// What Verb::parse() prints when it meets --help.
enum class HelpForm { text, man, option_words };
void set_help_form(HelpForm form);

// The verb's help in the form set; ends with a newline.
std::string verb_help(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples);

// Option names with their dashes, as a user may type them ("--fasta-ref", "-f").
std::vector<std::string> option_words(const CLI::App& app);

}  // namespace bigbird::apps
