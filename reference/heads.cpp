// The heads on the encoder stack; see encoder.h.
#include "reference/layers.h"
#include "reference/losses.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

const std::string question_inner = "qa_classifier.intermediate.dense";
const std::string question_output = "qa_classifier.output.dense";
const std::string question_norm = "qa_classifier.output.LayerNorm";
const std::string question_spans = "qa_classifier.qa_outputs";

// The first row of every sequence: [CLS]; or what Sequences::outputs says.
Matrix first_rows(const Sequences& sequences, const Matrix& x) {
  if (!sequences.outputs.empty()) {
    Matrix means(sequences.outputs.size(), x.columns);
    for (std::size_t i = 0; i < means.rows; ++i) {
      for (const std::size_t row : sequences.outputs[i]) {
        for (std::size_t j = 0; j < x.columns; ++j)
          means(i, j) += x(row, j) / static_cast<double>(sequences.outputs[i].size());
      }
    }
    return means;
  }
  Matrix result(sequences.padded_lengths.size(), x.columns);
  std::size_t row = 0;
  for (std::size_t s = 0; s < result.rows; ++s) {
    for (std::size_t j = 0; j < x.columns; ++j) result(s, j) = x(row, j);
    row += sequences.padded_lengths[s];
  }
  return result;
}

Matrix first_rows_gradient(const Sequences& sequences, const Matrix& d_first) {
  Matrix result(sequences.ids.size(), d_first.columns);
  for (std::size_t i = 0; i < sequences.outputs.size(); ++i) {
    for (const std::size_t of : sequences.outputs[i]) {
      for (std::size_t j = 0; j < d_first.columns; ++j)
        result(of, j) += d_first(i, j) / static_cast<double>(sequences.outputs[i].size());
    }
  }
  if (!sequences.outputs.empty()) return result;
  std::size_t row = 0;
  for (std::size_t s = 0; s < d_first.rows; ++s) {
    for (std::size_t j = 0; j < d_first.columns; ++j) result(row, j) = d_first(s, j);
    row += sequences.padded_lengths[s];
  }
  return result;
}

// One head with the gradient of its mean loss; parameter gradients go into the network.
struct HeadTrace {
  Matrix logits;
  double loss = 0.0;
  Matrix d_hidden;
};

HeadTrace masked_head(Network& network, const Matrix& hidden, const std::vector<std::int64_t>& labels) {
  const std::string transform = "cls.predictions.transform.dense";
  const std::string transform_norm = "cls.predictions.transform.LayerNorm";
  const std::string decoder_bias = "cls.predictions.bias";
  const Activation form = network.config().head_activation.value_or(network.config().activation);
  const Matrix transformed = network.linear(transform, hidden);
  const Matrix activated = activation_forward(transformed, form);
  const Matrix decoder_input = network.layer_norm(transform_norm, activated);
  const Matrix logits =
      linear_forward(decoder_input, network.values(word_table), network.values(decoder_bias));
  const LossAndGradient loss = softmax_cross_entropy(logits, labels);

  const LinearGradients decoder = linear_backward(decoder_input, network.values(word_table), loss.gradient);
  network.add_gradient(word_table, decoder.weight);
  network.add_gradient(decoder_bias, decoder.bias);
  const Matrix d_activated = network.layer_norm_gradient(transform_norm, activated, decoder.x);
  return {logits, loss.loss,
          network.linear_gradient(transform, hidden, activation_backward(transformed, d_activated, form))};
}

// The same of a model with a stem, whose rows are spread over their tokens first.
HeadTrace masked_head_of_tokens(Network& network, const Matrix& rows,
                                const std::vector<std::int64_t>& labels) {
  if (network.config().stem_stride == 0) return masked_head(network, rows, labels);
  const SpreadTrace spread = spread_forward(network, rows);
  HeadTrace head = masked_head(network, spread.output, labels);
  head.d_hidden = spread_backward(network, rows, spread, head.d_hidden);
  return head;
}

