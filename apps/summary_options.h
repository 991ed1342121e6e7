// What the verbs on documents and summaries ask in the same words: of the data, of label smoothing, of the
// search and of its model.
#pragma once

#include <cstdint>
#include <string>

#include "apps/command_line.h"
#include "apps/search_options.h"
#include "lib/io/text/summary_pairs.h"
#include "lib/model/label_smoothing.h"
#include "lib/text/summarize/predict.h"

namespace bigbird::apps {

// Label smoothing, alike in every verb that takes the loss of a decoder.
class SmoothingOptions {
 public:
  // `smoothing` is referred to and has the default.
  void add(Verb& verb, LabelSmoothing& smoothing);
  // After parsing. Error{usage} for a form that does not exist.
  void apply(LabelSmoothing& smoothing) const;

 private:
  std::string form_;
};

// --format, --quoting, --document-field, --summary-field, --id-field, --list-of-summaries, --skip-bad,
// --replace-invalid: those that the parts need. Bound by add(); read after parsing.
class SummaryDataOptions {
 public:
  void add(Verb& verb, SummaryParts parts);
  // Error{usage} for a format that there is not.
  SummaryPairOptions pairs() const;

 private:
  SummaryPairOptions pairs_;
  std::string format_ = "auto";
  std::string quoting_ = "auto";
};

// A warning where records were passed over.
void say_skipped(std::uint64_t skipped, const std::string& first);

// Of `text summarize predict`, where --chunk-size is not given.
inline constexpr std::uint64_t documents_of_a_chunk = 8;

// What the command line changes of a folder's search, and how documents are read and run. Bound by add().
class SearchOptionsOfVerb {
 public:
  // --length, --newlines-are-blanks, --batch, the search, --seed, threads, device and precision.
  void add(Verb& verb);
  // After parsing, but for the model.
  SummarizerOptions summarizer(const Verb& verb) const;
  // Errors as SearchOptionWords::apply().
  void apply(const Verb& verb, SearchOptions& search) const { search_.apply(verb, search); }

 private:
  SummarizerOptions summarizer_;
  bool blanks_ = false;
  SearchOptionWords search_;
};

// What was cut, and what was passed over.
void say_tally(const std::string& input, const SummaryTally& tally, std::int64_t length);

}  // namespace bigbird::apps
