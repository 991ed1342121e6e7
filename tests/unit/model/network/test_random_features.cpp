// Projections of random features: orthogonal, as long as normal rows, functions of (seed, layer, draw); what
// their products come to, and how far from it they are.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "lib/core/error.h"
#include "lib/core/rng.h"
#include "lib/model/network/random_features.h"
#include "lib/model/network/validate_config.h"
#include "reference/random_features.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

ModelConfig performer_config(std::int64_t size, std::int64_t features,
                             FeatureProjection projection = FeatureProjection::gauss) {
  ModelConfig config = tiny_config();
  config.num_attention_heads = 2;
  config.hidden_size = 2 * size;
  config.attention = AttentionPattern::performer;
  config.attention_options.performer.features = features;
  config.attention_options.performer.projection = projection;
  validate(config, "a test");
  return config;
}

double product_of(const std::vector<float>& w, std::size_t size, std::size_t a, std::size_t b) {
  double sum = 0.0;
  for (std::size_t d = 0; d < size; ++d) sum += double{w[a * size + d]} * double{w[b * size + d]};
  return sum;
}

constexpr FeatureProjection orthogonal[] = {FeatureProjection::gauss, FeatureProjection::givens,
                                            FeatureProjection::hadamard};

TEST(Performer, F2RowsOfABlockAreOrthogonal) {
  for (const FeatureProjection projection : orthogonal) {
    const std::vector<float> w = drawn_features(performer_config(16, 40, projection), 1, 7, 0);
    ASSERT_EQ(w.size(), 640u);
    for (std::size_t a = 0; a < 40; ++a) {
      for (std::size_t b = a / 16 * 16; b < a; ++b) {
        const double lengths = std::sqrt(product_of(w, 16, a, a) * product_of(w, 16, b, b));
        EXPECT_LT(std::abs(product_of(w, 16, a, b)), 1e-5 * lengths) << a << " " << b;
      }
    }
    // Another block is another draw.
    EXPECT_GT(std::abs(product_of(w, 16, 0, 17)) + std::abs(product_of(w, 16, 0, 18)), 1e-3);
  }
  const std::vector<float> iid = drawn_features(performer_config(16, 16, FeatureProjection::iid), 0, 7, 0);
  EXPECT_GT(std::abs(product_of(iid, 16, 0, 1)), 1e-3);
}

// The mean of chi with D degrees of freedom: sqrt 2 Gamma((D + 1) / 2) / Gamma(D / 2).
TEST(Performer, F2RowsAreAsLongAsNormalOnes) {
  const double chi = std::sqrt(2.0) * std::exp(std::lgamma(8.5) - std::lgamma(8.0));
  for (const FeatureProjection projection : {FeatureProjection::gauss, FeatureProjection::givens,
                                             FeatureProjection::hadamard, FeatureProjection::iid}) {
    double sum = 0.0, squares = 0.0;
    for (std::uint64_t draw = 0; draw < 10; ++draw) {
      const std::vector<float> w = drawn_features(performer_config(16, 1000, projection), 0, 3, draw);
      for (std::size_t row = 0; row < 1000; ++row) {
        const double square = product_of(w, 16, row, row);
        sum += std::sqrt(square);
        squares += square;
      }
    }
    EXPECT_NEAR(sum / 1e4, chi, 0.01 * chi);
    EXPECT_NEAR(squares / 1e4, 16.0, 0.3);  // they differ: sqrt D for all would have the same mean square
    EXPECT_GT(squares / 1e4 - std::pow(sum / 1e4, 2), 0.3);
  }
}

TEST(Performer, DrawsAreFunctionsOfSeedLayerAndNumber) {
  const ModelConfig config = performer_config(8, 20);
  const auto draw = [&](std::int64_t layer, std::uint64_t seed, std::uint64_t number) {
    return drawn_features(config, layer, seed, number);
  };
  EXPECT_EQ(draw(1, 5, 3), draw(1, 5, 3));
  EXPECT_NE(draw(1, 5, 3), draw(0, 5, 3));
  EXPECT_NE(draw(1, 5, 3), draw(1, 6, 3));
  EXPECT_NE(draw(1, 5, 3), draw(1, 5, 4));
  // More rows begin with the same ones.
  const std::vector<float> more = drawn_features(performer_config(8, 24), 1, 5, 3);
  EXPECT_TRUE(std::equal(more.begin(), more.begin() + 128, draw(1, 5, 3).begin()));
}

// exp(q.k / sqrt D) by products of positive features, without their stabilizers.
double estimated(const std::vector<float>& w, const std::vector<double>& q, const std::vector<double>& k) {
  const double scale = std::pow(static_cast<double>(q.size()), -0.25);
  double half = 0.0, sum = 0.0;
  for (std::size_t d = 0; d < q.size(); ++d) half += scale * scale * (q[d] * q[d] + k[d] * k[d]) / 2.0;
  const std::size_t rows = w.size() / q.size();
  for (std::size_t m = 0; m < rows; ++m) {
    double of_both = 0.0;
    for (std::size_t d = 0; d < q.size(); ++d) of_both += scale * double{w[m * q.size() + d]} * (q[d] + k[d]);
    sum += std::exp(of_both - half);
  }
  return sum / static_cast<double>(rows);
}
std::vector<double> normal_row(CounterRng& random, std::size_t size, double sigma) {
  std::vector<double> row(size);
  for (double& x : row) x = sigma * random.normal();
  return row;
}
double exact(const std::vector<double>& q, const std::vector<double>& k) {
  double product = 0.0;
  for (std::size_t d = 0; d < q.size(); ++d) product += q[d] * k[d];
  return std::exp(product / std::sqrt(static_cast<double>(q.size())));
}

