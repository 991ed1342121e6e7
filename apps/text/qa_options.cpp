// Options of the verbs on questions; see qa_options.h.
#include "apps/text/qa_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird::apps {

CLI::Option* FormatOptions::add(CLI::Option* option) {
  return options_.emplace_back(option);
}

namespace {

// The value counts, not who wrote it: RUN/config.toml, which repeats a run, has every option.
bool is_asked_for(const CLI::Option& option) {
  if (option.count() == 0) return false;
  const std::vector<std::string> values = option.reduced_results();
  return values.size() != 1 || values.front() != option.get_default_str();
}

// What a task calls an option: its own name, but for two.
std::string setting_of(const CLI::Option& option) {
  std::string name = option.get_lnames().front();
  std::replace(name.begin(), name.end(), '-', '_');
  return name == "candidates" ? "nbest" : name == "n_best_size" ? "n_best" : name;
}

}  // namespace

void FormatOptions::check(const std::string& verb, const QuestionTask& task) const {
  for (const CLI::Option* option : options_) {
    const std::string setting = setting_of(*option);
    if (!is_asked_for(*option) || task.takes(setting)) continue;
    std::vector<std::string> names;
    for (const QuestionTask* one : question_tasks()) {
      if (one->takes(setting)) names.push_back(one->name);
    }
    throw_usage(fmt::format("{}: --{} is of {}, and the format is {}", verb, option->get_lnames().front(),
                            fmt::join(names, ", "), task.name),
                "leave the option away, or take another --format");
  }
}

void add_window_options(Verb& verb, WindowChoice& windows, const std::string& otherwise,
                        FormatOptions& formats) {
  const OptionGroup group(verb, "Windows of long texts (squad, nq, triviaqa)");
  formats.add(
      verb.add_option("--overlap TOKENS", windows.overlap,
                      "Context tokens that a window shares with the one before it, doc_stride of Hugging "
                      "Face's run_qa (default: a third of the length, at most 1024: 128 of 384" +
                          otherwise + ")"));
  formats.add(verb.add_option("--step TOKENS", windows.step,
                              "Context tokens from one window to the next, instead of --overlap (doc_stride "
                              "of BERT's and ETC's scripts; the paper's stride of 2048 for nq)")
                  ->excludes("--overlap"));
  formats.add(verb.add_option(
      "--max-question TOKENS", windows.max_question,
      "Tokens of a question that are kept, of hotpotqa too (default: 64, at most a quarter of the length" +
          otherwise + ")"));
}

void TriviaChoice::add(Verb& verb, QuestionReading& reading, FormatOptions& formats) {
  const OptionGroup group(verb, "For triviaqa");
  formats.add(verb.add_option("--evidence DIR", reading.evidence,
                              "Folder evidence of the download: documents are in its wikipedia and web"));
  formats.add(verb.add_option(
      "--domain", domain_,
      "Domain: wikipedia, where the documents of a question compete, or web, where each has an answer",
      CLI::IsMember({"wikipedia", "web"})));
}

void TriviaChoice::take(const std::string& verb, const QuestionTask& task, QuestionReading& reading) const {
  reading.domain = domain_ == "web" ? TriviaDomain::web : TriviaDomain::wikipedia;
  if (!task.takes("evidence") || !reading.evidence.empty()) return;
  throw_usage(fmt::format("{}: {} needs --evidence, the folder that holds its documents", verb, task.name),
              "the folder evidence of the data set's download, with wikipedia and web in it");
}

}  // namespace bigbird::apps
