// Names that options and verbs had before one thing had one name. They work as ever and no help shows them:
// what is typed, or stands in a file or in the environment, becomes the name of today before it is parsed.
// docs/command-line.md 4.6 is this table; tests/policy compares them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
struct ConfigItem;
}

namespace bigbird::apps {

struct OldName {
  std::string_view old;  // "--strand"
  // "--strands": it takes the same value. "--strands=both": the old name was a flag. "--device=cuda:*": the
  // value stands in the place of the star.
  std::string_view now;
  std::string_view verbs;  // separated by ", "; empty: every one
};

std::span<const OldName> old_names();

// Whether this verb had the name.
bool had_name(const OldName& name, std::string_view verb);

// What was typed behind the verb, in the names of today.
void use_names_of_today(const std::string& verb, std::vector<std::string>& words);
// An item of a config file likewise. False for a flag that is turned off: nothing is left of it.
bool use_name_of_today(const std::string& verb, CLI::ConfigItem& item);
// BIGBIRD_STRAND as BIGBIRD_STRANDS, where that is not set.
void use_variables_of_today(const std::string& verb);

// BIGBIRD_FASTA_REF for --fasta-ref.
std::string environment_variable(std::string_view long_name);

}  // namespace bigbird::apps
