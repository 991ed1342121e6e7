// Products of a warpgroup (wgmma) as one of its warps sees them: what is on its way, what it reads of shared
// memory until it has landed, and the accumulators, which are NaN in between. What lands is read when the
// product is called or when it is waited for, in turns that a seed decides: a kernel that is right gives the
// same either way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/emulation/block.h"

namespace bigbird::kernels::cuda::emulation {

// What one lane gives to warpgroup_product: 8 x 4 accumulators; its part of the left operand, or null and the
// descriptor of all of it.
struct WarpgroupArguments {
  float* c = nullptr;
  const std::uint32_t* a = nullptr;
  std::uint64_t a_matrix = 0;
  std::uint64_t b_matrix = 0;
  bool transposed = false;
  bool adds = false;
  Place place;
};

class WarpProducts {
 public:
  void reset(std::uint64_t seed);
  // By the last lane of the warp to come.
  void fence(Place place);
  void multiply(Lane& last, const std::array<WarpgroupArguments*, 32>& lanes, Place place);
  void commit(Place place);
  void wait(Lane& last, std::size_t groups, Place place);
  bool idle() const { return products_.empty(); }
  // Of everything that was called so far: the four warps of a group have called the same.
  std::uint64_t history() const { return history_; }

 private:
  static constexpr std::size_t columns = 64, depth = 16, rows = 16;
  using Bytes = std::vector<std::uint32_t>;  // where pieces of 16 bytes lie
  // The accumulators of the warp's lanes while products of them are on their way.
  struct Accumulators {
    std::array<float*, 32> at{};
    std::array<std::array<float, columns>, rows> values{};
    int on_their_way = 0;
  };
  struct Product {
    std::size_t accumulators = 0;  // of accumulators_
    float left[rows][depth];       // where it comes from registers
    bool left_in_registers = false;
    bool transposed = false;
    bool adds = false;
    bool made = false;
    Bytes left_bytes, right_bytes;
    Place place;
  };
  void note(std::uint64_t what, Place place);
  std::size_t accumulators_of(const std::array<WarpgroupArguments*, 32>& lanes);
  void make_all(Lane& lane);
  void make(Lane& lane, Product& product);
  void land(Lane& lane, Product& product);

  std::vector<Product> products_;  // oldest first
  std::vector<std::size_t> groups_;
  std::vector<Accumulators> accumulators_;
  bool fenced_ = false;
  std::uint64_t history_ = 0;
  std::uint64_t random_ = 0;
};

}  // namespace bigbird::kernels::cuda::emulation
