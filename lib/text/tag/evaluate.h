// lib/text/tag holds classes of words: named entities, parts of speech. Training, prediction, evaluation.
//
// How good the classes of words are: entities as seqeval counts them (lib/metrics/entities.h), and words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lib/io/text/tagged_sentences.h"
#include "lib/metrics/entities.h"
#include "lib/text/tag/predict.h"

namespace bigbird {

// Gold labels beside those that were predicted, sentence after sentence.
class ScoredTags {
 public:
  // As many labels as words on either side.
  void add(const std::vector<std::string>& gold, const std::vector<std::string>& predicted);

  std::uint64_t sentences() const { return sentences_; }
  std::uint64_t words() const { return words_; }
  double accuracy() const;
  double macro_f1() const;  // over the labels that occur on either side, O among them
  // The label of most words, and its fraction.
  std::pair<std::string, double> majority() const;
  // Nothing where the labels do not tell entities (are_entity_labels).
  std::optional<EntityScores> entities() const;
  const std::map<std::string, EntityScore>& labels() const { return labels_; }  // of words, not of entities

 private:
  std::uint64_t sentences_ = 0, words_ = 0, right_ = 0;
  std::map<std::string, EntityScore> labels_;
  EntityScores entities_;
};

struct TagEvaluation {
  ScoredTags scored;
  // The same of the cheapest tagger: each word has the label that it has most often in other sentences, a
  // word that is not there the label of most words.
  std::optional<ScoredTags> baseline;
  TagTally tally;  // of the model's; all 0 where predictions were read
};

struct TagEvaluationOptions {
  std::string data;
  TaggedSentenceOptions sentences;
  std::string baseline_from;  // sentences of the baseline; empty: none
};

// Gold sentences through the model. Error{bad_input} as TaggedSentences, and for no sentences.
TagEvaluation evaluate_tags(const TagEvaluationOptions& options, Tagger& tagger);
// Gold sentences beside what `text tag predict` wrote, in their order. Error{bad_input}: other words, fewer
// or more sentences.
TagEvaluation evaluate_tags(const TagEvaluationOptions& options, const std::string& predictions);

std::string tag_metrics_json(const TagEvaluation& evaluation, const std::string& provenance_json);
// "#type precision recall f1 support predicted", of entities where there are any, else of labels.
std::string tag_table_tsv(const TagEvaluation& evaluation);

}  // namespace bigbird
