// Reformer's attention against LSHSelfAttention of transformers 4.57.1 (tests/peers/make_reformer.py), whose
// rotations are handed over: the reference in double, and the kernels that models compute with; and whole
// models against its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/io/weights/safetensors.h"
#include "lib/model/network/model.h"
#include "reference/hashed_attention.h"
#include "tests/golden/package_numbers.h"
#include "tests/support/support.h"

namespace bigbird {
namespace {

using namespace testing;

struct ReformerCase {
  std::size_t tokens = 0, chunk = 0, hashes = 0;
  std::array<std::size_t, 2> factors{};
  bool causal = false;
  std::vector<float> q, v, weights, rotations;

  std::size_t columns() const { return (factors[0] + factors[1]) / 2; }
};

class ReformerGolden : public ::testing::Test {
 protected:
  int cases() const { return std::stoi(golden_.metadata().at("cases")); }
  std::size_t heads() const { return std::stoul(golden_.metadata().at("heads")); }
  std::vector<float> floats(int number, const char* name) const {
    return golden_.floats(std::to_string(number) + "." + name);
  }
  ReformerCase at(int number) const {
    ReformerCase of;
    std::istringstream(golden_.metadata().at(std::to_string(number) + ".case")) >> of.tokens >> of.chunk >>
        of.hashes >> of.factors[0] >> of.factors[1] >> of.causal;
    of.q = floats(number, "q");
    of.v = floats(number, "v");
    of.weights = floats(number, "weights");
    // Of a sequence within one chunk nothing is hashed: any rotations will do.
    of.factors[0] = std::max<std::size_t>(of.factors[0], 2);
    if (of.tokens > of.chunk) {
      of.rotations = floats(number, "rotations");
    } else {
      of.rotations.assign(of.hashes * of.columns() * of.q.size() / of.tokens, 1.0f);
    }
    return of;
  }

