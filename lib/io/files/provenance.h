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

// "bigbird_version=0.1.0", "bigbird_command=...", ...: TSV and VCF put "##" before each. Tabs and newlines
// become blanks.
std::vector<std::string> provenance_lines(const Provenance& provenance);
// A JSON object (compact text): the value of the "provenance" key.
std::string provenance_json(const Provenance& provenance);

}  // namespace bigbird
