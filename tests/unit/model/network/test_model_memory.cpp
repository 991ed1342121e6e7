// The planned memory of a model and its batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lib/core/error.h"
#include "lib/model/network/memory.h"
#include "tests/unit/model/network/model_fixture.h"

namespace bigbird {
namespace {

using namespace testing;

std::size_t total(const std::vector<MemoryRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::size_t{0},
                         [](std::size_t sum, const MemoryRow& row) { return sum + row.bytes; });
}

// Bytes of so many floats in an arena.
std::size_t whole_lines(std::int64_t floats) {
  return (static_cast<std::size_t>(floats) * sizeof(float) + 255) / 256 * 256;
}

struct Extent {
  const std::byte* begin;
  std::size_t bytes;
};

TEST(ModelMemory, RowsAddUpToParametersGradientsArenaAndKernels) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = tiny_config();
  const BatchLimits limits{128, 3, 20, 64};
  for (const HeadType head :
       {HeadType::encoder, HeadType::pretraining, HeadType::masked_lm, HeadType::classification,
        HeadType::question_answering, HeadType::structured_answers}) {
    config.head = head;
    add_answer_scores(config);
    for (const ModelOptions options : {ModelOptions{}, ModelOptions{true, false}, ModelOptions{true, true}}) {
      Arena counted(nullptr);
      plan_activations(counted, config, limits, options, *backend);
      const std::size_t parameters = whole_lines(ParameterLayout(config).count());
      const std::size_t kernels = backend->scratch_bytes(attention_limits(config, limits, options));
      EXPECT_EQ(total(plan_model_memory(config, limits, options, *backend)),
                parameters * (options.training ? 2 : 1) + counted.used() + kernels);
    }
  }
}

TEST(ModelMemory, RowsSayWhichNumbersTheyHold) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = tiny_config();
  const BatchLimits limits{128, 3, 20, 64};
  for (const kernels::ElementType type : {kernels::ElementType::fp32, kernels::ElementType::bf16}) {
    const bool in_bf16 = type == kernels::ElementType::bf16;
    Arena arena(nullptr, type);
    plan_activations(arena, config, limits, {.training = true}, *backend);
    int layers = 0;
    for (const MemoryRow& row : arena.rows()) {
      EXPECT_LE(row.fp32_bytes + row.bf16_bytes, row.bytes) << row.what;
      if (!in_bf16) {
        EXPECT_EQ(row.bf16_bytes, 0u) << row.what;
      }
      if (row.what == "backward workspace") {
        EXPECT_EQ(row.number_types(), in_bf16 ? "bf16" : "fp32");
      }
      if (!row.what.starts_with("activations of ")) continue;
      ++layers;
      EXPECT_EQ(row.number_types(), in_bf16 ? "bf16, fp32" : "fp32") << row.what;
      EXPECT_EQ(row.fp32_bytes + row.bf16_bytes, row.bytes) << row.what;
    }
    EXPECT_EQ(layers, 1);
  }
  EXPECT_EQ((MemoryRow{"kernels", 100}).number_types(), "");
  EXPECT_EQ((MemoryRow{"heads", 100, 60, 20}).number_types(), "fp32, bf16");
}

// Of what training keeps of a layer, queries, keys, values, context and what the activation read.
TEST(ModelMemory, TrainingKeepsWhatProductsAloneReadInBf16) {
  const auto exact = kernels::make_cpu_backend();
  const auto narrow = kernels::make_cpu_backend(kernels::Precision::bf16);
  if (narrow->element_type() != kernels::ElementType::bf16) GTEST_SKIP() << "this processor keeps floats";
  const ModelConfig config = tiny_config();
  const BatchLimits limits{128, 3, 20, 64};
  const auto row_of = [&](const kernels::Backend& backend, const std::string& what) {
    for (const MemoryRow& row : plan_model_memory(config, limits, {.training = true}, backend)) {
      if (row.what.starts_with(what)) return row;
    }
    return MemoryRow{};
  };
  const MemoryRow layers = row_of(*narrow, "activations of "), before = row_of(*exact, "activations of ");
  EXPECT_EQ(layers.number_types(), "fp32, bf16");
  const std::size_t halved = 2 * 128 * (4 * 24 + 40);  // of two layers
  EXPECT_EQ(layers.bf16_bytes, halved * 2);
  EXPECT_EQ(before.bytes - layers.bytes, halved * 2);
  EXPECT_EQ(row_of(*narrow, "backward workspace").bf16_bytes, 128u * 4 * 24 * 2);
  for (const char* what : {"parameters", "gradients"}) {
    EXPECT_EQ(row_of(*narrow, what).bytes, row_of(*exact, what).bytes) << what;
    EXPECT_EQ(row_of(*narrow, what).number_types(), "fp32") << what;
  }
}

