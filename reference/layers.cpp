// Linear, LayerNorm, activations and embeddings by their formulas; see layers.h.
#include "reference/layers.h"

#include <algorithm>
#include <cmath>

namespace bigbird::reference {
namespace {

struct Moments {
  double mean;
  double inverse_deviation;
};

Moments moments_of_row(const Matrix& x, std::size_t row, double epsilon) {
  const double count = static_cast<double>(x.columns);
  double mean = 0.0;
  for (std::size_t j = 0; j < x.columns; ++j) mean += x(row, j) / count;
  double variance = 0.0;
  for (std::size_t j = 0; j < x.columns; ++j) variance += (x(row, j) - mean) * (x(row, j) - mean) / count;
  return {mean, 1.0 / std::sqrt(variance + epsilon)};
}

const double gelu_factor = std::sqrt(2.0 / std::acos(-1.0));
constexpr double gelu_cubic = 0.044715;

}  // namespace

Matrix linear_forward(const Matrix& x, const Vector& weight, const Vector& bias) {
  const std::size_t outputs = weight.size() / x.columns;
  Matrix y = product(x, transposed(Matrix(outputs, x.columns, weight)));
  if (bias.empty()) return y;
  if (bias.size() != outputs) throw std::invalid_argument("linear: the bias does not fit the weight");
  for (std::size_t i = 0; i < y.rows; ++i) {
    for (std::size_t j = 0; j < outputs; ++j) y(i, j) += bias[j];
  }
  return y;
}

LinearGradients linear_backward(const Matrix& x, const Vector& weight, const Matrix& d_y) {
  LinearGradients gradients;
  gradients.x = product(d_y, Matrix(d_y.columns, x.columns, weight));
  gradients.weight = product(transposed(d_y), x).values;
  gradients.bias.assign(d_y.columns, 0.0);
  for (std::size_t i = 0; i < d_y.rows; ++i) {
    for (std::size_t j = 0; j < d_y.columns; ++j) gradients.bias[j] += d_y(i, j);
  }
  return gradients;
}

Matrix layer_norm_forward(const Matrix& x, const Vector& gamma, const Vector& beta, double epsilon) {
  Matrix y(x.rows, x.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    const Moments row = moments_of_row(x, i, epsilon);
    for (std::size_t j = 0; j < x.columns; ++j) {
      y(i, j) = gamma[j] * (x(i, j) - row.mean) * row.inverse_deviation + beta[j];
    }
  }
  return y;
}

LayerNormGradients layer_norm_backward(const Matrix& x, const Vector& gamma, double epsilon,
                                       const Matrix& d_y) {
  const double count = static_cast<double>(x.columns);
  LayerNormGradients gradients{Matrix(x.rows, x.columns), Vector(x.columns, 0.0), Vector(x.columns, 0.0)};
  for (std::size_t i = 0; i < x.rows; ++i) {
    const Moments row = moments_of_row(x, i, epsilon);
    // With n = (x - mean) / deviation and g = d_y * gamma: d_x = (g - mean(g) - n * mean(g * n)) / deviation.
    Vector normal(x.columns);
    double mean_gradient = 0.0;
    double mean_product = 0.0;
    for (std::size_t j = 0; j < x.columns; ++j) {
      normal[j] = (x(i, j) - row.mean) * row.inverse_deviation;
      mean_gradient += d_y(i, j) * gamma[j] / count;
      mean_product += d_y(i, j) * gamma[j] * normal[j] / count;
    }
    for (std::size_t j = 0; j < x.columns; ++j) {
      gradients.x(i, j) =
          (d_y(i, j) * gamma[j] - mean_gradient - normal[j] * mean_product) * row.inverse_deviation;
      gradients.gamma[j] += d_y(i, j) * normal[j];
      gradients.beta[j] += d_y(i, j);
    }
  }
  return gradients;
}

Matrix activation_forward(const Matrix& x, Activation form) {
  Matrix y(x);
  for (double& value : y.values) {
    switch (form) {
      case Activation::gelu_tanh:
        value *= 0.5 * (1.0 + std::tanh(gelu_factor * (value + gelu_cubic * value * value * value)));
        break;
      case Activation::gelu_erf:
        value *= 0.5 * (1.0 + std::erf(value / std::sqrt(2.0)));
        break;
      case Activation::relu:
        value = std::max(value, 0.0);
        break;
      case Activation::silu:
        value /= 1.0 + std::exp(-value);
        break;
    }
  }
  return y;
}

Matrix activation_backward(const Matrix& x, const Matrix& d_y, Activation form) {
  Matrix d_x(d_y);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double value = x.values[i];
    switch (form) {
      case Activation::gelu_tanh: {
        const double t = std::tanh(gelu_factor * (value + gelu_cubic * value * value * value));
        const double d_inner = gelu_factor * (1.0 + 3.0 * gelu_cubic * value * value);
        d_x.values[i] *= 0.5 * (1.0 + t) + 0.5 * value * (1.0 - t * t) * d_inner;
        break;
      }
      case Activation::gelu_erf: {
        // The derivative of 0.5 (1 + erf(x / sqrt(2))) is the density of the normal distribution.
        const double density = std::exp(-0.5 * value * value) / std::sqrt(2.0 * std::acos(-1.0));
        d_x.values[i] *= 0.5 * (1.0 + std::erf(value / std::sqrt(2.0))) + value * density;
        break;
      }
      case Activation::relu:
        d_x.values[i] *= value > 0.0 ? 1.0 : 0.0;
        break;
      case Activation::silu: {
        const double sigmoid = 1.0 / (1.0 + std::exp(-value));
        d_x.values[i] *= sigmoid * (1.0 + value * (1.0 - sigmoid));
        break;
      }
    }
  }
  return d_x;
}

