// Forward pass of attention by warpgroups, for heads of 64 columns in bf16 without dropout of probabilities:
// the sums of forward.cuh, in its order. Machine code of it is for sm_90a alone; elsewhere its body is empty.
//
// A block is a warpgroup with the 64 query rows of one piece. The scores of the next tile are asked for
// before the weights of this one are made (Shah et al. 2024, section 3.2), so that the tensor cores work
// while exponentials are taken. Keys and values each have a ring of two tiles, queries one.
#include "kernels/cuda/attention/forward_rows.cuh"
#include "kernels/cuda/attention/warpgroup.cuh"

namespace bigbird::kernels::cuda {
namespace {

struct WarpgroupForward {
  using Tiles = WarpgroupTiles;
  using Matrix = Tiles::Matrix;
  static constexpr int threads = Tiles::threads;
  static constexpr int blocks_per_sm = 4;
  static constexpr int rows = Tiles::rows;
  static constexpr int width = 64;
  static constexpr int values_at = 2 * Matrix::bytes, queries_at = 4 * Matrix::bytes;
  static constexpr int shared_bytes = 5 * Matrix::bytes;

  AttentionView view;
  const bf16 *q, *k, *v;
  std::int32_t q_stride, k_stride, v_stride;
  ForwardOutputs<bf16, width, rows> to;
  std::int32_t wanted_tiles;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    if constexpr (warpgroup_products) {
      if (work_of(thread).own_tile >= wanted_tiles) return;
      ForwardRows<width> group;
      if (work_of(thread).count > 0) add_up(thread, group);
      group.total[0] = row_sum(thread, group.total[0]);
      group.total[1] = row_sum(thread, group.total[1]);
      const AttentionWork& work = work_of(thread);
      const int row = thread.warp() * 16 + (thread.lane() >> 2);
      if (work.slot < 0) {
        to.write(thread, group, row, work);
      } else if (work.own_valid > 0) {
        to.write_partial(thread, group, row, work.slot);
      }
    }
  }

 private:
  BIGBIRD_DEVICE const AttentionWork& work_of(Thread& thread) const {
    return view.query_work[thread.block()];
  }

  // What a block walks over, in registers.
  struct Walk {
    int length;   // rows that may be seen
    int key_row;  // the first, of the batch
    int column;   // of the head
  };

  BIGBIRD_DEVICE void load(Thread& thread, int offset, const bf16* from, int stride, const Walk& walk,
                           int tile) const {
    Matrix::load<threads>(thread, Tiles::matrix(thread, offset), from + walk.column,
                          walk.key_row + tile * rows, stride, walk.length - tile * rows);
    thread.commit_copies();
  }

  // Scores of a tile become weights; the factors of what was summed before.
  BIGBIRD_DEVICE void weigh(Thread& thread, ForwardRows<width>& group, Tiles::Fragments& scores,
                            const Walk& walk, const ListedTile& tile, float (&shrink)[2]) const {
    const int valid = walk.length - tile.tile * rows;
    if (valid < rows) mask_keys<rows>(thread, scores, valid, rows);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      shrink[half] =
          group.template weigh<rows, false>(thread, scores, half, to.scale * log2_e, tile.log2_count);
    }
  }

  BIGBIRD_DEVICE void add_up(Thread& thread, ForwardRows<width>& group) const {
    const AttentionWork& work = work_of(thread);
    const ListedTile* const list = work.list;
    const int count = work.count;
    const Walk walk{work.walked_length, work.walked_row, work.head * width};
    Matrix::load<threads>(thread, Tiles::matrix(thread, queries_at), q + walk.column, work.own_row, q_stride,
                          work.own_valid);
    // Entries of the list: of the tile whose weights are made, and of the one whose keys come in.
    ListedTile tile = list[0], next = list[count > 1 ? 1 : 0];
    load(thread, 0, k, k_stride, walk, tile.tile);
    load(thread, values_at, v, v_stride, walk, tile.tile);
    if (count > 1) {
      load(thread, Matrix::bytes, k, k_stride, walk, next.tile);
    } else {
      thread.commit_copies();
    }
    Tiles::arrive<2>(thread);  // queries and the first keys

    const std::uint64_t queries = thread.matrix_descriptor(Tiles::matrix(thread, queries_at));
    Tiles::Fragments scores;
    thread.keep_registers(scores);
    thread.warpgroup_fence();
    Tiles::scores(thread, scores, queries, thread.matrix_descriptor(Tiles::matrix(thread, 0)));
    thread.template warpgroup_wait<0>();
    thread.keep_registers(scores);
    float shrink[2];
    weigh(thread, group, scores, walk, tile, shrink);  // nothing is summed yet
    Tiles::Left weights;
    Tiles::pack(scores, weights);
    int stage = 0;
    for (int i = 1; i < count; ++i) {
      Tiles::arrive<0>(thread);  // the values of the last tile and the keys of this; others are read no more
      tile = next;
      next = list[i + 1 < count ? i + 1 : i];
      load(thread, values_at + (stage ^ 1) * Matrix::bytes, v, v_stride, walk, tile.tile);
      if (i + 1 < count) load(thread, stage * Matrix::bytes, k, k_stride, walk, next.tile);
      const std::uint64_t keys = thread.matrix_descriptor(Tiles::matrix(thread, (stage ^ 1) * Matrix::bytes));
      const std::uint64_t values =
          thread.matrix_descriptor(Tiles::matrix(thread, values_at + stage * Matrix::bytes));
      thread.keep_registers(scores);
      thread.keep_registers(group.sums);
      thread.warpgroup_fence();
      Tiles::scores(thread, scores, queries, keys);
      Tiles::weighted_sum(thread, group.sums, weights, values);
      thread.template warpgroup_wait<1>();
      thread.keep_registers(scores);
      weigh(thread, group, scores, walk, tile, shrink);
      thread.template warpgroup_wait<0>();
      thread.keep_registers(group.sums);
      group.shrink_sums(0, shrink[0]);
      group.shrink_sums(1, shrink[1]);
      Tiles::pack(scores, weights);
      stage ^= 1;
    }
    Tiles::arrive<0>(thread);
    const std::uint64_t values =
        thread.matrix_descriptor(Tiles::matrix(thread, values_at + stage * Matrix::bytes));
    thread.keep_registers(group.sums);
    thread.warpgroup_fence();
    Tiles::weighted_sum(thread, group.sums, weights, values);
    thread.template warpgroup_wait<0>();
    thread.keep_registers(group.sums);
  }
};

}  // namespace

void launch_warpgroup_forward(const AttentionForwardArguments& a, Stream stream) {
  WarpgroupForward kernel{};
  kernel.view = a.view;
  kernel.q = a.q.data.as<bf16>();
  kernel.k = a.k.data.as<bf16>();
  kernel.v = a.v.data.as<bf16>();
  kernel.q_stride = static_cast<std::int32_t>(a.q.stride);
  kernel.k_stride = static_cast<std::int32_t>(a.k.stride);
  kernel.v_stride = static_cast<std::int32_t>(a.v.stride);
  kernel.to = forward_outputs<bf16, WarpgroupForward::width, WarpgroupForward::rows>(a);
  kernel.wanted_tiles = a.wanted_tiles;
  launch(kernel, {.blocks = a.pieces, .shared_bytes = WarpgroupForward::shared_bytes}, stream);
  launch_attention_combine(kernel.to, a, stream);
}

}  // namespace bigbird::kernels::cuda
