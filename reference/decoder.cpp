// The decoder on the encoder stack; see decoder.h.
#include "reference/decoder.h"

#include <stdexcept>
#include <string>

#include "reference/attention.h"
#include "reference/losses.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

const std::string logits_bias = "final_logits_bias";

// ---- One attention, over the rows of its own stack or of the encoder ----

struct AttentionNames {
  std::string query, key, value, output, norm;
};

AttentionNames attention_names(const std::string& projections, const std::string& output) {
  return {projections + ".query", projections + ".key", projections + ".value", output + ".dense",
          output + ".LayerNorm"};
}

struct DecoderLayerNames {
  DecoderLayerNames(const EncoderDecoderConfig& config, std::size_t layer)
      : prefix((config.coupled ? "bert.encoder.layer." : "decoder.layer.") + std::to_string(layer) + "."),
        self(attention_names(prefix + "attention.self", prefix + "attention.output")),
        cross(config.coupled
                  ? attention_names(prefix + "attention.encdec", prefix + "attention.encdec_output")
                  : attention_names(prefix + "crossattention.self", prefix + "crossattention.output")) {}
  std::string prefix;
  AttentionNames self, cross;
};

// Where the rows of each sequence begin, those of queries and those of keys, and how many of the keys exist.
struct Rows {
  std::vector<std::size_t> query_counts, key_counts, keys_seen;
};

Matrix part(const Matrix& x, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns) {
  Matrix result(rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result(i, j) = x(row + i, column + j);
  }
  return result;
}

void set_part(Matrix& x, std::size_t row, std::size_t column, const Matrix& from) {
  for (std::size_t i = 0; i < from.rows; ++i) {
    for (std::size_t j = 0; j < from.columns; ++j) x(row + i, column + j) = from(i, j);
  }
}

// work(shape, rows of queries from, rows of keys from, columns from, query, key, value) for every head of
// every sequence.
template <typename Work>
void for_every_head(const Rows& rows, std::size_t heads, bool causal, const Projections& x,
                    const Work& work) {
  const std::size_t size = x.query.columns / heads;
  std::size_t query = 0, key = 0;
  for (std::size_t s = 0; s < rows.query_counts.size(); ++s) {
    const CrossAttentionShape shape{rows.keys_seen[s], causal};
    for (std::size_t column = 0; column < x.query.columns; column += size) {
      work(shape, query, key, column, part(x.query, query, rows.query_counts[s], column, size),
           part(x.key, key, rows.key_counts[s], column, size),
           part(x.value, key, rows.key_counts[s], column, size));
    }
    query += rows.query_counts[s];
    key += rows.key_counts[s];
  }
}

struct AttentionTrace {
  Matrix input;
  Matrix normalised;  // input, or its LayerNorm for pre-LN
  Projections projections;
  Matrix context;
  Matrix sum;
  Matrix output;
};

// Over the rows of `memory`, or causal over its own when there is none.
AttentionTrace attention_forward(const Network& network, const AttentionNames& names, const Rows& rows,
                                 std::size_t heads, const Matrix& x, const Matrix* memory) {
  const bool pre = network.config().pre_layer_norm;
  AttentionTrace trace;
  trace.input = x;
  trace.normalised = pre ? network.layer_norm(names.norm, x) : x;
  const Matrix& read = memory == nullptr ? trace.normalised : *memory;
  trace.projections = {network.linear(names.query, trace.normalised), network.linear(names.key, read),
                       network.linear(names.value, read)};
  trace.context = Matrix(x.rows, x.columns);
  for_every_head(rows, heads, memory == nullptr, trace.projections,
                 [&](const CrossAttentionShape& shape, std::size_t query_row, std::size_t, std::size_t column,
                     const Matrix& query, const Matrix& key, const Matrix& value) {
                   set_part(trace.context, query_row, column,
                            cross_attention_forward(shape, query, key, value));
                 });
  trace.sum = sum(x, network.linear(names.output, trace.context));
  trace.output = pre ? trace.sum : network.layer_norm(names.norm, trace.sum);
  return trace;
}

// The gradient of the input; that of `memory` is added to d_memory.
Matrix attention_backward(Network& network, const AttentionNames& names, const Rows& rows, std::size_t heads,
                          const AttentionTrace& trace, const Matrix& d_output, const Matrix* memory,
                          Matrix* d_memory) {
  const bool pre = network.config().pre_layer_norm;
  const Matrix d_sum = pre ? d_output : network.layer_norm_gradient(names.norm, trace.sum, d_output);
  const Matrix d_context = network.linear_gradient(names.output, trace.context, d_sum);
  const Projections& x = trace.projections;
  Projections d{Matrix(x.query.rows, x.query.columns), Matrix(x.key.rows, x.key.columns),
                Matrix(x.value.rows, x.value.columns)};
  for_every_head(rows, heads, memory == nullptr, x,
                 [&](const CrossAttentionShape& shape, std::size_t query_row, std::size_t key_row,
                     std::size_t column, const Matrix& query, const Matrix& key, const Matrix& value) {
                   const CrossAttentionGradients of = cross_attention_backward(
                       shape, query, key, value,
                       part(d_context, query_row, query.rows, column, query.columns));
                   set_part(d.query, query_row, column, of.query);
                   set_part(d.key, key_row, column, of.key);
                   set_part(d.value, key_row, column, of.value);
                 });
  const Matrix& read = memory == nullptr ? trace.normalised : *memory;
  Matrix d_branch = network.linear_gradient(names.query, trace.normalised, d.query);
  const Matrix d_read = sum(network.linear_gradient(names.key, read, d.key),
                            network.linear_gradient(names.value, read, d.value));
  if (memory == nullptr) {
    d_branch = sum(d_branch, d_read);
  } else {
    *d_memory = sum(*d_memory, d_read);
  }
  if (pre) d_branch = network.layer_norm_gradient(names.norm, trace.input, d_branch);
  return sum(d_sum, d_branch);
}

