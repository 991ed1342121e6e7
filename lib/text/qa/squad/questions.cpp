// Questions of SQuAD and its kin, from the file to the answer; see questions.h.
#include "lib/text/qa/squad/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/unicode.h"
#include "lib/io/text/text_lines.h"
#include "lib/metrics/answer_metrics.h"

namespace bigbird {
namespace {

constexpr std::size_t shown_answers = 5;
constexpr std::uint64_t tolerated_percent = 1;

constexpr const char* answer_elsewhere = "answer is not at answer_start";
constexpr const char* answer_behind_end = "answer_start outside of the context";
constexpr const char* answer_empty = "empty answer";
constexpr const char* blank_context = "blank context";
constexpr const char* flag_against_answers = "is_impossible against the answers";

// What an answer_start that is wrong in code points may have counted.
enum class OffsetUnit { bytes, utf16, shifted, none };
constexpr std::array<const char*, 3> offset_unit_names = {
    "if it counted bytes of UTF-8", "if it counted units of UTF-16", "elsewhere in the context"};

bool stands_at(std::string_view context, std::size_t byte, std::string_view text) {
  return byte <= context.size() && context.substr(byte, text.size()) == text;
}

// The byte at `offset` units of UTF-16.
std::optional<std::size_t> byte_of_utf16(std::string_view context, std::size_t offset) {
  std::size_t units = 0;
  for (const CodePoint& c : CodePoints(context)) {
    if (units == offset) return c.begin;
    units += c.value > 0xFFFF ? 2 : 1;
  }
  return std::nullopt;
}

OffsetUnit fitting_unit(std::string_view context, std::int64_t start, std::string_view text) {
  if (start >= 0) {
    const auto offset = static_cast<std::size_t>(start);
    if (stands_at(context, offset, text)) return OffsetUnit::bytes;
    const auto byte = byte_of_utf16(context, offset);
    if (byte && stands_at(context, *byte, text)) return OffsetUnit::utf16;
  }
  return context.find(text) == std::string_view::npos ? OffsetUnit::none : OffsetUnit::shifted;
}

// The first letters of a text, for a message.
std::string excerpt(std::string_view text) {
  constexpr std::size_t shown = 40;
  std::string line;
  std::size_t count = 0;
  for (const CodePoint& c : CodePoints(text)) {
    if (count++ == shown) return line + "...";
    if (is_white_space(c.value)) {
      line += ' ';
    } else {
      line += text.substr(c.begin, c.end - c.begin);
    }
  }
  return line;
}

void check_logits(const DecodedQuestion& question, const WindowLogits& logits) {
  const std::size_t length = input_length(question.question_tokens, logits.window);
  if (logits.start.size() < length || logits.end.size() != logits.start.size() ||
      logits.window.first + logits.window.count > question.context.spans.size()) {
    throw_runtime(fmt::format("{}: {} start and {} end logits for an input of {} tokens",
                              question.example.where, logits.start.size(), logits.end.size(), length));
  }
  const auto is_finite = [](float value) { return std::isfinite(value); };
  if (std::all_of(logits.start.begin(), logits.start.end(), is_finite) &&
      std::all_of(logits.end.begin(), logits.end.end(), is_finite)) {
    return;
  }
  throw_runtime(fmt::format("{}: the model gives logits that are not finite", question.example.where),
                "the weights or the precision are at fault: try fp32, or an earlier checkpoint");
}

// A span without the white space at its left.
TextSpan without_left_space(const CodePointIndex& index, const TextSpan& span) {
  if (span.begin >= span.end) return {span.end, span.end};
  const std::string_view rest = strip_white_space_left(index.slice(span.begin, span.end));
  return {span.end - count_code_points(rest), span.end};
}

// A span before its text is known. Scores are sums in fp32, as in run_qa: what is equal there is equal here.
struct SpanCandidate {
  TextSpan span;
  float score = 0;
  float start_logit = 0;
  float end_logit = 0;

