// Promoter scores; see predict.h.
#include "lib/genomics/promoter/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/json_text.h"
#include "lib/core/log.h"
#include "lib/core/ordered_map.h"
#include "lib/core/progress.h"
#include "lib/genomics/promoter/promoter_baselines.h"
#include "lib/io/tables/tsv.h"
#include "lib/metrics/class_metrics.h"
#include "lib/metrics/metrics.h"

namespace bigbird {
namespace {

constexpr std::string_view negatives_key = "negatives=";

int class_below(std::string_view text, const std::string& where, std::size_t classes) {
  const std::int64_t label = parse_integer(class_of_label(text), where, "label");
  if (label >= 0 && static_cast<std::size_t>(label) < classes) return static_cast<int>(label);
  if (classes == 2) {
    throw_bad_input(fmt::format("{}: label '{}' is neither 0 nor 1", where, text),
                    "labels are 1 for promoters, else 0");
  }
  throw_bad_input(fmt::format("{}: label '{}' is none of the {} classes", where, text, classes));
}

// Windows that touch an excluded region are passed over.
class OtherWindows : public WindowReader {
 public:
  OtherWindows(WindowReader& windows, const ExcludedRegions& excluded, const std::string& path)
      : windows_(windows), excluded_(excluded), path_(path) {}

  bool next(Window& window) override {
    while (windows_.next(window)) {
      if (!excluded_.empty() && window.chrom == ".") {
        throw_bad_input(fmt::format("{}: example {} has no place", path_, window.id),
                        message("`exclude` needs the columns chrom, start and end"));
      }
      if (!excluded_.touch(window.chrom, window.begin, window.end)) return true;
      ++count_;
    }
    return false;
  }
  std::size_t count() const { return count_; }

