// One forward pass per file of tests/golden/huggingface, encoder_decoder, longformer and led: hidden states,
// logits, losses and the gradient of every parameter against Hugging Face's BigBird, BigBird-Pegasus,
// Longformer and LED in float64; and the same from folders that save_pretrained wrote.
// tests/peers/make_golden.py and make_summary_models.py made the files of the first two.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/golden/golden_call.h"
#include "tests/golden/huggingface_file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

// The golden file itself, or the one of the case that a folder was written for.
std::filesystem::path golden_file_of(const std::filesystem::path& path) {
  std::string name = path.stem().string();
  const std::string binary = "_bin";
  if (name.size() > binary.size() && name.rfind(binary) == name.size() - binary.size()) {
    name.resize(name.size() - binary.size());
  }
  return path.parent_path() / (name + ".safetensors");
}

class HuggingFace : public ::testing::TestWithParam<std::filesystem::path> {
 protected:
  RandomMode mode() const {
    const nlohmann::json config = nlohmann::json::parse(call.golden().metadata().at("config"));
    return parse_random_mode(config.at("bigbird").at("random_mode"));
  }
  void expect_agreement() {
    RecordProperty("largest_output_difference", std::to_string(call.compare_outputs() * 1e6) + "e-6");
    RecordProperty("largest_gradient_difference", std::to_string(call.compare_gradients() * 1e6) + "e-6");
  }

  GoldenCall call{golden_file_of(GetParam())};
};

TEST_P(HuggingFace, OutputsAndGradientsAgree) {
  const TemporaryFolder model;
  write_formula_model(model.path(), call.golden().metadata().at("config"));
  call.run(model.path(), mode());
  expect_agreement();
}

INSTANTIATE_TEST_SUITE_P(Golden, HuggingFace,
                         ::testing::ValuesIn(golden_paths("huggingface", ".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

INSTANTIATE_TEST_SUITE_P(EncoderDecoder, HuggingFace,
                         ::testing::ValuesIn(golden_paths("encoder_decoder", ".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

// Check L1 of Longformer: windows of several widths, none to twenty global tokens, padding.
// make_longformer.py made the files.
INSTANTIATE_TEST_SUITE_P(LongformerL1, HuggingFace,
                         ::testing::ValuesIn(golden_paths("longformer", ".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

// Check L6, of LED: windows of several widths, no, one and several global tokens, stacks and tables of
// positions that differ, padding. make_led.py made the files.
INSTANTIATE_TEST_SUITE_P(LongformerL6, HuggingFace, ::testing::ValuesIn(golden_paths("led", ".safetensors")),
                         [](const auto& file) { return file.param.stem().string(); });

class HuggingFaceFolder : public HuggingFace {};

TEST_P(HuggingFaceFolder, IsReadAndAgrees) {
  call.run(GetParam(), mode());
  expect_agreement();
}

INSTANTIATE_TEST_SUITE_P(Golden, HuggingFaceFolder, ::testing::ValuesIn(golden_paths("huggingface", "")),
                         [](const auto& entry) { return entry.param.filename().string(); });

// Check L2: folders of save_pretrained.
INSTANTIATE_TEST_SUITE_P(LongformerL2, HuggingFaceFolder, ::testing::ValuesIn(golden_paths("longformer", "")),
                         [](const auto& entry) { return entry.param.filename().string(); });

INSTANTIATE_TEST_SUITE_P(LongformerL6, HuggingFaceFolder, ::testing::ValuesIn(golden_paths("led", "")),
                         [](const auto& entry) { return entry.param.filename().string(); });

INSTANTIATE_TEST_SUITE_P(EncoderDecoder, HuggingFaceFolder,
                         ::testing::ValuesIn(golden_paths("encoder_decoder", "")),
                         [](const auto& entry) { return entry.param.filename().string(); });

}  // namespace
}  // namespace bigbird
