// The dynamic shared memory of the block that is running, which knows for every cell of two bytes who wrote
// and who read it since when: unwritten cells, races and copies that are still on their way are found at the
// access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bigbird::kernels::cuda::emulation {

// Who accesses, and when: the number of barriers that the block, and that the warp, have passed.
struct Access {
  int thread = 0;
  std::uint32_t block_time = 0;
  std::uint32_t warp_time = 0;
};

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

 private:
  struct Cell {
    std::uint32_t write_block_time = 0;
    std::uint32_t write_warp_time = 0;
    std::uint32_t read_block_time = 0;  // the reads of this block time are remembered
    std::uint32_t read_warp_time = 0;   // of the last of them
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
  std::uint32_t first_block_time_ = 0;
};

}  // namespace bigbird::kernels::cuda::emulation
