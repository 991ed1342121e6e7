// Runs of Adaptive-Span: the same bytes by any number of ranks and threads and in parts, spans that grow and
// cost what metrics.tsv says, and losses below those of letters by their frequencies.
#include <cmath>
#include <map>

#include "lib/model_folder/model_spans.h"
#include "tests/unit/training/thread_team.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class SpanTraining : public TrainingTest {
 protected:
  PretrainOptions spans(const std::string& run, bool dynamic = false) const {
    PretrainOptions options = TrainingTest::options(run);
    options.valid = path("valid");
    options.config.attention = AttentionPattern::adaptive_span;
    options.config.attention_options.spans = {.max_span = 48, .ramp = 8, .span_loss = 1e-4};
    options.config.attention_options.spans.dynamic = dynamic;
    options.config.num_random_blocks = 0;
    options.config.head = HeadType::causal_lm;
    become_recurrent(options.config);
    options.objective.next = true;
    options.length = 64;
    options.batch = 8;
    options.accumulate = 4;
    options.steps = 6;
    options.warmup = 1;
    options.learning_rate = 1e-2;
    options.eval_every = 3;
    options.save_every = 3;
    options.dropout = 0.1;
    return options;
  }

  void expect_same_run(const std::string& got, const std::string& expected) const {
    for (const char* file : {"final/model.safetensors", "checkpoint-6/optimizer.safetensors",
                             "checkpoint-6/streams.safetensors", "valid.tsv"}) {
      EXPECT_EQ(testing::read_text(path(got) + "/" + file), testing::read_text(path(expected) + "/" + file))
          << file << " of " << got;
    }
  }

  // A column of the last row of metrics.tsv.
  double last(const std::string& run, const char* column) const {
    TsvReader reader(path(run) + "/metrics.tsv");
    const std::size_t at = reader.column(column);
    std::vector<std::string_view> fields;
    double value = 0.0;
    while (reader.next(fields)) value = std::stod(std::string(fields[at]));
    return value;
  }
};

TEST_F(SpanTraining, G5RanksChangeNoByte) {
  pretrain(spans("one"), *backend_);
  for (const int count : {1, 2, 4}) {
    const std::string name = "ranks-" + std::to_string(count);
    testing::run_team(count, [&](RankTeam& team) {
      const auto backend = kernels::make_cpu_backend();
      PretrainOptions own = spans(name);
      own.team = &team;
      pretrain(own, *backend);
    });
    expect_same_run(name, "one");
  }
}

TEST_F(SpanTraining, G5ThreadsChangeNoByte) {
  pretrain(spans("one"), *backend_);
  for (const int threads : {2, 4}) {
    kernels::set_thread_count(threads);
    const std::string name = "threads-" + std::to_string(threads);
    pretrain(spans(name), *kernels::make_cpu_backend());
    kernels::set_thread_count(1);
    expect_same_run(name, "one");
  }
}

TEST_F(SpanTraining, G7ARunInPartsIsTheRunInOnePiece) {
  pretrain(spans("one"), *backend_);
  PretrainOptions options = spans("parts");
  stop_after(2);
  EXPECT_THROW(pretrain(options, *backend_), Error);
  run_on();
  options.start = RunStart::resume;
  pretrain(options, *backend_);
  expect_same_run("parts", "one");
}

// The spans of tokens: a run in parts over two ranks is that in one piece by one.
TEST_F(SpanTraining, G7DynamicSpansInPartsAndByRanks) {
  pretrain(spans("one", true), *backend_);
  stop_after(2);
  EXPECT_THROW(pretrain(spans("parts", true), *backend_), Error);
  run_on();
  testing::run_team(2, [&](RankTeam& team) {
    const auto backend = kernels::make_cpu_backend();
    PretrainOptions rest = spans("parts", true);
    rest.start = RunStart::resume;
    rest.team = &team;
    pretrain(rest, *backend);
  });
  expect_same_run("parts", "one");
  EXPECT_GT(last("one", "span_loss"), 0.0);
  EXPECT_LT(last("one", "span_loss"), 1e-4 * 48 * 2);
}

TEST_F(SpanTraining, G11SpansGrowAndLossesFall) {
  PretrainOptions options = spans("run");
  options.steps = 200;
  options.eval_every = options.save_every = 200;
  options.accumulate = 1;
  options.dropout = 0.0;
  pretrain(options, *backend_);
  const std::vector<HeadSpan> heads = spans_of_heads(ModelFolder(path("run") + "/final"));
  ASSERT_EQ(heads.size(), 4u);
  double mean = 0.0;
  for (const HeadSpan& head : heads) mean += head.fraction / 2.0;  // of a layer, summed over layers
  EXPECT_GT(mean, 0.0);
  // The last row is of the spans before its update, which moved each by about the rate that is left.
  EXPECT_NEAR(last("run", "span_loss"), 1e-4 * 48 * mean, 1e-4);
  const auto tokenizer = load_tokenizer(path("tokenizer"));
  const TokenShards shards(path("train"));
  const PretrainingBatches batches(shards, *tokenizer, options.config, options.objective, 64, 1);
  std::map<std::int32_t, double> counts;
  double all = 0.0, unigram = 0.0;
  for (const std::int32_t label : batches.training_batch(0, 64).masked_labels) {
    counts[label] += 1.0;
    all += 1.0;
  }
  for (const auto& [label, count] : counts) unigram -= count / all * std::log(count / all);
  EXPECT_LT(last("run", "clm_loss"), 0.8 * unigram);
}

}  // namespace
}  // namespace bigbird
