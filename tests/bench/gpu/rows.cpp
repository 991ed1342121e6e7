// What lies between the products, in bytes that have to be moved a second: rows, embeddings, losses,
// optimizer. And the copy on the device that they are measured against.
#include <algorithm>
#include <vector>

#include "tests/bench/gpu/bench.h"

namespace bigbird::bench {

using kernels::Index;

void bench_memory(const Options& options, Report& report) {
  Bench bench(options, report);
  const Index count = options.tiny ? 1 << 16 : 1 << 28;
  const Noise from(bench, count, kernels::ElementType::fp32), to(bench, count, kernels::ElementType::fp32);
  const double bytes = 4.0 * static_cast<double>(count);
  bench.add("copy on the device", "bigbird", bench.recorded([&](int) {
    bench.backend().copy(to.floats(), from.floats(), static_cast<std::size_t>(bytes));
  }),
            0, 2 * bytes);
}

namespace {

void elements(Bench& bench, const Shapes& shapes, Index tokens) {
  kernels::Backend& backend = bench.backend();
  const Index width = shapes.width, inner = shapes.inner;
  const Noise a0(bench, tokens * width, bench.type()), a1(bench, tokens * width, bench.type());
  const Noise b(bench, tokens * width, bench.type()), sum(bench, tokens * width, bench.type());
  const Noise y(bench, tokens * width, bench.type());
  const auto a = [&](int i) { return i % 2 == 0 ? a0.values() : a1.values(); };
  const auto fp32 = kernels::ElementType::fp32;
  const Noise gamma(bench, width, fp32), beta(bench, width, fp32), dgamma(bench, width, fp32),
      dbeta(bench, width, fp32);
  const Noise mean(bench, tokens, fp32), rstd(bench, tokens, fp32, 0.1f, 1.0f);
  const kernels::Norm norm{gamma.floats(), beta.floats(), 1e-12f, width};
  const kernels::NormGradients gradients{dgamma.floats(), dbeta.floats()};
  const kernels::NormState state{mean.floats(), rstd.floats()};
  const OnDevice<std::uint64_t> seed(bench, {11});
  const kernels::Dropout dropout{0.1f, seed.data(), 12};
  const double narrow =
      static_cast<double>(tokens * width) * static_cast<double>(kernels::size_of(bench.type()));
  const double wide = narrow / static_cast<double>(width) * static_cast<double>(inner);

  bench.add("layernorm forward", "bigbird",
            bench.recorded([&](int i) { backend.layernorm_forward(a(i), norm, y.values(), state, tokens); }),
            0, 2 * narrow);
  bench.add("layernorm backward", "bigbird", bench.recorded([&](int i) {
    backend.layernorm_backward({a(i), b.values(), state, y.values(), tokens}, norm, gradients, false);
  }),
            0, 3 * narrow);
  bench.add("dropout, add, layernorm forward", "bigbird", bench.recorded([&](int i) {
    backend.dropout_add_layernorm_forward({a(i), b.values(), sum.values(), dropout}, norm, y.values(), state,
                                          tokens);
  }),
            0, 4 * narrow);
  bench.add("layernorm, dropout backward", "bigbird", bench.recorded([&](int i) {
    backend.layernorm_backward_dropout({a(i), b.values(), state, sum.values(), tokens}, norm, gradients,
                                       dropout, y.values());
  }),
            0, 4 * narrow);
  bench.add("dropout and add", "bigbird", bench.recorded([&](int i) {
    backend.dropout_add(a(i), b.values(), y.values(), tokens * width, dropout);
  }),
            0, 3 * narrow);
  bench.add("add", "bigbird", bench.recorded([&](int i) { backend.add(a(i), y.values(), tokens * width); }),
            0, 3 * narrow);
  const Noise pre(bench, tokens * inner, bench.type()), dy(bench, tokens * inner, bench.type());
  const Noise dx(bench, tokens * inner, bench.type());
  // As it is made again for the gradient of the layer behind it.
  bench.add("gelu forward", "bigbird", bench.recorded([&](int) {
    backend.activation_forward(pre.values(), dx.values(), tokens * inner, kernels::Activation::gelu_tanh);
  }),
            0, 2 * wide);
  bench.add("gelu backward", "bigbird", bench.recorded([&](int) {
    backend.activation_backward(pre.values(), dy.values(), dx.values(), tokens * inner,
                                kernels::Activation::gelu_tanh);
  }),
            0, 3 * wide);
}

void losses_and_tables(Bench& bench, const Shapes& shapes, Index tokens, Index masked) {
  kernels::Backend& backend = bench.backend();
  const Index width = shapes.width, vocabulary = shapes.vocabulary;
  const auto fp32 = kernels::ElementType::fp32;
  const double element = static_cast<double>(kernels::size_of(bench.type()));

  std::vector<std::int32_t> labels(static_cast<std::size_t>(masked));
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(static_cast<Index>(i) * 7919 % vocabulary);
  const OnDevice<std::int32_t> targets(bench, labels), predictions(bench, labels);
  const Noise logits(bench, masked * vocabulary, bench.type(), 4.0f);
  const Noise losses(bench, masked, fp32);
  const OnDevice<float> scale(bench, {1.0f / static_cast<float>(masked)});
  // Read once for the maximum and the sum, once for the gradient, and written: two reads where a row fits in
  // no cache, one where it does.
  bench.add("cross entropy, in place", "bigbird", bench.recorded([&](int) {
    backend.cross_entropy({logits.values(), masked, vocabulary}, {targets.data()}, losses.floats(),
                          predictions.data(), {logits.values(), scale.data()});
  }),
            0, 2 * element * static_cast<double>(masked * vocabulary));

  // As the head's forward pass has it.
  bench.add("cross entropy, losses alone", "bigbird", bench.recorded([&](int) {
    backend.cross_entropy({logits.values(), masked, vocabulary}, {targets.data()}, losses.floats(),
                          predictions.data(), {});
  }),
            0, element * static_cast<double>(masked * vocabulary));

  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens)), types(ids), positions(ids);
  for (std::size_t t = 0; t < ids.size(); ++t) {
    ids[t] = static_cast<std::int32_t>(static_cast<Index>(t) * 7919 % vocabulary);
    positions[t] = static_cast<std::int32_t>(t % 4096);
  }
  const OnDevice<std::int32_t> device_ids(bench, ids), device_types(bench, types),
      device_positions(bench, positions);
  const Parameters word(bench, vocabulary * width), type(bench, 2 * width), position(bench, 4096 * width);
  const Noise dword(bench, vocabulary * width, fp32), dtype(bench, 2 * width, fp32),
      dposition(bench, 4096 * width, fp32);
  const Noise y(bench, tokens * width, bench.type());
  const kernels::EmbeddingIndices indices{device_ids.data(), device_types.data(), device_positions.data(),
                                          tokens};
  const kernels::EmbeddingTables tables{
      word.floats(), type.floats(), position.floats(), 1.0f, width, vocabulary, 2, 4096};
  const double rows = static_cast<double>(tokens * width);
  bench.add("embedding forward", "bigbird",
            bench.recorded([&](int) { backend.embedding_forward(indices, tables, y.values()); }), 0,
            rows * 4.0 * element);
  bench.add("embedding backward", "bigbird", bench.recorded([&](int) {
    backend.embedding_backward(y.values(), indices, tables,
                               {dword.floats(), dtype.floats(), dposition.floats()});
  }),
            0, rows * (element + 16.0));
}

