// A tiny model, tokenizer and shards, and what the training tests do with them again and again.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "kernels/parallel.h"
#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/progress.h"
#include "lib/io/tables/tsv.h"
#include "lib/io/weights/safetensors.h"
#include "lib/training/pretraining.h"
#include "tests/support/support.h"
#include "tests/support/tiny_training_data.h"
#include "tests/unit/training/whole_updates.h"

namespace bigbird {

// The same batch at every step.
class OneBatch : public WholeUpdates {
 public:
  using WholeUpdates::batches;
  explicit OneBatch(Batch batch) : batch_(std::move(batch)) {}
  std::vector<Batch> batches(std::uint64_t) const override { return {batch_}; }

 private:
  Batch batch_;
};

class TrainingTest : public ::testing::Test {
 protected:
  TrainingTest() : backend_(kernels::make_cpu_backend()) {
    kernels::set_thread_count(1);  // matrices this small gain nothing from a second thread
    testing::write_tiny_tokenizer(folder_ / "tokenizer");
    testing::write_tiny_shards(path("train"), folder_ / "tokenizer");
    testing::TinyShards valid;
    valid.documents = 4;
    valid.seed = 2;
    testing::write_tiny_shards(path("valid"), folder_ / "tokenizer", valid);
  }
  ~TrainingTest() override {
    set_progress_sink({});
    clear_cancel();
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  // Eight blocks of 16 tokens: sparse attention with one random block.
  static ModelConfig tiny_config() {
    ModelConfig config;
    config.vocab_size = 26;
    config.hidden_size = 32;
    config.num_hidden_layers = 2;
    config.num_attention_heads = 2;
    config.intermediate_size = 64;
    config.max_position_embeddings = 128;
    config.block_size = 16;
    config.num_random_blocks = 1;
    config.random_mode = RandomMode::hf_train;  // google is full attention at these lengths
    return config;
  }

  PretrainOptions options(const std::string& run) const {
    PretrainOptions options;
    options.train = path("train");
    options.tokenizer = path("tokenizer");
    options.run = path(run);
    options.config = tiny_config();
    options.length = 128;
    options.batch = 4;
    options.steps = 10;
    options.learning_rate = 1e-3;
    options.warmup = 2;
    options.save_every = 0;
    return options;
  }

  // Asks for a stop, as a signal would, once so many updates of the next run are done.
  static void stop_after(std::uint64_t updates) {
    set_progress_sink([updates](const ProgressEvent& event) {
      if (event.task == "pretrain" && event.done == updates) request_cancel(15);
    });
  }
  static void run_on() {
    set_progress_sink({});
    clear_cancel();
  }

  // Weights of a model folder, or the moments of a checkpoint, tensor after tensor.
  static std::vector<float> tensors(const std::string& file) {
    const SafetensorsFile opened(file);
    std::vector<float> all;
    for (const TensorInfo& tensor : opened.tensors()) {
      const std::vector<float> values = opened.floats(tensor.name);
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  // A column of the first row of a run's metrics.tsv.
  std::string first_metric(const std::string& run, const char* column) const {
    TsvReader metrics(path(run) + "/metrics.tsv");
    std::vector<std::string_view> fields;
    return metrics.next(fields) ? std::string(fields[metrics.column(column)]) : "no row";
  }

  // Runs `whole` in one go, and `parts`, its equal in another folder, up to `updates`; then on to its end.
  void run_whole_and_in_parts(const PretrainOptions& whole, PretrainOptions parts, std::uint64_t updates) {
    pretrain(whole, *backend_);
    stop_after(updates);
    try {
      pretrain(parts, *backend_);
      FAIL() << "was not interrupted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::interrupted);
    }
    run_on();
    ASSERT_TRUE(std::filesystem::exists(parts.run + "/checkpoint-" + std::to_string(updates) +
                                        "/optimizer.safetensors"));
    ASSERT_FALSE(std::filesystem::exists(parts.run + "/final"));
    parts.start = RunStart::resume;
    pretrain(parts, *backend_);
    EXPECT_EQ(tensors(parts.run + "/final/model.safetensors"),
              tensors(whole.run + "/final/model.safetensors"));
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<kernels::Backend> backend_;
};

}  // namespace bigbird
