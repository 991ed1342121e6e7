// The block that is running: its shared memory, its threads as fibers that take turns, and the meetings at
// which they wait for each other. One block runs at a time in an operating-system thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/emulation/bank_log.h"
#include "kernels/cuda/emulation/fiber.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {
class Thread;
}

namespace bigbird::kernels::cuda::emulation {

// splitmix64: what orders and turns are drawn by.
inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// The dynamic shared memory, which knows for every cell of two bytes who wrote and who read it since when:
// unwritten cells, races and copies that are still on their way are found at the access.

// Who accesses, and when: the number of barriers that the block, and that the warp, have passed.
struct Access {
  int thread = 0;
  std::uint32_t block_time = 0;
  std::uint32_t warp_time = 0;
  std::uint32_t copy_fences = 0;  // that the thread has passed
};

class Block;

class SharedMemory {
 public:
  // Fresh memory, NaN throughout. block_time: the first of this block; times never decrease.
  void reset(std::size_t bytes, std::uint32_t block_time);
  std::size_t size() const { return bytes_.size(); }
  const std::byte* data() const { return bytes_.data(); }
  std::byte* data() { return bytes_.data(); }

  // Called before bytes at..at + count are touched; both even, in bounds. Empty, or what is wrong.
  std::string read(const Access& access, std::size_t at, std::size_t count) {
    return check_read(access, at, count, false);
  }
  // A read by all lanes of the warp of access.thread.
  std::string read_by_warp(const Access& access, std::size_t at, std::size_t count) {
    return check_read(access, at, count, true);
  }
  std::string write(const Access& access, std::size_t at, std::size_t count);
  // An asynchronous copy: nobody may touch the cells until it has arrived, which counts as a write.
  std::string begin_copy(const Access& access, std::size_t at, std::size_t count);
  void arrive(const Access& access, std::size_t at, std::size_t count);
  // A product of a warpgroup reads the bytes from now until end_product(): nobody may write them meanwhile.
  // It sees only what its writer has fenced (fence_copies) before a barrier.
  std::string begin_product(const Access& access, std::size_t at, std::size_t count, const Block& block);
  void end_product(const Access& access, std::size_t at, std::size_t count);

 private:
  struct Cell {
    std::uint32_t write_block_time = 0;
    std::uint32_t write_warp_time = 0;
    std::uint32_t read_block_time = 0;  // the reads of this block time are remembered
    std::uint32_t read_warp_time = 0;   // of the last of them
    std::uint32_t copy_fences = 0;      // of the writer, when it wrote
    std::uint16_t products = 0;         // that read it now
    std::uint16_t writer = 0;
    std::uint16_t reader = 0;       // the first at read_warp_time
    bool other_lanes_read = false;  // others of the reader's warp, at the same warp time
    bool other_warps_read = false;  // others of other warps, at the same block time
    bool in_flight = false;
  };
  std::string check_read(const Access& access, std::size_t at, std::size_t count, bool by_warp);
  std::string explain_write(const Access& access, const Cell& cell, std::size_t at) const;

  std::vector<std::byte> bytes_;
  std::vector<Cell> cells_;
  std::size_t read_by_products_ = 0;  // cells, each as often as it is read
  std::uint32_t first_block_time_ = 0;
};

class BankLog;
class WarpProducts;

// One thread of the block.
struct Lane {
  enum class State { unborn, ready, waits_for_warp, waits_for_block, done };

  // Bytes that are on their way to shared memory. They land in wait_copies.
  struct Copy {
    std::uint32_t to = 0;
    std::array<std::byte, 16> data{};
  };