// One side of the answer: column `side` of the logits of all tokens, its loss over the competing tokens of
// every sequence, and the gradient of half of it.
double answer_side(const Sequences& sequences, const QuestionLabels& labels, std::size_t side,
                   const std::vector<std::int64_t>& positions, const Matrix& logits, Matrix& d_logits) {
  double loss = 0.0;
  double counted = 0.0;
  for (const std::int64_t position : positions) counted += position == ignored_label ? 0.0 : 1.0;
  std::size_t first = 0;
  for (std::size_t s = 0; s < positions.size(); ++s) {
    Matrix one(1, labels.competing[s]);
    for (std::size_t t = 0; t < one.columns; ++t) one(0, t) = logits(first + t, side);
    const LossAndGradient part = softmax_cross_entropy(one, {positions[s]});
    loss += part.loss / counted;
    for (std::size_t t = 0; t < one.columns; ++t) {
      d_logits(first + t, side) = 0.5 * part.gradient(0, t) / counted;
    }
    first += sequences.padded_lengths[s];
  }
  return loss;
}

// The block of the question answering head with its two logits for every token, 1e6 less in the questions.
struct QuestionTrace {
  Matrix intermediate, activated, block_sum, normalised, logits;
};

QuestionTrace question_forward(const Network& network, const Sequences& sequences, const Matrix& hidden,
                               const std::vector<std::size_t>& question_lengths) {
  QuestionTrace trace;
  trace.intermediate = network.linear(question_inner, hidden);
  trace.activated = activation_forward(trace.intermediate, network.config().activation);
  trace.block_sum = sum(network.linear(question_output, trace.activated), hidden);
  trace.normalised = network.layer_norm(question_norm, trace.block_sum);
  trace.logits = network.linear(question_spans, trace.normalised);
  std::size_t first = 0;
  for (std::size_t s = 0; s < sequences.padded_lengths.size(); ++s) {
    for (std::size_t t = 1; t < question_lengths[s]; ++t) {
      for (std::size_t side = 0; side < 2; ++side) trace.logits(first + t, side) -= 1e6;
    }
    first += sequences.padded_lengths[s];
  }
  return trace;
}

// The gradient of the block's input.
Matrix question_backward(Network& network, const QuestionTrace& trace, const Matrix& hidden,
                         const Matrix& d_logits) {
  const Matrix d_normalised = network.linear_gradient(question_spans, trace.normalised, d_logits);
  const Matrix d_sum = network.layer_norm_gradient(question_norm, trace.block_sum, d_normalised);
  const Matrix d_activated = network.linear_gradient(question_output, trace.activated, d_sum);
  const Matrix d_inner = network.linear_gradient(
      question_inner, hidden,
      activation_backward(trace.intermediate, d_activated, network.config().activation));
  return sum(d_sum, d_inner);
}

// The losses of one score, column `column` of the logits of all tokens, added up over its groups; their
// gradient times `scale` goes into d_logits.
double group_losses(const TokenScoreLabels& labels, std::size_t column, double scale, const Matrix& logits,
                    Matrix& d_logits) {
  double loss = 0.0;
  for (const TokenGroup& group : labels.groups) {
    const std::size_t members = group.rows.size() / group.parts;
    Vector x(members, 0.0);
    for (std::size_t i = 0; i < group.rows.size(); ++i) x[i % members] += logits(group.rows[i], column);
    const std::vector<bool> right(group.right.begin(),
                                  group.right.begin() + static_cast<std::ptrdiff_t>(members));
    const LossAndGradient one =
        labels.softmax ? choice_cross_entropy(x, right) : mark_cross_entropy(x, right);
    loss += one.loss;
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      d_logits(group.rows[i], column) = scale * one.gradient(0, i % members);
    }
  }
  return loss;
}

