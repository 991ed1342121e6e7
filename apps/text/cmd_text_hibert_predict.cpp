// `bigbird text hibert predict`: extracts of documents by a fine-tuned HIBERT.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/scoring_options.h"
#include "apps/summary_options.h"
#include "apps/work_options.h"
#include "lib/core/log.h"
#include "lib/core/names.h"
#include "lib/io/files/provenance.h"
#include "lib/text/hibert/extracts.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<SummaryForm, const char*>, 3> extract_form_names{
    {{SummaryForm::jsonl, "jsonl"}, {SummaryForm::tsv, "tsv"}, {SummaryForm::lines, "lines"}}};
constexpr std::uint64_t extracts_of_a_chunk = 64;

}  // namespace

int cmd_text_hibert_predict(int argc, char** argv) {
  Verb verb(
      "text hibert predict", "Extract summaries with a fine-tuned HIBERT.",
      {"bigbird text hibert predict -m run/final papers.jsonl -o extracts.jsonl",
       "bigbird text hibert predict -m run/final folder_of_txt --sentences 5 -O tsv",
       "zcat papers.jsonl.gz | bigbird text hibert predict -m run/final - --format jsonl > extracts.jsonl"});
  ExtractorOptions options;
  SummaryPredictionOptions prediction;
  prediction.output = "-";
  std::string form = "jsonl";
  SummaryDataOptions data;
  WorkOptions work;
  verb.add_required("-m,--model MODEL", options.model, "Model folder that text hibert finetune wrote");
  verb.add_required(
      "IN FILE", prediction.input,
      "Documents: JSON Lines, CSV, TSV, lines (.txt, a document a line), a folder of .txt, or - for stdin");
  verb.add_option("-o,--output FILE", prediction.output, "File of the extracts; - is stdout");
  verb.add_option("-O,--output-type", form,
                  "Type of the output; `text summarize evaluate --predictions` takes each")
      ->type_name(choices(extract_form_names));
  verb.with_word(verb.add_option("--sentences", options.sentences,
                                 "Sentences of an extract (default: what validation chose, else 3)"),
                 "auto", "0");
  verb.add_option("--batch", options.documents, "Documents at a time; more take more memory",
                  CLI::Range(1, 4096));
  data.add(verb, SummaryParts::document);
  add_machine(verb);
  work.add(verb);
  work.add_chunk(verb, "documents", extracts_of_a_chunk);
  if (!verb.parse(argc, argv)) return 0;
  prediction.pairs = data.pairs();
  prediction.form = parse_name(extract_form_names, form, "output type");
  prediction.work = work.work(verb);
  const auto backend = verb.make_backend({options.model});
  prediction.precision = backend->precision();
  Extractor extractor(options, *backend);
  if (verb.provenance()) {
    const Provenance provenance =
        verb.made_from("", {{"model", options.model, extractor.folder().weights_digest()}});
    prediction.comments = verb.head_of(prediction.output, provenance);
  }
  const SummaryTally tally = predict_extracts(prediction, extractor);
  if (tally.cut > 0) {
    log_warning(fmt::format("{}: {} of {} documents have over {} sentences and were cut", prediction.input,
                            tally.cut, tally.documents, extractor.folder().config().documents.sentences));
  }
  say_skipped(tally.skipped, tally.first_skipped);
  verb.set_throughput(static_cast<double>(tally.documents), "documents");
  return 0;
}

}  // namespace bigbird::apps
