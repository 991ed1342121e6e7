// Classes of words under a fine-tuned model, streamed in order: what `text tag predict` and `evaluate` stand
// on. What comes out of a sentence is a function of the sentence and the model: not of batch, threads or
// neighbours. And what `text tag predict` does: a file of sentences in, words with their classes out, in the
// order of the file, in chunks (lib/parts/chunked_outputs.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/sequence_runner.h"
#include "lib/io/text/tagged_sentences.h"
#include "lib/model_folder/model_folder.h"
#include "lib/parts/chunked_outputs.h"
#include "lib/text/text_settings.h"

namespace bigbird {

struct TaggerOptions {
  std::string model;        // folder with a head that gives classes to tokens, and a tokenizer of text
  std::int64_t length = 0;  // most tokens of a window; 0: what the model was trained with, else what it takes
  std::optional<std::size_t> overlap;  // pieces; nothing: what it was trained with, else usual_word_overlap()
  BatchSize batch;
};

struct WordClass {
  std::string label;  // of a word without a piece O where there is such a class, else the first class
  double score = 0;   // softmax of the label; 0 of a word without a piece
};

// What a reader should know of the sentences of a file.
struct TagTally {
  std::uint64_t sentences = 0, words = 0;
  std::uint64_t in_windows = 0;     // sentences
  std::uint64_t without_piece = 0;  // words
  UnknownTally unknown;

  void add(const TagTally& more);
};

class Tagger {
 public:
  // Error{bad_input}: as ModelFolder, for a model of DNA or without the head, for text.json of another task.
  // Error{usage}: a length without room, an overlap beyond it.
  Tagger(const TaggerOptions& options, kernels::Backend& backend);

  const ModelFolder& folder() const { return folder_; }
  const TextSettings& settings() const { return settings_; }
  std::int64_t length() const { return length_; }
  std::size_t overlap() const { return overlap_; }
  const std::vector<std::string>& names() const { return names_; }

  // Sentences, encoded on all threads. `done` is called once for each, in their order, now or in a later
  // call. Error{runtime} where a logit is not finite.
  void add(std::vector<TaggedSentence> sentences,
           const std::function<void(const TaggedSentence&, const std::vector<WordClass>&)>& done);
  void finish();
  const TagTally& tally() const { return tally_; }

 private:
  struct Open;
  ModelFolder folder_;
  TextSettings settings_;
  std::int64_t length_ = 0;
  std::size_t room_ = 0, overlap_ = 0;
  std::string before_;
  std::vector<std::string> names_;
  TagTally tally_;
  std::unique_ptr<SequenceRunner> runner_;
};

// Warnings of what the tally counts.
void say_tally(const std::string& path, const TagTally& tally, std::int64_t length);

enum class TagForm { conll, jsonl };

// A sentence as it is written. conll: a line "word TAB label TAB score" for each word, and an empty one.
// jsonl: an object with id, tokens, labels, scores and, of labels that tell them (entities.h), entities as a
// list of {type, start, end, text}, places in words, half-open.
std::string tagged_text(const TaggedSentence& sentence, const std::vector<WordClass>& classes, TagForm form);

struct TagPredictionOptions {
  std::string input;
  TaggedSentenceOptions sentences;
  std::string output;  // "-": stdout
  TagForm form = TagForm::conll;
  std::vector<std::string> comments;  // lines of provenance without "##"; conll alone has room for them
  kernels::Precision precision = kernels::Precision::fp32;
  ChunkedWork work;
};

// Of the sentences that were run now. Error{bad_input} as TaggedSentences, ChunkedOutputs, and for an input
// without sentences.
TagTally predict_tags(const TagPredictionOptions& options, Tagger& tagger);

}  // namespace bigbird
