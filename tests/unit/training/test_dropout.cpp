// Dropout: masks that differ between sites, layers, updates and micro-batches, and that are the same where
// nothing of them differs.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "lib/io/tables/tsv.h"
#include "lib/training/trainer.h"
#include "tests/unit/model/network/model_fixture.h"
#include "tests/unit/training/training_fixture.h"

namespace bigbird {
namespace {

// ---- Within a call: sites and layers

// A pre-LN model whose embeddings are 1 and whose layers add 10 (attention) and 100 (feed-forward) to every
// element, whatever comes in: with a dropout of one half a state says which of them were kept, twice each.
class ConstantBranches : public ::testing::Test {
 protected:
  ConstantBranches() {
    config_.norm_type = NormType::prenorm;
    config_.embedding_norm = EmbeddingNorm::none;
    config_.hidden_dropout_prob = 0.5;
    batch_ = testing::random_batch(config_, {30, 17}, 1);
    const ParameterLayout layout(config_);
    parameters_.assign(static_cast<std::size_t>(layout.count()), 0.0f);
    for (const TensorSpec& tensor : layout.tensors()) {
      float value = 0.0f;
      if (tensor.name == "bert.embeddings.word_embeddings.weight") value = 1.0f;
      if (tensor.name.ends_with(".attention.output.dense.bias")) value = 10.0f;
      if (tensor.name.ends_with(".output.dense.bias") && value == 0.0f) value = 100.0f;
      std::fill_n(parameters_.begin() + tensor.offset, tensor.count, value);
    }
  }

  // Of the embeddings, then attention and feed-forward of every layer: 1 where the element was kept.
  std::vector<std::vector<int>> masks(std::uint64_t seed) {
    std::vector<std::vector<int>> masks;
    std::vector<float> before(static_cast<std::size_t>(batch_.tokens() * config_.hidden_size), 0.0f);
    ForwardOptions options;
    options.training = true;
    options.dropout_seed = seed;
    options.hidden_state = [&](std::int64_t layer, const std::vector<float>& state) {
      std::vector<int> first, second;
      for (std::size_t i = 0; i < state.size(); ++i) {
        const int added = static_cast<int>(std::lround(state[i] - before[i]));
        if (layer == 0) {
          first.push_back(added / 2);
          EXPECT_TRUE(added == 0 || added == 2) << added;
        } else {
          first.push_back(added % 200 / 20);
          second.push_back(added / 200);
          EXPECT_TRUE(added % 20 == 0 && added >= 0 && added <= 220 && added % 200 <= 20) << added;
        }
      }
      masks.push_back(first);
      if (layer > 0) masks.push_back(second);
      before = state;
    };
    testing::make_model(*backend_, config_, batch_, {.training = true}, parameters_)
        ->forward(batch_, options);
    return masks;
  }

  ModelConfig config_ = testing::tiny_config();
  Batch batch_;
  std::vector<float> parameters_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

// The share of elements that two masks agree on: 1/2 for independent ones, with a standard deviation of
// 0.014.
double agreement(const std::vector<int>& a, const std::vector<int>& b) {
  double same = 0;
  for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1 : 0;
  return same / static_cast<double>(a.size());
}

TEST_F(ConstantBranches, EverySiteOfEveryLayerAndEverySeedHasAMaskOfItsOwn) {
  std::vector<std::vector<int>> all = masks(1);
  ASSERT_EQ(all.size(), 5u);
  ASSERT_GT(all[0].size(), 1000u);
  EXPECT_EQ(masks(1), all);
  for (const std::vector<int>& mask : masks(2)) all.push_back(mask);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NEAR(agreement(all[i], std::vector<int>(all[i].size(), 1)), 0.5, 0.08) << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_NEAR(agreement(all[i], all[j]), 0.5, 0.08) << i << " " << j;
  }
}

// ---- Within a run: updates and micro-batches

// The same sequence again and again in every micro-batch.
class Copies : public WholeUpdates {
 public:
  using WholeUpdates::batches;
  Copies(const Batch& batch, std::size_t parts) : parts_(parts, batch) {}
  std::vector<Batch> batches(std::uint64_t) const override { return parts_; }

 private:
  std::vector<Batch> parts_;
};

class DropoutOfARun : public TrainingTest {
 protected:
  // The losses of six updates that change nothing: the masks alone make them differ.
  std::vector<double> losses(std::uint64_t seed, std::size_t parts, double probability = 0.3) {
    ModelConfig config = testing::tiny_config();
    config.hidden_dropout_prob = probability;
    const Batch batch = testing::random_batch(config, {30}, 1);
    const auto model = testing::make_model(*backend_, config, batch, {.training = true},
                                           testing::random_parameters(config, 2));
    Optimizer optimizer(*backend_, model->layout(), {});
    TrainerOptions options;
    options.steps = 6;
    options.schedule = {ScheduleForm::google, 0.0, 0, 6};
    options.seed = seed;
    const std::string run = path("run" + std::to_string(runs_++));
    train(*model, optimizer, Copies(batch, parts), RunFolder(run, RunStart::fresh), options, {});
    TsvReader rows(run + "/metrics.tsv");
    std::vector<double> losses;
    for (std::vector<std::string_view> fields; rows.next(fields);) {
      losses.push_back(parse_number(fields[rows.column("loss")], "", "loss"));
    }
    return losses;
  }

  int runs_ = 0;
};

TEST_F(DropoutOfARun, MasksAreAFunctionOfSeedUpdateAndMicroBatch) {
  const std::vector<double> still = losses(7, 1, 0.0);
  ASSERT_EQ(still.size(), 6u);
  EXPECT_EQ(std::set<double>(still.begin(), still.end()).size(), 1u);

  const std::vector<double> first = losses(7, 1);
  EXPECT_EQ(losses(7, 1), first);
  std::vector<double> all = first;
  for (const double loss : losses(8, 1)) all.push_back(loss);
  // Of two parts the loss is the mean, and the first has the masks of a run in one part.
  const std::vector<double> two = losses(7, 2);
  for (std::size_t i = 0; i < two.size(); ++i) all.push_back(2 * two[i] - first[i]);
  std::sort(all.begin(), all.end());
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_GT(all[i] - all[i - 1], 2e-5 * all[i]) << i;
}

}  // namespace
}  // namespace bigbird
