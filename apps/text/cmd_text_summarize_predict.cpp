// `bigbird text summarize predict`: summaries of documents by a model with a decoder.
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "apps/command_line.h"
#include "apps/summary_options.h"
#include "apps/work_options.h"
#include "lib/core/names.h"
#include "lib/io/files/provenance.h"
#include "lib/text/summarize/predict.h"

namespace bigbird::apps {
namespace {

constexpr std::array<std::pair<SummaryForm, const char*>, 3> summary_form_names{
    {{SummaryForm::jsonl, "jsonl"}, {SummaryForm::tsv, "tsv"}, {SummaryForm::lines, "lines"}}};

}  // namespace

int cmd_text_summarize_predict(int argc, char** argv) {
  Verb verb(
      "text summarize predict", "Write summaries of documents with a BigBird-Pegasus or LED model.",
      {"bigbird text summarize predict -m hf:google/bigbird-pegasus-large-arxiv papers.jsonl -o summaries.jsonl",
       "bigbird text summarize predict -m hf:google/bigbird-pegasus-large-arxiv folder_of_txt --beams 1 -O tsv",
       "bigbird text summarize predict -m model papers.jsonl --decoding sample --top-p 0.9 --seed 7",
       "zcat papers.jsonl.gz | bigbird text summarize predict -m model - --format jsonl > summaries.jsonl"});
  std::string model;
  SummaryPredictionOptions prediction;
  prediction.output = "-";
  std::string form = "jsonl";
  SummaryDataOptions data;
  SearchOptionsOfVerb search;
  WorkOptions work;
  verb.add_required("-m,--model MODEL", model, "Model folder with a decoder");
  verb.add_required(
      "IN FILE", prediction.input,
      "Documents: JSON Lines, CSV, TSV, lines (.txt, a document a line), a folder of .txt, or - for stdin");
  verb.add_option("-o,--output FILE", prediction.output, "File of the summaries; - is stdout");
  verb.add_option(
          "-O,--output-type", form,
          "Type of the output; lines are what `text summarize evaluate --predictions` takes, in the order "
          "of the data")
      ->type_name(choices(summary_form_names));
  search.add(verb);
  data.add(verb, SummaryParts::document);
  work.add(verb);
  work.add_chunk(verb, "documents", documents_of_a_chunk);
  if (!verb.parse(argc, argv)) return 0;
  SummarizerOptions options = search.summarizer(verb);
  options.model = model;
  prediction.pairs = data.pairs();
  prediction.form = parse_name(summary_form_names, form, "output type");
  prediction.work = work.work(verb);
  const auto backend = verb.make_backend({model});
  prediction.precision = backend->precision();
  Summarizer summarizer(options, *backend);
  search.apply(verb, summarizer.search());
  if (verb.provenance()) {
    Provenance provenance = verb.made_from("", {{"model", model, summarizer.folder().weights_digest()}});
    provenance.seed = seed_of(summarizer.search());
    prediction.comments = verb.head_of(prediction.output, provenance);
  }
  const SummaryTally tally = predict_summaries(prediction, summarizer);
  say_tally(prediction.input, tally, summarizer.length());
  verb.set_throughput(static_cast<double>(tally.tokens), "tokens");
  return 0;
}

}  // namespace bigbird::apps
