// The encoder stack; see stack.h.
#include <cmath>
#include <stdexcept>
#include <string>

#include "reference/attention.h"
#include "reference/attention_pairs.h"
#include "reference/routed_attention.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

// ---- Attention over the concatenated tokens: one sequence at a time, (tokens, hidden) <-> (heads, length,
// head size) ----

AttentionShape shape_of(const EncoderConfig& config, const Sequences& sequences, std::size_t sequence) {
  return {config.heads,
          sequences.padded_lengths[sequence] / config.block_size,
          config.block_size,
          config.hidden / config.heads,
          sequences.valid_lengths[sequence],
          sequences.query_lengths.empty() ? 0 : sequences.query_lengths[sequence]};
}

Vector split_heads(const AttentionShape& shape, const Matrix& x, std::size_t first_row) {
  Vector result;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    for (std::size_t i = 0; i < shape.length(); ++i) {
      for (std::size_t d = 0; d < shape.head_size; ++d) {
        result.push_back(x(first_row + i, head * shape.head_size + d));
      }
    }
  }
  return result;
}

void join_heads(const AttentionShape& shape, const Vector& heads, Matrix& x, std::size_t first_row) {
  std::size_t next = 0;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    for (std::size_t i = 0; i < shape.length(); ++i) {
      for (std::size_t d = 0; d < shape.head_size; ++d) {
        x(first_row + i, head * shape.head_size + d) = heads[next++];
      }
    }
  }
}

// Rotary positions, in place; direction -1 turns back, which is the gradient of the turn.
void turn(const EncoderConfig& config, const Sequences& sequences, Matrix& x, double direction) {
  const std::size_t half = config.rotary_dim / 2, head_size = config.hidden / config.heads;
  std::size_t row = 0;
  for (const std::size_t length : sequences.padded_lengths) {
    for (std::size_t position = 0; position < length; ++position, ++row) {
      for (std::size_t i = 0; i < half; ++i) {
        const double angle =
            direction * static_cast<double>(position) *
            std::pow(config.rotary_base, -static_cast<double>(i) / static_cast<double>(half));
        for (std::size_t head = 0; head < config.heads; ++head) {
          double& first = x(row, head * head_size + i);
          double& second = x(row, head * head_size + half + i);
          const double turned = first * std::cos(angle) - second * std::sin(angle);
          second = second * std::cos(angle) + first * std::sin(angle);
          first = turned;
        }
      }
    }
  }
}

FeatureAttention features_of_layer(const Network& network, std::size_t layer) {
  FeatureAttention features = network.config().features;
  const std::string name = "bert.encoder.layer." + std::to_string(layer) + ".attention.self.features.weight";
  const std::size_t size = network.config().hidden / network.config().heads;
  if (network.has(name)) {
    const Vector& all = network.values(name);
    features.projection = Matrix(all.size() / size, size, all);
  }
  return features;
}
// The places of a head's tokens by their queries.
HashedAttention hash_of(const EncoderConfig& config, std::size_t layer, std::size_t head,
                        const Matrix& query) {
  return {
      config.chunk, config.causal_hash,
      hashed_places(query, config.rotations(layer, head), config.bucket_factors(query.rows), config.chunk)};
}
// A layer's centroids of routed heads, [k, D] of each.
struct LayerCentroids {
  std::string sums, counts;  // names
  std::size_t clusters = 0, size = 0;
  std::vector<Matrix> of_head;

