// Points between a baseline and the tokens against NumPy's, and where paths start from.
#include "lib/genomics/attribute.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tiny_classifier.h"
#include "tests/unit/io/expect_error.h"

namespace bigbird {
namespace {

// numpy.polynomial.legendre.leggauss(n), moved from (-1, 1) to (0, 1) and divided by 2.
TEST(AttributionPath, PointsAreThoseOfGaussAndLegendre) {
  const std::vector<PathPoint> one = gauss_legendre_points(1), five = gauss_legendre_points(5),
                               many = gauss_legendre_points(32);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_NEAR(one[0].position, 0.5, 1e-15);
  EXPECT_NEAR(one[0].weight, 1, 1e-15);
  const double positions[] = {0.04691007703066802, 0.23076534494715845, 0.5, 0.7692346550528415,
                              0.9530899229693319};
  const double weights[] = {0.11846344252809464, 0.23931433524968315, 0.28444444444444433,
                            0.23931433524968315, 0.11846344252809464};
  ASSERT_EQ(five.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_NEAR(five[i].position, positions[i], 1e-14) << i;
    EXPECT_NEAR(five[i].weight, weights[i], 1e-14) << i;
  }
  ASSERT_EQ(many.size(), 32u);
  EXPECT_NEAR(many[0].position, 0.001368069075259215, 1e-14);
  EXPECT_NEAR(many[0].weight, 0.003509305004735253, 1e-14);
  EXPECT_NEAR(many[20].position, 0.7106756380653176, 1e-14);
  EXPECT_NEAR(many[20].weight, 0.04382604650220189, 1e-14);
}

TEST(AttributionPath, ThousandPointsTooIntegratePolynomialsExactly) {
  for (const std::size_t count : {3u, 64u, 1000u}) {
    for (const int power : {0, 1, 5}) {
      double mean = 0, before = 0;
      for (const PathPoint& point : gauss_legendre_points(count)) {
        EXPECT_LT(before, point.position) << "ascending";
        before = point.position;
        mean += point.weight * std::pow(point.position, power);
      }
      EXPECT_NEAR(mean, 1.0 / (power + 1), 1e-12) << count << " points, power " << power;
      EXPECT_LT(before, 1);
    }
  }
}

TEST(AttributionPath, GradientTimesInputIsThePathsEnd) {
  const std::vector<PathPoint> points = attribution_points({});
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].position, 1);
  EXPECT_EQ(points[0].weight, 1);
  AttributionOptions none{.method = AttributionMethod::integrated_gradients, .steps = 0};
  EXPECT_EQ(testing::error_of([&] { attribution_points(none); })->kind(), ErrorKind::usage);
}

TEST(AttributionPath, BaselinesAreRowsOfTheTableZerosOrItsMean) {
  const testing::TemporaryFolder folder;
  testing::write_tiny_tokenizer(folder / "model");
  const auto tokenizer = load_tokenizer((folder / "model").string());
  constexpr std::size_t width = 3;
  // Two rows more than the tokenizer has pieces, as models with a padded vocabulary have.
  std::vector<float> words((tokenizer->vocab_size() + 2) * width);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<float>(i * i % 97);
  const auto vector = [&](const char* word) {
    return baseline_vector(parse_attribution_baseline(word), words, width, *tokenizer);
  };
  const auto row = [&](std::size_t id) {
    return std::vector<float>(words.begin() + static_cast<std::ptrdiff_t>(id * width),
                              words.begin() + static_cast<std::ptrdiff_t>((id + 1) * width));
  };
  EXPECT_EQ(vector("mask"), row(tokenizer->special().mask));
  EXPECT_EQ(vector("pad"), row(tokenizer->special().pad));
  std::vector<std::uint32_t> n;
  tokenizer->encode("N", n);
  ASSERT_EQ(n.size(), 1u);
  EXPECT_EQ(tokenizer->piece(n[0]), "N");
  EXPECT_EQ(vector("n"), row(n[0]));
  EXPECT_EQ(vector("N"), vector("n"));
  EXPECT_EQ(vector("zero"), std::vector<float>(width, 0.0F));
  const std::vector<float> mean = vector("mean");
  for (std::size_t c = 0; c < width; ++c) {
    double sum = 0;
    for (std::size_t id = 5; id < tokenizer->vocab_size(); ++id)
      sum += static_cast<double>(words[id * width + c]);
    EXPECT_FLOAT_EQ(mean[c], static_cast<float>(sum / static_cast<double>(tokenizer->vocab_size() - 5)));
  }
}

TEST(AttributionPath, WordsForMethodsAndBaselines) {
  for (const char* word : {"gradient-x-input", "gxi"})
    EXPECT_EQ(parse_attribution_method(word), AttributionMethod::gradient_x_input);
  for (const char* word : {"integrated-gradients", "ig"})
    EXPECT_EQ(parse_attribution_method(word), AttributionMethod::integrated_gradients);
  EXPECT_EQ(name_of(AttributionMethod::integrated_gradients), "integrated-gradients");
  EXPECT_EQ(name_of(AttributionBaseline::n), "n");
  EXPECT_EQ(testing::error_of([] { parse_attribution_method("saliency"); })->kind(), ErrorKind::usage);
  EXPECT_EQ(testing::error_of([] { parse_attribution_baseline("none"); })->kind(), ErrorKind::usage);
}

}  // namespace
}  // namespace bigbird
