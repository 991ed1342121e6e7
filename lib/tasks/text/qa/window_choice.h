// Lengths and windows of questions and their contexts: what may be said of them, and what holds when nobody
// says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "lib/model/config.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tasks/text/text_settings.h"

namespace bigbird {

// What may be said of windows; the rest follows from the length of an input.
struct WindowChoice {
  std::optional<std::size_t> overlap;       // default: a third of the length, at most 1024
  std::optional<std::size_t> step;          // instead of overlap
  std::optional<std::size_t> max_question;  // default: 64, at most a quarter of the length
};

// Windows of inputs of at most `length` tokens. So 4096 tokens overlap by 1024, and Hugging Face's 384 by its
// 128. Error{usage} as check_window_options.
WindowOptions chosen_windows(std::int64_t length, const WindowChoice& choice);

// Of prediction: what `choice` leaves open is as text.json names it, where the inputs have the length of
// training.
WindowOptions prediction_windows(std::int64_t length, const WindowChoice& choice,
                                 const TextSettings& settings);

// The length of inputs: `asked`, where it is not 0; else what text.json names; else, of a folder without
// text.json, Hugging Face's 384, at most what the model takes. Error{usage} for more than the model takes.
std::int64_t prediction_length(std::int64_t asked, const TextSettings& settings, const ModelConfig& config);
// Of training: `asked`, else 4096, at most what the model takes.
std::int64_t training_length(std::int64_t asked, const ModelConfig& config);

}  // namespace bigbird