  LayerCentroids(const Network& network, std::size_t layer)
      : sums("bert.encoder.layer." + std::to_string(layer) + ".attention.self.centroids.sums"),
        counts("bert.encoder.layer." + std::to_string(layer) + ".attention.self.centroids.counts"),
        size(network.config().hidden / network.config().heads) {
    const Vector &all = network.values(sums), &counted = network.values(counts);
    const std::size_t heads = network.config().heads - network.config().local_heads;
    clusters = counted.size() / heads;
    for (std::size_t head = 0; head < heads; ++head) {
      const auto at = all.begin() + static_cast<std::ptrdiff_t>(head * clusters * size);
      const auto of = counted.begin() + static_cast<std::ptrdiff_t>(head * clusters);
      const auto numbers = static_cast<std::ptrdiff_t>(clusters);
      of_head.push_back(smoothed_centroids(
          Matrix(clusters, size, Vector(at, at + numbers * static_cast<std::ptrdiff_t>(size))),
          Vector(of, of + numbers)));
    }
  }
};
RoutedAttention routes_of(const EncoderConfig& config, const Matrix& centroids, const Matrix& query,
                          const Matrix& key) {
  return {cluster_members(routed_rows(query), centroids, config.cluster_window),
          cluster_members(routed_rows(key), centroids, config.cluster_window), config.causal_routes};
}
PairAttention window_of(const EncoderConfig& config, std::size_t size) {
  PairAttention window;
  window.scale = 1.0 / std::sqrt(static_cast<double>(size));
  window.visible = [side = config.local_window, causal = config.causal_routes](std::size_t i, std::size_t j) {
    return j <= i ? i - j <= side : !causal && j - i <= side;
  };
  return window;
}
// What the rows of a head add to the sums and counts of their nearest centroids.
void add_to_centroids(Network& network, const LayerCentroids& centroids, std::size_t head,
                      const Matrix& rows) {
  Vector sums(network.values(centroids.sums).size(), 0.0),
      counts(network.values(centroids.counts).size(), 0.0);
  const Matrix x = routed_rows(rows);
  const std::vector<std::size_t> nearest = nearest_clusters(x, centroids.of_head[head]);
  for (std::size_t i = 0; i < x.rows; ++i) {
    const std::size_t cluster = head * centroids.clusters + nearest[i];
    counts[cluster] += 1.0;
    for (std::size_t d = 0; d < x.columns; ++d) sums[cluster * centroids.size + d] += x(i, d);
  }
  network.add_gradient(centroids.sums, sums);
  network.add_gradient(centroids.counts, counts);
}

// body(first row, rows, column, columns) for each head of the real tokens of each sequence.
template <typename Body>
void for_heads(const EncoderConfig& config, const Sequences& sequences, const Body& body) {
  const std::size_t size = config.hidden / config.heads;
  std::size_t row = 0;
  for (std::size_t s = 0; s < sequences.padded_lengths.size(); ++s) {
    for (std::size_t head = 0; head < config.heads; ++head)
      body(row, sequences.valid_lengths[s], head * size, size);
    row += sequences.padded_lengths[s];
  }
}

Matrix attention(const Network& network, const Sequences& sequences, std::size_t layer,
                 const Projections& x) {
  const EncoderConfig& config = network.config();
  Matrix context(x.query.rows, x.query.columns);
  if (config.by_features) {
    const FeatureAttention features = features_of_layer(network, layer);
    for_heads(config, sequences,
              [&](std::size_t first, std::size_t count, std::size_t column, std::size_t size) {
                add_rows(context,
                         feature_attention_forward(features, rows_of(x.query, first, count, column, size),
                                                   rows_of(x.key, first, count, column, size),
                                                   rows_of(x.value, first, count, column, size)),
                         first, column);
              });
    return context;
  }
  if (config.by_hash) {
    for_heads(config, sequences,
              [&](std::size_t first, std::size_t count, std::size_t column, std::size_t size) {
                const Matrix query = rows_of(x.query, first, count, column, size);
                add_rows(context,
                         hashed_attention_forward(hash_of(config, layer, column / size, query), query,
                                                  rows_of(x.value, first, count, column, size)),
                         first, column);
              });
    return context;
  }
  if (config.by_routes) {
    const LayerCentroids centroids(network, layer);
    for_heads(config, sequences,
              [&](std::size_t first, std::size_t count, std::size_t column, std::size_t size) {
                const std::size_t head = column / size;
                const Matrix query = rows_of(x.query, first, count, column, size),
                             key = rows_of(x.key, first, count, column, size),
                             value = rows_of(x.value, first, count, column, size);
                if (head < config.local_heads) {
                  const auto out = pair_attention_forward(window_of(config, size), query, key, value);
                  add_rows(context, out.output, first, column);
                  return;
                }
                const RoutedAttention routes =
                    routes_of(config, centroids.of_head[head - config.local_heads], query, key);
                add_rows(context, routed_attention_forward(routes, query, key, value), first, column);
              });
    return context;
  }
  std::size_t row = 0;
  for (std::size_t s = 0; s < sequences.padded_lengths.size(); ++s) {
    const AttentionShape shape = shape_of(config, sequences, s);
    join_heads(shape,
               attention_dense_forward(shape, sequences.plans[s][layer], split_heads(shape, x.query, row),
                                       split_heads(shape, x.key, row), split_heads(shape, x.value, row)),
               context, row);
    row += shape.length();
  }
  return context;
}

