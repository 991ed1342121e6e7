// bigbird completion: a bash script made from the table of verbs and from each verb's own options.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/command_line.h"
#include "apps/help.h"
#include "apps/verbs.h"

namespace bigbird::apps {

int cmd_completion(int argc, char** argv) {
  Verb verb("completion", "Print a completion script for the shell.", {"source <(bigbird completion bash)"});
  std::string shell;
  verb.app().add_option("SHELL", shell, "Shell")->required()->check(CLI::IsMember({"bash"}));
  if (!verb.parse(argc, argv)) return 0;
  verb.omit_closing_line();

  // The words that may follow `bigbird`, and those that may follow the first words of a longer verb.
  std::string first_words = "help";
  std::map<std::string, std::vector<std::string>> next_words;
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) continue;
    std::string spoken;
    std::istringstream words(row.name);
    for (std::string word; words >> word; spoken += (spoken.empty() ? "" : " ") + word) {
      std::vector<std::string>& known = next_words[spoken];
      if (std::find(known.begin(), known.end(), word) == known.end()) known.push_back(word);
    }
  }
  for (const std::string& word : next_words[""]) first_words += " " + word;
  next_words.erase("");
  std::cout
      << "# bash completion for bigbird " BIGBIRD_VERSION "\n"
      << "_bigbird() {\n"
      << "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words='' spoken=\"${COMP_WORDS[*]:1:COMP_CWORD-1}\"\n"
      << "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
      << "    COMPREPLY=($(compgen -W '" << first_words << "' -- \"$current\"))\n"
      << "    return\n  fi\n"
      << "  local continues=''\n"
      << "  case \"$spoken\" in\n";
  for (const auto& [spoken, words] : next_words)
    std::cout << fmt::format("    '{}') continues='{}' ;;\n", spoken, fmt::join(words, " "));
  std::cout << "    *) ;;\n  esac\n"
            << "  case \"$spoken \" in\n";
  set_help_form(HelpForm::option_words);
  // The longest names first: `variants merge` is no `variants`.
  std::vector<const VerbRow*> rows;
  for (const VerbRow& row : verb_table()) {
    if (row.run != nullptr) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const VerbRow* a, const VerbRow* b) {
    return std::string_view(a->name).size() > std::string_view(b->name).size();
  });
  for (const VerbRow* row : rows) {
    std::string word = row->name;
    std::string ask = "--help";
    char* arguments[] = {word.data(), ask.data(), nullptr};
    std::cout << fmt::format("    '{}'' '*) words='", row->name) << std::flush;
    row->run(2, arguments);
    std::cout << "' ;;\n";
  }
  set_help_form(HelpForm::text);
  std::cout << "  esac\n"
            << "  if [[ $current != -* ]]; then words=$continues; fi\n"
            << "  if [[ -n $words ]]; then\n"
            << "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
            << "  fi\n}\n"
            << "complete -o default -F _bigbird bigbird\n";
  return 0;
}

}  // namespace bigbird::apps
