// bigbird forward on a tiny model: what it writes, the same bytes for any thread count, and its refusals.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lib/io/files/file.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

class ForwardVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    config.vocab_size = 20;
    config.hidden_size = 8;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 2;
    config.intermediate_size = 16;
    config.max_position_embeddings = 64;
    config.block_size = 4;
    config.num_random_blocks = 1;
    config.random_mode = RandomMode::hf_train;  // google is full attention at these lengths
    const ParameterLayout layout(config);
    std::filesystem::create_directory(folder / "model");
    write_model_files(folder / "model", config, layout, initial_parameters(layout, config, 1), "", "tiny\n");
  }

  // (2, 10) ids; every tensor may be changed before it is written.
  void write_input() {
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, values] : inputs) {
      const std::vector<std::int64_t> shape =
          name == "next_sentence_label" ? std::vector<std::int64_t>{2} : std::vector<std::int64_t>{2, 10};
      tensors.push_back({name, TensorType::i64, shape, values.data()});
    }
    write_safetensors(folder / "in.safetensors", tensors);
  }

  RunResult run(std::vector<std::string> more = {}) {
    write_input();
    std::vector<std::string> arguments{
        "forward", "-m", folder / "model", "-i", folder / "in.safetensors", "-o", folder / "out.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bigbird(arguments);
  }

  void expect_refusal(const RunResult& result, const std::string& words, int status = 1) {
    EXPECT_EQ(result.status, status) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out.safetensors"));
  }

  const TemporaryFolder folder;
  ModelConfig config;
  std::map<std::string, std::vector<std::int64_t>> inputs{
      {"input_ids", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0}},
      {"attention_mask", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0}},
      {"labels", {-100, 5,    -100, 7,    -100, -100, -100, -100, -100, -100,
                  3,    -100, -100, -100, -100, -100, -100, -100, -100, -100}},
      {"next_sentence_label", {0, 1}}};
};

