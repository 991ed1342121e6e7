// See recurrent.h.
#include "reference/recurrent.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "reference/stack.h"

namespace bigbird::reference {
namespace {

Matrix columns_of(const Matrix& x, std::size_t first, std::size_t count) {
  Matrix result(x.rows, count);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t j = 0; j < count; ++j) result(i, j) = x(i, first + j);
  }
  return result;
}
void put_columns(Matrix& x, const Matrix& part, std::size_t first) {
  for (std::size_t i = 0; i < part.rows; ++i) {
    for (std::size_t j = 0; j < part.columns; ++j) x(i, first + j) = part(i, j);
  }
}
Matrix last_rows(const Matrix& x, std::size_t count) {
  Matrix result(count, x.columns);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < x.columns; ++j) result(i, j) = x(x.rows - count + i, j);
  }
  return result;
}
Matrix behind_each_other(const Matrix& first, const Matrix& second) {
  Matrix result(first.rows + second.rows, second.columns);
  std::copy(first.values.begin(), first.values.end(), result.values.begin());
  std::copy(second.values.begin(), second.values.end(),
            result.values.begin() + static_cast<std::ptrdiff_t>(first.values.size()));
  return result;
}

bool sees(const RecurrentHead& head, std::size_t query, std::size_t key) {
  const std::size_t own = head.start + query;
  if (head.spans.longest > 0) return key < own && own - key <= head.spans.longest;
  return key <= own && (head.seen == 0 || own - key < head.seen);
}
std::size_t row_of_distance(const RecurrentHead& head, std::size_t query, std::size_t key) {
  const std::size_t distance = head.start + query - key;
  if (head.spans.longest > 0) return distance - 1;
  return head.clamp > 0 ? std::min(distance, head.clamp) : distance;
}

double mask_of(const RecurrentHead& head, std::size_t query, std::size_t key) {
  if (head.spans.longest == 0) return 1.0;
  return std::clamp(head.spans.raw(head.z_of(query), head.start + query - key), 0.0, 1.0);
}

struct RecurrentHeadGradients {
  Matrix query, key, value, distance;
  Vector content_bias, position_bias;
  double z = 0.0;
  Vector own_z = {};
};
RecurrentHeadGradients recurrent_head_backward(const RecurrentHead& head, const Matrix& query,
                                               const Matrix& key, const Matrix& value,
                                               const Matrix& d_output) {
  const RecurrentHeadOutput made = recurrent_head_forward(head, query, key, value);
  const std::size_t size = query.columns;
  RecurrentHeadGradients to{Matrix(query.rows, size),         Matrix(key.rows, size), Matrix(key.rows, size),
                            Matrix(head.distance.rows, size), Vector(size),           Vector(size)};
  to.own_z.assign(query.rows, 0.0);
  for (std::size_t i = 0; i < query.rows; ++i) {
    double mean = 0.0;
    for (std::size_t d = 0; d < size; ++d) mean += d_output(i, d) * made.output(i, d);
    for (std::size_t j = 0; j < key.rows; ++j) {
      if (!sees(head, i, j)) continue;
      const double p = made.probabilities(i, j);
      double d_p = 0.0;
      for (std::size_t d = 0; d < size; ++d) d_p += d_output(i, d) * value(j, d);
      const double d_score = p * (d_p - mean) / std::sqrt(static_cast<double>(size));
      if (head.spans.longest > 0) {
        const double raw = head.spans.raw(head.z_of(i), head.start + i - j);
        if (raw >= 0.0 && raw <= 1.0)
          to.own_z[i] +=
              static_cast<double>(head.spans.longest) / head.spans.ramp * made.unmasked(i, j) * (d_p - mean);
      }
      const std::size_t row = row_of_distance(head, i, j);
      for (std::size_t d = 0; d < size; ++d) {
        const double content = query(i, d) + head.content_bias[d],
                     position = query(i, d) + head.position_bias[d];
        to.value(j, d) += p * d_output(i, d);
        to.key(j, d) += d_score * content;
        to.distance(row, d) += d_score * position;
        to.query(i, d) += d_score * (key(j, d) + head.distance(row, d));
        to.content_bias[d] += d_score * key(j, d);
        to.position_bias[d] += d_score * head.distance(row, d);
      }
    }
    to.z += to.own_z[i];
  }
  return to;
}

