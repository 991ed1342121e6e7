// Integrated gradients against finite differences along the path, with the word table of the whole model
// moved in place of its inputs; completeness; the mean over models.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "lib/core/rng.h"
#include "lib/genomics/attribute.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/model.h"
#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

std::string drawn_bases(std::size_t count, std::uint64_t seed) {
  CounterRng rng(seed, Purpose::test, 0);
  std::string bases;
  for (std::size_t i = 0; i < count; ++i) bases += "ACGT"[rng.below(4)];
  return bases;
}

// A model as it runs elsewhere, on one sequence; rows of its word table can be moved towards a baseline.
class MovedWords {
 public:
  MovedWords(const std::string& folder, const std::string& sequence, AttributionBaseline baseline,
             kernels::Backend& backend)
      : loaded_(load_model(folder, LoadOptions{})), sequence_(sequence) {
    const ModelConfig& config = loaded_.config;
    tokenizer_ = load_tokenizer(folder);
    tokenizer_->encode(sequence, tokens_, &starts_);
    starts_.push_back(static_cast<std::uint32_t>(sequence.size()));
    batch_.append(with_cls_and_sep(tokens_, *tokenizer_, config, "test"), {}, config.block_size,
                  static_cast<std::int32_t>(config.pad_token_id), config.input_length);
    model_ = std::make_unique<Model>(backend, config, BatchLimits{batch_.tokens(), 1, 0, batch_.tokens()},
                                     ModelOptions{});
    width_ = static_cast<std::size_t>(config.hidden_size);
    table_ =
        static_cast<std::size_t>(ParameterLayout(config).offset("bert.embeddings.word_embeddings.weight"));
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string piece = sequence.substr(starts_[i], starts_[i + 1] - starts_[i]);
      if (piece.find_first_not_of('N') != std::string::npos) moved_.insert(tokens_[i]);
    }
    const std::vector<float>& all = loaded_.parameters;
    const std::vector<float> words(all.begin() + static_cast<std::ptrdiff_t>(table_), all.end());
    baseline_ = baseline_vector(baseline, words, width_, *tokenizer_);
  }

  const std::set<std::uint32_t>& moved() const { return moved_; }
  // The logit with every word at this position of its path; those of `token` at another one.
  double logit(std::size_t output, double position, std::uint32_t token, double own) {
    std::vector<float> parameters = loaded_.parameters;
    for (const std::uint32_t id : moved_) {
      const double at = id == token ? own : position;
      for (std::size_t c = 0; c < width_; ++c) {
        const auto base = static_cast<double>(baseline_[c]);
        float& word = parameters[table_ + id * width_ + c];
        word = static_cast<float>(base + at * (static_cast<double>(word) - base));
      }
    }
    model_->set_parameters(parameters);
    model_->forward(batch_, {});
    const std::vector<float> logits = model_->sequence_logits();
    const bool two_classes = loaded_.config.problem_type == ProblemType::single_label;
    return two_classes ? static_cast<double>(logits[1]) - static_cast<double>(logits[0])
                       : static_cast<double>(logits[output]);
  }
  double at_baseline(std::size_t output) { return logit(output, 0, none, 0); }
  double difference(std::size_t output) { return logit(output, 1, none, 1) - at_baseline(output); }
  // What the tokens of this id change on the way, by central differences and the midpoint rule.
  double integral(std::size_t output, std::uint32_t token) {
    constexpr int points = 40;
    constexpr double step = 1.0 / 128;
    double sum = 0;
    for (int k = 0; k < points; ++k) {
      const double at = (k + 0.5) / points;
      sum += (logit(output, at, token, at + step) - logit(output, at, token, at - step)) / (2 * step);
    }
    return sum / points;
  }
  // The values of the bases, summed over all tokens of an id.
  std::map<std::uint32_t, double> sums_of(const std::vector<double>& values) const {
    std::map<std::uint32_t, double> sums;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      for (std::size_t base = starts_[i]; base < starts_[i + 1]; ++base) {
        if (!std::isnan(values[base])) sums[tokens_[i]] += values[base];
        EXPECT_EQ(std::isnan(values[base]), sequence_[base] == 'N') << base;
      }
    }
    return sums;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffffU;
  LoadedModel loaded_;
  std::string sequence_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::vector<std::uint32_t> tokens_, starts_;
  std::set<std::uint32_t> moved_;
  Batch batch_;
  std::unique_ptr<Model> model_;
  std::size_t width_ = 0, table_ = 0;
  std::vector<float> baseline_;
};

