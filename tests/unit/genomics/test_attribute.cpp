// Gradient x input against finite differences of the whole model, windows on both strands, intervals.
#include "lib/genomics/attribute.h"
#include "lib/model/network/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "lib/core/rng.h"
#include "lib/inference/sequence_runner.h"
#include "lib/model/network/layout.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

std::string attributed_bases(std::size_t count, std::uint64_t seed) {
  CounterRng rng(seed, Purpose::test, 0);
  std::string bases;
  for (std::size_t i = 0; i < count; ++i) bases += "ACGT"[rng.below(4)];
  return bases;
}

class Attribute : public ::testing::Test {
 protected:
  void make(const testing::TinyClassifier& shape) { testing::write_tiny_classifier(model_, shape); }
  // One sequence by itself, one output.
  std::vector<double> attribute(const std::string& sequence, std::size_t output, bool& cut) {
    BaseAttributor attributor({FinetunedModel(model_)}, {output}, {}, {1}, *backend_);
    std::vector<double> values;
    attributor.add(sequence, [&](const BaseAttributions& read) {
      values = read.values.at(0);
      cut = read.cut;
    });
    attributor.finish();
    return values;
  }
  // The model as it runs elsewhere, with the word table's row of one token stretched.
  class Stretched {
   public:
    Stretched(const std::string& folder, const std::string& sequence, kernels::Backend& backend)
        : loaded_(load_model(folder, LoadOptions{})) {
      const ModelConfig& config = loaded_.config;
      const auto tokenizer = load_tokenizer(folder);
      std::vector<std::uint32_t> tokens;
      tokenizer->encode(sequence, tokens);
      batch_.append(with_cls_and_sep(tokens, *tokenizer, config, "test"), {}, config.block_size,
                    static_cast<std::int32_t>(config.pad_token_id), config.input_length);
      const BatchLimits limits{batch_.tokens(), 1, 0, batch_.tokens()};
      model_ = std::make_unique<Model>(backend, config, limits, ModelOptions{});
    }
    // The logit of class 1 less that of class 0, or that of label `output`.
    double logit(std::size_t output, std::uint32_t token, float factor) {
      const ModelConfig& config = loaded_.config;
      const auto width = static_cast<std::size_t>(config.hidden_size);
      const auto words =
          static_cast<std::size_t>(ParameterLayout(config).offset("bert.embeddings.word_embeddings.weight"));
      std::vector<float> parameters = loaded_.parameters;
      for (std::size_t c = 0; c < width; ++c) parameters[words + token * width + c] *= factor;
      model_->set_parameters(parameters);
      model_->forward(batch_, {});
      const std::vector<float> logits = model_->sequence_logits();
      const bool two_classes = config.problem_type == ProblemType::single_label;
      return two_classes ? static_cast<double>(logits[1]) - static_cast<double>(logits[0])
                         : static_cast<double>(logits[output]);
    }

   private:
    LoadedModel loaded_;
    Batch batch_;
    std::unique_ptr<Model> model_;
  };
  // The sum of the values of a token's bases is the derivative of the logit when its vector is stretched.
  void expect_derivatives(const std::string& sequence, std::size_t output) {
    bool cut = true;
    const std::vector<double> values = attribute(sequence, output, cut);
    EXPECT_FALSE(cut);
    ASSERT_EQ(values.size(), sequence.size());
    const auto tokenizer = load_tokenizer(model_);
    std::vector<std::uint32_t> tokens, starts;
    tokenizer->encode(sequence, tokens, &starts);
    starts.push_back(static_cast<std::uint32_t>(sequence.size()));
    Stretched model(model_, sequence, *backend_);
    double largest = 0;
    for (const std::uint32_t token : std::set<std::uint32_t>(tokens.begin(), tokens.end())) {
      double sum = 0;
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i] != token) continue;
        for (std::size_t base = starts[i]; base < starts[i + 1]; ++base) {
          sum += values[base];
          EXPECT_EQ(values[base], values[starts[i]]) << "evenly over the bases of a token";
        }
      }
      constexpr float step = 1.0F / 128;
      const double difference =
          (model.logit(output, token, 1 + step) - model.logit(output, token, 1 - step)) /
          (2.0 * static_cast<double>(step));
      EXPECT_NEAR(sum, difference, 2e-3 + 0.01 * std::abs(difference)) << "token " << token;
      largest = std::max(largest, std::abs(sum));
    }
    EXPECT_GT(largest, 0.05) << "the model must tell sequences apart";
  }

  testing::TemporaryFolder folder_;
  std::string model_ = folder_ / "model";
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_F(Attribute, SumsOfATokenAreTheDerivativesOfItsLogit) {
  make({});
  expect_derivatives(attributed_bases(100, 3), 1);
}