 private:
  WindowReader& windows_;
  const ExcludedRegions& excluded_;
  const std::string& path_;
  std::size_t count_ = 0;
};

constexpr std::size_t windows_per_chunk = 64;  // encoded at the same time by all threads

struct EncodedPromoter {
  Window window;
  bool scored = false;
  EncodedSequence sequence;
};

}  // namespace

LabelledPredictions read_labelled_predictions(const std::string& path, const ExcludedRegions& excluded) {
  TsvReader table(path);
  LabelledPredictions predictions;
  std::vector<std::size_t> columns;
  if (table.has_column("score")) {
    columns.push_back(table.column("score"));
  } else {
    for (std::string name = "p0"; table.has_column(name); name = fmt::format("p{}", columns.size())) {
      columns.push_back(table.column(name));
    }
    predictions.classes = columns.size();
  }
  if (!table.has_column("label") || columns.empty() || predictions.classes < 2) {
    throw_bad_input(path + ": needs columns 'label' and 'score', or 'label', 'p0', 'p1' ...",
                    "bigbird promoter predict keeps the labels of a data set");
  }
  for (const std::string& comment : table.comments()) {
    if (comment.starts_with(negatives_key)) predictions.negatives = comment.substr(negatives_key.size());
  }
  const std::size_t label = table.column("label");
  std::array<std::size_t, 3> place{};
  if (!excluded.empty()) place = {table.column("chrom"), table.column("start"), table.column("end")};
  std::vector<std::string_view> fields;
  while (table.next(fields)) {
    if (!excluded.empty() &&
        excluded.touch(fields[place[0]], parse_integer(fields[place[1]], table.where(), "start"),
                       parse_integer(fields[place[2]], table.where(), "end"))) {
      ++predictions.excluded;
      continue;
    }
    const int known = class_below(fields[label], table.where(), predictions.classes);
    if (is_missing(fields[columns.front()])) {
      ++predictions.left_out;
      continue;
    }
    predictions.labels.push_back(known);
    for (const std::size_t column : columns) {
      predictions.scores.push_back(parse_number(fields[column], table.where(), "score"));
    }
  }
  if (predictions.labels.empty()) throw_bad_input(path + ": no predictions in it", "give at least one row");
  return predictions;
}

std::string evaluation_json(const LabelledPredictions& predictions, double threshold,
                            const std::string& provenance_json) {
  std::string text;
  if (predictions.classes == 2) {
    text = metrics_json(binary_metrics(predictions.labels, predictions.scores, threshold), "");
  } else {
    std::vector<int> predicted;
    const auto classes = static_cast<std::ptrdiff_t>(predictions.classes);
    for (auto row = predictions.scores.begin(); row != predictions.scores.end(); row += classes) {
      predicted.push_back(static_cast<int>(std::max_element(row, row + classes) - row));
    }
    text = class_metrics_json(class_metrics(predictions.labels, predicted, predictions.classes), "");
  }
  auto json = nlohmann::basic_json<OrderedMap>::parse(text);
  if (predictions.left_out > 0) json["left_out"] = predictions.left_out;
  if (predictions.excluded > 0) json["excluded"] = predictions.excluded;
  if (!predictions.negatives.empty()) json["negatives"] = predictions.negatives;
  if (!predictions.baselines.empty())
    json["baselines"] = nlohmann::basic_json<OrderedMap>::parse(predictions.baselines);
  if (!provenance_json.empty()) json["provenance"] = nlohmann::basic_json<OrderedMap>::parse(provenance_json);
  return json_text(json, 2) + "\n";
}

std::string negatives_comment(const std::string& kind) {
  return std::string(negatives_key) + kind;
}

void require_classes(const SequenceScorer& scorer) {
  const FinetunedModel& model = scorer.model();
  if (model.config().problem_type == ProblemType::single_label && model.config().num_labels >= 2) return;
  throw_bad_input(model.path() + ": not a promoter classifier", "make one with `bigbird promoter finetune`");
}

std::size_t classes_of(const SequenceScorer& scorer) {
  return static_cast<std::size_t>(scorer.model().config().num_labels);
}

std::int64_t predict_promoters(SequenceScorer& scorer, WindowReader& windows, double max_n,
                               const std::function<void(const Window&, std::span<const double>)>& row) {
  return predict_promoters(scorer, CalibratedScores(CalibrationMethod::none, scorer), windows, max_n, row);
}

std::int64_t predict_promoters(SequenceScorer& scorer, const CalibratedScores& calibrated,
                               WindowReader& windows, double max_n,
                               const std::function<void(const Window&, std::span<const double>)>& row) {
  std::int64_t count = 0, cut = 0, left_out = 0, of_other_length = 0;
  std::string first_of_other_length;
  // All windows that have no row yet, in order; those that are scored get their scores in the same order.
  std::deque<std::pair<Window, bool>> waiting;
  Progress progress("promoter predict", 0, "windows");
  const auto give = [&](std::span<const double> probabilities) {
    row(waiting.front().first, probabilities);
    waiting.pop_front();
    progress.advance(1);
  };
  const auto give_unscored = [&] {
    while (!waiting.empty() && !waiting.front().second) give({});
  };
  std::vector<double> probabilities(scorer.outputs());
  const auto give_scored = [&](const SequenceScores& scores) {
    give_unscored();
    for (std::size_t output = 0; output < probabilities.size(); ++output)
      probabilities[output] = calibrated.mean(scores, output);
    give(probabilities);
    give_unscored();
  };

  std::vector<EncodedPromoter> chunk(windows_per_chunk);
  for (bool more = true; more;) {
    throw_if_cancelled();
    std::size_t size = 0;
    while (size < windows_per_chunk && (more = windows.next(chunk[size].window))) ++size;
    kernels::parallel_for(size, [&](std::size_t i) {
      chunk[i].scored = share_of_n(chunk[i].window.sequence) <= max_n;
      if (chunk[i].scored) chunk[i].sequence = scorer.encode(chunk[i].window.sequence);
    });
    for (std::size_t i = 0; i < size; ++i) {
      EncodedPromoter& one = chunk[i];
      ++count;
      const auto length = static_cast<std::int64_t>(one.window.sequence.size());
      if (scorer.window() && length != scorer.window()->length && of_other_length++ == 0)
        first_of_other_length = fmt::format("{} of {} bp", text_for_message(one.window.id), length);
      left_out += one.scored ? 0 : 1;
      cut += one.scored && one.sequence.cut ? 1 : 0;
      waiting.emplace_back(std::move(one.window), one.scored);
      if (one.scored) scorer.add(std::move(one.sequence), give_scored);
    }
    give_unscored();
  }
  scorer.finish();
  give_unscored();
  if (of_other_length > 0) {
    log_warning(fmt::format(
        "{} of {} windows are not of the {} bp that {} was trained on, such as {}: their "
        "scores are of another kind",
        of_other_length, count, scorer.window()->length, scorer.model().path(), first_of_other_length));
  }
  if (left_out > 0) {
    log_warning(fmt::format("{} of {} windows have a larger fraction of N than {} and were not scored",
                            left_out, count, max_n));
  }
  if (cut > 0) {
    log_warning(
        fmt::format("{} of {} windows have more tokens than the model takes and were cut at their "
                    "right end",
                    cut, count));
  }
  return count;
}

LabelledPredictions predict_labelled(SequenceScorer& scorer, const LabelledSource& data, double max_n,
                                     const ExcludedRegions& excluded, BaselineEvaluation* baselines) {
  require_classes(scorer);
  LabelledPredictions predictions;
  predictions.classes = classes_of(scorer);
  predictions.negatives = read_promoter_facts(data).negatives;
  const std::unique_ptr<WindowReader> all = read_labelled_windows(data);
  OtherWindows windows(*all, excluded, data.path);
  predict_promoters(scorer, windows, max_n, [&](const Window& window, std::span<const double> probabilities) {
    if (static_cast<std::size_t>(window.label) >= predictions.classes) {
      throw_bad_input(fmt::format("{}: example {} has label {}, the model has {} classes", data.path,
                                  window.id, window.label, predictions.classes));
    }
    if (probabilities.empty()) {
      ++predictions.left_out;
      return;
    }
    predictions.labels.push_back(window.label);
    predictions.scores.insert(predictions.scores.end(), probabilities.begin(), probabilities.end());
    if (baselines != nullptr && predictions.classes == 2) baselines->add(window);
  });
  predictions.excluded = windows.count();
  if (baselines != nullptr) predictions.baselines = baselines->json();
  return predictions;
}

void require_two_classes(const SequenceScorer& scorer) {
  require_classes(scorer);
  if (classes_of(scorer) == 2) return;
  throw_bad_input(fmt::format("{}: has {} classes, calibrated are models of two", scorer.model().path(),
                              classes_of(scorer)),
                  "a promoter model has class 1 for promoters and class 0 for all else");
}

LabelledScores score_labelled_windows(SequenceScorer& scorer, const LabelledSource& source, double max_n) {
  LabelledScores side;
  const std::unique_ptr<WindowReader> windows = read_labelled_windows(source);
  predict_promoters(
      scorer, *windows, max_n, [&](const Window& window, std::span<const double> probabilities) {
        if (window.label > 1) {
          throw_bad_input(fmt::format("{}: example {} has label {}", source.path, window.id, window.label),
                          "labels are 1 for promoters, else 0");
        }
        if (probabilities.empty()) {
          ++side.left_out;
          return;
        }
        side.scores.push_back(probabilities.front());
        side.labels.push_back(static_cast<std::uint8_t>(window.label));
      });
  if (side.windows() == 0) throw_bad_input(source.path + ": no windows", "give windows of both classes");
  const auto positives = static_cast<std::size_t>(std::count(side.labels.begin(), side.labels.end(), 1));
  if (positives == 0 || positives == side.windows()) {
    throw_bad_input(fmt::format("{}: all {} windows are of class {}", source.path, side.windows(),
                                positives == 0 ? 0 : 1),
                    "calibration needs windows of both classes; of a FASTA, its negatives too");
  }
  return side;
}

CalibrationChoices promoter_choices(const LabelledScores& side, std::optional<double> prior,
                                    double train_prior) {
  const auto check = [](const char* name, double share) {
    if (share > 0 && share < 1) return;
    throw_usage(fmt::format("{} {}: must be between 0 and 1", setting_name(name), share));
  };
  check("train_prior", train_prior);
  if (prior) check("prior", *prior);
  const double there = static_cast<double>(std::count(side.labels.begin(), side.labels.end(), 1)) /
                       static_cast<double>(side.windows());
  const double wanted = prior.value_or(there);
  CalibrationChoices choices;
  choices.correction = {logit(wanted) - logit(train_prior), prior ? logit(wanted) - logit(there) : 0};
  choices.prior = prior;
  return choices;
}

}  // namespace bigbird
