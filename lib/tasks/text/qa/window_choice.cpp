// The defaults of windows; see window_choice.h.
#include "lib/tasks/text/qa/window_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::int64_t usual_training_length = 4096;
constexpr std::int64_t usual_length_of_transformers = 384;
constexpr std::size_t usual_overlap = 1024;
constexpr std::size_t usual_question = 64;

std::int64_t checked_length(std::int64_t asked, const ModelConfig& config) {
  const std::int64_t most = config.max_position_embeddings;
  if (asked < 4 || asked > most) {
    throw_usage(fmt::format("`length` {}: must lie between 4 and the model's {} positions", asked, most),
                "the usual values are 384 to 4096");
  }
  return asked;
}

}  // namespace

WindowOptions chosen_windows(std::int64_t length, const WindowChoice& choice) {
  WindowOptions windows;
  windows.length = static_cast<std::size_t>(length);
  windows.overlap = choice.overlap.value_or(std::min(usual_overlap, windows.length / 3));
  windows.step = choice.step;
  windows.max_question =
      choice.max_question.value_or(std::max<std::size_t>(1, std::min(usual_question, windows.length / 4)));
  check_window_options(windows);
  return windows;
}

WindowOptions prediction_windows(std::int64_t length, const WindowChoice& choice,
                                 const TextSettings& settings) {
  WindowChoice filled = choice;
  if (length == settings.length) {
    if (!choice.overlap && !choice.step) {
      filled.overlap = settings.overlap;
      filled.step = settings.step;
    }
    if (!choice.max_question) filled.max_question = settings.max_question;
  }
  return chosen_windows(length, filled);
}

std::int64_t prediction_length(std::int64_t asked, const TextSettings& settings, const ModelConfig& config) {
  const std::int64_t most = config.max_position_embeddings;
  if (asked != 0) return checked_length(asked, config);
  return std::min(settings.length != 0 ? settings.length : usual_length_of_transformers, most);
}

std::int64_t training_length(std::int64_t asked, const ModelConfig& config) {
  if (asked != 0) return checked_length(asked, config);
  return std::min(usual_training_length, config.max_position_embeddings);
}

}  // namespace bigbird
