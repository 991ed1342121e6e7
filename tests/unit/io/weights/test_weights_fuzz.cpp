// Short fuzzing runs over the seeds of tests/fuzz: nothing but an Error may come out of damaged weights.
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/fuzz/entry_tensorflow_block.h"
#include "tests/fuzz/entry_torch_tensors.h"
#include "tests/fuzz/entry_weights.h"
#include "tests/fuzz/short_run.h"

namespace bigbird {
namespace {

using fuzz::short_run;

class WeightsFuzz : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { std::filesystem::remove_all(fuzz::weights_folder()); }
};

TEST_F(WeightsFuzz, DamagedSafetensorsAreReadOrRefused) {
  short_run("safetensors", fuzz::safetensors, 1000);
}

TEST_F(WeightsFuzz, DamagedTorchFilesAreReadOrRefused) {
  short_run("torch_file", fuzz::torch_file, 1000);
}

TEST_F(WeightsFuzz, DamagedPicklesAreReadOrRefused) {
  short_run("torch_pickle", fuzz::torch_pickle, 5000);
}

TEST_F(WeightsFuzz, TensorsOfDamagedPicklesAreReadOrRefused) {
  short_run("torch_tensors", fuzz::torch_tensors, 3000);
}

TEST_F(WeightsFuzz, DamagedTensorFlowBlocksAreReadOrRefused) {
  short_run("tensorflow_block", fuzz::tensorflow_block, 3000);
}

TEST_F(WeightsFuzz, DamagedIndexesAreReadOrRefused) {
  short_run("weight_index", fuzz::weight_index, 1000);
}

}  // namespace
}  // namespace bigbird
