// What every verb shares: parsing with one set of names, --help with examples, and three parts that stand
// alone: shared options (verb_options.h), what outputs tell of the command (verb_command.h), what is said on
// stderr (console.h). See docs/command-line.md.
//
// A verb is one function in apps/<module>/cmd_<verb>.cpp: build a Verb, add its options, parse, call lib,
// print. Modules are data, training, genomics, text and machine; what several of them share is here.
//
//   int cmd_chunk(int argc, char** argv) {
//     Verb verb("chunk", "Cut a genome into documents of sentences.",
//               {"bigbird chunk -f genome.fa.gz -o documents.bed.gz"});
//     std::string fasta;
//     verb.add_required("-f,--fasta-ref FASTA", fasta, "Genome (FASTA with .fai)");
//     verb.add_seed();
//     verb.add_threads();
//     if (!verb.parse(argc, argv)) return 0;  // --help was printed
//     ...                                     // the work; bigbird::Error on failure
//     verb.set_throughput(bases, "bp");
//     return 0;  // the closing line is printed by main
//   }
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/console.h"
#include "apps/verb_command.h"
#include "apps/verb_options.h"
#include "apps/verbs.h"  // where each verb is declared

namespace bigbird::apps {

class Verb : public VerbOptions, public VerbCommand, public VerbConsole {
 public:
  // name as typed after `bigbird` ("promoter build"); sentence opens --help; examples run where the
  // demonstrations have (tests/cli/examples.sh).
  // Every verb gets -h/--help, -q/--quiet, -v/--verbose, --log FILE, --config FILE (TOML), --provenance.
  Verb(std::string name, const std::string& sentence, const std::vector<std::string>& examples);

  // A flag that also takes one word, "--resume auto", which is then no input: the flag's value.
  void add_flag_word(const std::string& flag, const std::string& word) {
    flag_words_.emplace_back(flag, word);
  }

  // argv as the verb sees it: argv[0] is the verb's last word. False when --help was asked for and printed.
  // Usage errors throw Error{usage} with the nearest option as hint.
  bool parse(int argc, char** argv);

  // Of a verb whose options stand before a command (CLI's prefix_command): the words of that, after parse().
  std::vector<std::string> command_after_options() const;

  // What an output tells of this command: its seed, where it has one, the genome (may be empty), more inputs.
  Provenance made_from(const std::string& fasta = {}, std::vector<ProvenanceInput> inputs = {}) const;

  // For a verb that several processes run together, once they know of each other: ranks other than 0 say
  // nothing, or what they say under their number; and the device that has no number is the rank's own.
  void become_rank(int rank, int rank_on_machine, bool speaks);

 private:
  std::vector<std::string> examples_;
  std::vector<std::pair<std::string, std::string>> flag_words_;
};

// "{tsv,npy}", the names of a table (lib/core/names.h), as --help shows what an option takes.
template <typename Table>
std::string choices(const Table& names) {
  std::string text;
  for (const auto& [value, name] : names) text += (text.empty() ? "{" : ",") + std::string(name);
  return text + "}";
}

// Text that a verb prints: into a file that appears once it is whole, or with - on stdout.
void write_output(const std::string& path, const std::string& text);

}  // namespace bigbird::apps
