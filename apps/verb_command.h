// What outputs tell of the command that made them: the words that were typed, and every option as resolved.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lib/io/files/provenance.h"

namespace bigbird::apps {

// Where an output tells what it comes from: a file beside it (formats with a place for it have it inside all
// the same), "##" lines on top of tables and tracks, or nowhere.
enum class ProvenancePlace { beside, inside, none };

class VerbCommand {
 public:
  bool provenance() const { return place_ != ProvenancePlace::none; }
  // Whether tables and tracks have their provenance on top (--provenance inline).
  bool provenance_in_tables() const { return place_ == ProvenancePlace::inside; }
  // The command line as typed, for provenance, without the options that do not change the content (-o, -@,
  // -q, -v, --log, --force, --batch-tokens and those of leave_out_of_provenance): the same work leaves the
  // same bytes.
  std::string command() const;
  // Provenance as formats with a place for it take it; nothing with --provenance none.
  std::vector<std::string> lines_of(const Provenance& made) const;
  std::string json_of(const Provenance& made) const;
  // The lines on top of a table or track: these with --provenance inline, else none. What they say lies
  // beside `output` (provenance_path; in a folder provenance.json) once the verb has done its work; what an
  // earlier run left there is removed. `-` has nothing beside it.
  std::vector<std::string> head_of(const std::string& output, const std::vector<std::string>& lines) const;
  std::vector<std::string> head_of(const std::string& output, const Provenance& made) const {
    return head_of(output, lines_of(made));
  }
  // An option with a value that does not change the content here, though it does in other verbs.
  void leave_out_of_provenance(const std::string& option) { no_content_.insert(option); }
  // An option of it as if it had been typed with this value.
  void set_in_command(const std::string& option, const std::string& value);

  // The options as resolved, as TOML, to be saved beside the output. Keys are options without their dashes.
  // What is of one call is left out (--resume, --force, --stop-before): a run that was stopped and went on is
  // the run that was not. `instead`: values of these options whatever was typed.
  std::string resolved_toml(const std::map<std::string, std::string>& instead = {}) const;
  void set_in_toml(const std::string& option, const std::string& value) {
    in_toml_[option.substr(2)] = value;
  }
  // Options that it has only where they were given: their default is not what is used.
  void leave_out_of_toml(const std::vector<std::string>& options) {
    for (const std::string& option : options) not_in_toml_.insert(option.substr(2));
  }

 protected:
  // `parser`, which outlives it, has the options that are told, and "bigbird VERB" for its name.
  explicit VerbCommand(const CLI::App& parser);
  void add_command_options(CLI::App& app);  // --provenance
  void read_provenance_place();             // after parsing. Error{usage}
  // The words after the name of the verb.
  void read_command(const std::vector<std::string>& words);

 private:
  const CLI::App& parser_;
  std::string place_name_ = "beside";
  ProvenancePlace place_ = ProvenancePlace::beside;
  std::set<std::string> no_content_;
  std::vector<std::string> words_;  // those that change the content
  std::map<std::string, std::string> in_toml_;
  std::set<std::string> not_in_toml_;
};

// What head_of promised, written when the verb has succeeded. For main.
void write_provenance_beside();

}  // namespace bigbird::apps
