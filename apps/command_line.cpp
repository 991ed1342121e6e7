// Parsing and configuration shared by the verbs; see command_line.h.
#include "apps/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "apps/config_file.h"
#include "apps/help.h"
#include "apps/old_names.h"
#include "apps/option_names.h"
#include "lib/core/error.h"
#include "lib/io/files/file.h"
#include "lib/model_folder/model_names.h"

namespace bigbird::apps {
namespace {

// The words behind the name of the verb; "--resume", "auto" as "--resume=auto" where that is one of `pairs`.
std::vector<std::string> joined_words(int argc, char** argv,
                                      const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::vector<std::string> words;
  bool options_end = false;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    options_end = options_end || word == "--";
    const auto pair =
        std::find_if(pairs.begin(), pairs.end(), [&](const auto& one) { return one.first == word; });
    if (!options_end && pair != pairs.end() && i + 1 < argc && pair->second == argv[i + 1]) {
      word += "=" + pair->second;
      ++i;
    }
    words.push_back(std::move(word));
  }
  return words;
}

// Whether "all" stands after --help; it is then taken away.
bool take_help_of_all(std::vector<std::string>& words) {
  const auto ask = std::find_if(words.begin(), words.end(),
                                [](const auto& word) { return word == "--help" || word == "-h"; });
  if (ask == words.end() || ask + 1 == words.end() || ask[1] != "all") return false;
  words.erase(ask + 1);
  return true;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// The first word that looks like an option and is none, or empty. Before a command only the first word that
// was left may be one: those after it are the command's.
std::string unknown_option(const CLI::App& app) {
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-' && word != "--") return word.substr(0, word.find('='));
    if (app.get_prefix_command()) break;
  }
  return {};
}

bool is_number_of_type(const std::string& word, const std::string& type) {
  const char* const end = word.data() + word.size();
  double real = 0;
  std::int64_t whole = 0;
  std::uint64_t positive = 0;
  const std::from_chars_result read = type == "FLOAT"  ? std::from_chars(word.data(), end, real)
                                      : type == "UINT" ? std::from_chars(word.data(), end, positive)
                                                       : std::from_chars(word.data(), end, whole);
  return read.ec == std::errc() && read.ptr == end;
}

// "Could not convert: --lr = 1e-3,abc" as "--lr 1e-3,abc: 'abc' is no number".
[[noreturn]] void throw_conversion_error(const CLI::App& app, const std::string& name,
                                         const CLI::ParseError& error, const std::string& see) {
  const std::string what = first_line(error.what());
  const std::size_t colon = what.find(": "), equal = what.find(" = ");
  const bool known = colon != std::string::npos && equal != std::string::npos && colon < equal;
  const std::string named = known ? what.substr(colon + 2, equal - colon - 2) : std::string();
  const CLI::Option* const option = known ? app.get_option_no_throw(named) : nullptr;
  if (option == nullptr) throw_usage(name + ": " + what, see);
  std::string type = option->get_type_name();
  type = type.substr(0, type.find_first_of(":{ "));
  if (type != "FLOAT" && type != "UINT") type = "INT";
  std::string bad = what.substr(equal + 3);
  for (const std::string& word : CLI::detail::split(bad, ',')) {
    if (is_number_of_type(word, type)) continue;
    bad = word;
    break;
  }
  throw_usage(fmt::format("{}: {} {}: '{}' is not a {}", name, named, what.substr(equal + 3), bad,
                          type == "FLOAT"  ? "number"
                          : type == "UINT" ? "whole number from 0"
                                           : "whole number"),
              see);
}

// CLI11 checks required options before leftovers; a mistyped option would be reported as another one missing.
[[noreturn]] void throw_usage_error(const CLI::App& app, const std::string& name,
                                    const CLI::ParseError& error) {
  const std::string see = "`bigbird " + name + " --help` lists the options";
  const std::string option = unknown_option(app);
  if (!option.empty()) {
    const std::string near = nearest(option, option_words(app));
    throw_usage(name + ": unknown option '" + option + "'",
                near.empty() ? see : "did you mean " + near + "? " + see);
  }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !app.remaining().empty()) {
    throw_usage(name + ": '" + app.remaining().front() + "' was not expected here", see);
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr)
    throw_conversion_error(app, name, error, see);
  throw_usage(name + ": " + first_line(error.what()), see);
}

