// Attention of a layer of BigBird-ETC: long rows see a window of tokens and all global ones, global rows see
// everything; each side one softmax, made of two groups of keys, with terms for the labels of pairs (Ainslie
// et al. 2020, section 2). Beside BigBird's plan of the same length.
#include <memory>
#include <vector>

#include "lib/model/plans/block_plan.h"
#include "tests/bench/gpu/bench.h"

namespace bigbird::bench {
namespace {

using kernels::Index;

struct Sizes {
  Index sequences, tokens, globals, radius, block, most;
  Index blocks() const { return tokens / block; }
  Index global_blocks() const { return (globals + block - 1) / block; }
  Index global_rows() const { return global_blocks() * block; }
};

using Lists = std::vector<std::vector<std::vector<std::int32_t>>>;

// Every query block lists the key blocks up to `reach` before and behind it; 0: all.
Lists lists(Index heads, Index blocks, Index key_blocks, Index reach) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(blocks));
  for (Index row = 0; row < blocks; ++row) {
    for (Index key = 0; key < key_blocks; ++key) {
      if (reach == 0 || (key >= row - reach && key <= row + reach))
        rows[static_cast<std::size_t>(row)].push_back(static_cast<std::int32_t>(key));
    }
  }
  return Lists(static_cast<std::size_t>(heads), rows);
}

// `count` sequences of so many rows each.
std::vector<Index> offsets_of(Index count, Index rows) {
  std::vector<Index> offsets;
  for (Index s = 0; s <= count; ++s) offsets.push_back(s * rows);
  return offsets;
}

// One of the four groups of queries and keys.
struct Group {
  BlockPlan plan;
  std::vector<const kernels::BlockPlanView*> views;
  kernels::PairRule rule;
  kernels::RelativeTerm relative;
  kernels::AttentionBatch batch;

  Group(const Lists& rows, Index key_blocks, Index sequences)
      : plan(rows, key_blocks), views(static_cast<std::size_t>(sequences), &plan.view()) {}
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
};

struct Layer {
  Layer(Bench& of_bench, const Shapes& of_shapes, const Sizes& of_sizes)
      : bench(of_bench),
        shapes(of_shapes),
        sizes(of_sizes),
        labels(2 * sizes.most + 8),
        long_offsets(offsets_of(sizes.sequences, sizes.tokens)),
        global_offsets(offsets_of(sizes.sequences, sizes.global_rows())),
        long_lengths(static_cast<std::size_t>(sizes.sequences), sizes.tokens),
        global_lengths(static_cast<std::size_t>(sizes.sequences), sizes.globals),
        sentences(bench, sentences_of(sizes)),
        numbers(bench, numbers_of(sizes)),
        weight(bench, labels * shapes.width, kernels::ElementType::fp32),
        bias(bench, labels * shapes.heads, kernels::ElementType::fp32),
        long_own(lists(shapes.heads, sizes.blocks(), sizes.blocks(),
                       (sizes.radius + sizes.block - 1) / sizes.block),
                 0, sizes.sequences),
        long_global(lists(shapes.heads, sizes.blocks(), sizes.global_blocks(), 0), sizes.global_blocks(),
                    sizes.sequences),
        global_own(lists(shapes.heads, sizes.global_blocks(), sizes.global_blocks(), 0), 0, sizes.sequences),
        global_long(lists(shapes.heads, sizes.global_blocks(), sizes.blocks(), 0), sizes.blocks(),
                    sizes.sequences) {
    long_own.rule.before = long_own.rule.after = sizes.radius;
    Index slot = 0;
    for (Group* group : {&long_own, &long_global, &global_own, &global_long}) {
      const bool of_long = group == &long_own || group == &long_global;
      const bool cross = group == &long_global || group == &global_long;
      kernels::AttentionBatch& batch = group->batch;
      batch.slot = slot++;
      batch.sequences = sizes.sequences;
      batch.heads = shapes.heads;
      batch.head_size = shapes.head_size();
      batch.block_size = sizes.block;
      batch.token_offsets = of_long ? long_offsets.data() : global_offsets.data();
      batch.query_lengths = of_long ? long_lengths.data() : global_lengths.data();
      batch.lengths = of_long != cross ? long_lengths.data() : global_lengths.data();
      if (cross) batch.key_offsets = of_long ? global_offsets.data() : long_offsets.data();
      batch.plans = group->views.data();
      batch.scale = 0.125f;
      batch.rule = &group->rule;
      batch.relative = &group->relative;
      group->relative = {weight.floats(), bias.floats(), labels, sizes.most, cross};
      if (!cross) continue;
      group->rule.link_columns = 1;
      group->rule.query_links = of_long ? sentences.data() : numbers.data();
      group->rule.key_links = of_long ? numbers.data() : sentences.data();
    }
  }

