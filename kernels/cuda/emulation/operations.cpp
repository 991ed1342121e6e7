// What a Thread can do, lane by lane and warp by warp: slices of shared memory, asynchronous copies, and the
// warp operations in the register layouts of the PTX ISA.
#include <cxxabi.h>

#include <cstdlib>
#include <memory>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/bank_log.h"
#include "kernels/cuda/emulation/emulation.h"
#include "kernels/cuda/emulation/tensor_core.h"
#include "kernels/cuda/emulation/warpgroup.h"

namespace bigbird::kernels::cuda::emulation {
namespace {

// The bounds and alignment that every access of a slice keeps.
void check_slice(const Slice& slice, std::int64_t at, std::size_t bytes) {
  if (at < slice.begin || at + static_cast<std::int64_t>(bytes) > slice.end) {
    slice.lane->fail("accesses bytes " + std::to_string(at) + " to " +
                     std::to_string(at + static_cast<std::int64_t>(bytes)) +
                     " of shared memory, outside of " + std::to_string(slice.begin) + " to " +
                     std::to_string(slice.end) + ", the slice of " + text(slice.place));
  }
  if (at % static_cast<std::int64_t>(bytes) != 0) {
    slice.lane->fail("misaligned access of " + std::to_string(bytes) + " bytes at byte " +
                     std::to_string(at) + " of shared memory, in the slice of " + text(slice.place));
  }
}

void check(const Slice& slice, const std::string& wrong) {
  if (!wrong.empty()) slice.lane->fail(wrong + ", in the slice of " + text(slice.place));
}

void log(const Slice& slice, std::int64_t at, std::size_t bytes, BankAccess access, const void* site) {
  BankLog* const banks = slice.lane->block->banks();
  if (banks != nullptr) banks->add(slice.lane->index, access, bytes, at, site, slice.place);
}

// Runs `operation` when the 32 lanes are here; arguments are those of the lanes, in order.
template <class Arguments, class Operation>
void meet(Lane& lane, const char* name, Arguments& arguments, Place place, Operation) {
  lane.block->meet_warp(
      lane, name,
      [](Lane& last, const WarpArguments& all) {
        std::array<Arguments*, 32> lanes;
        for (std::size_t i = 0; i < 32; ++i) lanes[i] = static_cast<Arguments*>(all[i]);
        Operation{}(last, lanes);
      },
      &arguments, place);
}

float low_bf16(std::uint32_t pair) {
  return float_of_bits(pair << 16);
}
float high_bf16(std::uint32_t pair) {
  return float_of_bits(pair & 0xffff0000u);
}

struct Fragments {
  float* c;
  const std::uint32_t* a;
  const std::uint32_t* b;
};

// c[16][8] += a[16][K] b[K][8]. Lane L holds of c: rows L / 4 and L / 4 + 8, columns 2 (L % 4) and + 1.
// group: of the sums of options().truncated_sums.
template <std::size_t group, std::size_t K>
void multiply(const float (&a)[16][K], const float (&b)[K][8], const std::array<Fragments*, 32>& lanes) {
  float c[16][8];
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t row = lane / 4;
    const std::size_t column = lane % 4 * 2;
    c[row][column] = lanes[lane]->c[0];
    c[row][column + 1] = lanes[lane]->c[1];
    c[row + 8][column] = lanes[lane]->c[2];
    c[row + 8][column + 1] = lanes[lane]->c[3];
  }
  add_products<group>(c, a, b);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const std::size_t row = lane / 4;
    const std::size_t column = lane % 4 * 2;
    lanes[lane]->c[0] = c[row][column];
    lanes[lane]->c[1] = c[row][column + 1];
    lanes[lane]->c[2] = c[row + 8][column];
    lanes[lane]->c[3] = c[row + 8][column + 1];
  }
}

// The device reads a matrix in one step when its eight rows of 16 bytes lie in different banks, of which
// there are 32 with 4 bytes each. Other rows are right and slow: no kernel has a reason for them.
void check_banks(const Slice& slice, const std::int64_t (&rows)[8]) {
  unsigned groups = 0;
  for (const std::int64_t row : rows) groups |= 1u << (row / 16 % 8);
  if (groups != 0xffu) {
    slice.lane->fail("loads a matrix whose rows share banks, in the slice of " + text(slice.place));
  }
}

}  // namespace

std::string readable_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), std::free);
  if (status != 0) return type.name();
  std::string readable = name.get();
  const std::string common = "bigbird::kernels::cuda::";
  if (readable.compare(0, common.size(), common) == 0) readable.erase(0, common.size());
  return readable;
}

Slice make_slice(Lane& lane, int byte_offset, std::int64_t bytes, std::size_t alignment, Place place) {
  const auto size = static_cast<std::int64_t>(lane.block->shared().size());
  if (byte_offset < 0 || bytes < 0 || byte_offset + bytes > size) {
    lane.fail("the slice of " + text(place) + " is bytes " + std::to_string(byte_offset) + " to " +
              std::to_string(byte_offset + bytes) + " of shared memory, and the launch asked for " +
              std::to_string(size));
  }
  if (byte_offset % static_cast<int>(alignment) != 0) {
    lane.fail("the slice of " + text(place) + " is misaligned: byte " + std::to_string(byte_offset) +
              " of shared memory");
  }
  return {&lane, byte_offset, static_cast<int>(byte_offset + bytes), place};
}

