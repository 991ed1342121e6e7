// Who runs next: lanes of the warp that ran last, before other warps; a lane that never ran starts on the
// stack of one that has finished. So a kernel without meetings never switches stacks at all.
#include "kernels/cuda/emulation/block.h"

#include <bit>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <numeric>
#include <string_view>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/bank_log.h"
#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/emulation/global_watch.h"
#include "kernels/cuda/emulation/warpgroup.h"

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

Block& running_block() {
  static thread_local Block block;
  return block;
}

}  // namespace

void SharedMemory::reset(std::size_t bytes, std::uint32_t block_time) {
  bytes_.assign(bytes, std::byte{0xff});
  // Cells of earlier blocks carry earlier times, and need no clearing.
  const std::size_t cells = (bytes + cell_bytes - 1) / cell_bytes;
  if (cells_.size() < cells) cells_.resize(cells);
  if (read_by_products_ > 0) {  // of a block that ended in an error
    for (Cell& cell : cells_) cell.products = 0;
    read_by_products_ = 0;
  }
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
  if (cell.products > 0) return "writes " + place + "which a product on its way reads (warpgroup_wait)";
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
    if (recent || cell.in_flight || cell.products > 0) {
      std::string wrong = explain_write(access, cell, i * cell_bytes);
      if (!wrong.empty()) return wrong;
    }
    cell.write_block_time = access.block_time;
    cell.write_warp_time = access.warp_time;
    cell.writer = static_cast<std::uint16_t>(access.thread);
    cell.copy_fences = access.copy_fences;
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
    cells_[i].copy_fences = access.copy_fences;
    cells_[i].in_flight = false;
  }
}

std::string SharedMemory::begin_product(const Access& access, std::size_t at, std::size_t count,
                                        const Block& block) {
  std::string wrong = check_read(access, at, count, true);
  for (std::size_t i = at / cell_bytes; wrong.empty() && i * cell_bytes < at + count; ++i) {
    Cell& cell = cells_[i];
    if (!block.seen_by_products(cell.writer, cell.copy_fences)) {
      wrong = "multiplies byte " + std::to_string(i * cell_bytes) + " of shared memory, which " +
              name(cell.writer) + " wrote without fence_copies() and a barrier since";
    }
    ++cell.products;
    ++read_by_products_;
  }
  return wrong;
}

void SharedMemory::end_product(const Access& access, std::size_t at, std::size_t count) {
  for (std::size_t i = at / cell_bytes; i * cell_bytes < at + count; ++i) {
    --cells_[i].products;
    --read_by_products_;
  }
  check_read(access, at, count, true);  // it was right before, and is remembered now
}

Lane& running_lane() {
  return running_block().current();
}

void Lane::fail(const std::string& what) const {
  throw EmulationError(block->grid().kernel + ", block (" + std::to_string(block->block()) + ", " +
                       std::to_string(block->block_y()) + "), thread " + std::to_string(index) + ": " + what);
}

Block::Block() = default;
Block::~Block() = default;

void Block::run(const Grid& grid, Index block, Index block_y, std::uint64_t seed) {
  grid_ = &grid;
  block_ = static_cast<int>(block);
  block_y_ = static_cast<int>(block_y);
  const auto threads = static_cast<std::size_t>(grid.threads);
  if (lanes_.size() < threads) lanes_.resize(threads);
  warps_.assign(threads / 32, Warp{~0u, 0, 0, nullptr});
  warps_ready_ = threads == 1024 ? ~0u : (1u << (threads / 32)) - 1u;
  for (std::size_t i = 0; i < threads; ++i) {
    Lane& lane = lanes_[i];
    lane.block = this;
    lane.index = static_cast<int>(i);
    lane.state = Lane::State::unborn;
    lane.copies.clear();
    lane.copy_groups.clear();
    lane.copy_fences.clear();
  }
  while (products_.size() < warps_.size()) products_.push_back(std::make_unique<WarpProducts>());
  for (std::size_t i = 0; i < warps_.size(); ++i) products_[i]->reset(mixed(seed + i));
  lane_turn_ = static_cast<int>(seed % 32);
  warp_turn_ = static_cast<int>(seed / 32 % 32);
  done_ = 0;
  at_barrier_ = 0;
  ++block_time_;
  shared_.reset(grid.shared_bytes, block_time_);
  banks_ = options().banks;
  cancelled_ = false;
  error_.clear();

  current_ = next(warp_turn_);
  Fiber& fiber = idle_fiber();
  current_fiber_ = &fiber;
  Fiber::switch_to(caller_, fiber);

  for (std::size_t i = 0; i < warps_.size(); ++i) close_accesses(static_cast<int>(i));
  if (error_.empty() && done_ < grid.threads) error_ = stuck();
  if (error_.empty()) error_ = uneven_products();
  if (!error_.empty()) {
    unwind();
    throw EmulationError(error_);
  }
}

