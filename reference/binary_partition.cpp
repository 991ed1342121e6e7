// See binary_partition.h.
#include "reference/binary_partition.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/attention_pairs.h"
#include "reference/stack.h"

namespace bigbird::reference {
namespace {

struct PartitionTrace {
  Matrix input, query, key, value, context, sum;
  FeedForwardTrace feed_forward;
};

std::string attention_of(std::size_t layer) {
  return "bert.encoder.layer." + std::to_string(layer) + ".attention.";
}

// [query][key] the label of a pair that meets, or -1.
std::vector<std::vector<int>> labels_of_pairs(std::size_t tokens, const PartitionConfig& config) {
  const auto pairs = partition_pairs(tokens, config);
  std::vector<std::vector<int>> labels(pairs.size(), std::vector<int>(pairs.size(), -1));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (const PartitionPair& pair : pairs[i]) labels[i][pair.node] = static_cast<int>(pair.label);
  }
  return labels;
}

PairAttention partition_attention(const PartitionConfig& config, const Network& network, std::size_t layer,
                                  const std::vector<std::vector<int>>& labels) {
  const std::size_t size = config.encoder.hidden / config.encoder.heads;
  PairAttention pairs;
  pairs.scale = 1.0 / std::sqrt(static_cast<double>(size));
  pairs.visible = [&labels](std::size_t i, std::size_t j) { return labels[i][j] >= 0; };
  pairs.label = [&labels](std::size_t i, std::size_t j) { return static_cast<std::size_t>(labels[i][j]); };
  const Vector& table = network.values(attention_of(layer) + "self.relative.weight");
  pairs.weight = Matrix(table.size() / size, size, table);
  return pairs;
}

PartitionTrace partition_layer(const PartitionConfig& config, const Network& network, std::size_t layer,
                               const std::vector<std::vector<int>>& labels, const Matrix& input) {
  const std::string attention = attention_of(layer);
  const std::size_t size = config.encoder.hidden / config.encoder.heads;
  PartitionTrace trace;
  trace.input = input;
  trace.query = network.linear(attention + "self.query", input);
  trace.key = network.linear(attention + "self.key", input);
  trace.value = network.linear(attention + "self.value", input);
  trace.context = Matrix(input.rows, input.columns);
  const PairAttention pairs = partition_attention(config, network, layer, labels);
  for (std::size_t head = 0; head < config.encoder.heads; ++head) {
    const auto of_head = [&](const Matrix& x) { return rows_of(x, 0, x.rows, head * size, size); };
    add_rows(
        trace.context,
        pair_attention_forward(pairs, of_head(trace.query), of_head(trace.key), of_head(trace.value)).output,
        0, head * size);
  }
  trace.sum = sum(input, network.linear(attention + "output.dense", trace.context));
  trace.feed_forward = feed_forward_forward(network, "bert.encoder.layer." + std::to_string(layer) + ".",
                                            network.layer_norm(attention + "output.LayerNorm", trace.sum));
  return trace;
}

// The gradient of the layer's input.
Matrix partition_layer_backward(const PartitionConfig& config, Network& network, std::size_t layer,
                                const std::vector<std::vector<int>>& labels, const PartitionTrace& trace,
                                const Matrix& d_output) {
  const std::string attention = attention_of(layer);
  const std::size_t size = config.encoder.hidden / config.encoder.heads;
  const Matrix d_norm = feed_forward_backward(network, "bert.encoder.layer." + std::to_string(layer) + ".",
                                              trace.feed_forward, d_output);
  Matrix d_input = network.layer_norm_gradient(attention + "output.LayerNorm", trace.sum, d_norm);
  const Matrix d_context = network.linear_gradient(attention + "output.dense", trace.context, d_input);
  Matrix d_query(trace.query.rows, trace.query.columns), d_key = d_query, d_value = d_query;
  const PairAttention pairs = partition_attention(config, network, layer, labels);
  for (std::size_t head = 0; head < config.encoder.heads; ++head) {
    const auto of_head = [&](const Matrix& x) { return rows_of(x, 0, x.rows, head * size, size); };
    const PairAttentionGradients made = pair_attention_backward(
        pairs, of_head(trace.query), of_head(trace.key), of_head(trace.value), of_head(d_context));
    add_rows(d_query, made.query, 0, head * size);
    add_rows(d_key, made.key, 0, head * size);
    add_rows(d_value, made.value, 0, head * size);
    network.add_gradient(attention + "self.relative.weight", made.weight.values);
  }
  d_input = sum(d_input, network.linear_gradient(attention + "self.query", trace.input, d_query));
  d_input = sum(d_input, network.linear_gradient(attention + "self.key", trace.input, d_key));
  return sum(d_input, network.linear_gradient(attention + "self.value", trace.input, d_value));
}

struct PartitionStack {
  std::vector<std::vector<int>> labels;
  Matrix embedded;  // (tokens, hidden), before the LayerNorm
  std::vector<PartitionTrace> layers;
};
PartitionStack partition_stack(const PartitionConfig& config, const Network& network,
                               const std::vector<std::size_t>& ids, std::vector<Matrix>& states) {
  PartitionStack stack{labels_of_pairs(ids.size(), config), Matrix(ids.size(), config.encoder.hidden), {}};
  const Matrix words = network.table(word_table);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t d = 0; d < words.columns; ++d) stack.embedded(i, d) = words(ids[i], d);
  }
  states.emplace_back(stack.labels.size(), config.encoder.hidden);
  add_rows(states.back(), network.layer_norm(embedding_layer_norm, stack.embedded), 0, 0);
  for (std::size_t layer = 0; layer < config.encoder.layers; ++layer) {
    stack.layers.push_back(partition_layer(config, network, layer, stack.labels, states.back()));
    states.push_back(stack.layers.back().feed_forward.output);
  }
  return stack;
}

}  // namespace

