// Help, man page and completion words from one CLI11 description; see help.h.
#include "apps/help.h"

#include <fmt/format.h>

namespace bigbird::apps {
namespace {

HelpForm& chosen_form() {
  static HelpForm form = HelpForm::text;
  return form;
}

// CLI11's layout, without the environment variable on every line: all follow one rule, stated once below the
// options.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string variable = " (" + get_label("Env") + ":" + option->get_envname() + ")";
    const std::size_t at = text.find(variable);
    if (at != std::string::npos) text.erase(at, variable.size());
    const std::size_t no_default = text.find("=[]");
    if (no_default != std::string::npos) text.erase(no_default, 3);
    return text;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = option->get_name(true, false) + (option->get_expected_max() > 1 ? "..." : "");
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
  text += formatter.make_groups(&app, CLI::AppFormatMode::Normal);
  text +=
      "\nAn option may also come from the environment (--threads from BIGBIRD_THREADS) or from --config "
      "FILE;\n";
  text += "the command line wins over the file, the file over the environment.\n";
  return text;
}

// Text for troff: a backslash or a leading dot would be a command, a plain '-' a hyphen.
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
        option->get_name(option->get_positional(), true) + formatter.make_option_opts(option);
    page += ".TP\n.B " + troff(name) + "\n" + troff(option->get_description()) + "\n";
  }
  page += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : examples) page += troff(example) + "\n";
  return page + ".fi\n";
}

}  // namespace

void set_help_form(HelpForm form) {
  chosen_form() = form;
}

std::vector<std::string> option_words(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    for (const std::string& name : option->get_snames()) words.push_back("-" + name);
  }
  return words;
}

std::string verb_help(const CLI::App& app, const std::string& verb,
                      const std::vector<std::string>& examples) {
  switch (chosen_form()) {
    case HelpForm::man:
      return man_page(app, verb, examples);
    case HelpForm::option_words:
      return fmt::format("{}\n", fmt::join(option_words(app), " "));
    case HelpForm::text:
      break;
  }
  return help_text(app, verb, examples);
}

}  // namespace bigbird::apps