// Groups with a right row.
double answered(const TokenScoreLabels& labels) {
  double count = 0.0;
  for (const TokenGroup& group : labels.groups) {
    for (const bool right : group.right) {
      if (!right) continue;
      count += 1.0;
      break;
    }
  }
  return count;
}

}  // namespace

EncoderResult encoder(const EncoderConfig& config, const Parameters& parameters, const Sequences& sequences) {
  const Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  return {trace.output, tanh_forward(network.linear("bert.pooler", first_rows(sequences, trace.output)))};
}

PretrainingResult pretraining(const EncoderConfig& config, const Parameters& parameters,
                              const Sequences& sequences, const PretrainingLabels& labels) {
  const std::string pooler = "bert.pooler";
  const std::string relationship = "cls.seq_relationship";
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  const HeadTrace masked = masked_head_of_tokens(network, trace.output, labels.masked);

  const Matrix first = first_rows(sequences, trace.output);
  const Matrix pooler_sum = network.linear(pooler, first);
  const Matrix pooled = tanh_forward(pooler_sum);
  const Matrix relationship_logits = network.linear(relationship, pooled);
  const LossAndGradient next_sentence = softmax_cross_entropy(relationship_logits, labels.next_sentence);
  const Matrix d_pooled = network.linear_gradient(relationship, pooled, next_sentence.gradient);
  const Matrix d_first = network.linear_gradient(pooler, first, tanh_backward(pooler_sum, d_pooled));
  stack_backward(network, sequences, trace, sum(masked.d_hidden, first_rows_gradient(sequences, d_first)));

  PretrainingResult result;
  result.hidden_states.push_back(trace.stack_input);
  for (const LayerTrace& layer : trace.layers) result.hidden_states.push_back(layer.feed_forward.output);
  result.last_hidden_state = trace.output;
  result.pooled = pooled;
  result.prediction_logits = masked.logits;
  result.relationship_logits = relationship_logits;
  result.masked_loss = masked.loss;
  result.next_sentence_loss = next_sentence.loss;
  result.loss = masked.loss + next_sentence.loss;
  result.gradients = network.gradients();
  return result;
}

MaskedResult masked_tokens(const EncoderConfig& config, const Parameters& parameters,
                           const Sequences& sequences, const std::vector<std::int64_t>& labels) {
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  const HeadTrace masked = masked_head_of_tokens(network, trace.output, labels);
  stack_backward(network, sequences, trace, masked.d_hidden);
  return {masked.logits, masked.loss, network.gradients()};
}

QuestionResult question_answering(const EncoderConfig& config, const Parameters& parameters,
                                  const Sequences& sequences, const QuestionLabels& labels) {
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  const QuestionTrace head = question_forward(network, sequences, trace.output, labels.question_lengths);
  Matrix d_logits(head.logits.rows, 2);
  const double start = answer_side(sequences, labels, 0, labels.starts, head.logits, d_logits);
  const double end = answer_side(sequences, labels, 1, labels.ends, head.logits, d_logits);
  stack_backward(network, sequences, trace, question_backward(network, head, trace.output, d_logits));
  return {head.logits, (start + end) / 2.0, network.gradients()};
}

QuestionResult question_answering(const EncoderConfig& config, const Parameters& parameters,
                                  const Sequences& sequences,
                                  const std::vector<std::size_t>& question_lengths,
                                  const std::vector<TokenScoreLabels>& sides) {
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  const QuestionTrace head = question_forward(network, sequences, trace.output, question_lengths);
  Matrix d_logits(head.logits.rows, 2);
  double loss = 0.0;
  for (std::size_t side = 0; side < 2; ++side) {
    const double scale = 0.5 / answered(sides.at(side));
    loss += scale * group_losses(sides[side], side, scale, head.logits, d_logits);
  }
  stack_backward(network, sequences, trace, question_backward(network, head, trace.output, d_logits));
  return {head.logits, loss, network.gradients()};
}

