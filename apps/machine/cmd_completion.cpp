// bigbird completion: a script for a shell, made from the table of verbs and from each verb's own options.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "apps/help.h"

namespace bigbird::apps {
namespace {

struct CompletedOption {
  std::vector<std::string> names;  // with their dashes
  std::string description;
  bool takes_value = false;
  bool repeats = false;
  std::vector<std::string> choices = {};  // all the words that it takes, where they are known
};

struct CompletedVerb {
  std::string name;  // one to three words
  std::string description;
  std::vector<CompletedOption> options;
};

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream words(text);
  std::vector<std::string> all;
  for (std::string word; words >> word;) all.push_back(word);
  return all;
}

// What may follow the words that were spoken ("", "text", "text classify"), and what it is: of a word that is
// no verb yet, the verbs that begin with it.
using NextWords = std::map<std::string, std::vector<std::pair<std::string, std::string>>>;
NextWords next_words(const std::vector<CompletedVerb>& verbs) {
  NextWords next;
  for (const CompletedVerb& verb : verbs) {
    std::string spoken;
    for (const std::string& word : words_of(verb.name)) {
      auto& known = next[spoken];
      spoken += (spoken.empty() ? "" : " ") + word;
      const bool is_new =
          std::none_of(known.begin(), known.end(), [&](const auto& one) { return one.first == word; });
      if (is_new) known.emplace_back(word, spoken == verb.name ? verb.description : spoken + " ...");
    }
  }
  return next;
}

// The longest names first: `variants evaluate` is no `variants`.
std::vector<CompletedVerb> longest_first(std::vector<CompletedVerb> verbs) {
  std::stable_sort(verbs.begin(), verbs.end(), [](const CompletedVerb& a, const CompletedVerb& b) {
    return a.name.size() > b.name.size();
  });
  return verbs;
}

// Inside '...' of a shell.
std::string quoted(const std::string& text, const std::string& quote) {
  std::string out;
  for (const char c : text) out += c == '\'' ? quote : std::string(1, c);
  return out;
}

// A description of _arguments, which ends at ']', or of _describe, whose first ':' parts name from text.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return quoted(out, "'\\''");
}

std::string fish_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const CompletedOption& option) {
  const std::string names = fmt::format("{}", fmt::join(option.names, " "));
  std::string spec = option.repeats ? "'*'" : fmt::format("'({})'", names);
  spec +=
      option.names.size() == 1 ? option.names.front() : fmt::format("{{{}}}", fmt::join(option.names, ","));
  return spec + fmt::format("'[{}]{}'", zsh_text(option.description),
                            !option.takes_value ? ""
                            : option.choices.empty()
                                ? ":value:_files"
                                : fmt::format(":value:({})", fmt::join(option.choices, " ")));
}

// To be evaluated: source <(bigbird completion bash).
std::string bash_completion(const std::vector<CompletedVerb>& verbs) {
  NextWords next = next_words(verbs);
  std::string first = "help";
  for (const auto& [word, description] : next[""]) first += " " + word;
  next.erase("");
  std::string text = "# bash completion for bigbird " BIGBIRD_VERSION
                     "\n"
                     "_bigbird() {\n"
                     "  local first=1 current=\"${COMP_WORDS[COMP_CWORD]}\" words='' values=''\n"
                     "  case \"${COMP_WORDS[1]}\" in help | man) [[ $COMP_CWORD -gt 1 ]] && first=2 ;; esac\n"
                     "  local spoken=\"${COMP_WORDS[*]:first:COMP_CWORD-first}\"\n"
                     "  if [[ $COMP_CWORD -eq $first ]]; then\n"
                     "    COMPREPLY=($(compgen -W '" +
                     first +
                     "' -- \"$current\"))\n"
                     "    return\n  fi\n"
                     "  local continues=''\n"
                     "  case \"$spoken\" in\n";
  for (const auto& [spoken, words] : next) {
    std::string names;
    for (const auto& [word, description] : words) names += (names.empty() ? "" : " ") + word;
    text += fmt::format("    '{}') continues='{}' ;;\n", spoken, names);
  }
  text += "    *) ;;\n  esac\n  case \"$spoken \" in\n";
  for (const CompletedVerb& verb : longest_first(verbs)) {
    std::string names;
    for (const CompletedOption& option : verb.options) {
      for (const std::string& name : option.names) names += (names.empty() ? "" : " ") + name;
    }
    text += fmt::format("    '{}'' '*) words='{}' ;;\n", verb.name, names);
  }
  text += "    *) ;;\n  esac\n  case \"$spoken \" in\n";
  for (const CompletedVerb& verb : longest_first(verbs)) {
    std::string values;
    for (const CompletedOption& option : verb.options) {
      if (!option.choices.empty()) {
        values += fmt::format("      {}) values='{}' ;;\n", fmt::join(option.names, " | "),
                              fmt::join(option.choices, " "));
      }
    }
    text += fmt::format("    '{}'' '*) case \"${{COMP_WORDS[COMP_CWORD - 1]}}\" in\n{}      esac ;;\n",
                        verb.name, values);
  }
  return text +
         "  esac\n"
         "  if [[ $current != -* ]]; then words=$continues; fi\n"
         "  if [[ -n $values ]]; then words=$values; fi\n"
         "  if [[ -n $words ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  fi\n}\n"
         "complete -o default -F _bigbird bigbird\n";
}

