// lib/text/generate holds what goes on behind a prompt, of text or of DNA, by a model that reads left to
// right.
//
// What `text generate` does: prompts in, JSON Lines, a table, lines or FASTA of what goes on behind them out,
// in the order of the input, in chunks (lib/parts/chunked_outputs.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/text/generate/generator.h"

namespace bigbird {

struct Prompt {
  std::string id;
  std::string text;
  std::string place;  // for messages: "FILE:LINE", "chr1:101-200"
};

// Prompts one at a time, in order.
class PromptReader {
 public:
  virtual ~PromptReader() = default;
  // False at the end; `prompt` is overwritten.
  virtual bool next(Prompt& prompt) = 0;
  // Records that were passed over (skip_bad), and the first of them.
  virtual std::uint64_t skipped() const { return 0; }
  virtual std::string first_skipped() const { return {}; }
};

// One text, of the id "prompt".
std::unique_ptr<PromptReader> read_prompt(const std::string& text);
// A file of prompts, which are what it has for documents: errors as SummaryPairs.
std::unique_ptr<PromptReader> read_prompt_file(const std::string& path, const SummaryPairOptions& options);
// One region, of the id "chr1:101-200(+)"; strand - is its reverse complement. Errors as parse_region and
// Fasta::fetch.
std::unique_ptr<PromptReader> read_prompt_region(const std::string& fasta, const std::string& region,
                                                 char strand);
// Those of a BED, on their own strands; errors as read_bed_windows. A name in the BED stands behind the
// region, "chr1:101-200(-)_NAME".
std::unique_ptr<PromptReader> read_prompt_regions(const std::string& fasta, const std::string& bed);

enum class ContinuationForm {
  jsonl,  // id, sample (from 1), text, score, tokens
  tsv,    // the same
  lines,  // texts alone, newlines as blanks
  fasta   // ">ID_SAMPLE tokens=N", with a score of a beam search, and bases
};

struct GenerationOptions {
  std::string input;   // what is read, for messages and the identity of a run
  std::string output;  // "-": stdout
  ContinuationForm form = ContinuationForm::jsonl;
  std::vector<std::string> comments;  // of a table: lines of provenance without "##"
  kernels::Precision precision = kernels::Precision::fp32;
  ChunkedWork work;
};

struct GenerationTally {
  std::int64_t prompts = 0;
  std::int64_t continuations = 0;
  std::int64_t tokens = 0;    // of the continuations
  std::int64_t at_limit = 0;  // continuations that the model's positions cut
  std::uint64_t skipped = 0;
  std::string first_skipped;
};

// Of the prompts that were run now. Error{bad_input}: as the reader, ChunkedOutputs and Generator::encode; no
// prompts. Error{usage}: FASTA of a model of text.
GenerationTally generate_texts(const GenerationOptions& options, PromptReader& prompts, Generator& generator);

}  // namespace bigbird
