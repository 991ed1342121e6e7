// The emulated device as tests see it: what it offers, and the error that a wrong kernel ends in. For tests
// only: no user-facing device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace bigbird::kernels::cuda {
struct Gemm;
}

namespace bigbird::kernels::cuda::emulation {

class BankLog;

// What a kernel did wrong: one line naming the kernel, the block, the threads and the place. Not a CudaError:
// nothing in the product may take it for a failure of the machine.
struct EmulationError : std::logic_error {
  using std::logic_error::logic_error;
};

// Of the one device there is. Change them while it has no work, and put back what was there: a run of all
// tests may begin with BIGBIRD_EMULATION_SEED (a number), BIGBIRD_EMULATION_LAZY (1) and
// BIGBIRD_EMULATION_TRUNCATE (1) in its environment, a program with what set_options() takes in
// BIGBIRD_EMULATION.
struct Options {
  // Order of blocks, warps and lanes. Another seed must not change a result.
  std::uint64_t seed = 0;
  // Most that one block may ask for; compute capability 8.6 has the least of those we build for.
  std::size_t shared_memory_per_block = 99 * 1024;
  // Allocations beyond this throw OutOfDeviceMemory.
  std::size_t memory = std::size_t{4} << 30;
  int multiprocessors = 4;
  int compute_capability = 86;
  std::string architectures = "80-real;90-real;90-virtual";  // as if the program had been built for these
  // Streams begin their work only when somebody waits for it: a missing wait between streams reads memory
  // that is not there yet. Otherwise work runs as it is given: a missing wait overwrites too early.
  bool lazy_streams = false;
  // Events say what products cost by an invented clock (microseconds), not the time that went by: with what
  // gelu, its derivative and gradients of biases in them cost, and any launch of a kernel.
  bool fake_clock = false;
  double epilogue_microseconds = 0;
  double launch_microseconds = 0;
  // Invented: what the driver takes for the kernels and for every graph, and what it is left for graphs.
  std::size_t kernel_bytes = std::size_t{3} << 20;
  std::size_t graph_bytes = 0;
  std::size_t graph_allowance = std::size_t{1} << 20;
  // No recording becomes a graph that can run: as on a device that has no memory left for one.
  bool refuse_graphs = false;
  // Tensor cores add as tensor_core.h says; otherwise each addition is rounded (in a mma) or the sum is one
  // in double (in the products that stand for cuBLASLt's). Tests hold their bounds in both.
  bool truncated_sums = false;
  // Accesses of shared memory are counted there when it is given (bank_log.h); by
  // BIGBIRD_EMULATION_BANKS=FILE those of the whole program.
  BankLog* banks = nullptr;
  // Products that are summed over so many numbers (k) are refused, as cuBLASLt may; 0: none.
  std::int64_t refused_depth = 0;
  // Told every product that is run, before it is.
  std::function<void(const Gemm&)> product_asked = {};
};
Options& options();
// "refused_depth=768 compute_capability=75": std::invalid_argument for a word that is none.
void set_options(Options& options, const std::string& text);
// The invented clock goes on.
void spend(double microseconds);
// The kernels are no longer loaded, as at the start of a program.
void unload_kernels();

}  // namespace bigbird::kernels::cuda::emulation
