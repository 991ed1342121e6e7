// The TOML that verbs read with --config and write as config.toml: `option = value` lines, where a value is a
// number, true or false, a string ("..." with escapes, '...' without) or a list of such. What is written here
// is read here as the same words, whatever is in them: quotes, #, commas, line ends.
#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <utility>
#include <vector>

namespace bigbird::apps {

// A value as it stands in the file: numbers and booleans bare, else a string in quotes.
std::string toml_value(const std::string& value);
// One as it is, several as a list.
std::string toml_values(const std::vector<std::string>& values);

// Reads such files in place of CLI11's own reader, which takes a # for a comment inside of quotes too and
// knows no escapes. A flag that is false there is one that was not given.
class ConfigFile : public CLI::ConfigTOML {
 public:
  // The app outlives it. Keys that the verb had before are read as those of today (old_names.h).
  ConfigFile(const CLI::App& app, std::string verb) : app_(app), verb_(std::move(verb)) {}
  // CLI::ConfigError for a string or a list without its end.
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  bool is_flag_off(const CLI::ConfigItem& item) const;

  const CLI::App& app_;
  std::string verb_;
};

}  // namespace bigbird::apps
