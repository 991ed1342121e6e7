// device.cuh on the processor: the same names, each checked. Included by device.cuh, never by itself.
#pragma once

// Kernels count in int, sizes of register arrays included, and g++ 12 warns of each such size.
#pragma GCC diagnostic ignored "-Wsign-conversion"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>
#include <typeinfo>

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/global_watch.h"

#define BIGBIRD_DEVICE inline

namespace bigbird::kernels::cuda {

inline constexpr bool warpgroup_products = true;

namespace emulation {

// Gives work to a stream (runtime_emulation.cpp).
void submit(Stream stream, std::function<void()> work);
std::string readable_name(const std::type_info& type);

// Throws EmulationError unless bytes at `address` are aligned to their count and lie in one allocation; what
// other blocks do there is watched.
void check_global(const Lane& lane, const void* address, std::size_t bytes, std::size_t alignment,
                  const char* what, GlobalAccess access);
void atomic_add(const Lane& lane, float* to, float value);
void atomic_add(const Lane& lane, float* to, float first, float second);
// The lane that runs now.
Lane& running_lane();

// A view of shared memory: where its slice begins and ends, and where it points.
struct Slice {
  Lane* lane = nullptr;
  int begin = 0;  // bytes
  int end = 0;
  Place place;  // that asked for it
  // Checks and tracks an access of `bytes` at offset `at`, and returns where the bytes are.
  const std::byte* read(std::int64_t at, std::size_t bytes) const;
  std::byte* write(std::int64_t at, std::size_t bytes) const;
};

Slice make_slice(Lane& lane, int byte_offset, std::int64_t bytes, std::size_t alignment, Place place);
void copy_async(const Slice& slice, std::int64_t at, const void* from, bool valid);
void commit_copies(Lane& lane);
void wait_copies(Lane& lane, std::size_t groups);
void warp_barrier(Lane& lane, Place place);
std::uint64_t shuffle(Lane& lane, std::uint64_t value, int source, const char* name, Place place);
unsigned ballot(Lane& lane, bool condition, Place place);
void mma_bf16(Lane& lane, float* c, const std::uint32_t* a, const std::uint32_t* b, Place place);
void mma_tf32(Lane& lane, float* c, const std::uint32_t* a, const std::uint32_t* b, Place place);
void load_matrix_4(Lane& lane, std::uint32_t* r, const Slice& slice, std::int64_t at, bool transposed,
                   Place place);
// Of a warpgroup (warpgroup.h). a: four numbers, or null for the matrix of a_matrix.
void warpgroup_fence(Lane& lane, Place place);
void warpgroup_product(Lane& lane, float* c, const std::uint32_t* a, std::uint64_t a_matrix,
                       std::uint64_t b_matrix, bool transposed, bool adds, Place place);
void warpgroup_commit(Lane& lane, Place place);
void warpgroup_wait(Lane& lane, std::size_t groups, Place place);

}  // namespace emulation

template <class T>
class Shared {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 2 == 0,
                "cells of shared memory are two bytes: single bytes are not watched");

 public:
  // What s[i] is: reads when it is used as a value, writes when it is assigned to.
  class Cell {
   public:
    Cell(const Shared& shared, int i) : shared_(shared), i_(i) {}
    Cell(const Cell&) = delete;
    operator T() && { return shared_.read(i_); }
    void operator=(const T& value) && { shared_.write(i_, value); }
    void operator=(const Cell& other) && { shared_.write(i_, other.shared_.read(other.i_)); }
    void operator+=(const T& value) && { shared_.write(i_, shared_.read(i_) + value); }
    void operator-=(const T& value) && { shared_.write(i_, shared_.read(i_) - value); }
    void operator*=(const T& value) && { shared_.write(i_, shared_.read(i_) * value); }

   private:
    const Shared& shared_;
    int i_;
  };

  Shared(emulation::Slice slice, int at) : slice_(slice), at_(at) {}
  Cell operator[](int i) const { return Cell(*this, i); }
  Shared operator+(int n) const { return Shared(slice_, at_ + n); }
  template <int N>
  Pack<T, N> load(int i) const {
    Pack<T, N> pack;
    std::memcpy(&pack, slice_.read(offset(i), sizeof pack), sizeof pack);
    return pack;
  }
  template <int N>
  void store(int i, const Pack<T, N>& pack) const {
    std::memcpy(slice_.write(offset(i), sizeof pack), &pack, sizeof pack);
  }
  const emulation::Slice& slice() const { return slice_; }
  // Of element i, in the shared memory of the block.
  std::int64_t offset(int i) const {
    return slice_.begin + (std::int64_t{at_} + i) * static_cast<std::int64_t>(sizeof(T));
  }

 private:
  T read(int i) const {
    T value;
    std::memcpy(&value, slice_.read(offset(i), sizeof value), sizeof value);
    return value;
  }
  void write(int i, const T& value) const {
    std::memcpy(slice_.write(offset(i), sizeof value), &value, sizeof value);
  }

  emulation::Slice slice_;
  int at_;  // elements
};

class Thread {
 public:
  explicit Thread(emulation::Lane& lane) : lane_(lane) {}
  Thread(const Thread&) = delete;

  int index() const { return lane_.index; }
  int index_again() const { return lane_.index; }
  int lane() const { return lane_.lane(); }
  int warp() const { return lane_.warp(); }
  int block() const { return lane_.block->block(); }
  int block_y() const { return lane_.block->block_y(); }
  int blocks() const { return static_cast<int>(lane_.block->grid().blocks); }
  int blocks_y() const { return static_cast<int>(lane_.block->grid().blocks_y); }