// What gelu gives is a row of its own, and nothing else changes; a layer's own memory, as large as it is.
TEST(ModelMemory, WhatGeluGivesIsARowWhereItIsKept) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = tiny_config();
  const BatchLimits limits{128, 3, 20, 64};
  const auto rows = plan_model_memory(config, limits, {.training = true}, *backend);
  auto keeping = plan_model_memory(config, limits, {.training = true, .keep_activated = true}, *backend);
  const auto kept = std::find_if(keeping.begin(), keeping.end(), [](const MemoryRow& row) {
    return row.what == "outputs of gelu in 2 layers";
  });
  ASSERT_NE(kept, keeping.end());
  EXPECT_EQ(kept->bytes, 2u * 128 * 40 * sizeof(float));
  EXPECT_EQ(kept->fp32_bytes, kept->bytes);
  keeping.erase(kept);
  ASSERT_EQ(keeping.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(keeping[i].what, rows[i].what);
    EXPECT_EQ(keeping[i].bytes, rows[i].bytes) << rows[i].what;
  }
}

TEST(ModelMemory, PlanAndPointersComeFromTheSameWalk) {
  const auto backend = kernels::make_cpu_backend();
  const ModelConfig config = tiny_config();
  const BatchLimits limits{128, 3, 20, 64};
  Arena counted(nullptr);
  plan_activations(counted, config, limits, {.training = true}, *backend);
  std::vector<std::byte> memory(counted.used());
  Arena arena(memory.data());
  const Activations kept = plan_activations(arena, config, limits, {.training = true}, *backend);
  EXPECT_EQ(arena.used(), counted.used());

  // What training keeps of every layer lies apart and inside.
  const std::size_t state = 128 * 24 * sizeof(float);
  std::vector<Extent> extents;
  const auto add = [&](kernels::ConstValues slice, std::size_t bytes) {
    extents.push_back({static_cast<const std::byte*>(slice.data()), bytes});
  };
  add(kept.states[0], state);
  for (std::size_t i = 0; i < kept.layers.size(); ++i) {
    const LayerActivations& layer = kept.layers[i];
    EXPECT_EQ(layer.feed_forward.norm.data(), kept.states[i + 1].data());
    add(layer.attention.qkv, 3 * state);
    add(layer.attention.context, state);
    add(layer.attention.log_sum_exp, 2 * 128 * sizeof(float));
    add(layer.attention.sum, state);
    add(layer.attention.norm, state);
    add(layer.feed_forward.pre, 128 * 40 * sizeof(float));
    EXPECT_EQ(layer.feed_forward.inner.data(), kept.workspace.wide.data());
    add(layer.feed_forward.sum, state);
    add(layer.feed_forward.norm, state);
  }
  add(kept.masked.logits, 20 * 37 * sizeof(float));
  add(kept.workspace.gradient, state);
  add(kept.workspace.branch, state);
  add(kept.workspace.wide, 4 * state);
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  EXPECT_GE(extents.front().begin, memory.data());
  for (std::size_t i = 1; i < extents.size(); ++i) {
    EXPECT_LE(extents[i - 1].begin + extents[i - 1].bytes, extents[i].begin);
  }
  EXPECT_LE(extents.back().begin + extents.back().bytes, memory.data() + memory.size());
}

