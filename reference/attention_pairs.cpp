// See attention_pairs.h.
#include "reference/attention_pairs.h"

#include <cmath>
#include <limits>

namespace bigbird::reference {
namespace {

// Whether pair (i, j) meets, by all but self_last.
bool meets(const PairAttention& rule, std::size_t i, std::size_t j) {
  if (!rule.visible(i, j) || (rule.no_self && j == rule.start + i)) return false;
  return !rule.label || rule.bias.empty() ||
         rule.bias[rule.label(i, j)] != -std::numeric_limits<double>::infinity();
}

// Whether pair (i, j) counts, a query's own key in its last place included.
bool counts(const PairAttention& rule, std::size_t i, std::size_t j, std::size_t keys) {
  if (!meets(rule, i, j)) return false;
  if (!rule.self_last || j != rule.start + i) return true;
  for (std::size_t other = 0; other < keys; ++other) {
    if (other != j && meets(rule, i, other)) return false;
  }
  return true;
}

double score(const PairAttention& rule, const Matrix& query, const Matrix& key, std::size_t i,
             std::size_t j) {
  double sum = 0.0;
  for (std::size_t d = 0; d < query.columns; ++d) sum += query(i, d) * key(j, d);
  if (rule.label) {
    const std::size_t label = rule.label(i, j);
    for (std::size_t d = 0; d < query.columns; ++d) sum += query(i, d) * rule.weight(label, d);
    if (!rule.bias.empty()) sum += rule.bias[label];
  }
  return rule.scale * sum;
}

// Probabilities [queries, keys], 0 where a pair does not count.
Matrix softmax_of_pairs(const PairAttention& rule, const Matrix& query, const Matrix& key,
                        Vector* log_sum_exp) {
  Matrix result(query.rows, key.rows);
  for (std::size_t i = 0; i < query.rows; ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < key.rows; ++j) {
      if (counts(rule, i, j, key.rows)) largest = std::max(largest, score(rule, query, key, i, j));
    }
    double total = 0.0;
    for (std::size_t j = 0; j < key.rows; ++j) {
      if (!counts(rule, i, j, key.rows)) continue;
      result(i, j) = std::exp(score(rule, query, key, i, j) - largest);
      total += result(i, j);
    }
    for (std::size_t j = 0; j < key.rows && total > 0.0; ++j) result(i, j) /= total;
    if (log_sum_exp != nullptr)
      log_sum_exp->push_back(total > 0.0 ? largest + std::log(total)
                                         : std::numeric_limits<double>::infinity());
  }
  return result;
}

Matrix with_factors(const Matrix& probability, const Matrix& factors) {
  Matrix result = probability;
  for (std::size_t i = 0; i < factors.values.size(); ++i) result.values[i] *= factors.values[i];
  return result;
}

}  // namespace

PairAttentionOutput pair_attention_forward(const PairAttention& rule, const Matrix& query, const Matrix& key,
                                           const Matrix& value) {
  PairAttentionOutput result;
  const Matrix probability = softmax_of_pairs(rule, query, key, &result.log_sum_exp);
  result.output = product(with_factors(probability, rule.factors), value);
  return result;
}

PairAttentionGradients pair_attention_backward(const PairAttention& rule, const Matrix& query,
                                               const Matrix& key, const Matrix& value,
                                               const Matrix& d_output) {
  const Matrix probability = softmax_of_pairs(rule, query, key, nullptr);
  const Matrix d_probability = with_factors(product(d_output, transposed(value)), rule.factors);
  PairAttentionGradients gradients{Matrix(query.rows, query.columns), Matrix(key.rows, key.columns),
                                   product(transposed(with_factors(probability, rule.factors)), d_output),
                                   Matrix(rule.weight.rows, rule.weight.columns),
                                   Vector(rule.bias.size(), 0.0)};
  for (std::size_t i = 0; i < query.rows; ++i) {
    double mean = 0.0;
    for (std::size_t j = 0; j < key.rows; ++j) mean += probability(i, j) * d_probability(i, j);
    for (std::size_t j = 0; j < key.rows; ++j) {
      const double d_score = probability(i, j) * (d_probability(i, j) - mean) * rule.scale;
      if (d_score == 0.0) continue;
      for (std::size_t d = 0; d < query.columns; ++d) {
        gradients.query(i, d) += d_score * key(j, d);
        gradients.key(j, d) += d_score * query(i, d);
      }
      if (!rule.label) continue;
      const std::size_t label = rule.label(i, j);
      for (std::size_t d = 0; d < query.columns; ++d) {
        gradients.query(i, d) += d_score * rule.weight(label, d);
        gradients.weight(label, d) += d_score * query(i, d);
      }
      if (!rule.bias.empty()) gradients.bias[label] += d_score;
    }
  }
  return gradients;
}

std::size_t relative_label(std::ptrdiff_t distance, std::size_t most) {
  const auto apart = static_cast<std::size_t>(distance < 0 ? -distance : distance);
  const std::size_t clamped = apart < most ? apart : most;
  return distance >= 0 ? clamped : most + clamped;
}

std::size_t label_behind(std::ptrdiff_t distance, std::size_t most) {
  const auto behind = static_cast<std::size_t>(-distance);
  return behind < most ? behind : most;
}

}  // namespace bigbird::reference
