// See evaluate.h.
#include "lib/text/tag/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/progress.h"
#include "lib/io/tables/tsv.h"

namespace bigbird {
namespace {

constexpr std::size_t evaluated_at_once = 256;

// The most frequent label of each word, and of all.
class FrequentLabels {
 public:
  FrequentLabels(const std::string& path, const TaggedSentenceOptions& options) {
    TaggedSentences source(path, options);
    std::unordered_map<std::string, std::map<std::string, std::uint64_t>> of_words;
    std::map<std::string, std::uint64_t> all;
    TaggedSentence sentence;
    while (source.next(sentence)) {
      for (std::size_t i = 0; i < sentence.words.size(); ++i) {
        ++of_words[sentence.words[i]][sentence.labels[i]];
        ++all[sentence.labels[i]];
      }
    }
    if (all.empty()) throw_bad_input(path + ": there are no words", "give a sentence with labels at least");
    for (const auto& [word, counts] : of_words) of_word_[word] = most(counts);
    usual_ = most(all);
  }

  std::vector<std::string> of(const std::vector<std::string>& words) const {
    std::vector<std::string> labels;
    for (const std::string& word : words) {
      const auto found = of_word_.find(word);
      labels.push_back(found == of_word_.end() ? usual_ : found->second);
    }
    return labels;
  }