std::string config_file(const CLI::App& app) {
  const std::vector<std::string>& given = app.get_config_ptr()->results();
  return given.empty() ? "--config" : given.front();
}

[[noreturn]] void throw_config_error(const CLI::App& app, const std::string& name,
                                     const CLI::ConfigError& error) {
  const std::string see =
      "keys are long option names without the dashes; `bigbird " + name + " --help` lists them";
  const std::string prefix = "INI was not able to parse ";  // CLI11's words for a key that no option has
  const std::string text = first_line(error.what());
  if (text.rfind(prefix, 0) != 0) throw_bad_input(config_file(app) + ": " + text, see);
  const std::string key = text.substr(prefix.size());
  const std::string near = nearest("--" + key, option_words(app));
  throw_bad_input(config_file(app) + ": there is no option '" + key + "'",
                  near.rfind("--", 0) == 0 ? "did you mean " + near.substr(2) + "? " + see : see);
}

// The folders that are meant in place of names that were typed (lib/model_folder/model_names.h). What is told
// of the command keeps the names.
void resolve_models(CLI::App& app, const char* name) {
  CLI::Option* const option = app.get_option_no_throw(name);
  if (option == nullptr || option->count() == 0) return;
  const std::vector<std::string> typed = option->results();
  std::vector<std::string> folders;
  for (const std::string& word : typed) folders.push_back(model_folder_of(word));
  if (folders == typed) return;
  option->clear();
  option->add_result(folders);
  option->run_callback();
}

}  // namespace

Verb::Verb(std::string name, const std::string& sentence, const std::vector<std::string>& examples)
    : VerbOptions(std::move(name), sentence), VerbCommand(app_), examples_(examples) {
  app_.option_defaults()->always_capture_default();
  app_.set_help_flag("-h,--help", "Print this help; --help all: every option")->group("General");
  add_console_options(app_);
  app_.config_formatter(std::make_shared<ConfigFile>(app_, verb_));
  app_.set_config("--config", "", "TOML file of options")->group("General")->type_name("FILE");
  app_.allow_config_extras(CLI::config_extras_mode::error);
  add_command_options(app_);
}

void Verb::become_rank(int rank, int rank_on_machine, bool speaks) {
  set_rank_on_machine(rank_on_machine);
  if (rank != 0) VerbConsole::become_rank(verb_, rank, speaks);
}

bool Verb::parse(int argc, char** argv) {
  std::vector<std::string> words = joined_words(argc, argv, flag_words_);
  const bool asks_all = take_help_of_all(words);
  use_names_of_today(verb_, words);
  use_variables_of_today(verb_);
  read_command(words);
  set_setting_names(
      [options = option_words(app_)](std::string_view field) { return option_name(field, options); });
  for (CLI::Option* option : app_.get_options()) {
    const bool configurable = option != app_.get_help_ptr() && option != app_.get_config_ptr();
    if (configurable && !option->get_lnames().empty())
      option->envname(environment_variable(option->get_lnames()[0]));
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 wants them
    app_.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    show_help(app_, verb_, examples_, asks_all);
    return false;
  } catch (const CLI::FileError&) {
    throw_bad_input(config_file(app_) + ": the configuration cannot be read",
                    "--config takes an existing TOML file of `option = value` lines");
  } catch (const CLI::ConfigError& error) {
    throw_config_error(app_, verb_, error);
  } catch (const CLI::ParseError& error) {
    throw_usage_error(app_, verb_, error);
  }
  apply_options();
  read_provenance_place();
  start(verb_, refused_);
  apply_job_limits();
  for (const char* name : {"--model", "--init", "--tokenizer", "--hard-negatives"})
    resolve_models(app_, name);
  return true;
}

std::vector<std::string> Verb::command_after_options() const {
  // CLI11 takes a mistyped option for the command's first word.
  if (!unknown_option(app_).empty()) throw_usage_error(app_, verb_, CLI::ExtrasError(app_.remaining()));
  std::vector<std::string> words = app_.remaining();
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  return words;
}

Provenance Verb::made_from(const std::string& fasta, std::vector<ProvenanceInput> inputs) const {
  return {bigbird_version(), command(), seed_, fasta, std::move(inputs)};
}

void write_output(const std::string& path, const std::string& text) {
  OutputStream out(path);
  out.write(text);
  out.close();
}

}  // namespace bigbird::apps