// One fiber runs any number of threads, one after the other, and is idle in between.
void Block::fiber_entry(void* block) {
  static_cast<Block*>(block)->work_forever();
}

void Block::work_forever() {
  Fiber& self = *current_fiber_;
  while (true) {
    Lane& lane = *current_;
    lane.state = Lane::State::ready;
    lane.fiber = &self;
    try {
      Thread thread(lane);
      grid_->body(grid_->arguments, thread);
      if (!lane.copies.empty()) lane.fail("returns while copies are on their way (wait_copies)");
      if (!products(lane).idle()) lane.fail("returns while products are on their way (warpgroup_wait)");
      if (found_defect()) lane.fail(take_defect());
    } catch (const Cancelled&) {
    } catch (const std::exception& error) {
      if (error_.empty()) error_ = error.what();
      cancelled_ = true;
    }
    lane.state = Lane::State::done;
    ++done_;
    Lane* following = cancelled_ ? nullptr : next(lane.warp());
    if (following != nullptr && following->state == Lane::State::unborn) {
      current_ = following;
      continue;
    }
    idle_.push_back(&self);
    if (following == nullptr) {
      Fiber::switch_to(self, caller_);
    } else {
      current_ = following;
      current_fiber_ = following->fiber;
      Fiber::switch_to(self, *following->fiber);
    }
  }
}

Fiber& Block::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(&Block::fiber_entry, this));
    return *fibers_.back();
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return *fiber;
}

// A lane that can run, taken off the list; null when there is none.
Lane* Block::next(int warp) {
  if (warps_ready_ == 0) return nullptr;
  if (static_cast<std::size_t>(warp) >= warps_.size() || warps_[static_cast<std::size_t>(warp)].ready == 0) {
    const int turned = std::countr_zero(std::rotr(warps_ready_, warp_turn_));
    warp = (turned + warp_turn_) % 32;
  }
  Warp& chosen = warps_[static_cast<std::size_t>(warp)];
  const int lane = (std::countr_zero(std::rotr(chosen.ready, lane_turn_)) + lane_turn_) % 32;
  chosen.ready &= ~(1u << lane);
  if (chosen.ready == 0) warps_ready_ &= ~(1u << warp);
  return &lanes_[static_cast<std::size_t>(warp) * 32 + static_cast<std::size_t>(lane)];
}

void Block::make_ready(Lane& lane) {
  lane.state = Lane::State::ready;
  warps_[static_cast<std::size_t>(lane.warp())].ready |= 1u << lane.lane();
  warps_ready_ |= 1u << lane.warp();
}

void Block::pause(Lane& lane) {
  Fiber& self = *lane.fiber;
  Lane* following = next(lane.warp());
  if (following == nullptr) {
    Fiber::switch_to(self, caller_);
  } else {
    Fiber& fiber = following->state == Lane::State::unborn ? idle_fiber() : *following->fiber;
    current_ = following;
    current_fiber_ = &fiber;
    Fiber::switch_to(self, fiber);
  }
  if (cancelled_) throw Cancelled{};
}

// After an error: every stack that is in use is unwound to its beginning.
void Block::unwind() {
  cancelled_ = true;
  for (int i = 0; i < grid_->threads; ++i) {
    Lane& lane = lanes_[static_cast<std::size_t>(i)];
    if (lane.state == Lane::State::unborn || lane.state == Lane::State::done) continue;
    current_ = &lane;
    current_fiber_ = lane.fiber;
    Fiber::switch_to(caller_, *lane.fiber);
  }
}

void Block::meet_block(Lane& lane, Place place) {
  lane.place = place;
  lane.operation = "barrier";
  if (++at_barrier_ < grid_->threads) {
    lane.state = Lane::State::waits_for_block;
    pause(lane);
    return;
  }
  at_barrier_ = 0;
  ++block_time_;
  for (std::size_t i = 0; i < warps_.size(); ++i) close_accesses(static_cast<int>(i));
  if (const std::string wrong = uneven_products(); !wrong.empty()) throw EmulationError(wrong);
  for (int i = 0; i < grid_->threads; ++i) {
    Lane& other = lanes_[static_cast<std::size_t>(i)];
    if (other.place.line != place.line) {
      lane.fail("waits in the barrier of " + text(place) + ", thread " + std::to_string(i) + " in that of " +
                text(other.place));
    }
    if (i != lane.index) make_ready(other);
  }
}

