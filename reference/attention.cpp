// See attention.h.
#include "reference/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace bigbird::reference {
namespace {

Matrix head_of(const AttentionShape& shape, const Vector& all, std::size_t head) {
  const std::size_t size = shape.length() * shape.head_size;
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(head * size);
  return Matrix(shape.length(), shape.head_size, Vector(begin, begin + static_cast<std::ptrdiff_t>(size)));
}

void append(Vector& all, const Matrix& head) {
  all.insert(all.end(), head.values.begin(), head.values.end());
}

// How often query i sees key j: the multiplicity matrix of the blocks, spread over tokens, times the masks of
// queries and keys.
Matrix multiplicities(const AttentionShape& shape, const std::vector<std::vector<std::size_t>>& head_plan) {
  Matrix result(shape.length(), shape.length());
  for (std::size_t i = 0; i < std::max(shape.valid_length, shape.query_length); ++i) {
    for (const std::size_t block : head_plan[i / shape.block_size]) {
      for (std::size_t j = block * shape.block_size; j < (block + 1) * shape.block_size; ++j) {
        if (j < shape.valid_length) result(i, j) += 1.0;
      }
    }
  }
  return result;
}

Matrix probabilities(const Matrix& multiplicity, const Matrix& query, const Matrix& key) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.columns));
  Matrix result = product(query, transposed(key));
  for (std::size_t i = 0; i < result.rows; ++i) {
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < result.columns; ++j) {
      if (multiplicity(i, j) > 0.0) largest = std::max(largest, result(i, j) * scale);
    }
    double total = 0.0;
    for (std::size_t j = 0; j < result.columns; ++j) {
      const bool seen = multiplicity(i, j) > 0.0;
      result(i, j) = seen ? multiplicity(i, j) * std::exp(result(i, j) * scale - largest) : 0.0;
      total += result(i, j);
    }
    for (std::size_t j = 0; j < result.columns && total > 0.0; ++j) result(i, j) /= total;
  }
  return result;
}

double dot(const double* a, const double* b, std::size_t size) {
  double result = 0.0;
  for (std::size_t d = 0; d < size; ++d) result += a[d] * b[d];
  return result;
}

void add_scaled(double* target, double factor, const double* source, std::size_t size) {
  for (std::size_t d = 0; d < size; ++d) target[d] += factor * source[d];
}

// The part of a block that holds real tokens: positions [begin, end).
struct Range {
  std::size_t begin;
  std::size_t end;
};
Range real_part(const AttentionShape& shape, std::size_t block) {
  return {std::min(block * shape.block_size, shape.valid_length),
          std::min((block + 1) * shape.block_size, shape.valid_length)};
}

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

void check_attention(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                     const Vector& key, const Vector& value) {
  if (query.size() != shape.elements() || key.size() != shape.elements() ||
      value.size() != shape.elements()) {
    throw std::invalid_argument("attention: query, key or value does not fit the shape");
  }
  if (shape.valid_length > shape.length())
    throw std::invalid_argument("attention: valid length beyond the sequence");
  if (plan.size() != shape.heads)
    throw std::invalid_argument("attention: the plan has another number of heads");
  for (const auto& head : plan) {
    if (head.size() != shape.blocks)
      throw std::invalid_argument("attention: the plan has another number of blocks");
    for (const auto& key_blocks : head) {
      for (const std::size_t block : key_blocks) {
        if (block >= shape.blocks) throw std::invalid_argument("attention: a key block that does not exist");
      }
    }
  }
}

AttentionPlan full_plan(std::size_t heads, std::size_t blocks) {
  std::vector<std::size_t> all(blocks);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return AttentionPlan(heads, std::vector<std::vector<std::size_t>>(blocks, all));
}

AttentionPlan itc_plan(std::size_t blocks, const AttentionPlan& random_blocks) {
  if (blocks < 4) throw std::invalid_argument("BigBird-ITC needs at least 4 blocks");
  const std::size_t last = blocks - 1;
  AttentionPlan plan = full_plan(random_blocks.size(), blocks);
  for (std::size_t head = 0; head < plan.size(); ++head) {
    if (random_blocks[head].size() != blocks - 2)
      throw std::invalid_argument("one random list per middle row");
    for (std::size_t row = 1; row < last; ++row) {
      std::vector<std::size_t>& keys = plan[head][row];
      if (row == 1) {
        keys = {0, 1, 2, last};
      } else if (row == last - 1) {
        keys = {0, last - 2, last - 1, last};
      } else {
        keys = {0, row - 1, row, row + 1, last};
      }
      const std::vector<std::size_t>& random = random_blocks[head][row - 1];
      keys.insert(keys.end(), random.begin(), random.end());
    }
  }
  return plan;
}

Vector attention_dense_forward(const AttentionShape& shape, const AttentionPlan& plan, const Vector& query,
                               const Vector& key, const Vector& value) {
  check_attention(shape, plan, query, key, value);
  Vector output;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const Matrix probability = probabilities(multiplicities(shape, plan[head]), head_of(shape, query, head),
                                             head_of(shape, key, head));
    append(output, product(probability, head_of(shape, value, head)));
  }
  return output;
}