namespace {

// Columns first .. first + count - 1.
Matrix columns_of(const Matrix& x, std::size_t first, std::size_t count) {
  Matrix part(x.rows, count);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t j = 0; j < count; ++j) part(i, j) = x(i, first + j);
  }
  return part;
}

}  // namespace

Matrix gated_forward(const Matrix& x, Activation form) {
  const std::size_t width = x.columns / 2;
  Matrix y = activation_forward(columns_of(x, 0, width), form);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t j = 0; j < width; ++j) y(i, j) *= x(i, width + j);
  }
  return y;
}

Matrix gated_backward(const Matrix& x, const Matrix& d_y, Activation form) {
  const std::size_t width = x.columns / 2;
  const Matrix input = columns_of(x, 0, width), activated = activation_forward(input, form);
  Matrix d_activated(d_y), d_x(x.rows, x.columns);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t j = 0; j < width; ++j) d_activated(i, j) *= x(i, width + j);
  }
  const Matrix d_input = activation_backward(input, d_activated, form);
  for (std::size_t i = 0; i < x.rows; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      d_x(i, j) = d_input(i, j);
      d_x(i, width + j) = d_y(i, j) * activated(i, j);
    }
  }
  return d_x;
}

Matrix tanh_forward(const Matrix& x) {
  Matrix y(x);
  for (double& value : y.values) value = std::tanh(value);
  return y;
}

Matrix tanh_backward(const Matrix& x, const Matrix& d_y) {
  Matrix d_x(d_y);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double t = std::tanh(x.values[i]);
    d_x.values[i] *= 1.0 - t * t;
  }
  return d_x;
}