// ---- The stack ----

struct DecoderLayerTrace {
  AttentionTrace self, cross;
  FeedForwardTrace feed_forward;
};

struct EmbeddingNames {
  explicit EmbeddingNames(bool coupled) : prefix(coupled ? "bert.embeddings." : "decoder.embeddings.") {}
  std::string prefix;
  std::string position = prefix + "position_embeddings.weight";
  std::string norm = prefix + "LayerNorm";
};

std::vector<std::size_t> positions_of(const DecoderTargets& targets) {
  std::vector<std::size_t> positions;
  for (const std::size_t length : targets.lengths) {
    for (std::size_t i = 0; i < length; ++i) positions.push_back(i);
  }
  if (positions.size() != targets.ids.size() || targets.labels.size() != targets.ids.size())
    throw std::invalid_argument("targets that contradict themselves");
  return positions;
}

GenerationResult generated(const EncoderDecoderConfig& config, const Parameters& parameters,
                           const Sequences& sequences, const DecoderTargets& targets, bool with_gradients) {
  Network network(config.encoder, parameters);
  const StackTrace encoder = stack_forward(network, sequences);
  const Rows self_rows{targets.lengths, targets.lengths, targets.lengths};
  const Rows cross_rows{targets.lengths, sequences.padded_lengths, sequences.valid_lengths};

  const EmbeddingNames names(config.coupled);
  const std::string final_norm = "decoder.LayerNorm";
  const std::vector<std::size_t> positions = positions_of(targets);
  const std::vector<std::size_t> no_types(targets.ids.size(), 0);
  const Matrix no_type(1, config.encoder.hidden);
  const double scale = word_scale(config.encoder);
  const Matrix embedded = embedding_forward(network.table(word_table), no_type, network.table(names.position),
                                            scale, targets.ids, no_types, positions);
  const bool embedding_norm = network.has(names.norm + ".weight");
  Matrix x = embedding_norm ? network.layer_norm(names.norm, embedded) : embedded;
  std::vector<DecoderLayerTrace> layers;
  for (std::size_t layer = 0; layer < config.layers; ++layer) {
    const DecoderLayerNames of(config, layer);
    DecoderLayerTrace trace;
    trace.self = attention_forward(network, of.self, self_rows, config.heads, x, nullptr);
    trace.cross =
        attention_forward(network, of.cross, cross_rows, config.heads, trace.self.output, &encoder.output);
    trace.feed_forward = feed_forward_forward(network, of.prefix, trace.cross.output);
    x = trace.feed_forward.output;
    layers.push_back(std::move(trace));
  }
  const bool has_final_norm = network.has(final_norm + ".weight");
  GenerationResult result;
  result.encoder_state = encoder.output;
  result.decoder_state = has_final_norm ? network.layer_norm(final_norm, x) : x;
  result.logits = linear_forward(result.decoder_state, network.values(word_table),
                                 network.has(logits_bias) ? network.values(logits_bias) : Vector());
  const LossAndGradient loss = smoothed_cross_entropy(result.logits, targets.labels, targets.shares);
  result.loss = loss.loss;
  if (!with_gradients) return result;

  const LinearGradients output =
      linear_backward(result.decoder_state, network.values(word_table), loss.gradient);
  network.add_gradient(word_table, output.weight);
  if (network.has(logits_bias)) network.add_gradient(logits_bias, output.bias);
  Matrix d_x = has_final_norm ? network.layer_norm_gradient(final_norm, x, output.x) : output.x;
  Matrix d_encoder(encoder.output.rows, encoder.output.columns);
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    const DecoderLayerNames of(config, layer);
    const DecoderLayerTrace& trace = layers[layer];
    d_x = feed_forward_backward(network, of.prefix, trace.feed_forward, d_x);
    d_x = attention_backward(network, of.cross, cross_rows, config.heads, trace.cross, d_x, &encoder.output,
                             &d_encoder);
    d_x = attention_backward(network, of.self, self_rows, config.heads, trace.self, d_x, nullptr, nullptr);
  }
  if (embedding_norm) d_x = network.layer_norm_gradient(names.norm, embedded, d_x);
  const EmbeddingGradients tables =
      embedding_backward(network.table(word_table), no_type, network.table(names.position), scale,
                         targets.ids, no_types, positions, d_x);
  network.add_gradient(word_table, tables.word.values);
  network.add_gradient(names.position, tables.position.values);
  stack_backward(network, sequences, encoder, d_encoder);
  result.gradients = network.gradients();
  return result;
}

}  // namespace

GenerationResult generation(const EncoderDecoderConfig& config, const Parameters& parameters,
                            const Sequences& sequences, const DecoderTargets& targets) {
  return generated(config, parameters, sequences, targets, true);
}

double generation_loss(const EncoderDecoderConfig& config, const Parameters& parameters,
                       const Sequences& sequences, const DecoderTargets& targets) {
  return generated(config, parameters, sequences, targets, false).loss;
}

}  // namespace bigbird::reference
