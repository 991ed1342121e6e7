// Windows over long contexts, labels in them, and their logits; see windows.h.
#include "lib/text/qa/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "lib/core/error.h"
#include "lib/core/unicode.h"
#include "lib/text/qa/two_inputs.h"

namespace bigbird {
namespace {

constexpr std::size_t special_pieces = 3;  // [CLS] and twice [SEP]

[[noreturn]] void throw_no_room(const std::string& where, std::size_t question,
                                const WindowOptions& options) {
  const std::size_t taken = question + special_pieces;
  const std::size_t room = options.length > taken ? options.length - taken : 0;
  const std::string context = message("{}`length` {} leaves {} context tokens next to a question of {}",
                                      where, options.length, room, question);
  if (options.step) {
    throw_usage(
        message("{}, and `step` is {}", context, *options.step),
        message(
            "`step` must be at least 1 and no more than the context tokens of a window: a larger `length`, a "
            "smaller `step` or a smaller `max_question`"));
  }
  throw_usage(
      message("{}, and `overlap` is {}", context, options.overlap),
      message("windows must hold more context than they share: a larger `length`, a smaller `overlap` or a "
              "smaller `max_question`"));
}

// Context tokens of a window; the step from one to the next is at least 1 and leaves no token out.
std::size_t window_room(std::size_t question, const WindowOptions& options, const std::string& where) {
  if (options.length <= question + special_pieces) throw_no_room(where, question, options);
  const std::size_t room = options.length - question - special_pieces;
  const bool fits = options.step ? *options.step >= 1 && *options.step <= room : room > options.overlap;
  if (!fits) throw_no_room(where, question, options);
  return room;
}

constexpr std::int64_t usual_training_length = 4096;
constexpr std::int64_t usual_length_of_transformers = 384;
constexpr std::size_t usual_overlap = 1024;
constexpr std::size_t usual_question = 64;

std::int64_t checked_length(std::int64_t asked, const ModelConfig& config) {
  const std::int64_t most = config.max_position_embeddings;
  if (asked < 4 || asked > most) {
    throw_usage(message("`length` {}: must be between 4 and the model's {} positions", asked, most),
                "the usual values are 384 to 4096");
  }
  return asked;
}

}  // namespace

void check_window_options(const WindowOptions& options) {
  if (options.max_question == 0) {
    throw_usage(message("`max_question` 0: a question needs at least one token"), "the default is 64");
  }
  window_room(options.max_question, options, "");
}

std::vector<ContextWindow> context_windows(std::size_t question_tokens, std::size_t context_tokens,
                                           const WindowOptions& options, const std::string& where) {
  const std::size_t room = window_room(question_tokens, options, where + ": ");
  const std::size_t step = options.step ? *options.step : room - options.overlap;
  std::vector<ContextWindow> windows;
  for (std::size_t first = 0;; first += step) {
    windows.push_back({first, std::min(room, context_tokens - first)});
    if (first + room >= context_tokens) return windows;
  }
}

QuestionInput window_input(std::span<const std::uint32_t> question, const ContextTokens& context,
                           const ContextWindow& window, std::uint32_t cls, std::uint32_t sep) {
  QuestionInput input;
  input.ids.push_back(cls);
  input.ids.insert(input.ids.end(), question.begin(), question.end());
  input.ids.push_back(sep);
  const auto first = context.ids.begin() + static_cast<std::ptrdiff_t>(window.first);
  input.ids.insert(input.ids.end(), first, first + static_cast<std::ptrdiff_t>(window.count));
  input.ids.push_back(sep);
  input.types.assign(question.size() + 2, 0);
  input.types.resize(input.ids.size(), 1);
  return input;
}

SpanLabel span_label(const ContextTokens& context, const ContextWindow& window, std::size_t question_tokens,
                     const TextSpan& answer) {
  if (window.count == 0 || answer.begin >= answer.end) return {};
  const auto first = context.spans.begin() + static_cast<std::ptrdiff_t>(window.first);
  const auto last = first + static_cast<std::ptrdiff_t>(window.count);
  if (first->begin > answer.begin || (last - 1)->end < answer.end) return {};
  // Tokens stand in the order of their text, so that both ends are found by halving.
  const auto behind_start =
      std::partition_point(first, last, [&](const TextSpan& token) { return token.begin <= answer.begin; });
  const auto end =
      std::partition_point(first, last, [&](const TextSpan& token) { return token.end < answer.end; });
  const std::size_t at = context_position(question_tokens);
  return {at + static_cast<std::size_t>(behind_start - 1 - first),
          at + static_cast<std::size_t>(end - first)};
}

TextSpan labelled_text(const std::string& text, const ContextTokens& context, const ContextWindow& window,
                       std::size_t question_tokens, const SpanLabel& label) {
  if (label.start == 0) return {};
  const auto token = [&](std::size_t position) -> const TextSpan& {
    return context.spans.at(position - context_position(question_tokens) + window.first);
  };
  TextSpan span{token(label.start).begin, token(label.end).end};
  if (span.end < span.begin) return {};
  const CodePointIndex index(text);
  const std::string_view covered = index.slice(span.begin, span.end);
  span.begin = span.end - count_code_points(strip_white_space_left(covered));
  return span;
}

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

EncodedText encode_counted(const Tokenizer& tokenizer, std::string_view text,
                           const TextEncodingOptions& encoding, UnknownTally* unknown) {
  EncodedText encoded = encode_text(tokenizer, text, encoding);
  if (unknown != nullptr) unknown->add(encoded);
  return encoded;
}

std::vector<std::uint32_t> encode_question(const Tokenizer& tokenizer, const std::string& question,
                                           const TextEncodingOptions& encoding, std::size_t max_question,
                                           bool& was_cut, UnknownTally* unknown) {
  std::vector<std::uint32_t> ids =
      encode_counted(tokenizer, strip_white_space_left(question), encoding, unknown).ids;
  was_cut = ids.size() > max_question;
  if (was_cut) ids.resize(max_question);
  return ids;
}

ContextTokens context_tokens(const Tokenizer& tokenizer, const EncodedText& text) {
  ContextTokens tokens;
  tokens.ids = text.ids;
  tokens.spans.reserve(text.ids.size());
  tokens.word_begins.reserve(text.ids.size());
  for (std::size_t i = 0; i < text.ids.size(); ++i) {
    tokens.spans.push_back({text.begin[i], text.end[i]});
    const bool begins = i == 0 || tokenizer.begins_word(text.ids[i]);
    tokens.word_begins.push_back(begins ? 1 : 0);
  }
  return tokens;
}

EncodedQuestion QuestionEncoder::encode(const QuestionExample& example, UnknownTally* unknown) {
  EncodedQuestion encoded;
  encoded.question = encode_question(tokenizer_, example.question, encoding_, max_question_,
                                     encoded.question_was_cut, unknown);
  if (last_text_ != example.context) {
    ContextTokens tokens =
        context_tokens(tokenizer_, encode_counted(tokenizer_, *example.context, encoding_, unknown));
    if (sentences_) tokens.sentences = sentence_tokens(*example.context, tokens.spans);
    last_context_ = std::make_shared<const ContextTokens>(std::move(tokens));
    last_text_ = example.context;
  }
  encoded.context = last_context_;
  return encoded;
}

std::uint32_t piece_named(const Tokenizer& tokenizer, const std::string& name) {
  for (std::size_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto number = static_cast<std::uint32_t>(id);
    if (tokenizer.piece(number) == name) return number;
  }
  throw_bad_input("the vocabulary has no piece " + name + ", which marks a part of the input",
                  "take the vocabulary of a published BigBird, or one made by text vocabulary");
}

std::vector<WindowLogits> window_logits(std::span<const ContextWindow> windows,
                                        std::span<const InputLogits> logits) {
  std::vector<WindowLogits> result;
  for (std::size_t i = 0; i < windows.size(); ++i)
    result.push_back({windows[i], logits[i].scores.at(0), logits[i].scores.at(1)});
  return result;
}

std::vector<std::size_t> highest_positions(std::span<const float> logits, std::size_t count) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto kept = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), kept, order.end(), [&](std::size_t a, std::size_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  order.erase(kept, order.end());
  return order;
}

std::size_t check_words(std::size_t max_answer, const char* usual) {
  if (max_answer == 0) throw_usage(message("`max_answer` must be at least 1"), usual);
  return max_answer;
}

void require_finite_logits(std::initializer_list<std::span<const float>> logits, std::size_t size,
                           const std::string& where) {
  for (const std::span<const float>& values : logits) {
    if (values.size() != size)
      throw_runtime(fmt::format("{}: {} logits where there are {}", where, values.size(), size));
    if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
      throw_runtime(fmt::format("{}: the model gives logits that are not finite", where),
                    "the weights or the precision are at fault: try fp32, or an earlier checkpoint");
    }
  }
}

}  // namespace bigbird
