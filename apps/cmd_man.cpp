// bigbird man: the manual page of a verb, from the same description as its --help.
#include <fmt/format.h>

#include "apps/command_line.h"
#include "apps/help.h"
#include "apps/verbs.h"
#include "lib/core/error.h"

namespace bigbird::apps {

int cmd_man(int argc, char** argv) {
  Verb verb("man", "Print the manual page of a verb (troff).",
            {"bigbird man completion | man -l -", "bigbird man completion > bigbird-completion.1"});
  std::vector<std::string> words;
  verb.app().add_option("VERB", words, "Verb, one to three words")->required()->expected(1, most_verb_words);
  if (!verb.parse(argc, argv)) return 0;
  verb.omit_closing_line();

  std::string name = fmt::format("{}", fmt::join(words, " "));
  const VerbRow* row = find_verb(name);
  if (row == nullptr) throw_usage("man: there is no verb '" + name + "'", "`bigbird` alone lists the verbs");
  std::string ask = "--help";
  char* arguments[] = {name.data(), ask.data(), nullptr};
  set_help_form(HelpForm::man);
  const int status = row->run(2, arguments);
  set_help_form(HelpForm::text);
  return status;
}

}  // namespace bigbird::apps
