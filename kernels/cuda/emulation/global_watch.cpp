// Cells lie in pages of their own, found through two tables by the address; a cell says who wrote and who
// read it in the launch that it names, so that nothing is cleared between launches. What no allocation has is
// a cell of its own kind, which no launch changes.
#include "kernels/cuda/emulation/global_watch.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/memory_registry.h"

namespace bigbird::kernels::cuda::emulation {
namespace {

constexpr int page_bits = 12;  // of watched_page
constexpr int table_bits = 18;
constexpr std::size_t table_size = std::size_t{1} << table_bits;
constexpr std::size_t cells_of_page = watched_page / 2;

// A cell: launch in 20 bits, writer and reader in 22 each. 0: nobody; a block's number + 1; or several
// blocks.
constexpr int block_bits = 22;
constexpr std::uint64_t one_launch = std::uint64_t{1} << (2 * block_bits);
constexpr std::uint64_t launch_mask = ~(one_launch - 1);
constexpr std::uint64_t block_mask = (1u << block_bits) - 1;
constexpr std::uint64_t by_addition = 1u << (block_bits - 1);  // the writer's top bit
constexpr std::uint64_t several = by_addition - 1;

using Cells = std::uint64_t[cells_of_page];
using Table = Cells* [table_size];

Table* tables[table_size];
Cells untouched;  // stands for the cells of pages that no kernel has touched
// Of no allocation: a reader's number never has all its bits.
constexpr std::uint64_t outside = ~std::uint64_t{0};
Cells& nothing_but_outside() {  // stands for the cells of pages before an allocation
  static Cells cells;
  static const bool filled = (std::memset(cells, 0xff, sizeof cells), true);
  static_cast<void>(filled);
  return cells;
}

struct Watch {
  std::uint64_t me = 0;      // the running block's number + 1; 0: nothing is watched
  std::uint64_t launch = 0;  // as in a cell
  bool failed = false;
};
thread_local constinit Watch current;
thread_local std::string defect;

std::uint64_t last_launch = 0;  // under the device's mutex, as all work is

std::size_t upper(std::uintptr_t address) {
  return address >> (page_bits + table_bits) & (table_size - 1);
}
std::size_t lower(std::uintptr_t address) {
  return address >> page_bits & (table_size - 1);
}

// The page before the allocation first.
template <class Use>
void each_page(const void* memory, std::size_t bytes, const Use& use) {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory) - watched_page;
  for (std::uintptr_t at = begin; at < begin + watched_size(bytes); at += watched_page) use(at);
}

void release(Cells*& cells) noexcept {
  if (cells != &untouched && cells != &nothing_but_outside()) std::free(cells);
  cells = nullptr;
}

std::string name(std::uint64_t block) {
  if (block == several) return "several blocks";
  const auto width = static_cast<std::uint64_t>(running_lane().block->grid().blocks);
  return "block (" + std::to_string((block - 1) % width) + ", " + std::to_string((block - 1) / width) + ")";
}

std::string does(GlobalAccess access, std::size_t bytes) {
  const char* const verb = access == GlobalAccess::read    ? "reads "
                           : access == GlobalAccess::write ? "writes "
                                                           : "adds to ";
  return verb + std::to_string(bytes) + " bytes of global memory";
}

void fail(std::string message) {
  defect = std::move(message);
  current.failed = true;
  current.me = 0;
}

[[gnu::cold, gnu::noinline]] void report_outside(std::uintptr_t at, std::size_t bytes, GlobalAccess access) {
  fail(does(access, bytes) + " outside of any allocation, at " +
       device_memory().place(reinterpret_cast<const void*>(at)));
}

[[gnu::cold, gnu::noinline]] void report_race(std::uintptr_t at, std::size_t bytes, GlobalAccess access,
                                              std::uint64_t writer, std::uint64_t reader) {
  const std::uint64_t other = writer & ~by_addition;
  const bool written = other != 0 && other != current.me;
  const char* const did = !written ? " read" : (writer & by_addition) != 0 ? " added to" : " wrote";
  fail("race between blocks: " + does(access, bytes) + " at " +
       device_memory().place(reinterpret_cast<const void*>(at)) + ", which " +
       name(written ? other : reader) + did + " in the same launch");
}

[[gnu::cold, gnu::noinline]] Cells* new_cells(Cells*& cells) noexcept {
  cells = static_cast<Cells*>(std::calloc(1, sizeof(Cells)));
  return cells;
}

// The bytes lie in one page.
inline void touch(std::uintptr_t at, std::size_t bytes, GlobalAccess access) noexcept {
  Table* const table = tables[upper(at)];
  if (table == nullptr) return;
  Cells* cells = (*table)[lower(at)];
  if (cells == nullptr) return;
  if (cells == &untouched) cells = new_cells((*table)[lower(at)]);
  if (cells == nullptr) return;
  const std::uint64_t me = current.me;
  const std::uint64_t launch = current.launch;
  const std::size_t last = ((at + bytes - 1) & (watched_page - 1)) / 2;
  for (std::size_t i = (at & (watched_page - 1)) / 2; i <= last; ++i) {
    std::uint64_t cell = (*cells)[i];
    if (access == GlobalAccess::read && (cell == (launch | me) || cell == (launch | several))) continue;
    if (cell == outside) return report_outside(at, bytes, access);
    if ((cell & launch_mask) != launch) cell = launch;
    std::uint64_t writer = cell >> block_bits & block_mask;
    std::uint64_t reader = cell & block_mask;
    const std::uint64_t wrote = writer & ~by_addition;
    const bool foreign = wrote != 0 && wrote != me;
    if (access == GlobalAccess::read) {
      if (foreign) return report_race(at, bytes, access, writer, reader);
      reader = reader == 0 || reader == me ? me : several;
    } else {
      const bool both_add = access == GlobalAccess::add && (writer & by_addition) != 0;
      if ((foreign && !both_add) || (reader != 0 && reader != me)) {
        return report_race(at, bytes, access, writer, reader);
      }
      writer = access == GlobalAccess::write ? me : by_addition | (foreign ? several : me);
    }
    (*cells)[i] = launch | writer << block_bits | reader;
  }
}

}  // namespace