struct RecurrentLayerTrace {
  Matrix keys_input, query, key, value, distances, context, sum;
  Matrix own_z;        // (queries, heads) of dynamic spans
  Vector key_weights;  // [keys] means over queries and heads
  FeedForwardTrace feed_forward;
};

// The names of a layer's two biases, its own or those of all layers.
std::string bias_name(const Network& network, const std::string& self, const char* which) {
  return network.has(self + which) ? self + which : std::string("bert.encoder.") + which;
}

// The number in "bert.encoder.layer.N.attention.self.".
std::size_t layer_of(const std::string& self) {
  return std::stoul(self.substr(std::string("bert.encoder.layer.").size()));
}

RecurrentHead head_of(const RecurrentConfig& config, const Network& network, const std::string& self,
                      const RecurrentLayerTrace& layer, std::size_t start, std::size_t number) {
  const std::size_t size = config.encoder.hidden / config.encoder.heads;
  if (config.spans.longest > 0) {
    RecurrentHead head{start,
                       0,
                       0,
                       Vector(size),
                       Vector(size),
                       Matrix(config.spans.longest, size, network.values("bert.encoder.distances.weight")),
                       config.spans};
    if (config.spans.dynamic)
      head.own_z = columns_of(layer.own_z, number, 1).values;
    else
      head.z = network.values("bert.encoder.spans")[layer_of(self) * config.encoder.heads + number];
    return head;
  }
  const auto bias = [&](const char* which) {
    const Vector& all = network.values(bias_name(network, self, which));
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(number * size);
    return Vector(first, first + static_cast<std::ptrdiff_t>(size));
  };
  return {start,
          config.clamp,
          config.seen,
          bias("content_bias"),
          bias("position_bias"),
          columns_of(network.linear(self + "position", layer.distances), number * size, size)};
}

Matrix rows_of_distances(std::size_t count, std::size_t width) {
  Matrix rows(count, width);
  for (std::size_t i = 0; i < count; ++i) {
    const Vector row = distance_row(i, width);
    std::copy(row.begin(), row.end(), rows.values.begin() + static_cast<std::ptrdiff_t>(i * width));
  }
  return rows;
}

struct RecurrentTrace {
  Matrix embedded;
  std::vector<RecurrentLayerTrace> layers;
};

std::string layer_prefix(std::size_t layer) {
  return "bert.encoder.layer." + std::to_string(layer) + ".";
}

RecurrentTrace forward_of_segment(const RecurrentConfig& config, const Network& network,
                                  const std::vector<std::size_t>& ids, const Memories& memories) {
  const std::size_t width = config.encoder.hidden, size = width / config.encoder.heads;
  const std::vector<std::size_t> none(ids.size(), 0);
  RecurrentTrace trace;
  trace.embedded = embedding_forward(network.table(word_table), Matrix(1, width), Matrix(1, width),
                                     word_scale(config.encoder), ids, none, none);
  Matrix x = trace.embedded;
  for (std::size_t layer = 0; layer < config.encoder.layers; ++layer) {
    const std::string prefix = layer_prefix(layer), self = prefix + "attention.self.";
    RecurrentLayerTrace of;
    of.keys_input = behind_each_other(memories[layer], x);
    of.query = network.linear(self + "query", x);
    of.key = network.linear(self + "key", of.keys_input);
    of.value = network.linear(self + "value", of.keys_input);
    of.distances = rows_of_distances(of.key.rows, width);
    of.context = Matrix(x.rows, width);
    if (config.spans.dynamic) {
      of.own_z = network.linear(self + "span", x);
      for (double& z : of.own_z.values) z = 1.0 / (1.0 + std::exp(-z));
    }
    for (std::size_t head = 0; head < config.encoder.heads; ++head) {
      const auto part = [&](const Matrix& all) { return columns_of(all, head * size, size); };
      const RecurrentHeadOutput made =
          recurrent_head_forward(head_of(config, network, self, of, memories[layer].rows, head),
                                 part(of.query), part(of.key), part(of.value));
      put_columns(of.context, made.output, head * size);
      of.key_weights.resize(of.key.rows);
      for (std::size_t i = 0; i < x.rows; ++i) {
        for (std::size_t j = 0; j < of.key.rows; ++j) {
          of.key_weights[j] += made.probabilities(i, j) / static_cast<double>(x.rows * config.encoder.heads);
        }
      }
    }
    of.sum = sum(x, network.linear(prefix + "attention.output.dense", of.context));
    of.feed_forward = feed_forward_forward(network, prefix,
                                           network.layer_norm(prefix + "attention.output.LayerNorm", of.sum));
    x = of.feed_forward.output;
    trace.layers.push_back(std::move(of));
  }
  return trace;
}

}  // namespace

