// bigbird completion: a bash script made from the table of verbs and from each verb's own options.
#include <fmt/format.h>

#include <iostream>

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

  // Words that may follow `bigbird`, and those that may follow the first word of a two-word verb.
  std::string first_words = "help";
  std::string second_words;
  std::string last_first;
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) continue;
    const std::string name = row.name;
    const std::size_t space = name.find(' ');
    const std::string first = name.substr(0, space);
    if (first != last_first) first_words += " " + first;
    last_first = first;
    if (space != std::string::npos)
      second_words += fmt::format("    {}) words+=' {}' ;;&\n", first, name.substr(space + 1));
  }
  std::cout << "# bash completion for bigbird " BIGBIRD_VERSION "\n"
            << "_bigbird() {\n"
            << "  local current=\"${COMP_WORDS[COMP_CWORD]}\" words=''\n"
            << "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
            << "    COMPREPLY=($(compgen -W '" << first_words << "' -- \"$current\"))\n"
            << "    return\n  fi\n"
            << "  if [[ $COMP_CWORD -eq 2 ]]; then\n"
            << "    case \"${COMP_WORDS[1]}\" in\n"
            << second_words << "    *) ;;\n    esac\n  fi\n"
            << "  case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n";
  set_help_form(HelpForm::option_words);
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) continue;
    std::string word = row.name;
    std::string ask = "--help";
    char* arguments[] = {word.data(), ask.data(), nullptr};
    const bool two_words = word.find(' ') != std::string::npos;
    std::cout << fmt::format("    '{}'{}) words='", row.name, two_words ? "" : "' '*") << std::flush;
    row.run(2, arguments);
    std::cout << "' ;;\n";
  }
  set_help_form(HelpForm::text);
  std::cout << "  esac\n"
            << "  if [[ -n $words && ( $current == -* || $COMP_CWORD -eq 2 ) ]]; then\n"
            << "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
            << "  fi\n}\n"
            << "complete -o default -F _bigbird bigbird\n";
  return 0;
}

}  // namespace bigbird::apps