Projections attention_gradient(Network& network, const Sequences& sequences, std::size_t layer,
                               const Projections& x, const Matrix& d_context) {
  const EncoderConfig& config = network.config();
  const Matrix zeros(x.query.rows, x.query.columns);
  Projections gradient{zeros, zeros, zeros};
  if (config.by_features) {
    const FeatureAttention features = features_of_layer(network, layer);
    for_heads(config, sequences,
              [&](std::size_t first, std::size_t count, std::size_t column, std::size_t size) {
                const FeatureAttentionGradients of_head = feature_attention_backward(
                    features, rows_of(x.query, first, count, column, size),
                    rows_of(x.key, first, count, column, size), rows_of(x.value, first, count, column, size),
                    rows_of(d_context, first, count, column, size));
                add_rows(gradient.query, of_head.query, first, column);
                add_rows(gradient.key, of_head.key, first, column);
                add_rows(gradient.value, of_head.value, first, column);
              });
    return gradient;
  }
  if (config.by_hash) {
    for_heads(
        config, sequences, [&](std::size_t first, std::size_t count, std::size_t column, std::size_t size) {
          const Matrix query = rows_of(x.query, first, count, column, size);
          const HashedAttentionGradients of_head = hashed_attention_backward(
              hash_of(config, layer, column / size, query), query,
              rows_of(x.value, first, count, column, size), rows_of(d_context, first, count, column, size));
          add_rows(gradient.query, of_head.query, first, column);
          add_rows(gradient.value, of_head.value, first, column);
        });
    return gradient;
  }
  if (config.by_routes) {
    const LayerCentroids centroids(network, layer);
    for_heads(config, sequences,
              [&](std::size_t first, std::size_t count, std::size_t column, std::size_t size) {
                const std::size_t head = column / size;
                const Matrix query = rows_of(x.query, first, count, column, size),
                             key = rows_of(x.key, first, count, column, size),
                             value = rows_of(x.value, first, count, column, size),
                             d_out = rows_of(d_context, first, count, column, size);
                const auto add = [&](const Matrix& d_query, const Matrix& d_key, const Matrix& d_value) {
                  add_rows(gradient.query, d_query, first, column);
                  add_rows(gradient.key, d_key, first, column);
                  add_rows(gradient.value, d_value, first, column);
                };
                if (head < config.local_heads) {
                  const PairAttentionGradients of =
                      pair_attention_backward(window_of(config, size), query, key, value, d_out);
                  return add(of.query, of.key, of.value);
                }
                const std::size_t routed = head - config.local_heads;
                add_to_centroids(network, centroids, routed, query);
                if (!config.causal_routes) add_to_centroids(network, centroids, routed, key);
                const RoutedAttentionGradients of = routed_attention_backward(
                    routes_of(config, centroids.of_head[routed], query, key), query, key, value, d_out);
                add(of.query, of.key, of.value);
              });
    return gradient;
  }
  std::size_t row = 0;
  for (std::size_t s = 0; s < sequences.padded_lengths.size(); ++s) {
    const AttentionShape shape = shape_of(config, sequences, s);
    const AttentionGradients heads = attention_dense_backward(
        shape, sequences.plans[s][layer], split_heads(shape, x.query, row), split_heads(shape, x.key, row),
        split_heads(shape, x.value, row), split_heads(shape, d_context, row));
    join_heads(shape, heads.query, gradient.query, row);
    join_heads(shape, heads.key, gradient.key, row);
    join_heads(shape, heads.value, gradient.value, row);
    row += shape.length();
  }
  return gradient;
}

