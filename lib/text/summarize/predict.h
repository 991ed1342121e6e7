// Summaries of documents by a model with a decoder, in order: what `text summarize predict` stands on. A
// summary is a function of the document, the model and the search alone: not of batch, threads or neighbours;
// one that is drawn at random, of the document's number too. And what the verb does: documents in, JSON Lines
// or a table of their summaries out, in the order of the input, in chunks (lib/parts/chunked_outputs.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/decoder_steps.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/model/network/model_limits.h"
#include "lib/model_folder/model_folder.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/text/search/token_search.h"
#include "lib/text/summarize/encoded_pair.h"

namespace bigbird {

class Model;

struct SummarizerOptions {
  std::string model;  // folder with a decoder and a tokenizer of text
  // Most tokens of a document, its end included; 0: as in training, or all positions of the model.
  std::int64_t length = 0;
  // Whether newlines are "<n>" for the model (encoded_pair.h) or blanks; nothing: as in training, else marks.
  std::optional<bool> line_marks;
  std::int64_t documents = 2;  // that are summarized at once
};

struct WrittenSummary {
  std::string text;
  std::vector<std::int32_t> tokens;
  double score = 0;    // of a beam search
  bool ended = false;  // the model wrote its end; else the greatest length cut it
};

class Summarizer {
 public:
  // Error{bad_input}: as ModelFolder; a model without a decoder, or whose tokenizer is of DNA; a text.json of
  // another task; a generation_config.json that cannot be (generation_defaults). Error{usage}: a length
  // below 2 or beyond the positions.
  Summarizer(const SummarizerOptions& options, kernels::Backend& backend);
  ~Summarizer();

  const ModelFolder& folder() const { return folder_; }
  std::int64_t length() const { return length_; }
  bool line_marks() const { return encoding_.line_marks; }
  // The folder's; to be changed before the first add().
  SearchOptions& search() { return search_; }

  // Logs the memory that it takes, row by row, and loads the weights. Error{environment} where there is less
  // memory, with sizes that would fit. Error{usage} for a search that cannot be (make_token_search), or
  // beyond the positions.
  void prepare();

  // Safe to call from many threads at once.
  EncodedDocument encode(std::string_view text) const;
  // `done` is called once, in the order of the calls of add, now or later. Not for a blank document. `index`
  // is the document's among all of the input: what is drawn at random for it depends on it.
  void add(EncodedDocument document, std::uint64_t index, std::function<void(const WrittenSummary&)> done);
  void finish();

 private:
  struct Pending {
    EncodedDocument document;
    std::uint64_t index = 0;
    std::function<void(const WrittenSummary&)> done;
  };

  // What memory depends on beside the model.
  struct Sizes {
    std::int64_t documents = 0, length = 0, beams = 0;
  };

  Sizes sizes() const { return {options_.documents, length_, search_.beams}; }
  // What such sizes take: the model, and the decoder's caches for this search.
  std::vector<MemoryRow> memory(const Sizes& sizes) const;
  void require_memory() const;
  BatchLimits limits(const Sizes& sizes) const;
  DecoderLimits decoder_limits(const Sizes& sizes) const;
  void run();
  WrittenSummary written(const FoundSequence& found) const;

  ModelFolder folder_;
  SummarizerOptions options_;
  kernels::Backend& backend_;
  std::int64_t length_ = 0;
  PairEncoding encoding_;
  SearchOptions search_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<DecoderSteps> steps_;
  std::vector<Pending> pending_;
};

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
