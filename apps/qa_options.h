// What the verbs on questions ask in the same words: the data set's format, how long texts are cut into
// windows, where TriviaQA's documents are. Options that belong to some formats alone are refused with the
// others.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_line.h"
#include "lib/tasks/text/qa/question_format.h"
#include "lib/tasks/text/qa/triviaqa_reader.h"

namespace bigbird::apps {

// Options and the formats that they belong to.
class FormatOptions {
 public:
  void add(CLI::Option* option, std::vector<QuestionFormat> formats);
  // After parsing. Error{usage} for an option that was given and is of other formats.
  void check(const std::string& verb, QuestionFormat format) const;

 private:
  std::vector<std::pair<CLI::Option*, std::vector<QuestionFormat>>> options_;
};

// --overlap, --step, --max-question. `otherwise` says what is without them, after the usual values.
void add_window_options(Verb& verb, WindowChoice& windows, const std::string& otherwise,
                        FormatOptions& formats);

// --evidence, --domain. Bound by add(); read after parsing.
class TriviaChoice {
 public:
  void add(Verb& verb, FormatOptions& formats);
  const std::string& evidence() const { return evidence_; }
  // Error{usage} for triviaqa without --evidence.
  void check(const std::string& verb, QuestionFormat format) const;
  TriviaDomain domain() const { return domain_ == "web" ? TriviaDomain::web : TriviaDomain::wikipedia; }

 private:
  std::string evidence_;
  std::string domain_ = "wikipedia";
};

}  // namespace bigbird::apps
