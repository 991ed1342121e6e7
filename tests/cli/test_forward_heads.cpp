// bigbird forward on tiny models of every head: what each one writes, takes and refuses.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

using Shape = std::vector<std::int64_t>;

class ForwardHeads : public ::testing::Test {
 protected:
  ForwardHeads() {
    config.vocab_size = 20;
    config.hidden_size = 8;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 2;
    config.intermediate_size = 16;
    config.max_position_embeddings = 64;
    config.block_size = 4;
    config.num_random_blocks = 1;
    config.sep_token_id = 3;
    config.num_labels = 3;
    integers["input_ids"] = {{2, 10}, {1, 8, 3, 4, 5, 6, 7, 8, 9, 3, 1, 2, 7, 4, 3, 6, 3, 0, 0, 0}};
    integers["attention_mask"] = {{2, 10}, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0}};
    std::filesystem::create_directory(folder / "model");
  }

  template <typename Value>
  struct Tensor {
    Shape shape;
    std::vector<Value> values;
  };

  void write_model(HeadType head) {
    config.head = head;
    const ParameterLayout layout(config);
    // Four times the usual spread: logits that differ between sequences.
    config.initializer_range = 0.1;
    write_model_files(folder / "model", config, layout, initial_parameters(layout, config, 1), "", "tiny\n");
  }

  RunResult run(std::vector<std::string> more = {}) {
    std::vector<TensorToWrite> tensors;
    for (const auto& [name, tensor] : integers) {
      tensors.push_back({name, TensorType::i64, tensor.shape, tensor.values.data()});
    }
    for (const auto& [name, tensor] : floats) {
      tensors.push_back({name, TensorType::f32, tensor.shape, tensor.values.data()});
    }
    write_safetensors(folder / "in.safetensors", tensors);
    std::filesystem::remove(folder / "out.safetensors");
    std::vector<std::string> arguments{
        "forward", "-m", folder / "model", "-i", folder / "in.safetensors", "-o", folder / "out.safetensors"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_bigbird(arguments);
  }

  // Names and shapes of what is written beside gradients.
  std::map<std::string, Shape> outputs() {
    const RunResult result = run();
    EXPECT_EQ(result.status, 0) << result.err;
    std::map<std::string, Shape> shapes;
    const SafetensorsFile out(folder / "out.safetensors");
    for (const TensorInfo& tensor : out.tensors()) shapes[tensor.name] = tensor.shape;
    return shapes;
  }
  std::vector<float> output(const std::string& name) {
    const RunResult result = run();
    EXPECT_EQ(result.status, 0) << result.err;
    return SafetensorsFile(folder / "out.safetensors").floats(name);
  }

  void expect_refusal(const std::string& words) {
    const RunResult result = run();
    EXPECT_EQ(result.status, 1) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("hint: "), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "out.safetensors"));
  }

  const TemporaryFolder folder;
  ModelConfig config;
  std::map<std::string, Tensor<std::int64_t>> integers;
  std::map<std::string, Tensor<float>> floats;
};

TEST_F(ForwardHeads, EveryHeadWritesItsOutputs) {
  using Outputs = std::map<std::string, Shape>;
  const std::pair<std::string, Shape> hidden{"last_hidden_state", {2, 10, 8}};
  write_model(HeadType::encoder);
  EXPECT_EQ(outputs(), (Outputs{hidden, {"pooler_output", {2, 8}}}));
  write_model(HeadType::masked_lm);
  EXPECT_EQ(outputs(), (Outputs{hidden, {"logits", {2, 10, 20}}}));
  write_model(HeadType::classification);
  EXPECT_EQ(outputs(), (Outputs{hidden, {"logits", {2, 3}}}));
  write_model(HeadType::question_answering);
  EXPECT_EQ(outputs(), (Outputs{hidden, {"start_logits", {2, 10}}, {"end_logits", {2, 10}}}));
}