// What the question head keeps lies apart from the encoder's activations and inside the arena.
TEST(ModelMemory, TheQuestionHeadHasPlaceOfItsOwn) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config = tiny_config();
  config.head = HeadType::question_answering;
  const BatchLimits limits{128, 3, 0, 64};
  for (const bool training : {false, true}) {
    Arena counted(nullptr);
    plan_activations(counted, config, limits, {.training = training}, *backend);
    std::vector<std::byte> memory(counted.used());
    Arena arena(memory.data());
    const Activations kept = plan_activations(arena, config, limits, {.training = training}, *backend);
    const QuestionActivations& head = kept.question;
    const std::size_t state = 128 * 24 * sizeof(float), inner = 128 * 40 * sizeof(float);
    std::vector<Extent> extents;
    const auto add_memory = [&](const void* slice, std::size_t bytes) {
      extents.push_back({static_cast<const std::byte*>(slice), bytes});
    };
    const auto add = [&](kernels::ConstValues slice, std::size_t bytes) { add_memory(slice.data(), bytes); };
    add(kept.states.back(), state);
    add(head.input, state);
    add(head.block.inner, inner);
    add(head.block.sum, state);
    add(head.block.norm, state);
    for (const float* row : {head.penalty, head.start, head.end}) add(row, 128 * sizeof(float));
    add_memory(head.labels, 6 * sizeof(std::int32_t));
    add(head.losses, 6 * sizeof(float));
    for (const TokenTargetActivations& side : head.targets) {
      add_memory(side.rows, 128 * sizeof(std::int32_t));
      add_memory(side.right, 128 * sizeof(std::int32_t));
      add_memory(side.offsets, 4 * sizeof(std::int32_t));
      add(side.losses, 3 * sizeof(float));
    }
    EXPECT_EQ(head.block.pre.data() != nullptr, training);
    EXPECT_EQ(head.dstart.data() != nullptr, training);
    if (training) {
      add(head.block.pre, inner);
      add(head.dstart, 128 * sizeof(float));
      add(head.dend, 128 * sizeof(float));
      add(kept.workspace.gradient, state);
      add(kept.workspace.branch, state);
      add(kept.workspace.wide, 4 * state);
    }
    std::sort(extents.begin(), extents.end(),
              [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    EXPECT_GE(extents.front().begin, memory.data());
    for (std::size_t i = 1; i < extents.size(); ++i) {
      EXPECT_LE(extents[i - 1].begin + extents[i - 1].bytes, extents[i].begin);
    }
    EXPECT_LE(extents.back().begin + extents.back().bytes, memory.data() + memory.size());
  }
}

TEST(ModelMemory, BaseModelTrainsWithinSixGigabytesWithItsMoments) {
  const auto backend = kernels::make_cpu_backend();
  ModelConfig config;
  config.vocab_size = 32000;
  const BatchLimits limits{4096, 1, 614, 4096};
  const std::size_t moments = 2 * static_cast<std::size_t>(ParameterLayout(config).count()) * sizeof(float);
  const std::size_t whole = total(plan_model_memory(config, limits, {.training = true}, *backend)) + moments;
  const std::size_t checkpointed =
      total(plan_model_memory(config, limits, {.training = true, .grad_checkpoint = true}, *backend)) +
      moments;
  EXPECT_LT(whole, std::size_t{5500} << 20);
  EXPECT_LT(checkpointed, std::size_t{3500} << 20);
  EXPECT_LT(total(plan_model_memory(config, limits, {}, *backend)), std::size_t{1000} << 20);
}

TEST(Batch, PadsEverySequenceToItsOwnMultiple) {
  Batch batch;
  batch.append({5, 6, 7}, {}, 4, 9);
  batch.append({1, 2, 3, 4}, {0, 0, 1, 1}, 4, 9);
  batch.append({8}, {1}, 4, 9, 6);
  EXPECT_EQ(batch.token_offsets, (std::vector<std::int64_t>{0, 4, 8, 16}));
  EXPECT_EQ(batch.lengths, (std::vector<std::int64_t>{3, 4, 1}));
  EXPECT_EQ(batch.ids, (std::vector<std::int32_t>{5, 6, 7, 9, 1, 2, 3, 4, 8, 9, 9, 9, 9, 9, 9, 9}));
  EXPECT_EQ(batch.types, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THROW(batch.append({}, {}, 4, 9), Error);
  EXPECT_THROW(batch.append({1, 2}, {0}, 4, 9), Error);
}

}  // namespace
}  // namespace bigbird