AttentionGradients attention_dense_backward(const AttentionShape& shape, const AttentionPlan& plan,
                                            const Vector& query, const Vector& key, const Vector& value,
                                            const Vector& d_output) {
  check_attention(shape, plan, query, key, value);
  const double scale = 1.0 / std::sqrt(static_cast<double>(shape.head_size));
  AttentionGradients gradients;
  for (std::size_t head = 0; head < shape.heads; ++head) {
    const Matrix q = head_of(shape, query, head);
    const Matrix k = head_of(shape, key, head);
    const Matrix v = head_of(shape, value, head);
    const Matrix d_out = head_of(shape, d_output, head);
    const Matrix probability = probabilities(multiplicities(shape, plan[head]), q, k);
    const Matrix d_probability = product(d_out, transposed(v));
    Matrix d_score(shape.length(), shape.length());
    for (std::size_t i = 0; i < shape.length(); ++i) {
      double mean = 0.0;
      for (std::size_t j = 0; j < shape.length(); ++j) mean += probability(i, j) * d_probability(i, j);
      for (std::size_t j = 0; j < shape.length(); ++j) {
        d_score(i, j) = probability(i, j) * (d_probability(i, j) - mean) * scale;
      }
    }
    append(gradients.query, product(d_score, k));
    append(gradients.key, product(transposed(d_score), q));
    append(gradients.value, product(transposed(probability), d_out));
  }
  return gradients;
}

BlockAttentionOutput attention_blocks_forward(const AttentionShape& shape, const AttentionPlan& plan,
                                              const Vector& query, const Vector& key, const Vector& value) {
  check_attention(shape, plan, query, key, value);
  const std::size_t size = shape.head_size;
  const double scale = 1.0 / std::sqrt(static_cast<double>(size));
  BlockAttentionOutput result{Vector(shape.elements(), 0.0), Vector(shape.heads * shape.length(), 0.0)};
  for (std::size_t head = 0; head < shape.heads; ++head) {
    for (std::size_t i = 0; i < shape.valid_length; ++i) {
      const std::size_t query_row = head * shape.length() + i;
      double* output = &result.output[query_row * size];
      double largest = -std::numeric_limits<double>::infinity();
      double total = 0.0;
      for (const std::size_t block : plan[head][i / shape.block_size]) {
        const Range keys = real_part(shape, block);
        for (std::size_t j = keys.begin; j < keys.end; ++j) {
          const std::size_t key_row = head * shape.length() + j;
          const double score = scale * dot(&query[query_row * size], &key[key_row * size], size);
          if (score > largest) {
            const double shrink = std::exp(largest - score);
            total *= shrink;
            for (std::size_t d = 0; d < size; ++d) output[d] *= shrink;
            largest = score;
          }
          const double weight = std::exp(score - largest);
          total += weight;
          add_scaled(output, weight, &value[key_row * size], size);
        }
      }
      if (total > 0.0) {
        for (std::size_t d = 0; d < size; ++d) output[d] /= total;
        result.log_sum_exp[query_row] = largest + std::log(total);
      }
    }
  }
  return result;
}

AttentionPlan transposed_plan(const AttentionPlan& plan) {
  AttentionPlan result;
  for (const auto& head : plan) {
    std::vector<std::vector<std::size_t>> queries_of(head.size());
    for (std::size_t query_block = 0; query_block < head.size(); ++query_block) {
      for (const std::size_t key_block : head[query_block]) queries_of[key_block].push_back(query_block);
    }
    result.push_back(queries_of);
  }
  return result;
}

AttentionGradients attention_blocks_backward(const AttentionShape& shape, const AttentionPlan& plan,
                                             const Vector& query, const Vector& key, const Vector& value,
                                             const Vector& d_output) {
  const std::size_t size = shape.head_size;
  const double scale = 1.0 / std::sqrt(static_cast<double>(size));
  const BlockAttentionOutput forward = attention_blocks_forward(shape, plan, query, key, value);
  const AttentionPlan queries_of = transposed_plan(plan);
  AttentionGradients gradients{Vector(shape.elements(), 0.0), Vector(shape.elements(), 0.0),
                               Vector(shape.elements(), 0.0)};

  // One (query, key) meeting: its probability and the gradient of its scaled score.
  struct Meeting {
    double probability;
    double d_score;
  };
  const auto meet = [&](std::size_t query_row, std::size_t key_row) {
    const double score = scale * dot(&query[query_row * size], &key[key_row * size], size);
    const double probability = std::exp(score - forward.log_sum_exp[query_row]);
    // d_output . (v_j - output_i): how much better than the row's mean this key's value would have been.
    const double gain = dot(&d_output[query_row * size], &value[key_row * size], size) -
                        dot(&d_output[query_row * size], &forward.output[query_row * size], size);
    return Meeting{probability, probability * gain};
  };

  for (std::size_t head = 0; head < shape.heads; ++head) {
    const std::size_t first_row = head * shape.length();
    for (std::size_t query_block = 0; query_block < shape.blocks; ++query_block) {
      const Range queries = real_part(shape, query_block);
      for (const std::size_t key_block : plan[head][query_block]) {
        const Range keys = real_part(shape, key_block);
        for (std::size_t i = first_row + queries.begin; i < first_row + queries.end; ++i) {
          for (std::size_t j = first_row + keys.begin; j < first_row + keys.end; ++j) {
            add_scaled(&gradients.query[i * size], meet(i, j).d_score * scale, &key[j * size], size);
          }
        }
      }
    }
    for (std::size_t key_block = 0; key_block < shape.blocks; ++key_block) {
      const Range keys = real_part(shape, key_block);
      for (const std::size_t query_block : queries_of[head][key_block]) {
        const Range queries = real_part(shape, query_block);
        for (std::size_t j = first_row + keys.begin; j < first_row + keys.end; ++j) {
          for (std::size_t i = first_row + queries.begin; i < first_row + queries.end; ++i) {
            const Meeting meeting = meet(i, j);
            add_scaled(&gradients.key[j * size], meeting.d_score * scale, &query[i * size], size);
            add_scaled(&gradients.value[j * size], meeting.probability, &d_output[i * size], size);
          }
        }
      }
    }
  }
  return gradients;
}

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
