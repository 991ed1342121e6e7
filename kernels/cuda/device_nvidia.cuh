// device.cuh on the device: each name is one instruction, or the CUDA function for it (PTX ISA 7.0, sm_80 and
// newer).
#pragma once

#include <cuda_runtime.h>

#define BIGBIRD_DEVICE __device__ __forceinline__

namespace bigbird::kernels::cuda {

// Whether this is machine code for sm_90a.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
inline constexpr bool warpgroup_products = true;
#else
inline constexpr bool warpgroup_products = false;
#endif

template <class T>
class Shared {
 public:
  BIGBIRD_DEVICE explicit Shared(T* data) : data_(data) {}
  BIGBIRD_DEVICE T& operator[](int i) const { return data_[i]; }
  BIGBIRD_DEVICE Shared operator+(int n) const { return Shared(data_ + n); }
  template <int N>
  BIGBIRD_DEVICE Pack<T, N> load(int i) const {
    return *reinterpret_cast<const Pack<T, N>*>(data_ + i);
  }
  template <int N>
  BIGBIRD_DEVICE void store(int i, const Pack<T, N>& pack) const {
    *reinterpret_cast<Pack<T, N>*>(data_ + i) = pack;
  }
  BIGBIRD_DEVICE std::uint32_t address(int i) const {
    return static_cast<std::uint32_t>(__cvta_generic_to_shared(data_ + i));
  }

 private:
  T* data_;
};

class Thread {
 public:
  BIGBIRD_DEVICE int index() const { return static_cast<int>(threadIdx.x); }
  BIGBIRD_DEVICE int index_again() const {
    int index;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(index));
    return index;
  }
  BIGBIRD_DEVICE int lane() const { return static_cast<int>(threadIdx.x & 31u); }
  BIGBIRD_DEVICE int warp() const { return static_cast<int>(threadIdx.x >> 5); }
  BIGBIRD_DEVICE int block() const { return static_cast<int>(blockIdx.x); }
  BIGBIRD_DEVICE int block_y() const { return static_cast<int>(blockIdx.y); }
  BIGBIRD_DEVICE int blocks() const { return static_cast<int>(gridDim.x); }
  BIGBIRD_DEVICE int blocks_y() const { return static_cast<int>(gridDim.y); }

  BIGBIRD_DEVICE void barrier() { __syncthreads(); }
  BIGBIRD_DEVICE void warp_barrier() { __syncwarp(); }
  template <class T>
  BIGBIRD_DEVICE T shuffle(T value, int lane) {
    return __shfl_sync(0xffffffffu, value, lane);
  }
  template <class T>
  BIGBIRD_DEVICE T shuffle_xor(T value, int mask) {
    return __shfl_xor_sync(0xffffffffu, value, mask);
  }
  template <class T>
  BIGBIRD_DEVICE T shuffle_down(T value, int delta) {
    return __shfl_down_sync(0xffffffffu, value, static_cast<unsigned>(delta));
  }
  BIGBIRD_DEVICE unsigned ballot(bool condition) { return __ballot_sync(0xffffffffu, condition); }

  template <class T>
  BIGBIRD_DEVICE Shared<T> shared(int byte_offset, int) {
    extern __shared__ __align__(1024) unsigned char bigbird_shared[];
    return Shared<T>(reinterpret_cast<T*>(bigbird_shared + byte_offset));
  }

  template <class T>
  BIGBIRD_DEVICE void copy_async(Shared<T> to, int i, const T* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to.address(i)), "l"(from) : "memory");
  }
  template <class T>
  BIGBIRD_DEVICE void copy_async(Shared<T> to, int i, const T* from, bool valid) {
    const int bytes = valid ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to.address(i)), "l"(from), "r"(bytes)
                 : "memory");
  }
  BIGBIRD_DEVICE void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int N>
  BIGBIRD_DEVICE void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
  }

  BIGBIRD_DEVICE void mma_bf16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  // Operands are fp32 bits; the unit drops the low 13, so round with to_tf32() first.
  BIGBIRD_DEVICE void mma_tf32(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  }
  BIGBIRD_DEVICE void load_matrix_4(std::uint32_t (&r)[4], Shared<bf16> from, int i) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from.address(i))
                 : "memory");
  }
  BIGBIRD_DEVICE void load_matrix_4_transposed(std::uint32_t (&r)[4], Shared<bf16> from, int i) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(from.address(i))
                 : "memory");
  }

  BIGBIRD_DEVICE std::uint64_t matrix_descriptor(Shared<bf16> tile) { return descriptor_of(tile.address(0)); }
  BIGBIRD_DEVICE void fence_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
  template <int count>
  BIGBIRD_DEVICE void keep_registers(float (&c)[count][4]) {
#pragma unroll
    for (int n = 0; n < count; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(c[n][i])::"memory");
    }
  }
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  BIGBIRD_DEVICE void warpgroup_fence() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  }
  BIGBIRD_DEVICE void warpgroup_commit() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  }
  template <int N>
  BIGBIRD_DEVICE void warpgroup_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
  }
  template <bool transposed>
  BIGBIRD_DEVICE void warpgroup_product(float (&c)[8][4], const std::uint32_t (&a)[4], std::uint64_t b,
                                        bool adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, adds, 1, 1, %38;\n}"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
          "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
          "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
          "+f"(c[7][2]), "+f"(c[7][3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(adds)),
          "n"(static_cast<int>(transposed)));
  }
  template <bool transposed>
  BIGBIRD_DEVICE void warpgroup_product(float (&c)[8][4], std::uint64_t a, std::uint64_t b, bool adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %34, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31}, "
        "%32, %33, adds, 1, 1, 0, %35;\n}"
        : "+f"(c[0][0]), "+f"(c[0][1]), "+f"(c[0][2]), "+f"(c[0][3]), "+f"(c[1][0]), "+f"(c[1][1]),
          "+f"(c[1][2]), "+f"(c[1][3]), "+f"(c[2][0]), "+f"(c[2][1]), "+f"(c[2][2]), "+f"(c[2][3]),
          "+f"(c[3][0]), "+f"(c[3][1]), "+f"(c[3][2]), "+f"(c[3][3]), "+f"(c[4][0]), "+f"(c[4][1]),
          "+f"(c[4][2]), "+f"(c[4][3]), "+f"(c[5][0]), "+f"(c[5][1]), "+f"(c[5][2]), "+f"(c[5][3]),
          "+f"(c[6][0]), "+f"(c[6][1]), "+f"(c[6][2]), "+f"(c[6][3]), "+f"(c[7][0]), "+f"(c[7][1]),
          "+f"(c[7][2]), "+f"(c[7][3])
        : "l"(a), "l"(b), "r"(static_cast<int>(adds)), "n"(static_cast<int>(transposed)));
  }