TEST_F(Attribute, TwoClassesAreOneDifference) {
  testing::TinyClassifier shape;
  shape.problem = ProblemType::single_label;
  shape.profiles = {{"promoter", "."}};
  shape.labels = 2;
  make(shape);
  expect_derivatives(attributed_bases(100, 4), 0);
}

TEST_F(Attribute, StrandsAreReadSeparatelyAndAveraged) {
  make({});
  const std::string genome = attributed_bases(150, 5) + "NNNNN" + attributed_bases(145, 6);
  const std::string path = folder_ / "genome.fa";
  testing::write_text(path, ">chr1\n" + genome + "\n");
  Fasta fasta(path);
  const FinetunedModel model(model_);
  BaseAttributor attributor({model}, {1}, {}, {1}, *backend_);
  const Region region{0, 140, 160};
  const auto values = [&](Strands strands) {
    return attribute_region(attributor, fasta, region, *model.window(), strands);
  };
  const Attribution plus = values(Strands::forward), minus = values(Strands::reverse),
                    both = values(Strands::both);
  EXPECT_EQ(both.tiles, 1u);
  EXPECT_EQ(both.n_bases, 5);
  EXPECT_EQ(both.cut_bases, 0);
  EXPECT_DOUBLE_EQ(both.n_share, 0.05);
  // The target (40..60 of 100) lies over the region: the window is 100..200.
  bool cut = false;
  const std::vector<double> forward = attribute(genome.substr(100, 100), 1, cut);
  const std::vector<double> reverse = attribute(reverse_complement(genome.substr(100, 100)), 1, cut);
  for (std::size_t i = 0; i < 20; ++i) {
    if (i >= 10 && i < 15) {
      EXPECT_TRUE(std::isnan(both.values[0][i])) << "N has no value";
      continue;
    }
    EXPECT_EQ(plus.values[0][i], forward[40 + i]);
    EXPECT_EQ(minus.values[0][i], reverse[99 - 40 - i]);
    EXPECT_DOUBLE_EQ(both.values[0][i], (forward[40 + i] + reverse[99 - 40 - i]) / 2);
  }
}

TEST_F(Attribute, BasesBehindTheLastTokenHaveNoValue) {
  testing::TinyClassifier shape;
  shape.input_length = 32;
  make(shape);
  bool cut = false;
  const std::vector<double> values = attribute(attributed_bases(100, 7), 0, cut);
  EXPECT_TRUE(cut);
  EXPECT_FALSE(std::isnan(values[20]));
  EXPECT_TRUE(std::isnan(values[99]));
  const std::string path = folder_ / "genome.fa";
  testing::write_text(path, ">chr1\n" + attributed_bases(100, 7) + "\n");
  Fasta fasta(path);
  const FinetunedModel model(model_);
  BaseAttributor attributor({model}, {0, 2}, {}, {1}, *backend_);
  const Attribution region = attribute_region(attributor, fasta, {0, 0, 100}, *model.window(), Strands::both);
  EXPECT_GT(region.cut_bases, 20);
  EXPECT_EQ(region.values.size(), 2u);
}