 private:
  // Of equals the first by name.
  static std::string most(const std::map<std::string, std::uint64_t>& counts) {
    return std::max_element(counts.begin(), counts.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  std::unordered_map<std::string, std::string> of_word_;
  std::string usual_;
};

TaggedSentenceOptions with_labels(TaggedSentenceOptions options) {
  options.labels = Labels::required;
  return options;
}

void add_baseline(const std::optional<FrequentLabels>& frequent, const TaggedSentence& gold,
                  TagEvaluation& evaluation) {
  if (!frequent) return;
  if (!evaluation.baseline) evaluation.baseline.emplace();
  evaluation.baseline->add(gold.labels, frequent->of(gold.words));
}

std::optional<FrequentLabels> frequent_labels(const TagEvaluationOptions& options) {
  if (options.baseline_from.empty()) return std::nullopt;
  TaggedSentenceOptions reading = with_labels(options.sentences);
  return FrequentLabels(options.baseline_from, reading);
}

void require_words(const TagEvaluation& evaluation, const std::string& path) {
  if (evaluation.scored.words() == 0)
    throw_bad_input(path + ": there are no words", "give a sentence with labels at least");
}

using TagJson = nlohmann::ordered_json;

TagJson word_score_json(const EntityScore& score) {
  return {{"precision", score.precision()},
          {"recall", score.recall()},
          {"f1", score.f1()},
          {"support", score.gold},
          {"predicted", score.predicted}};
}

TagJson word_scores_json(const std::map<std::string, EntityScore>& scores) {
  TagJson json = TagJson::object();
  for (const auto& [name, score] : scores) json[name] = word_score_json(score);
  return json;
}

TagJson word_metrics_json(const ScoredTags& scored, bool short_form) {
  TagJson json;
  json["accuracy"] = scored.accuracy();
  const auto entities = scored.entities();
  if (entities) {
    const EntityScore all = entities->all();
    json["precision"] = all.precision();
    json["recall"] = all.recall();
    json["f1"] = all.f1();
  }
  json["macro_f1_of_labels"] = scored.macro_f1();
  if (short_form) return json;
  if (entities) {
    json["macro_f1"] = entities->macro_f1();
    json["weighted_f1"] = entities->weighted_f1();
    json["entities"] = {{"gold", entities->all().gold},
                        {"predicted", entities->all().predicted},
                        {"correct", entities->all().correct}};
    json["per_type"] = word_scores_json(entities->types());
  }
  json["majority"] = {{"label", scored.majority().first}, {"fraction", scored.majority().second}};
  json["per_label"] = word_scores_json(scored.labels());
  return json;
}

}  // namespace

void ScoredTags::add(const std::vector<std::string>& gold, const std::vector<std::string>& predicted) {
  ++sentences_;
  words_ += gold.size();
  for (std::size_t i = 0; i < gold.size(); ++i) {
    ++labels_[gold[i]].gold;
    ++labels_[predicted[i]].predicted;
    if (gold[i] != predicted[i]) continue;
    ++labels_[gold[i]].correct;
    ++right_;
  }
  entities_.add(gold, predicted);
}

double ScoredTags::accuracy() const {
  return words_ == 0 ? 0.0 : static_cast<double>(right_) / static_cast<double>(words_);
}

double ScoredTags::macro_f1() const {
  double sum = 0;
  for (const auto& [label, score] : labels_) sum += score.f1();
  return labels_.empty() ? 0.0 : sum / static_cast<double>(labels_.size());
}

std::pair<std::string, double> ScoredTags::majority() const {
  const auto most = std::max_element(labels_.begin(), labels_.end(), [](const auto& a, const auto& b) {
    return a.second.gold < b.second.gold;
  });
  if (most == labels_.end()) return {};
  return {most->first, static_cast<double>(most->second.gold) / static_cast<double>(words_)};
}

std::optional<EntityScores> ScoredTags::entities() const {
  std::vector<std::string> names;
  for (const auto& [label, score] : labels_) names.push_back(label);
  return are_entity_labels(names) ? std::optional(entities_) : std::nullopt;
}

TagEvaluation evaluate_tags(const TagEvaluationOptions& options, Tagger& tagger) {
  TaggedSentences source(options.data, with_labels(options.sentences));
  const std::optional<FrequentLabels> frequent = frequent_labels(options);
  TagEvaluation evaluation;
  Progress progress("text tag evaluate", 0, "sentences");
  std::vector<TaggedSentence> sentences;
  for (bool more = true; more;) {
    throw_if_cancelled();
    TaggedSentence sentence;
    sentences.clear();
    while (sentences.size() < evaluated_at_once && (more = source.next(sentence)))
      sentences.push_back(std::move(sentence));
    progress.advance(sentences.size());
    tagger.add(std::move(sentences), [&](const TaggedSentence& gold, const std::vector<WordClass>& classes) {
      std::vector<std::string> predicted;
      for (const WordClass& one : classes) predicted.push_back(one.label);
      evaluation.scored.add(gold.labels, predicted);
      add_baseline(frequent, gold, evaluation);
    });
  }
  tagger.finish();
  evaluation.tally = tagger.tally();
  require_words(evaluation, options.data);
  return evaluation;
}

TagEvaluation evaluate_tags(const TagEvaluationOptions& options, const std::string& predictions) {
  TaggedSentences source(options.data, with_labels(options.sentences));
  TaggedSentenceOptions written;  // as tagged_text() has it
  const bool json = tagged_format_of(predictions) == TaggedFormat::jsonl;
  written.format = json ? TaggedFormat::jsonl : TaggedFormat::conll;
  if (!json) written.label_column = "2";
  TaggedSentences made(predictions, written);
  const std::optional<FrequentLabels> frequent = frequent_labels(options);
  TagEvaluation evaluation;
  TaggedSentence gold, predicted;
  while (source.next(gold)) {
    if (gold.words.empty() && !json) continue;  // which columns cannot have
    if (!made.next(predicted)) {
      throw_bad_input(fmt::format("{}: it ends before the sentence at {}", predictions, gold.place),
                      "give the predictions of these sentences");
    }
    if (predicted.words != gold.words) {
      throw_bad_input(fmt::format("{}: other words than the sentence at {}", predicted.place, gold.place),
                      "give the predictions of these sentences");
    }
    evaluation.scored.add(gold.labels, predicted.labels);
    add_baseline(frequent, gold, evaluation);
  }
  if (made.next(predicted))
    throw_bad_input(predicted.place + ": a sentence more than the data have",
                    "give the predictions of these sentences");
  require_words(evaluation, options.data);
  return evaluation;
}

std::string tag_metrics_json(const TagEvaluation& evaluation, const std::string& provenance_json) {
  TagJson json;
  json["sentences"] = evaluation.scored.sentences();
  json["words"] = evaluation.scored.words();
  json.update(word_metrics_json(evaluation.scored, false));
  if (evaluation.baseline) {
    TagJson baseline = word_metrics_json(*evaluation.baseline, true);
    json["baseline"] = {{"most_frequent_label_of_each_word", baseline}};
  }
  if (evaluation.tally.sentences > 0) {
    json["read_in_windows"] = evaluation.tally.in_windows;
    json["words_without_piece"] = evaluation.tally.without_piece;
  }
  if (!provenance_json.empty()) json["provenance"] = TagJson::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

std::string tag_table_tsv(const TagEvaluation& evaluation) {
  const auto entities = evaluation.scored.entities();
  std::string table = "#type\tprecision\trecall\tf1\tsupport\tpredicted\n";
  for (const auto& [name, score] : entities ? entities->types() : evaluation.scored.labels()) {
    table += fmt::format("{}\t{:.6g}\t{:.6g}\t{:.6g}\t{}\t{}\n", escape_controls(name), score.precision(),
                         score.recall(), score.f1(), score.gold, score.predicted);
  }
  return table;
}

}  // namespace bigbird
