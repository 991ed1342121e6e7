// Long contexts in overlapping windows, and where an answer lies in them:
//
//   [CLS] question [SEP] context [SEP]        types 0 up to and with the first [SEP], then 1
//
// Windows and labels are those of Hugging Face's run_qa.py (prepare_train_features; its doc_stride is our
// `overlap`), but for one case: where an answer begins in the last context token of a window, run_qa.py puts
// its start behind the context, on [SEP] or the last pad. Here it is that token.
//
// A context is encoded once; its windows are stretches of its tokens. Decoding begins with the logits of a
// question's inputs, as the model gave them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/model/config.h"
#include "lib/text/qa/question_file.h"
#include "lib/text/text_settings.h"
#include "lib/tokenization/text_encoding.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {

struct GlobalLayout;

struct WindowOptions {
  std::size_t length = 4096;      // tokens of a whole input, special pieces included
  std::size_t max_question = 64;  // tokens of the question that are kept, from its beginning
  // Context tokens that a window shares with the one before it (Hugging Face's doc_stride). Without effect
  // where `step` is given.
  std::size_t overlap = 1024;
  // Context tokens from the beginning of a window to that of the next (BERT's doc_stride).
  std::optional<std::size_t> step;
};

// Before anything runs: a question of `max_question` tokens must leave room for more than the overlap.
// Error{usage} naming the settings.
void check_window_options(const WindowOptions& options);

// Tokens of a context with the code points that they cover. A token that begins a word may own the blank
// before it: "Hello world" is (0, 5), (5, 11).
struct ContextTokens {
  std::vector<std::uint32_t> ids;
  std::vector<TextSpan> spans;
  std::vector<std::uint8_t> word_begins;  // 1: the first token of a word between white space
  // The tokens that a sentence begins at, ascending; of a text whose sentences were asked for.
  std::vector<std::uint32_t> sentences = {};
};

// A stretch of a context's tokens, [first, first + count).
struct ContextWindow {
  std::size_t first = 0;
  std::size_t count = 0;
  bool operator==(const ContextWindow&) const = default;
};

// The position in the input of the first context token of every window.
constexpr std::size_t context_position(std::size_t question_tokens) {
  return question_tokens + 2;
}
// Tokens of an input: question, window, [CLS] and twice [SEP].
constexpr std::size_t input_length(std::size_t question_tokens, const ContextWindow& window) {
  return question_tokens + window.count + 3;
}

// The windows of a context, from left to right; the last one reaches its end. A context without tokens has
// one empty window. `question_tokens` are those kept. Error{usage} when so long a question leaves no more
// room than the overlap (or less than the step): `where` says whose it is.
std::vector<ContextWindow> context_windows(std::size_t question_tokens, std::size_t context_tokens,
                                           const WindowOptions& options, const std::string& where);

// One input of the model, without padding; that of a window.
struct QuestionInput {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> types;
  // Of BigBird-ETC (two_inputs.h): its global tokens; `ids` are the long ones, and `types` stand in it. Else
  // null.
  std::shared_ptr<const GlobalLayout> globals = nullptr;
};

QuestionInput window_input(std::span<const std::uint32_t> question, const ContextTokens& context,
                           const ContextWindow& window, std::uint32_t cls, std::uint32_t sep);

// Positions in a window's input of the first and the last token of an answer, both included; 0 and 0, [CLS],
// where the window does not hold the whole answer, or there is none.
struct SpanLabel {
  std::size_t start = 0;
  std::size_t end = 0;
  bool operator==(const SpanLabel&) const = default;
};

// The tokens that hold `answer` (a stretch of the context, not empty): from the last that begins at or before
// it to the first that ends at or after it.
SpanLabel span_label(const ContextTokens& context, const ContextWindow& window, std::size_t question_tokens,
                     const TextSpan& answer);