void Block::meet_warp(Lane& lane, const char* name, WarpOperation operation, void* arguments, Place place) {
  Warp& warp = warps_[static_cast<std::size_t>(lane.warp())];
  lane.place = place;
  lane.operation = name;
  lane.arguments = arguments;
  if (warp.waiting == 0) {
    warp.first = &lane;
  } else if (warp.first->place.line != place.line || warp.first->operation != name) {
    lane.fail(std::string("is at ") + name + " of " + text(place) + ", thread " +
              std::to_string(warp.first->index) + " of its warp at " + warp.first->operation + " of " +
              text(warp.first->place));
  }
  if (++warp.waiting < 32) {
    lane.state = Lane::State::waits_for_warp;
    pause(lane);
    return;
  }
  warp.waiting = 0;
  close_accesses(lane.warp());
  WarpArguments all;
  Lane* lanes = &lanes_[static_cast<std::size_t>(lane.warp()) * 32];
  for (std::size_t i = 0; i < 32; ++i) all[i] = lanes[i].arguments;
  operation(lane, all);
  for (std::size_t i = 0; i < 32; ++i) {
    if (&lanes[i] != &lane) make_ready(lanes[i]);
  }
}

WarpProducts& Block::products(const Lane& lane) const {
  return *products_[static_cast<std::size_t>(lane.warp())];
}

std::string Block::uneven_products() const {
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    if (products_[i]->history() != products_[i - i % 4]->history()) {
      return grid_->kernel + ", block (" + std::to_string(block_) + ", " + std::to_string(block_y_) +
             "): warp " + std::to_string(i) + " has not called the products that warp " +
             std::to_string(i - i % 4) + " of its warpgroup has";
    }
  }
  return {};
}

void Block::close_accesses(int warp) const {
  if (banks_ != nullptr) banks_->close(grid_->kernel, warp);
}

// Nobody can go on: where they all stand.
std::string Block::stuck() const {
  std::string message = grid_->kernel + ", block (" + std::to_string(block_) + ", " +
                        std::to_string(block_y_) + "): threads wait for ever: ";
  const auto standing = [&](int i) {
    const Lane& lane = lanes_[static_cast<std::size_t>(i)];
    if (lane.state == Lane::State::done) return std::string("returned");
    return std::string("in ") + lane.operation + " of " + text(lane.place);
  };
  int groups = 0;
  for (int begin = 0; begin < grid_->threads;) {
    int end = begin + 1;
    while (end < grid_->threads && standing(end) == standing(begin)) ++end;
    if (++groups > 6) return message + "; and so on";
    if (groups > 1) message += "; ";
    message += std::to_string(begin) + (end - begin > 1 ? "-" + std::to_string(end - 1) : "") + " " +
               standing(begin);
    begin = end;
  }
  return message;
}

void run_grid(const Grid& grid) {
  const Options& device = options();
  const auto refuse = [&](const std::string& what) { throw EmulationError(grid.kernel + ": " + what); };
  if (grid.shared_bytes > device.shared_memory_per_block) {
    refuse("asks for " + std::to_string(grid.shared_bytes) + " bytes of shared memory, the device has " +
           std::to_string(device.shared_memory_per_block));
  }
  if (grid.blocks < 0 || grid.blocks > 0x7fffffff || grid.blocks_y < 0 || grid.blocks_y > 65535) {
    refuse("a grid of " + std::to_string(grid.blocks) + " by " + std::to_string(grid.blocks_y) +
           " blocks: at most 2^31 - 1 by 65535");
  }
  spend(device.launch_microseconds);
  Block& block = running_block();
  // i -> (start + i * step) mod count visits every block once when step and count have no common divisor.
  const Index count = grid.blocks * grid.blocks_y;
  const std::uint64_t random = mixed(device.seed);
  const Index start = static_cast<Index>(random >> 2) % count;
  Index step = count > 2 ? static_cast<Index>(mixed(random) >> 2) % count : 1;
  while (std::gcd(step, count) != 1) ++step;
  struct WatchedLaunch {
    explicit WatchedLaunch(Index blocks) { begin_watched_launch(blocks); }
    ~WatchedLaunch() { end_watched_launch(); }
  } const launch(count);
  for (Index i = 0; i < count; ++i) {
    const auto at =
        static_cast<Index>((static_cast<unsigned __int128>(i) * static_cast<unsigned __int128>(step) +
                            static_cast<unsigned __int128>(start)) %
                           static_cast<unsigned __int128>(count));
    begin_watched_block(at);
    block.run(grid, at % grid.blocks, at / grid.blocks, mixed(random + static_cast<std::uint64_t>(at)));
  }
}

}  // namespace bigbird::kernels::cuda::emulation
