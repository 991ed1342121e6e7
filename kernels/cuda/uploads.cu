// Uploads that travelled together (Transfers in device_memory.h), taken from where they arrived to their
// places.
#include <algorithm>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/device_memory.h"

namespace bigbird::kernels::cuda {
namespace {

// A row of blocks for each piece. Whole words of 16 bytes where its place is aligned to them, as almost all
// are, and single bytes behind them.
struct PlaceUploads {
  static constexpr int threads = 256;
  static constexpr int blocks_per_sm = 4;
  const unsigned char* arrived;
  const UploadedPiece* pieces;

  BIGBIRD_DEVICE void operator()(Thread& thread) const {
    constexpr Index word = 16;
    const UploadedPiece piece = pieces[thread.block_y()];
    const unsigned char* const from = arrived + piece.offset;
    auto* const to = static_cast<unsigned char*>(piece.to);
    const auto bytes = static_cast<Index>(piece.bytes);
    const Index words = reinterpret_cast<std::uintptr_t>(to) % word == 0 ? bytes / word : 0;
    const Index first = Index{thread.block()} * threads + thread.index(),
                step = Index{thread.blocks()} * threads;
    for (Index i = first; i < words; i += step) store(to + i * word, load<word>(from + i * word));
    // By one block: neighbouring bytes of two blocks may share what memory is written by.
    if (thread.block() != 0) return;
    for (Index i = words * word + thread.index(); i < bytes; i += threads) to[i] = from[i];
  }
};

}  // namespace

void place_uploads(const void* arrived, const UploadedPiece* pieces, std::size_t count, std::size_t largest,
                   Stream stream) {
  constexpr Index most_blocks = 16;  // of a piece
  const Index blocks =
      std::min(most_blocks, blocks_for(static_cast<Index>(largest), Index{16} * PlaceUploads::threads));
  launch(PlaceUploads{static_cast<const unsigned char*>(arrived), pieces},
         {.blocks = blocks, .blocks_y = static_cast<Index>(count)}, stream);
}

}  // namespace bigbird::kernels::cuda
