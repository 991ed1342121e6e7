// `bigbird text summarize predict`: summaries of documents by a model with a decoder.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "apps/verbs.h"
#include "apps/work_options.h"
#include "kernels/backend.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/provenance.h"
#include "lib/tasks/text/summarize/predict.h"
#include "lib/tasks/text/summarize/summarizer.h"
#include "lib/training/memory_plan.h"

namespace bigbird::apps {
namespace {

constexpr std::uint64_t documents_of_a_chunk = 8;
constexpr std::array<std::pair<Decoding, const char*>, 3> summary_decoding_names{
    {{Decoding::huggingface, "huggingface"}, {Decoding::google, "google"}, {Decoding::greedy, "greedy"}}};
constexpr std::array<std::pair<EarlyStopping, const char*>, 3> early_stopping_names{
    {{EarlyStopping::no, "no"}, {EarlyStopping::yes, "yes"}, {EarlyStopping::never, "never"}}};
constexpr std::array<std::pair<SummaryForm, const char*>, 3> summary_form_names{
    {{SummaryForm::jsonl, "jsonl"}, {SummaryForm::tsv, "tsv"}, {SummaryForm::lines, "lines"}}};

// What the command line changes of a folder's search.
class SearchChoices {
 public:
  void add(CLI::App& app) {
    const char* const group = "Search (where not given: as the model's folder says)";
    decoding_option_ = app.add_option("--decoding", decoding_, "huggingface, google or greedy")->group(group);
    beams_option_ =
        app.add_option("--beams", beams_, "Rows that are searched side by side; 1 is greedy")->group(group);
    penalty_option_ = app.add_option("--length-penalty", penalty_,
                                     "A score is the sum of log p over the tokens to this power")
                          ->group(group);
    most_option_ =
        app.add_option("--max-tokens", most_, "Most tokens of a summary, its end included")->group(group);
    least_option_ = app.add_option("--min-tokens", least_, "No end before so many")->group(group);
    ngram_option_ =
        app.add_option("--no-repeat-ngram", ngram_, "No so many tokens in a row twice; 0: any")->group(group);
    repetition_option_ =
        app.add_option("--repetition-penalty", repetition_, "Of tokens that are there already; 1: none")
            ->group(group);
    stopping_option_ =
        app.add_option("--early-stopping", stopping_, "no, yes or never: when a beam search may end")
            ->group(group);
  }
  // Error{usage} for a word that there is not.
  void apply(SearchOptions& search) const {
    if (decoding_option_->count() > 0)
      search.decoding = parse_name(summary_decoding_names, decoding_, "decoding");
    if (search.decoding == Decoding::greedy) search.beams = 1;
    if (search.decoding == Decoding::google) {  // which has none of generate()'s rules
      search.min_length = 0;
      search.no_repeat_ngram = 0;
      search.repetition_penalty = 1.0;
      search.forced_end = false;
      search.early_stopping = EarlyStopping::no;
    }
    if (beams_option_->count() > 0) search.beams = beams_;
    if (penalty_option_->count() > 0) search.length_penalty = penalty_;
    if (most_option_->count() > 0) {
      search.max_length = most_ + 1;  // the start symbol counts
      if (least_option_->count() == 0 && search.min_length > search.max_length) search.min_length = 0;
    }
    if (least_option_->count() > 0) search.min_length = least_ + 1;
    if (ngram_option_->count() > 0) search.no_repeat_ngram = ngram_;
    if (repetition_option_->count() > 0) search.repetition_penalty = repetition_;
    if (stopping_option_->count() > 0)
      search.early_stopping = parse_name(early_stopping_names, stopping_, "early stopping");
  }

