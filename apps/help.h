// The faces of a verb's options: --help and its man page; completion scripts are made of them too
// (cmd_completion.cpp). All come from the CLI11 description: none can disagree with what the program accepts.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "apps/verbs.h"

namespace bigbird::apps {

// What a verb tells of itself: its options, its name and its examples.
using HelpReader = std::function<void(const CLI::App& app, const std::string& verb,
                                      const std::vector<std::string>& examples)>;
// Asks a verb for its help and hands it to `reader` instead of stdout.
void ask_verb(const VerbRow& row, const HelpReader& reader);
// For Verb::parse() that meets --help, or --help all: every option of a verb that has many.
void show_help(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples,
               bool all);

// The page of man, in troff; ends with a newline.
std::string man_page(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples);

// Text for troff: a backslash or a leading dot would be a command, a plain '-' a hyphen.
std::string troff(const std::string& text);

// The words that an option takes, where its help lists them all: "{tsv,npy}"; none else. Words with a part
// that stands for others, as in "cuda:N", are left out.
std::vector<std::string> choices_of(const CLI::Option& option);

// Option names with their dashes, as a user may type them ("--fasta-ref", "-f").
std::vector<std::string> option_words(const CLI::App& app);

}  // namespace bigbird::apps
