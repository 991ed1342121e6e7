// See compressive.h.
#include "reference/compressive.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace bigbird::reference {
namespace {

// The row of x that output j reads at tap t, -1: none.
std::ptrdiff_t row_read(std::size_t j, std::size_t t, std::size_t rate, std::size_t dilation,
                        std::size_t stride) {
  return static_cast<std::ptrdiff_t>(stride * j + stride - 1) -
         static_cast<std::ptrdiff_t>((rate - 1 - t) * dilation);
}

std::string self_prefix(std::size_t layer) {
  return "bert.encoder.layer." + std::to_string(layer) + ".attention.self.";
}

// The convolutions of a layer, one after another.
struct RowLayer {
  std::string name;
  std::size_t dilation, stride;
};
std::vector<RowLayer> row_layers(const CompressiveConfig& config, std::size_t layer) {
  const std::string self = self_prefix(layer);
  if (config.kind == CompressionKind::conv) return {{self + "compression", 1, config.rate}};
  if (config.kind != CompressionKind::dilated) return {};
  return {{self + "compression.0", 1, 1},
          {self + "compression.1", 2, 1},
          {self + "compression.2", 4, config.rate}};
}

// The input of each convolution, and what the last one gives.
std::vector<Matrix> row_layer_states(const CompressiveConfig& config, const Parameters& parameters,
                                     std::size_t layer, const Matrix& old) {
  std::vector<Matrix> states{old};
  for (const RowLayer& of : row_layers(config, layer)) {
    states.push_back(row_convolution(states.back(), parameters.at(of.name + ".weight"),
                                     parameters.at(of.name + ".bias"), config.rate, of.dilation, of.stride));
  }
  return states;
}

Matrix last_of(const Matrix& x, std::size_t count) {
  return rows_of(x, x.rows - count, count, 0, x.columns);
}
Matrix joined(const Matrix& first, const Matrix& second) {
  Matrix all(first.rows + second.rows, second.columns);
  add_rows(all, first, 0, 0);
  add_rows(all, second, first.rows, 0);
  return all;
}

Vector softmax_weights(const Matrix& q, const Matrix& k, std::size_t i, std::size_t column,
                       std::size_t size) {
  Vector weights(k.rows);
  for (std::size_t j = 0; j < k.rows; ++j) {
    for (std::size_t d = 0; d < size; ++d) weights[j] += q(i, column + d) * k(j, column + d);
    weights[j] /= std::sqrt(static_cast<double>(size));
  }
  const double most = *std::max_element(weights.begin(), weights.end());
  double total = 0.0;
  for (double& weight : weights) total += weight = std::exp(weight - most);
  for (double& weight : weights) weight /= total;
  return weights;
}

Matrix projected(const Matrix& x, const Vector& weight) {
  return product(x, transposed(Matrix(weight.size() / x.columns, x.columns, weight)));
}

}  // namespace

Matrix row_convolution(const Matrix& x, const Vector& weight, const Vector& bias, std::size_t rate,
                       std::size_t dilation, std::size_t stride) {
  const std::size_t width = x.columns;
  Matrix y(x.rows / stride, width);
  for (std::size_t j = 0; j < y.rows; ++j) {
    for (std::size_t o = 0; o < width; ++o) {
      y(j, o) = bias[o];
      for (std::size_t t = 0; t < rate; ++t) {
        const std::ptrdiff_t row = row_read(j, t, rate, dilation, stride);
        for (std::size_t i = 0; row >= 0 && i < width; ++i)
          y(j, o) += weight[(o * rate + t) * width + i] * x(static_cast<std::size_t>(row), i);
      }
    }
  }
  return y;
}

ConvolutionGradients row_convolution_backward(const Matrix& x, const Vector& weight, std::size_t rate,
                                              std::size_t dilation, std::size_t stride, const Matrix& d_y) {
  const std::size_t width = x.columns;
  ConvolutionGradients to{Matrix(x.rows, width), Vector(weight.size()), Vector(width)};
  for (std::size_t j = 0; j < d_y.rows; ++j) {
    for (std::size_t o = 0; o < width; ++o) {
      to.bias[o] += d_y(j, o);
      for (std::size_t t = 0; t < rate; ++t) {
        const std::ptrdiff_t row = row_read(j, t, rate, dilation, stride);
        for (std::size_t i = 0; row >= 0 && i < width; ++i) {
          const std::size_t at = (o * rate + t) * width + i;
          to.weight[at] += d_y(j, o) * x(static_cast<std::size_t>(row), i);
          to.x(static_cast<std::size_t>(row), i) += d_y(j, o) * weight[at];
        }
      }
    }
  }
  return to;
}

Matrix compressed_rows(const CompressiveConfig& config, const Parameters& parameters, std::size_t layer,
                       const Matrix& old, const Vector& usage) {
  const std::size_t count = old.rows / config.rate, width = old.columns;
  if (!row_layers(config, layer).empty()) return row_layer_states(config, parameters, layer, old).back();
  Matrix made(count, width);
  if (config.kind == CompressionKind::most_used) {
    std::vector<std::size_t> order(old.rows);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return usage[a] > usage[b]; });
    order.resize(count);
    std::sort(order.begin(), order.end());
    for (std::size_t j = 0; j < count; ++j) add_rows(made, rows_of(old, order[j], 1, 0, width), j, 0);
    return made;
  }
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t i = 0; i < width; ++i) {
      double sum = 0.0, most = -INFINITY;
      for (std::size_t t = 0; t < config.rate; ++t) {
        sum += old(j * config.rate + t, i);
        most = std::max(most, old(j * config.rate + t, i));
      }
      made(j, i) = config.kind == CompressionKind::max ? most : sum / static_cast<double>(config.rate);
    }
  }
  return made;
}