const std::byte* Slice::read(std::int64_t at, std::size_t bytes) const {
  check_slice(*this, at, bytes);
  log(*this, at, bytes, BankAccess::load, __builtin_return_address(0));
  SharedMemory& shared = lane->block->shared();
  check(*this, shared.read(lane->block->access(*lane), static_cast<std::size_t>(at), bytes));
  return shared.data() + at;
}

std::byte* Slice::write(std::int64_t at, std::size_t bytes) const {
  check_slice(*this, at, bytes);
  log(*this, at, bytes, BankAccess::store, __builtin_return_address(0));
  SharedMemory& shared = lane->block->shared();
  check(*this, shared.write(lane->block->access(*lane), static_cast<std::size_t>(at), bytes));
  return shared.data() + at;
}

void copy_async(const Slice& slice, std::int64_t at, const void* from, bool valid) {
  check_slice(slice, at, 16);
  log(slice, at, 16, BankAccess::copy, __builtin_return_address(0));
  Lane& lane = *slice.lane;
  SharedMemory& shared = lane.block->shared();
  check(slice, shared.begin_copy(lane.block->access(lane), static_cast<std::size_t>(at), 16));
  Lane::Copy copy;
  copy.to = static_cast<std::uint32_t>(at);
  if (valid) {
    check_global(lane, from, 16, 16, "copies", GlobalAccess::read);
    std::memcpy(copy.data.data(), from, 16);
  }
  lane.copies.push_back(copy);
}

// Blocks run one after another here, so that plain addition is atomic.
void atomic_add(const Lane& lane, float* to, float value) {
  check_global(lane, to, sizeof value, alignof(float), "adds to", GlobalAccess::add);
  *to += value;
}

void atomic_add(const Lane& lane, float* to, float first, float second) {
  check_global(lane, to, 2 * sizeof first, 2 * alignof(float), "adds to", GlobalAccess::add);
  to[0] += first;
  to[1] += second;
}

void commit_copies(Lane& lane) {
  lane.copy_groups.push_back(lane.copies.size());
}

void wait_copies(Lane& lane, std::size_t groups) {
  if (lane.copy_groups.size() <= groups) return;
  const auto finished = static_cast<std::ptrdiff_t>(lane.copy_groups.size() - groups);
  const std::size_t arrived = lane.copy_groups[static_cast<std::size_t>(finished) - 1];
  SharedMemory& shared = lane.block->shared();
  const Access access = lane.block->access(lane);
  for (std::size_t i = 0; i < arrived; ++i) {
    std::memcpy(shared.data() + lane.copies[i].to, lane.copies[i].data.data(), 16);
    shared.arrive(access, lane.copies[i].to, 16);
  }
  lane.copies.erase(lane.copies.begin(), lane.copies.begin() + static_cast<std::ptrdiff_t>(arrived));
  lane.copy_groups.erase(lane.copy_groups.begin(), lane.copy_groups.begin() + finished);
  for (std::size_t& end : lane.copy_groups) end -= arrived;
}

void warp_barrier(Lane& lane, Place place) {
  int nothing = 0;
  meet(lane, "warp_barrier", nothing, place,
       [](Lane& last, const std::array<int*, 32>&) { last.block->pass_warp_barrier(last); });
}

std::uint64_t shuffle(Lane& lane, std::uint64_t value, int source, const char* name, Place place) {
  struct Arguments {
    std::uint64_t value;
    int source;
    std::uint64_t result;
  } arguments{value, source, 0};
  if (source < 0 || source > 31) lane.fail(std::string(name) + " from lane " + std::to_string(source));
  meet(lane, name, arguments, place, [](Lane&, const std::array<Arguments*, 32>& lanes) {
    for (Arguments* one : lanes) one->result = lanes[static_cast<std::size_t>(one->source)]->value;
  });
  return arguments.result;
}

unsigned ballot(Lane& lane, bool condition, Place place) {
  unsigned bits = condition ? 1 : 0;
  meet(lane, "ballot", bits, place, [](Lane&, const std::array<unsigned*, 32>& lanes) {
    unsigned all = 0;
    for (std::size_t i = 0; i < 32; ++i) all |= *lanes[i] << i;
    for (unsigned* one : lanes) *one = all;
  });
  return bits;
}

// PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type": registers a[0..3] are rows
// L / 4 (+ 8 for a1, a3), columns 2 (L % 4) (+ 8 for a2, a3); b[0..1] rows 2 (L % 4) (+ 8 for b1), column
// L / 4.
void mma_bf16(Lane& lane, float* c, const std::uint32_t* a, const std::uint32_t* b, Place place) {
  Fragments fragments{c, a, b};
  meet(lane, "mma_bf16", fragments, place, [](Lane&, const std::array<Fragments*, 32>& lanes) {
    float left[16][16];
    float right[16][8];
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t part = 0; part < 4; ++part) {
        const std::size_t row = i / 4 + part % 2 * 8;
        const std::size_t column = i % 4 * 2 + part / 2 * 8;
        left[row][column] = low_bf16(lanes[i]->a[part]);
        left[row][column + 1] = high_bf16(lanes[i]->a[part]);
      }
      for (std::size_t part = 0; part < 2; ++part) {
        const std::size_t row = i % 4 * 2 + part * 8;
        right[row][i / 4] = low_bf16(lanes[i]->b[part]);
        right[row + 1][i / 4] = high_bf16(lanes[i]->b[part]);
      }
    }
    multiply<bf16_group>(left, right, lanes);
  });
}