  bool is_null() const { return span == TextSpan{}; }
};

void add_candidates(const DecodedQuestion& question, const WindowLogits& logits, const SpanDecoding& options,
                    std::vector<SpanCandidate>& found) {
  const std::size_t first = context_position(question.question_tokens);
  const std::size_t behind = first + logits.window.count;
  const auto in_context = [&](std::size_t position) { return position >= first && position < behind; };
  const std::vector<std::size_t> ends = highest_positions(logits.end, options.n_best);
  for (const std::size_t start : highest_positions(logits.start, options.n_best)) {
    if (!in_context(start)) continue;
    for (const std::size_t end : ends) {
      if (!in_context(end) || end < start || end - start >= options.max_answer) continue;
      const auto& spans = question.context.spans;
      const std::size_t shift = logits.window.first;
      found.push_back({{spans[start - first + shift].begin, spans[end - first + shift].end},
                       logits.start[start] + logits.end[end],
                       logits.start[start],
                       logits.end[end]});
    }
  }
}

// Softmax over the scores of the candidates.
void set_probabilities(const std::vector<SpanCandidate>& spans, std::vector<CandidateAnswer>& answers) {
  float best = spans.front().score;
  for (const SpanCandidate& span : spans) best = std::max(best, span.score);
  double sum = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    answers[i].probability = std::exp(static_cast<double>(spans[i].score - best));
    sum += answers[i].probability;
  }
  for (CandidateAnswer& answer : answers) answer.probability /= sum;
}

// Probabilities of one side over [CLS] and the context; [CLS] first, then the tokens of the window. fp32, as
// in the pipeline.
std::vector<float> side_probabilities(std::span<const float> logits, std::size_t first, std::size_t count) {
  std::vector<float> values{logits[0]};
  const auto context = logits.subspan(first, count);
  values.insert(values.end(), context.begin(), context.end());
  const float best = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (float& value : values) {
    value = std::exp(value - best);
    sum += static_cast<double>(value);
  }
  for (float& value : values) value = static_cast<float>(static_cast<double>(value) / sum);
  return values;
}

// Tokens of a window, both included, and the product of their probabilities.
struct TokenSpan {
  std::size_t start = 0;
  std::size_t end = 0;
  float score = 0;
};

// The `count` most probable spans of a window, best first.
std::vector<TokenSpan> best_spans(const std::vector<float>& start, const std::vector<float>& end,
                                  std::size_t max_answer, std::size_t count) {
  std::vector<TokenSpan> spans;
  for (std::size_t s = 1; s < start.size(); ++s) {
    for (std::size_t e = s; e < std::min(end.size(), s + max_answer); ++e) {
      const float score = start[s] * end[e];
      if (score > 0) spans.push_back({s - 1, e - 1, score});
    }
  }
  const auto kept = static_cast<std::ptrdiff_t>(std::min(count, spans.size()));
  std::partial_sort(spans.begin(), spans.begin() + kept, spans.end(),
                    [](const TokenSpan& a, const TokenSpan& b) {
                      if (a.score != b.score) return a.score > b.score;
                      return a.start != b.start ? a.start < b.start : a.end < b.end;
                    });
  spans.resize(static_cast<std::size_t>(kept));
  return spans;
}

// The span with the rest of its first and of its last word, as far as the window shows them.
void widen_to_words(const ContextTokens& context, const ContextWindow& window, TokenSpan& span) {
  const std::uint8_t* begins = context.word_begins.data() + window.first;
  while (span.start > 0 && begins[span.start] == 0) --span.start;
  while (span.end + 1 < window.count && begins[span.end + 1] == 0) ++span.end;
}

}  // namespace

SquadReader::SquadReader(const std::string& path, const QuestionReading& reading)
    : QuestionFile(path, reading, {"data"}) {
  skipped_ = ReasonCounts({answer_elsewhere, answer_behind_end, answer_empty});
  noted_ = ReasonCounts({blank_context, flag_against_answers});
}

