// The heads on the encoder stack; see encoder.h.
#include "reference/layers.h"
#include "reference/losses.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

// The first row of every sequence: [CLS].
Matrix first_rows(const Sequences& sequences, const Matrix& x) {
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
  std::size_t row = 0;
  for (std::size_t s = 0; s < d_first.rows; ++s) {
    for (std::size_t j = 0; j < d_first.columns; ++j) result(row, j) = d_first(s, j);
    row += sequences.padded_lengths[s];
  }
  return result;
}

}  // namespace

PretrainingResult pretraining(const EncoderConfig& config, const Parameters& parameters,
                              const Sequences& sequences, const PretrainingLabels& labels) {
  const std::string transform = "cls.predictions.transform.dense";
  const std::string transform_norm = "cls.predictions.transform.LayerNorm";
  const std::string decoder_bias = "cls.predictions.bias";
  const std::string pooler = "bert.pooler";
  const std::string relationship = "cls.seq_relationship";

  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);

  const Matrix transformed = network.linear(transform, trace.output);
  const Matrix activated = gelu_forward(transformed, config.activation);
  const Matrix decoder_input = network.layer_norm(transform_norm, activated);
  const Matrix logits =
      linear_forward(decoder_input, network.values(word_table), network.values(decoder_bias));
  const LossAndGradient masked = softmax_cross_entropy(logits, labels.masked);

  const Matrix first = first_rows(sequences, trace.output);
  const Matrix pooler_sum = network.linear(pooler, first);
  const Matrix pooled = tanh_forward(pooler_sum);
  const Matrix relationship_logits = network.linear(relationship, pooled);
  const LossAndGradient next_sentence = softmax_cross_entropy(relationship_logits, labels.next_sentence);

  const LinearGradients decoder = linear_backward(decoder_input, network.values(word_table), masked.gradient);
  network.add_gradient(word_table, decoder.weight);
  network.add_gradient(decoder_bias, decoder.bias);
  const Matrix d_activated = network.layer_norm_gradient(transform_norm, activated, decoder.x);
  const Matrix d_from_masked = network.linear_gradient(
      transform, trace.output, gelu_backward(transformed, d_activated, config.activation));
  const Matrix d_pooled = network.linear_gradient(relationship, pooled, next_sentence.gradient);
  const Matrix d_first = network.linear_gradient(pooler, first, tanh_backward(pooler_sum, d_pooled));
  stack_backward(network, sequences, trace, sum(d_from_masked, first_rows_gradient(sequences, d_first)));

  PretrainingResult result;
  result.hidden_states.push_back(trace.stack_input);
  for (const LayerTrace& layer : trace.layers) result.hidden_states.push_back(layer.output);
  result.last_hidden_state = trace.output;
  result.pooled = pooled;
  result.prediction_logits = logits;
  result.relationship_logits = relationship_logits;
  result.masked_loss = masked.loss;
  result.next_sentence_loss = next_sentence.loss;
  result.loss = masked.loss + next_sentence.loss;
  result.gradients = network.gradients();
  return result;
}

ClassificationResult classification(const EncoderConfig& config, const Parameters& parameters,
                                    const Sequences& sequences, const ClassificationLabels& labels) {
  Network network(config, parameters);
  const StackTrace trace = stack_forward(network, sequences);
  const Matrix first = first_rows(sequences, trace.output);
  const Matrix dense = network.linear("classifier.dense", first);
  const Matrix activated = gelu_forward(dense, config.activation);
  const Matrix logits = network.linear("classifier.out_proj", activated);

  LossAndGradient loss;
  switch (labels.kind) {
    case ClassificationLoss::cross_entropy:
      loss = softmax_cross_entropy(logits, labels.classes);
      break;
    case ClassificationLoss::binary_cross_entropy:
      loss = binary_cross_entropy_with_logits(logits, labels.targets);
      break;
    case ClassificationLoss::mean_squared_error:
      loss = mean_squared_error(logits, labels.targets);
      break;
  }

  const Matrix d_activated = network.linear_gradient("classifier.out_proj", activated, loss.gradient);
  const Matrix d_first = network.linear_gradient("classifier.dense", first,
                                                 gelu_backward(dense, d_activated, config.activation));
  stack_backward(network, sequences, trace, first_rows_gradient(sequences, d_first));
  return {trace.output, logits, loss.loss, network.gradients()};
}

}  // namespace bigbird::reference
