// Losses on logits with their gradients: a block for each row, or for each group of tokens.
#include "kernels/cuda/launchers.h"

#include <math.h>

#include "kernels/cuda/row_softmax.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr std::int32_t ignored_label = -100;
constexpr int loss_threads = 256;
constexpr int loss_warps = loss_threads / 32;

// Vectors of N elements lie at 16-byte boundaries, so that a row may begin and end within one.
template <class T, class D, int N>
struct CrossEntropy {
  static constexpr int threads = loss_threads;
  static constexpr int blocks_per_sm = 4;
  static constexpr std::size_t softmax_bytes = RowSoftmax::shared_bytes(loss_warps);
  static constexpr std::size_t shared_bytes = softmax_bytes + loss_warps * sizeof(double);
  static_assert(softmax_bytes % sizeof(double) == 0);
  const T* logits;
  ClassLabels labels;
  float* losses;
  std::int32_t* predictions;
  D* dlogits;
  const float* scale;
  int classes;
  int stride;  // from row to row, of the gradient too

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index row = thread.block();
    const T* const x = logits + row * stride;
    const std::int32_t label = labels.classes[row];
    const int shift = static_cast<int>(row * stride % N);

    RowSoftmax softmax;
    double sum = 0.0;  // of the logits
    for (int begin = thread.index() * N - shift; begin < classes; begin += threads * N) {
      if (begin >= 0 && begin + N <= classes) {
        take<N>(x, begin, softmax, sum);
      } else {
        for (int i = begin < 0 ? 0 : begin; i < begin + N && i < classes; ++i) take<1>(x, i, softmax, sum);
      }
    }
    // Before the gradient may take its place.
    const float chosen = label == ignored_label ? 0.0f : to_float(x[label]);
    const auto sums = thread.shared<double>(softmax_bytes, loss_warps);
    if (labels.other > 0.0f) {
      sum = warp_sum(thread, sum);
      if (thread.lane() == 0) sums[thread.warp()] = sum;
    }
    softmax.join_block<loss_warps>(thread);  // with the barrier that the sums want

    if (thread.index() == 0) {
      float loss = logf(softmax.sum) - (labels.own - labels.other) * (chosen - softmax.maximum);
      if (labels.other > 0.0f) {
        double all = -static_cast<double>(classes) * static_cast<double>(softmax.maximum);
        for (int warp = 0; warp < loss_warps; ++warp) all += sums[warp];
        loss -= static_cast<float>(static_cast<double>(labels.other) * all);
      }
      losses[row] = label == ignored_label ? 0.0f : loss;
      if (predictions != nullptr) predictions[row] = softmax.place == RowSoftmax::nowhere ? 0 : softmax.place;
    }
    if (dlogits == nullptr) return;
    D* const dx = dlogits + row * stride;
    for (int i = classes + thread.index(); i < stride; i += threads) dx[i] = to_element<D>(0.0f);
    const float whole = label == ignored_label ? 0.0f : *scale;
    const float share = whole / softmax.sum;
    for (int begin = thread.index() * N - shift; begin < classes; begin += threads * N) {
      if (begin >= 0 && begin + N <= classes) {
        give<N>(x, dx, begin, label, softmax.maximum, whole, share);
      } else {
        for (int i = begin < 0 ? 0 : begin; i < begin + N && i < classes; ++i) {
          give<1>(x, dx, i, label, softmax.maximum, whole, share);
        }
      }
    }
  }

  template <int M>
  BIGBIRD_DEVICE void take(const T* x, int at, RowSoftmax& softmax, double& sum) const {
    float values[M];
    load_floats(x + at, values);
    softmax.take(values, at);
    if (labels.other == 0.0f) return;
    float of_vector = 0.0f;
#pragma unroll
    for (int i = 0; i < M; ++i) of_vector += values[i];
    sum += static_cast<double>(of_vector);
  }

  template <int M>
  BIGBIRD_DEVICE void give(const T* x, D* dx, int at, std::int32_t label, float maximum, float whole,
                           float share) const {
    float values[M];
    load_floats(x + at, values);
#pragma unroll
    for (int i = 0; i < M; ++i) {
      values[i] = label == ignored_label ? 0.0f : expf(values[i] - maximum) * share;
      values[i] -= whole * (at + i == label ? labels.own : labels.other);
    }
    store_floats(dx + at, values);
  }
};

// Binary cross entropy of one logit x, positives weighted: (1 - t) x + weight softplus(-x), without overflow
// for any x.
struct BinaryLoss {
  float positive_weight;
  BIGBIRD_DEVICE double operator()(double x, double target, double& gradient) const {
    const double weight = 1.0 + (static_cast<double>(positive_weight) - 1.0) * target;
    const double small = exp(-fabs(x));
    gradient = (1.0 - target) - weight * (x < 0.0 ? 1.0 : small) / (1.0 + small);
    return (1.0 - target) * x + weight * (log1p(small) + fmax(-x, 0.0));
  }
};

