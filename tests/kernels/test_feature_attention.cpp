// Attention by features against reference/random_features.h: lengths around a chunk, ragged batches, every
// map, both directions, and the way back; that no row depends on later ones, on batch mates or on padding.
#include <cmath>

#include "reference/random_features.h"
#include "tests/kernels/head_matrices.h"
#include "tests/kernels/kernel_test.h"

namespace bigbird::kernels {
namespace {

// Sequences of so many real rows, each padded to whole chunks; queries, keys and values side by side.
struct FeatureProblem {
  Index heads = 2, head_size = 8, chunk = 8, projected = 12;
  FeatureMap map = FeatureMap::positive;
  bool causal = false, projects = true;
  std::vector<Index> lengths;
  float epsilon = 1e-6f;
  Index more_padding = 0;  // chunks behind each sequence
  std::vector<Index> offsets = {};
  Floats projection = {};

  FeatureProblem& finish(std::uint32_t seed = 71) {
    offsets = {0};
    for (const Index length : lengths)
      offsets.push_back(offsets.back() + ((length + chunk - 1) / chunk + more_padding) * chunk);
    if (!projects) projected = head_size;
    if (projects) projection = random_floats(static_cast<std::size_t>(projected * head_size), seed, 2.5f);
    return *this;
  }
  Index width() const { return heads * head_size; }
  Index rows() const { return offsets.back(); }
  FeatureBatch batch() const {
    FeatureBatch batch;
    batch.sequences = static_cast<Index>(lengths.size());
    batch.heads = heads;
    batch.head_size = head_size;
    batch.chunk = chunk;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.causal = causal;
    batch.map = map;
    batch.projection = projects ? projection.data() : nullptr;
    batch.projected = projected;
    batch.epsilon = epsilon;
    return batch;
  }
  std::string name() const {
    return std::to_string(static_cast<int>(map)) + (causal ? " causal" : " both ways") +
           (projects ? " with W" : "") + " chunk " + std::to_string(chunk);
  }
};

struct FeatureExpected {
  reference::Vector out, dqkv;
};
FeatureExpected expected_of(const FeatureProblem& p, const Floats& qkv, const Floats& dout) {
  const Index width = p.width();
  FeatureExpected expected{reference::Vector(dout.size(), 0.0), reference::Vector(qkv.size(), 0.0)};
  reference::FeatureAttention attention{
      static_cast<reference::Features>(p.map),
      p.projects ? matrix(p.projection, p.projected, p.head_size) : reference::Matrix{}, double{p.epsilon},
      p.causal};
  for (std::size_t s = 0; s < p.lengths.size(); ++s) {
    for (Index head = 0; head < p.heads; ++head) {
      const Index first = p.offsets[s], length = p.lengths[s], column = head * p.head_size;
      const auto part = [&](Index number) {
        return head_of(qkv, 3 * width, first, length, number * width + column, p.head_size);
      };
      put_head(reference::feature_attention_forward(attention, part(0), part(1), part(2)), expected.out,
               width, first, column);
      const auto gradients = reference::feature_attention_backward(
          attention, part(0), part(1), part(2), head_of(dout, width, first, length, column, p.head_size));
      put_head(gradients.query, expected.dqkv, 3 * width, first, column);
      put_head(gradients.key, expected.dqkv, 3 * width, first, width + column);
      put_head(gradients.value, expected.dqkv, 3 * width, first, 2 * width + column);
    }
  }
  return expected;
}

std::vector<Floats> computed(Backend& backend, const FeatureProblem& p, const Floats& qkv,
                             const Floats& dout) {
  const Index width = p.width();
  const QueryKeyValue inputs{
      {qkv.data(), 3 * width}, {qkv.data() + width, 3 * width}, {qkv.data() + 2 * width, 3 * width}};
  Guarded out(dout.size()), dqkv(qkv.size());
  backend.feature_attention_forward(p.batch(), inputs, {out.data(), width});
  QueryKeyValueGradients gradients;
  gradients.q = {dqkv.data(), 3 * width};
  gradients.k = {dqkv.data() + width, 3 * width};
  gradients.v = {dqkv.data() + 2 * width, 3 * width};
  backend.feature_attention_backward(p.batch(), inputs, {out.data(), width}, {dout.data(), width}, gradients);
  return {out.take(), dqkv.take()};
}

class PerformerKernel : public KernelTest {
 protected:
  void check(const FeatureProblem& p, float range = 2.0f) {
    SCOPED_TRACE(p.name() + ", " + std::to_string(p.lengths[0]) + " rows");
    const auto rows = static_cast<std::size_t>(p.rows()), width = static_cast<std::size_t>(p.width());
    const Floats qkv = random_floats(rows * 3 * width, 72, range), dout = random_floats(rows * width, 73);
    const std::vector<Floats> got = run([&](Backend& b) { return computed(b, p, qkv, dout); });
    const FeatureExpected expected = expected_of(p, qkv, dout);
    // Sums of waves cancel: what is left of them is small beside their parts.
    const bool waves = p.map == FeatureMap::trigonometric;
    double most = 0.0;
    for (std::size_t i = 0; i < got[0].size(); ++i)
      most = std::max(most, std::abs(got[0][i] - expected.out[i]));
    EXPECT_LT(most, waves ? 2e-5 : 2e-6);
    EXPECT_LT(relative_error(got[1], expected.dqkv), waves ? 1e-4 : 1e-5);
  }
};

TEST_P(PerformerKernel, G1IsTheReferenceAtLengthsAroundAChunk) {
  for (const Index chunk : {8, 16, 64}) {
    for (const bool causal : {false, true}) {
      for (const Index length : {Index{1}, chunk - 1, chunk, chunk + 1, Index{200}}) {
        FeatureProblem p;
        p.chunk = chunk;
        p.causal = causal;
        p.lengths = {length, 5};
        check(p.finish());
      }
    }
  }
}

TEST_P(PerformerKernel, G1LongSequences) {
  for (const bool causal : {false, true}) {
    FeatureProblem p;
    p.chunk = 64;
    p.heads = 1;
    p.causal = causal;
    p.lengths = {1025};
    check(p.finish());
  }
}

TEST_P(PerformerKernel, EveryMapWithAndWithoutAProjection) {
  for (const FeatureMap map :
       {FeatureMap::positive, FeatureMap::trigonometric, FeatureMap::relu, FeatureMap::elu}) {
    const bool of_softmax = map == FeatureMap::positive || map == FeatureMap::trigonometric;
    for (const bool projects : {true, false}) {
      if (of_softmax && !projects) continue;
      for (const bool causal : {false, true}) {
        FeatureProblem p;
        p.map = map;
        p.projects = projects;
        p.causal = causal;
        p.projected = 21;
        p.head_size = 5;
        p.lengths = {37, 1, 16};
        check(p.finish(), map == FeatureMap::trigonometric ? 0.5f : 2.0f);
      }
    }
  }
}

// An epsilon that carries a part of every weight, and exponents that grow along the sequence.
TEST_P(PerformerKernel, WhatEpsilonAddsAndExponentsThatGrow) {
  for (const bool causal : {false, true}) {
    FeatureProblem p;
    p.causal = causal;
    p.epsilon = 0.05f;
    p.lengths = {45, 30};
    check(p.finish(), 6.0f);
  }
}

// More columns than a product takes at a time.
TEST_P(PerformerKernel, ManyFeatures) {
  FeatureProblem p;
  p.heads = 1;
  p.projected = 700;
  p.lengths = {20};
  for (const bool causal : {false, true}) {
    p.causal = causal;
    check(p.finish(), 1.0f);
  }
}

TEST_P(PerformerKernel, G4PaddingAndBatchMatesChangeNoBit) {
  const auto backend = make_cpu_backend(GetParam().options(Precision::fp32));
  for (const bool causal : {false, true}) {
    FeatureProblem two;
    two.causal = causal;
    two.lengths = {13, 30};
    two.finish();
    FeatureProblem one = two;
    one.lengths = {30};
    one.more_padding = 2;
    one.finish();
    const auto width = static_cast<std::size_t>(two.width());
    Floats qkv = random_floats(static_cast<std::size_t>(two.rows()) * 3 * width, 74, 2.0f);
    Floats dout = random_floats(static_cast<std::size_t>(two.rows()) * width, 75);
    const std::vector<Floats> of_two = computed(*backend, two, qkv, dout);
    const auto first = static_cast<std::size_t>(two.offsets[1]);
    Floats qkv_one(static_cast<std::size_t>(one.rows()) * 3 * width, 9.0f),
        dout_one(static_cast<std::size_t>(one.rows()) * width, 9.0f);
    std::copy_n(qkv.begin() + static_cast<std::ptrdiff_t>(first * 3 * width), 30 * 3 * width,
                qkv_one.begin());
    std::copy_n(dout.begin() + static_cast<std::ptrdiff_t>(first * width), 30 * width, dout_one.begin());
    const std::vector<Floats> of_one = computed(*backend, one, qkv_one, dout_one);
    EXPECT_EQ(std::memcmp(of_two[0].data() + first * width, of_one[0].data(), 30 * width * sizeof(float)), 0);
    EXPECT_EQ(
        std::memcmp(of_two[1].data() + first * 3 * width, of_one[1].data(), 30 * 3 * width * sizeof(float)),
        0);
    for (std::size_t i = 30 * width; i < of_one[0].size(); ++i) ASSERT_EQ(of_one[0][i], 0.0f) << i;
    for (std::size_t i = 90 * width; i < of_one[1].size(); ++i) ASSERT_EQ(of_one[1][i], 0.0f) << i;
  }
}

// Where the published code takes the largest exponent over all keys, a later one is felt in what epsilon adds
// to earlier rows.
TEST_P(PerformerKernel, NoLaterTokenIsFelt) {
  const auto backend = make_cpu_backend(GetParam().options(Precision::fp32));
  FeatureProblem p;
  p.causal = true;
  p.epsilon = 0.01f;
  p.lengths = {30};
  p.finish();
  const auto width = static_cast<std::size_t>(p.width());
  const Floats dout(static_cast<std::size_t>(p.rows()) * width, 1.0f);
  Floats qkv = random_floats(static_cast<std::size_t>(p.rows()) * 3 * width, 76);
  const Floats before = computed(*backend, p, qkv, dout)[0];
  for (const std::size_t changed : {29u, 21u, 12u}) {
    for (std::size_t i = changed * 3 * width; i < qkv.size(); ++i) qkv[i] = 5.0f * qkv[i] + 1.0f;
    const Floats after = computed(*backend, p, qkv, dout)[0];
    EXPECT_EQ(std::memcmp(before.data(), after.data(), changed * width * sizeof(float)), 0) << changed;
    EXPECT_NE(before[changed * width], after[changed * width]) << changed;
  }
}

TEST_P(PerformerKernel, Bf16InputsAreThoseNumbers) {
  FeatureProblem p;
  p.lengths = {19, 8};
  p.finish();
  const Index width = p.width();
  const auto size = static_cast<std::size_t>(p.rows() * width);
  const Floats dout = random_floats(size, 78), qkv = as_floats(as_bf16(random_floats(3 * size, 77)));
  const std::vector<bf16> narrow = as_bf16(qkv);
  const auto backend = make_cpu_backend(GetParam().options(Precision::fp32));
  Floats out(size);
  const ConstValues values(narrow.data(), ElementType::bf16);
  backend->feature_attention_forward(
      p.batch(), {{values, 3 * width}, {values + width, 3 * width}, {values + 2 * width, 3 * width}},
      {out.data(), width});
  EXPECT_EQ(out, computed(*backend, p, qkv, dout)[0]);
}

BIGBIRD_KERNEL_TESTS(PerformerKernel);

}  // namespace
}  // namespace bigbird::kernels
