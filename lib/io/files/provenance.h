// Where an output came from: version, command, seed, inputs. Holds no times and no host names, so that the
// same work gives the same bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bigbird {

struct ProvenanceInput {
  std::string role;             // "model", "documents"
  std::string path;             // as given
  std::string sha256;           // empty when not computed
  std::string arithmetic = {};  // of a model, where it is its own: "int8"
};

struct Provenance {
  std::string version;  // "0.1.0"; see bigbird_version()
  std::string command;  // as typed
  std::optional<std::uint64_t> seed;
  std::string reference;  // the FASTA, as given; may be empty
  std::vector<ProvenanceInput> inputs;
};

// The version this library was built as.
std::string bigbird_version();

// "bigbird_version=0.1.0", "bigbird_command=...", ...: a VCF puts "##" before each, and a table on request.
// Tabs and newlines become blanks.
std::vector<std::string> provenance_lines(const Provenance& provenance);
// A JSON object (compact text): the value of the "provenance" key.
std::string provenance_json(const Provenance& provenance);

// Tables and tracks tell their provenance in a file beside them, so that every reader of tables opens them by
// its usual line: OUT.provenance.json for OUT.
std::string provenance_path(const std::string& output);
// The object of that file for such lines; other lines of the form "key=value" are its member "settings", an
// object of texts. A file that went through several verbs has the lines of all: the last one's count. "null"
// without lines. `bytes`: the size of the file that they are of.
std::string provenance_json(const std::vector<std::string>& lines, std::optional<std::uint64_t> bytes = {});
// The lines of such a file; none where there is no file. Error{bad_input} for JSON of another form.
std::vector<std::string> read_provenance(const std::string& path);
// Of what lies beside `output`, which may be "-". None, and a warning, where the size tells that the output
// was written again by something else, such as a shell's `> OUT`.
std::vector<std::string> provenance_beside(const std::string& output);

}  // namespace bigbird