// A file _bigbird in a folder of $fpath, or evaluated after compinit.
std::string zsh_completion(const std::vector<CompletedVerb>& verbs) {
  std::string text =
      "#compdef bigbird\n"
      "# zsh completion for bigbird " BIGBIRD_VERSION
      "\n"
      "_bigbird() {\n"
      "  local -a spoken choices\n"
      "  integer i\n"
      "  for (( i = 2; i < CURRENT; ++i )); do\n"
      "    [[ ${words[i]} == -* ]] && break\n"
      "    spoken+=(\"${words[i]}\")\n"
      "  done\n"
      "  local said=\"${(j: :)spoken}\"\n"
      "  case $said in\n";
  for (const auto& [spoken, words] : next_words(verbs)) {
    text += fmt::format("    ('{}') choices=(", spoken);
    for (const auto& [word, description] : words)
      text += fmt::format("'{}:{}' ", word, zsh_text(description));
    text += ") ;;\n";
  }
  text +=
      "  esac\n"
      "  if (( CURRENT == ${#spoken} + 2 && ${#choices} )) && [[ ${words[CURRENT]} != -* ]]; then\n"
      "    _describe -t verbs 'verb' choices\n"
      "  fi\n"
      "  case \"$said \" in\n";
  for (const CompletedVerb& verb : longest_first(verbs)) {
    const std::size_t count = words_of(verb.name).size();
    text += fmt::format("    ('{} '*)\n      shift {} words; (( CURRENT -= {} ))\n      _arguments",
                        verb.name, count, count);
    for (const CompletedOption& option : verb.options) text += " \\\n        " + zsh_option(option);
    text += " \\\n        '*:file:_files' ;;\n";
  }
  return text +
         "  esac\n}\nif [[ $funcstack[1] == _bigbird ]]; then _bigbird \"$@\"; else compdef _bigbird bigbird; fi\n";
}

// ~/.config/fish/completions/bigbird.fish.
std::string fish_completion(const std::vector<CompletedVerb>& verbs) {
  std::string text = "# fish completion for bigbird " BIGBIRD_VERSION
                     "\n"
                     "function __bigbird_said\n"
                     "  set -l said\n"
                     "  for word in (commandline -opc)[2..-1]\n"
                     "    string match -q -- '-*' $word; and break\n"
                     "    set said $said $word\n"
                     "  end\n"
                     "  string join ' ' -- $said\n"
                     "end\n"
                     "function __bigbird_verb\n"
                     "  set -l said (__bigbird_said)' '\n"
                     "  for verb in";
  for (const CompletedVerb& verb : longest_first(verbs)) text += " '" + verb.name + "'";
  text +=
      "\n"
      "    if string match -q -- \"$verb *\" $said\n"
      "      echo $verb\n"
      "      return\n"
      "    end\n"
      "  end\n"
      "end\n";
  for (const auto& [spoken, words] : next_words(verbs)) {
    for (const auto& [word, description] : words) {
      text += fmt::format("complete -c bigbird -f -n 'test \"$(__bigbird_said)\" = \"{}\"' -a {} -d '{}'\n",
                          spoken, word, fish_text(description));
    }
  }
  for (const CompletedVerb& verb : verbs) {
    for (const CompletedOption& option : verb.options) {
      text += fmt::format("complete -c bigbird -n 'test \"$(__bigbird_verb)\" = \"{}\"'", verb.name);
      for (const std::string& name : option.names)
        text += name.rfind("--", 0) == 0 ? " -l " + name.substr(2) : " -s " + name.substr(1);
      const std::string value = !option.takes_value ? ""
                                : option.choices.empty()
                                    ? " -r"
                                    : fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
      text += fmt::format("{} -d '{}'\n", value, fish_text(option.description));
    }
  }
  return text;
}

// Those that are shown.
std::vector<CompletedOption> options_of(const CLI::App& app) {
  std::vector<CompletedOption> options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || !option->nonpositional()) continue;
    CompletedOption completed{{}, option->get_description()};
    for (const std::string& name : option->get_lnames()) completed.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) completed.names.push_back("-" + name);
    completed.takes_value = option->get_expected_min() > 0;
    completed.repeats = completed.takes_value && option->get_expected_max() > 1;
    if (completed.takes_value) completed.choices = choices_of(*option);
    options.push_back(completed);
  }
  return options;
}

std::vector<CompletedVerb> all_verbs() {
  std::vector<CompletedVerb> verbs;
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) continue;
    verbs.push_back({row.name, row.help, {}});
    ask_verb(row, [&](const CLI::App& app, const auto&...) { verbs.back().options = options_of(app); });
  }
  return verbs;
}

}  // namespace

int cmd_completion(int argc, char** argv) {
  Verb verb("completion", "Print a completion script for bash, zsh or fish.",
            {"source <(bigbird completion bash)",
             ("mkdir -p ~/.config/fish/completions && bigbird completion fish > "
              "~/.config/fish/completions/bigbird.fish"),
             "bigbird completion zsh > _bigbird"});
  std::string shell;
  verb.add_required("SHELL", shell, "Shell: bash, zsh or fish", CLI::IsMember({"bash", "zsh", "fish"}));
  if (!verb.parse(argc, argv)) return 0;
  verb.omit_closing_line();
  const std::vector<CompletedVerb> verbs = all_verbs();
  std::cout << (shell == "bash"  ? bash_completion(verbs)
                : shell == "zsh" ? zsh_completion(verbs)
                                 : fish_completion(verbs));
  return 0;
}

}  // namespace bigbird::apps