Memories no_memories(const RecurrentConfig& config) {
  return Memories(config.encoder.layers, Matrix(0, config.encoder.hidden));
}

Memories next_memories(const Memories& memories, const std::vector<Matrix>& states, std::size_t most) {
  Memories next;
  for (std::size_t layer = 0; layer < memories.size(); ++layer) {
    const Matrix all = behind_each_other(memories[layer], states[layer]);
    next.push_back(last_rows(all, std::min(most, all.rows)));
  }
  return next;
}

Vector distance_row(std::size_t distance, std::size_t width) {
  const std::size_t half = (width + 1) / 2;
  Vector row(width);
  for (std::size_t a = 0; a < half; ++a) {
    const double angle = static_cast<double>(distance) *
                         std::pow(10000.0, -2.0 * static_cast<double>(a) / static_cast<double>(width));
    row[a] = std::sin(angle);
    if (half + a < width) row[half + a] = std::cos(angle);
  }
  return row;
}

RecurrentHeadOutput recurrent_head_forward(const RecurrentHead& head, const Matrix& query, const Matrix& key,
                                           const Matrix& value) {
  const std::size_t size = query.columns;
  RecurrentHeadOutput made{Matrix(query.rows, size), Matrix(query.rows, key.rows),
                           Matrix(query.rows, key.rows)};
  for (std::size_t i = 0; i < query.rows; ++i) {
    Vector scores(key.rows, -INFINITY);
    for (std::size_t j = 0; j < key.rows; ++j) {
      if (!sees(head, i, j)) continue;
      const std::size_t row = row_of_distance(head, i, j);
      double score = 0.0;
      for (std::size_t d = 0; d < size; ++d) {
        score += (query(i, d) + head.content_bias[d]) * key(j, d) +
                 (query(i, d) + head.position_bias[d]) * head.distance(row, d);
      }
      scores[j] = score / std::sqrt(static_cast<double>(size));
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    if (largest == -INFINITY) continue;  // nothing to see
    double total = 0.0;
    for (std::size_t j = 0; j < key.rows; ++j) {
      if (sees(head, i, j)) total += mask_of(head, i, j) * std::exp(scores[j] - largest);
    }
    for (std::size_t j = 0; j < key.rows; ++j) {
      if (!sees(head, i, j)) continue;
      made.unmasked(i, j) = std::exp(scores[j] - largest) / total;
      const double p = mask_of(head, i, j) * made.unmasked(i, j);
      made.probabilities(i, j) = p;
      for (std::size_t d = 0; d < size; ++d) made.output(i, d) += p * value(j, d);
    }
  }
  return made;
}

std::vector<Matrix> recurrent_forward(const RecurrentConfig& config, const Parameters& parameters,
                                      const std::vector<std::size_t>& ids, const Memories& memories) {
  const Network network(config.encoder, parameters);
  const RecurrentTrace trace = forward_of_segment(config, network, ids, memories);
  std::vector<Matrix> states{trace.embedded};
  for (const RecurrentLayerTrace& layer : trace.layers) states.push_back(layer.feed_forward.output);
  return states;
}

std::vector<Vector> recurrent_key_weights(const RecurrentConfig& config, const Parameters& parameters,
                                          const std::vector<std::size_t>& ids, const Memories& memories) {
  const Network network(config.encoder, parameters);
  std::vector<Vector> weights;
  for (const RecurrentLayerTrace& layer : forward_of_segment(config, network, ids, memories).layers)
    weights.push_back(layer.key_weights);
  return weights;
}

Parameters recurrent_backward(const RecurrentConfig& config, const Parameters& parameters,
                              const std::vector<std::size_t>& ids, const Memories& memories,
                              const Matrix& d_last) {
  const std::size_t width = config.encoder.hidden, size = width / config.encoder.heads;
  Network network(config.encoder, parameters);
  const RecurrentTrace trace = forward_of_segment(config, network, ids, memories);
  Matrix d_x = d_last;
  for (std::size_t layer = config.encoder.layers; layer-- > 0;) {
    const RecurrentLayerTrace& of = trace.layers[layer];
    const std::string prefix = layer_prefix(layer), self = prefix + "attention.self.";
    const Matrix d_norm = feed_forward_backward(network, prefix, of.feed_forward, d_x);
    const Matrix d_sum = network.layer_norm_gradient(prefix + "attention.output.LayerNorm", of.sum, d_norm);
    const Matrix d_context = network.linear_gradient(prefix + "attention.output.dense", of.context, d_sum);
    Matrix d_query(of.query.rows, width), d_key(of.key.rows, width), d_value(of.key.rows, width),
        d_distance(of.key.rows, width);
    Matrix d_own_z(of.query.rows, config.encoder.heads);
    Vector d_content, d_position, d_z, d_table;
    for (std::size_t head = 0; head < config.encoder.heads; ++head) {
      const auto part = [&](const Matrix& all) { return columns_of(all, head * size, size); };
      const RecurrentHeadGradients made =
          recurrent_head_backward(head_of(config, network, self, of, memories[layer].rows, head),
                                  part(of.query), part(of.key), part(of.value), part(d_context));
      put_columns(d_query, made.query, head * size);
      put_columns(d_key, made.key, head * size);
      put_columns(d_value, made.value, head * size);
      d_z.push_back(made.z);
      for (std::size_t i = 0; i < of.query.rows; ++i) d_own_z(i, head) = made.own_z[i];
      if (config.spans.longest > 0) {
        d_table = d_table.empty() ? made.distance.values : sum(d_table, made.distance.values);
        continue;
      }
      put_columns(d_distance, made.distance, head * size);
      d_content.insert(d_content.end(), made.content_bias.begin(), made.content_bias.end());
      d_position.insert(d_position.end(), made.position_bias.begin(), made.position_bias.end());
    }
    if (config.spans.longest > 0) {
      network.add_gradient("bert.encoder.distances.weight", d_table);
    }
    Matrix d_own(of.query.rows, width);
    if (config.spans.dynamic) {
      for (std::size_t i = 0; i < d_own_z.values.size(); ++i)
        d_own_z.values[i] *= of.own_z.values[i] * (1.0 - of.own_z.values[i]);
      d_own = network.linear_gradient(self + "span", last_rows(of.keys_input, ids.size()), d_own_z);
    } else if (config.spans.longest > 0) {
      Vector all(config.encoder.layers * config.encoder.heads, 0.0);
      std::copy(d_z.begin(), d_z.end(),
                all.begin() + static_cast<std::ptrdiff_t>(layer * config.encoder.heads));
      network.add_gradient("bert.encoder.spans", all);
    } else {
      network.add_gradient(bias_name(network, self, "content_bias"), d_content);
      network.add_gradient(bias_name(network, self, "position_bias"), d_position);
      network.linear_gradient(self + "position", of.distances, d_distance);
    }
    const Matrix of_keys = sum(network.linear_gradient(self + "key", of.keys_input, d_key),
                               network.linear_gradient(self + "value", of.keys_input, d_value));
    d_x = sum(sum(sum(d_sum, d_own), last_rows(of_keys, ids.size())),
              network.linear_gradient(self + "query", last_rows(of.keys_input, ids.size()), d_query));
  }
  const std::vector<std::size_t> none(ids.size(), 0);
  const EmbeddingGradients embedding =
      embedding_backward(network.table(word_table), Matrix(1, width), Matrix(1, width),
                         word_scale(config.encoder), ids, none, none, d_x);
  network.add_gradient(word_table, embedding.word.values);
  return network.gradients();
}

}  // namespace bigbird::reference