  static std::vector<std::int32_t> sentences_of(const Sizes& sizes) {
    std::vector<std::int32_t> result;
    for (Index row = 0; row < sizes.sequences * sizes.tokens; ++row)
      result.push_back(static_cast<std::int32_t>(row % sizes.tokens * sizes.globals / sizes.tokens));
    return result;
  }
  static std::vector<std::int32_t> numbers_of(const Sizes& sizes) {
    std::vector<std::int32_t> result;
    for (Index row = 0; row < sizes.sequences * sizes.global_rows(); ++row)
      result.push_back(static_cast<std::int32_t>(row % sizes.global_rows()));
    return result;
  }
  // Pairs of blocks that are listed, of all heads and sequences.
  double listed() const {
    double pairs = 0;
    for (const Group* group : {&long_own, &long_global, &global_own, &global_long}) {
      const kernels::BlockPlanView& view = group->plan.view();
      pairs += static_cast<double>(view.row_offsets[view.heads * view.blocks]);
    }
    return pairs * static_cast<double>(sizes.sequences);
  }

  Bench& bench;
  const Shapes& shapes;
  const Sizes& sizes;
  Index labels;
  std::vector<Index> long_offsets, global_offsets, long_lengths, global_lengths;
  OnDevice<std::int32_t> sentences, numbers;
  Noise weight, bias;
  Group long_own, long_global, global_own, global_long;
};

// The matrices of one side's queries, and of what they give and get, over two groups of keys.
struct Side {
  Side(Bench& bench, Index rows_of, Index width_of, Index heads)
      : rows(rows_of),
        width(width_of),
        // Queries; keys and values for the own side's queries, then for those of the other.
        given(bench, rows * 5 * width, bench.type()),
        got(bench, rows * 5 * width, bench.type()),
        out(bench, rows * width, bench.type()),
        second(bench, rows * width, bench.type()),
        dout(bench, rows * width, bench.type()),
        dq(bench, rows * width, bench.type()),
        sums(bench, rows * heads, kernels::ElementType::fp32),
        second_sums(bench, rows * heads, kernels::ElementType::fp32) {}
  static kernels::Rows columns(const Noise& matrix, Index width, Index part) {
    return {matrix.values() + part * width, 5 * width};
  }
  kernels::Rows of(const Noise& matrix, Index part) const { return columns(matrix, width, part); }

  Index rows, width;
  Noise given, got, out, second, dout, dq, sums, second_sums;
};

}  // namespace

