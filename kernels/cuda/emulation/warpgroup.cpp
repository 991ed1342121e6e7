// See warpgroup.h. Descriptors are read from their 64 bits (PTX ISA, "Matrix descriptor" and "Strides"), not
// from what made them.
#include "kernels/cuda/emulation/warpgroup.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/bf16.h"
#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/emulation/tensor_core.h"

namespace bigbird::kernels::cuda::emulation {
namespace {

constexpr std::size_t piece = 16;              // bytes that the swizzle keeps together
constexpr std::uint32_t absent = 0x7fc0deadu;  // a NaN: what accumulators are on their way

struct Descriptor {
  std::uint32_t start, stride;  // bytes

  // Refuses what no kernel has: other swizzles, and rows of eight that begin elsewhere in the pattern.
  Descriptor(std::uint64_t bits, const Lane& lane)
      : start(static_cast<std::uint32_t>(bits & 0x3fffu) * 16),
        stride(static_cast<std::uint32_t>(bits >> 32 & 0x3fffu) * 16) {
    if (const auto mode = bits >> 62; mode != 1) {
      lane.fail("multiplies by a descriptor of swizzle mode " + std::to_string(mode) +
                ": tiles lie in the 128-byte swizzle, mode 1");
    }
    if (const auto base = bits >> 49 & 7u; base != 0 || (start >> 7 & 7u) != 0) {
      lane.fail("multiplies by a descriptor that starts at byte " + std::to_string(start) +
                " of shared memory: rows begin at multiples of 1024 bytes");
    }
  }
  // Bytes `column` .. column + 15 of row `row`, rows of 128 bytes.
  std::uint32_t at(std::size_t row, std::size_t column) const {
    const auto linear = static_cast<std::uint32_t>(start + row / 8 * stride + row % 8 * 128 + column);
    return linear ^ (linear >> 7 & 7u) << 4;
  }
};

float bf16_at(const std::byte* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return float_of_bits(std::uint32_t{bits} << 16);
}

}  // namespace

void WarpProducts::reset(std::uint64_t seed) {
  products_.clear();
  groups_.clear();
  accumulators_.clear();
  fenced_ = false;
  history_ = 0;
  random_ = seed;
}

void WarpProducts::note(std::uint64_t what, Place place) {
  history_ = mixed(history_ ^ what ^ static_cast<std::uint64_t>(place.line) << 32);
}

void WarpProducts::fence(Place place) {
  note(1, place);
  fenced_ = true;
}

// Those of this address that are on their way, or new ones.
std::size_t WarpProducts::accumulators_of(const std::array<WarpgroupArguments*, 32>& lanes) {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    if (accumulators_[i].on_their_way > 0 && accumulators_[i].at[0] == lanes[0]->c) return i;
  }
  Accumulators fresh;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    float* const c = fresh.at[lane] = lanes[lane]->c;
    for (std::size_t n = 0; n < columns / 8; ++n) {
      for (std::size_t i = 0; i < 4; ++i) {
        if (lanes[lane]->adds)
          fresh.values[lane / 4 + i / 2 * 8][n * 8 + lane % 4 * 2 + i % 2] = c[n * 4 + i];
        std::memcpy(c + n * 4 + i, &absent, sizeof absent);
      }
    }
  }
  accumulators_.push_back(fresh);
  return accumulators_.size() - 1;
}

void WarpProducts::multiply(Lane& last, const std::array<WarpgroupArguments*, 32>& lanes, Place place) {
  const WarpgroupArguments& one = *lanes[0];
  if (last.block->grid().threads % 128 != 0) last.fail("multiplies in a block without whole warpgroups");
  if (!fenced_) {
    last.fail("multiplies at " + text(place) +
              " without warpgroup_fence() since registers of products were last touched");
  }
  for (const WarpgroupArguments* other : lanes) {
    if (other->a_matrix != one.a_matrix || other->b_matrix != one.b_matrix || other->adds != one.adds)
      last.fail("multiplies at " + text(place) + " by other matrices than other lanes of its warp");
  }
  note(one.b_matrix + 3 * one.a_matrix + (one.adds ? 5u : 7u), place);

  Product product;
  product.place = place;
  product.transposed = one.transposed;
  product.adds = one.adds;
  const Descriptor right(one.b_matrix, last);
  // Transposed: 16 rows of 64 columns, else 64 rows of 16.
  const std::size_t right_rows = one.transposed ? depth : columns,
                    right_columns = columns * depth / right_rows;
  for (std::size_t row = 0; row < right_rows; ++row) {
    for (std::size_t at = 0; at < right_columns * 2; at += piece)
      product.right_bytes.push_back(right.at(row, at));
  }
  if (one.a != nullptr) {
    product.left_in_registers = true;
    for (std::size_t lane = 0; lane < 32; ++lane) {
      for (std::size_t part = 0; part < 4; ++part) {
        const std::uint32_t pair = lanes[lane]->a[part];
        float* const to = &product.left[lane / 4 + part % 2 * 8][lane % 4 * 2 + part / 2 * 8];
        to[0] = float_of_bits(pair << 16);
        to[1] = float_of_bits(pair & 0xffff0000u);
      }
    }
  } else {
    const Descriptor left(one.a_matrix, last);
    const auto first = static_cast<std::size_t>(last.warp() % 4) * rows;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t at = 0; at < depth * 2; at += piece)
        product.left_bytes.push_back(left.at(first + row, at));
    }
  }
  SharedMemory& shared = last.block->shared();
  for (const Bytes* bytes : {&product.left_bytes, &product.right_bytes}) {
    for (const std::uint32_t at : *bytes) {
      if (at + piece > shared.size()) {
        last.fail("multiplies at " + text(place) + " by a matrix that ends behind the shared memory, byte " +
                  std::to_string(at));
      }
      const std::string wrong = shared.begin_product(last.block->access(last), at, piece, *last.block);
      if (!wrong.empty()) last.fail(wrong + ", in the product of " + text(place));
    }
  }
  product.accumulators = accumulators_of(lanes);
  ++accumulators_[product.accumulators].on_their_way;
  random_ = mixed(random_);
  products_.push_back(std::move(product));
  if (random_ % 2 == 0) make_all(last);
}

