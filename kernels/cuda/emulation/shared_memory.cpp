// Races by the order that barriers give: two accesses of one cell by different threads are ordered when a
// barrier() lies between them, or, for lanes of one warp, a warp_barrier().
#include "kernels/cuda/emulation/shared_memory.h"

#include <cstring>

namespace bigbird::kernels::cuda::emulation {
namespace {

constexpr std::size_t cell_bytes = 2;

std::string name(int thread) {
  return "thread " + std::to_string(thread);
}

// Whether something by `other` at these times happened before the access. Same thread: in program order.
bool ordered(const Access& now, int other, std::uint32_t block_time, std::uint32_t warp_time) {
  if (block_time != now.block_time || other == now.thread) return true;
  return other / 32 == now.thread / 32 && warp_time != now.warp_time;
}

}  // namespace

void SharedMemory::reset(std::size_t bytes, std::uint32_t block_time) {
  bytes_.assign(bytes, std::byte{0xff});
  // Cells of earlier blocks carry earlier times, and need no clearing.
  const std::size_t cells = (bytes + cell_bytes - 1) / cell_bytes;
  if (cells_.size() < cells) cells_.resize(cells);
  first_block_time_ = block_time;
}

std::string SharedMemory::check_read(const Access& access, std::size_t at, std::size_t count, bool by_warp) {
  for (std::size_t i = at / cell_bytes; i * cell_bytes < at + count; ++i) {
    Cell& cell = cells_[i];
    if (cell.write_block_time < first_block_time_) {
      return "reads byte " + std::to_string(i * cell_bytes) + " of shared memory, which nobody wrote";
    }
    if (cell.in_flight) {
      return "reads byte " + std::to_string(i * cell_bytes) + " of shared memory, where a copy of " +
             name(cell.writer) + " has not arrived (wait_copies)";
    }
    const bool own = cell.writer == access.thread && !by_warp;
    if (!own && cell.write_block_time == access.block_time &&
        (cell.writer / 32 != access.thread / 32 || cell.write_warp_time == access.warp_time)) {
      return "race: reads byte " + std::to_string(i * cell_bytes) + " of shared memory, which " +
             name(cell.writer) + " wrote, with no barrier between";
    }
    if (cell.read_block_time != access.block_time) {
      cell.read_block_time = access.block_time;
      cell.read_warp_time = access.warp_time;
      cell.reader = static_cast<std::uint16_t>(access.thread);
      cell.other_lanes_read = by_warp;
      cell.other_warps_read = false;
    } else if (cell.reader / 32 != access.thread / 32) {
      cell.other_warps_read = true;
    } else if (cell.read_warp_time != access.warp_time) {
      cell.read_warp_time = access.warp_time;
      cell.reader = static_cast<std::uint16_t>(access.thread);
      cell.other_lanes_read = by_warp;
    } else if (cell.reader != access.thread || by_warp) {
      cell.other_lanes_read = true;
    }
  }
  return {};
}

// What forbids a write to the cell; empty when nothing does.
std::string SharedMemory::explain_write(const Access& access, const Cell& cell, std::size_t at) const {
  const std::string place = "byte " + std::to_string(at) + " of shared memory, ";
  if (cell.write_block_time >= first_block_time_) {
    if (cell.in_flight) {
      return "writes " + place + "where a copy of " + name(cell.writer) + " has not arrived (wait_copies)";
    }
    if (!ordered(access, cell.writer, cell.write_block_time, cell.write_warp_time)) {
      return "race: writes " + place + "which " + name(cell.writer) + " wrote, with no barrier between";
    }
  }
  if (cell.read_block_time != access.block_time) return {};
  if (cell.other_warps_read) {
    return "race: writes " + place + "which " + name(cell.reader) +
           " and threads of other warps read, with no barrier between";
  }
  const bool same_warp = cell.reader / 32 == access.thread / 32;
  if (same_warp && cell.read_warp_time != access.warp_time) return {};
  if (same_warp && cell.reader == access.thread && !cell.other_lanes_read) return {};
  return "race: writes " + place + "which " + name(cell.reader) +
         (cell.other_lanes_read ? " and other lanes of its warp read" : " read") +
         ", with no barrier between";
}

std::string SharedMemory::write(const Access& access, std::size_t at, std::size_t count) {
  for (std::size_t i = at / cell_bytes; i * cell_bytes < at + count; ++i) {
    Cell& cell = cells_[i];
    const bool recent =
        cell.write_block_time == access.block_time || cell.read_block_time == access.block_time;
    if (recent || cell.in_flight) {
      std::string wrong = explain_write(access, cell, i * cell_bytes);
      if (!wrong.empty()) return wrong;
    }
    cell.write_block_time = access.block_time;
    cell.write_warp_time = access.warp_time;
    cell.writer = static_cast<std::uint16_t>(access.thread);
    cell.in_flight = false;
  }
  return {};
}

std::string SharedMemory::begin_copy(const Access& access, std::size_t at, std::size_t count) {
  std::string wrong = write(access, at, count);
  if (!wrong.empty()) return wrong;
  for (std::size_t i = at / cell_bytes; i * cell_bytes < at + count; ++i) cells_[i].in_flight = true;
  return {};
}

void SharedMemory::arrive(const Access& access, std::size_t at, std::size_t count) {
  for (std::size_t i = at / cell_bytes; i * cell_bytes < at + count; ++i) {
    cells_[i].write_block_time = access.block_time;
    cells_[i].write_warp_time = access.warp_time;
    cells_[i].in_flight = false;
  }
}

}  // namespace bigbird::kernels::cuda::emulation
