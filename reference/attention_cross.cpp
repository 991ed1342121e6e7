// See attention_cross.h.
#include "reference/attention_cross.h"

#include <cmath>

namespace bigbird::reference {
namespace {

double scale_of(const Matrix& query) {
  return 1.0 / std::sqrt(static_cast<double>(query.columns));
}

// exp of a score over the sum of them: without a maximum taken off first, which double does not need here.
Matrix probabilities(const CrossAttentionShape& shape, const Matrix& query, const Matrix& key) {
  Matrix result = product(query, transposed(key));
  for (std::size_t i = 0; i < result.rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < result.columns; ++j) {
      const bool sees = j < shape.seen && (!shape.causal || j <= i);
      result(i, j) = sees ? std::exp(result(i, j) * scale_of(query)) : 0.0;
      sum += result(i, j);
    }
    for (std::size_t j = 0; j < result.columns; ++j) result(i, j) /= sum;
  }
  return result;
}

Matrix weighted(const Matrix& probability, const Matrix& factors) {
  Matrix result = probability;
  for (std::size_t i = 0; i < factors.values.size(); ++i) result.values[i] *= factors.values[i];
  return result;
}

}  // namespace

Matrix cross_attention_forward(const CrossAttentionShape& shape, const Matrix& query, const Matrix& key,
                               const Matrix& value, const Matrix& factors) {
  return product(weighted(probabilities(shape, query, key), factors), value);
}

CrossAttentionGradients cross_attention_backward(const CrossAttentionShape& shape, const Matrix& query,
                                                 const Matrix& key, const Matrix& value,
                                                 const Matrix& d_output, const Matrix& factors) {
  const Matrix probability = probabilities(shape, query, key);
  const Matrix d_probability = weighted(product(d_output, transposed(value)), factors);
  Matrix d_score(probability.rows, probability.columns);
  for (std::size_t i = 0; i < probability.rows; ++i) {
    double mean = 0.0;
    for (std::size_t j = 0; j < probability.columns; ++j) mean += probability(i, j) * d_probability(i, j);
    for (std::size_t j = 0; j < probability.columns; ++j)
      d_score(i, j) = probability(i, j) * (d_probability(i, j) - mean) * scale_of(query);
  }
  return {product(d_score, key), product(transposed(d_score), query),
          product(transposed(weighted(probability, factors)), d_output)};
}

}  // namespace bigbird::reference
