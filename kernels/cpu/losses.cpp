// Losses on logits, with their gradients in the same pass; and the largest logits of every row with their
// log-softmax: pieces of a row that stay in the cache are read for the sum of exponentials, then for what
// belongs among the best so far.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/partition.h"

namespace bigbird::kernels {
namespace {

constexpr std::int32_t ignored_label = -100;

// log sum exp of some numbers, as they come (Milakov and Gimelshein 2018).
struct LogSumExp {
  double largest = -INFINITY;
  double sum = 0.0;  // of exp(x - largest)

  void take(double x) {
    if (x == -INFINITY) return;  // minus itself it would be no number
    if (x > largest) {
      sum = sum * std::exp(largest - x) + 1.0;
      largest = x;
    } else {
      sum += std::exp(x - largest);
    }
  }
  double value() const { return largest + std::log(sum); }
  double share(double x) const { return sum == 0.0 ? 0.0 : std::exp(x - largest) / sum; }
};

// The OR-softmax of one group of n rows; dx may be null.
float choice_loss(const float* x, const std::int32_t* rows, const std::int32_t* right, Index n, Index parts,
                  float* dx, const float* scale) {
  const Index members = n / parts;
  const auto value_of = [&](Index member) {
    double value = 0.0;
    for (Index i = member; i < n; i += members) value += static_cast<double>(x[rows[i]]);
    return value;
  };
  LogSumExp all, chosen;
  bool any = false;
  for (Index member = 0; member < members; ++member) {
    const double value = value_of(member);
    all.take(value);
    if (right[member] == 0) continue;
    chosen.take(value);
    any = true;
  }
  for (Index member = 0; dx != nullptr && member < members; ++member) {
    const double value = value_of(member);  // before the gradient takes its place
    const double slope = all.share(value) - (right[member] == 0 ? 0.0 : chosen.share(value));
    const float gradient = any ? static_cast<float>(slope * static_cast<double>(*scale)) : 0.0f;
    for (Index i = member; i < n; i += members) dx[rows[i]] = gradient;
  }
  return any ? static_cast<float>(all.value() - chosen.value()) : 0.0f;
}

// The sum of the binary cross entropies of one group.
float mark_loss(const float* x, const std::int32_t* rows, const std::int32_t* right, Index n, float* dx,
                const float* scale) {
  double loss = 0.0;
  for (Index i = 0; i < n; ++i) {
    const double value = static_cast<double>(x[rows[i]]);
    const double wrong = right[i] == 0 ? value : -value;  // -log(1 - sigmoid(wrong)) without overflow
    const double small = std::exp(-std::abs(wrong));
    loss += std::max(wrong, 0.0) + std::log1p(small);
    if (dx == nullptr) continue;
    const double slope = (wrong < 0.0 ? small : 1.0) / (1.0 + small);  // sigmoid(wrong)
    dx[rows[i]] = static_cast<float>((right[i] == 0 ? slope : -slope) * static_cast<double>(*scale));
  }
  return static_cast<float>(loss);
}

constexpr Index piece_columns = 4096;

// The best so far of a row, in place of the result: values [count] descending, of equal ones the lower column
// first. Columns come in ascending order.
struct BestSoFar {
  float* values;
  std::int32_t* columns;
  Index count;
  Index held = 0;

  void take(const float* x, Index first, Index size) {
    Index i = 0;
    for (; held < count && i < size; ++i) insert(x[i], first + i);
    for (; i < size; ++i) {
      if (x[i] > values[count - 1]) insert(x[i], first + i);
    }
  }

 private:
  void insert(float x, Index column) {
    Index place = held < count ? held++ : count - 1;
    for (; place > 0 && x > values[place - 1]; --place) {
      values[place] = values[place - 1];
      columns[place] = columns[place - 1];
    }
    values[place] = x;
    columns[place] = static_cast<std::int32_t>(column);
  }
};

}  // namespace

void CpuBackend::cross_entropy(const ConstMatrix& logits, const ClassLabels& labels, float* losses,
                               std::int32_t* predictions, const LossGradient& gradient) {
  const Index classes = logits.columns;
  parallel_pieces(logits.rows, rows_per_task(classes), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {
      const float* const x = floats(logits.data) + row * classes;
      float* const dx = floats(gradient.data + row * classes);
      float largest = 0.0f;
      float sum = 0.0f;
      Index index = 0;
      level_.softmax_statistics(x, classes, &largest, &index, &sum);
      if (predictions != nullptr) predictions[row] = static_cast<std::int32_t>(index);
      const std::int32_t label = labels.classes[row];
      if (label == ignored_label) {
        losses[row] = 0.0f;
        if (dx != nullptr) std::fill(dx, dx + classes, 0.0f);
        continue;
      }
      const float extra = labels.own - labels.other;  // of the label's column, beside what each column has
      losses[row] = std::log(sum) - extra * (x[label] - largest);
      if (labels.other > 0.0f) {
        const double all =
            level_.sum(x, classes) - static_cast<double>(classes) * static_cast<double>(largest);
        losses[row] -= static_cast<float>(static_cast<double>(labels.other) * all);
      }
      if (dx != nullptr) {
        const float scale = *gradient.scale;
        level_.exp_scaled(x, largest, scale / sum, dx, classes);
        if (labels.other > 0.0f) {
          for (Index i = 0; i < classes; ++i) dx[i] -= scale * labels.other;
        }
        dx[label] -= scale * extra;
      }
    }
  });
}

