// See predict.h.
#include "lib/text/summarize/predict.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/progress.h"
#include "lib/io/files/sha256.h"
#include "lib/text/run_identity.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

std::string summary_row(SummaryForm form, const std::string& id, const WrittenSummary& summary) {
  if (form == SummaryForm::tsv) {
    return fmt::format("{}\t{}\t{:.6g}\t{}\n", escape_controls(id), escape_controls(summary.text),
                       summary.score, summary.tokens.size());
  }
  if (form == SummaryForm::lines) {
    std::string line = summary.text;
    for (char& letter : line) letter = letter == '\n' ? ' ' : letter;
    return line + "\n";
  }
  nlohmann::ordered_json json;
  json["id"] = id;
  json["summary"] = summary.text;
  json["score"] = summary.score;
  json["tokens"] = summary.tokens.size();
  return json_text(json) + "\n";
}

std::string head_of(const SummaryPredictionOptions& options) {
  if (options.form != SummaryForm::tsv) return {};
  std::string head;
  for (const std::string& comment : options.comments) head += "##" + comment + "\n";
  return head + "#id\tsummary\tscore\ttokens\n";
}

const char* kind_of(SummaryForm form) {
  return form == SummaryForm::tsv ? "tsv" : form == SummaryForm::lines ? "lines" : "jsonl";
}

void add_document(Sha256& digest, const SummaryPair& document) {
  add_to_digest(digest, document.id);
  add_to_digest(digest, document.document);
}

// All that a summary depends on beside the document and the model.
void add_search(RunIdentity& identity, const SearchOptions& search, const Summarizer& summarizer) {
  identity["length"] = std::to_string(summarizer.length());
  identity["line_marks"] = summarizer.line_marks() ? "true" : "false";
  identity["search"] = fmt::format(
      "decoding {}, beams {}, length_penalty {}, early_stopping {}, max_length {}, min_length {}, "
      "no_repeat_ngram {}, repetition_penalty {}, forced_end {}",
      static_cast<int>(search.decoding), search.beams, search.length_penalty,
      static_cast<int>(search.early_stopping), search.max_length, search.min_length, search.no_repeat_ngram,
      search.repetition_penalty, search.forced_end);
  const SearchOptions usual;
  if (search.start != usual.start || search.end != usual.end || !search.more_ends.empty() ||
      search.forced_begin) {
    identity["tokens of the search"] =
        fmt::format("start {}, end {},{}, forced begin {}", search.start, search.end,
                    fmt::join(search.more_ends, ","), search.forced_begin.value_or(-1));
  }
  if (search.decoding == Decoding::sample) {
    identity["sampling"] =
        fmt::format("temperature {}, top_k {}, top_p {}, seed {}", search.sampling.temperature,
                    search.sampling.top_k, search.sampling.top_p, search.sampling.seed);
  }
}

}  // namespace

SummaryTally predict_summaries(const SummaryPredictionOptions& options, Summarizer& summarizer) {
  SummaryPairs pairs(options.input, options.pairs);
  RunIdentity identity = model_identity(summarizer.folder(), TextSettings(), options.precision);
  add_search(identity, summarizer.search(), summarizer);
  ChunkedOutputs outputs({{options.output, kind_of(options.form), ChunkForm::lines, head_of(options)}},
                         identity, options.input, options.work);
  SummaryTally tally;
  if (outputs.are_whole()) return tally;
  summarizer.prepare();
  Progress progress("text summarize predict", 0, "documents");
  outputs.run<SummaryPair>(
      [&](SummaryPair& pair) { return pairs.next(pair); }, add_document,
      [&](const std::vector<SummaryPair>& chunk) {
        std::uint64_t number = pairs.rows() - chunk.size();
        for (const SummaryPair& pair : chunk) {
          const std::uint64_t index = number++;
          EncodedDocument document = summarizer.encode(pair.document);
          if (document.blank) {
            const std::string what = pair.place + ": a document without a word";
            if (!options.pairs.skip_bad)
              throw_bad_input(what,
                              message("take it out, or count and pass over such records with `skip_bad`"));
            if (tally.skipped++ == 0) tally.first_skipped = what;
            continue;
          }
          ++tally.documents;
          tally.cut += document.cut ? 1 : 0;
          summarizer.add(std::move(document), index, [&, id = pair.id](const WrittenSummary& summary) {
            tally.unended += summary.ended ? 0 : 1;
            tally.tokens += static_cast<std::int64_t>(summary.tokens.size());
            outputs.write(0, summary_row(options.form, id, summary));
            progress.advance(1);
          });
        }
        summarizer.finish();
      },
      {options.input + ": there are no documents", "give one at least"});
  if (pairs.skipped() > 0) {
    tally.first_skipped = pairs.first_skipped();
    tally.skipped += pairs.skipped();
  }
  return tally;
}

}  // namespace bigbird