bool SquadReader::advance() {
  end_question();
  for (;;) {
    if (has_record_ && nested_) {
      const RecordField paragraphs = record()["paragraphs"];
      while (paragraph_ < paragraphs.size()) {
        if (question_ == 0) take_context(paragraphs.at(paragraph_)["context"]);
        if (question_ < paragraphs.at(paragraph_)["qas"].size()) return true;
        ++paragraph_;
        question_ = 0;
      }
    }
    if (!next_record()) return false;
    has_record_ = true;
    paragraph_ = question_ = 0;
    nested_ = record().has("paragraphs");
    if (!nested_) {
      take_context(record()["context"]);
      return true;
    }
  }
}

void SquadReader::take_context(const RecordField& field) {
  context_ = std::make_shared<const std::string>(field.text());
  index_ = CodePointIndex(*context_);
  context_is_blank_ = is_blank(*context_);
}

std::string SquadReader::question_id(const RecordField& field) const {
  // Rows of flat files need no id: it is their number then, from 0.
  if (!nested_ && !field.has("id")) return std::to_string(questions_);
  const RecordField id = field["id"];
  return id.is_integer() ? std::to_string(id.integer()) : id.text();
}

void SquadReader::add_answer(const RecordField& text, const RecordField& start, QuestionExample& example) {
  const std::int64_t begin = start.integer();
  if (example.answers.empty()) first_start_ = begin;
  GoldAnswer& answer = example.answers.emplace_back();
  answer.text = text.text();
  answer.span.begin = begin < 0 ? index_.size() : static_cast<std::size_t>(begin);
  answer.span.end = answer.span.begin + count_code_points(answer.text);
}

void SquadReader::read_answers(const RecordField& field, QuestionExample& example) {
  const bool flagged = field.has("is_impossible") && field["is_impossible"].boolean();
  // A question that says it has no answer need not list none.
  if (!flagged || field.has("answers")) {
    const RecordField answers = field["answers"];
    if (answers.is_object()) {
      const RecordField texts = answers["text"], starts = answers["answer_start"];
      if (texts.size() != starts.size()) {
        answers.fail(fmt::format("has {} texts and {} starts", texts.size(), starts.size()),
                     "every answer needs both");
      }
      for (std::size_t i = 0; i < texts.size(); ++i) add_answer(texts.at(i), starts.at(i), example);
    } else {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        add_answer(answers.at(i)["text"], answers.at(i)["answer_start"], example);
      }
    }
  }
  if (field.has("is_impossible") && flagged != example.answers.empty()) noted_.add(flag_against_answers);
  if (!example.answers.empty()) {
    ++answerable_;
  } else if (!reading().version_2) {
    throw_bad_input(example.where + " has no answer",
                    message("with `version_2` questions may be unanswerable, as in SQuAD 2.0"));
  }
}

bool SquadReader::first_answer_fits(const QuestionExample& example) {
  const GoldAnswer& answer = example.answers.front();
  const char* reason = nullptr;
  if (answer.text.empty()) {
    reason = answer_empty;
  } else if (first_start_ < 0 || answer.span.end > index_.size()) {
    reason = answer_behind_end;
  } else if (index_.slice(answer.span.begin, answer.span.end) != answer.text) {
    reason = answer_elsewhere;
  }
  if (reason == nullptr) return true;
  if (reading().purpose == QuestionPurpose::evaluate) {
    // Only texts are scored.
    noted_.add(reason);
    return true;
  }
  skipped_.add(reason);
  if (reason == answer_empty) return false;
  const OffsetUnit unit = fitting_unit(*context_, first_start_, answer.text);
  if (unit != OffsetUnit::none) ++fitting_[static_cast<std::size_t>(unit)];
  if (misplaced_++ < shown_answers) {
    log_warning(fmt::format("{}: the answer '{}' is not at answer_start {}: skipped", example.where,
                            excerpt(answer.text), first_start_));
  }
  return false;
}

