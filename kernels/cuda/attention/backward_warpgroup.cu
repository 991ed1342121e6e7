// Gradients of attention by warpgroups, for heads of 64 columns in bf16 without dropout of probabilities: the
// two passes of backward.cuh with a fixed order of sums, in that order. Machine code of it is for sm_90a
// alone; elsewhere its bodies are empty.
//
// A block is a warpgroup with the 64 owned rows of one piece. Its two owned operands stay in shared memory
// and what is walked over goes through a ring of two stages. Both operands of the last products are packed
// before either is asked for: otherwise registers would not do for three blocks an SM.
#include "kernels/cuda/attention/backward_rows.cuh"
#include "kernels/cuda/attention/warpgroup.cuh"

namespace bigbird::kernels::cuda {
namespace {

template <bool keys_own>
struct WarpgroupBackward {
  using Tiles = WarpgroupTiles;
  using Matrix = Tiles::Matrix;
  static constexpr int threads = Tiles::threads;
  static constexpr int blocks_per_sm = keys_own ? 3 : 4;
  static constexpr int rows = Tiles::rows;
  static constexpr int depth = 64;
  // Where keys own, log_sum_exp and products of the walked queries lie behind their matrices, so that stages
  // stay multiples of 1,024 bytes.
  static constexpr int statistics_at = 2 * Matrix::bytes;
  static constexpr int stage_bytes = statistics_at + (keys_own ? 1024 : 0);
  static constexpr int own_at = 2 * stage_bytes;
  static constexpr int shared_bytes = own_at + 2 * Matrix::bytes;
  static_assert(2 * rows * 4 <= 1024);

  AttentionView view;
  BackwardMatrices<bf16> of;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    if constexpr (warpgroup_products) {
      if (work_of(thread).own_valid == 0 && work_of(thread).slot >= 0) return;  // as in backward.cuh
      float first_sums[depth / 8][4] = {};                                      // of dk or dq
      float second_sums[keys_own ? depth / 8 : 1][4] = {};                      // of dv
      if (work_of(thread).count > 0) add_up(thread, first_sums, second_sums);
      const AttentionWork& work = work_of(thread);
      const GradientPlace place{work.own_row, work.own_valid, work.head, work.slot};
      if constexpr (keys_own) {
        of.template write_keys<rows>(thread, place, thread.warp() * 16, first_sums, second_sums);
      } else {
        of.template write_queries<rows>(thread, place, thread.warp() * 16, first_sums);
      }
    }
  }

 private:
  BIGBIRD_DEVICE const AttentionWork& work_of(Thread& thread) const {
    return (keys_own ? view.key_work : view.query_work)[thread.block()];
  }

  // What a block walks over, in registers.
  struct Walk {
    int length;  // rows that may be seen
    int row;     // the first, of the batch
    int head;
  };
  // Of the two query rows of a thread, where queries own.
  struct RowStatistics {
    float shift[2];  // -log2 of the sum of exponentials
    float product[2];
  };

  BIGBIRD_DEVICE static Shared<float> statistics(Thread& thread, int stage) {
    return thread.template shared<float>(stage * stage_bytes + statistics_at, 2 * rows);
  }

  // Starts the copies of a walked tile; zeros in place of padding.
  BIGBIRD_DEVICE void load(Thread& thread, int stage, const Walk& walk, int tile) const {
    const int first = walk.row + tile * rows, valid = walk.length - tile * rows, column = walk.head * depth;
    const Shared<bf16> one = Tiles::matrix(thread, stage * stage_bytes),
                       other = Tiles::matrix(thread, stage * stage_bytes + Matrix::bytes);
    Matrix::load<threads>(thread, one, (keys_own ? of.q : of.k) + column, first,
                          keys_own ? of.q_stride : of.k_stride, valid);
    Matrix::load<threads>(thread, other, (keys_own ? of.dout : of.v) + column, first,
                          keys_own ? of.dout_stride : of.v_stride, valid);
    if (keys_own && thread.index() < rows / 2) {  // 4 numbers each
      const float* const from =
          (thread.index() >= rows / 4 ? of.output_products : of.log_sum_exp) + walk.head * of.tokens + first;
      thread.copy_async(statistics(thread, stage), thread.index() * 4,
                        from + thread.index() % (rows / 4) * 4);
    }
    thread.commit_copies();
  }

