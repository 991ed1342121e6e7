// What stands on the first screen of a page before its charts: what was asked and how it came out, key
// figures with what they are compared with, warnings, and when the result was written.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace bigbird {

struct KeyFigure {
  std::string label;
  std::string value;
  std::string beside = {};  // what it is compared with: "G and C 0.719"; may be empty
};

// Names and what they are, as lines of provenance tell them.
using ReportFacts = std::vector<std::pair<std::string, std::string>>;

// Of one file or run of a report.
struct FirstScreen {
  std::string asked = {};    // "promoter evaluate of predictions.tsv"
  std::string outcome = {};  // "AUROC 0.64"
  std::vector<KeyFigure> figures = {};
  std::vector<std::string> warnings = {};
  std::vector<std::pair<std::string, double>> general =
      {};  // of MultiQC's General Statistics; general_columns()
};

// What was asked and how it came out, in one line.
std::string headline_of(const FirstScreen& screen);

// The verb and what it was given, of a command as it was typed and the inputs that provenance tells of: pairs
// of role and path. `input` replaces the inputs where it is not empty. Without a command: the file's name.
std::string asked_of(const std::string& command, const ReportFacts& inputs, const std::string& path,
                     const std::string& input = {});
// The same of the lines of a table's provenance.
std::string asked_of_lines(const std::vector<std::string>& lines, const std::string& path,
                           const std::string& input = {});

// A figure and what it is compared with: the others that are known, by their names. Warns in `screen` where
// one of them is better.
struct Rival {
  std::string name;
  std::optional<double> value;
};
void add_compared(FirstScreen& screen, const std::string& label, double value,
                  const std::vector<Rival>& rivals, bool higher_is_better = true);

// Of calls or predictions at a threshold. Warns where fewer than half are right.
void warn_of_precision(FirstScreen& screen, double precision, const std::string& of);

// "2026-11-28 19:16 UTC": when a file was last written; of a folder, its newest file. Empty where it cannot
// be told.
std::string written_at(const std::string& path);

// The columns of MultiQC's General Statistics for a kind of section, in their order.
const std::vector<std::string>& general_columns(const std::string& kind);

}  // namespace bigbird
