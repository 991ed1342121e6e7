// For tests of the emulation itself: kernels as lambdas, and errors by what they say.
#pragma once

#include <algorithm>
#include <string>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/emulation/emulation.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {

// Options of the emulated device that end with the test.
class EmulationTest : public CudaTest {
 protected:
  void TearDown() override {
    emulation::options() = before_;
    CudaTest::TearDown();
  }

 private:
  emulation::Options before_ = emulation::options();
};

template <int count, class Body>
struct Threads {
  static constexpr int threads = count;
  static constexpr int blocks_per_sm = 1;
  Body body;
  BIGBIRD_DEVICE void operator()(Thread& thread) const { body(thread); }
};

// Runs body(thread) in `count` threads per block.
template <int count, class Body>
void run_threads(const LaunchShape& shape, Stream stream, const Body& body) {
  launch(Threads<count, Body>{body}, shape, stream);
}

// What the emulation says of this work; empty when it finds nothing wrong.
template <class Work>
std::string complaint(const Work& work) {
  try {
    work();
  } catch (const emulation::EmulationError& error) {
    return error.what();
  }
  return {};
}

#define EXPECT_COMPLAINT(work, part)                                            \
  do {                                                                          \
    const std::string said = complaint([&] { work; });                          \
    EXPECT_NE(said.find(part), std::string::npos) << "said: \"" << said << '"'; \
  } while (false)

}  // namespace bigbird::kernels::cuda::testing