void CpuBackend::binary_cross_entropy(const ConstMatrix& logits, const float* targets, float positive_weight,
                                      float* losses, const LossGradient& gradient) {
  const Index classes = logits.columns;
  float* const dlogits = floats(gradient.data);
  parallel_pieces(logits.rows, rows_per_task(classes), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {
      double loss = 0.0;
      for (Index i = row * classes; i < (row + 1) * classes; ++i) {
        // -(w t log s(x) + (1 - t) log(1 - s(x))) = (1 - t) x + weight softplus(-x), without overflow for
        // any x.
        const double x = static_cast<double>(floats(logits.data)[i]);
        const double target = static_cast<double>(targets[i]);
        const double weight = 1.0 + (static_cast<double>(positive_weight) - 1.0) * target;
        const double small = std::exp(-std::abs(x));
        loss += (1.0 - target) * x + weight * (std::log1p(small) + std::max(-x, 0.0));
        if (dlogits != nullptr) {
          const double negative = (x < 0.0 ? 1.0 : small) / (1.0 + small);  // s(-x)
          dlogits[i] =
              static_cast<float>(((1.0 - target) - weight * negative) * static_cast<double>(*gradient.scale));
        }
      }
      losses[row] = static_cast<float>(loss);
    }
  });
}

void CpuBackend::squared_error(const ConstMatrix& x, const float* targets, float* losses,
                               const LossGradient& gradient) {
  float* const dx = floats(gradient.data);
  parallel_pieces(x.rows, rows_per_task(x.columns), [&](Index first, Index count) {
    for (Index row = first; row < first + count; ++row) {
      double loss = 0.0;
      for (Index i = row * x.columns; i < (row + 1) * x.columns; ++i) {
        const double difference = static_cast<double>(floats(x.data)[i]) - static_cast<double>(targets[i]);
        loss += difference * difference;
        if (dx != nullptr)
          dx[i] = static_cast<float>(2.0 * difference * static_cast<double>(*gradient.scale));
      }
      losses[row] = static_cast<float>(loss);
    }
  });
}

void CpuBackend::token_losses(const float* logits, const TokenGroups& groups, bool softmax, float* losses,
                              const LossGradient& gradient) {
  float* const dlogits = floats(gradient.data);
  parallel_pieces(groups.groups, 1, [&](Index group, Index) {
    const std::int32_t first = groups.offsets[group], count = groups.offsets[group + 1] - first;
    const std::int32_t* const rows = groups.rows + first;
    const std::int32_t* const right = groups.right + first;
    losses[group] =
        softmax ? choice_loss(logits, rows, right, count, groups.parts[group], dlogits, gradient.scale)
                : mark_loss(logits, rows, right, count, dlogits, gradient.scale);
  });
}

void CpuBackend::top_log_softmax(const ConstMatrix& logits, const TopColumns& top) {
  assert(top.count >= 1 && top.count <= most_top_columns && top.count <= logits.columns);
  parallel_pieces(logits.rows, rows_per_task(logits.columns), [&](Index first_row, Index rows) {
    for (Index row = first_row; row < first_row + rows; ++row) {
      const float* const x = floats(logits.data) + row * logits.columns;
      float* const values = top.log_probabilities + row * top.count;
      BestSoFar best{values, top.columns + row * top.count, top.count};
      double largest = -INFINITY, sum = 0.0;  // of exp(x - largest), over the pieces before
      for (Index first = 0; first < logits.columns; first += piece_columns) {
        const Index size = std::min(piece_columns, logits.columns - first);
        float of_piece = 0.0f, piece_sum = 0.0f;
        Index place = 0;
        level_.softmax_statistics(x + first, size, &of_piece, &place, &piece_sum);
        // Minus itself, -infinity is no number, but the piece may hold nothing else.
        if (of_piece == -INFINITY &&
            std::none_of(x + first, x + first + size, [](float value) { return std::isnan(value); })) {
          piece_sum = 0.0f;
        }
        const double joined = std::max(largest, static_cast<double>(of_piece));
        const double shift = joined == -HUGE_VAL ? 0.0 : joined;
        sum = sum * std::exp(largest - shift) +
              static_cast<double>(piece_sum) * std::exp(static_cast<double>(of_piece) - shift);
        largest = joined;
        best.take(x + first, first, size);
      }
      const double log_sum = largest + std::log(sum);
      for (Index i = 0; i < top.count; ++i)
        values[i] = static_cast<float>(static_cast<double>(values[i]) - log_sum);
    }
  });
}

}  // namespace bigbird::kernels
