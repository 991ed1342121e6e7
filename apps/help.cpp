// Help, man page and completion words from one CLI11 description; see help.h.
#include "apps/help.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <span>
#include <string_view>

#include "apps/common_options.h"

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

// What --help calls the value of an option: its type, or of a check the words that it lists.
std::string type_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t check = type.find(':');
  if (!type.empty() && type.front() == '{') return type.substr(0, type.find('}') + 1);
  if (check == std::string::npos) return type;
  return type[check + 1] == '{' ? type.substr(check + 1) : type.substr(0, check);
}

// In one go, or given again and again.
bool takes_several(const CLI::Option* option) {
  return option->get_expected_max() > 1 ||
         option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

// Columns that help may take: those of the terminal, also where a pager stands between; 0 where none is
// there, as in a script that searches it.
std::size_t help_width() {
  winsize size{};
  for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO}) {
    if (isatty(descriptor) == 1 && ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
      return size.ws_col;
  }
  return 0;
}

constexpr std::size_t text_column = 34;
constexpr std::size_t narrow = 80;  // below, the text of an option stands under its name

// `text` from `column` on, where the cursor is, in lines of `width` columns that go on at `indent`.
std::string wrapped(const std::string& text, std::size_t column, std::size_t indent, std::size_t width) {
  if (width == 0) return text;
  std::string lines;
  std::size_t at = column;
  bool first = true;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    begin = end + 1;
    if (!first && at + 1 + word.size() > width) {
      lines += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (!first) {
      lines += ' ';
      ++at;
    }
    lines += word;
    at += word.size();
    first = false;
  }
  return lines;
}

// CLI11's layout with plainer marks: "--threads INT=auto", "-O {bed12,text}=bed12". Ranges and the
// environment variable are left out; a wrong value is told its range, and all variables follow one rule,
// stated once below the options.
class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width = 0) : width_(width) { column_width(text_column); }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const std::string head =
        "  " + make_option_name(option, is_positional) + (is_positional ? "" : make_option_opts(option));
    const std::string text = make_option_desc(option);
    const std::size_t indent = width_ > 0 && width_ < narrow ? 6 : text_column;
    std::string shown = is_positional ? head + make_option_opts(option) : head;
    if (shown.size() + 1 > indent) {
      shown += "\n" + std::string(indent, ' ');
    } else {
      shown.resize(indent, ' ');
    }
    return shown + wrapped(text, indent, indent, width_) + "\n";
  }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    return plain_name(option->get_name(is_positional, true));
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";  // a flag
    std::string text = " " + type_of(*option);
    const std::string& value = option->get_default_str();
    if (!value.empty() && value != "[]" && !option->get_required()) text += "=" + value;
    if (takes_several(option)) text += " ...";
    if (option->get_required()) text += " (required)";
    return text;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = plain_name(option->get_name(true, false)) + (takes_several(option) ? "..." : "");
    return option->get_required() ? name : "[" + name + "]";
  }

 private:
  std::size_t width_;
};

