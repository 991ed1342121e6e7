// ROUGE over a data set; see evaluate.h.
#include "lib/text/summarize/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/io/text/text_lines.h"
#include "lib/text/summarize/encoded_pair.h"

namespace bigbird {
namespace {

using Json = nlohmann::basic_json<OrderedMap>;

// Scored together, over all threads.
constexpr std::size_t documents_at_a_time = 256;

std::string with_line_breaks(std::string_view text, const std::string& mark) {
  return mark.empty() ? std::string(text) : replace_all(text, mark, "\n");
}

std::map<std::string, std::string> read_predictions(const SummaryEvaluationOptions& options) {
  SummaryPairOptions of_predictions;
  of_predictions.parts = SummaryParts::summary;
  of_predictions.summary_field = options.prediction_field;
  of_predictions.quoting = options.pairs.quoting;
  of_predictions.replace_invalid = options.pairs.replace_invalid;
  SummaryPairs file(options.predictions, of_predictions);
  std::map<std::string, std::string> predictions;
  for (SummaryPair pair; file.next(pair);)
    predictions.emplace(std::move(pair.id), with_line_breaks(pair.summaries.front(), options.line_break));
  return predictions;
}

struct ScoredDocument {
  std::vector<std::string> summaries;
  const std::string* prediction = nullptr;
  std::vector<RougeScore> scores;
  std::size_t summary_words = 0;
  std::size_t predicted_words = 0;
};

void score(std::vector<ScoredDocument>& documents, SummaryEvaluation& evaluation) {
  throw_if_cancelled();
  kernels::parallel_for(documents.size(), [&](std::size_t i) {
    ScoredDocument& document = documents[i];
    document.scores = rouge(document.summaries, *document.prediction, evaluation.rouge);
    document.summary_words = rouge_words(document.summaries.front(), false).size();
    document.predicted_words = rouge_words(*document.prediction, false).size();
  });
  for (ScoredDocument& document : documents) {
    evaluation.scores.push_back(std::move(document.scores));
    evaluation.summary_words.push_back(document.summary_words);
    evaluation.predicted_words.push_back(document.predicted_words);
  }
  documents.clear();
}

// Of another script all scores would be 0 without a word.
void warn_of_wordless(const std::string& path, const std::vector<std::size_t>& words) {
  const auto none = std::count(words.begin(), words.end(), std::size_t{0});
  if (none == 0) return;
  log_warning(fmt::format(
      "{}: {} of {} texts have no word that ROUGE counts (letters a to z and digits), and score 0", path,
      none, words.size()));
}

Json score_json(const RougeScore& score) {
  return {{"precision", score.precision}, {"recall", score.recall}, {"f1", score.f1}};
}

double mean(const std::vector<std::size_t>& counts) {
  return static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::size_t{0})) /
         static_cast<double>(counts.size());
}

}  // namespace

SummaryEvaluation evaluate_summaries(const SummaryEvaluationOptions& options) {
  SummaryEvaluation evaluation;
  evaluation.rouge = options.rouge;
  evaluation.draws = options.draws;
  evaluation.bootstrap_seed = options.bootstrap_seed;
  rouge("", "", options.rouge);  // types that there are not are found before anything is read
  const std::map<std::string, std::string> predictions = read_predictions(options);
  SummaryPairOptions of_data = options.pairs;
  of_data.parts = SummaryParts::summary;
  SummaryPairs data(options.data, of_data);
  std::vector<ScoredDocument> documents;
  std::int64_t missing = 0;
  std::string first_missing;
  for (SummaryPair pair; data.next(pair);) {
    const auto prediction = predictions.find(pair.id);
    if (prediction == predictions.end()) {
      if (missing++ == 0) first_missing = fmt::format("{}: id '{}'", pair.place, text_for_message(pair.id));
      continue;
    }
    ScoredDocument& document = documents.emplace_back();
    for (const std::string& summary : pair.summaries)
      document.summaries.push_back(with_line_breaks(summary, options.line_break));
    document.prediction = &prediction->second;
    evaluation.empty_summaries += is_blank(document.summaries.front()) ? 1 : 0;
    evaluation.empty_predictions += is_blank(*document.prediction) ? 1 : 0;
    evaluation.ids.push_back(std::move(pair.id));
    if (documents.size() == documents_at_a_time) score(documents, evaluation);
  }
  if (missing > 0 && !options.skip_missing) {
    throw_bad_input(fmt::format("{} has no prediction in {}{}", first_missing, options.predictions,
                                missing == 1 ? "" : fmt::format(", nor have {} more", missing - 1)),
                    "predictions are found by id, and rows without ids by their number from 0");
  }
  score(documents, evaluation);
  if (evaluation.scores.empty()) {
    throw_bad_input(fmt::format("{}: no summaries in it", options.data),
                    data.skipped() == 0 ? "is it the right file?" : data.first_skipped());
  }
  evaluation.unknown = static_cast<std::int64_t>(predictions.size() - evaluation.ids.size());
  evaluation.skipped = data.skipped() + static_cast<std::uint64_t>(missing);
  evaluation.first_skipped = data.skipped() > 0 ? data.first_skipped() : first_missing;
  evaluation.by_type = summarize_rouge(evaluation.scores, options.bootstrap_seed, options.draws);
  warn_of_wordless(options.data, evaluation.summary_words);
  warn_of_wordless(options.predictions, evaluation.predicted_words);
  return evaluation;
}

std::string summary_metrics_json(const SummaryEvaluation& evaluation, const std::string& provenance_json) {
  Json json;
  json["documents"] = evaluation.ids.size();
  for (std::size_t i = 0; i < evaluation.by_type.size(); ++i) {
    const RougeSummary& summary = evaluation.by_type[i];
    Json of_type = score_json(summary.mean);
    of_type["low"] = score_json(summary.low);
    of_type["mid"] = score_json(summary.mid);
    of_type["high"] = score_json(summary.high);
    json["rouge"][evaluation.rouge.types[i]] = std::move(of_type);
  }
  json["stemmed"] = evaluation.rouge.stem;
  json["bootstrap_draws"] = evaluation.draws;
  json["bootstrap_seed"] = evaluation.bootstrap_seed;
  json["mean_words"] = {{"summaries", mean(evaluation.summary_words)},
                        {"predictions", mean(evaluation.predicted_words)}};
  json["empty_summaries"] = evaluation.empty_summaries;
  json["empty_predictions"] = evaluation.empty_predictions;
  json["predictions_of_unknown_ids"] = evaluation.unknown;
  json["bad_records_skipped"] = evaluation.skipped;
  if (!provenance_json.empty()) json["provenance"] = Json::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

std::string summary_scores_tsv(const SummaryEvaluation& evaluation,
                               const std::vector<std::string>& provenance_lines) {
  std::string text;
  for (const std::string& line : provenance_lines) text += "##" + line + "\n";
  text += "id";
  for (const std::string& type : evaluation.rouge.types)
    text += fmt::format("\t{0}_precision\t{0}_recall\t{0}_f1", type);
  text += "\tsummary_words\tpredicted_words\n";
  for (std::size_t i = 0; i < evaluation.ids.size(); ++i) {
    text += evaluation.ids[i];
    for (const RougeScore& score : evaluation.scores[i])
      text += fmt::format("\t{}\t{}\t{}", score.precision, score.recall, score.f1);
    text += fmt::format("\t{}\t{}\n", evaluation.summary_words[i], evaluation.predicted_words[i]);
  }
  return text;
}

}  // namespace bigbird