void watch_allocation(const void* memory, std::size_t bytes) {
  each_page(memory, bytes, [&](std::uintptr_t at) {
    Table*& table = tables[upper(at)];
    if (table == nullptr) table = static_cast<Table*>(std::calloc(1, sizeof(Table)));
    if (table == nullptr) throw std::bad_alloc();
    (*table)[lower(at)] = at < reinterpret_cast<std::uintptr_t>(memory) ? &nothing_but_outside() : &untouched;
  });
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(memory) + bytes;  // in the last page
  Cells* const last = new_cells((*tables[upper(end)])[lower(end)]);
  if (last == nullptr) throw std::bad_alloc();
  for (std::size_t i = (end % watched_page + 1) / 2; i < cells_of_page; ++i) (*last)[i] = outside;
}

void forget_allocation(const void* memory, std::size_t bytes) noexcept {
  each_page(memory, bytes, [](std::uintptr_t at) {
    if (tables[upper(at)] != nullptr) release((*tables[upper(at)])[lower(at)]);
  });
}

void begin_watched_launch(Index blocks) {
  current = {};
  // More blocks than a cell can name: none of our tests has them.
  if (!watches_global || static_cast<std::uint64_t>(blocks) >= several) return;
  last_launch += one_launch;
  if (last_launch == 0) {  // numbers begin again: nothing may be left that bears one
    last_launch = one_launch;
    for (Table* const table : tables) {
      if (table == nullptr) continue;
      for (Cells* const cells : *table) {
        if (cells == nullptr) continue;
        for (std::uint64_t& cell : *cells) {
          if (cell != outside) cell = 0;
        }
      }
    }
  }
  current.launch = last_launch;
}

void begin_watched_block(Index number) {
  if (current.launch != 0 && !current.failed) current.me = static_cast<std::uint64_t>(number) + 1;
}

void end_watched_launch() noexcept {
  current = {};
}

void watch(const void* address, std::size_t bytes, GlobalAccess access) noexcept {
  if (current.me == 0) return;
  auto at = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t end = at + bytes;
  while (at < end) {
    const std::uintptr_t end_of_page = (at | (watched_page - 1)) + 1;
    const std::uintptr_t stop = end < end_of_page ? end : end_of_page;
    touch(at, stop - at, access);
    at = stop;
  }
}

// Of an address that the compiler knows to be a multiple of bytes.
template <std::size_t bytes, GlobalAccess access>
void watch_aligned(const void* address) noexcept {
  if (current.me != 0) touch(reinterpret_cast<std::uintptr_t>(address), bytes, access);
}

bool found_defect() noexcept {
  return current.failed;
}

std::string take_defect() {
  current.failed = false;
  return std::move(defect);
}

}  // namespace bigbird::kernels::cuda::emulation

// What the compiler calls before an access of a file that is compiled with -fsanitize=thread.
#if !defined(BIGBIRD_ADDRESS_SANITIZER)
// NOLINTBEGIN(bugprone-reserved-identifier)
using bigbird::kernels::cuda::emulation::GlobalAccess;
using bigbird::kernels::cuda::emulation::watch;
using bigbird::kernels::cuda::emulation::watch_aligned;

#define BIGBIRD_WATCH(bytes)                       \
  void __tsan_read##bytes(void* at) {              \
    watch_aligned<bytes, GlobalAccess::read>(at);  \
  }                                                \
  void __tsan_write##bytes(void* at) {             \
    watch_aligned<bytes, GlobalAccess::write>(at); \
  }                                                \
  void __tsan_unaligned_read##bytes(void* at) {    \
    watch(at, bytes, GlobalAccess::read);          \
  }                                                \
  void __tsan_unaligned_write##bytes(void* at) {   \
    watch(at, bytes, GlobalAccess::write);         \
  }

extern "C" {
BIGBIRD_WATCH(1)
BIGBIRD_WATCH(2)
BIGBIRD_WATCH(4)
BIGBIRD_WATCH(8)
BIGBIRD_WATCH(16)
void __tsan_read_range(void* address, std::size_t bytes) {
  watch(address, bytes, GlobalAccess::read);
}
void __tsan_write_range(void* address, std::size_t bytes) {
  watch(address, bytes, GlobalAccess::write);
}
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  watch(from, bytes, GlobalAccess::read);
  watch(to, bytes, GlobalAccess::write);
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  watch(from, bytes, GlobalAccess::read);
  watch(to, bytes, GlobalAccess::write);
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  watch(to, bytes, GlobalAccess::write);
  return std::memset(to, value, bytes);
}
// Of std::shared_ptr and of counters, in code of the host. Which object's copy of an inline function is
// linked depends on the order of the objects, and so on the generator: both sizes must be here.
int __tsan_atomic32_fetch_add(volatile int* at, int value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
long __tsan_atomic64_fetch_add(volatile long* at, long value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
}
// NOLINTEND(bugprone-reserved-identifier)
#endif
