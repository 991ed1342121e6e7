// A forward pass from file to file against numbers of Hugging Face's BigBird (tests/golden/hf_tiny.json).
#include "lib/inference/forward_pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "lib/core/error.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model_folder/checkpoint.h"
#include "lib/model_folder/config_json.h"
#include "tests/support/support.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;
using Json = nlohmann::json;

constexpr double forward_tolerance = 1e-5;
constexpr double gradient_tolerance = 1e-4;

class ForwardPass : public ::testing::Test {
 protected:
  const Json golden = Json::parse(read_text(source_dir() / "tests/golden/hf_tiny.json"));
  const std::int64_t sequences = static_cast<std::int64_t>(golden.at("input_ids").size());
  const std::int64_t tokens = static_cast<std::int64_t>(golden.at("input_ids").at(0).size());
  const TemporaryFolder folder;
  const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();

  // A Hugging Face folder with the golden weights; config.json is the one of the file.
  void write_model(const Json& config, const std::map<std::string, std::vector<double>>& parameters) {
    write_text(folder / "config.json", config.dump());
    const ParameterLayout layout(read_config(folder / "config.json"));
    std::vector<std::vector<float>> values;
    std::vector<TensorToWrite> tensors;
    for (const TensorSpec& spec : layout.tensors()) {
      const std::vector<double>& from = parameters.at(spec.name);
      values.emplace_back(from.begin(), from.end());
      tensors.push_back({spec.name, TensorType::f32, spec.shape, values.back().data()});
    }
    write_safetensors(folder / "model.safetensors", tensors);
  }

  void write_input(const std::vector<std::string>& names) {
    std::vector<std::vector<std::int64_t>> values;
    std::vector<TensorToWrite> tensors;
    for (const std::string& name : names) {
      std::vector<std::int64_t> flat;
      for (const Json& row : golden.at(name)) {
        if (row.is_array()) {
          for (const Json& value : row) flat.push_back(value);
        } else {
          flat.push_back(row);
        }
      }
      values.push_back(std::move(flat));
      const std::vector<std::int64_t> shape = golden.at(name).at(0).is_array()
                                                  ? std::vector<std::int64_t>{sequences, tokens}
                                                  : std::vector<std::int64_t>{sequences};
      tensors.push_back({name, TensorType::i64, shape, values.back().data()});
    }
    write_safetensors(folder / "in.safetensors", tensors);
  }

  SafetensorsFile run(const ForwardPassOptions& options) {
    const std::int64_t real =
        run_forward_pass(*backend, ModelFolder(folder.path()), folder / "in.safetensors",
                         folder / "out.safetensors", options, {});
    EXPECT_EQ(real, 48 + 37);
    return SafetensorsFile(folder / "out.safetensors");
  }

  static double norm(const std::vector<float>& values) {
    double squares = 0.0;
    for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares);
  }
};

