// Calls of models of other kinds, from the folders of their own programs: GENA-LM's sparse BERT with its
// layouts, BERT and RoBERTa as they are and as a warm start. tests/peers/make_dialects.py and make_bert.py
// made them.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "lib/model_folder/config_json.h"
#include "tests/golden/golden_call.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

class OtherDialects : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(OtherDialects, OutputsAndGradientsAgree) {
  GoldenCall call(GetParam());
  const auto& metadata = call.golden().metadata();
  const RandomMode mode = parse_random_mode(metadata.at("random_mode"));
  // Calls of warm starts are transformers' BigBird's.
  if (mode == RandomMode::hf_eval) chosen_attention().attention = AttentionPattern::bigbird;
  call.run(source_dir() / "tests/golden/dialects" / metadata.at("folder"), mode);
  chosen_attention() = {};
  RecordProperty("largest_output_difference", std::to_string(call.compare_outputs() * 1e6) + "e-6");
  RecordProperty("largest_gradient_difference", std::to_string(call.compare_gradients() * 1e6) + "e-6");
}

INSTANTIATE_TEST_SUITE_P(Golden, OtherDialects, ::testing::ValuesIn(golden_paths("dialects", ".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

}  // namespace
}  // namespace bigbird