Vector token_dropout_scales(const std::vector<std::size_t>& ids, const std::vector<std::size_t>& rows,
                            const std::vector<std::size_t>& counted, std::size_t mask) {
  Vector scales;
  for (std::size_t s = 0; s < rows.size(); ++s) {
    const std::size_t first = scales.size();
    std::size_t masks = 0;
    for (std::size_t i = first; i < first + rows[s]; ++i) masks += ids[i] == mask ? 1u : 0u;
    const double kept = 1.0 - static_cast<double>(masks) / static_cast<double>(counted[s]);
    for (std::size_t i = first; i < first + rows[s]; ++i)
      scales.push_back(ids[i] == mask || kept == 0.0 ? 0.0 : (1.0 - 0.15 * 0.8) / kept);
  }
  return scales;
}

Matrix embedding_forward(const Matrix& word, const Matrix& type, const Matrix& position, double scale,
                         const std::vector<std::size_t>& ids, const std::vector<std::size_t>& types,
                         const std::vector<std::size_t>& positions, const Vector& word_scales) {
  Matrix y(ids.size(), word.columns);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    if (ids[t] >= word.rows || types[t] >= type.rows || positions[t] >= position.rows) {
      throw std::invalid_argument("embedding: an id beyond its table");
    }
    for (std::size_t j = 0; j < word.columns; ++j) {
      const double factor = word_scales.empty() ? scale : scale * word_scales[t];
      y(t, j) = word(ids[t], j) * factor + type(types[t], j) + position(positions[t], j);
    }
  }
  return y;
}

EmbeddingGradients embedding_backward(const Matrix& word, const Matrix& type, const Matrix& position,
                                      double scale, const std::vector<std::size_t>& ids,
                                      const std::vector<std::size_t>& types,
                                      const std::vector<std::size_t>& positions, const Matrix& d_y,
                                      const Vector& word_scales) {
  EmbeddingGradients gradients{Matrix(word.rows, word.columns), Matrix(type.rows, type.columns),
                               Matrix(position.rows, position.columns)};
  for (std::size_t t = 0; t < ids.size(); ++t) {
    for (std::size_t j = 0; j < word.columns; ++j) {
      gradients.word(ids[t], j) += d_y(t, j) * (word_scales.empty() ? scale : scale * word_scales[t]);
      gradients.type(types[t], j) += d_y(t, j);
      gradients.position(positions[t], j) += d_y(t, j);
    }
  }
  return gradients;
}

namespace {

// take(row, index into the tables of its first channel) for each letter that a row sees.
template <typename Take>
void for_each_letter(const LetterFilters& filters, const std::vector<std::size_t>& ids, std::size_t letters,
                     std::size_t rows, const Take& take) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t d = 0; d < filters.kernel; ++d) {
      if (i + d < filters.kernel / 2) continue;
      const std::size_t place = i + d - filters.kernel / 2;
      if (place < letters) take(i, (d * filters.vocabulary + ids[place]) * filters.channels);
    }
  }
}

}  // namespace

Matrix letters_forward(const LetterFilters& filters, const std::vector<std::size_t>& ids, std::size_t letters,
                       std::size_t rows) {
  Matrix y(rows, filters.channels);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t c = 0; c < filters.channels; ++c) y(i, c) = filters.bias[c];
  }
  for_each_letter(filters, ids, letters, rows, [&](std::size_t row, std::size_t first) {
    for (std::size_t c = 0; c < filters.channels; ++c) y(row, c) += filters.tables[first + c];
  });
  return y;
}

LetterGradients letters_backward(const LetterFilters& filters, const std::vector<std::size_t>& ids,
                                 std::size_t letters, const Matrix& d_y) {
  LetterGradients gradients{Vector(filters.tables.size(), 0.0), Vector(filters.channels, 0.0)};
  for (std::size_t i = 0; i < d_y.rows; ++i) {
    for (std::size_t c = 0; c < filters.channels; ++c) gradients.bias[c] += d_y(i, c);
  }
  for_each_letter(filters, ids, letters, d_y.rows, [&](std::size_t row, std::size_t first) {
    for (std::size_t c = 0; c < filters.channels; ++c) gradients.tables[first + c] += d_y(row, c);
  });
  return gradients;
}

}  // namespace bigbird::reference