StructuredResult structured_answers(const EncoderConfig& config, const Parameters& parameters,
                                    const Sequences& sequences, const StructuredLabels& labels) {
  const std::string token = "answer_scores.token", type = "answer_scores.type";
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  StructuredResult result;
  result.logits = network.linear(token, trace.output);
  double known_types = 0.0;
  for (const std::int64_t label : labels.types) known_types += label == ignored_label ? 0.0 : 1.0;
  double choices = known_types;
  for (const TokenScoreLabels& score : labels.scores) choices += score.softmax ? answered(score) : 0.0;

  Matrix d_logits(result.logits.rows, result.logits.columns);
  for (std::size_t score = 0; score < labels.scores.size(); ++score) {
    const TokenScoreLabels& of = labels.scores[score];
    const double scale = 1.0 / (of.softmax ? choices : static_cast<double>(of.groups.size()));
    result.loss += scale * group_losses(of, score, scale, result.logits, d_logits);
  }
  Matrix d_hidden = network.linear_gradient(token, trace.output, d_logits);
  if (!labels.types.empty()) {
    const Matrix first = first_rows(sequences, trace.output);
    result.type_logits = network.linear(type, first);
    LossAndGradient loss = softmax_cross_entropy(result.type_logits, labels.types);
    const double share = known_types / choices;  // the means over the types become parts of one over all
    result.loss += share * loss.loss;
    for (double& value : loss.gradient.values) value *= share;
    const Matrix d_first = network.linear_gradient(type, first, loss.gradient);
    d_hidden = sum(d_hidden, first_rows_gradient(sequences, d_first));
  }
  stack_backward(network, sequences, trace, d_hidden);
  result.gradients = network.gradients();
  return result;
}

ClassificationResult classification(const EncoderConfig& config, const Parameters& parameters,
                                    const Sequences& sequences, const ClassificationLabels& labels) {
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  const Matrix first = first_rows(sequences, trace.output);
  const Matrix dense = network.linear("classifier.dense", first);
  const Matrix activated = activation_forward(dense, config.activation);
  const Matrix logits = network.linear("classifier.out_proj", activated);

  LossAndGradient loss;
  switch (labels.kind) {
    case ClassificationLoss::cross_entropy:
      loss = softmax_cross_entropy(logits, labels.classes);
      break;
    case ClassificationLoss::binary_cross_entropy:
      loss = binary_cross_entropy_with_logits(logits, labels.targets, labels.positive_weight);
      break;
    case ClassificationLoss::mean_squared_error:
      loss = mean_squared_error(logits, labels.targets);
      break;
  }

  const Matrix d_activated = network.linear_gradient("classifier.out_proj", activated, loss.gradient);
  const Matrix d_first = network.linear_gradient("classifier.dense", first,
                                                 activation_backward(dense, d_activated, config.activation));
  stack_backward(network, sequences, trace, first_rows_gradient(sequences, d_first));
  return {trace.output, logits, loss.loss, network.gradients()};
}

ClassificationResult token_classification(const EncoderConfig& config, const Parameters& parameters,
                                          const Sequences& sequences, const std::vector<std::size_t>& rows,
                                          const std::vector<std::int64_t>& classes) {
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  Matrix read(rows.size(), trace.output.columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < read.columns; ++j) read(i, j) = trace.output(rows[i], j);
  const Matrix logits = network.linear("classifier", read);
  const LossAndGradient loss = softmax_cross_entropy(logits, classes);
  const Matrix d_read = network.linear_gradient("classifier", read, loss.gradient);
  Matrix d_output(trace.output.rows, trace.output.columns);
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j < read.columns; ++j) d_output(rows[i], j) += d_read(i, j);
  stack_backward(network, sequences, trace, d_output);
  return {trace.output, logits, loss.loss, network.gradients()};
}

}  // namespace bigbird::reference
