// First screens; see first_screen.h.
#include "lib/report/first_screen.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <map>
#include <string_view>

#include "lib/report/shown_numbers.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < command.size();) {
    const std::size_t end = std::min(command.find(' ', begin), command.size());
    if (end > begin) words.push_back(command.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// "promoter evaluate": verbs are of small letters and "-"; paths have a dot, a slash or a capital almost
// always.
std::string verb_of(const std::vector<std::string>& words) {
  std::string verb;
  for (std::size_t i = 1; i < words.size() && i <= 3; ++i) {
    const bool plain = words[i].front() != '-' &&
                       words[i].find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string::npos;
    if (!plain) break;
    verb += (verb.empty() ? "" : " ") + words[i];
  }
  return verb;
}

// The last part; of "run/final" and "run/checkpoint-5" both, which say little alone.
std::string short_name(const std::string& path) {
  fs::path whole(path);
  if (!whole.has_filename()) whole = whole.parent_path();
  const std::string last = whole.filename().string(), above = whole.parent_path().filename().string();
  const bool common = last == "final" || last == "tracks" || last.rfind("checkpoint-", 0) == 0;
  return common && !above.empty() ? above + "/" + last : last;
}

// What follows the first of these options, for commands whose provenance lists no inputs.
std::string typed_input(const std::vector<std::string>& words) {
  for (const char* name : {"train", "data", "predictions"}) {
    const auto found = std::find(words.begin(), words.end(), std::string(2, '-') + name);
    if (found != words.end() && found + 1 != words.end()) return *(found + 1);
  }
  return {};
}

std::time_t time_of(const std::string& path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 ? status.st_mtime : 0;
}

}  // namespace

std::string headline_of(const FirstScreen& screen) {
  if (screen.asked.empty() || screen.outcome.empty()) return screen.asked + screen.outcome;
  return screen.asked + ": " + screen.outcome;
}

std::string asked_of(const std::string& command, const ReportFacts& inputs, const std::string& path,
                     const std::string& input) {
  const std::vector<std::string> words = words_of(command);
  const std::string verb = verb_of(words);
  if (verb.empty()) return short_name(path);
  std::string data = input, model;
  for (const auto& [role, from] : inputs) {
    if (role == "model") {
      if (model.empty()) model = from;
    } else if (data.empty() && role != "tss" && role != "baseline") {
      data = from;
    }
  }
  if (data.empty()) data = typed_input(words);
  std::string asked = verb;
  if (!data.empty()) asked += " of " + short_name(data);
  if (!model.empty()) asked += " by " + short_name(model);
  return asked;
}

std::string asked_of_lines(const std::vector<std::string>& lines, const std::string& path,
                           const std::string& input) {
  std::string command, genome;
  ReportFacts inputs;
  for (const std::string& line : lines) {
    constexpr std::string_view typed = "bigbird_command=", given = "bigbird_input=",
                               reference = "bigbird_reference=";
    if (line.rfind(typed, 0) == 0) {
      command = line.substr(typed.size());
      inputs.clear();  // a file that went through several verbs: the last one counts
      genome.clear();
    } else if (line.rfind(reference, 0) == 0) {
      genome = line.substr(reference.size());
    } else if (line.rfind(given, 0) == 0) {
      const std::size_t colon = line.find(':');
      if (colon == std::string::npos) continue;
      const std::string from = line.substr(colon + 1);
      inputs.emplace_back(line.substr(given.size(), colon - given.size()),
                          from.substr(0, from.find(" sha256=")));
    }
  }
  if (!genome.empty()) inputs.emplace_back("reference", genome);  // the data where nothing else is
  return asked_of(command, inputs, path, input);
}

void add_compared(FirstScreen& screen, const std::string& label, double value,
                  const std::vector<Rival>& rivals, bool higher_is_better) {
  KeyFigure figure{label, three_digits(value)};
  std::string better;
  for (const auto& [name, rival] : rivals) {
    if (!rival || !std::isfinite(*rival)) continue;
    const std::string said = name + " " + three_digits(*rival);
    figure.beside += (figure.beside.empty() ? "" : ", ") + said;
    if (std::isfinite(value) && (higher_is_better ? *rival > value : *rival < value))
      better += (better.empty() ? "" : ", ") + said;
  }
  if (!better.empty())
    screen.warnings.push_back(
        fmt::format("{}: the model's {} is worse than {}.", label, three_digits(value), better));
  screen.figures.push_back(std::move(figure));
}

void warn_of_precision(FirstScreen& screen, double precision, const std::string& of) {
  if (precision < 0.5)
    screen.warnings.push_back(
        fmt::format("Precision is {}: most {} are wrong.", three_digits(precision), of));
}

std::string written_at(const std::string& path) {
  std::time_t written = 0;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    for (const auto& entry : fs::directory_iterator(path, ignored)) {
      if (entry.is_regular_file(ignored)) written = std::max(written, time_of(entry.path().string()));
    }
  } else {
    written = time_of(path);
  }
  std::tm parts = {};
  if (written == 0 || gmtime_r(&written, &parts) == nullptr) return {};
  std::array<char, 32> text = {};
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return {text.data(), size};
}

const std::vector<std::string>& general_columns(const std::string& kind) {
  static const std::map<std::string, std::vector<std::string>> columns = {
      {"run", {"tokens", "updates", "training loss", "validation loss", "tokens a second"}},
      {"predictions", {"examples", "AUROC", "AUPRC", "F1", "accuracy"}},
      {"evaluation",
       {"AUROC", "median AUROC", "F1", "accuracy", "exact matches", "ROUGE-1", "Spearman correlation",
        "masked-token loss", "bits per base"}},
      {"profiles", {"profiles", "median AUROC"}},
      {"variants", {"alleles scored", "skipped", "largest effect", "smallest E-value"}},
      {"scan", {"positions scored", "calls", "precision", "recall", "average precision"}},
      {"calls", {"calls"}},
      {"shards", {"shards", "whole", "alleles scored"}}};
  static const std::vector<std::string> none;
  const auto found = columns.find(kind);
  return found == columns.end() ? none : found->second;
}

}  // namespace bigbird