// The code points that a label stands for, without the white space at their left; an empty span for [CLS].
TextSpan labelled_text(const std::string& text, const ContextTokens& context, const ContextWindow& window,
                       std::size_t question_tokens, const SpanLabel& label);

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

struct EncodedQuestion {
  std::vector<std::uint32_t> question;           // kept tokens
  bool question_was_cut = false;                 // to `max_question`
  std::shared_ptr<const ContextTokens> context;  // never null
};

// encode_text(); `unknown`, where given, counts the pieces.
EncodedText encode_counted(const Tokenizer& tokenizer, std::string_view text,
                           const TextEncodingOptions& encoding, UnknownTally* unknown);
// The first `max_question` tokens of a question without the white space at its left.
std::vector<std::uint32_t> encode_question(const Tokenizer& tokenizer, const std::string& question,
                                           const TextEncodingOptions& encoding, std::size_t max_question,
                                           bool& was_cut, UnknownTally* unknown);

// The tokens of a context with their code points. A word begins with a piece that opens with the tokenizer's
// sign for it, and with the first piece.
ContextTokens context_tokens(const Tokenizer& tokenizer, const EncodedText& text);

class QuestionEncoder {
 public:
  // The tokenizer must outlive it. `sentences`: whether contexts get theirs.
  QuestionEncoder(const Tokenizer& tokenizer, const TextEncodingOptions& encoding, std::size_t max_question,
                  bool sentences = false)
      : tokenizer_(tokenizer), encoding_(encoding), max_question_(max_question), sentences_(sentences) {}

  // The question without the white space at its left. A context that is the one before (the same object) is
  // not encoded again. `unknown`, where given, counts pieces of questions and contexts (each context once).
  EncodedQuestion encode(const QuestionExample& example, UnknownTally* unknown = nullptr);

 private:
  const Tokenizer& tokenizer_;
  TextEncodingOptions encoding_;
  std::size_t max_question_;
  bool sentences_;
  std::shared_ptr<const std::string> last_text_;
  std::shared_ptr<const ContextTokens> last_context_;
};

// The id of the piece with this name ("<sep_0>", "<ans>"), which opens or closes a part of an input;
// Error{bad_input} where the vocabulary has none. Looks through the whole vocabulary: once a run, not once a
// question.
std::uint32_t piece_named(const Tokenizer& tokenizer, const std::string& name);

// Of one input, copied: results of a batch live for a call alone.
struct InputLogits {
  // [tokens] for each score of the head (question_task.h); of question answering start and end.
  std::vector<std::vector<float>> scores;
  // [global tokens] for each, of BigBird-ETC.
  std::vector<std::vector<float>> global_scores;
  std::vector<float> types;  // [types of the head]
};

// Start and end logits of one window's input, [CLS] first. Where they go on behind the input, over padding,
// those take part in the ranking of decode_spans as they do in run_qa, and are no answers; decode_pipeline
// leaves them out.
struct WindowLogits {
  ContextWindow window;
  std::span<const float> start;
  std::span<const float> end;
};
// Of the windows of one text; views into `logits`, which has as many.
std::vector<WindowLogits> window_logits(std::span<const ContextWindow> windows,
                                        std::span<const InputLogits> logits);

// A question and its context as they were cut into windows, for decoding. All must outlive the call.
struct DecodedQuestion {
  const QuestionExample& example;
  const ContextTokens& context;
  std::size_t question_tokens = 0;  // kept ones
};

// The positions of the `count` highest logits, best first; of equals the lower.
std::vector<std::size_t> highest_positions(std::span<const float> logits, std::size_t count);

// The most words of an answer; Error{usage} for 0, with the usual number.
std::size_t check_words(std::size_t max_answer, const char* usual);

// Error{runtime} opening with `where`, the question: a span that has not `size` values, a NaN or an infinity.
void require_finite_logits(std::initializer_list<std::span<const float>> logits, std::size_t size,
                           const std::string& where);

}  // namespace bigbird
