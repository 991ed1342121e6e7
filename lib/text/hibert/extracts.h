// Extracts of documents by a HIBERT that learned which sentences a summary takes, in the order of the input:
// what `text hibert predict` stands on. An extract is a function of the document and the model alone: not of
// batch, threads or neighbours. And how near extracts come to summaries, next to the first sentences and the
// best that picking finds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/metrics/rouge.h"
#include "lib/model_folder/model_folder.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/text/hibert/documents.h"
#include "lib/text/summarize/predict.h"

namespace bigbird {

class Model;

inline constexpr std::int64_t usual_extract = 3;  // sentences, where no validation chose another number
inline constexpr std::int64_t most_extracted = 10;

// extraction.json of a model folder: how many sentences its validation chose.
std::int64_t read_extract_size(const std::string& folder);
void write_extract_size(const std::string& folder, std::int64_t sentences, const std::string& chosen_on);

struct ExtractorOptions {
  std::string model;            // folder of HIBERT with labels of sentences
  std::int64_t sentences = 0;   // of an extract; 0: as the folder says, else usual_extract
  std::int64_t documents = 16;  // that are read at once
};

// A document with what the model finds of its sentences.
struct RankedDocument {
  std::vector<std::string> sentences;  // that the model reads
  std::vector<std::size_t> numbers;    // of each among all of the document
  std::vector<double> probabilities;   // that it belongs to the extract
  bool cut = false;                    // it had more

  // The `count` most probable, of equal ones the first, ascending.
  std::vector<std::size_t> best(std::int64_t count) const;
};

class Extractor {
 public:
  // Error{bad_input}: as ModelFolder; a model that is no HIBERT, or whose sentences have no labels.
  // Error{usage} for sentences outside of 1 .. those that the model takes.
  Extractor(const ExtractorOptions& options, kernels::Backend& backend);
  ~Extractor();

  const ModelFolder& folder() const { return folder_; }
  std::int64_t sentences() const { return options_.sentences; }
  // Logs the memory that it takes, and loads the weights. Error{environment} where there is less memory.
  void prepare();
  // Of several texts, in their order; without probabilities of a text without a sentence.
  std::vector<RankedDocument> rank(const std::vector<std::string>& texts);

 private:
  BatchLimits limits(std::int64_t documents) const;
  void run(std::vector<RankedDocument*>& documents, std::vector<DocumentSentences>& encoded);

  ModelFolder folder_;
  ExtractorOptions options_;
  kernels::Backend& backend_;
  std::unique_ptr<Model> model_;
};

// Of the documents that were run now; `tokens` are the sentences that were taken. Error{bad_input}: as
// SummaryPairs and ChunkedOutputs; a document without a sentence (`skip_bad` counts it); no documents.
SummaryTally predict_extracts(const SummaryPredictionOptions& options, Extractor& extractor);

struct ExtractScores {
  std::vector<std::string> types;  // of ROUGE
  std::size_t documents = 0;
  std::int64_t sentences = 0;                       // of an extract, of the model and of the first ones
  std::vector<RougeSummary> model, lead, oracle;    // by type
  std::vector<std::array<double, 3>> by_sentences;  // [1 ..] the model's mean F1 of rouge1, rouge2, rougeLsum
  std::uint64_t skipped = 0;
  std::string first_skipped;

  // The number of sentences whose three F1 have the largest sum, of equal ones the smallest.
  std::int64_t best_sentences() const;
};
struct ExtractEvaluationOptions {
  std::string data;  // documents and summaries
  SummaryPairOptions pairs;
  std::size_t draws = 1000;  // of the intervals
  std::uint32_t bootstrap_seed = 1;
};
// ROUGE as evaluate_summaries() has it: of the model's extracts, of the first usual_extract sentences, and of
// the extract of extract_labels(). With `choose` for all numbers of sentences up to most_extracted, and
// `sentences` is the best of them.
ExtractScores evaluate_extracts(const ExtractEvaluationOptions& options, Extractor& extractor, bool choose);

// A line for each of model, lead and oracle.
std::vector<std::string> extract_score_lines(const ExtractScores& scores);
// "rouge": {"model": {type: {precision, recall, f1, low, mid, high}}, "lead": .., "oracle": ..}, and counts.
std::string extract_scores_json(const ExtractScores& scores, const std::string& provenance_json);

}  // namespace bigbird