// "Matrix fragments for mma.m16n8k8", .tf32: a[0..3] are rows L / 4 (+ 8 for a1, a3), columns L % 4 (+ 4 for
// a2, a3); b[0..1] rows L % 4 (+ 4 for b1), column L / 4. The low 13 bits of an operand are not looked at.
void mma_tf32(Lane& lane, float* c, const std::uint32_t* a, const std::uint32_t* b, Place place) {
  Fragments fragments{c, a, b};
  meet(lane, "mma_tf32", fragments, place, [](Lane&, const std::array<Fragments*, 32>& lanes) {
    constexpr std::uint32_t kept = 0xffffe000u;
    float left[16][8];
    float right[8][8];
    for (std::size_t i = 0; i < 32; ++i) {
      for (std::size_t part = 0; part < 4; ++part) {
        left[i / 4 + part % 2 * 8][i % 4 + part / 2 * 4] = float_of_bits(lanes[i]->a[part] & kept);
      }
      for (std::size_t part = 0; part < 2; ++part) {
        right[i % 4 + part * 4][i / 4] = float_of_bits(lanes[i]->b[part] & kept);
      }
    }
    multiply<tf32_group>(left, right, lanes);
  });
}

void load_matrix_4(Lane& lane, std::uint32_t* r, const Slice& slice, std::int64_t at, bool transposed,
                   Place place) {
  struct Arguments {
    std::uint32_t* r;
    const Slice* slice;
    std::int64_t at;
    bool transposed;
  } arguments{r, &slice, at, transposed};
  check_slice(slice, at, 16);
  log(slice, at, 16, BankAccess::matrix, __builtin_return_address(0));
  const char* const name = transposed ? "load_matrix_4_transposed" : "load_matrix_4";
  meet(lane, name, arguments, place, [](Lane& last, const std::array<Arguments*, 32>& lanes) {
    SharedMemory& shared = last.block->shared();
    std::uint16_t matrix[4][8][8];
    std::int64_t rows[4][8];
    for (std::size_t i = 0; i < 32; ++i) {
      const Slice& from = *lanes[i]->slice;
      const auto row = static_cast<std::size_t>(lanes[i]->at);
      check(from, shared.read_by_warp(last.block->access(*from.lane), row, 16));
      std::memcpy(matrix[i / 8][i % 8], shared.data() + row, 16);
      rows[i / 8][i % 8] = lanes[i]->at;
    }
    for (std::size_t i = 0; i < 4; ++i) check_banks(*lanes[8 * i]->slice, rows[i]);
    const bool turned = lanes[0]->transposed;
    for (std::size_t i = 0; i < 32; ++i) {
      const std::size_t across = i / 4;
      const std::size_t along = i % 4 * 2;
      for (std::size_t j = 0; j < 4; ++j) {
        const std::uint32_t first = turned ? matrix[j][along][across] : matrix[j][across][along];
        const std::uint32_t second = turned ? matrix[j][along + 1][across] : matrix[j][across][along + 1];
        lanes[i]->r[j] = first | second << 16;
      }
    }
  });
}

void warpgroup_fence(Lane& lane, Place place) {
  meet(lane, "warpgroup_fence", place, place, [](Lane& last, const std::array<Place*, 32>& places) {
    last.block->products(last).fence(*places[0]);
  });
}

void warpgroup_product(Lane& lane, float* c, const std::uint32_t* a, std::uint64_t a_matrix,
                       std::uint64_t b_matrix, bool transposed, bool adds, Place place) {
  WarpgroupArguments arguments{c, a, a_matrix, b_matrix, transposed, adds, place};
  meet(lane, "warpgroup_product", arguments, place,
       [](Lane& last, const std::array<WarpgroupArguments*, 32>& lanes) {
         last.block->products(last).multiply(last, lanes, lanes[0]->place);
       });
}

void warpgroup_commit(Lane& lane, Place place) {
  meet(lane, "warpgroup_commit", place, place, [](Lane& last, const std::array<Place*, 32>& places) {
    last.block->products(last).commit(*places[0]);
  });
}

void warpgroup_wait(Lane& lane, std::size_t groups, Place place) {
  struct Arguments {
    std::size_t groups;
    Place place;
  } arguments{groups, place};
  meet(lane, "warpgroup_wait", arguments, place, [](Lane& last, const std::array<Arguments*, 32>& lanes) {
    last.block->products(last).wait(last, lanes[0]->groups, lanes[0]->place);
  });
}

}  // namespace bigbird::kernels::cuda::emulation