TEST_F(ForwardHeads, DecodersOfTheirOwnAndCoupledOnesWriteStatesLossAndGradients) {
  for (const bool coupled : {false, true}) {
    config.type_vocab_size = coupled ? 0 : 2;
    config.decoder = {.num_hidden_layers = 1,
                      .num_attention_heads = 2,
                      .intermediate_size = 16,
                      .start_token_id = 2,
                      .coupled = coupled};
    write_model(HeadType::generation);
    integers["labels"] = {{2, 3}, {4, 5, 1, 6, 1, -100}};
    ASSERT_EQ(run({"--hidden-states", "--gradients"}).status, 0);
    const SafetensorsFile plain(folder / "out.safetensors");
    const Shape encoder{2, 10, 8}, decoder{2, 3, 8};
    for (const char* name : {"hidden_states.0", "hidden_states.1", "last_hidden_state"})
      EXPECT_EQ(plain.info(name).shape, encoder) << name;
    for (const char* name :
         {"decoder_hidden_states.0", "decoder_hidden_states.1", "decoder_last_hidden_state"})
      EXPECT_EQ(plain.info(name).shape, decoder) << name;
    EXPECT_EQ(plain.floats("decoder_hidden_states.1"), plain.floats("decoder_last_hidden_state"));
    EXPECT_NE(plain.floats("decoder_hidden_states.0"), plain.floats("decoder_hidden_states.1"));
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors())
      EXPECT_EQ(plain.info("grad." + spec.name).shape, spec.shape);
    const float loss = plain.floats("loss").at(0);
    const auto smoothed = [&](const std::string& form) {
      EXPECT_EQ(run({"--label-smoothing", "0.1", "--smoothing", form}).status, 0);
      return SafetensorsFile(folder / "out.safetensors").floats("loss").at(0);
    };
    // Small random logits: every token is about as likely, so a spread label costs as much as a sharp one.
    EXPECT_NEAR(smoothed("huggingface"), loss, 0.1f);
    EXPECT_NE(smoothed("huggingface"), loss);
    EXPECT_NEAR(smoothed("google"), smoothed("huggingface") - 0.6195f, 0.05f);
  }
  EXPECT_EQ(run({"--smoothing", "half"}).status, 2);
}

TEST_F(ForwardHeads, LabelsOfEveryHeadGiveALossAndGradientsOfAllParameters) {
  const auto check = [&](HeadType head) {
    write_model(head);
    const RunResult result = run({"--gradients"});
    ASSERT_EQ(result.status, 0) << result.err;
    const SafetensorsFile out(folder / "out.safetensors");
    EXPECT_GT(out.floats("loss").at(0), 0.0f) << name_of(head);
    const ParameterLayout layout(config);
    for (const TensorSpec& spec : layout.tensors()) {
      EXPECT_EQ(out.info("grad." + spec.name).shape, spec.shape);
    }
  };
  integers["labels"] = {{2, 10}, std::vector<std::int64_t>(20, -100)};
  integers["labels"].values[4] = 7;
  check(HeadType::masked_lm);
  integers["labels"] = {{2}, {2, 0}};
  check(HeadType::classification);
  integers.erase("labels");
  integers["start_positions"] = {{2}, {4, 5}};
  integers["end_positions"] = {{2}, {6, 5}};
  check(HeadType::question_answering);
}

TEST_F(ForwardHeads, InputsOfAnotherHeadAreRefused) {
  integers["labels"] = {{2}, {2, 0}};
  write_model(HeadType::encoder);
  expect_refusal("tensor labels is not an input of a model with the encoder head");
  write_model(HeadType::question_answering);
  expect_refusal("tensor labels is not an input of a model with the question-answering head");
  integers.erase("labels");
  integers["next_sentence_label"] = {{2}, {0, 1}};
  write_model(HeadType::masked_lm);
  expect_refusal("tensor next_sentence_label is not an input");
}

TEST_F(ForwardHeads, AnEncoderHasNoGradients) {
  write_model(HeadType::encoder);
  const RunResult result = run({"--gradients"});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("no label is given"), std::string::npos) << result.err;
}

TEST_F(ForwardHeads, FloatLabelsAreSeveralAtOnce) {
  write_model(HeadType::classification);
  floats["labels"] = {{2, 3}, {1.0f, 0.0f, 1.0f, 0.0f, 0.0f, 1.0f}};
  const std::vector<float> loss = output("loss"), logits = output("logits");
  double expected = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    const double x = static_cast<double>(logits[i]);
    expected += (std::log1p(std::exp(x)) - x * static_cast<double>(floats["labels"].values[i])) / 6.0;
  }
  EXPECT_NEAR(static_cast<double>(loss.at(0)), expected, 1e-6);
  config.problem_type = ProblemType::multi_label;
  write_model(HeadType::classification);
  EXPECT_EQ(output("loss"), loss);
}

