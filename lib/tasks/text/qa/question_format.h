// Data sets of questions by the names of their formats, and how questions and contexts become inputs when
// nobody says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "lib/model/config.h"
#include "lib/tasks/text/qa/windows.h"
#include "lib/tasks/text/text_settings.h"

namespace bigbird {

enum class QuestionFormat { squad, hotpotqa, natural_questions, triviaqa, wikihop };

// "squad", "hotpotqa", "nq", "triviaqa", "wikihop".
std::string name_of(QuestionFormat format);
// Error{usage} for a name that is none, listing them.
QuestionFormat parse_question_format(const std::string& name);

// Whether long contexts are cut into windows that overlap (windows.h); of wikihop supports go on where the
// window before ended, and of hotpotqa what does not fit is left out.
bool has_overlapping_windows(QuestionFormat format);

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
