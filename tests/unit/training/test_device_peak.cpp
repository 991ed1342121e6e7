// What devices could do at most, by name and precision.
#include <gtest/gtest.h>

#include "lib/model/network/model_operations.h"

namespace bigbird {
namespace {

using kernels::Precision;

TEST(DevicePeak, IsKnownByNameAndPrecision) {
  EXPECT_EQ(peak_operations("cuda:0 NVIDIA H100 80GB HBM3", Precision::bf16), 989.4e12);
  EXPECT_EQ(peak_operations("cuda:3 NVIDIA H200", Precision::bf16), 989.4e12);
  EXPECT_EQ(peak_operations("cuda:0 NVIDIA H200", Precision::tf32), 494.7e12);
  EXPECT_EQ(peak_operations("cuda:0 NVIDIA A100-SXM4-80GB", Precision::bf16), 312e12);
  EXPECT_EQ(peak_operations("cuda:0 NVIDIA A100 80GB PCIe", Precision::bf16), 312e12);
}

TEST(DevicePeak, IsOfTheCardAndNotOfItsFamily) {
  EXPECT_EQ(peak_operations("cuda:0 NVIDIA H100 PCIe", Precision::bf16), 756.5e12);
  EXPECT_EQ(peak_operations("cuda:0 NVIDIA H200 NVL", Precision::bf16), 835.5e12);
}

TEST(DevicePeak, IsNotGuessed) {
  EXPECT_FALSE(peak_operations("cpu", Precision::bf16));
  EXPECT_FALSE(peak_operations("cuda:0 NVIDIA H200", Precision::fp32)) << "products of two kinds";
  EXPECT_FALSE(peak_operations("cuda:0 NVIDIA A100-SXM4-40GB MIG 1g.5gb", Precision::bf16)) << "a slice";
  EXPECT_FALSE(peak_operations("cuda:0 NVIDIA GeForce RTX 4090", Precision::bf16));
}

}  // namespace
}  // namespace bigbird
