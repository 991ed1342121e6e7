// What the verbs on questions ask in the same words: how long texts are cut into windows, where TriviaQA's
// documents are. Options that belong to some data sets alone are refused with the others.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "apps/command_line.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/qa/question_task.h"
#include "lib/text/qa/windows.h"

namespace bigbird::apps {

// Options that a data set takes where its settings have their name (QuestionTask::settings).
class FormatOptions {
 public:
  CLI::Option* add(CLI::Option* option);
  // After parsing. Error{usage} for an option that was given and is of other data sets.
  void check(const std::string& verb, const QuestionTask& task) const;

 private:
  std::vector<CLI::Option*> options_;
};

// --overlap, --step, --max-question. `otherwise` says what is without them, after the usual values.
void add_window_options(Verb& verb, WindowChoice& windows, const std::string& otherwise,
                        FormatOptions& formats);

// --evidence, --domain. Bound by add(), taken after parsing.
class TriviaChoice {
 public:
  void add(Verb& verb, QuestionReading& reading, FormatOptions& formats);
  // Error{usage} for triviaqa without --evidence.
  void take(const std::string& verb, const QuestionTask& task, QuestionReading& reading) const;

 private:
  std::string domain_ = "wikipedia";
};

}  // namespace bigbird::apps