TEST_F(ForwardHeads, RegressionTakesOneNumberOrOneForEveryLabel) {
  config.problem_type = ProblemType::regression;
  write_model(HeadType::classification);
  floats["labels"] = {{2, 3}, {1.5f, -2.0f, 0.25f, 4.0f, 0.0f, 1.0f}};
  const std::vector<float> logits = output("logits");
  double expected = 0.0;
  for (std::size_t i = 0; i < 6; ++i) {
    const double difference =
        static_cast<double>(logits[i]) - static_cast<double>(floats["labels"].values[i]);
    expected += difference * difference / 6.0;
  }
  EXPECT_NEAR(static_cast<double>(output("loss").at(0)), expected, 1e-6 * expected);

  config.num_labels = 1;
  write_model(HeadType::classification);
  floats["labels"] = {{2, 1}, {1.5f, -2.0f}};
  const std::vector<float> loss = output("loss");
  floats["labels"].shape = {2};
  EXPECT_EQ(output("loss"), loss);
}

TEST_F(ForwardHeads, LabelsOfTheWrongKindAreRefused) {
  write_model(HeadType::classification);
  floats["labels"] = {{2}, {1.0f, 0.0f}};
  expect_refusal("tensor labels is F32");
  floats["labels"] = {{2, 3}, {1.0f, 0.0f, 1.0f, 0.0f, std::nanf(""), 1.0f}};
  expect_refusal("tensor labels holds nan at [1, 1]");
  floats["labels"].values[4] = 1.5f;
  expect_refusal("tensor labels holds 1.5 at [1, 1]");
  floats.clear();
  integers["labels"] = {{2}, {3, 0}};
  expect_refusal("tensor labels holds 3 at [0]");
  config.problem_type = ProblemType::regression;
  write_model(HeadType::classification);
  expect_refusal("tensor labels is I64");
  integers.erase("labels");
  floats["labels"] = {{2, 3}, {1.0f, 0.0f, INFINITY, 0.0f, 1.0f, 1.0f}};
  expect_refusal("tensor labels holds inf at [0, 2]");
  floats["labels"] = {{3, 2}, {1.0f, 0.0f, 1.0f, 0.0f, 1.0f, 1.0f}};
  expect_refusal("tensor labels has shape [3, 2], not [2, 3]");
}

TEST_F(ForwardHeads, PositionsBeyondTheTokensDoNotCountAndOthersOutsideAreRefused) {
  write_model(HeadType::question_answering);
  integers["start_positions"] = {{2}, {4, 10}};
  integers["end_positions"] = {{2}, {6, 400}};
  const std::vector<float> first = output("loss");
  integers["start_positions"] = {{2}, {4, 25}};
  EXPECT_EQ(output("loss"), first);
  integers["start_positions"].values[1] = -1;
  expect_refusal("tensor start_positions holds -1 at [1]");
  integers.erase("start_positions");
  expect_refusal("tensor end_positions comes without start_positions");
}

TEST_F(ForwardHeads, TokensOfAQuestionLoseAMillionButNotTheFirst) {
  write_model(HeadType::question_answering);
  const std::vector<float> logits = output("start_logits");
  for (std::size_t t = 0; t < 10; ++t) EXPECT_EQ(logits[t] < -1e5f, t == 1 || t == 2) << t;
  for (std::size_t t = 0; t < 10; ++t) EXPECT_EQ(logits[10 + t] < -1e5f, t >= 1 && t <= 4) << t;
}

TEST_F(ForwardHeads, DefaultTokenTypesOfAQuestionAreZeroAndThenOne) {
  write_model(HeadType::question_answering);
  const std::vector<float> by_default = output("last_hidden_state");
  integers["token_type_ids"] = {{2, 10}, {0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}};
  EXPECT_EQ(output("last_hidden_state"), by_default);
  integers["token_type_ids"].values[9] = 0;
  EXPECT_NE(output("last_hidden_state"), by_default);
}

TEST_F(ForwardHeads, ASequenceWithoutSeparatorHasNoQuestionAndIsWarnedAbout) {
  write_model(HeadType::question_answering);
  for (std::size_t t = 10; t < 20; ++t) {
    if (integers["input_ids"].values[t] == 3) integers["input_ids"].values[t] = 4;
  }
  const RunResult result = run();
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_NE(result.err.find("sequence 1 has no [SEP] (token 3)"), std::string::npos) << result.err;
  const std::vector<float> logits = SafetensorsFile(folder / "out.safetensors").floats("end_logits");
  for (std::size_t t = 10; t < 20; ++t) EXPECT_GT(logits[t], -1e5f);
}

}  // namespace
}  // namespace bigbird
