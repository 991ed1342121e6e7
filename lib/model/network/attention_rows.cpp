// See attention_rows.h.
#include "lib/model/network/attention_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <string>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// Where the nodes of the sequences lie: spans of sequence s from span_begins[s] on.
std::vector<std::int64_t> span_begins(const Batch& batch) {
  std::vector<std::int64_t> begins{batch.tokens()};
  for (const std::int64_t length : batch.lengths) begins.push_back(begins.back() + partition_spans(length));
  return begins;
}

// The lists of all rows of a batch; padding has none.
struct BatchLists {
  std::vector<std::int32_t> rows, labels, offsets{0};
};
BatchLists lists_of(const Batch& batch, PartitionCache& cache) {
  const std::vector<std::int64_t> begins = span_begins(batch);
  BatchLists all;
  all.offsets.reserve(static_cast<std::size_t>(batch.rows()) + 1);
  // Of sequence s nodes first .. last.
  const auto append = [&](std::size_t s, std::int64_t first, std::int64_t last) {
    const BinaryPartition& lists = cache.lists(batch.lengths[s]);
    const std::int64_t length = batch.lengths[s];
    const auto token = static_cast<std::int32_t>(batch.token_offsets[s]);
    const auto span = static_cast<std::int32_t>(begins[s] - length);
    const std::int32_t begin = lists.offsets[static_cast<std::size_t>(first)];
    const std::int32_t end = lists.offsets[static_cast<std::size_t>(last)];
    const auto before = static_cast<std::int32_t>(all.rows.size());
    for (std::int32_t entry = begin; entry < end; ++entry) {
      const std::int32_t row = lists.rows[static_cast<std::size_t>(entry)];
      all.rows.push_back(row + (row < length ? token : span));
    }
    all.labels.insert(all.labels.end(), lists.labels.begin() + begin, lists.labels.begin() + end);
    for (std::int64_t node = first; node < last; ++node)
      all.offsets.push_back(before + lists.offsets[static_cast<std::size_t>(node) + 1] - begin);
  };
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    append(s, 0, batch.lengths[s]);
    const std::int64_t padding = batch.token_offsets[s + 1] - batch.token_offsets[s] - batch.lengths[s];
    all.offsets.insert(all.offsets.end(), static_cast<std::size_t>(padding), all.offsets.back());
  }
  for (std::size_t s = 0; s < batch.lengths.size(); ++s)
    append(s, batch.lengths[s], batch.lengths[s] + partition_spans(batch.lengths[s]));
  return all;
}

// The other way around.
struct ListsByKey {
  std::vector<std::int32_t> queries, labels, offsets;
};
ListsByKey by_key(const BatchLists& lists) {
  const std::size_t rows = lists.offsets.size() - 1;
  ListsByKey made{std::vector<std::int32_t>(lists.rows.size()), std::vector<std::int32_t>(lists.rows.size()),
                  std::vector<std::int32_t>(rows + 1, 0)};
  for (const std::int32_t row : lists.rows) ++made.offsets[static_cast<std::size_t>(row) + 1];
  std::partial_sum(made.offsets.begin(), made.offsets.end(), made.offsets.begin());
  std::vector<std::int32_t> next(made.offsets.begin(), made.offsets.end() - 1);
  for (std::size_t query = 0; query < rows; ++query) {
    for (auto entry = static_cast<std::size_t>(lists.offsets[query]);
         entry < static_cast<std::size_t>(lists.offsets[query + 1]); ++entry) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(lists.rows[entry])]++);
      made.queries[place] = static_cast<std::int32_t>(query);
      made.labels[place] = lists.labels[entry];
    }
  }
  return made;
}

kernels::RowAttention call_of(const PassContext& pass, const AttentionTensors& tensors) {
  kernels::RowAttention call = pass.lists->call;
  call.label_weight = tensors.label_weight;
  return call;
}

kernels::QueryKeyValue inputs_of(const PassContext& pass, const AttentionActivations& kept) {
  const kernels::Index width = pass.width();
  return {{kept.qkv, 3 * width}, {kept.qkv + width, 3 * width}, {kept.qkv + 2 * width, 3 * width}};
}

}  // namespace

std::int64_t most_span_rows(const ModelConfig& config, const BatchLimits& limits) {
  if (config.attention != AttentionPattern::bpt) return 0;
  // Of n tokens at most n - 1 + ceil(log2(n)).
  const auto levels =
      std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(limits.longest, 1) - 1));
  return limits.tokens + limits.sequences * static_cast<std::int64_t>(levels);
}