TEST_F(ForwardPass, PretrainingAgreesWithHuggingFaceInFullAndSparseAttention) {
  const auto parameters = golden.at("parameters").get<std::map<std::string, std::vector<double>>>();
  write_input({"input_ids", "attention_mask", "token_type_ids", "labels", "next_sentence_label"});
  for (const Json& expected : golden.at("runs")) {
    const std::string type = expected.at("attention_type");
    Json config = golden.at("config");
    config["architectures"] = {"BigBirdForPreTraining"};
    config["attention_type"] = type;
    write_model(config, parameters);
    const SafetensorsFile out =
        run({.hidden_states = true, .gradients = true, .random_mode = RandomMode::hf_train});

    EXPECT_EQ(out.info("loss").shape, (std::vector<std::int64_t>{}));
    EXPECT_NEAR(static_cast<double>(out.floats("loss")[0]), expected.at("loss").get<double>(), 1e-5 * 5)
        << type;
    EXPECT_LT(
        relative_error(out.floats("seq_relationship_logits").data(), expected.at("relationship_logits")),
        forward_tolerance);
    EXPECT_EQ(out.info("prediction_logits").shape, (std::vector<std::int64_t>{sequences, tokens, 32}));
    EXPECT_EQ(out.info("last_hidden_state").shape, (std::vector<std::int64_t>{sequences, tokens, 16}));
    EXPECT_EQ(out.floats("last_hidden_state"), out.floats("hidden_states.2"));
    const std::vector<float> hidden = out.floats("last_hidden_state");
    const std::vector<float> logits = out.floats("prediction_logits");
    const auto expected_hidden = expected.at("last_hidden_state").get<std::vector<double>>();
    std::size_t labelled = 0;
    for (std::int64_t row = 0; row < sequences * tokens; ++row) {
      const Json& of_sequence = golden.at("attention_mask").at(static_cast<std::size_t>(row / tokens));
      if (of_sequence.at(static_cast<std::size_t>(row % tokens)) == 0) continue;
      const auto begin = expected_hidden.begin() + row * 16;
      EXPECT_LT(relative_error(hidden.data() + row * 16, std::vector<double>(begin, begin + 16)),
                forward_tolerance);
      const Json& labels = golden.at("labels").at(static_cast<std::size_t>(row / tokens));
      if (labels.at(static_cast<std::size_t>(row % tokens)) == ignored_label) continue;
      EXPECT_LT(
          relative_error(logits.data() + row * 32, expected.at("prediction_logits_labelled").at(labelled++)),
          forward_tolerance);
    }
    EXPECT_EQ(labelled, expected.at("prediction_logits_labelled").size());

    for (const auto& [name, value] : expected.at("gradient_norms").items()) {
      // The gradient of a key bias is zero but for rounding.
      EXPECT_NEAR(norm(out.floats("grad." + name)), value.get<double>(),
                  gradient_tolerance * value.get<double>() + 1e-6)
          << type << " " << name;
    }
    for (const auto& [name, values] : expected.at("gradients").items()) {
      EXPECT_LT(relative_error(out.floats("grad." + name).data(), values), gradient_tolerance)
          << type << " " << name;
    }
  }
}

TEST_F(ForwardPass, WithoutLabelsThereAreLogitsButNoLossAndNoGradients) {
  Json config = golden.at("config");
  config["architectures"] = {"BigBirdForPreTraining"};
  write_model(config, golden.at("parameters"));
  write_input({"input_ids", "attention_mask"});
  const SafetensorsFile out = run({});
  EXPECT_TRUE(out.has("prediction_logits"));
  EXPECT_FALSE(out.has("loss"));
  EXPECT_FALSE(out.has("hidden_states.0"));
  EXPECT_THROW(run({.hidden_states = false, .gradients = true, .random_mode = {}}), Error);
}

// A head of this project: logits, and one clear refusal of what it cannot be given.
TEST_F(ForwardPass, AnswersInPartsGiveTheLogitsOfEveryScoreAndType) {
  ModelConfig config = tiny_config();
  config.vocab_size = 40;
  config.head = HeadType::structured_answers;
  add_answer_scores(config);
  const ParameterLayout layout(config);
  const std::vector<float> parameters = random_parameters(config, 5);
  write_model_files(folder.path(), config, layout, parameters, "", "# card\n");
  write_input({"input_ids", "attention_mask"});
  const SafetensorsFile out = run({});
  EXPECT_FALSE(out.has("loss"));

  Batch batch;
  for (const Json& row : golden.at("input_ids"))
    batch.append(row.get<std::vector<std::int32_t>>(), {}, config.block_size, 0);
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const auto mask = golden.at("attention_mask").at(s).get<std::vector<std::int64_t>>();
    batch.given_lengths.push_back(tokens);
    batch.lengths[s] = std::count(mask.begin(), mask.end(), 1);
  }
  const auto model = make_model(*backend, config, batch, {}, parameters);
  model->forward(batch, {});
  EXPECT_EQ(out.floats("type_logits"), model->sequence_logits());
  for (std::size_t score = 0; score < 3; ++score) {
    const std::string name = "token_logits." + config.token_scores[score].name;
    EXPECT_EQ(out.info(name).shape, (std::vector<std::int64_t>{sequences, tokens}));
    const std::vector<float> got = out.floats(name), all = model->token_logits(score);
    for (std::int64_t s = 0; s < sequences; ++s) {
      EXPECT_TRUE(std::equal(got.begin() + s * tokens, got.begin() + (s + 1) * tokens,
                             all.begin() + batch.token_offsets[static_cast<std::size_t>(s)]))
          << name;
    }
  }
  EXPECT_THROW(run({.hidden_states = false, .gradients = true, .random_mode = {}}), Error);
  write_input({"input_ids", "labels"});
  EXPECT_THROW(run({}), Error);
}

}  // namespace
}  // namespace bigbird