class IntegratedGradients : public ::testing::Test {
 protected:
  static AttributionOptions options(AttributionBaseline baseline, std::int64_t steps = 32) {
    return {AttributionMethod::integrated_gradients, steps, baseline};
  }
  // Of one sequence by itself.
  BaseAttributions attribute(const std::vector<std::string>& folders, const std::string& sequence,
                             const std::vector<std::size_t>& outputs, const AttributionOptions& options,
                             std::int64_t batch_tokens = 1) {
    const std::vector<FinetunedModel> models(folders.begin(), folders.end());
    BaseAttributor attributor(models, outputs, options, {batch_tokens}, *backend_);
    BaseAttributions read;
    attributor.add(sequence, [&](const BaseAttributions& done) { read = done; });
    attributor.finish();
    return read;
  }
  std::string make(const std::string& name, std::uint64_t seed = 1) {
    testing::TinyClassifier shape;
    shape.seed = seed;
    testing::write_tiny_classifier(folder_ / name, shape);
    return folder_ / name;
  }
  void expect_integrals(const std::string& folder, const std::string& sequence, std::size_t output,
                        AttributionBaseline baseline) {
    const BaseAttributions read = attribute({folder}, sequence, {output}, options(baseline));
    MovedWords model(folder, sequence, baseline, *backend_);
    std::map<std::uint32_t, double> sums = model.sums_of(read.values.at(0));
    double largest = 0;
    for (const std::uint32_t token : model.moved()) {
      const double expected = model.integral(output, token);
      EXPECT_NEAR(sums[token], expected, 2e-3 + 0.01 * std::abs(expected)) << "token " << token;
      largest = std::max(largest, std::abs(expected));
    }
    EXPECT_GT(largest, 0.05) << "the model must tell sequences apart";
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::make_cpu_backend();
};

TEST_F(IntegratedGradients, AreTheFiniteDifferencesAlongThePath) {
  const std::string folder = make("model");
  expect_integrals(folder, drawn_bases(80, 3), 1, AttributionBaseline::mask);
  expect_integrals(folder, drawn_bases(80, 4), 0, AttributionBaseline::zero);
}

TEST_F(IntegratedGradients, OfTwoClassesAreThoseOfOneDifference) {
  testing::TinyClassifier shape;
  shape.problem = ProblemType::single_label;
  shape.profiles = {{"promoter", "."}};
  shape.labels = 2;
  testing::write_tiny_classifier(folder_ / "two", shape);
  expect_integrals(folder_ / "two", drawn_bases(80, 5), 0, AttributionBaseline::mean);
}

// N stays as it is, and has no value.
TEST_F(IntegratedGradients, AddUpToTheDifferenceOfTheLogits) {
  const std::string folder = make("model");
  std::string sequence = drawn_bases(90, 6);
  sequence.replace(40, 7, "NNNNNNN");
  for (const AttributionBaseline baseline :
       {AttributionBaseline::mask, AttributionBaseline::pad, AttributionBaseline::n,
        AttributionBaseline::zero, AttributionBaseline::mean}) {
    MovedWords model(folder, sequence, baseline, *backend_);
    const BaseAttributions read = attribute({folder}, sequence, {0, 2}, options(baseline, 64));
    ASSERT_EQ(read.completeness.size(), 2u);
    for (std::size_t k = 0; k < 2; ++k) {
      double sum = 0;
      for (const auto& [token, value] : model.sums_of(read.values[k])) sum += value;
      const double difference = model.difference(k == 0 ? 0 : 2);
      EXPECT_GT(std::abs(difference), 0.02) << name_of(baseline);
      EXPECT_NEAR(sum, difference, 2e-4) << name_of(baseline);
      EXPECT_NEAR(read.completeness[k].difference, std::abs(difference), 1e-4);
      EXPECT_NEAR(read.completeness[k].missed, std::abs(sum - difference), 1e-4);
      EXPECT_NEAR(read.completeness[k].baseline, model.at_baseline(k == 0 ? 0 : 2), 1e-4);
      EXPECT_EQ(read.completeness[k].sequences, 1u);
    }
  }
}

TEST_F(IntegratedGradients, OneStepMissesMoreThanMany) {
  const std::string folder = make("model");
  const auto gap = [&](std::int64_t steps) {
    const auto read = attribute({folder}, drawn_bases(90, 7), {1}, options(AttributionBaseline::mask, steps));
    return read.completeness.at(0).gap();
  };
  EXPECT_GT(gap(1), 0.01);
  EXPECT_LT(gap(32), 0.002);
}

// Word vectors are multiplied by the square root of the width; so is what is added to them.
TEST_F(IntegratedGradients, OfRescaledEmbeddings) {
  const std::string folder = make("model");
  const std::string config = folder + "/config.json";
  std::string text = testing::read_text(config);
  const std::string plain = "\"rescale_embeddings\": false";
  ASSERT_NE(text.find(plain), std::string::npos);
  text.replace(text.find(plain), plain.size(), "\"rescale_embeddings\": true");
  testing::write_text(config, text);
  expect_integrals(folder, drawn_bases(80, 8), 1, AttributionBaseline::mask);
}

TEST_F(IntegratedGradients, SeveralModelsAreAveraged) {
  const std::string first = make("first"), second = make("second", 2);
  const std::string sequence = drawn_bases(90, 9);
  for (const AttributionMethod method :
       {AttributionMethod::gradient_x_input, AttributionMethod::integrated_gradients}) {
    AttributionOptions asked = options(AttributionBaseline::mask, 4);
    asked.method = method;
    const auto one = attribute({first}, sequence, {1, 0}, asked),
               other = attribute({second}, sequence, {1, 0}, asked),
               both = attribute({first, second}, sequence, {1, 0}, asked, 300);
    EXPECT_NE(one.values, other.values);
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t base = 0; base < sequence.size(); ++base)
        EXPECT_DOUBLE_EQ(both.values[k][base], (one.values[k][base] + other.values[k][base]) / 2);
      if (method == AttributionMethod::gradient_x_input) continue;
      EXPECT_DOUBLE_EQ(both.completeness[k].missed,
                       one.completeness[k].missed + other.completeness[k].missed);
      EXPECT_DOUBLE_EQ(both.completeness[k].difference,
                       one.completeness[k].difference + other.completeness[k].difference);
      EXPECT_EQ(both.completeness[k].sequences, 2u);
    }
  }
}