struct SquaredError {
  BIGBIRD_DEVICE double operator()(double x, double target, double& gradient) const {
    const double difference = x - target;
    gradient = 2.0 * difference;
    return difference * difference;
  }
};

// losses[block] = the sum of what the threads have; the last thing that they do. Shared memory: a double for
// each warp.
BIGBIRD_DEVICE void store_block_sum(Thread& thread, double sum, float* losses) {
  sum = warp_sum(thread, sum);
  const auto sums = thread.shared<double>(0, loss_warps);
  if (thread.lane() == 0) sums[thread.warp()] = sum;
  thread.barrier();
  if (thread.index() != 0) return;
  double total = 0.0;
  for (int warp = 0; warp < loss_warps; ++warp) total += sums[warp];
  losses[thread.block()] = static_cast<float>(total);
}

// losses[row] = the sum over columns of a loss of single numbers; in double, for there are few of them.
template <class T, class D, class Loss>
struct SumOfLosses {
  static constexpr int threads = loss_threads;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = loss_warps * sizeof(double);
  const T* x;
  const float* targets;
  float* losses;
  D* dx;
  const float* scale;
  Index columns;
  Loss loss;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index start = thread.block() * columns;
    double sum = 0.0;
    for (Index i = start + thread.index(); i < start + columns; i += threads) {
      double gradient = 0.0;
      sum += loss(static_cast<double>(to_float(x[i])), static_cast<double>(targets[i]), gradient);
      if (dx != nullptr) dx[i] = to_element<D>(static_cast<float>(gradient * static_cast<double>(*scale)));
    }
    store_block_sum(thread, sum, losses);
  }
};

// log sum exp in double of some numbers, and how many they are.
struct LogSumExp {
  double largest;
  double sum;  // of exp(x - largest)
  int count;

  BIGBIRD_DEVICE void take(double x) {
    ++count;
    if (x == -INFINITY) return;  // minus itself it would be no number
    if (x > largest) {
      sum = sum * exp(largest - x) + 1.0;
      largest = x;
    } else {
      sum += exp(x - largest);
    }
  }
  BIGBIRD_DEVICE void join(const LogSumExp& other) {
    const double top = fmax(largest, other.largest);
    if (top == -INFINITY) {
      sum += other.sum;
    } else {
      sum = sum * exp(largest - top) + other.sum * exp(other.largest - top);
    }
    largest = top;
    count += other.count;
  }
  // Of the whole block, in every thread. Shared memory: block_bytes from `offset` on.
  static constexpr int block_bytes = loss_warps * (2 * 8 + 4);
  BIGBIRD_DEVICE void join_block(Thread& thread, int offset) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      join({thread.shuffle_xor(largest, mask), thread.shuffle_xor(sum, mask),
            thread.shuffle_xor(count, mask)});
    }
    const auto maxima = thread.shared<double>(offset, loss_warps);
    const auto sums = thread.shared<double>(offset + loss_warps * 8, loss_warps);
    const auto counts = thread.shared<std::int32_t>(offset + loss_warps * 16, loss_warps);
    if (thread.lane() == 0) {
      maxima[thread.warp()] = largest;
      sums[thread.warp()] = sum;
      counts[thread.warp()] = count;
    }
    thread.barrier();
    *this = {maxima[0], sums[0], counts[0]};
    for (int warp = 1; warp < loss_warps; ++warp) join({maxima[warp], sums[warp], counts[warp]});
  }

  BIGBIRD_DEVICE double value() const {
    return largest + log(sum);
  }
  BIGBIRD_DEVICE double share(double x) const {
    return sum == 0.0 ? 0.0 : exp(x - largest) / sum;
  }
};

// The OR-softmax of a group for each block.
template <class D>
struct ChoiceLoss {
  static constexpr int threads = loss_threads;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = 2 * LogSumExp::block_bytes;
  const float* logits;
  TokenGroups groups;
  float* losses;
  D* dlogits;
  const float* scale;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const std::int32_t begin = groups.offsets[thread.block()], end = groups.offsets[thread.block() + 1];
    // A member is the sum of `parts` rows, `members` apart.
    const std::int32_t members = (end - begin) / groups.parts[thread.block()];
    LogSumExp all{-INFINITY, 0.0, 0}, chosen{-INFINITY, 0.0, 0};
    for (std::int32_t first = begin + thread.index(); first < begin + members; first += threads) {
      const double x = value(first, end, members);
      all.take(x);
      if (groups.right[first] != 0) chosen.take(x);
    }
    all.join_block(thread, 0);
    chosen.join_block(thread, LogSumExp::block_bytes);
    const bool any = chosen.count > 0;
    if (thread.index() == 0) {
      losses[thread.block()] = any ? static_cast<float>(all.value() - chosen.value()) : 0.0f;
    }
    if (dlogits == nullptr) return;
    // Every thread goes over its own rows again: the gradient may take the place of the logits.
    for (std::int32_t first = begin + thread.index(); first < begin + members; first += threads) {
      const double x = value(first, end, members);
      const double slope = all.share(x) - (groups.right[first] != 0 ? chosen.share(x) : 0.0);
      const D gradient = to_element<D>(any ? static_cast<float>(slope * static_cast<double>(*scale)) : 0.0f);
      for (std::int32_t i = first; i < end; i += members) dlogits[groups.rows[i]] = gradient;
    }
  }

  BIGBIRD_DEVICE double value(std::int32_t first, std::int32_t end, std::int32_t members) const {
    double sum = 0.0;
    for (std::int32_t i = first; i < end; i += members) sum += static_cast<double>(logits[groups.rows[i]]);
    return sum;
  }
};

