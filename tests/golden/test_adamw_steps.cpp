// Twenty updates of a small model against the same in Python, in float64 (tests/peers/make_steps.py): the
// loss before every update, for both kinds of AdamW and for Adafactor.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/parallel.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/config_json.h"
#include "lib/training/optimizer.h"
#include "tests/golden/huggingface_file.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

constexpr double loss_bound = 1e-4;

class AdamwSteps : public ::testing::Test {
 protected:
  AdamwSteps() {
    kernels::set_thread_count(1);  // matrices this small gain nothing from a second thread
    write_text(folder_ / "config.json", golden_.metadata().at("config"));
    config_ = read_config(folder_ / "config.json");
    const std::vector<std::int64_t> shape = golden_.info("in.input_ids").shape;
    steps_ = shape.at(0);
    sequences_ = shape.at(1);
    tokens_ = shape.at(2);
  }

  // The batch of one step; only labelled tokens go through the MLM head.
  Batch batch(std::int64_t step) const {
    const auto ids = integers("input_ids", step), types = integers("token_type_ids", step);
    const auto labelled = integers("labelled", step), labels = integers("labels", step);
    const auto lengths = integers("lengths", step);
    Batch result;
    for (std::int64_t s = 0; s < sequences_; ++s) {
      const std::int64_t begin = s * tokens_;
      const auto row = [&](const std::vector<std::int32_t>& values) {
        return std::vector<std::int32_t>(values.begin() + begin, values.begin() + begin + tokens_);
      };
      result.append(row(ids), row(types), config_.block_size,
                    static_cast<std::int32_t>(config_.pad_token_id));
      result.lengths.back() = lengths[static_cast<std::size_t>(s)];
    }
    for (std::size_t row = 0; row < labelled.size(); ++row) {
      if (labelled[row] == 0) continue;
      result.masked_rows.push_back(static_cast<std::int32_t>(row));
      result.masked_labels.push_back(labels[row]);
    }
    result.sequence_labels = integers("next_sentence_label", step);
    return result;
  }

  std::vector<double> train(OptimizerVariant variant, ScheduleForm form) {
    const nlohmann::json training = nlohmann::json::parse(golden_.metadata().at("training"));
    const std::unique_ptr<kernels::Backend> backend = kernels::make_cpu_backend();
    const std::int64_t rows = sequences_ * tokens_;
    Model model(*backend, config_, BatchLimits{rows, sequences_, rows, tokens_}, {.training = true});
    model.set_parameters(formula_parameters(model.layout()));
    OptimizerOptions options;
    options.variant = variant;
    options.weight_decay = training.at("weight_decay");
    Optimizer optimizer(*backend, model.layout(), options);
    Schedule schedule;
    schedule.form = form;
    schedule.base =
        training.at(variant == OptimizerVariant::adafactor ? "adafactor_learning_rate" : "learning_rate");
    schedule.warmup = training.at("warmup");
    schedule.total = static_cast<std::uint64_t>(steps_);

    std::vector<double> losses;
    for (std::int64_t step = 0; step < steps_; ++step) {
      const ForwardResult result = model.forward(batch(step), {});
      const double masked_scale = 1.0 / static_cast<double>(result[Loss::mlm].count);
      const double sequence_scale = 1.0 / static_cast<double>(result[Loss::sequence].count);
      losses.push_back(masked_scale * result[Loss::mlm].sum + sequence_scale * result[Loss::sequence].sum);
      model.zero_gradients();
      model.backward({{static_cast<float>(masked_scale), static_cast<float>(sequence_scale)}});
      const auto number = static_cast<std::uint64_t>(step);
      optimizer.update(model.parameters(), model.gradients(), schedule.rate(number), number + 1);
    }
    return losses;
  }

  void expect_losses(const std::string& name, const std::vector<double>& losses) {
    const std::vector<double> expected = doubles("losses." + name);
    ASSERT_EQ(losses.size(), expected.size());
    double largest = 0.0;
    for (std::size_t step = 0; step < losses.size(); ++step) {
      EXPECT_NEAR(losses[step], expected[step], loss_bound) << "step " << step;
      largest = std::max(largest, std::abs(losses[step] - expected[step]));
    }
    RecordProperty("largest_loss_difference", std::to_string(largest * 1e6) + "e-6");
  }

 private:
  // One step of in.<name>.
  std::vector<std::int32_t> integers(const std::string& name, std::int64_t step) const {
    const std::vector<std::int64_t> all = golden_.integers("in." + name);
    const auto count = static_cast<std::int64_t>(all.size()) / steps_;
    std::vector<std::int32_t> values;
    for (std::int64_t i = step * count; i < (step + 1) * count; ++i) {
      values.push_back(static_cast<std::int32_t>(all[static_cast<std::size_t>(i)]));
    }
    return values;
  }

  std::vector<double> doubles(const std::string& name) const {
    const std::vector<float> values = golden_.floats(name);
    return {values.begin(), values.end()};
  }

  const SafetensorsFile golden_{source_dir() / "tests/golden/adamw_steps.safetensors"};
  const TemporaryFolder folder_;
  ModelConfig config_;
  std::int64_t steps_ = 0;
  std::int64_t sequences_ = 0;
  std::int64_t tokens_ = 0;
};

TEST_F(AdamwSteps, TorchOptimizerWithHuggingFacesSchedule) {
  expect_losses("torch", train(OptimizerVariant::torch, ScheduleForm::huggingface));
}

TEST_F(AdamwSteps, TransformersAdafactorWithHuggingFacesSchedule) {
  expect_losses("adafactor", train(OptimizerVariant::adafactor, ScheduleForm::huggingface));
}

TEST_F(AdamwSteps, GoogleOptimizerWithGooglesSchedule) {
  expect_losses("google", train(OptimizerVariant::google, ScheduleForm::google));
}

}  // namespace
}  // namespace bigbird
