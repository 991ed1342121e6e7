// The work of every thread block of a prepared batch: what its piece names is looked up once, and what is
// hidden whole (padding, and of causal attention what is later than every query) is taken off its list, so
// that no kernel of attention searches for anything at its start.
#include "kernels/cuda/attention/launch.h"
#include "kernels/cuda/attention/tiles.cuh"

namespace bigbird::kernels::cuda {
namespace {

// A thread for each piece, those of queries first.
struct ListAttentionWork {
  static constexpr int threads = 128;
  static constexpr int blocks_per_sm = 4;

  AttentionView view;
  AttentionWork *query_work, *key_work;
  std::int32_t query_pieces, key_pieces;
  std::int32_t rows;  // of a tile
  bool causal;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    int at = thread.block() * threads + thread.index();
    const bool keys_own = at >= query_pieces;
    if (keys_own) at -= query_pieces;
    if (keys_own && at >= key_pieces) return;
    const std::int32_t* const counters = keys_own ? view.key_pieces : view.query_pieces;
    const int s = find_sequence(counters, view.count, at);
    const AttentionSequence& sequence = view.sequences[s];
    const DeviceLists& lists = keys_own ? sequence.by_key : sequence.by_query;
    const AttentionPiece piece = lists.pieces[at - counters[s]];
    const int own_first = static_cast<int>(keys_own ? sequence.first_key_row : sequence.first_row);
    const int first_slot = keys_own ? sequence.first_key_slot : sequence.first_query_slot;

    AttentionWork item{};
    item.own_row = own_first + piece.tile * rows;
    item.walked_row = static_cast<int>(keys_own ? sequence.first_row : sequence.first_key_row);
    item.walked_length = keys_own ? sequence.query_length : sequence.length;
    item.head = piece.head;
    item.slot = piece.slot < 0 ? -1 : first_slot + piece.slot;
    item.own_tile = piece.tile;
    item.own_valid = rows_below(keys_own ? sequence.length : sequence.query_length, piece.tile, rows);
    item.query_start = sequence.query_start;
    const int seen_by_tile = sequence.query_start + (piece.tile + 1) * rows;  // of causal attention
    if (causal && !keys_own && seen_by_tile < item.walked_length) item.walked_length = seen_by_tile;
    // The list ascends: tiles of padding, and keys later than all queries, are its end; queries before all
    // keys are its beginning.
    const ListedTile* const list = lists.tiles + piece.first;
    const int first_query = (piece.tile * rows - sequence.query_start) / rows;  // tile
    const int begin = causal && keys_own ? below(list, piece.count, first_query) : 0;
    const int end = below(list, piece.count, (item.walked_length + rows - 1) / rows);
    item.list = list + begin;
    item.count = item.own_valid == 0 || end < begin ? 0 : end - begin;

    (keys_own ? key_work : query_work)[at] = item;
  }

 private:
  // How many of the tiles lie below `tile`.
  BIGBIRD_DEVICE static int below(const ListedTile* list, int count, int tile) {
    int low = 0, high = count;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (list[middle].tile < tile) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
};

}  // namespace

void list_attention_work(const AttentionView& view, Index query_pieces, Index key_pieces, int tile_rows,
                         bool causal, Stream stream) {
  ListAttentionWork kernel{};
  kernel.view = view;
  kernel.query_work = const_cast<AttentionWork*>(view.query_work);
  kernel.key_work = const_cast<AttentionWork*>(view.key_work);
  kernel.query_pieces = static_cast<std::int32_t>(query_pieces);
  kernel.key_pieces = static_cast<std::int32_t>(key_pieces);
  kernel.rows = tile_rows;
  kernel.causal = causal;
  launch(kernel, {.blocks = blocks_for(query_pieces + key_pieces, ListAttentionWork::threads)}, stream);
}

}  // namespace bigbird::kernels::cuda