TEST_F(IntegratedGradients, ModelsThatDifferAreRefused) {
  const std::string first = make("first");
  testing::TinyClassifier shape;
  shape.window.length = 120;
  testing::write_tiny_classifier(folder_ / "second", shape);
  const auto error = testing::error_of([&] {
    attribute({first, folder_ / "second"}, drawn_bases(90, 9), {1}, {});
  });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("second: its window and target are not the ones"),
            std::string::npos);
}

// Passes of several sequences, positions and outputs that are run together change no bit.
TEST_F(IntegratedGradients, NothingDependsOnTheBatch) {
  const std::vector<FinetunedModel> models = {FinetunedModel(make("first")),
                                              FinetunedModel(make("second", 2))};
  const auto values = [&](std::int64_t batch_tokens) {
    BaseAttributor attributor(models, {2, 0}, options(AttributionBaseline::mask, 3), {batch_tokens},
                              *backend_);
    std::size_t passes = 0;
    attributor.on_pass([&] { ++passes; });
    std::vector<std::vector<double>> all;
    for (std::uint64_t seed = 10; seed < 14; ++seed) {
      attributor.add(drawn_bases(30 + 5 * seed, seed), [&](const BaseAttributions& read) {
        all.insert(all.end(), read.values.begin(), read.values.end());
      });
    }
    attributor.finish();
    EXPECT_EQ(passes, 4 * attributor.passes());
    EXPECT_EQ(attributor.passes(), 2u * 5u);
    return all;
  };
  const std::vector<std::vector<double>> alone = values(1);
  ASSERT_EQ(alone.size(), 8u);
  EXPECT_EQ(values(300), alone);
  EXPECT_EQ(values(100000), alone);
}

}  // namespace
}  // namespace bigbird
