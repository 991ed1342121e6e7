// Runs of Compressive Transformer: the same bytes by any number of ranks and threads and in parts, and losses
// that fall.
#include "lib/io/tables/tsv.h"
#include "tests/unit/training/thread_team.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

class CompressiveTraining : public TrainingTest {
 protected:
  PretrainOptions compressing(const std::string& run, Compression how) const {
    PretrainOptions options = TrainingTest::options(run);
    options.valid = path("valid");
    options.config.attention = AttentionPattern::compressive;
    options.config.attention_options.recurrent.memory = 24;
    options.config.attention_options.compressive = {.compressed = 16, .rate = 2, .compression = how};
    options.config.num_random_blocks = 0;
    options.config.head = HeadType::causal_lm;
    become_recurrent(options.config);
    options.objective.next = true;
    options.length = 16;
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

  void expect_same_bytes(const std::string& got, const std::string& expected) const {
    for (const char* file : {"final/model.safetensors", "checkpoint-6/optimizer.safetensors",
                             "checkpoint-6/streams.safetensors", "valid.tsv"}) {
      EXPECT_EQ(testing::read_text(path(got) + "/" + file), testing::read_text(path(expected) + "/" + file))
          << file << " of " << got;
    }
  }

  // A column of metrics.tsv.
  std::vector<double> column(const std::string& run, const char* name) const {
    TsvReader reader(path(run) + "/metrics.tsv");
    const std::size_t at = reader.column(name);
    std::vector<std::string_view> fields;
    std::vector<double> values;
    while (reader.next(fields)) values.push_back(std::stod(std::string(fields[at])));
    return values;
  }
};

TEST_F(CompressiveTraining, G5RanksChangeNoByte) {
  for (const Compression how : {Compression::conv, Compression::most_used}) {
    const std::string one = "one-" + std::to_string(static_cast<int>(how));
    pretrain(compressing(one, how), *backend_);
    for (const int count : {1, 2, 4}) {
      const std::string name = one + "-ranks-" + std::to_string(count);
      testing::run_team(count, [&](RankTeam& team) {
        const auto backend = kernels::make_cpu_backend();
        PretrainOptions own = compressing(name, how);
        own.team = &team;
        pretrain(own, *backend);
      });
      expect_same_bytes(name, one);
    }
  }
}

TEST_F(CompressiveTraining, G5ThreadsChangeNoByte) {
  pretrain(compressing("one", Compression::dilated), *backend_);
  for (const int threads : {2, 4}) {
    kernels::set_thread_count(threads);
    const std::string name = "threads-" + std::to_string(threads);
    pretrain(compressing(name, Compression::dilated), *kernels::make_cpu_backend());
    kernels::set_thread_count(1);
    expect_same_bytes(name, "one");
  }
}

TEST_F(CompressiveTraining, G7ARunInPartsIsTheRunInOnePiece) {
  pretrain(compressing("one", Compression::conv), *backend_);
  PretrainOptions options = compressing("parts", Compression::conv);
  stop_after(2);
  EXPECT_THROW(pretrain(options, *backend_), Error);
  run_on();
  options.start = RunStart::resume;
  pretrain(options, *backend_);
  expect_same_bytes("parts", "one");
}

TEST_F(CompressiveTraining, G11LossesFall) {
  PretrainOptions options = compressing("run", Compression::conv);
  options.steps = 200;
  options.eval_every = options.save_every = 200;
  options.accumulate = 1;
  options.dropout = 0.0;
  pretrain(options, *backend_);
  const std::vector<double> tokens = column("run", "clm_loss"), squares = column("run", "compression_loss");
  EXPECT_LT(tokens.back(), 0.6 * tokens.front());
  EXPECT_EQ(squares.front(), 0.0);  // nothing is pushed out yet
  double early = 0.0, late = 0.0;
  for (std::size_t i = 0; i < 20; ++i) early += squares[i] / 20, late += squares[squares.size() - 1 - i] / 20;
  EXPECT_GT(early, 0.0);
  EXPECT_GT(late, 0.0);
}

}  // namespace
}  // namespace bigbird