  const SafetensorsFile golden_{(source_dir() / "tests/golden/neighbours/reformer.safetensors").string()};
};

TEST_F(ReformerGolden, R1TheReferenceIsTransformers) {
  for (int number = 0; number < cases(); ++number) {
    const ReformerCase of = at(number);
    SCOPED_TRACE(number);
    const std::size_t width = of.q.size() / of.tokens, size = width / heads();
    const auto matrix = [&](const std::vector<float>& values) {
      return reference::Matrix(of.tokens, width, {values.begin(), values.end()});
    };
    reference::Matrix out(of.tokens, width), dq(of.tokens, width), dv(of.tokens, width);
    for (std::size_t head = 0; head < heads(); ++head) {
      const auto part = [&](const std::vector<float>& values) {
        return rows_of(matrix(values), 0, of.tokens, head * size, size);
      };
      std::vector<reference::Matrix> rotations;
      for (std::size_t round = 0; round < of.hashes; ++round) {
        const auto begin = of.rotations.begin() +
                           static_cast<std::ptrdiff_t>((head * of.hashes + round) * of.columns() * size);
        rotations.emplace_back(
            of.columns(), size,
            reference::Vector(begin, begin + static_cast<std::ptrdiff_t>(of.columns() * size)));
        if (of.tokens <= of.chunk) continue;
        const std::vector<std::size_t> found = buckets_of(part(of.q), rotations.back(), of.factors);
        const std::vector<float> buckets = floats(number, "buckets");
        for (std::size_t i = 0; i < of.tokens; ++i) {
          ASSERT_EQ(static_cast<float>(found[i]), buckets[(head * of.hashes + round) * of.tokens + i])
              << "head " << head << ", round " << round << ", token " << i;
        }
      }
      const reference::HashedAttention attention{of.chunk, of.causal,
                                                 hashed_places(part(of.q), rotations, of.factors, of.chunk)};
      add_rows(out, hashed_attention_forward(attention, part(of.q), part(of.v)), 0, head * size);
      const auto gradients = hashed_attention_backward(attention, part(of.q), part(of.v), part(of.weights));
      add_rows(dq, gradients.query, 0, head * size);
      add_rows(dv, gradients.value, 0, head * size);
    }
    expect_output(out.values, floats(number, "out"));
    expect_gradient(dq.values, floats(number, "dq"), "q");
    expect_gradient(dv.values, floats(number, "dv"), "v");
  }
}

TEST_F(ReformerGolden, G3TheKernelsAreTransformers) {
  using kernels::Index;
  const auto backend = kernels::make_cpu_backend();
  for (int number = 0; number < cases(); ++number) {
    const ReformerCase of = at(number);
    SCOPED_TRACE(number);
    const auto tokens = static_cast<Index>(of.tokens), chunk = static_cast<Index>(of.chunk);
    const auto width = static_cast<Index>(of.q.size() / of.tokens);
    const Index chunks = (tokens + chunk - 1) / chunk, rounds = static_cast<Index>(of.hashes);
    const std::vector<Index> offsets = {0, tokens}, lengths = {tokens},
                             places = {0, chunk * chunks * (chunks > 1 ? rounds : 1)},
                             factors = {static_cast<Index>(of.factors[0]), static_cast<Index>(of.factors[1])};
    kernels::ClusterBatch batch;
    batch.sequences = 1;
    batch.heads = static_cast<Index>(heads());
    batch.head_size = width / batch.heads;
    batch.cluster = chunk;
    batch.token_offsets = offsets.data();
    batch.lengths = lengths.data();
    batch.place_offsets = places.data();
    batch.causal = of.causal;
    std::vector<std::int32_t> order(static_cast<std::size_t>(batch.heads * batch.places()));
    backend->sort_by_hash(batch,
                          {rounds, factors.data(), of.rotations.data(), static_cast<Index>(of.columns())},
                          {of.q.data(), width}, order.data());
    std::vector<float> out(of.q.size()), sums(static_cast<std::size_t>(batch.heads * tokens)),
        dq(of.q.size()), dv(of.q.size());
    backend->cluster_attention_forward(batch, order.data(), {of.q.data(), width}, {of.v.data(), width},
                                       {out.data(), width}, sums.data());
    backend->cluster_attention_backward(batch, order.data(), {of.q.data(), width}, {of.v.data(), width},
                                        {out.data(), width}, sums.data(), {of.weights.data(), width},
                                        {dq.data(), width}, {dv.data(), width});
    expect_output(out, floats(number, "out"));
    expect_gradient(dq, floats(number, "dq"), "q");
    expect_gradient(dv, floats(number, "dv"), "v");
  }
}

// Whole models of two reversible layers, within one chunk: states, logits, loss and every gradient.
TEST_F(ReformerGolden, R1ModelsAreReformerModels) {
  const auto backend = kernels::make_cpu_backend();
  for (const std::string kind : {"classes", "next"}) {
    SCOPED_TRACE(kind);
    const bool next = kind == "next";
    ModelConfig config;
    config.vocab_size = 19;
    config.hidden_size = 12;
    config.num_attention_heads = 2;
    config.num_hidden_layers = 2;
    config.intermediate_size = 20;
    config.max_position_embeddings = 32;
    config.block_size = 4;
    config.type_vocab_size = 0;
    config.layer_norm_eps = 1e-12;
    config.activation = bigbird::Activation::relu;
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0;
    config.attention = AttentionPattern::reformer;
    config.attention_options.reformer = {.chunk = 16, .reversible = true};
    config.causal = next;
    config.head = next ? HeadType::causal_lm : HeadType::classification;
    config.head_form = HeadForm::roberta;
    config.num_labels = 3;
    become_published(config);
    const std::vector<std::int64_t> ids = golden_.integers(kind + ".ids");
    const auto tokens = static_cast<std::int32_t>(ids.size());
    Batch batch;
    batch.append({ids.begin(), ids.end()}, {}, config.block_size, 0);
    for (std::int32_t row = 0; next && row + 1 < tokens; ++row) {
      batch.masked_rows.push_back(row);
      batch.masked_labels.push_back(static_cast<std::int32_t>(ids[static_cast<std::size_t>(row) + 1]));
    }
    if (!next) batch.sequence_labels = {2};
    BatchLimits limits;
    limits.tokens = limits.longest = batch.tokens();
    limits.sequences = 1;
    limits.masked_tokens = static_cast<std::int64_t>(batch.masked_rows.size());
    Model model(*backend, config, limits, {.training = true});
    std::vector<float> parameters(static_cast<std::size_t>(model.layout().count()), 0.0f);
    const auto theirs = [](const TensorSpec& spec) { return !spec.name.starts_with("bert.pooler."); };
    for (const TensorSpec& spec : model.layout().tensors()) {
      if (!theirs(spec)) continue;
      const std::vector<float> values = golden_.floats(kind + "." + spec.name);
      ASSERT_EQ(values.size(), static_cast<std::size_t>(spec.count)) << spec.name;
      std::copy(values.begin(), values.end(), parameters.begin() + spec.offset);
    }
    model.set_parameters(parameters);
    const ForwardResult result = model.forward(batch, {});
    const LossScale scale = mean_scale(result);
    EXPECT_NEAR(scaled_loss(result, scale), golden_.floats(kind + ".loss")[0], 2e-5);
    std::vector<float> states = model.last_hidden_state(), expected = golden_.floats(kind + ".logits");
    states.resize(ids.size() * 24);
    expect_output(states, golden_.floats(kind + ".hidden"));
    if (next) expected.resize((ids.size() - 1) * 19);  // the last token predicts nothing here
    expect_output(next ? model.masked_logits() : model.sequence_logits(), expected);
    model.backward(scale);
    const std::vector<float> gradients = model.host_gradients();
    for (const TensorSpec& spec : model.layout().tensors()) {
      if (!theirs(spec)) continue;
      const auto first = gradients.begin() + spec.offset;
      expect_gradient(std::vector<float>(first, first + spec.count),
                      golden_.floats(kind + ".gradient." + spec.name), spec.name.c_str());
    }
  }
}

}  // namespace
}  // namespace bigbird
