// Losses on logits with their gradients: a block for each row.
#include "kernels/cuda/losses.h"

#include <math.h>

#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

constexpr std::int32_t ignored_label = -100;
constexpr int loss_threads = 256;
constexpr int loss_warps = loss_threads / 32;

// The maximum of some numbers, the lowest place that has it, and the sum of exp(x - maximum) over them
// (Milakov and Gimelshein 2018).
struct Softmax {
  float maximum;
  std::int32_t place;
  float sum;

  BIGBIRD_DEVICE void join(const Softmax& other) {
    const float top = fmaxf(maximum, other.maximum);
    // -infinity minus itself would be no number.
    if (top == -INFINITY) {
      sum += other.sum;
    } else {
      sum = sum * expf(maximum - top) + other.sum * expf(other.maximum - top);
    }
    if (other.maximum > maximum || (other.maximum == maximum && other.place < place)) place = other.place;
    maximum = top;
  }
};

constexpr std::int32_t nowhere = 0x7fffffff;

// Vectors of N elements lie at 16-byte boundaries, so that a row may begin and end within one.
template <class T, class D, int N>
struct CrossEntropy {
  static constexpr int threads = loss_threads;
  static constexpr int blocks_per_sm = 4;
  static constexpr std::size_t shared_bytes = 3 * loss_warps * sizeof(float);
  const T* logits;
  const std::int32_t* labels;
  float* losses;
  std::int32_t* predictions;
  D* dlogits;
  const float* scale;
  int classes;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index row = thread.block();
    const T* const x = logits + row * classes;
    const std::int32_t label = labels[row];
    const int shift = static_cast<int>(row * classes % N);

    Softmax softmax{-INFINITY, nowhere, 0.0f};
    for (int begin = thread.index() * N - shift; begin < classes; begin += threads * N) {
      if (begin >= 0 && begin + N <= classes) {
        take<N>(x, begin, softmax);
      } else {
        for (int i = begin < 0 ? 0 : begin; i < begin + N && i < classes; ++i) take<1>(x, i, softmax);
      }
    }
    // Before the gradient may take its place.
    const float chosen = label == ignored_label ? 0.0f : to_float(x[label]);
    join_block(thread, softmax);

    if (thread.index() == 0) {
      losses[row] = label == ignored_label ? 0.0f : logf(softmax.sum) - (chosen - softmax.maximum);
      if (predictions != nullptr) predictions[row] = softmax.place == nowhere ? 0 : softmax.place;
    }
    if (dlogits == nullptr) return;
    D* const dx = dlogits + row * classes;
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
  BIGBIRD_DEVICE void take(const T* x, int at, Softmax& softmax) const {
    float values[M];
    load_floats(x + at, values);
    float top = softmax.maximum;
#pragma unroll
    for (int i = 0; i < M; ++i) {
      if (values[i] > top) {
        top = values[i];
        softmax.place = at + i;
      }
    }
    if (top > softmax.maximum) {
      softmax.sum *= expf(softmax.maximum - top);
      softmax.maximum = top;
    }
#pragma unroll
    for (int i = 0; i < M; ++i) {
      // Not -infinity minus itself; a number that is none gets through to the loss.
      if (values[i] != -INFINITY) softmax.sum += expf(values[i] - softmax.maximum);
    }
  }

  BIGBIRD_DEVICE void join_block(Thread& thread, Softmax& softmax) const {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
      softmax.join({thread.shuffle_xor(softmax.maximum, mask), thread.shuffle_xor(softmax.place, mask),
                    thread.shuffle_xor(softmax.sum, mask)});
    }
    const auto maxima = thread.shared<float>(0, loss_warps);
    const auto sums = thread.shared<float>(loss_warps * 4, loss_warps);
    const auto places = thread.shared<std::int32_t>(loss_warps * 8, loss_warps);
    if (thread.lane() == 0) {
      maxima[thread.warp()] = softmax.maximum;
      sums[thread.warp()] = softmax.sum;
      places[thread.warp()] = softmax.place;
    }
    thread.barrier();
    softmax = {maxima[0], places[0], sums[0]};
    for (int warp = 1; warp < loss_warps; ++warp) softmax.join({maxima[warp], places[warp], sums[warp]});
  }

  template <int M>
  BIGBIRD_DEVICE void give(const T* x, D* dx, int at, std::int32_t label, float maximum, float whole,
                           float share) const {
    float values[M];
    load_floats(x + at, values);
#pragma unroll
    for (int i = 0; i < M; ++i) {
      values[i] = label == ignored_label ? 0.0f : expf(values[i] - maximum) * share;
      if (at + i == label) values[i] -= whole;
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
    sum = warp_sum(thread, sum);
    const auto sums = thread.shared<double>(0, loss_warps);
    if (thread.lane() == 0) sums[thread.warp()] = sum;
    thread.barrier();
    if (thread.index() != 0) return;
    double total = 0.0;
    for (int warp = 0; warp < loss_warps; ++warp) total += sums[warp];
    losses[thread.block()] = static_cast<float>(total);
  }
};

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

void cross_entropy(const ConstMatrix& logits, const std::int32_t* labels, float* losses,
                   std::int32_t* predictions, const LossGradient& gradient, Stream stream) {
  with_loss_types(logits, gradient, [&](auto type, auto gradient_type) {
    using T = decltype(type);
    using D = decltype(gradient_type);
    with_access<T, D>(aligned_to_vectors(logits.data.data(), gradient.data.data()), [&](auto n) {
      using Kernel = CrossEntropy<T, D, n()>;
      launch(Kernel{logits.data.as<T>(), labels, losses, predictions, gradient.data.as<D>(), gradient.scale,
                    static_cast<int>(logits.columns)},
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

}  // namespace bigbird::kernels::cuda