 private:
  std::string decoding_ = "huggingface", stopping_ = "no";
  std::int64_t beams_ = 5, most_ = 256, least_ = 0, ngram_ = 0;
  double penalty_ = 0.8, repetition_ = 1.0;
  CLI::Option* decoding_option_ = nullptr;
  CLI::Option* beams_option_ = nullptr;
  CLI::Option* penalty_option_ = nullptr;
  CLI::Option* most_option_ = nullptr;
  CLI::Option* least_option_ = nullptr;
  CLI::Option* ngram_option_ = nullptr;
  CLI::Option* repetition_option_ = nullptr;
  CLI::Option* stopping_option_ = nullptr;
};

void say_plan(const Summarizer& summarizer, std::int64_t documents) {
  std::size_t bytes = 0, caches = 0;
  for (const MemoryRow& row : summarizer.memory()) {
    bytes += row.bytes;
    if (row.what.starts_with("keys and values")) caches += row.bytes;
  }
  log_info(fmt::format("memory: {}, of which keys and values of {} documents at once {}", format_bytes(bytes),
                       documents, format_bytes(caches)));
}

void say_tally(const std::string& input, const SummaryTally& tally, std::int64_t length) {
  if (tally.cut > 0) {
    log_warning(fmt::format("{}: {} of {} documents are longer than {} tokens and were cut", input, tally.cut,
                            tally.documents, length));
  }
  if (tally.unended > 0) {
    log_info(fmt::format("{} of {} summaries were cut at --max-tokens", tally.unended, tally.documents));
  }
  say_skipped(tally.skipped, tally.first_skipped);
}

}  // namespace

int cmd_text_summarize_predict(int argc, char** argv) {
  Verb verb(
      "text summarize predict", "Write summaries of documents with a BigBird-Pegasus model.",
      {"bigbird text summarize predict -m bigbird-pegasus-large-arxiv papers.jsonl -o summaries.jsonl",
       "bigbird text summarize predict -m bigbird-pegasus-large-arxiv folder_of_txt --beams 1 -O tsv",
       "zcat papers.jsonl.gz | bigbird text summarize predict -m model - --format jsonl > summaries.jsonl"});
  SummarizerOptions options;
  SummaryPredictionOptions prediction;
  prediction.output = "-";
  std::string form = "jsonl";
  bool blanks = false;
  SummaryDataOptions data;
  SearchChoices choices;
  WorkOptions work;
  CLI::App& app = verb.app();
  app.add_option("-m,--model", options.model, "Model folder with a decoder")->required()->type_name("MODEL");
  app.add_option(
         "IN", prediction.input,
         "Documents: JSON Lines, CSV, TSV, lines (.txt, a document a line), a folder of .txt, or - for stdin")
      ->required()
      ->type_name("FILE");
  app.add_option("-o,--output", prediction.output, "Where the summaries go; - is stdout")->type_name("FILE");
  app.add_option(
      "-O,--output-type", form,
      "jsonl; tsv; lines, which `text summarize evaluate --predictions` takes in the order of the data");
  app.add_option("--length", options.length,
                 "Most tokens of a document, its end included; 0 is what the model has positions for");
  app.add_flag(
      "--newlines-are-blanks", blanks,
      "Leave newlines to the tokenizer, as transformers does; else the model reads and writes \"<n>\"");
  app.add_option("--documents", options.documents, "Documents at once; more take more memory")
      ->check(CLI::Range(1, 4096));
  choices.add(app);
  data.add(verb, SummaryParts::document);
  work.add(verb, "documents", "merge");
  work.add_chunk(verb, "Documents", documents_of_a_chunk);
  verb.add_threads();
  verb.add_device();
  verb.add_precision();
  if (!verb.parse(argc, argv)) return 0;
  options.line_marks = !blanks;
  prediction.pairs = data.pairs();
  prediction.form = parse_name(summary_form_names, form, "output type");
  prediction.work = work.work(verb);
  const std::unique_ptr<kernels::Backend> backend = verb.make_backend();
  prediction.precision = backend->precision();
  Summarizer summarizer(options, *backend);
  choices.apply(summarizer.search());
  say_plan(summarizer, options.documents);
  summarizer.prepare();
  if (verb.provenance()) {
    Provenance provenance{bigbird_version(), verb.command(), std::nullopt, "", {}};
    provenance.inputs = {{"model", options.model, summarizer.folder().weights_digest()}};
    prediction.comments = provenance_lines(provenance);
  }
  const SummaryTally tally = predict_summaries(prediction, summarizer);
  say_tally(prediction.input, tally, summarizer.length());
  verb.set_throughput(static_cast<double>(tally.tokens), "tokens");
  return 0;
}

}  // namespace bigbird::apps
