// The small products of a relative term (pairs.h) before and behind attention's kernels: terms of the
// queries, and gradients of the labels' rows and biases out of w.
#include "kernels/cuda/attention/labels.cuh"
#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/elements.cuh"

namespace bigbird::kernels::cuda {

namespace {

// t[h, row, u] = q.weight[u] + bias[u]. A warp has 16 rows of q, the block's share what they read of the
// labels. grid: (64 rows each, heads). What is made of padding is read by nobody.
template <class ElementType, int width>
struct LabelTerms {
  using Element = ElementType;
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = sizeof(Element) == 4 && width == 128 ? 2 : 3;
  static constexpr int rows = threads / 32 * 16;
  using Labels = LabelRows<Element, width>;
  static constexpr int shared_bytes = Labels::Tile::bytes;

  PairView pairs;
  const Element* q;
  Index q_stride;
  bool exact;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int head = thread.block_y();
    const Index row = Index{thread.block()} * rows + thread.warp() * 16;
    const bool inside = row < pairs.queries;
    WarpRows<Element, width> own;
    own.load_global(thread, q + (inside ? row : 0) * q_stride + head * width, q_stride);
    const Shared<Element> labels = thread.shared<Element>(0, Labels::Tile::elements);
    float* const terms = pairs.terms + (head * pairs.queries + row + thread.lane() / 4) * pairs.labels;
    for (int first = 0; first < pairs.labels; first += 16) {
      thread.barrier();  // everybody has read those before
      Labels::template load<threads>(thread, pairs, head, first, labels);
      thread.barrier();
      float products[2][4] = {};
      TileProducts<Element, 16, width>::scores(thread, products, own, labels, exact);
      if (!inside) continue;
#pragma unroll
      for (int n = 0; n < 2; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const int label = first + n * 8 + thread.lane() % 4 * 2 + j % 2;
          if (label >= pairs.labels) continue;
          const float bias = pairs.bias != nullptr ? pairs.bias[Index{label} * pairs.heads + head] : 0.0f;
          terms[Index{j / 2} * 8 * pairs.labels + label] = products[n][j] + bias;
        }
      }
    }
  }
};

// The sums over label_chunk_rows rows of w[row, u] q[row], and of w[row, u] in a column behind them: w^T is
// the left operand, 16 labels for each warp. grid: (chunks, heads).
template <class ElementType, int width>
struct LabelGradients {
  using Element = ElementType;
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 2;
  static constexpr int rows = 64;  // at a time
  using Queries = Tile<Element, rows, width>;
  static constexpr int shared_bytes = Queries::bytes;
  static constexpr int chunk = 16 / static_cast<int>(sizeof(Element));

  AttentionView view;
  PairView pairs;
  const Element* q;
  Index q_stride;
  float* label_sums;  // [chunks][heads][labels][width + 1]
  bool exact;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const int head = thread.block_y();
    const Index begin = Index{thread.block()} * label_chunk_rows;
    const Index end = begin + label_chunk_rows < pairs.queries ? begin + label_chunk_rows : pairs.queries;
    float* const sums_of_head =
        label_sums + (Index{thread.block()} * pairs.heads + head) * pairs.labels * (width + 1);
    for (int some = 0; some < pairs.labels; some += threads / 2) {
      const int first = some + thread.warp() * 16;
      float sums[width / 8][4] = {};
      float biases[2] = {};
      for (Index row = begin; row < end; row += rows) {
        thread.barrier();  // everybody has read the rows before
        load_queries(thread, head, row);
        thread.template wait_copies<0>();
        thread.barrier();
#pragma unroll 1
        for (int part = 0; part < rows; part += 16) {
          float weights[2][4];
          load_weights(thread, head, row + part, first, weights);
#pragma unroll
          for (int j = 0; j < 4; ++j) biases[j / 2] += weights[0][j] + weights[1][j];
          const Shared<Element> queries =
              thread.shared<Element>(0, Queries::elements) + part * Queries::Layout::stride;
          TileProducts<Element, 16, width>::weighted_sum(thread, sums, weights, queries, exact);
        }
      }
      write(thread, first, sums, biases, sums_of_head);
    }
  }

 private:
  // Zeros in place of padding, which may be NaN.
  BIGBIRD_DEVICE void load_queries(Thread& thread, int head, Index first) const {
    const Shared<Element> to = thread.shared<Element>(0, Queries::elements);
    for (int i = thread.index(); i < rows * (width / chunk); i += threads) {
      const int row = i / (width / chunk), column = i % (width / chunk) * chunk;
      const bool there = first + row < pairs.queries && asks(first + row);
      thread.copy_async(to, Queries::Layout::at(row, column),
                        q + (there ? first + row : 0) * q_stride + head * width + column, there);
    }
    thread.commit_copies();
  }
  // Whether a row of the batch is no padding.
  BIGBIRD_DEVICE bool asks(Index row) const {
    int low = 0, high = view.count - 1;
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (view.sequences[middle].first_row <= row) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return row - view.sequences[low].first_row < view.sequences[low].query_length;
  }
  // Of labels in rows and 16 queries in columns, a fragment.
  BIGBIRD_DEVICE void load_weights(Thread& thread, int head, Index row, int first,
                                   float (&weights)[2][4]) const {
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Index query = row + n * 8 + thread.lane() % 4 * 2 + j % 2;
        const int label = first + thread.lane() / 4 + j / 2 * 8;
        const bool there = query < pairs.queries && label < pairs.labels;
        weights[n][j] = there ? pairs.received[(head * pairs.queries + query) * pairs.labels + label] : 0.0f;
      }
    }
  }
  BIGBIRD_DEVICE void write(Thread& thread, int first, const float (&sums)[width / 8][4],
                            const float (&biases)[2], float* of_head) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float bias = row_sum(thread, biases[half]);
      const int label = first + thread.lane() / 4 + half * 8;
      if (label >= pairs.labels) continue;
      float* const to = of_head + Index{label} * (width + 1);