void SquadReader::read_question(const RecordField& field, QuestionExample& example) {
  example.id = question_id(field);
  ++questions_;
  example.where = begin_question(example.id);
  example.question = question_text(field["question"]);
  example.context = context_;
  example.answers.clear();
  if (context_is_blank_) noted_.add(blank_context);
  if (reading().purpose != QuestionPurpose::predict) read_answers(field, example);
}

void SquadReader::check_end() const {
  if (misplaced_ * 100 <= answerable_ * tolerated_percent) return;
  std::string fits;
  const auto best = std::max_element(fitting_.begin(), fitting_.end());
  if (*best > 0) {
    fits = fmt::format("; {} would be {}", *best,
                       offset_unit_names[static_cast<std::size_t>(best - fitting_.begin())]);
  }
  throw_bad_input(fmt::format("{}: {} of {} answers are not at their answer_start{}", records().path(),
                              misplaced_, answerable_, fits),
                  "answer_start counts code points of the context, from 0 (an index of a Python str)");
}

bool SquadReader::next(QuestionExample& example) {
  while (advance()) {
    read_question(nested_ ? record()["paragraphs"].at(paragraph_)["qas"].at(question_++) : record(), example);
    if (example.answers.empty() || first_answer_fits(example)) return true;
  }
  check_end();
  return false;
}

void LabelCeiling::add(const QuestionExample& example, const EncodedQuestion& encoded,
                       const std::vector<ContextWindow>& windows) {
  ++questions_;
  const GoldAnswer& answer = example.answers.front();
  const std::size_t question = encoded.question.size();
  for (const ContextWindow& window : windows) {
    const SpanLabel label = span_label(*encoded.context, window, question, answer.span);
    if (label.start == 0) continue;
    const TextSpan span = labelled_text(*example.context, *encoded.context, window, question, label);
    const std::string_view text = CodePointIndex(*example.context).slice(span.begin, span.end);
    if (normalize_answer(text).text == normalize_answer(answer.text).text) ++exact_;
    return;
  }
  ++outside_;
}

double LabelCeiling::exact_match() const {
  return questions_ == 0 ? 100 : 100 * static_cast<double>(exact_) / static_cast<double>(questions_);
}

DecodedAnswer decode_spans(const DecodedQuestion& question, std::span<const WindowLogits> windows,
                           const SpanDecoding& options) {
  if (options.n_best == 0 || options.max_answer == 0) {
    throw_usage(message("`n_best` and `max_answer` must be at least 1"), "the defaults are 20 and 30");
  }
  std::vector<SpanCandidate> spans;
  SpanCandidate null;
  bool any_context = false;
  for (std::size_t w = 0; w < windows.size(); ++w) {
    check_logits(question, windows[w]);
    any_context |= windows[w].window.count > 0;
    const float start = windows[w].start[0], end = windows[w].end[0];
    if (w == 0 || null.score > start + end) null = {{}, start + end, start, end};
    add_candidates(question, windows[w], options, spans);
  }
  if (options.version_2) spans.push_back(null);
  std::stable_sort(spans.begin(), spans.end(),
                   [](const SpanCandidate& a, const SpanCandidate& b) { return a.score > b.score; });
  if (spans.size() > options.n_best) spans.resize(options.n_best);
  const auto is_null = [](const SpanCandidate& span) { return span.is_null(); };
  if (options.version_2 && std::none_of(spans.begin(), spans.end(), is_null)) spans.push_back(null);

  DecodedAnswer result;
  const CodePointIndex index(*question.example.context);
  for (const SpanCandidate& span : spans) {
    CandidateAnswer& answer = result.candidates.emplace_back();
    if (!span.is_null()) answer.span = without_left_space(index, span.span);
    answer.text = index.slice(answer.span.begin, answer.span.end);
    answer.start_logit = span.start_logit;
    answer.end_logit = span.end_logit;
  }
  // Before white space is dropped: a blank is an answer in run_qa too, the empty text is none.
  const auto is_answer = [](const SpanCandidate& span) { return span.span.begin < span.span.end; };
  bool found = std::any_of(spans.begin(), spans.end(), is_answer);
  if (spans.empty() || (!found && (options.version_2 || spans.size() == 1))) {
    // run_qa's stand-in for the answer of a model that gave none. An empty context has nothing to answer
    // with.
    spans.insert(spans.begin(), SpanCandidate{});
    result.candidates.insert(result.candidates.begin(), CandidateAnswer{});
    if (any_context) result.candidates.front().text = "empty";
    found = false;
  }
  set_probabilities(spans, result.candidates);

  std::size_t chosen = 0;
  if (options.version_2) {
    if (found) {
      chosen = static_cast<std::size_t>(std::find_if(spans.begin(), spans.end(), is_answer) - spans.begin());
    }
    result.null_odds = null.score - spans[chosen].start_logit - spans[chosen].end_logit;
    // The last of the candidates that are no text is the null one: the stand-in comes before it.
    if (result.null_odds > static_cast<float>(options.null_threshold)) {
      chosen = static_cast<std::size_t>(std::find_if(spans.rbegin(), spans.rend(), is_null).base() -
                                        spans.begin()) -
               1;
    }
  }
  result.text = result.candidates[chosen].text;
  result.span = result.candidates[chosen].span;
  result.probability = result.candidates[chosen].probability;
  return result;
}

