// Logits over a vocabulary that is no multiple of 8: on the device their rows are padded. Nobody sees it. The
// emulation gives the bits that it gives without; cuBLASLt takes another algorithm for another distance of
// rows, which adds in another order.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/linear_products.h"
#include "lib/model/network/validate_config.h"
#include "tests/cuda/backend_test.h"
#include "tests/cuda/compare_models.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird::kernels::cuda::testing {

using bigbird::testing::largest_difference;

class PaddedLogits : public BackendTest {
 protected:
  static constexpr Index rows = 9, width = 24, columns = 43, stride = 64;

  // The same numbers with room behind each row, which holds `filler`.
  static Floats apart(const Floats& dense, float filler) {
    Floats padded(rows * stride, filler);
    for (Index row = 0; row < rows; ++row) {
      for (Index column = 0; column < columns; ++column)
        padded[static_cast<std::size_t>(row * stride + column)] =
            dense[static_cast<std::size_t>(row * columns + column)];
    }
    return padded;
  }
  static Floats together(const Floats& padded) {
    Floats dense;
    for (Index row = 0; row < rows; ++row) {
      for (Index column = 0; column < columns; ++column)
        dense.push_back(padded[static_cast<std::size_t>(row * stride + column)]);
    }
    return dense;
  }

  // The same numbers. From a library that adds in another order, as near as sums in fp32 are (all that enters
  // is exact in every type), and where they were rounded to bf16 for the result, as near as that leaves them.
  void expect_same(const Floats& got, const Floats& expected, bool fp32) const {
    if (emulated_) {
      EXPECT_EQ(got, expected);
      return;
    }
    EXPECT_LT(relative_error(got, widened(expected)), fp32 || !narrow() ? 1e-5 : tolerance());
  }

 private:
  static bool emulated() {
    std::string why;
    const std::vector<DeviceInfo> devices = find_devices(why);
    return !devices.empty() && devices.front().name == "emulated device";
  }
  const bool emulated_ = emulated();
};

TEST_P(PaddedLogits, BeginAtWholeVectors) {
  for (const auto& [wanted, padded] :
       {std::pair<Index, Index>{8, 8}, {32000, 32000}, {50, 64}, {64, 64}, {65, 128}, {96103, 96128}})
    EXPECT_EQ(device_->row_stride(wanted), padded);
  EXPECT_EQ(processor_->row_stride(43), 43);
}

// Word table, then other parameters; the bias and zeros behind it. Only the padding is another one.
TEST_P(PaddedLogits, ProductsOverThemGiveTheNumbersOfThoseWithoutPadding) {
  Side side(*device_);
  const Floats table = exact_numbers((stride + 3) * width, 1, 0.3);
  Floats biases = exact_numbers(columns, 2);
  biases.resize(stride, 0.0f);
  Floats all = table;
  all.insert(all.end(), biases.begin(), biases.end());
  const float* const weight = side.parameters(all);
  const float* const bias = weight + table.size();
  const Linear dense{weight, bias, width, columns}, padded{weight, bias, width, columns, stride};
  const Values x = side.values(exact_numbers(rows * width, 3));
  for (const bool wide : {false, true}) {
    // Over whole vectors the bias is added before a result is rounded to bf16, not to what was rounded.
    const bool twice_rounded = narrow() && !wide;
    const auto layer = [&](Linear of) {
      if (twice_rounded) of.bias = nullptr;
      return of;
    };
    const Values y = side.unset(rows * columns, wide), y_padded = side.unset(rows * stride, wide);
    device_->linear_forward(x, layer(dense), y, rows);
    device_->linear_forward(x, layer(padded), y_padded, rows);
    SCOPED_TRACE(wide);
    expect_same(together(side.read(y_padded, rows * stride)), side.read(y, rows * columns), wide);
  }
  const Floats gradient = exact_numbers(rows * columns, 4);
  const Values dy = side.values(gradient), dy_padded = side.values(apart(gradient, 0.0f));
  const Values dx = side.unset(rows * width), dx_padded = side.unset(rows * width);
  device_->linear_backward_input(dy, dense, dx, rows, false);
  device_->linear_backward_input(dy_padded, padded, dx_padded, rows, false);
  expect_same(side.read(dx_padded, rows * width), side.read(dx, rows * width), false);

  const Floats before = exact_numbers((stride + 3) * width, 5), bias_before = exact_numbers(columns, 6);
  float *const dw = side.floats(before), *const db = side.floats(bias_before);
  float *const dw_padded = side.floats(before), *const db_padded = side.floats(bias_before);
  device_->linear_backward_weight(dy, x, dense, {dw, db}, rows);
  device_->linear_backward_weight(dy_padded, x, padded, {dw_padded, db_padded}, rows);
  const Floats got = side.read(dw_padded, (stride + 3) * width);
  const Floats expected = side.read(dw, (stride + 3) * width);
  expect_same(got, expected, true);
  // To the other gradients behind the table zeros were added, or nothing.
  const auto behind = [](const Floats& all_of_it) {
    return Floats(all_of_it.begin() + columns * width, all_of_it.end());
  };
  EXPECT_EQ(behind(got), behind(before));
  EXPECT_EQ(behind(expected), behind(before));
  EXPECT_EQ(side.read(db_padded, columns), side.read(db, columns));
  EXPECT_NE(expected, before);
}