// ---- One layer ----

struct LayerNames {
  explicit LayerNames(std::size_t layer) : prefix("bert.encoder.layer." + std::to_string(layer) + ".") {}
  std::string prefix;
  std::string query = prefix + "attention.self.query";
  std::string key = prefix + "attention.self.key";
  std::string value = prefix + "attention.self.value";
  std::string attention_output = prefix + "attention.output.dense";
  std::string attention_norm = prefix + "attention.output.LayerNorm";
};

// residual: x itself, or the other one of two streams.
LayerTrace layer_forward(const Network& network, const Sequences& sequences, std::size_t layer,
                         const Matrix& x, const Matrix& residual) {
  const LayerNames names(layer);
  const bool pre = network.config().pre_layer_norm;
  LayerTrace trace;
  trace.input = x;
  trace.attention_input = pre ? network.layer_norm(names.attention_norm, x) : x;
  const Matrix query = network.linear(names.query, trace.attention_input);
  trace.projections = {query,
                       network.config().by_hash ? query : network.linear(names.key, trace.attention_input),
                       network.linear(names.value, trace.attention_input)};
  turn(network.config(), sequences, trace.projections.query, 1.0);
  turn(network.config(), sequences, trace.projections.key, 1.0);
  trace.context = attention(network, sequences, layer, trace.projections);
  trace.attention_sum = sum(residual, network.linear(names.attention_output, trace.context));
  const Matrix middle =
      pre ? trace.attention_sum : network.layer_norm(names.attention_norm, trace.attention_sum);
  trace.feed_forward = feed_forward_forward(network, names.prefix, middle);
  return trace;
}

// The gradient of the layer's input through its attention, without the residual.
Matrix attention_branch_backward(Network& network, const Sequences& sequences, std::size_t layer,
                                 const LayerTrace& trace, const Matrix& d_attention_sum) {
  const LayerNames names(layer);
  const Matrix d_context = network.linear_gradient(names.attention_output, trace.context, d_attention_sum);
  Projections d_projections = attention_gradient(network, sequences, layer, trace.projections, d_context);
  turn(network.config(), sequences, d_projections.query, -1.0);
  turn(network.config(), sequences, d_projections.key, -1.0);
  Matrix d_branch = sum(network.linear_gradient(names.query, trace.attention_input, d_projections.query),
                        network.linear_gradient(names.value, trace.attention_input, d_projections.value));
  if (!network.config().by_hash) {
    d_branch = sum(d_branch, network.linear_gradient(names.key, trace.attention_input, d_projections.key));
  }
  if (network.config().pre_layer_norm)
    d_branch = network.layer_norm_gradient(names.attention_norm, trace.input, d_branch);
  return d_branch;
}

Matrix layer_backward(Network& network, const Sequences& sequences, std::size_t layer,
                      const LayerTrace& trace, const Matrix& d_output) {
  const LayerNames names(layer);
  const bool pre = network.config().pre_layer_norm;
  const Matrix d_middle = feed_forward_backward(network, names.prefix, trace.feed_forward, d_output);
  const Matrix d_attention_sum =
      pre ? d_middle : network.layer_norm_gradient(names.attention_norm, trace.attention_sum, d_middle);
  return sum(d_attention_sum, attention_branch_backward(network, sequences, layer, trace, d_attention_sum));
}

// ---- Two streams ----

Matrix difference(const Matrix& a, const Matrix& b) {
  Matrix result = a;
  for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] -= b.values[i];
  return result;
}

