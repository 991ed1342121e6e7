// The memory of the heads; see planner.h.
#include <algorithm>
#include <string>

#include "lib/model/network/pass_context.h"
#include "lib/model/network/planner.h"

namespace bigbird {
namespace {

void plan_contrast(Planner& plan, ContrastActivations& to, std::int64_t pairs, bool training) {
  if (!plan.config.has_contrast()) return;
  const std::string what = "heads";
  to.rows = plan.arena.integers(what, 2 * pairs);
  to.gathered = plan.arena.values(what, 2 * pairs * plan.width);
  to.projected = plan.arena.values(what, 2 * pairs * plan.width);
  if (training) to.gradient = plan.arena.values(what, 2 * pairs * plan.width);
}

void plan_masked(Planner& plan, MaskedActivations& head, std::int64_t masked, const ModelOptions& options,
                 const kernels::Backend& backend) {
  Arena& arena = plan.arena;
  const bool next = plan.config.predicts_next();
  const std::string what = "heads";
  head.rows = arena.integers(what, masked);
  head.labels = arena.integers(what, masked);
  head.predictions = arena.integers(what, masked);
  head.gathered = arena.values(what, masked * plan.read());
  if (!next) {
    head.transform_pre = arena.values(what, masked * plan.width);
    head.transform = arena.values(what, masked * plan.width);
    head.norm_state = plan.norm_state(what, masked);
  }
  if (!next || options.training) head.norm = arena.values(what, masked * (next ? plan.read() : plan.width));
  head.losses = arena.floats(what, masked);
  const std::string logits = next ? "logits of next tokens" : "logits of masked tokens";
  head.logits_in_pieces = next && options.logits_in_pieces;
  head.logit_rows = head.logits_in_pieces ? std::min(masked, rows_of_logits) : masked;
  const std::int64_t count = head.logit_rows * backend.row_stride(plan.config.vocab_size);
  if (options.training) {
    head.logits = arena.values(logits, count);
  } else {
    head.logits = arena.floats(logits, count);
  }
}

void plan_sequence(Planner& plan, SequenceActivations& head, std::int64_t sequences, std::int64_t classes,
                   bool training) {
  Arena& arena = plan.arena;
  const std::string what = "heads";
  head.rows = arena.integers(what, sequences);
  if (plan.config.reads_spans()) head.row_counts = arena.integers(what, sequences);
  head.gathered = arena.values(what, sequences * plan.read());
  if (classes == 0) return;
  head.labels = arena.integers(what, sequences);
  head.predictions = arena.integers(what, sequences);
  head.logits = arena.floats(what, sequences * classes);
  if (training) head.dlogits = arena.values(what, sequences * classes);
  head.losses = arena.floats(what, sequences);
  if (plan.config.head == HeadType::classification && plan.config.problem_type != ProblemType::single_label) {
    head.targets = arena.floats(what, sequences * classes);
  }
}

TokenTargetActivations plan_token_targets(Planner& plan, std::int64_t sequences) {
  const std::string what = "heads";
  return {plan.arena.integers(what, plan.tokens), plan.arena.integers(what, plan.tokens),
          plan.arena.integers(what, sequences + 1), plan.arena.integers(what, sequences),
          plan.arena.floats(what, sequences)};
}

void plan_answers(Planner& plan, Activations& to, std::int64_t sequences, bool training) {
  for (std::size_t score = 0; score < plan.config.token_scores.size(); ++score) {
    TokenScoreActivations& head = to.answers.emplace_back();
    head.logits = plan.arena.floats("heads", plan.tokens);
    if (training) head.dlogits = plan.arena.values("heads", plan.tokens);
    head.targets = plan_token_targets(plan, sequences);
  }
  if (plan.config.num_labels > 0)
    plan_sequence(plan, to.sequence, sequences, plan.config.num_labels, training);
}

void plan_question(Planner& plan, QuestionActivations& head, std::int64_t sequences, bool training) {
  Arena& arena = plan.arena;
  const std::string what = "heads";
  if (!plan.config.has_plain_question_head()) {
    head.input = arena.values(what, plan.tokens * plan.read());
    if (training) head.block.pre = arena.values(what, plan.tokens * plan.inner);
    head.block.inner = arena.values(what, plan.tokens * plan.inner);
    head.block.sum = arena.values(what, plan.tokens * plan.read());
    head.block.norm = arena.values(what, plan.tokens * plan.read());
    if (training) head.block.norm_state = plan.norm_state(what, plan.tokens);
  }
  head.penalty = arena.floats(what, plan.tokens);
  head.start = arena.floats(what, plan.tokens);
  head.end = arena.floats(what, plan.tokens);
  if (training) {
    head.dstart = arena.values(what, plan.tokens);
    head.dend = arena.values(what, plan.tokens);
  }
  head.labels = arena.integers(what, 2 * sequences);
  head.losses = arena.floats(what, 2 * sequences);
  for (TokenTargetActivations& side : head.targets) side = plan_token_targets(plan, sequences);
}

}  // namespace

void plan_heads(Planner& plan, Activations& to, const BatchLimits& limits, const ModelOptions& options,
                const kernels::Backend& backend) {
  const bool training = options.training;
  const std::int64_t masked =
      masked_rows_of_pass(backend, limits.masked_tokens, limits.tokens * plan.config.tokens_of_a_row());
  const std::int64_t sequences = limits.sequences, outputs = most_outputs(plan.config, limits);
  if (plan.config.uses_pooler()) {
    to.pooled.linear = plan.arena.values("heads", sequences * plan.width);
    to.pooled.pooled = plan.arena.values("heads", sequences * plan.width);
  }
  switch (plan.config.head) {
    case HeadType::encoder:
      plan_sequence(plan, to.sequence, sequences, 0, training);
      break;
    case HeadType::pretraining:
      plan_sequence(plan, to.sequence, sequences, 2, training);
      plan_masked(plan, to.masked, masked, options, backend);
      break;
    case HeadType::masked_lm:
      plan_masked(plan, to.masked, masked, options, backend);
      plan_contrast(plan, to.contrast, limits.sentence_pairs, training);
      break;
    case HeadType::causal_lm:
      plan_masked(plan, to.masked, masked, options, backend);
      break;
    case HeadType::classification:
      plan_sequence(plan, to.sequence, outputs, plan.config.num_labels, training);
      to.classification.dense_pre = plan.arena.values("heads", outputs * plan.width);
      to.classification.dense = plan.arena.values("heads", outputs * plan.width);
      break;
    case HeadType::token_classification:
      plan_sequence(plan, to.sequence, outputs, plan.config.num_labels, training);
      if (training) to.classification.dense = plan.arena.values("heads", outputs * plan.read());
      break;
    case HeadType::question_answering:
      plan_question(plan, to.question, sequences, training);
      break;
    case HeadType::structured_answers:
      plan_answers(plan, to, sequences, training);
      break;
    case HeadType::generation:
      plan_decoder(plan.arena, plan.config, to.decoder, limits, options, backend);
      break;
    case HeadType::masked_sentences:
      plan_documents(plan.arena, plan.config, to.documents, limits, options);
      plan_decoder(plan.arena, plan.config, to.decoder, limits, options, backend);
      break;
    case HeadType::sentence_labels:
      plan_documents(plan.arena, plan.config, to.documents, limits, options);
      plan_sequence(plan, to.sequence, sequences, 2, training);
      break;
  }
}

}  // namespace bigbird