TEST_P(PaddedLogits, TheLossSeesItsColumnsAloneAndLeavesZerosBehindItsGradient) {
  const Floats logits = exact_numbers(rows * columns, 1, 2.0);
  std::vector<std::int32_t> classes = random_integers(rows, columns, 2);
  classes[4] = -100;
  for (const bool smooth : {false, true}) {
    Side device(*device_), processor(*processor_);
    const auto loss = [&](Side& side, const Floats& numbers, Index distance) {
      const ClassLabels labels{side.integers(classes), smooth ? 0.9f : 1.0f,
                               smooth ? 0.1f / (columns - 1) : 0.0f};
      const Values x = side.values(numbers);
      float* const losses = side.floats(Floats(rows));
      std::int32_t* const predictions = side.integers(std::vector<std::int32_t>(rows, -1));
      side.backend().cross_entropy({x, rows, columns, distance}, labels, losses, predictions,
                                   {x, side.floats({0.5f})});
      std::vector<std::int32_t> chosen(rows);
      side.backend().download(chosen.data(), predictions, rows * sizeof(std::int32_t));
      Floats outputs = side.read(losses, rows);
      outputs.insert(outputs.end(), chosen.begin(), chosen.end());
      return std::pair(outputs, side.read(x, rows * (distance > 0 ? distance : columns)));
    };
    const auto [expected, gradient] = loss(processor, logits, 0);
    // What a product left in the padding would be the largest number, the prediction and most of the sum.
    const auto [got, padded_gradient] = loss(device, apart(logits, 1000.0f), stride);
    EXPECT_LT(largest_difference(got, expected), 1e-5);
    EXPECT_LT(largest_difference(together(padded_gradient), gradient), narrow() ? 1e-2 : 1e-5);
    for (Index row = 0; row < rows; ++row) {
      for (Index column = columns; column < stride; ++column)
        EXPECT_EQ(padded_gradient[static_cast<std::size_t>(row * stride + column)], 0.0f) << row;
    }
  }
}

BIGBIRD_BACKEND_TESTS(PaddedLogits);

// Whole models beside the processor's, whose rows are end to end.
class OddVocabulary : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    std::string why;
    if (find_devices(why).empty()) GTEST_SKIP() << "SKIPPED: no CUDA device: " << why;
    const std::string name = GetParam();
    config_ = bigbird::testing::tiny_config();
    config_.vocab_size = 43;
    config_.hidden_size = 64;
    config_.intermediate_size = 96;
    config_.max_position_embeddings = 160;
    config_.block_size = 16;
    config_.sep_token_id = 4;
    if (name == "MaskedTokens") config_.head = HeadType::masked_lm;  // the bias of the vocabulary is the last
    if (name == "Decoder" || name == "DecoderInPieces") {
      bigbird::testing::add_decoder(config_);
      config_.decoder.num_hidden_layers = 1;
      config_.decoder.num_attention_heads = 1;
    }
    options_.training = true;
    options_.logits_in_pieces = name == "DecoderInPieces";
    validate(config_, name);
  }

  struct Outcome {
    Floats logits;
    double loss = 0;
    Floats gradients;
  };
  Outcome run(Backend& backend, bool training) const {
    const Batch batch = bigbird::testing::random_batch(config_, {33, 20}, 5);
    ModelOptions how = options_;
    how.training = training;
    const auto model = bigbird::testing::make_model(backend, config_, batch, how,
                                                    bigbird::testing::random_parameters(config_, 3));
    ForwardOptions forward;
    forward.training = training;
    Outcome outcome;
    LossScale scale;  // known before: the gradient of logits takes their place in forward()
    scale[Loss::mlm] = scale[Loss::sequence] = scale[Loss::target] = 0.1f;
    if (config_.has_mlm()) {
      model->forward(batch, forward);
      outcome.logits = model->masked_logits();
    }
    if (training) forward.scale = scale;
    if (training) model->zero_gradients();
    const ForwardResult result = model->forward(batch, forward);
    outcome.loss = scaled_loss(result, scale);
    if (config_.has_decoder() && !how.logits_in_pieces) outcome.logits = model->target_logits();
    if (!training) return outcome;
    model->backward(scale);
    outcome.gradients = model->host_gradients();
    return outcome;
  }
  ModelConfig config_;
  ModelOptions options_;
};

TEST_P(OddVocabulary, GivesTheNumbersOfTheProcessor) {
  const auto cpu = make_cpu_backend();
  CudaBackend exact({.index = 0, .precision = Precision::fp32});
  CudaBackend bf16s({.index = 0, .precision = Precision::bf16});
  const Outcome expected = run(*cpu, true), got = run(exact, true), rough = run(bf16s, true);
  ASSERT_EQ(got.logits.size(), expected.logits.size());
  EXPECT_LT(largest_difference(got.logits, expected.logits), 2e-5);
  EXPECT_NEAR(got.loss, expected.loss, 2e-5 * expected.loss);
  bigbird::testing::expect_every_gradient(config_, got.gradients, expected.gradients,
                                          bigbird::testing::fp32_bounds);
  EXPECT_NEAR(rough.loss, expected.loss, 0.02 * expected.loss);
  // Of these decoders 0.9985, with vocabularies of 40 and 48, which are not padded, too.
  EXPECT_GT(bigbird::testing::cosine(rough.gradients, expected.gradients), 0.998);
  if (options_.logits_in_pieces) return;
  const Outcome scored = run(bf16s, false), scored_there = run(*cpu, false);
  ASSERT_EQ(scored.logits.size(), scored_there.logits.size());
  EXPECT_GT(bigbird::testing::cosine(scored.logits, scored_there.logits), 0.999);
}

INSTANTIATE_TEST_SUITE_P(Heads, OddVocabulary,
                         ::testing::Values("Pretraining", "MaskedTokens", "Decoder", "DecoderInPieces"),
                         [](const auto& made) { return std::string(made.param); });

}  // namespace bigbird::kernels::cuda::testing