// first += attention(LN second), second += feed_forward(LN first): a layer's output is the second one.
void streams_forward(const Network& network, const Sequences& sequences, StackTrace& trace) {
  Matrix first = trace.stack_input, second = trace.stack_input;
  for (std::size_t layer = 0; layer < network.config().layers; ++layer) {
    LayerTrace& of = trace.layers.emplace_back(layer_forward(network, sequences, layer, second, first));
    first = of.attention_sum;
    second = sum(second, difference(of.feed_forward.output, first));
    of.feed_forward.output = second;
  }
  trace.joined = Matrix(first.rows, 2 * first.columns);
  add_rows(trace.joined, first, 0, 0);
  add_rows(trace.joined, second, 0, first.columns);
}

// The gradient of the stack's input.
Matrix streams_backward(Network& network, const Sequences& sequences, const StackTrace& trace,
                        const Matrix& d_joined) {
  const std::size_t columns = d_joined.columns / 2;
  Matrix d_first = rows_of(d_joined, 0, d_joined.rows, 0, columns),
         d_second = rows_of(d_joined, 0, d_joined.rows, columns, columns);
  for (std::size_t layer = trace.layers.size(); layer-- > 0;) {
    const LayerTrace& of = trace.layers[layer];
    const Matrix d_both = feed_forward_backward(network, LayerNames(layer).prefix, of.feed_forward, d_second);
    d_first = sum(d_first, difference(d_both, d_second));  // without the residual
    d_second = sum(d_second, attention_branch_backward(network, sequences, layer, of, d_first));
  }
  return sum(d_first, d_second);
}

// ---- The stack ----

const std::string type_table = "bert.embeddings.token_type_embeddings.weight";
const std::string position_table = "bert.embeddings.position_embeddings.weight";

// Zeros where the model has no token types, or no position table.
Matrix types_table(const Network& network) {
  return network.has(type_table) ? network.table(type_table) : Matrix(1, network.config().hidden);
}
Matrix positions_table(const Network& network) {
  if (network.has(position_table)) return network.table(position_table);
  return Matrix(network.config().positions, network.config().hidden);
}

bool has_norm(const Network& network, const std::string& name) {
  return network.has(name + ".weight");
}

void check_sequences(const EncoderConfig& config, const Sequences& sequences) {
  std::size_t tokens = 0;
  for (const std::size_t length : sequences.padded_lengths) {
    if (length % config.block_size != 0)
      throw std::invalid_argument("a length that is not a multiple of the block size");
    tokens += length;
  }
  if (sequences.ids.size() != tokens || sequences.types.size() != tokens ||
      sequences.valid_lengths.size() != sequences.padded_lengths.size() ||
      sequences.plans.size() != sequences.padded_lengths.size()) {
    throw std::invalid_argument("sequences that contradict themselves");
  }
  for (const auto& plans : sequences.plans) {
    if (plans.size() != config.layers) throw std::invalid_argument("one attention plan per layer");
  }
}

// ---- The stem ----

const std::string stem_convolution = "bert.embeddings.stem.convolution";
const std::string stem_dense = "bert.embeddings.stem.dense";

LetterFilters filters_of(const Network& network) {
  const EncoderConfig& config = network.config();
  return {config.stem_kernel, config.vocabulary, network.values(stem_convolution + ".bias").size(),
          network.values(stem_convolution + ".weight"), network.values(stem_convolution + ".bias")};
}

// use(first letter, ids of the sequence, letters that are no padding, all letters) of every sequence.
template <typename Use>
void for_each_sequence(const EncoderConfig& config, const Sequences& sequences, const Use& use) {
  std::size_t first = 0;
  for (std::size_t s = 0; s < sequences.padded_lengths.size(); ++s) {
    const std::size_t rows = sequences.padded_lengths[s] * config.stem_stride;
    const auto begin = sequences.letters.begin() + static_cast<std::ptrdiff_t>(first);
    use(first, std::vector<std::size_t>(begin, begin + static_cast<std::ptrdiff_t>(rows)),
        sequences.letter_counts[s], rows);
    first += rows;
  }
}