Memories CompressiveMemories::together() const {
  Memories all;
  for (std::size_t layer = 0; layer < plain.size(); ++layer)
    all.push_back(joined(compressed[layer], plain[layer]));
  return all;
}

CompressiveMemories no_compressive_memories(const CompressiveConfig& config) {
  return {no_memories(config.recurrent), no_memories(config.recurrent)};
}

Matrix content_attention(const Matrix& h, const Matrix& rows, const Vector& query, const Vector& key,
                         const Vector& value, std::size_t heads) {
  const Matrix q = projected(h, query), k = projected(rows, key), v = projected(rows, value);
  const std::size_t size = h.columns / heads;
  Matrix out(h.rows, h.columns);
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t i = 0; i < h.rows; ++i) {
      const Vector weights = softmax_weights(q, k, i, head * size, size);
      for (std::size_t j = 0; j < rows.rows; ++j) {
        for (std::size_t d = 0; d < size; ++d) out(i, head * size + d) += weights[j] * v(j, head * size + d);
      }
    }
  }
  return out;
}

Reconstruction reconstruction(const Matrix& h, const Matrix& old, const Matrix& compressed,
                              const Vector& query, const Vector& key, const Vector& value,
                              std::size_t heads) {
  const Matrix wanted = content_attention(h, old, query, key, value, heads),
               made = content_attention(h, compressed, query, key, value, heads);
  const Matrix q = projected(h, query), k = projected(compressed, key), v = projected(compressed, value);
  const std::size_t width = h.columns, size = width / heads;
  const auto count = static_cast<double>(h.rows * width);
  Reconstruction result;
  Matrix d_k(k.rows, width), d_v(k.rows, width);
  for (std::size_t i = 0; i < h.rows; ++i) {
    for (std::size_t c = 0; c < width; ++c) result.loss += std::pow(wanted(i, c) - made(i, c), 2) / count;
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t column = head * size;
      const Vector weights = softmax_weights(q, k, i, column, size);
      Vector d_weights(k.rows);
      double mean = 0.0;
      for (std::size_t j = 0; j < k.rows; ++j) {
        for (std::size_t d = column; d < column + size; ++d) {
          const double d_out = 2.0 * (made(i, d) - wanted(i, d)) / count;
          d_v(j, d) += weights[j] * d_out;
          d_weights[j] += d_out * v(j, d);
        }
        mean += weights[j] * d_weights[j];
      }
      for (std::size_t j = 0; j < k.rows; ++j) {
        const double d_score = weights[j] * (d_weights[j] - mean) / std::sqrt(static_cast<double>(size));
        for (std::size_t d = column; d < column + size; ++d) d_k(j, d) += d_score * q(i, d);
      }
    }
  }
  result.d_compressed =
      sum(product(d_k, Matrix(width, width, key)), product(d_v, Matrix(width, width, value)));
  return result;
}

CompressiveSegment compressive_segment(const CompressiveConfig& config, const Parameters& parameters,
                                       const std::vector<std::size_t>& ids,
                                       const CompressiveMemories& before) {
  CompressiveSegment made;
  const Memories read = before.together();
  made.states = recurrent_forward(config.recurrent, parameters, ids, read);
  const std::vector<Vector> usage = config.kind == CompressionKind::most_used
                                        ? recurrent_key_weights(config.recurrent, parameters, ids, read)
                                        : std::vector<Vector>();
  for (std::size_t layer = 0; layer < read.size(); ++layer) {
    const Matrix& h = made.states[layer];
    const Matrix all = joined(before.plain[layer], h);
    const std::size_t over = all.rows > config.memory ? all.rows - config.memory : 0, width = h.columns,
                      first = before.compressed[layer].rows;
    const Matrix old = rows_of(all, 0, over, 0, width);
    Vector of_old;
    if (!usage.empty())
      of_old.assign(usage[layer].begin() + static_cast<std::ptrdiff_t>(first),
                    usage[layer].begin() + static_cast<std::ptrdiff_t>(first + over));
    const Matrix fresh = compressed_rows(config, parameters, layer, old, of_old);
    const Matrix compressed = joined(before.compressed[layer], fresh);
    made.memories.plain.push_back(last_of(all, all.rows - over));
    made.memories.compressed.push_back(last_of(compressed, std::min(compressed.rows, config.compressed)));
    const std::vector<RowLayer> layers = row_layers(config, layer);
    if (layers.empty() || fresh.rows == 0) continue;
    const std::string self = self_prefix(layer);
    const Reconstruction of = reconstruction(
        h, old, fresh, parameters.at(self + "query.weight"), parameters.at(self + "key.weight"),
        parameters.at(self + "value.weight"), config.recurrent.encoder.heads);
    made.loss += of.loss;
    const std::vector<Matrix> states = row_layer_states(config, parameters, layer, old);
    Matrix d_y = of.d_compressed;
    for (std::size_t i = layers.size(); i-- > 0;) {
      const ConvolutionGradients to =
          row_convolution_backward(states[i], parameters.at(layers[i].name + ".weight"), config.rate,
                                   layers[i].dilation, layers[i].stride, d_y);
      made.loss_gradients[layers[i].name + ".weight"] = to.weight;
      made.loss_gradients[layers[i].name + ".bias"] = to.bias;
      d_y = to.x;
    }
  }
  return made;
}

}  // namespace bigbird::reference