TEST(Performer, F3ProductsOfFeaturesMeanTheExponential) {
  for (const FeatureProjection projection : {FeatureProjection::gauss, FeatureProjection::givens,
                                             FeatureProjection::hadamard, FeatureProjection::iid}) {
    CounterRng random(9, Purpose::test, 0);
    const std::vector<double> q = normal_row(random, 16, 0.5), k = normal_row(random, 16, 0.5);
    double sum = 0.0, squares = 0.0;
    constexpr int draws = 200;
    for (std::uint64_t draw = 0; draw < draws; ++draw) {
      const double of_draw =
          estimated(drawn_features(performer_config(16, 64, projection), 0, 4, draw), q, k);
      sum += of_draw;
      squares += of_draw * of_draw;
    }
    const double mean = sum / draws, deviation = std::sqrt((squares / draws - mean * mean) / draws);
    EXPECT_NEAR(mean, exact(q, k), 3.0 * deviation) << static_cast<int>(projection);
    EXPECT_LT(deviation, 0.05);
  }
}

TEST(Performer, F4MoreFeaturesAndOrthogonalOnesErrLess) {
  const auto rms = [](std::int64_t features, FeatureProjection projection) {
    double squares = 0.0;
    int count = 0;
    for (std::uint64_t draw = 0; draw < 100; ++draw) {
      const std::vector<float> w = drawn_features(performer_config(16, features, projection), 0, 11, draw);
      CounterRng random(12, Purpose::test, draw);
      for (int pair = 0; pair < 16; ++pair, ++count) {
        const std::vector<double> q = normal_row(random, 16, 0.5), k = normal_row(random, 16, 0.5);
        squares += std::pow(estimated(w, q, k) - exact(q, k), 2);
      }
    }
    return std::sqrt(squares / count);
  };
  const double few = rms(16, FeatureProjection::gauss), some = rms(64, FeatureProjection::gauss),
               many = rms(256, FeatureProjection::gauss), iid = rms(16, FeatureProjection::iid);
  EXPECT_LT(some, 0.7 * few);
  EXPECT_LT(many, 0.7 * some);
  EXPECT_LE(few, iid);
  ::testing::Test::RecordProperty("rms_16_gauss", std::to_string(few));
  ::testing::Test::RecordProperty("rms_16_iid", std::to_string(iid));
}

TEST(Performer, AFreshModelHasTheFirstDraw) {
  const ModelConfig config = performer_config(12, 30);
  const ParameterLayout layout(config);
  const std::vector<float> values = initial_parameters(layout, config, 21);
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    const TensorSpec* const spec =
        layout.find("bert.encoder.layer." + std::to_string(layer) + ".attention.self.features.weight");
    ASSERT_NE(spec, nullptr);
    EXPECT_FALSE(spec->decay);
    EXPECT_EQ(spec->shape, (std::vector<std::int64_t>{30, 12}));
    const std::vector<float> expected = drawn_features(config, layer, 21, 0);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), values.begin() + spec->offset));
  }
}

TEST(Performer, OnlyDueUpdatesDrawAnew) {
  ModelConfig config = performer_config(12, 8);
  config.attention_options.performer.redraw = 5;
  const Batch batch = random_batch(config, {9}, 1);
  const auto backend = kernels::make_cpu_backend();
  const std::vector<float> before = random_parameters(config, 2);
  const auto model = make_model(*backend, config, batch, {.training = true}, before);
  for (const std::uint64_t updates : {0u, 1u, 4u, 6u}) {
    model->after_update(updates, 3);
    EXPECT_EQ(model->host_parameters(), before) << updates;
  }
  model->after_update(10, 3);
  const std::vector<float> after = model->host_parameters();
  for (const TensorSpec& spec : model->layout().tensors()) {
    const std::vector<float> own(after.begin() + spec.offset, after.begin() + spec.offset + spec.count);
    if (spec.init == Init::features) {
      EXPECT_EQ(own, drawn_features(config, spec.depth - 1, 3, 2)) << spec.name;
    } else {
      EXPECT_TRUE(std::equal(own.begin(), own.end(), before.begin() + spec.offset)) << spec.name;
    }
  }
  config.attention_options.performer.redraw = 0;
  const auto still = make_model(*backend, config, batch, {.training = true}, before);
  still->after_update(10, 3);
  EXPECT_EQ(still->host_parameters(), before);
}

TEST(Performer, OptionsThatDoNotAgreeAreRefused) {
  const auto refused = [](ModelConfig config, const char* what) {
    try {
      validate(config, "config.json");
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find(what), std::string::npos) << error.message();
    }
  };
  ModelConfig config = performer_config(12, 8);
  config.attention_options.performer.projection = FeatureProjection::none;
  refused(config, "projection none of a kernel of softmax");
  config.attention_options.performer.projection = FeatureProjection::hadamard;
  refused(config, "projection hadamard with heads of 12 columns");
  config = performer_config(12, 8);
  config.position_type = PositionType::none;
  refused(config, "attention performer without positions");
}

}  // namespace
}  // namespace bigbird
