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

// One row of a times one column of b, whose sum in fp32 depends on how many parts it has.
class CublasLtAlgorithms : public CublasLtTest {
 protected:
  std::vector<float> product(const ProductTable& table, std::vector<std::string>* remarks = nullptr) {
    const auto library = make_gemm_library([&](const std::string& line) {
      if (remarks != nullptr) remarks->push_back(line);
    });
    library->use_table(table);
    return run(*library);
  }
  std::vector<float> run(GemmLibrary& library) {
    const DevicePiece workspace(library.workspace_bytes());
    library.use_workspace(workspace.data());
    const DeviceBuffer<float> a(std::vector<float>{1.0f, 16777216.0f, -16777216.0f, 3.0f}, stream());
    const DeviceBuffer<float> b(std::vector<float>{1.0f, 1.0f, 1.0f, 1.0f}, stream());
    const DeviceBuffer<float> d(1, stream());
    library.run(gemm(a.data(), b.data(), d.data()), stream());
    return d.download();
  }
  static Gemm gemm(const float* a, const float* b, float* d) {
    Gemm made;
    made.m = made.n = 1;
    made.k = 4;
    made.a = {a, 4};
    made.b = {b, 1};
    made.d = {d, 1};
    return made;
  }
  static constexpr const float* nowhere = nullptr;
  static ProductTable table(const std::string& algorithm) {
    return {"a device", "a library", {{product_key(gemm(nowhere, nowhere, nullptr)), {algorithm, 1, 1}}}};
  }
  static constexpr const char* in_two_parts =
      "id=7 tile=0 splits=2 reduction=0 swizzle=0 custom=0 stages=0 inner=0 cluster=5";
};

TEST_F(CublasLtAlgorithms, AreTextThatMakesThemAgain) {
  const auto library = make_gemm_library();
  const DeviceBuffer<float> matrix(4, stream());
  const Gemm product = gemm(matrix.data(), matrix.data(), matrix.data());
  const std::vector<std::string> all = library->algorithms(product, 8);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], "id=7 tile=0 splits=1 reduction=0 swizzle=0 custom=0 stages=0 inner=0 cluster=5");
  EXPECT_EQ(all[1], in_two_parts);
  EXPECT_EQ(library->algorithms(product, 1).size(), 1u);
  EXPECT_EQ(run(*library), std::vector<float>{4.0f});
  EXPECT_TRUE(library->choose(product, in_two_parts));
  EXPECT_EQ(run(*library), std::vector<float>{3.0f}) << "1 + 2^24 is 2^24 in fp32";
  EXPECT_TRUE(library->choose(product, all[0]));
  EXPECT_EQ(run(*library), std::vector<float>{4.0f});
}

TEST_F(CublasLtAlgorithms, OfATableAreTaken) {
  EXPECT_EQ(product({}), std::vector<float>{4.0f});
  EXPECT_EQ(product(table(in_two_parts)), std::vector<float>{3.0f});
}

TEST_F(CublasLtAlgorithms, ThatCannotBeHadAreToldAndLeftToTheLibrary) {
  for (const char* wrong :
       {"id=8 tile=0 splits=2 reduction=0 swizzle=0 custom=0 stages=0 inner=0 cluster=5",
        "id=7 tile=0 splits=3 reduction=0 swizzle=0 custom=0 stages=0 inner=0 cluster=5",
        "id=7 tile=0 splits=2",
        "id=7 tile=0 splits=2 reduction=0 swizzle=0 custom=0 stages=0 inner=0 cluster=5 more=1",
        "id=7 tile=0 splits=-2 reduction=0 swizzle=0 custom=0 stages=0 inner=0 cluster=5", ""}) {
    std::vector<std::string> remarks;
    EXPECT_EQ(product(table(wrong), &remarks), std::vector<float>{4.0f}) << wrong;
    EXPECT_EQ(remarks.size(), 1u) << wrong;
  }
}

}  // namespace bigbird::kernels::cuda::testing