std::vector<ScoredAnswer> decode_pipeline(const DecodedQuestion& question,
                                          std::span<const WindowLogits> windows,
                                          const PipelineDecoding& options) {
  if (options.top_k == 0 || options.max_answer == 0) {
    throw_usage(message("`n_best` and `max_answer` must be at least 1"), "the defaults are 1 and 15");
  }
  // Spans whose words are the same fall together, so that more are looked at than are asked for.
  const std::size_t candidates = options.align_to_words ? options.top_k * 2 + 10 : options.top_k;
  const CodePointIndex index(*question.example.context);
  std::vector<ScoredAnswer> answers;
  std::unordered_map<std::string, std::size_t> place_of;  // in `answers`, by the text in small letters
  double null_score = 1e6;                                // the pipeline's, where there is no window
  for (const WindowLogits& logits : windows) {
    check_logits(question, logits);
    const std::size_t first = context_position(question.question_tokens);
    const std::vector<float> start = side_probabilities(logits.start, first, logits.window.count);
    const std::vector<float> end = side_probabilities(logits.end, first, logits.window.count);
    null_score = std::min(null_score, static_cast<double>(start[0] * end[0]));
    for (TokenSpan& tokens : best_spans(start, end, options.max_answer, candidates)) {
      if (options.align_to_words) widen_to_words(question.context, logits.window, tokens);
      const TextSpan span{question.context.spans[logits.window.first + tokens.start].begin,
                          question.context.spans[logits.window.first + tokens.end].end};
      const std::string_view text = index.slice(span.begin, std::max(span.begin, span.end));
      const auto [place, is_new] = place_of.try_emplace(lower(text), answers.size());
      if (is_new) answers.push_back({std::string(text), span, 0});
      answers[place->second].score += static_cast<double>(tokens.score);
    }
  }
  if (options.impossible_answer) answers.push_back({"", {}, null_score});
  std::stable_sort(answers.begin(), answers.end(),
                   [](const ScoredAnswer& a, const ScoredAnswer& b) { return a.score > b.score; });
  if (answers.size() > options.top_k) answers.resize(options.top_k);
  for (ScoredAnswer& answer : answers) {
    answer.span = answer.text.empty() ? TextSpan{} : without_left_space(index, answer.span);
    answer.text = index.slice(answer.span.begin, answer.span.end);
  }
  return answers;
}

}  // namespace bigbird
