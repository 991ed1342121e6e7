// Documents in, JSON Lines or a table of their summaries out, in the order of the input: what `text summarize
// predict` does. In chunks (lib/parts/chunked_outputs.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lib/io/text/summary_pairs.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/text/summarize/summarizer.h"

namespace bigbird {

enum class SummaryForm { jsonl, tsv, lines };

struct SummaryPredictionOptions {
  std::string input;
  SummaryPairOptions pairs;
  std::string output;  // "-": stdout
  SummaryForm form = SummaryForm::jsonl;
  std::vector<std::string> comments;  // of a table: lines of provenance without "##"
  kernels::Precision precision = kernels::Precision::fp32;
  ChunkedWork work;
};

struct SummaryTally {
  std::int64_t documents = 0;
  std::int64_t cut = 0;       // longer than Summarizer::length()
  std::int64_t unended = 0;   // summaries that the greatest length cut
  std::int64_t tokens = 0;    // of the summaries
  std::uint64_t skipped = 0;  // bad records (skip_bad), documents without a token among them
  std::string first_skipped;
};

// Of the documents that were run now. Error{bad_input}: as SummaryPairs and ChunkedOutputs; a document
// without a token; no documents.
SummaryTally predict_summaries(const SummaryPredictionOptions& options, Summarizer& summarizer);

}  // namespace bigbird