  void barrier(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    lane_.block->meet_block(lane_, {file, line});
  }
  void warp_barrier(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::warp_barrier(lane_, {file, line});
  }
  template <class T>
  T shuffle(T value, int lane, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return exchange(value, lane, "shuffle", {file, line});
  }
  template <class T>
  T shuffle_xor(T value, int mask, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return exchange(value, lane_.lane() ^ mask, "shuffle_xor", {file, line});
  }
  template <class T>
  T shuffle_down(T value, int delta, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    const int from = lane_.lane() + delta;
    return exchange(value, from < 32 ? from : lane_.lane(), "shuffle_down", {file, line});
  }
  unsigned ballot(bool condition, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return emulation::ballot(lane_, condition, {file, line});
  }

  template <class T>
  Shared<T> shared(int byte_offset, int count, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
    const auto bytes = static_cast<std::int64_t>(sizeof(T)) * count;
    return Shared<T>(emulation::make_slice(lane_, byte_offset, bytes, alignof(T), {file, line}), 0);
  }

  template <class T>
  void copy_async(const Shared<T>& to, int i, const T* from, bool valid = true) {
    emulation::copy_async(to.slice(), to.offset(i), from, valid);
  }
  void commit_copies() { emulation::commit_copies(lane_); }
  template <int N>
  void wait_copies() {
    emulation::wait_copies(lane_, N);
  }

  void mma_bf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::mma_bf16(lane_, c, a, b, {file, line});
  }
  void mma_tf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::mma_tf32(lane_, c, a, b, {file, line});
  }
  void load_matrix_4(std::uint32_t (&r)[4], const Shared<bf16>& from, int i,
                     const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::load_matrix_4(lane_, r, from.slice(), from.offset(i), false, {file, line});
  }
  void load_matrix_4_transposed(std::uint32_t (&r)[4], const Shared<bf16>& from, int i,
                                const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::load_matrix_4(lane_, r, from.slice(), from.offset(i), true, {file, line});
  }

  std::uint64_t matrix_descriptor(const Shared<bf16>& tile) {
    return descriptor_of(static_cast<std::uint32_t>(tile.offset(0)));
  }
  void fence_copies() { lane_.block->fence_copies(lane_); }
  template <int count>
  void keep_registers(float (&)[count][4]) {}
  void warpgroup_fence(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::warpgroup_fence(lane_, {file, line});
  }
  void warpgroup_commit(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::warpgroup_commit(lane_, {file, line});
  }
  template <int N>
  void warpgroup_wait(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::warpgroup_wait(lane_, N, {file, line});
  }
  template <bool transposed>
  void warpgroup_product(float (&c)[8][4], const std::uint32_t (&a)[4], std::uint64_t b, bool adds,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::warpgroup_product(lane_, c[0], a, 0, b, transposed, adds, {file, line});
  }
  template <bool transposed>
  void warpgroup_product(float (&c)[8][4], std::uint64_t a, std::uint64_t b, bool adds,
                         const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    emulation::warpgroup_product(lane_, c[0], nullptr, a, b, transposed, adds, {file, line});
  }

  void atomic_add(float* to, float value) { emulation::atomic_add(lane_, to, value); }
  void atomic_add(float* to, float first, float second) { emulation::atomic_add(lane_, to, first, second); }

 private:
  template <class T>
  T exchange(T value, int from, const char* name, emulation::Place place) {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8);
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = emulation::shuffle(lane_, bits, from, name, place);
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  emulation::Lane& lane_;
};

template <int N, class T>
Pack<T, N> load(const T* from) {
  emulation::check_global(emulation::running_lane(), from, sizeof(Pack<T, N>), sizeof(Pack<T, N>), "loads",
                          emulation::GlobalAccess::read);
  Pack<T, N> pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}
template <int N, class T>
void store(T* to, const Pack<T, N>& pack) {
  emulation::check_global(emulation::running_lane(), to, sizeof pack, sizeof pack, "stores",
                          emulation::GlobalAccess::write);
  std::memcpy(to, &pack, sizeof pack);
}

inline float exp2_fast(float x) {
  return std::exp2(x);
}
inline float log2_fast(float x) {
  return std::log2(x);
}
inline int lowest_bit(unsigned bits) {
  return std::countr_zero(bits);
}
// To nearest, ties away from zero. Infinities and NaN are cut as by the instructions that nvcc makes of it.
inline std::uint32_t to_tf32(float x) {
  const std::uint32_t bits = bits_of(x);
  const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
  return (finite ? bits + 0x1000u : bits) & 0xffffe000u;
}
inline std::uint32_t pack_bf16_fast(float first, float second) {
  return pack_bf16(first, second);
}

template <class Kernel>
void launch(const Kernel& kernel, const LaunchShape& shape, Stream stream) {
  static_assert(Kernel::threads > 0 && Kernel::threads <= 1024 && Kernel::threads % 32 == 0);
  static_assert(Kernel::blocks_per_sm > 0 && std::is_trivially_copyable_v<Kernel>);
  if (shape.blocks == 0 || shape.blocks_y == 0) return;
  emulation::submit(stream, [kernel, shape] {
    emulation::Grid grid;
    grid.kernel = emulation::readable_name(typeid(Kernel));
    grid.threads = Kernel::threads;
    grid.blocks = shape.blocks;
    grid.blocks_y = shape.blocks_y;
    grid.shared_bytes = shape.shared_bytes;
    grid.arguments = &kernel;
    grid.body = [](const void* arguments, Thread& thread) {
      (*static_cast<const Kernel*>(arguments))(thread);
    };
    emulation::run_grid(grid);
  });
}

}  // namespace bigbird::kernels::cuda
