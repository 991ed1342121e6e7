// Help, man page and completion words from one CLI11 description; see help.h.
#include "apps/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <string_view>

namespace bigbird::apps {
namespace {

// Who is told in place of stdout; empty: nobody.
HelpReader& reader_of_help() {
  static HelpReader reader;
  return reader;
}

// CLI11 marks a name that turns a flag off with what it sets: "--no-join{false}".
std::string plain_name(std::string name) {
  constexpr std::string_view mark = "{false}";
  for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark))
    name.erase(at, mark.size());
  return name;
}

// In one go, or given again and again.
bool takes_several(const CLI::Option* option) {
  return option->get_expected_max() > 1 ||
         option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

// CLI11's layout with plainer marks: "--threads INT=0", "-O {bed12,text}=bed12". Ranges and the environment
// variable are left out; a wrong value is told its range, and all variables follow one rule, stated once
// below the options.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return plain_name(option->get_name(is_positional, true));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";  // a flag
    std::string type = option->get_type_name();
    const std::size_t check = type.find(':');
    if (check != std::string::npos)
      type = type[check + 1] == '{' ? type.substr(check + 1) : type.substr(0, check);
    std::string text = " " + type;
    const std::string& value = option->get_default_str();
    if (!value.empty() && value != "[]") text += "=" + value;
    if (takes_several(option)) text += " ...";
    if (option->get_required()) text += " (required)";
    return text;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = plain_name(option->get_name(true, false)) + (takes_several(option) ? "..." : "");
    return option->get_required() ? name : "[" + name + "]";
  }
};

std::string help_text(const CLI::App& app, const std::string& verb,
                      const std::vector<std::string>& examples) {
  HelpFormatter formatter;
  formatter.column_width(34);
  std::string text = app.get_description() + "\n";
  if (!examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + "\n";
  text += "\n" + formatter.make_usage(&app, "bigbird " + verb);
  text += formatter.make_positionals(&app);
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != "General"; });
  for (const std::string& group : groups) {
    if (group.empty()) continue;  // old spellings, which are accepted and not shown
    const auto in_group = [&](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    };
    const std::vector<const CLI::Option*> options = app.get_options(in_group);
    if (!options.empty()) text += formatter.make_group(group, false, options);
  }
  std::string family;
  for (const VerbRow& row : verbs_after(verb)) family += verb_line(row);
  if (!family.empty()) text += "\nVerbs that begin with this one:\n" + family;
  text +=
      "\nAn option may also come from the environment (--threads from BIGBIRD_THREADS) or from --config "
      "FILE;\n";
  text += "the command line wins over the file, the file over the environment.\n";
  return text;
}

}  // namespace

std::string man_page(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples) {
  std::string page_name = "bigbird-" + verb;
  for (char& c : page_name) c = c == ' ' ? '-' : c;
  const HelpFormatter formatter;
  std::string usage = formatter.make_usage(&app, "bigbird " + verb);
  usage.erase(0, usage.find("bigbird"));
  std::string page =
      fmt::format(".TH \"{}\" 1 \"\" \"bigbird {}\" \"bigbird manual\"\n", page_name, BIGBIRD_VERSION);
  page += ".SH NAME\n" + troff(page_name + " - " + app.get_description()) + "\n";
  page += ".SH SYNOPSIS\n" + troff(usage);
  page += ".SH OPTIONS\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const std::string name =
        plain_name(option->get_name(option->get_positional(), true)) + formatter.make_option_opts(option);
    page += ".TP\n.B " + troff(name) + "\n" + troff(option->get_description()) + "\n";
  }
  page += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : examples) page += troff(example) + "\n";
  return page + ".fi\n";
}

std::string troff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
      out += "\\&";
      out += c;
    } else {
      out += c;
    }
  }
  return out;
}

void ask_verb(const VerbRow& row, const HelpReader& reader) {
  reader_of_help() = reader;
  std::string word = row.name, ask = "--help";
  char* arguments[] = {word.data(), ask.data(), nullptr};
  row.run(2, arguments);
  reader_of_help() = nullptr;
}

std::vector<std::string> option_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return words;
}

void show_help(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples) {
  if (reader_of_help()) {
    reader_of_help()(app, verb, examples);
  } else {
    std::cout << help_text(app, verb, examples);
  }
}

}  // namespace bigbird::apps