void optimizer(Bench& bench, Index count) {
  kernels::Backend& backend = bench.backend();
  const auto fp32 = kernels::ElementType::fp32;
  const Parameters p(bench, count);
  const Noise g(bench, count, fp32), m(bench, count, fp32), v(bench, count, fp32, 0.1f, 0.2f);
  const kernels::ParameterRun runs[] = {{0, count - 1024, true}, {count - 1024, 1024, false}};
  kernels::AdamWStep step;
  step.learning_rate = 1e-4f;
  step.weight_decay = 0.01f;
  bench.add("adamw", "bigbird", bench.waiting([&](int) {
    backend.adamw({p.floats(), g.floats(), m.floats(), v.floats()}, runs, step);
    backend.synchronize();
  }),
            0, 28.0 * static_cast<double>(count) + p.copy_bytes());
  // As an update takes them: of 64 parts.
  std::vector<double> sums(64);
  const Index part = count / 64;
  bench.add("sums of squares", "bigbird",
            bench.waiting([&](int) { backend.sums_of_squares(g.floats(), count, part, sums.data()); }), 0,
            4.0 * static_cast<double>(count));
}

}  // namespace

void bench_rows(const Options& options, Report& report) {
  const Shapes shapes(options.tiny);
  Bench bench(options, report);
  const Index tokens = options.tiny ? 128 : 8 * 4096, masked = options.tiny ? 64 : 8 * 614;
  elements(bench, shapes, tokens);
  losses_and_tables(bench, shapes, tokens, masked);
  optimizer(bench, options.tiny ? 8192 : Index{113} << 20);
}

}  // namespace bigbird::bench
