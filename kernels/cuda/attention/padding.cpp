// The host's side of padded attention; see padding.h.
#include "kernels/cuda/attention/padding.h"

#include <algorithm>

namespace bigbird::kernels::cuda {
namespace {

constexpr std::size_t alignment = 256;

// Raw scores are far from it, and bf16 has it exactly. Times a scale of 1 / sqrt(128) it is still below every
// exponent of fp32.
constexpr float hidden = -1048576.0f;

// Where the padded matrices lie; the last four and the second row of statistics' gradient in training only.
struct Area {
  Area(const AttentionLimits& limits, ElementType type) {
    const AttentionPadding padding(limits.head_size, limits.block_size);
    const auto rows = static_cast<std::size_t>(padding.rows(limits.tokens));
    const auto heads = static_cast<std::size_t>(limits.heads);
    const std::size_t matrix = rows * heads * static_cast<std::size_t>(padding.padded_head) * size_of(type);
    const auto take = [this](std::size_t size) {
      const std::size_t offset = bytes;
      bytes += (size + alignment - 1) / alignment * alignment;
      return offset;
    };
    for (std::size_t* part : {&q, &k, &v, &out}) *part = take(matrix);
    statistics = take(heads * rows * sizeof(float));
    if (!limits.training) return;
    for (std::size_t* part : {&dout, &dq, &dk, &dv}) *part = take(matrix);
  }

  std::size_t q = 0, k = 0, v = 0, out = 0, statistics = 0;
  std::size_t dout = 0, dq = 0, dk = 0, dv = 0;
  std::size_t bytes = 0;
};

// What both directions have of a call.
struct Padded {
  Padded(const AttentionBatch& given, const AttentionCall& of_call, void* area_memory, ElementType of_type,
         bool training)
      : padding(given.head_size, given.block_size),
        call(of_call),
        memory(static_cast<std::byte*>(area_memory)),
        type(of_type),
        heads(given.heads),
        queries(given.token_offsets[given.sequences]),
        keys(given.key_offsets != nullptr ? given.key_offsets[given.sequences] : queries),
        area(limits_of(given, training), type) {}

  AttentionLimits limits_of(const AttentionBatch& given, bool training) const {
    AttentionLimits limits;
    limits.tokens = std::max(queries, keys);
    limits.heads = given.heads;
    limits.head_size = given.head_size;
    limits.block_size = given.block_size;
    limits.training = training;
    return limits;
  }
  Values matrix(std::size_t offset) const { return {memory + offset, type}; }
  Rows rows(std::size_t offset) const { return {matrix(offset), heads * padding.padded_head}; }
  ConstRows const_rows(std::size_t offset) const { return {matrix(offset), heads * padding.padded_head}; }
  float* statistics() const { return reinterpret_cast<float*>(memory + area.statistics); }
  PaddedMatrix of_queries(float mark = 0.0f) const { return {padding, heads, queries, mark, mark}; }
  PaddedMatrix of_keys(float mark = 0.0f) const { return {padding, heads, keys, 0.0f, mark}; }

  QueryKeyValue inputs(const QueryKeyValue& given) const {
    pad_rows(of_queries(1.0f), given.q, matrix(area.q), call.stream);
    pad_rows(of_keys(hidden), given.k, matrix(area.k), call.stream);
    pad_rows(of_keys(), given.v, matrix(area.v), call.stream);
    return {const_rows(area.q), const_rows(area.k), const_rows(area.v)};
  }

  AttentionPadding padding;
  const AttentionCall& call;
  std::byte* memory;
  ElementType type;
  Index heads, queries, keys;
  Area area;
};

std::vector<Index> padded_rows(const Index* rows, Index count, const AttentionPadding& padding) {
  std::vector<Index> padded(rows, rows + count);
  for (Index& row : padded) row = padding.rows(row);
  return padded;
}

}  // namespace

AttentionPadding::AttentionPadding(Index heads_of, Index blocks_of)
    : head_size(heads_of), block_size(blocks_of), padded_block((blocks_of + 15) / 16 * 16) {
  const Index columns = head_size + (pads_blocks() ? 1 : 0);
  padded_head = columns <= 32 ? 32 : columns <= 64 ? 64 : 128;
}

AttentionLimits AttentionPadding::limits(AttentionLimits of) const {
  of.tokens = rows(of.tokens);
  of.longest = rows(of.longest);
  of.head_size = padded_head;
  of.block_size = padded_block;
  return of;
}

std::size_t attention_padding_bytes(const AttentionLimits& limits, ElementType type) {
  const AttentionPadding padding(limits.head_size, limits.block_size);
  return padding.needed() ? Area(limits, type).bytes : 0;
}

PaddedBatch::PaddedBatch(const AttentionBatch& batch, const AttentionPadding& padding)
    : token_offsets_(padded_rows(batch.token_offsets, batch.sequences + 1, padding)),
      lengths_(padded_rows(batch.lengths, batch.sequences, padding)),
      batch_(batch) {
  batch_.head_size = padding.padded_head;
  batch_.block_size = padding.padded_block;
  batch_.token_offsets = token_offsets_.data();
  batch_.lengths = lengths_.data();
  if (batch.query_lengths != nullptr) {
    query_lengths_ = padded_rows(batch.query_lengths, batch.sequences, padding);
    batch_.query_lengths = query_lengths_.data();
  }
  if (batch.key_offsets != nullptr) {
    key_offsets_ = padded_rows(batch.key_offsets, batch.sequences + 1, padding);
    batch_.key_offsets = key_offsets_.data();
  }
}

void padded_attention_forward(const AttentionBatch& given, const AttentionCall& call, void* area,
                              const QueryKeyValue& inputs, Rows out, float* log_sum_exp) {
  const Padded padded(given, call, area, out.data.type(), false);
  float* const statistics = log_sum_exp == nullptr ? nullptr : padded.statistics();
  attention_forward(call, padded.inputs(inputs), padded.rows(padded.area.out), statistics);
  take_rows(padded.of_queries(), padded.matrix(padded.area.out), out, call.stream);
  if (log_sum_exp != nullptr) take_statistics(padded.of_queries(), statistics, log_sum_exp, call.stream);
}

void padded_attention_backward(const AttentionBatch& given, const AttentionCall& call, void* area,
                               const QueryKeyValue& inputs, ConstRows out, const float* log_sum_exp,
                               ConstRows dout, const QueryKeyValueGradients& gradients, bool deterministic) {
  const Padded padded(given, call, area, out.data.type(), true);
  const QueryKeyValue own = padded.inputs(inputs);
  pad_rows(padded.of_queries(), out, padded.matrix(padded.area.out), call.stream);
  pad_rows(padded.of_queries(), dout, padded.matrix(padded.area.dout), call.stream);
  pad_statistics(padded.of_queries(), log_sum_exp, padded.statistics(), call.stream);
  const QueryKeyValueGradients to{padded.rows(padded.area.dq), padded.rows(padded.area.dk),
                                  padded.rows(padded.area.dv), gradients.relative};
  attention_backward(call, own, padded.const_rows(padded.area.out), padded.statistics(),
                     padded.const_rows(padded.area.dout), to, deterministic);
  take_rows(padded.of_queries(), to.q.data, gradients.q, call.stream);
  take_rows(padded.of_keys(), to.k.data, gradients.k, call.stream);
  take_rows(padded.of_keys(), to.v.data, gradients.v, call.stream);
}

}  // namespace bigbird::kernels::cuda