void bench_etc_attention(const Options& options, Report& report, const Timing& forward_of_plan,
                         const Timing& backward_of_plan) {
  const Shapes shapes(options.tiny);
  const Sizes sizes =
      options.tiny ? Sizes{2, 256, 20, 21, shapes.block, 4} : Sizes{8, 4096, 230, 84, shapes.block, 12};
  Bench bench(options, report, true);
  kernels::Backend& backend = bench.backend();
  const Index width = shapes.width, heads = shapes.heads;
  kernels::AttentionLimits limits;
  limits.slots = 4;
  limits.sequences = sizes.sequences;
  limits.tokens = sizes.sequences * sizes.tokens;
  limits.longest = sizes.tokens;
  limits.heads = heads;
  limits.head_size = shapes.head_size();
  limits.block_size = sizes.block;
  limits.labels = 2 * sizes.most + 8;
  limits.training = true;
  backend.reserve_scratch(limits);
  Layer layer(bench, shapes, sizes);
  for (const Group* group : {&layer.long_own, &layer.long_global, &layer.global_own, &layer.global_long})
    backend.prepare_attention(group->batch);
  const Side long_side(bench, sizes.sequences * sizes.tokens, width, heads);
  const Side global_side(bench, sizes.sequences * sizes.global_rows(), width, heads);
  const Noise dweight(bench, layer.labels * width, kernels::ElementType::fp32);
  const Noise dbias(bench, layer.labels * heads, kernels::ElementType::fp32);

  // Queries of one side over keys of both.
  const auto attend = [&](const Group& own, const Group& other, const Side& side, const Side& others) {
    const auto q = side.of(side.given, 0);
    const kernels::Rows out{side.out.values(), width}, second{side.second.values(), width};
    backend.attention_forward(own.batch, {q, side.of(side.given, 1), side.of(side.given, 2)}, out,
                              side.sums.floats());
    backend.attention_forward(other.batch, {q, others.of(others.given, 3), others.of(others.given, 4)},
                              second, side.second_sums.floats());
    backend.merge_attention({out, side.sums.floats()}, {second, side.second_sums.floats()}, out,
                            side.sums.floats(), side.rows, heads, shapes.head_size());
  };
  const auto back = [&](const Group& own, const Group& other, const Side& side, const Side& others) {
    const auto q = side.of(side.given, 0);
    const kernels::Rows out{side.out.values(), width}, dout{side.dout.values(), width},
        dq{side.dq.values(), width}, second{side.second.values(), width};
    const kernels::RelativeGradients of_labels{dweight.floats(), dbias.floats()};
    backend.attention_backward(own.batch, {q, side.of(side.given, 1), side.of(side.given, 2)}, out,
                               side.sums.floats(), dout,
                               {dq, side.of(side.got, 1), side.of(side.got, 2), of_labels});
    backend.attention_backward(other.batch, {q, others.of(others.given, 3), others.of(others.given, 4)}, out,
                               side.sums.floats(), dout,
                               {second, others.of(others.got, 3), others.of(others.got, 4), of_labels});
    backend.add(second.data, dq.data, side.rows * width);
  };
  const auto forward = [&](int) {
    attend(layer.long_own, layer.long_global, long_side, global_side);
    attend(layer.global_own, layer.global_long, global_side, long_side);
  };
  const auto backward = [&](int) {
    back(layer.long_own, layer.long_global, long_side, global_side);
    back(layer.global_own, layer.global_long, global_side, long_side);
  };
  const double product =
      2.0 * layer.listed() * static_cast<double>(sizes.block * sizes.block * shapes.head_size());
  const auto facts = [&](const Timing& timing, const Timing& of_plan) {
    return std::vector<Fact>{{"sequences", static_cast<double>(sizes.sequences)},
                             {"tokens", static_cast<double>(sizes.tokens)},
                             {"globals", static_cast<double>(sizes.globals)},
                             {"radius", static_cast<double>(sizes.radius)},
                             {"over_bigbird", timing.milliseconds / of_plan.milliseconds}};
  };
  const Timing ahead = bench.recorded(forward);
  bench.add("etc_attention_forward", "bigbird", ahead, 2 * product, 0, facts(ahead, forward_of_plan));
  const Timing behind = bench.recorded(backward);
  bench.add("etc_attention_backward", "bigbird", behind, 5 * product, 0, facts(behind, backward_of_plan));
}

}  // namespace bigbird::bench
