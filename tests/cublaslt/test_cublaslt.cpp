// gemm_cublaslt.cpp over a stand-in for the library (fake_cublaslt.cpp) and the emulated device. The tests of
// products and of the backend's operations, tests/cuda/test_runtime.cpp and test_backend.cpp, are part of
// this program too.
#include "kernels/cuda/device_memory.h"
#include "kernels/cuda/gemm.h"
#include "tests/cuda/cuda_test.h"

namespace bigbird::kernels::cuda::testing {

class CublasLtTest : public CudaTest {};

TEST_F(CublasLtTest, IsTheOneThatWasLoadedAtRunTime) {
  EXPECT_EQ(make_gemm_library()->description(), "cuBLASLt 13.2.7");
}

TEST_F(CublasLtTest, AProductThatTheLibraryRefusesIsTakenByThePlainKernel) {
  std::vector<std::string> remarks;
  const auto library = make_gemm_library([&](const std::string& line) { remarks.push_back(line); });
  const DevicePiece workspace(library->workspace_bytes());
  library->use_workspace(workspace.data());
  const DeviceBuffer<float> a(std::vector<float>(13, 2.0f), stream());
  const DeviceBuffer<float> b(std::vector<float>(13, 3.0f), stream());
  const DeviceBuffer<float> d(std::vector<float>{100.0f}, stream());
  Gemm gemm;
  gemm.m = 1;
  gemm.n = 1;
  gemm.k = 13;
  gemm.a = {a.data(), 13};
  gemm.b = {b.data(), 1};
  gemm.d = {d.data(), 1};
  gemm.accumulate = true;
  EXPECT_TRUE(library->can_run(gemm));
  library->run(gemm, stream());
  EXPECT_EQ(d.download(), std::vector<float>{178.0f});
  library->run(gemm, stream());
  ASSERT_EQ(remarks.size(), 1u) << "once for each shape";
  EXPECT_EQ(
      remarks[0],
      "cuBLASLt offers no product of 1 x 1 x 13 (fp32): a kernel of the program's own computes it, more "
      "slowly");
  gemm.epilogue = Epilogue::bias;
  gemm.bias = a.data();
  EXPECT_FALSE(library->can_run(gemm));
  EXPECT_EQ(remarks.size(), 1u) << "the product alone may be offered";
}

}  // namespace bigbird::kernels::cuda::testing
