// bigbird man: the manual page of a verb, from the same description as its --help; or all of them, as files.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "apps/command_line.h"
#include "apps/help.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/io/files/output_set.h"

namespace bigbird::apps {
namespace {

// The page of the program itself: its verbs, group by group.
std::string overview_page() {
  std::string page =
      fmt::format(".TH \"bigbird\" 1 \"\" \"bigbird {}\" \"bigbird manual\"\n", BIGBIRD_VERSION);
  page += ".SH NAME\nbigbird \\- train and run BigBird encoders (sparse attention) on DNA and text\n";
  page += ".SH SYNOPSIS\n.B bigbird\n.I VERB\n[options]\n";
  std::string title;
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) {
      title = fmt::format(".SH {}\n", troff(row.name));
      continue;
    }
    page += title + fmt::format(".TP\n.B {}\n{}\n", troff(row.name), troff(row.help));
    title.clear();
  }
  return page + ".SH SEE ALSO\nThe page of a verb is bigbird\\-VERB(1), its words joined by hyphens.\n";
}

std::string page_of(const VerbRow& row) {
  std::string page;
  ask_verb(row, [&page](const auto&... told) { page = man_page(told...); });
  return page;
}

void write_all(const std::string& folder) {
  OutputSet pages({{"", folder + "/bigbird.1"}});
  pages.make_folder(folder);
  write_text_atomic(folder + "/bigbird.1", overview_page());
  for (const VerbRow& row : verb_table()) {
    if (row.run == nullptr) continue;
    std::string name = row.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    const std::string page = fmt::format("{}/bigbird-{}.1", folder, name);
    pages.add({"", page});
    write_text_atomic(page, page_of(row));
  }
  pages.commit();
}

}  // namespace

int cmd_man(int argc, char** argv) {
  Verb verb("man", "Print the manual page of a verb (troff).",
            {"bigbird man completion | man -l -", "bigbird man completion > bigbird-completion.1",
             "bigbird man --all man1"});
  std::vector<std::string> words;
  std::string all;
  verb.add_option("VERB", words, "Verb, one to three words")->expected(1, most_verb_words);
  verb.add_option("--all DIR", all, "Folder for the pages of all verbs");
  if (!verb.parse(argc, argv)) return 0;
  verb.omit_closing_line();
  if (words.empty() == all.empty()) throw_usage("man: one of VERB and --all is needed", "bigbird man chunk");
  if (!all.empty()) {
    write_all(all);
    return 0;
  }
  const std::string name = fmt::format("{}", fmt::join(words, " "));
  const VerbRow* row = find_verb(name);
  if (row == nullptr)
    throw_usage("man: there is no verb '" + name + "'", "`bigbird` without a verb lists the verbs");
  std::cout << page_of(*row);
  return 0;
}

}  // namespace bigbird::apps
