// bigbird completion: a script for a shell, made from the table of verbs and from each verb's own options.
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "apps/completion_scripts.h"
#include "apps/help.h"
#include "apps/verbs.h"

namespace bigbird::apps {
namespace {

// Of HelpForm::option_table: names, "value", "values" or "flag", description; by tabs.
std::vector<CompletedOption> options_of(const std::string& table) {
  std::vector<CompletedOption> options;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string names, kind;
    CompletedOption option;
    std::getline(fields, names, '\t');
    std::getline(fields, kind, '\t');
    std::getline(fields, option.description);
    std::istringstream words(names);
    for (std::string word; words >> word;) option.names.push_back(word);
    option.takes_value = kind != "flag";
    option.repeats = kind == "values";
    options.push_back(option);
  }
  return options;
}

std::vector<CompletedVerb> all_verbs() {
  std::vector<CompletedVerb> verbs;
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) continue;
    verbs.push_back({row.name, row.help, options_of(help_of(row, HelpForm::option_table))});
  }
  return verbs;
}

}  // namespace

int cmd_completion(int argc, char** argv) {
  Verb verb("completion", "Print a completion script for the shell.",
            {"source <(bigbird completion bash)",
             "bigbird completion fish > ~/.config/fish/completions/bigbird.fish",
             "bigbird completion zsh > _bigbird"});
  std::string shell;
  verb.add_required("SHELL", shell, "bash, zsh or fish", CLI::IsMember({"bash", "zsh", "fish"}));
  if (!verb.parse(argc, argv)) return 0;
  verb.omit_closing_line();
  const std::vector<CompletedVerb> verbs = all_verbs();
  std::cout << (shell == "bash"  ? bash_completion(verbs)
                : shell == "zsh" ? zsh_completion(verbs)
                                 : fish_completion(verbs));
  return 0;
}

}  // namespace bigbird::apps
