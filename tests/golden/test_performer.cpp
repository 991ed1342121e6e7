// Performer's attention against performer-pytorch 1.1.4 (tests/peers/make_performer.py), whose projections
// are handed over: the reference in double, and the kernels that models compute with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/weights/safetensors.h"
#include "reference/random_features.h"
#include "tests/golden/package_numbers.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

struct PerformerCase {
  std::string kernel, how;
  std::size_t tokens = 0, size = 0, rows = 0;
  std::vector<float> q, k, v, weights, projection;

  kernels::FeatureMap map() const {
    return kernel == "softmax+" ? kernels::FeatureMap::positive
           : kernel == "relu"   ? kernels::FeatureMap::relu
                                : kernels::FeatureMap::elu;
  }
  bool causal() const { return how != "both"; }
};

class PerformerGolden : public ::testing::Test {
 protected:
  int cases() const { return std::stoi(golden_.metadata().at("cases")); }
  double epsilon() const { return std::stod(golden_.metadata().at("epsilon")); }
  std::vector<float> floats(int number, const char* name) const {
    return golden_.floats(std::to_string(number) + "." + name);
  }
  PerformerCase at(int number) const {
    PerformerCase of;
    std::istringstream(golden_.metadata().at(std::to_string(number) + ".case")) >> of.kernel >> of.how >>
        of.tokens >> of.size >> of.rows;
    of.q = floats(number, "q");
    of.k = floats(number, "k");
    of.v = floats(number, "v");
    of.weights = floats(number, "weights");
    if (of.rows > 0) of.projection = floats(number, "projection");
    return of;
  }

 private:
  const SafetensorsFile golden_{(source_dir() / "tests/golden/neighbours/performer.safetensors").string()};
};

reference::Matrix matrix_of(const std::vector<float>& values, std::size_t columns) {
  return reference::Matrix(values.size() / columns, columns, {values.begin(), values.end()});
}

// What outputs are where so much is added to each sum of the features of keys, and to no numerator.
void add_to_sums_of_keys(const reference::FeatureAttention& attention, const reference::Matrix& q,
                         const reference::Matrix& k, double added, reference::Matrix& out) {
  const reference::LargestExponents most = reference::largest_exponents(attention, q, k);
  const auto row = [](const reference::Matrix& x, std::size_t i) {
    return reference::rows_of(x, i, 1, 0, x.columns).values;
  };
  for (std::size_t i = 0; i < out.rows; ++i) {
    const reference::Vector query = reference::features_of(attention, row(q, i), most.of_query[i]);
    double denominator = 0, more = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      const reference::Vector key = reference::features_of(attention, row(k, j), most.of_keys[i]);
      for (std::size_t f = 0; f < key.size(); ++f) denominator += query[f] * key[f];
    }
    for (const double x : query) more += added * x;
    for (std::size_t d = 0; d < out.columns; ++d) out(i, d) *= denominator / (denominator + more);
  }
}

TEST_F(PerformerGolden, F1TheReferenceIsPerformerPytorch) {
  for (int number = 0; number < cases(); ++number) {
    const PerformerCase of = at(number);
    SCOPED_TRACE(of.kernel + " " + of.how);
    const reference::FeatureAttention attention{
        static_cast<reference::Features>(of.map()),
        of.rows > 0 ? matrix_of(of.projection, of.size) : reference::Matrix{}, epsilon(), of.causal()};
    const reference::Matrix q = matrix_of(of.q, of.size), k = matrix_of(of.k, of.size),
                            v = matrix_of(of.v, of.size);
    reference::Matrix out = reference::feature_attention_forward(attention, q, k, v);
    expect_output(out.values, floats(number, "out"));
    if (of.how == "causal") {
      add_to_sums_of_keys(attention, q, k, 1e-6, out);
      expect_output(out.values, floats(number, "published"));
    }
    const auto gradients =
        reference::feature_attention_backward(attention, q, k, v, matrix_of(of.weights, of.size));
    expect_gradient(gradients.query.values, floats(number, "dq"), "q");
    expect_gradient(gradients.key.values, floats(number, "dk"), "k");
    expect_gradient(gradients.value.values, floats(number, "dv"), "v");
  }
}

TEST_F(PerformerGolden, G3TheKernelsArePerformerPytorch) {
  const auto backend = kernels::make_cpu_backend();
  for (int number = 0; number < cases(); ++number) {
    const PerformerCase of = at(number);
    SCOPED_TRACE(of.kernel + " " + of.how);
    const auto tokens = static_cast<kernels::Index>(of.tokens), size = static_cast<kernels::Index>(of.size);
    const std::vector<kernels::Index> offsets = {0, tokens}, lengths = {tokens};
    kernels::FeatureBatch batch;
    batch.sequences = batch.heads = 1;
    batch.head_size = size;
    batch.chunk = 8;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.causal = of.causal();
    batch.map = of.map();
    batch.projection = of.rows > 0 ? of.projection.data() : nullptr;
    batch.projected = of.rows > 0 ? static_cast<kernels::Index>(of.rows) : size;
    batch.epsilon = static_cast<float>(epsilon());
    const kernels::QueryKeyValue inputs{{of.q.data(), size}, {of.k.data(), size}, {of.v.data(), size}};
    std::vector<float> out(of.q.size()), dq(out), dk(out), dv(out);
    backend->feature_attention_forward(batch, inputs, {out.data(), size});
    expect_output(out, floats(number, "out"));
    kernels::QueryKeyValueGradients gradients;
    gradients.q = {dq.data(), size};
    gradients.k = {dk.data(), size};
    gradients.v = {dv.data(), size};
    backend->feature_attention_backward(batch, inputs, {out.data(), size}, {of.weights.data(), size},
                                        gradients);
    expect_gradient(dq, floats(number, "dq"), "q");
    expect_gradient(dk, floats(number, "dk"), "k");
    expect_gradient(dv, floats(number, "dv"), "v");
  }
}

}  // namespace
}  // namespace bigbird