// One after another, as they were called.
void WarpProducts::make_all(Lane& lane) {
  for (Product& product : products_) {
    if (!product.made) make(lane, product);
  }
}

// In the order of mma_bf16: 16 numbers of k in groups, ascending from product to product.
void WarpProducts::make(Lane& lane, Product& product) {
  const std::byte* const bytes = lane.block->shared().data();
  if (!product.left_in_registers) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t k = 0; k < depth; ++k)
        product.left[row][k] = bf16_at(bytes + product.left_bytes[row * 2 + k / 8] + k % 8 * 2);
    }
  }
  Accumulators& sums = accumulators_[product.accumulators];
  for (std::size_t n = 0; n < columns; n += 8) {
    float c[rows][8], right[depth][8];
    for (std::size_t column = 0; column < 8; ++column) {
      for (std::size_t row = 0; row < rows; ++row)
        c[row][column] = product.adds ? sums.values[row][n + column] : 0.0f;
      for (std::size_t k = 0; k < depth; ++k) {
        const std::size_t row = product.transposed ? k : n + column, at = product.transposed ? n + column : k;
        const std::size_t pieces = product.transposed ? columns / 8 : depth / 8;
        right[k][column] = bf16_at(bytes + product.right_bytes[row * pieces + at / 8] + at % 8 * 2);
      }
    }
    add_products<bf16_group>(c, product.left, right);
    for (std::size_t row = 0; row < rows; ++row) std::copy_n(c[row], 8, &sums.values[row][n]);
  }
  product.made = true;
}

void WarpProducts::land(Lane& lane, Product& product) {
  if (!product.made) make(lane, product);
  SharedMemory& shared = lane.block->shared();
  for (const Bytes* bytes : {&product.left_bytes, &product.right_bytes}) {
    for (const std::uint32_t at : *bytes) shared.end_product(lane.block->access(lane), at, piece);
  }
  Accumulators& sums = accumulators_[product.accumulators];
  if (--sums.on_their_way > 0) return;
  for (std::size_t i = 0; i < 32; ++i) {
    for (std::size_t n = 0; n < columns / 8; ++n) {
      for (std::size_t j = 0; j < 4; ++j) {
        float* const to = sums.at[i] + n * 4 + j;
        if (bits_of(*to) != absent) {
          lane.fail("registers of the product of " + text(product.place) +
                    " were written before warpgroup_wait()");
        }
        *to = sums.values[i / 4 + j / 2 * 8][n * 8 + i % 4 * 2 + j % 2];
      }
    }
  }
}

void WarpProducts::commit(Place place) {
  note(2, place);
  groups_.push_back(products_.size());
}

void WarpProducts::wait(Lane& last, std::size_t groups, Place place) {
  note(3 + groups, place);
  fenced_ = false;
  if (groups_.size() <= groups) return;
  const auto finished = static_cast<std::ptrdiff_t>(groups_.size() - groups);
  const std::size_t landed = groups_[static_cast<std::size_t>(finished) - 1];
  for (std::size_t i = 0; i < landed; ++i) land(last, products_[i]);
  products_.erase(products_.begin(), products_.begin() + static_cast<std::ptrdiff_t>(landed));
  groups_.erase(groups_.begin(), groups_.begin() + finished);
  for (std::size_t& end : groups_) end -= landed;
  if (products_.empty()) accumulators_.clear();
}

}  // namespace bigbird::kernels::cuda::emulation
