// Attention key by key, never holding more than one query's state; see attention_blocks.h.
#include "reference/attention_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace bigbird::reference {
namespace {

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

}  // namespace

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

}  // namespace bigbird::reference