std::vector<std::vector<PartitionPair>> partition_pairs(std::size_t tokens, const PartitionConfig& config) {
  std::vector<std::size_t> sizes{tokens}, begins{0};
  while (sizes.back() > 1) {
    begins.push_back(begins.back() + sizes.back());
    sizes.push_back((sizes.back() + 1) / 2);
  }
  const auto label = [&](std::size_t level, std::size_t place) {
    return (2 * config.contextual + 1) * std::min(level, config.clip_levels) + place;
  };
  std::vector<std::vector<PartitionPair>> pairs;
  for (std::size_t leaf = 0; leaf < tokens; ++leaf) {
    std::vector<PartitionPair>& own = pairs.emplace_back();
    own.push_back({leaf, 0});
    // The next nodes to both sides; `left` may be -1. A node of which one child was seen before gives its
    // other child, of the level below, where there is that child.
    auto left = static_cast<std::ptrdiff_t>(leaf) - 1, right = static_cast<std::ptrdiff_t>(leaf) + 1;
    bool left_half = false, right_half = false;
    for (std::size_t level = 0; level < sizes.size(); ++level) {
      const auto size = static_cast<std::ptrdiff_t>(sizes[level]);
      for (std::size_t t = 0; t < config.contextual; ++t) {
        const auto see = [&](std::size_t of, std::ptrdiff_t node, std::size_t place) {
          own.push_back({begins[of] + static_cast<std::size_t>(node), label(level, place)});
        };
        if (!config.causal && right < size) {
          const std::ptrdiff_t child = 2 * right + 1;
          if (!(t == 0 && right_half)) {
            see(level, right, 2 * t + 2);
          } else if (child < static_cast<std::ptrdiff_t>(sizes[level - 1])) {
            see(level - 1, child, 2 * t + 2);
          }
        }
        ++right;
        if (left >= 0) {
          if (t == 0 && left_half) {
            see(level - 1, 2 * left, 2 * t + 1);
          } else {
            see(level, left, 2 * t + 1);
          }
          --left;
        }
      }
      left_half = left >= 0 && left % 2 == 0;
      right_half = right % 2 == 1;
      left = left < 0 ? -1 : left / 2;
      right /= 2;
    }
  }
  for (std::size_t level = 1; level < sizes.size(); ++level) {
    const std::size_t leaves = std::size_t{1} << level;
    for (std::size_t node = 0; node < sizes[level]; ++node) {
      std::vector<PartitionPair>& own = pairs.emplace_back();
      for (std::size_t leaf = node * leaves; leaf < std::min((node + 1) * leaves, tokens); ++leaf)
        own.push_back({leaf, label(level, 0)});
    }
  }
  return pairs;
}

std::vector<Matrix> partition_forward(const PartitionConfig& config, const Parameters& parameters,
                                      const std::vector<std::size_t>& ids) {
  const Network network(config.encoder, parameters);
  std::vector<Matrix> states;
  partition_stack(config, network, ids, states);
  return states;
}

Parameters partition_backward(const PartitionConfig& config, const Parameters& parameters,
                              const std::vector<std::size_t>& ids, const Matrix& d_last) {
  Network network(config.encoder, parameters);
  std::vector<Matrix> states;
  const PartitionStack stack = partition_stack(config, network, ids, states);
  Matrix d_states = d_last;
  for (std::size_t layer = config.encoder.layers; layer-- > 0;) {
    d_states = partition_layer_backward(config, network, layer, stack.labels, stack.layers[layer], d_states);
  }
  const Matrix d_embedded = network.layer_norm_gradient(
      embedding_layer_norm, stack.embedded, rows_of(d_states, 0, ids.size(), 0, d_states.columns));
  Vector d_words(network.values(word_table).size(), 0.0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t d = 0; d < d_embedded.columns; ++d)
      d_words[ids[i] * d_embedded.columns + d] += d_embedded(i, d);
  }
  network.add_gradient(word_table, d_words);
  return network.gradients();
}

}  // namespace bigbird::reference