// Sequences that are run together, and several outputs of one pass, change no bit of a sequence's values.
TEST_F(Attribute, NothingDependsOnTheBatch) {
  make({});
  const FinetunedModel model(model_);
  const auto values = [&](const std::vector<std::size_t>& outputs, std::int64_t batch_tokens) {
    BaseAttributor attributor({model}, outputs, {}, {batch_tokens}, *backend_);
    std::vector<std::vector<double>> all;
    for (std::uint64_t seed = 10; seed < 15; ++seed) {
      attributor.add(attributed_bases(30 + 5 * seed, seed), [&](const BaseAttributions& read) {
        all.insert(all.end(), read.values.begin(), read.values.end());
      });
    }
    attributor.finish();
    return all;
  };
  const std::vector<std::vector<double>> alone = values({2, 0}, 1), together = values({2, 0}, 100000),
                                         second = values({0}, 300);
  ASSERT_EQ(alone.size(), 10u);
  EXPECT_EQ(alone, together);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(second[i], alone[2 * i + 1]);
  EXPECT_NE(alone[0], alone[1]);
}

TEST_F(Attribute, RefusesModelsWithoutLogits) {
  make({});
  const std::string config = model_ + "/config.json";
  std::string text = testing::read_text(config);
  const std::string head = "BigBirdForSequenceClassification";
  ASSERT_NE(text.find(head), std::string::npos);
  text.replace(text.find(head), head.size(), "BigBirdForMaskedLM");
  testing::write_text(config, text);
  EXPECT_TRUE(testing::error_of([&] { FinetunedModel model(model_); }));
}

TEST(AttributionTiles, TheTargetLiesOverTheTile) {
  const ModelWindow promoter{"promoter", 80, 50, 1};
  // The base 500 is the middle of 495..505: + reads 450..530, - reads 471..551 from its right end.
  EXPECT_EQ(attribution_tiles({0, 495, 505}, 10000, promoter),
            (std::vector<AttributionTile>{{495, 505, 449, 529}}));
  // A region as long as the window is all of it, wherever the target falls.
  EXPECT_EQ(attribution_tiles({0, 460, 540}, 10000, promoter),
            (std::vector<AttributionTile>{{460, 540, 460, 540}}));
  // Ends of the contig.
  EXPECT_EQ(attribution_tiles({0, 0, 10}, 10000, promoter), (std::vector<AttributionTile>{{0, 10, 0, 80}}));
  EXPECT_EQ(attribution_tiles({0, 9990, 10000}, 10000, promoter),
            (std::vector<AttributionTile>{{9990, 10000, 9920, 10000}}));
  EXPECT_EQ(attribution_tiles({0, 3, 7}, 60, promoter), (std::vector<AttributionTile>{{3, 7, 0, 60}}));
}

TEST(AttributionTiles, LongRegionsAreCutIntoHalvesOfTheWindow) {
  const ModelWindow chromatin{"chromatin", 100, 40, 20};
  const auto tiles = attribution_tiles({0, 1000, 1130}, 10000, chromatin);
  ASSERT_EQ(tiles.size(), 3u);
  EXPECT_EQ(tiles[0], (AttributionTile{1000, 1050, 975, 1075}));
  EXPECT_EQ(tiles[2], (AttributionTile{1100, 1130, 1065, 1165}));
}

TEST(WriteAttribution, NeighboursWithOneValueAreOneInterval) {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "x.bedgraph";
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Contig> contigs = {{"chr1", 100}};
  const auto track = make_track_writer(path, TrackFormat::bedgraph, contigs, {});
  write_attribution(*track, {0, 10, 17}, {0.5, 0.5, nan, nan, 0.25, 0, 0});
  track->close();
  EXPECT_EQ(testing::read_text(path),
            "#chrom\tstart\tend\tvalue\nchr1\t10\t12\t0.5\nchr1\t14\t15\t0.25\nchr1\t15\t17\t0\n");
}

}  // namespace
}  // namespace bigbird