std::int64_t most_list_entries(const ModelConfig& config, const BatchLimits& limits) {
  if (config.attention != AttentionPattern::bpt) return 0;
  const std::int64_t entries = most_partition_entries(
      limits.tokens, std::max<std::int64_t>(limits.longest, 1), config.attention_options.bpt);
  if (entries > std::numeric_limits<std::int32_t>::max()) {
    throw_bad_input("a batch of attention bpt has more than 2^31 - 1 pairs of a row and what it sees",
                    "take fewer tokens in a batch, or fewer contextual nodes");
  }
  return entries;
}

RowsActivations plan_lists(Arena& arena, const ModelConfig& config, const BatchLimits& limits,
                           std::int64_t rows, bool training) {
  RowsActivations to;
  if (config.attention != AttentionPattern::bpt) return to;
  const std::string what = "lists of tokens and spans";
  const std::int64_t entries = most_list_entries(config, limits);
  const std::int64_t table = partition_labels(config.attention_options.bpt) * config.head_size();
  to.rows = arena.integers(what, entries);
  to.offsets = arena.integers(what, rows + 1);
  to.labels = arena.integers(what, entries);
  if (!training) return to;
  to.queries = arena.integers(what, entries);
  to.key_offsets = arena.integers(what, rows + 1);
  to.key_labels = arena.integers(what, entries);
  to.products = arena.floats(what, config.num_attention_heads * rows);
  to.label_parts = arena.floats(what, kernels::row_label_parts * table);
  return to;
}

const BinaryPartition& PartitionCache::lists(std::int64_t tokens) {
  constexpr std::size_t most_known = 16;
  const auto found = known_.find(tokens);
  if (found != known_.end()) return found->second;
  if (known_.size() >= most_known) known_.clear();
  return known_.emplace(tokens, binary_partition(tokens, options_, causal_)).first->second;
}

void rows_pass(const ModelConfig& config, Batch& batch, const RowsActivations& kept, RowsPass& pass) {
  if (config.attention != AttentionPattern::bpt) return;
  const std::vector<std::int64_t> begins = span_begins(batch);
  batch.span_nodes = begins.back() - batch.tokens();
  if (batch.sequence_rows.empty()) {
    for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
      const bool single = begins[s + 1] == begins[s];
      batch.sequence_rows.push_back(
          static_cast<std::int32_t>(single ? batch.token_offsets[s] : begins[s + 1] - 1));
    }
  }
  const kernels::AttentionBatch sizes = attention_call(config);
  pass.call = {.queries = batch.rows(),
               .heads = sizes.heads,
               .head_size = sizes.head_size,
               .scale = sizes.scale,
               .rows = kept.rows,
               .offsets = kept.offsets,
               .labels = kept.labels,
               .label_count = partition_labels(config.attention_options.bpt)};
  pass.by_key = {batch.rows(), kept.queries, kept.key_offsets, kept.key_labels};
}

void rows_stage(const PassContext& context, const RowsActivations& kept, RowsPass& pass) {
  pass.on_their_way = context.batch.token_offsets;
  pass.on_their_way.insert(pass.on_their_way.end(), context.batch.lengths.begin(),
                           context.batch.lengths.end());
  if (pass.on_their_way == pass.staged) return;
  pass.staged.clear();
  const BatchLists lists = lists_of(context.batch, pass.cache);
  const auto upload = [&](std::int32_t* to, const std::vector<std::int32_t>& from) {
    context.backend.upload(to, from.data(), from.size() * sizeof(std::int32_t));
  };
  upload(kept.rows, lists.rows);
  upload(kept.offsets, lists.offsets);
  upload(kept.labels, lists.labels);
  if (kept.queries == nullptr) return;
  const ListsByKey other_way = by_key(lists);
  upload(kept.queries, other_way.queries);
  upload(kept.key_offsets, other_way.offsets);
  upload(kept.key_labels, other_way.labels);
}

void rows_attention_forward(const PassContext& pass, const AttentionTensors& tensors,
                            const AttentionActivations& kept) {
  pass.backend.attend_rows(call_of(pass, tensors), inputs_of(pass, kept), {kept.context, pass.width()},
                           kept.log_sum_exp);
}

void rows_attention_backward(const PassContext& pass, const AttentionTensors& tensors,
                             const AttentionTensors& gradients, const AttentionActivations& kept,
                             kernels::Values dcontext, kernels::Values dqkv) {
  const kernels::Index width = pass.width();
  kernels::RowAttentionGradients to;
  to.q = {dqkv, 3 * width};
  to.k = {dqkv + width, 3 * width};
  to.v = {dqkv + 2 * width, 3 * width};
  to.label_weight = gradients.label_weight;
  to.products = kept.lists.products;
  to.label_parts = kept.lists.label_parts;
  pass.backend.attend_rows_backward(call_of(pass, tensors), pass.lists->by_key, inputs_of(pass, kept),
                                    {kept.context, width}, kept.log_sum_exp, {dcontext, width}, to);
}

}  // namespace bigbird
