// Whole pretraining runs of a tiny model: learning, exact resume, stop, refusals.
#include <gtest/gtest.h>

#include <filesystem>

#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/core/process_memory.h"
#include "lib/io/tables/tsv.h"
#include "lib/model/network/model.h"
#include "lib/model_folder/config_json.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

namespace fs = std::filesystem;
using Pretraining = TrainingTest;

TEST_F(Pretraining, OneBatchIsLearntByHeart) {
  ModelConfig config = tiny_config();
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.hidden_dropout_prob = 0.0;
  config.attention_probs_dropout_prob = 0.0;
  const auto tokenizer = load_tokenizer(path("tokenizer"));
  const TokenShards shards(path("train"));
  const PretrainingBatches batches(shards, *tokenizer, config, {}, 128, 1);
  Model model(*backend_, config, batches.limits(2), {true, false});
  model.set_parameters(initial_parameters(model.layout(), config, 1));
  Optimizer optimizer(*backend_, model.layout(), {});
  TrainerOptions trainer;
  trainer.steps = 200;
  trainer.schedule = {ScheduleForm::google, 3e-3, 20, 200};
  trainer.columns.sequence = "nsp";
  trainer.extras.tokenizer_folder = path("tokenizer");
  const RunFolder run(path("run"), RunStart::fresh);
  const TrainingSummary summary =
      train(model, optimizer, OneBatch(batches.training_batch(0, 2)), run, trainer, {});
  EXPECT_LT(summary.loss, 0.05);
  EXPECT_TRUE(fs::exists(path("run") + "/final/model.safetensors"));
}

TEST_F(Pretraining, TenStepsEqualFiveAndASaveAndALoadAndFive) {
  run_whole_and_in_parts(options("whole"), options("parts"), 5);
  for (const char* file : {"/checkpoint-10/model.safetensors", "/checkpoint-10/optimizer.safetensors"}) {
    const std::vector<float> expected = tensors(path("whole") + file);
    ASSERT_GT(expected.size(), 20000u);
    EXPECT_EQ(tensors(path("parts") + file), expected) << file;
  }

  // Each step stands once in both logs, with the same losses.
  TsvReader one(path("whole") + "/metrics.tsv");
  TsvReader two(path("parts") + "/metrics.tsv");
  const std::size_t deterministic = one.column("tokens") + 1;
  std::vector<std::string_view> a, b;
  for (int step = 1; step <= 10; ++step) {
    ASSERT_TRUE(one.next(a) && two.next(b));
    EXPECT_EQ(a[0], std::to_string(step));
    for (std::size_t i = 0; i < deterministic; ++i) EXPECT_EQ(a[i], b[i]) << one.columns()[i];
  }
  EXPECT_FALSE(two.next(b));
}

TEST_F(Pretraining, TenStepsOfAdafactorEqualFiveAndASaveAndALoadAndFive) {
  PretrainOptions whole = options("whole"), parts = options("parts");
  for (PretrainOptions* each : {&whole, &parts}) {
    each->optimizer.variant = OptimizerVariant::adafactor;
    each->optimizer.layer_decay = 0.8;
    each->learning_rate = 0.02;
  }
  run_whole_and_in_parts(whole, parts, 5);
  for (const char* file : {"/checkpoint-10/model.safetensors", "/checkpoint-10/optimizer.safetensors"})
    EXPECT_EQ(tensors(path("parts") + file), tensors(path("whole") + file)) << file;
  EXPECT_LT(fs::file_size(path("whole") + "/checkpoint-10/optimizer.safetensors"),
            fs::file_size(path("whole") + "/checkpoint-10/model.safetensors") / 4);

  // A run of one optimizer does not go on with another.
  PretrainOptions other = whole;
  other.start = RunStart::resume;
  other.optimizer.variant = OptimizerVariant::google;
  try {
    pretrain(other, *backend_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("`optimizer` was adafactor, is google"), std::string::npos)
        << error.message();
  }
}

TEST_F(Pretraining, TenStepsOfLambEqualFiveAndASaveAndALoadAndFive) {
  PretrainOptions whole = options("whole"), parts = options("parts");
  for (PretrainOptions* each : {&whole, &parts}) {
    each->optimizer.variant = OptimizerVariant::lamb;
    each->optimizer.clip_norm = 1.0;
    each->learning_rate = 0.01;
  }
  run_whole_and_in_parts(whole, parts, 5);
  for (const char* file : {"/checkpoint-10/model.safetensors", "/checkpoint-10/optimizer.safetensors"})
    EXPECT_EQ(tensors(path("parts") + file), tensors(path("whole") + file)) << file;
}

TEST_F(Pretraining, AFinishedRunIsLeftAsItIsByResume) {
  PretrainOptions all = options("run");
  pretrain(all, *backend_);
  const std::vector<float> before = tensors(path("run") + "/final/model.safetensors");
  all.start = RunStart::resume;
  const TrainingSummary summary = pretrain(all, *backend_);
  EXPECT_EQ(summary.tokens, 0u);
  EXPECT_EQ(summary.steps, 10u);
  EXPECT_EQ(tensors(path("run") + "/final/model.safetensors"), before);
}

