// Promoter scores; see predict.h.
#include "lib/genomics/promoter/predict.h"

#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/progress.h"

namespace bigbird {
namespace {

constexpr std::size_t windows_per_chunk = 64;  // encoded at the same time by all threads

struct EncodedPromoter {
  Window window;
  bool scored = false;
  EncodedSequence sequence;
};

}  // namespace

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

LabelledPredictions predict_labelled(SequenceScorer& scorer, const LabelledSource& data, double max_n) {
  require_classes(scorer);
  LabelledPredictions predictions;
  predictions.classes = classes_of(scorer);
  predictions.negatives = read_promoter_facts(data).negatives;
  const std::unique_ptr<WindowReader> windows = read_labelled_windows(data);
  predict_promoters(
      scorer, *windows, max_n, [&](const Window& window, std::span<const double> probabilities) {
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
      });
  return predictions;
}

}  // namespace bigbird