// The sum of the binary cross entropies of a group for each block.
template <class D>
struct MarkLoss {
  static constexpr int threads = loss_threads;
  static constexpr int blocks_per_sm = 2;
  static constexpr std::size_t shared_bytes = loss_warps * sizeof(double);
  const float* logits;
  TokenGroups groups;
  float* losses;
  D* dlogits;
  const float* scale;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const std::int32_t begin = groups.offsets[thread.block()], end = groups.offsets[thread.block() + 1];
    double sum = 0.0;
    for (std::int32_t i = begin + thread.index(); i < end; i += threads) {
      const std::int32_t row = groups.rows[i];
      const double sign = groups.right[i] == 0 ? 1.0 : -1.0;
      const double wrong = sign * static_cast<double>(logits[row]);
      const double small = exp(-fabs(wrong));
      sum += fmax(wrong, 0.0) + log1p(small);
      if (dlogits == nullptr) continue;
      const double slope = sign * (wrong < 0.0 ? small : 1.0) / (1.0 + small);
      dlogits[row] = to_element<D>(static_cast<float>(slope * static_cast<double>(*scale)));
    }
    store_block_sum(thread, sum, losses);
  }
};

template <template <class> class Kernel>
void launch_token_losses(const float* logits, const TokenGroups& groups, float* losses,
                         const LossGradient& gradient, Stream stream) {
  const bool narrow = gradient.data != nullptr && gradient.data.type() == ElementType::bf16;
  with_type(narrow ? ElementType::bf16 : ElementType::fp32, [&](auto type) {
    using D = decltype(type);
    launch(Kernel<D>{logits, groups, losses, gradient.data.as<D>(), gradient.scale},
           {.blocks = groups.groups, .shared_bytes = Kernel<D>::shared_bytes}, stream);
  });
}

// body(T{}, D{}) for the types of the logits and of their gradient.
template <class Body>
void with_loss_types(const ConstMatrix& logits, const LossGradient& gradient, const Body& body) {
  const ElementType type = logits.data.type();
  with_types(type, gradient.data == nullptr ? type : gradient.data.type(), body);
}

template <class Loss>
void sum_of_losses(const ConstMatrix& x, const float* targets, float* losses, const LossGradient& gradient,
                   const Loss& loss, Stream stream) {
  with_loss_types(x, gradient, [&](auto type, auto gradient_type) {
    using T = decltype(type);
    using D = decltype(gradient_type);
    using Kernel = SumOfLosses<T, D, Loss>;
    launch(Kernel{x.data.as<T>(), targets, losses, gradient.data.as<D>(), gradient.scale, x.columns, loss},
           {.blocks = x.rows, .shared_bytes = Kernel::shared_bytes}, stream);
  });
}

}  // namespace

void cross_entropy(const ConstMatrix& logits, const ClassLabels& labels, float* losses,
                   std::int32_t* predictions, const LossGradient& gradient, Stream stream) {
  with_loss_types(logits, gradient, [&](auto type, auto gradient_type) {
    using T = decltype(type);
    using D = decltype(gradient_type);
    with_access<T, D>(aligned_to_vectors(logits.data.data(), gradient.data.data()), [&](auto n) {
      using Kernel = CrossEntropy<T, D, n()>;
      launch(Kernel{logits.data.as<T>(), labels, losses, predictions, gradient.data.as<D>(), gradient.scale,
                    static_cast<int>(logits.columns), static_cast<int>(logits.row_stride())},
             {.blocks = logits.rows, .shared_bytes = Kernel::shared_bytes}, stream);
    });
  });
}

void binary_cross_entropy(const ConstMatrix& logits, const float* targets, float positive_weight,
                          float* losses, const LossGradient& gradient, Stream stream) {
  sum_of_losses(logits, targets, losses, gradient, BinaryLoss{positive_weight}, stream);
}

void squared_error(const ConstMatrix& x, const float* targets, float* losses, const LossGradient& gradient,
                   Stream stream) {
  sum_of_losses(x, targets, losses, gradient, SquaredError{}, stream);
}

void token_losses(const float* logits, const TokenGroups& groups, bool softmax, float* losses,
                  const LossGradient& gradient, Stream stream) {
  if (softmax) {
    launch_token_losses<ChoiceLoss>(logits, groups, losses, gradient, stream);
  } else {
    launch_token_losses<MarkLoss>(logits, groups, losses, gradient, stream);
  }
}

}  // namespace bigbird::kernels::cuda
