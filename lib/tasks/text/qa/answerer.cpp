// Questions through a model; see answerer.h.
#include "lib/tasks/text/qa/answerer.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "lib/core/error.h"

namespace bigbird {
namespace {

constexpr std::size_t usual_candidates = 20;
constexpr std::size_t usual_answer = 30;
constexpr std::size_t usual_answer_of_the_pipeline = 15;

const std::string no_answer_text;
const TextSpan no_answer_span;

}  // namespace

const std::string& AnsweredQuestion::text() const {
  if (decoded != nullptr) return decoded->text;
  return scored.empty() ? no_answer_text : scored.front().text;
}

const TextSpan& AnsweredQuestion::span() const {
  if (decoded != nullptr) return decoded->span;
  return scored.empty() ? no_answer_span : scored.front().span;
}

double AnsweredQuestion::probability() const {
  if (decoded != nullptr) return decoded->probability;
  return scored.empty() ? 0 : scored.front().score;
}

// A question whose windows are under way.
struct QuestionAnswerer::Pending {
  QuestionExample example;
  EncodedQuestion encoded;
  std::vector<ContextWindow> windows;
  // Logits of the windows that have run, in their order.
  std::vector<std::vector<float>> starts, ends;
  std::function<void(const AnsweredQuestion&)> done;
};

QuestionAnswerer::QuestionAnswerer(const QuestionAnswererOptions& options, kernels::Backend& backend)
    : AnswerPredictor(QuestionFormat::squad, options, backend),
      options_(options),
      encoder_(tokenizer(), settings().encoding, windows().max_question) {
  const bool pipeline = options.decoding == AnswerDecoding::pipeline;
  n_best_ = options.n_best.value_or(pipeline ? 1 : usual_candidates);
  max_answer_ = options.max_answer.value_or(pipeline ? usual_answer_of_the_pipeline : usual_answer);
  if (n_best_ == 0 || max_answer_ == 0) {
    throw_usage("`n_best` and `max_answer` must be at least 1", "the defaults are 20 and 30");
  }
  if (!std::isfinite(options.null_threshold)) {
    throw_usage("`null_threshold` must be a finite number", "0 is the usual one");
  }
  if (pipeline && options.null_threshold != 0) {
    throw_usage("`null_threshold` belongs to run_qa's decoding, the pipeline has none",
                "leave `null_threshold` away, or take the other `decode`");
  }
}

std::map<std::string, std::string> QuestionAnswerer::identity() const {
  std::map<std::string, std::string> identity = AnswerPredictor::identity();
  identity["decode"] = options_.decoding == AnswerDecoding::pipeline ? "pipeline" : "run_qa";
  identity["n_best"] = std::to_string(n_best_);
  identity["max_answer"] = std::to_string(max_answer_);
  identity["version_2"] = options_.version_2 ? "true" : "false";
  identity["null_threshold"] = fmt::format("{}", options_.null_threshold);
  return identity;
}

void QuestionAnswerer::decode(const Pending& pending) const {
  const DecodedQuestion question{pending.example, *pending.encoded.context, pending.encoded.question.size()};
  std::vector<WindowLogits> logits;
  for (std::size_t i = 0; i < pending.windows.size(); ++i)
    logits.push_back({pending.windows[i], pending.starts[i], pending.ends[i]});
  std::vector<ScoredAnswer> scored;
  if (options_.decoding == AnswerDecoding::pipeline) {
    PipelineDecoding decoding;
    decoding.top_k = n_best_;
    decoding.max_answer = max_answer_;
    decoding.impossible_answer = options_.version_2;
    scored = decode_pipeline(question, logits, decoding);
    return pending.done({pending.example, nullptr, scored});
  }
  const DecodedAnswer decoded =
      decode_spans(question, logits, {n_best_, max_answer_, options_.version_2, options_.null_threshold});
  pending.done({pending.example, &decoded, scored});
}

void QuestionAnswerer::add(QuestionExample example, std::function<void(const AnsweredQuestion&)> done) {
  const auto pending = std::make_shared<Pending>();
  pending->example = std::move(example);
  pending->done = std::move(done);
  pending->encoded = encoder_.encode(pending->example);
  const EncodedQuestion& encoded = pending->encoded;
  pending->windows = context_windows(encoded.question.size(), encoded.context->ids.size(), windows(),
                                     pending->example.where);
  count_question(encoded.question_was_cut());
  const SpecialIds& special = tokenizer().special();
  for (const ContextWindow& window : pending->windows) {
    std::vector<std::uint32_t> ids, types;
    append_input(encoded.question, *encoded.context, window, special.cls, special.sep, ids, types);
    run(ids, types, [this, pending](const SequenceResult& result) {
      pending->starts.push_back(kept_logits(result.start_logits));
      pending->ends.push_back(kept_logits(result.end_logits));
      if (pending->starts.size() == pending->windows.size()) decode(*pending);
    });
  }
}

void QuestionAnswerer::finish() {
  AnswerPredictor::finish();
  unknown() = encoder_.unknown();
}

}  // namespace bigbird