TEST_F(Pretraining, CuttingTheBatchChangesRoundingOnly) {
  PretrainOptions whole = options("whole");
  whole.steps = 3;
  whole.config.hidden_dropout_prob = 0.0;
  whole.config.attention_probs_dropout_prob = 0.0;
  pretrain(whole, *backend_);
  PretrainOptions cut = whole;
  cut.run = path("cut");
  cut.accumulate = 3;  // 2 + 2 sequences
  pretrain(cut, *backend_);
  const std::vector<float> a = tensors(path("whole") + "/final/model.safetensors");
  const std::vector<float> b = tensors(path("cut") + "/final/model.safetensors");
  ASSERT_EQ(a.size(), b.size());
  TsvReader one(path("whole") + "/metrics.tsv");
  TsvReader two(path("cut") + "/metrics.tsv");
  std::vector<std::string_view> x, y;
  while (one.next(x)) {
    ASSERT_TRUE(two.next(y));
    EXPECT_EQ(x[one.column("tokens")], y[two.column("tokens")]);
    for (const char* column : {"loss", "grad_norm"}) {
      const double value = parse_number(x[one.column(column)], "", column);
      EXPECT_NEAR(parse_number(y[two.column(column)], "", column), value, 1e-4 * value) << column;
    }
  }
}

TEST_F(Pretraining, TheLossFallsAndValidationIsKept) {
  PretrainOptions run = options("run");
  run.valid = path("valid");
  run.steps = 60;
  run.save_every = 20;
  run.eval_every = 20;
  run.keep_last = 1;
  run.keep_best = 1;
  pretrain(run, *backend_);
  TsvReader valid(path("run") + "/valid.tsv");
  std::vector<std::string_view> fields;
  std::vector<double> losses;
  while (valid.next(fields)) losses.push_back(parse_number(fields[valid.column("mlm_loss")], "", "mlm_loss"));
  ASSERT_EQ(losses.size(), 3u);
  EXPECT_LT(losses.back(), losses.front());
  EXPECT_TRUE(fs::exists(path("run") + "/checkpoint-60"));
  EXPECT_EQ(read_train_state(path("run") + "/checkpoint-60").valid_loss.has_value(), true);
}

TEST_F(Pretraining, OnlyOneObjectiveLeavesNAsInItsColumns) {
  PretrainOptions run = options("run");
  run.steps = 1;
  run.warmup = 0;
  run.objective.nsp = false;
  pretrain(run, *backend_);
  EXPECT_EQ(first_metric("run", "nsp_loss"), "NA");
  EXPECT_NE(first_metric("run", "mlm_loss"), "NA");
  run.objective.mlm = false;
  run.run = path("nothing");
  EXPECT_THROW(pretrain(run, *backend_), Error);
  run.objective.nsp = true;
  pretrain(run, *backend_);
  EXPECT_EQ(first_metric("nothing", "mlm_accuracy"), "NA");
}

TEST_F(Pretraining, ResumeRefusesOtherOptionsAndNamesThem) {
  PretrainOptions first = options("run");
  first.steps = 2;
  pretrain(first, *backend_);
  first.start = RunStart::resume;
  first.learning_rate = 2e-3;
  first.config.hidden_dropout_prob = 0.2;
  try {
    pretrain(first, *backend_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.message().find("`learning_rate` was 0.001, is 0.002"), std::string::npos)
        << error.message();
    EXPECT_NE(error.message().find("hidden_dropout_prob was 0.1, is 0.2"), std::string::npos)
        << error.message();
  }
}

TEST_F(Pretraining, AWarmStartBeginsFromTheGivenWeights) {
  PretrainOptions first = options("first");
  first.steps = 2;
  pretrain(first, *backend_);
  PretrainOptions second = options("second");
  second.init = path("first") + "/final";
  second.config = read_config(second.init + "/config.json");
  second.config.attention = AttentionPattern::full;
  second.steps = 1;
  second.warmup = 1;  // the rate of the first update is 0
  pretrain(second, *backend_);
  EXPECT_EQ(tensors(path("second") + "/final/model.safetensors"),
            tensors(path("first") + "/final/model.safetensors"));
  EXPECT_EQ(read_config(path("second") + "/final/config.json").attention, AttentionPattern::full);
}

TEST_F(Pretraining, ATokenizerThatDidNotMakeTheShardsIsRefused) {
  testing::write_tiny_tokenizer(folder_ / "other", 12);
  PretrainOptions run = options("run");
  run.tokenizer = path("other");
  try {
    pretrain(run, *backend_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  }
  EXPECT_FALSE(fs::exists(path("run")));
}

TEST_F(Pretraining, TooLittleMemoryNamesSizesThatFit) {
  PretrainOptions run = options("run");
  run.batch = 64;
  std::vector<std::string> table;
  set_log_sink([&](LogLevel, const std::string& message) { table.push_back(message); });
  const ResidentMemory resident = resident_memory();
  run.memory_limit = resident.anonymous + (24u << 20);
  try {
    pretrain(run, *backend_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::environment);
    EXPECT_NE(error.hint().find("`accumulate`"), std::string::npos) << error.hint();
    EXPECT_NE(error.hint().find("`grad_checkpoint`"), std::string::npos) << error.hint();
  }
  set_log_sink({});
  EXPECT_FALSE(fs::exists(path("run")));
  std::size_t rows = 0;
  for (const std::string& line : table) rows += line.find("MiB") != std::string::npos ? 1u : 0u;
  EXPECT_GT(rows, 5u);
}

}  // namespace
}  // namespace bigbird
