// Baselines, and points between them and the tokens; see attribution_path.h.
#include "lib/genomics/attribution_path.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "lib/core/error.h"
#include "lib/core/names.h"
#include "lib/tokenization/tokenizer.h"

namespace bigbird {
namespace {

// The first name of each is the one that is written.
constexpr std::array<std::pair<AttributionMethod, const char*>, 4> attribution_names{
    {{AttributionMethod::gradient_x_input, "gradient-x-input"},
     {AttributionMethod::gradient_x_input, "gxi"},
     {AttributionMethod::integrated_gradients, "integrated-gradients"},
     {AttributionMethod::integrated_gradients, "ig"}}};
constexpr std::array<std::pair<AttributionBaseline, const char*>, 6> baseline_names{
    {{AttributionBaseline::zero, "zero"},
     {AttributionBaseline::mean, "mean"},
     {AttributionBaseline::n, "n"},
     {AttributionBaseline::n, "N"},
     {AttributionBaseline::pad, "pad"},
     {AttributionBaseline::mask, "mask"}}};

// The Legendre polynomial of this degree at x, by its recurrence, and its derivative.
std::pair<double, double> legendre(std::size_t degree, double x) {
  double before = 1, value = x;
  for (std::size_t k = 2; k <= degree; ++k) {
    const auto n = static_cast<double>(k);
    before = std::exchange(value, ((2 * n - 1) * x * value - (n - 1) * before) / n);
  }
  return {value, static_cast<double>(degree) * (x * value - before) / (x * x - 1)};
}

std::uint32_t piece_of_n(const Tokenizer& tokenizer) {
  std::vector<std::uint32_t> ids;
  tokenizer.encode("N", ids);
  if (ids.size() == 1 && ids.front() != tokenizer.special().unknown) return ids.front();
  throw_bad_input("the vocabulary has no piece for N", message("take another `baseline`, such as zero"));
}

}  // namespace

AttributionMethod parse_attribution_method(const std::string& word) {
  return parse_name(attribution_names, word, message("choice of `method`"));
}

std::string name_of(AttributionMethod method) {
  return find_name(attribution_names, method);
}

AttributionBaseline parse_attribution_baseline(const std::string& word) {
  return parse_name(baseline_names, word, message("choice of `baseline`"));
}

std::string name_of(AttributionBaseline baseline) {
  return find_name(baseline_names, baseline);
}

std::vector<PathPoint> gauss_legendre_points(std::size_t count) {
  std::vector<PathPoint> points(count);
  for (std::size_t i = 0; i < count; ++i) {
    // Newton's method from Tricomi's estimate of root i, which lies near enough for any degree.
    const auto n = static_cast<double>(count);
    double x = std::cos(std::numbers::pi * (static_cast<double>(count - i) - 0.25) / (n + 0.5));
    double slope = 1;
    for (int round = 0; round < 100; ++round) {
      const auto [value, derivative] = legendre(count, x);
      slope = derivative;
      const double step = value / derivative;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    points[i] = {(1 + x) / 2, 1 / ((1 - x * x) * slope * slope)};
  }
  return points;
}

std::vector<PathPoint> attribution_points(const AttributionOptions& options) {
  if (options.method == AttributionMethod::gradient_x_input) return {PathPoint{}};
  if (options.steps < 1)
    throw_usage(message("no `steps` to integrate gradients over"), "give 1 or more, such as 32");
  return gauss_legendre_points(static_cast<std::size_t>(options.steps));
}

std::vector<float> baseline_vector(AttributionBaseline baseline, std::span<const float> words,
                                   std::size_t width, const Tokenizer& tokenizer) {
  const auto row = [&](std::uint32_t id) {
    const std::span<const float> values = words.subspan(id * width, width);
    return std::vector<float>(values.begin(), values.end());
  };
  switch (baseline) {
    case AttributionBaseline::mask:
      return row(tokenizer.special().mask);
    case AttributionBaseline::pad:
      return row(tokenizer.special().pad);
    case AttributionBaseline::n:
      return row(piece_of_n(tokenizer));
    case AttributionBaseline::zero:
      return std::vector<float>(width, 0.0F);
    case AttributionBaseline::mean:
      break;
  }
  std::vector<double> sums(width, 0.0);
  std::size_t pieces = 0;
  for (std::uint32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) continue;
    ++pieces;
    for (std::size_t c = 0; c < width; ++c) sums[c] += static_cast<double>(words[id * width + c]);
  }
  std::vector<float> mean;
  for (const double sum : sums)
    mean.push_back(static_cast<float>(sum / static_cast<double>(std::max<std::size_t>(pieces, 1))));
  return mean;
}

}  // namespace bigbird