void stem_forward(const Network& network, const Sequences& sequences, StackTrace& trace) {
  const EncoderConfig& config = network.config();
  const LetterFilters filters = filters_of(network);
  trace.letters = Matrix(sequences.letters.size(), filters.channels);
  for_each_sequence(
      config, sequences,
      [&](std::size_t first, const std::vector<std::size_t>& ids, std::size_t letters, std::size_t rows) {
        const Matrix y = letters_forward(filters, ids, letters, rows);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t c = 0; c < filters.channels; ++c) trace.letters(first + i, c) = y(i, c);
        }
      });
  trace.letters_activated = activation_forward(trace.letters, config.activation);
  trace.embedded = network.linear(
      stem_dense, Matrix(sequences.letters.size() / config.stem_stride, config.stem_stride * filters.channels,
                         trace.letters_activated.values));
}

void stem_backward(Network& network, const Sequences& sequences, const StackTrace& trace, const Matrix& d_x) {
  const EncoderConfig& config = network.config();
  const LetterFilters filters = filters_of(network);
  const Matrix d_wide = network.linear_gradient(
      stem_dense, Matrix(d_x.rows, config.stem_stride * filters.channels, trace.letters_activated.values),
      d_x);
  const Matrix d_letters = activation_backward(
      trace.letters, Matrix(trace.letters.rows, filters.channels, d_wide.values), config.activation);
  for_each_sequence(
      config, sequences,
      [&](std::size_t first, const std::vector<std::size_t>& ids, std::size_t letters, std::size_t rows) {
        Matrix part(rows, filters.channels);
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t c = 0; c < filters.channels; ++c) part(i, c) = d_letters(first + i, c);
        }
        const LetterGradients gradients = letters_backward(filters, ids, letters, part);
        network.add_gradient(stem_convolution + ".weight", gradients.tables);
        network.add_gradient(stem_convolution + ".bias", gradients.bias);
      });
}

std::vector<std::size_t> positions_of(const Sequences& sequences) {
  std::vector<std::size_t> positions;
  for (const std::size_t length : sequences.padded_lengths) {
    for (std::size_t i = 0; i < length; ++i) positions.push_back(i);
  }
  return positions;
}

// By which token dropout multiplies the rows of the word table; empty without it.
Vector word_scales(const EncoderConfig& config, const Sequences& sequences) {
  if (!config.token_dropout) return {};
  const std::vector<std::size_t>& counted =
      sequences.query_lengths.empty() ? sequences.valid_lengths : sequences.query_lengths;
  return token_dropout_scales(sequences.ids, sequences.padded_lengths, counted, config.mask_token);
}

}  // namespace

FeedForwardTrace feed_forward_forward(const Network& network, const std::string& prefix, const Matrix& x) {
  const std::string norm = prefix + "output.LayerNorm";
  const bool pre = network.config().pre_layer_norm;
  FeedForwardTrace trace;
  trace.input = x;
  trace.normalised = pre ? network.layer_norm(norm, x) : x;
  trace.intermediate = network.linear(prefix + "intermediate.dense", trace.normalised);
  const Activation form = network.config().activation;
  trace.activated = network.config().gated ? gated_forward(trace.intermediate, form)
                                           : activation_forward(trace.intermediate, form);
  trace.sum = sum(x, network.linear(prefix + "output.dense", trace.activated));
  trace.output = pre ? trace.sum : network.layer_norm(norm, trace.sum);
  return trace;
}

Matrix feed_forward_backward(Network& network, const std::string& prefix, const FeedForwardTrace& trace,
                             const Matrix& d_output) {
  const std::string norm = prefix + "output.LayerNorm";
  const bool pre = network.config().pre_layer_norm;
  const Matrix d_sum = pre ? d_output : network.layer_norm_gradient(norm, trace.sum, d_output);
  const Matrix d_activated = network.linear_gradient(prefix + "output.dense", trace.activated, d_sum);
  const Activation form = network.config().activation;
  const Matrix d_intermediate = network.config().gated
                                    ? gated_backward(trace.intermediate, d_activated, form)
                                    : activation_backward(trace.intermediate, d_activated, form);
  Matrix d_branch = network.linear_gradient(prefix + "intermediate.dense", trace.normalised, d_intermediate);
  if (pre) d_branch = network.layer_norm_gradient(norm, trace.input, d_branch);
  return sum(d_sum, d_branch);
}