  Block* block = nullptr;
  int index = 0;
  State state = State::unborn;
  Place place;                 // of the operation it waits in
  const char* operation = "";  // its name
  void* arguments = nullptr;   // of that operation
  Fiber* fiber = nullptr;
  std::vector<Copy> copies;                // oldest first
  std::vector<std::size_t> copy_groups;    // number of copies up to the end of each closed group
  std::vector<std::uint32_t> copy_fences;  // the block time of each
  int warp() const { return index / 32; }
  int lane() const { return index % 32; }
  [[noreturn]] void fail(const std::string& what) const;  // throws EmulationError
};

// A rendezvous of the lanes of a warp: the last to come carries out the operation for all.
using WarpArguments = std::array<void*, 32>;
using WarpOperation = void (*)(Lane& last, const WarpArguments& arguments);

struct Grid {
  std::string kernel;  // for messages
  int threads = 0;
  Index blocks = 0;
  Index blocks_y = 0;
  std::size_t shared_bytes = 0;
  void (*body)(const void* kernel, Thread& thread) = nullptr;
  const void* arguments = nullptr;
};

class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Runs all threads of one block to their end. Throws EmulationError.
  void run(const Grid& grid, Index block, Index block_y, std::uint64_t seed);

  // What lanes call. They return when everybody is there.
  void meet_block(Lane& lane, Place place);
  void meet_warp(Lane& lane, const char* name, WarpOperation operation, void* arguments, Place place);

  Access access(const Lane& lane) const {
    return {lane.index, block_time_, warps_[static_cast<std::size_t>(lane.warp())].time,
            static_cast<std::uint32_t>(lane.copy_fences.size())};
  }
  void fence_copies(Lane& lane) const { lane.copy_fences.push_back(block_time_); }
  // Whether the thread has fenced what it wrote after so many fences, and a barrier of the block came since.
  bool seen_by_products(int thread, std::uint32_t copy_fences) const {
    const std::vector<std::uint32_t>& fences = lanes_[static_cast<std::size_t>(thread)].copy_fences;
    return fences.size() > copy_fences && fences[copy_fences] != block_time_;
  }
  WarpProducts& products(const Lane& lane) const;
  void pass_warp_barrier(const Lane& lane) { ++warps_[static_cast<std::size_t>(lane.warp())].time; }
  Lane& current() const { return *current_; }
  SharedMemory& shared() { return shared_; }
  const Grid& grid() const { return *grid_; }
  int block() const { return block_; }
  int block_y() const { return block_y_; }
  BankLog* banks() const { return banks_; }  // options().banks as the block began

 private:
  struct Warp {
    std::uint32_t ready = 0;      // lanes that can go on
    std::uint32_t time = 0;       // warp barriers passed
    int waiting = 0;              // lanes in meet_warp
    const Lane* first = nullptr;  // of them
  };
  struct Cancelled {};  // unwinds the stacks of the other lanes after an error
  static void fiber_entry(void* block);
  [[noreturn]] void work_forever();
  Fiber& idle_fiber();
  Lane* next(int warp);
  // Gives the processor away until `lane` is ready again.
  void pause(Lane& lane);
  void leave(Fiber& self);
  void make_ready(Lane& lane);
  void unwind();
  std::string stuck() const;
  // For options().banks.
  void close_accesses(int warp) const;
  // Empty, or which warps of a warpgroup have called other products than its first.
  std::string uneven_products() const;

  const Grid* grid_ = nullptr;
  int block_ = 0;
  int block_y_ = 0;
  std::vector<Lane> lanes_;
  std::vector<Warp> warps_;
  std::uint32_t warps_ready_ = 0;
  int lane_turn_ = 0;  // where the search for the next lane begins; from the seed
  int warp_turn_ = 0;
  int done_ = 0;
  int at_barrier_ = 0;
  std::uint32_t block_time_ = 0;
  SharedMemory shared_;
  BankLog* banks_ = nullptr;
  std::vector<std::unique_ptr<WarpProducts>> products_;  // of the warps

  Fiber caller_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  Fiber* current_fiber_ = nullptr;
  Lane* current_ = nullptr;
  bool cancelled_ = false;
  std::string error_;
};

// Runs a grid in this thread's block, in an order of blocks that depends on options().seed.
void run_grid(const Grid& grid);

}  // namespace bigbird::kernels::cuda::emulation
