// A block plan as work for the device: lists of tiles for query tiles and for key tiles, cut into even
// pieces. Plain data, shared by host and device code.
//
// A tile is 64 rows when the block size is a multiple of 64, and 16 otherwise; blocks of several tiles are
// refined. Both directions have the same form: the lists of query tiles hold the key tiles that a query tile
// sees (forward pass, gradient of q), those of key tiles the query tiles that see it (gradients of k and v).
// Lists ascend, and a tile that the plan names m times stands once, with its weight: its exponentials count m
// times in the softmax, exp2(score + log2(m)), and that is all that multiplicity means in both passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/types.h"

namespace bigbird::kernels::cuda {

struct ListedTile {
  std::int32_t tile;
  float log2_count;  // log2 of how often the plan names it
};

// What one thread block does: part of the list of one tile, or all of it. An empty list is a piece too (its
// tile's output has to be written).
struct AttentionPiece {
  std::int32_t head;
  std::int32_t tile;   // of the sequence: rows tile * tile_rows ...
  std::int32_t first;  // in the tiles of the direction
  std::int32_t count;
  std::int32_t slot;  // where the partial result goes, from 0 in each sequence; -1: the list is whole
};

// A tile whose list was cut: its result is the sum of these slots, in ascending order.
struct CutTile {
  std::int32_t head;
  std::int32_t tile;
  std::int32_t first_slot;
  std::int32_t slots;
};

// One direction. Pieces go head by head, and in each head the cut lists come first.
struct AttentionLists {
  std::vector<ListedTile> tiles;
  std::vector<AttentionPiece> pieces;
  std::vector<CutTile> cuts;
  std::int32_t slots = 0;
};

struct AttentionSchedule {
  // Throws std::logic_error for a block size that is no multiple of 16.
  AttentionSchedule(const BlockPlanView& plan, Index block_size);

  std::int32_t tile_rows = 0;
  std::int32_t tiles = 0;      // of the sequence's queries
  std::int32_t key_tiles = 0;  // of its keys: as many, but where keys are of other rows
  AttentionLists by_query;
  AttentionLists by_key;
};

// Rows of a tile.
constexpr std::int32_t attention_tile_rows(Index block_size) {
  return block_size % 64 == 0 ? 64 : 16;
}

// Most slots that a schedule uses for one head of a sequence of that many tiles: a list is cut as finely as
// these allow. Enough for BigBird's plan in pieces of 12 keys tiles and 16 query tiles.
constexpr Index query_slots_per_head(Index tiles) {
  return 2 * ((tiles + 11) / 12);
}
constexpr Index key_slots_per_head(Index tiles) {
  return (5 * tiles + 7) / 8;
}

// A direction in device memory.
struct DeviceLists {
  const ListedTile* tiles;
  const AttentionPiece* pieces;
  const CutTile* cuts;
};

// One sequence of a batch.
struct AttentionSequence {
  DeviceLists by_query;
  DeviceLists by_key;
  Index first_row;            // of the batch's queries
  Index first_key_row;        // of its keys; the same, but where keys are of other rows
  std::int32_t length;        // keys that are not padding
  std::int32_t query_length;  // queries that are not padding
  std::int32_t query_start;   // the row of its keys that its first query stands at
  std::int32_t first_query_slot;
  std::int32_t first_key_slot;
};

// A piece as its thread block finds it, with nothing left to look up: work.cu makes one of each piece when a
// batch is prepared. Rows that may be seen are neither padding nor, of causal attention, later than every row
// of the tile.
struct alignas(16) AttentionWork {
  std::int32_t own_row;        // the first row of the tile, of the batch
  std::int32_t walked_row;     // the first row of the sequence on the side that the list is of
  std::int32_t walked_length;  // rows there that may be seen
  std::int32_t count;          // of the list, without tiles that are hidden whole; 0: the tile is padding
  const ListedTile* list;
  std::int32_t head;
  std::int32_t slot;         // of the batch; -1: the list is whole
  std::int32_t own_tile;     // of the sequence
  std::int32_t own_valid;    // rows of the tile that are not padding
  std::int32_t query_start;  // AttentionSequence
  std::int32_t unused;
};
static_assert(sizeof(AttentionWork) == 48);

// A batch in device memory. The counters are prefix sums, [sequences + 1]: which pieces and cuts, counted
// over the batch, belong to which sequence.
struct AttentionView {
  const AttentionSequence* sequences;
  const std::int32_t* query_pieces;
  const std::int32_t* query_cuts;
  const std::int32_t* key_pieces;
  const std::int32_t* key_cuts;
  const AttentionWork* query_work;  // of each piece; a block for each
  const AttentionWork* key_work;    // null where the batch is not for training
  std::int32_t count;               // of sequences
};

}  // namespace bigbird::kernels::cuda
