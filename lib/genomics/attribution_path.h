// The straight path on which an attribution takes its gradients: from a baseline to the word vectors of the
// tokens (token embeddings without type and position). Gradient x input is one point of it, the tokens
// themselves, from a baseline of zeros; integrated gradients (Sundararajan, Taly and Yan 2017, equation 1)
// are the mean of the gradients over all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

class Tokenizer;

enum class AttributionMethod { gradient_x_input, integrated_gradients };
// "gradient-x-input" or "gxi", "integrated-gradients" or "ig". Error{usage} for anything else.
AttributionMethod parse_attribution_method(const std::string& word);
std::string name_of(AttributionMethod method);  // the long ones

// The vector that the path of every token starts from: zeros, which the paper recommends for text, the mean
// over the pieces that are not special, or that of a piece (N, [PAD], [MASK]).
enum class AttributionBaseline { zero, mean, n, pad, mask };
// "zero", "mean", "n" or "N", "pad", "mask". Error{usage} for anything else.
AttributionBaseline parse_attribution_baseline(const std::string& word);
std::string name_of(AttributionBaseline baseline);

struct AttributionOptions {
  AttributionMethod method = AttributionMethod::gradient_x_input;
  // Of integrated gradients.
  std::int64_t steps = 32;
  AttributionBaseline baseline = AttributionBaseline::zero;
};

// A point baseline + position (word - baseline), and its share of the mean.
struct PathPoint {
  double position = 1;
  double weight = 1;
};

// Points and weights of Gauss and Legendre on (0, 1), ascending: the mean of any polynomial of degree
// 2 count - 1 or less over the unit interval is exact, and neither end is a point. `count` is at least 1.
std::vector<PathPoint> gauss_legendre_points(std::size_t count);

// Those of the method. Error{usage}: no `steps`.
std::vector<PathPoint> attribution_points(const AttributionOptions& options);

// [width], from a model's word table, of which [vocabulary of the tokenizer, width] are read.
// Error{bad_input} for a vocabulary without a piece for N.
std::vector<float> baseline_vector(AttributionBaseline baseline, std::span<const float> words,
                                   std::size_t width, const Tokenizer& tokenizer);

}  // namespace bigbird