std::string help_text(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples,
                      bool all) {
  const std::size_t width = help_width();
  const HelpFormatter formatter(width);
  std::string text = wrapped(app.get_description(), 0, 0, width) + "\n";
  if (!examples.empty()) text += "\nExamples:\n";
  for (const std::string& example : examples) text += "  " + example + "\n";
  text += "\n" + formatter.make_usage(&app, "bigbird " + verb);
  text += formatter.make_positionals(&app);
  const std::span<const std::string_view> common = common_options(verb);
  const auto is_shown = [&](const CLI::Option* option) {
    const std::vector<std::string>& names = option->get_lnames();
    return all || common.empty() || option->get_required() || option == app.get_help_ptr() ||
           (!names.empty() && std::find(common.begin(), common.end(), names.front()) != common.end());
  };
  std::vector<std::string> groups = app.get_groups();
  std::stable_partition(groups.begin(), groups.end(),
                        [](const std::string& group) { return group != "General"; });
  std::size_t left_out = 0;
  for (const std::string& group : groups) {
    if (group.empty()) continue;  // old spellings, which are accepted and not shown
    const auto in_group = [&](const CLI::Option* option) {
      return option->get_group() == group && option->nonpositional();
    };
    std::vector<const CLI::Option*> options = app.get_options(in_group);
    const std::size_t before = options.size();
    options.erase(
        std::remove_if(options.begin(), options.end(), [&](const auto* option) { return !is_shown(option); }),
        options.end());
    left_out += before - options.size();
    if (!options.empty()) text += formatter.make_group(group, false, options);
  }
  if (left_out > 0) text += fmt::format("\n{} more options: bigbird {} --help all\n", left_out, verb);
  std::string family;
  for (const VerbRow& row : verbs_after(verb)) family += verb_line(row);
  if (!family.empty()) text += "\nVerbs that begin with this one:\n" + family;
  return text + "\n" +
         wrapped(
             "An option may also come from the environment (--threads from BIGBIRD_THREADS) or from --config "
             "FILE; the command line wins over the file, the file over the environment.",
             0, 0, width == 0 ? 110 : width) +
         "\n";
}

// What every verb has in common (docs/command-line.md, 3.1, 4.2 and 6.2).
std::string common_sections() {
  const auto entry = [](const std::string& name, const std::string& text) {
    return ".TP\n.B " + troff(name) + "\n" + troff(text) + "\n";
  };
  std::string page =
      ".SH EXIT STATUS\n" + entry("0", "Done.") + entry("1", "Bad input, or a failure at run time.") +
      entry("2", "An unknown verb or option, or values that contradict each other.") +
      entry("3", "No such device, or too little memory.") +
      entry("130, 143", "Stopped by SIGINT or SIGTERM; --resume goes on, where the verb has it.");
  page +=
      ".SH ENVIRONMENT\n" +
      entry("BIGBIRD_THREADS, BIGBIRD_OUTPUT, ...",
            "The value of the option of that name, where neither the command line nor --config has one.") +
      entry(
          "OMP_NUM_THREADS, SLURM_CPUS_PER_TASK, PBS_NUM_PPN, NCPUS, NSLOTS, LSB_DJOB_NUMPROC",
          "Threads, where --threads is not given: the first that is set, of a batch system within its jobs.") +
      entry("BIGBIRD_MODELS", "The folder of the models that come with the program.") +
      entry("BIGBIRD_OFFLINE, HF_HUB_OFFLINE", "Where 1, models are fetched from nowhere.") +
      entry("HF_TOKEN, HF_ENDPOINT", "The token for models that need leave, and another hub.");
  page += ".SH FILES\n" +
          entry("OUT.provenance.json", "What a table or track comes from; see --provenance.") +
          entry("OUT.parts/", "Finished parts of work that was stopped, for --resume.") +
          entry("~/.cache/bigbird",
                "What can be made again: packed weights, tables of products, fetched models.");
  return page + ".SH SEE ALSO\nbigbird(1)\n";
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
  return page + ".fi\n" + common_sections();
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

void show_help(const CLI::App& app, const std::string& verb, const std::vector<std::string>& examples,
               bool all) {
  if (reader_of_help()) {
    reader_of_help()(app, verb, examples);
  } else {
    std::cout << help_text(app, verb, examples, all);
  }
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = type_of(option);
  std::vector<std::string> words;
  if (type.size() < 2 || type.front() != '{' || type.back() != '}') return words;
  for (const std::string& word : CLI::detail::split(type.substr(1, type.size() - 2), ',')) {
    const bool stands_for_others =
        std::any_of(word.begin(), word.end(), [](unsigned char letter) { return std::isupper(letter) != 0; });
    if (!stands_for_others) words.push_back(word);
  }
  return words;
}

}  // namespace bigbird::apps