#pragma unroll
      for (int n = 0; n < width / 8; ++n) {
#pragma unroll
        for (int b = 0; b < 2; ++b) to[n * 8 + thread.lane() % 4 * 2 + b] = sums[n][half * 2 + b];
      }
      if (thread.lane() % 4 == 0) to[width] = bias;
    }
  }
};

// Adds the chunks up, in ascending order, and their sum, times the scale, to the gradients. A thread has a
// column of a label and head, or its bias.
template <int width>
struct LabelGradientSum {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;

  PairView pairs;
  RelativeGradients gradients;
  const float* label_sums;
  Index chunks;
  float scale;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    const Index i = Index{thread.block()} * threads + thread.index();
    const Index all = Index{pairs.heads} * pairs.labels * (width + 1);
    if (i >= all) return;
    const int column = static_cast<int>(i % (width + 1));
    const Index head = i / (width + 1) / pairs.labels, label = i / (width + 1) % pairs.labels;
    float sum = 0.0f;
    for (Index chunk = 0; chunk < chunks; ++chunk) sum += label_sums[chunk * all + i];
    if (column == width) {
      if (gradients.bias != nullptr) gradients.bias[label * pairs.heads + head] += scale * sum;
    } else if (column < pairs.columns && gradients.weight != nullptr) {
      gradients.weight[(label * pairs.heads + head) * pairs.columns + column] += scale * sum;
    }
  }
};

}  // namespace

void launch_label_terms(const AttentionArguments& a, Index head_size, Stream stream) {
  for_head_size(head_size, [&](auto width) {
    with_type(a.q.data.type(), [&](auto type) {
      using Kernel = LabelTerms<decltype(type), width()>;
      launch(Kernel{a.pairs, a.q.data.as<decltype(type)>(), a.q.stride, a.exact},
             {.blocks = blocks_for(a.tokens, Kernel::rows),
              .blocks_y = a.pairs.heads,
              .shared_bytes = Kernel::shared_bytes},
             stream);
    });
  });
}

void launch_label_gradients(const AttentionBackwardArguments& a, Index head_size, Stream stream) {
  for_head_size(head_size, [&](auto width) {
    const Index chunks = blocks_for(a.tokens, label_chunk_rows);
    with_type(a.q.data.type(), [&](auto type) {
      using Kernel = LabelGradients<decltype(type), width()>;
      launch(Kernel{a.view, a.pairs, a.q.data.as<decltype(type)>(), a.q.stride, a.label_sums, a.exact},
             {.blocks = chunks, .blocks_y = a.pairs.heads, .shared_bytes = Kernel::shared_bytes}, stream);
    });
    using Sum = LabelGradientSum<width()>;
    const Index numbers = Index{a.pairs.heads} * a.pairs.labels * (width() + 1);
    launch(Sum{a.pairs, a.relative, a.label_sums, chunks, a.scale},
           {.blocks = blocks_for(numbers, Sum::threads)}, stream);
  });
}

}  // namespace bigbird::kernels::cuda