SpreadTrace spread_forward(const Network& network, const Matrix& rows) {
  const EncoderConfig& config = network.config();
  const Matrix wide = network.linear("cls.predictions.spread", rows);
  SpreadTrace trace;
  trace.pre = Matrix(rows.rows * config.stem_stride, config.hidden, wide.values);
  trace.output = activation_forward(trace.pre, config.activation);
  return trace;
}

Matrix spread_backward(Network& network, const Matrix& rows, const SpreadTrace& trace,
                       const Matrix& d_output) {
  const EncoderConfig& config = network.config();
  const Matrix d_pre = activation_backward(trace.pre, d_output, config.activation);
  return network.linear_gradient("cls.predictions.spread", rows,
                                 Matrix(rows.rows, config.stem_stride * config.hidden, d_pre.values));
}

double word_scale(const EncoderConfig& config) {
  return config.rescale_embeddings ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
}

StackTrace stack_forward(const Network& network, const Sequences& sequences) {
  check_sequences(network.config(), sequences);
  StackTrace trace;
  if (network.config().stem_stride > 0) stem_forward(network, sequences, trace);
  if (network.config().stem_stride == 0)
    trace.embedded =
        embedding_forward(network.table(word_table), types_table(network), positions_table(network),
                          word_scale(network.config()), sequences.ids, sequences.types,
                          positions_of(sequences), word_scales(network.config(), sequences));
  trace.stack_input = has_norm(network, embedding_layer_norm)
                          ? network.layer_norm(embedding_layer_norm, trace.embedded)
                          : trace.embedded;
  Matrix x = trace.stack_input;
  for (std::size_t layer = 0; layer < network.config().layers && !network.config().reversible; ++layer) {
    trace.layers.push_back(layer_forward(network, sequences, layer, x, x));
    x = trace.layers.back().feed_forward.output;
  }
  if (network.config().reversible) {
    streams_forward(network, sequences, trace);
    x = trace.joined;
  }
  trace.output = has_norm(network, final_layer_norm) ? network.layer_norm(final_layer_norm, x) : x;
  return trace;
}

void stack_backward(Network& network, const Sequences& sequences, const StackTrace& trace,
                    const Matrix& d_output) {
  const bool reversible = network.config().reversible;
  const Matrix& stack_output = reversible             ? trace.joined
                               : trace.layers.empty() ? trace.stack_input
                                                      : trace.layers.back().feed_forward.output;
  Matrix d_x = has_norm(network, final_layer_norm)
                   ? network.layer_norm_gradient(final_layer_norm, stack_output, d_output)
                   : d_output;
  if (reversible) d_x = streams_backward(network, sequences, trace, d_x);
  for (std::size_t layer = reversible ? 0 : trace.layers.size(); layer-- > 0;) {
    d_x = layer_backward(network, sequences, layer, trace.layers[layer], d_x);
  }
  if (has_norm(network, embedding_layer_norm)) {
    d_x = network.layer_norm_gradient(embedding_layer_norm, trace.embedded, d_x);
  }
  if (network.config().stem_stride > 0) return stem_backward(network, sequences, trace, d_x);
  const EmbeddingGradients tables = embedding_backward(
      network.table(word_table), types_table(network), positions_table(network), word_scale(network.config()),
      sequences.ids, sequences.types, positions_of(sequences), d_x, word_scales(network.config(), sequences));
  network.add_gradient(word_table, tables.word.values);
  if (network.has(type_table)) network.add_gradient(type_table, tables.type.values);
  if (network.has(position_table)) network.add_gradient(position_table, tables.position.values);
}

}  // namespace bigbird::reference
