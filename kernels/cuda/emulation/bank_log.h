// kernels/cuda/emulation holds the device on the processor, for tests only: a block's threads as fibers,
// shared memory and every access watched, plain products. No program that users run links it.
//
// How often accesses of shared memory meet a bank twice, counted as a device counts: 32 banks of 4 bytes; a
// warp's access is served in wavefronts, each of which reads or writes one word of a bank for any number of
// lanes. Lanes that ask for 8 bytes are served by halves of the warp, for 16 by quarters; a matrix of
// ldmatrix is a quarter, and so is what eight lanes copy asynchronously. Ideal is one wavefront for each
// (half, quarter) that asks for anything.
//
// Which accesses of 32 lanes are one: lanes run one after another here, from one meeting of the warp to the
// next. Between two meetings the k-th access that a lane makes from one call site (the return address, so
// each copy of an inlined or unrolled access is one of its own) belongs to the k-th of the others from there.
// That is how a device runs it as long as lanes part only at conditions that hold for a site the same number
// of times; a lane that leaves out an access in one round of a loop and makes it in the next is paired
// wrongly within that loop, which no kernel here does.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace bigbird::kernels::cuda::emulation {

// A line of a kernel, for messages.
struct Place {
  const char* file = "";
  int line = 0;
};

// "attention/forward.cuh:120"
inline std::string text(Place place) {
  std::string_view file = place.file;
  const std::size_t slash = file.rfind('/');
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return std::string(file) + ":" + std::to_string(place.line);
}

enum class BankAccess { load, store, matrix, copy };

class BankLog {
 public:
  struct Use {
    std::string kernel;  // with its template arguments
    BankAccess access;
    std::size_t bytes;  // of a lane
    std::string slice;  // file:line that made it
    std::uint64_t requests = 0, wavefronts = 0, ideal = 0;
    double ratio() const { return static_cast<double>(wavefronts) / static_cast<double>(ideal); }
  };
  // In the order of kernels and lines.
  std::vector<Use> uses() const;
  // Of all accesses of kernels whose name holds `part`; 0 when there are none.
  double ratio(const std::string& part) const;
  // A line a use, tabs between: kernel, access, bytes, slice, requests, wavefronts, ideal, ratio.
  std::string table() const;

  // What the emulation calls. One access of one lane, at byte `at` of shared memory:
  void add(int thread, BankAccess access, std::size_t bytes, std::int64_t at, const void* site, Place slice);
  // The warp has met, or ended: accesses before and after are never one.
  void close(const std::string& kernel, int warp);

 private:
  struct Access {
    const void* site;
    std::uint32_t number;  // of the site, in this lane, since the last close()
    BankAccess access;
    std::uint32_t bytes;
    int lane;
    std::int64_t at;
    Place slice;
  };
  using Key = std::tuple<std::string, std::string, BankAccess, std::size_t>;  // kernel, slice
  std::vector<std::vector<Access>> open_;                                     // by warp
  std::map<Key, Use> uses_;
};

// Null, or, where the environment has BIGBIRD_EMULATION_BANKS=FILE, a log whose table is written there when
// the program ends.
BankLog* bank_log_of_environment();

}  // namespace bigbird::kernels::cuda::emulation
