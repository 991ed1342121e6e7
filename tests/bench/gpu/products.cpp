// The matrix products of one encoder layer and of the masked head, with what is fused to them.
#include <string>
#include <vector>

#include "tests/bench/gpu/bench.h"

namespace bigbird::bench {
namespace {

using kernels::Index;

// y[m, n] = x[m, k] w[n, k]^T; gelu: with what stands between the two feed-forward products.
struct Product {
  const char* name;
  Index m, n, k;
  bool gelu_behind = false;  // forward
  bool gelu_before = false;  // backward to its input
};

void one_product(Bench& bench, const Product& product) {
  kernels::Backend& backend = bench.backend();
  // By name: clang 14 lets no lambda take a structured binding.
  const std::string name = product.name;
  const Index m = product.m, n = product.n, k = product.k;
  const bool gelu_behind = product.gelu_behind, gelu_before = product.gelu_before;
  const Index count = n * k + n;  // weight and bias
  const Parameters parameters(bench, count);
  float* const w = parameters.floats();
  float* const bias = w + n * k;

  const Noise x0(bench, m * k, bench.type()), x1(bench, m * k, bench.type());
  const Noise y0(bench, m * n, bench.type()), y1(bench, m * n, bench.type());
  const Noise dx(bench, m * k, bench.type()), gradient(bench, count, kernels::ElementType::fp32);
  const Noise wide(bench, gelu_behind ? m * n : 1, bench.type());
  const auto x = [&](int i) { return i % 2 == 0 ? x0.values() : x1.values(); };
  const auto y = [&](int i) { return i % 2 == 0 ? y0.values() : y1.values(); };
  const auto activation = kernels::Activation::gelu_tanh;
  const kernels::Linear layer{w, bias, k, n};

  const double operations = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const std::vector<Fact> facts{
      {"m", static_cast<double>(m)}, {"n", static_cast<double>(n)}, {"k", static_cast<double>(k)}};
  const auto add = [&](const std::string& what, const Timing& timing) {
    bench.add(name + " " + what, "bigbird", timing, operations, 0, facts);
  };
  add("forward", bench.recorded([&](int i) {
    if (gelu_behind)
      backend.linear_activation_forward(x(i), layer, activation, wide.values(), y(i), m);
    else
      backend.linear_forward(x(i), layer, y(i), m);
  }));
  add("backward to its input", bench.recorded([&](int i) {
    if (gelu_before)
      backend.linear_backward_input_activation(y(i), layer, activation, x(i), dx.values(), m);
    else
      backend.linear_backward_input(y(i), layer, dx.values(), m, false);
  }));
  const auto to_weight = [&](float* bias_gradient) {
    return bench.recorded([&, bias_gradient](int i) {
      backend.linear_backward_weight(y(i), x(i), layer, {gradient.floats(), bias_gradient}, m);
    });
  };
  const Timing with_bias = to_weight(gradient.floats() + n * k), without = to_weight(nullptr);
  add("backward to its weight", with_bias);
  add("backward to its weight, no bias", without);
  // By difference: column sums are a part of that operation.
  bench.report().add(name + " column sums of its bias", "bigbird",
                     {{"milliseconds", with_bias.milliseconds - without.milliseconds},
                      {"spread", with_bias.spread + without.spread}});
}

}  // namespace

void bench_products(const Options& options, Report& report) {
  const Shapes shapes(options.tiny);
  const Index tokens = options.tiny ? 128 : 8 * 4096, masked = options.tiny ? 64 : 8 * 614;
  Bench bench(options, report);
  for (const Product& product :
       {Product{"query, key, value", tokens, 3 * shapes.width, shapes.width},
        Product{"attention output", tokens, shapes.width, shapes.width},
        Product{"feed-forward in, gelu", tokens, shapes.inner, shapes.width, true, false},
        Product{"feed-forward out, gelu", tokens, shapes.width, shapes.inner, false, true},
        Product{"masked decoder", masked, shapes.vocabulary, shapes.width}}) {
    one_product(bench, product);
  }
}

}  // namespace bigbird::bench