TEST_F(ForwardVerb, WritesStatesLogitsLossAndEveryGradientWithProvenance) {
  const RunResult result = run({"--hidden-states", "--gradients"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "");
  const SafetensorsFile out(folder / "out.safetensors");
  for (const char* name : {"last_hidden_state", "hidden_states.0", "hidden_states.1", "hidden_states.2"}) {
    EXPECT_EQ(out.info(name).shape, (std::vector<std::int64_t>{2, 10, 8})) << name;
  }
  EXPECT_EQ(out.info("pooler_output").shape, (std::vector<std::int64_t>{2, 8}));
  EXPECT_EQ(out.info("prediction_logits").shape, (std::vector<std::int64_t>{2, 10, 20}));
  EXPECT_EQ(out.info("seq_relationship_logits").shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_GT(out.floats("loss").at(0), 0.0f);
  const ParameterLayout layout(config);
  for (const TensorSpec& spec : layout.tensors()) EXPECT_EQ(out.info("grad." + spec.name).shape, spec.shape);
  EXPECT_EQ(out.tensors().size(), layout.tensors().size() + 8);
  const auto provenance = nlohmann::json::parse(out.metadata().at("provenance"));
  EXPECT_NE(provenance.dump().find("--hidden-states"), std::string::npos);
}

TEST_F(ForwardVerb, ThreadsDoNotChangeAByte) {
  ASSERT_EQ(run({"--gradients", "--no-provenance", "-@", "1"}).status, 0);
  const std::string one = read_text(folder / "out.safetensors");
  ASSERT_EQ(run({"--gradients", "--no-provenance", "-@", "2"}).status, 0);
  EXPECT_EQ(read_text(folder / "out.safetensors"), one);
  EXPECT_FALSE(SafetensorsFile(folder / "out.safetensors").metadata().contains("provenance"));
}

TEST_F(ForwardVerb, ModelWithAClassificationHeadGivesLogits) {
  config.head = HeadType::classification;
  config.num_labels = 3;
  const ParameterLayout layout(config);
  write_model_files(folder / "model", config, layout, initial_parameters(layout, config, 1), "", "tiny\n");
  inputs.erase("labels");
  inputs.erase("next_sentence_label");
  const RunResult result = run();
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(SafetensorsFile(folder / "out.safetensors").info("logits").shape,
            (std::vector<std::int64_t>{2, 3}));
}

TEST_F(ForwardVerb, RefusesPaddingWithinASequenceAndASequenceOfNothingElse) {
  inputs["attention_mask"][12] = 0;
  expect_refusal(run(), "in.safetensors: tensor attention_mask row 1 is not one stretch of ones");
  inputs["attention_mask"] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  expect_refusal(run(), "in.safetensors: tensor attention_mask row 1 is not one stretch of ones");
}

// The side of the padding changes places, and no number.
TEST_F(ForwardVerb, PaddingOnTheLeftGivesWhatPaddingOnTheRightGives) {
  const std::vector<std::string> options = {"--gradients", "--hidden-states", "--no-provenance"};
  ASSERT_EQ(run(options).status, 0);
  const SafetensorsFile right(folder / "out.safetensors");
  std::map<std::string, std::vector<float>> expected;
  for (const TensorInfo& tensor : right.tensors()) expected[tensor.name] = right.floats(tensor.name);
  // The second sequence's four paddings to the other side.
  for (const char* name : {"input_ids", "attention_mask", "labels"}) {
    std::vector<std::int64_t>& values = inputs.at(name);
    std::rotate(values.begin() + 10, values.begin() + 16, values.end());
  }
  const RunResult result = run(options);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("1 of 2 sequences are padded on the left"), std::string::npos) << result.err;
  const SafetensorsFile left(folder / "out.safetensors");
  ASSERT_EQ(left.tensors().size(), expected.size());
  for (const TensorInfo& tensor : left.tensors()) {
    std::vector<float> values = left.floats(tensor.name);
    if (tensor.shape.size() == 3) {  // [B, T, C]: back again
      const auto row = values.begin() + 10 * tensor.shape[2];
      std::rotate(row, row + 4 * tensor.shape[2], values.end());
    }
    EXPECT_EQ(values, expected.at(tensor.name)) << tensor.name;
  }
}

TEST_F(ForwardVerb, RefusesAnIdBeyondTheVocabularyNamingItsPlace) {
  inputs["input_ids"][13] = 20;
  expect_refusal(run(), "in.safetensors: tensor input_ids holds 20 at [1, 3]");
}

TEST_F(ForwardVerb, RefusesATensorItDoesNotKnow) {
  inputs["atention_mask"] = inputs["attention_mask"];
  expect_refusal(run(), "tensor atention_mask is not an input");
}

TEST_F(ForwardVerb, RefusesGradientsWithoutLabels) {
  inputs.erase("labels");
  inputs.erase("next_sentence_label");
  expect_refusal(run({"--gradients"}), "no label is given");
}

// Three blocks are full attention in the model's own mode, so a plan that lists them all changes nothing, and
// one that lists each block's own does.
TEST_F(ForwardVerb, APlanIsWhatIsComputed) {
  const auto hidden = [&](const std::vector<std::string>& more) {
    const RunResult result = run(more);
    EXPECT_EQ(result.status, 0) << result.err;
    std::vector<float> states = SafetensorsFile(folder / "out.safetensors").floats("last_hidden_state");
    states.resize(10 * 8);  // the first sequence: padding of the second attends in full attention alone
    return states;
  };
  const auto write_plan = [&](const std::string& rows) {
    write_text_atomic(
        folder / "plan.json",
        fmt::format(R"({{"block_size": 4, "heads": [{{"rows": {0}}}, {{"rows": {0}}}]}})", rows));
  };
  const std::vector<float> own = hidden({});
  write_plan("[[0, 1, 2], [0, 1, 2], [0, 1, 2]]");
  EXPECT_EQ(hidden({"--random-mode", "file", "--plan", folder / "plan.json"}), own);
  write_plan("[[0], [1], [2]]");
  EXPECT_NE(hidden({"--plan", folder / "plan.json"}), own);
  std::filesystem::remove(folder / "out.safetensors");
  write_plan("[[0], [1]]");
  expect_refusal(run({"--plan", folder / "plan.json"}), "the plan is for 2 blocks, a sequence has 3");
  write_text_atomic(folder / "plan.json", R"({"block_size": 4, "heads": [{"rows": [[0], [1], [2]]}]})");
  expect_refusal(run({"--plan", folder / "plan.json"}), "has heads = 1, the model has 2");
  expect_refusal(run({"--random-mode", "file"}), "there is no plan");
}

TEST_F(ForwardVerb, RefusesAnUnknownRandomMode) {
  expect_refusal(run({"--random-mode", "seeded"}), "seeded", 2);
}

TEST_F(ForwardVerb, RefusesAModelFolderThatIsNotThere) {
  std::filesystem::remove_all(folder / "model");
  expect_refusal(run(), "model");
}

TEST_F(ForwardVerb, PrecisionBf16RunsCloseToFp32) {
  ASSERT_EQ(run({"--no-provenance"}).status, 0);
  const std::vector<float> exact = SafetensorsFile(folder / "out.safetensors").floats("last_hidden_state");
  const RunResult result = run({"--no-provenance", "--precision", "bf16"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("bf16"), std::string::npos) << result.err;
  const std::vector<float> rounded = SafetensorsFile(folder / "out.safetensors").floats("last_hidden_state");
  float largest = 0.0f;
  for (std::size_t i = 0; i < exact.size(); ++i) largest = std::max(largest, std::abs(exact[i] - rounded[i]));
  EXPECT_GT(largest, 0.0f);
  EXPECT_LT(largest, 0.1f);
  std::filesystem::remove(folder / "out.safetensors");
  expect_refusal(run({"--precision", "int8"}), "int8", 2);
}

}  // namespace
}  // namespace bigbird
