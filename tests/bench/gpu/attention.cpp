// Attention over the published block plans, forward and backward, in fixed order and in the faster one.
#include <memory>
#include <utility>
#include <vector>

#include "lib/model/plans/block_plan.h"
#include "tests/bench/gpu/bench.h"

namespace bigbird::bench {
namespace {

using kernels::Index;

struct Size {
  Index sequences, tokens;
};

// The timings of forward (empty where not deterministic) and backward.
std::pair<Timing, Timing> one_size(const Options& options, Report& report, const Shapes& shapes, Size size,
                                   bool deterministic) {
  Bench bench(options, report, deterministic);
  kernels::Backend& backend = bench.backend();
  const Index tokens = size.sequences * size.tokens, width = shapes.width, stride = 3 * width;

  ModelConfig config;
  config.num_attention_heads = shapes.heads;
  config.hidden_size = width;
  config.block_size = shapes.block;
  config.max_position_embeddings = size.tokens;
  PlanCache plans(config);
  const kernels::BlockPlanView& plan = plans.plan(0, size.tokens / shapes.block).view();
  const std::vector<const kernels::BlockPlanView*> views(static_cast<std::size_t>(size.sequences), &plan);
  const std::vector<Index> lengths(static_cast<std::size_t>(size.sequences), size.tokens);
  std::vector<Index> offsets{0};
  for (Index s = 0; s < size.sequences; ++s) offsets.push_back(offsets.back() + size.tokens);

  kernels::AttentionBatch batch;
  batch.sequences = size.sequences;
  batch.heads = shapes.heads;
  batch.head_size = shapes.head_size();
  batch.block_size = shapes.block;
  batch.token_offsets = offsets.data();
  batch.lengths = lengths.data();
  batch.plans = views.data();
  batch.scale = 0.125f;
  backend.reserve_scratch(
      {1, size.sequences, tokens, size.tokens, shapes.heads, shapes.head_size(), shapes.block, 0, true});
  backend.prepare_attention(batch);

  struct Set {
    Set(Bench& bench, Index tokens, Index width, Index heads)
        : qkv(bench, tokens * 3 * width, bench.type()),
          out(bench, tokens * width, bench.type()),
          dout(bench, tokens * width, bench.type()),
          gradients(bench, tokens * 3 * width, bench.type()),
          log_sum_exp(bench, tokens * heads, kernels::ElementType::fp32) {}
    Noise qkv, out, dout, gradients, log_sum_exp;
  };
  const Set sets[] = {{bench, tokens, width, shapes.heads}, {bench, tokens, width, shapes.heads}};
  const auto columns = [&](const Noise& matrix, Index part) {
    return kernels::Rows{matrix.values() + part * width, stride};
  };
  const auto inputs = [&](const Set& set) {
    return kernels::QueryKeyValue{columns(set.qkv, 0), columns(set.qkv, 1), columns(set.qkv, 2)};
  };
  const auto forward = [&](int i) {
    const Set& set = sets[i % 2];
    backend.attention_forward(batch, inputs(set), {set.out.values(), width}, set.log_sum_exp.floats());
  };
  const auto backward = [&](int i) {
    const Set& set = sets[i % 2];
    backend.attention_backward(
        batch, inputs(set), {set.out.values(), width}, set.log_sum_exp.floats(), {set.dout.values(), width},
        {columns(set.gradients, 0), columns(set.gradients, 1), columns(set.gradients, 2)});
  };

  // One product of a listed pair of blocks, of all heads and sequences.
  const double product = 2.0 * static_cast<double>(plan.row_offsets[plan.heads * plan.blocks]) *
                         static_cast<double>(shapes.block * shapes.block * shapes.head_size()) *
                         static_cast<double>(size.sequences);
  // What forward reads and keeps for backward: q, k, v, the output and one number a row and head.
  const double kept = static_cast<double>(tokens) * static_cast<double>(4 * width) *
                          static_cast<double>(kernels::size_of(bench.type())) +
                      4.0 * static_cast<double>(tokens * shapes.heads);
  const std::vector<Fact> facts{{"sequences", static_cast<double>(size.sequences)},
                                {"tokens", static_cast<double>(size.tokens)},
                                {"kept_bytes_per_sequence", kept / static_cast<double>(size.sequences)}};
  Timing ahead;
  if (deterministic) {
    ahead = bench.recorded(forward);
    bench.add("attention_forward", "bigbird", ahead, 2 * product, 0, facts);
  } else {
    for (int i = 0; i < 2; ++i) forward(i);  // backward needs their outputs
  }
  const Timing behind = bench.recorded(backward);
  bench.add("attention_backward", deterministic ? "bigbird" : "bigbird-fast", behind, 5 * product, 0, facts);
  return {ahead, behind};
}

}  // namespace

void bench_attention(const Options& options, Report& report) {
  const Shapes shapes(options.tiny);
  const std::vector<Size> sizes =
      options.tiny ? std::vector<Size>{{2, 256}} : std::vector<Size>{{8, 4096}, {2, 16384}, {1, 65536}};
  const auto [forward, backward] = one_size(options, report, shapes, sizes[0], true);
  bench_etc_attention(options, report, forward, backward);
  one_size(options, report, shapes, sizes[0], false);
  for (std::size_t i = 1; i < sizes.size(); ++i) {
    for (const bool deterministic : {true, false}) one_size(options, report, shapes, sizes[i], deterministic);
  }
}

}  // namespace bigbird::bench