#else  // nothing is called, but its names are there
  BIGBIRD_DEVICE void warpgroup_fence() {}
  BIGBIRD_DEVICE void warpgroup_commit() {}
  template <int N>
  BIGBIRD_DEVICE void warpgroup_wait() {}
  template <bool transposed, class Left>
  BIGBIRD_DEVICE void warpgroup_product(float (&)[8][4], const Left&, std::uint64_t, bool) {}
#endif

  BIGBIRD_DEVICE void atomic_add(float* to, float value) {
    atomicAdd(to, value);
  }
  BIGBIRD_DEVICE void atomic_add(float* to, float first, float second) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.relaxed.gpu.global.add.v2.f32 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
                 "f"(first), "f"(second)
                 : "memory");
#else
    atomicAdd(to, first);
    atomicAdd(to + 1, second);
#endif
  }
};

// Global memory, N elements in one access: by words of that size, and stored by name, because the compiler
// takes packs apart and does not always put them together again.
template <std::size_t bytes>
struct WordOf;
template <>
struct WordOf<2> {
  using Type = std::uint16_t;
};
template <>
struct WordOf<4> {
  using Type = std::uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <int N, class T>
BIGBIRD_DEVICE Pack<T, N> load(const T* from) {
  const auto word = *reinterpret_cast<const typename WordOf<sizeof(Pack<T, N>)>::Type*>(from);
  Pack<T, N> pack;
  memcpy(&pack, &word, sizeof word);
  return pack;
}
template <int N, class T>
BIGBIRD_DEVICE void store(T* to, const Pack<T, N>& pack) {
  typename WordOf<sizeof(Pack<T, N>)>::Type word;
  memcpy(&word, &pack, sizeof word);
  __stwb(reinterpret_cast<decltype(word)*>(to), word);
}

// 2^x and log2(x) by the special function unit: relative error 2^-22, 2^-inf is 0.
BIGBIRD_DEVICE float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
BIGBIRD_DEVICE float log2_fast(float x) {
  return __log2f(x);
}
// The number of the lowest bit that is set; one is.
BIGBIRD_DEVICE int lowest_bit(unsigned bits) {
  return __ffs(static_cast<int>(bits)) - 1;
}
// Rounded to tf32 (10 bits behind the point), as fp32 bits. A NaN stays one unless it is a signalling one
// with its payload in the 13 bits that go, which becomes an infinity: arithmetic makes none of those.
BIGBIRD_DEVICE std::uint32_t to_tf32(float x) {
  std::uint32_t bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return bits;
}
// pack_bf16 in one instruction.
BIGBIRD_DEVICE std::uint32_t pack_bf16_fast(float first, float second) {
  std::uint32_t bits;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(bits) : "f"(second), "f"(first));
  return bits;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks_per_sm)
    run_kernel(const __grid_constant__ Kernel kernel) {
  Thread thread;
  kernel(thread);
}

// Each kernel that launch() can start makes itself known, for load_kernels().
template <class Kernel>
struct KnownKernel {
  static inline const bool known = know_kernel(reinterpret_cast<const void*>(&run_kernel<Kernel>));
};

// Throws CudaError (runtime.h) when the launch is refused.
template <class Kernel>
void launch(const Kernel& kernel, const LaunchShape& shape, Stream stream) {
  static_cast<void>(KnownKernel<Kernel>::known);
  if (shape.blocks == 0 || shape.blocks_y == 0) return;
  allow_shared_memory(reinterpret_cast<const void*>(&run_kernel<Kernel>), shape.shared_bytes);
  const dim3 grid(static_cast<unsigned>(shape.blocks), static_cast<unsigned>(shape.blocks_y));
  run_kernel<Kernel>
      <<<grid, Kernel::threads, shape.shared_bytes, static_cast<cudaStream_t>(stream.handle)>>>(kernel);
  check_launch();
}

}  // namespace bigbird::kernels::cuda