  BIGBIRD_DEVICE RowStatistics own_statistics(Thread& thread, const AttentionWork& work) const {
    RowStatistics result = {};
    if constexpr (!keys_own) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Index at =
            work.head * of.tokens + work.own_row + thread.warp() * 16 + thread.lane() / 4 + half * 8;
        result.shift[half] = -of.log_sum_exp[at] * log2_e;
        result.product[half] = of.output_products[at];
      }
    }
    return result;
  }

  // scores -> probabilities.
  BIGBIRD_DEVICE void exponentiate(Thread& thread, Tiles::Fragments& scores, int stage, float log2_count,
                                   const RowStatistics& own) const {
#pragma unroll
    for (int n = 0; n < rows / 8; ++n) {
      Pack<float, 2> sums{};
      if constexpr (keys_own)
        sums = statistics(thread, stage).template load<2>(n * 8 + thread.lane() % 4 * 2);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float shift = keys_own ? log2_count - sums[j % 2] * log2_e : log2_count + own.shift[j / 2];
        scores[n][j] = exp2_fast(scores[n][j] * of.score_scale + shift);
      }
    }
  }
  // Gradients of the probabilities -> gradients of the scores (dS).
  BIGBIRD_DEVICE void differentiate(Thread& thread, const Tiles::Fragments& probabilities,
                                    Tiles::Fragments& gradients, int stage, int valid,
                                    const RowStatistics& own) const {
#pragma unroll
    for (int n = 0; n < rows / 8; ++n) {
      Pack<float, 2> products{};
      if constexpr (keys_own)
        products = statistics(thread, stage).template load<2>(rows + n * 8 + thread.lane() % 4 * 2);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float product = keys_own ? products[j % 2] : own.product[j / 2];
        gradients[n][j] = probabilities[n][j] * (gradients[n][j] - product);
      }
    }
    // Where keys own, padded queries have log_sum_exp = +infinity, so that all of this is zero already.
    if (!keys_own && valid < rows) {
#pragma unroll
      for (int n = 0; n < rows / 8; ++n) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          if (n * 8 + thread.lane() % 4 * 2 + j % 2 >= valid) gradients[n][j] = 0.0f;
        }
      }
    }
  }

  BIGBIRD_DEVICE void add_up(Thread& thread, float (&first_sums)[depth / 8][4],
                             float (&second_sums)[keys_own ? depth / 8 : 1][4]) const {
    const AttentionWork& work = work_of(thread);
    const ListedTile* const list = work.list;
    const int count = work.count;
    const Walk walk{work.walked_length, work.walked_row, work.head};
    ListedTile next = list[0];
    Matrix::load<threads>(thread, Tiles::matrix(thread, own_at), (keys_own ? of.k : of.q) + walk.head * depth,
                          work.own_row, keys_own ? of.k_stride : of.q_stride, work.own_valid);
    Matrix::load<threads>(thread, Tiles::matrix(thread, own_at + Matrix::bytes),
                          (keys_own ? of.v : of.dout) + walk.head * depth, work.own_row,
                          keys_own ? of.v_stride : of.dout_stride, work.own_valid);
    load(thread, 0, walk, next.tile);
    const RowStatistics own = own_statistics(thread, work);
    const std::uint64_t own_first = thread.matrix_descriptor(Tiles::matrix(thread, own_at)),
                        own_second = thread.matrix_descriptor(Tiles::matrix(thread, own_at + Matrix::bytes));
    int stage = 0;
    for (int i = 0; i < count; ++i) {
      const ListedTile tile = next;
      if (i + 1 < count) next = list[i + 1];
      Tiles::arrive<0>(thread);  // this stage is there, and nobody reads the other one any more
      const std::uint64_t walked_first = thread.matrix_descriptor(Tiles::matrix(thread, stage * stage_bytes)),
                          walked_second = thread.matrix_descriptor(
                              Tiles::matrix(thread, stage * stage_bytes + Matrix::bytes));
      Tiles::Fragments scores, gradients;
      thread.keep_registers(scores);
      thread.keep_registers(gradients);
      thread.warpgroup_fence();
      Tiles::scores(thread, scores, own_first, walked_first);
      Tiles::scores(thread, gradients, own_second, walked_second);
      if (i + 1 < count) load(thread, stage ^ 1, walk, next.tile);
      thread.template warpgroup_wait<1>();
      thread.keep_registers(scores);
      exponentiate(thread, scores, stage, tile.log2_count, own);
      thread.template warpgroup_wait<0>();
      thread.keep_registers(gradients);
      differentiate(thread, scores, gradients, stage, walk.length - tile.tile * rows, own);
      Tiles::Left probabilities, scores_gradients;
      if constexpr (keys_own) Tiles::pack(scores, probabilities);
      Tiles::pack(gradients, scores_gradients);
      if constexpr (keys_own) thread.keep_registers(second_sums);
      thread.keep_registers(first_sums);
      thread.warpgroup_fence();
      if constexpr (keys_own) Tiles::weighted_sum(thread, second_sums, probabilities, walked_second);
      Tiles::weighted_sum(thread, first_sums, scores_gradients, walked_first);
      thread.template warpgroup_wait<0>();
      thread.keep_registers(first_sums);
      if constexpr (keys_own) thread.keep_registers(second_sums);
      stage ^= 1;
    }
  }
};

}  // namespace

void launch_warpgroup_backward(const AttentionBackwardArguments& a, Stream stream) {
  constexpr int depth = WarpgroupBackward<true>::depth, rows = WarpgroupBackward<true>::rows;
  WarpgroupBackward<true> keys{};
  WarpgroupBackward<false> queries{};
  keys.view = queries.view = a.view;
  keys.of = queries.of = backward_matrices<bf16>(a, depth);
  launch_output_products<bf16, depth>(a, stream);
  launch(keys, {.blocks = a.key_pieces, .shared_bytes = WarpgroupBackward<true>::shared_bytes}, stream);
  launch(queries, {.blocks = a.query_pieces, .shared_bytes = WarpgroupBackward<false>::shared_bytes}, stream);
  launch_query_sums<depth, rows, false>(keys.of, a, stream);
  launch_key_sums<depth, rows>(keys.of, a, stream);
}

}  // namespace bigbird::kernels::cuda
