// Calls of models of other kinds, from the folders of their own programs: GENA-LM's sparse BERT with its
// layouts, and BERT and RoBERTa as a warm start. tests/peers/make_dialects.py made them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/golden/golden_call.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

class OtherDialects : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(OtherDialects, OutputsAndGradientsAgree) {
  GoldenCall call(GetParam());
  const auto& metadata = call.golden().metadata();
  call.run(source_dir() / "tests/golden/dialects" / metadata.at("folder"),
           parse_random_mode(metadata.at("random_mode")));
  RecordProperty("largest_output_difference", std::to_string(call.compare_outputs() * 1e6) + "e-6");
  RecordProperty("largest_gradient_difference", std::to_string(call.compare_gradients() * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Golden, OtherDialects, ::testing::ValuesIn(golden_paths("dialects", ".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace bigbird
