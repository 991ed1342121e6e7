// The command as outputs tell it; see verb_command.h.
#include "apps/verb_command.h"

#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "apps/config_file.h"
#include "lib/core/names.h"
#include "lib/core/shell_words.h"
#include "lib/io/files/file.h"
#include "lib/io/files/provenance.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<ProvenancePlace, const char*>, 3> place_names{
    {{ProvenancePlace::beside, "beside"},
     {ProvenancePlace::inside, "inline"},
     {ProvenancePlace::none, "none"}}};

// What lies beside which output; no lines for nothing.
std::map<std::string, std::vector<std::string>>& beside_outputs() {
  static std::map<std::string, std::vector<std::string>> of_process;
  return of_process;
}

// The default as a number where --help shows a word for it (VerbOptions::with_word).
std::string plain_default(const CLI::Option& option) {
  std::string value = option.get_default_str();
  try {
    (*const_cast<CLI::Option&>(option).get_validator("word"))(value);
  } catch (const CLI::OptionNotFound&) {
    // It has none.
  }
  return value;
}

}  // namespace

void write_provenance_beside() {
  for (const auto& [output, lines] : beside_outputs()) {
    const std::string path = folder_exists(output) ? output + "/provenance.json" : provenance_path(output);
    if (!lines.empty()) {
      std::optional<std::uint64_t> bytes;
      if (file_is_regular(output)) bytes = std::filesystem::file_size(output);
      write_text_atomic(path, provenance_json(lines, bytes) + "\n");
    } else if (file_is_regular(path)) {
      std::filesystem::remove(path);
    }
  }
}

// Left out of every verb's command: where the output goes, how it is made, and what is said of it.
VerbCommand::VerbCommand(const CLI::App& parser)
    : parser_(parser),
      no_content_({"-o", "--output", "-@", "--threads", "--log", "--ranks", "--between-devices",
                   "--batch-tokens", "--shard", "--summary-prefix", "--stop-before", "--provenance"}) {}

void VerbCommand::add_command_options(CLI::App& app) {
  app.add_option("--provenance", place_name_,
                 "Place of version, command, seed and inputs of tables and tracks. beside: "
                 "OUT.provenance.json; inline: ## lines on top; none: nowhere, in no output")
      ->group("General")
      ->type_name("{beside,inline,none}");
}

void VerbCommand::read_provenance_place() {
  place_ = parse_name(place_names, place_name_, "choice of --provenance");
}

void VerbCommand::read_command(const std::vector<std::string>& words) {
  const std::set<std::string> flags = {"-q",          "--quiet", "-v",       "--verbose",
                                       "--log-ranks", "--force", "--resume", "--write-index"};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const std::string long_name = word.substr(0, word.find('='));
    // With its value in one word: --output=FILE, -oFILE.
    const bool joined = no_content_.count(word.rfind("--", 0) == 0 ? long_name : word.substr(0, 2)) > 0;
    if (no_content_.count(word) > 0) {
      ++i;
    } else if (!joined && flags.count(long_name) == 0) {
      words_.push_back(word);
    }
  }
}

std::string VerbCommand::command() const {
  std::string text = parser_.get_name();
  for (const std::string& word : words_) text += " " + shell_word(word);
  return text;
}

std::vector<std::string> VerbCommand::lines_of(const Provenance& made) const {
  return provenance() ? provenance_lines(made) : std::vector<std::string>{};
}

std::vector<std::string> VerbCommand::head_of(const std::string& output,
                                              const std::vector<std::string>& lines) const {
  // A device or a pipe (/dev/stdout) has no neighbours.
  const bool has_place =
      output != "-" && !output.empty() && (file_is_regular(output) || !file_exists(output));
  if (has_place)
    beside_outputs()[output] = place_ == ProvenancePlace::beside ? lines : std::vector<std::string>{};
  return provenance_in_tables() ? lines : std::vector<std::string>{};
}

std::string VerbCommand::json_of(const Provenance& made) const {
  return provenance() ? provenance_json(made) : std::string();
}

void VerbCommand::set_in_command(const std::string& option, const std::string& value) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (words_[i] == option && i + 1 < words_.size()) {
      words_[i + 1] = value;
      return;
    }
    if (words_[i].rfind(option + "=", 0) == 0) {
      words_[i] = option + "=" + value;
      return;
    }
  }
  words_.insert(words_.end(), {option, value});
}

std::string VerbCommand::resolved_toml(const std::map<std::string, std::string>& instead) const {
  const std::set<std::string> of_one_call = {"resume", "force", "stop-before"};
  std::string text = "# Options as resolved; run again with: " + parser_.get_name() + " --config THIS_FILE\n";
  for (const CLI::Option* option : parser_.get_options()) {
    const bool configurable = option != parser_.get_help_ptr() && option != parser_.get_config_ptr();
    if (!configurable || option->get_lnames().empty()) continue;
    const std::string& key = option->get_lnames()[0];
    if (of_one_call.count(key) > 0) continue;
    if (const auto found = instead.find("--" + key); found != instead.end()) {
      text += key + " = " + toml_value(found->second) + "\n";
      continue;
    }
    const bool is_flag = option->get_expected_min() == 0;
    if (option->count() == 0 && not_in_toml_.count(key) > 0) continue;
    if (const auto found = in_toml_.find(key); found != in_toml_.end()) {
      text += key + " = " + toml_value(found->second) + "\n";
      continue;
    }
    if (option->count() == 0) {
      const std::string value = plain_default(*option);
      if (is_flag) {
        // Of a flag that can be given either way, nothing is a third choice.
        if (option->get_fnames().empty()) text += key + " = false\n";
      } else if (!value.empty() && value.front() != '[') {
        text += key + " = " + toml_value(value) + "\n";
      }
      continue;
    }
    text += key + " = " + toml_values(option->reduced_results()) + "\n";
  }
  return text;
}

}  // namespace bigbird::apps
