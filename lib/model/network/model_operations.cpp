// See model_operations.h.
#include "lib/model/network/model_operations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>

#include "lib/model/network/attention_etc.h"
#include "lib/model/network/attention_windowed.h"
#include "lib/model/network/stem.h"
#include "lib/model/plans/block_plan.h"
#include "lib/model/plans/partition_lists.h"
#include "lib/model/plans/patterns.h"
#include "lib/model/plans/token_pairs.h"

namespace bigbird {
namespace {

double real(std::int64_t count) {
  return static_cast<double>(count);
}

double sum_of(const std::vector<std::int64_t>& lengths) {
  return real(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
}

// How often, over all layers and heads, each query block lists each key block.
std::vector<std::int64_t> listed_blocks(const ModelConfig& config, std::int64_t blocks) {
  const auto n = static_cast<std::size_t>(blocks);
  const bool full = !full_attention_reason(config, blocks).empty();
  if (full) return std::vector<std::int64_t>(n * n, config.num_hidden_layers * config.num_attention_heads);
  std::vector<std::int64_t> listed(n * n, 0);
  for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
    for (const auto& head : plan_rows(config, layer, blocks, full)) {
      for (std::size_t query = 0; query < head.size(); ++query) {
        for (const std::int32_t key : head[query]) ++listed[query * n + static_cast<std::size_t>(key)];
      }
    }
  }
  return listed;
}

// NVIDIA's data sheets, Tensor Cores without sparsity: A100 (2021), H100 (2023), H200 (2024). tf32 is half of
// bf16 on all of them.
struct DevicePeak {
  std::string_view name;  // in the device's own
  double bf16;
};
// The first that is in a name counts: the cards for PCIe have lower clocks and stand first.
constexpr std::array<DevicePeak, 7> device_peaks{{{"H200 NVL", 835.5e12},
                                                  {"H200", 989.4e12},
                                                  {"H100 NVL", 835.5e12},
                                                  {"H100 PCIe", 756.5e12},
                                                  {"H100 80GB HBM3", 989.4e12},
                                                  {"A100-", 312e12},
                                                  {"A100 80GB PCIe", 312e12}}};

// A segment over a full memory, where its batch has streams: keys and values of what is remembered, rows of
// distances, and pairs. Of spans as if all were the longest.
double of_memory(const ModelConfig& config, const Batch& batch, std::size_t sequence) {
  const double width = real(config.hidden_size), length = real(batch.lengths[sequence]);
  const bool goes_on = !batch.places.empty() && batch.places.begins[sequence] == 0;
  const double memory = goes_on ? real(remembered_rows(config)) : 0.0;
  const double pairs =
      rows_before(config) >= 0 && goes_on ? length * memory : length * (memory + (length + 1.0) / 2.0);
  const double of_distances = has_spans(config) ? 0.0 : memory + length;
  double rows = 2.0 * memory + of_distances;
  if (learns_compression(config) && goes_on) {  // of every token that leaves, a share of each product
    const CompressiveOptions& options = config.attention_options.compressive;
    rows += length * (options.compression == Compression::conv ? 1.0 : 1.0 + 2.0 * real(options.rate));
  }
  const double products = 2.0 * width * width * rows;
  return real(config.num_hidden_layers) * (products + 6.0 * width * pairs);  // with the terms of distances
}

}  // namespace

double linear_operations_of_a_token(const ModelConfig& config) {
  // A tree has about as many spans as tokens.
  const double nodes = config.attention == AttentionPattern::bpt ? 2.0 : 1.0;
  return nodes * linear_operations_of_a_row(config) / real(config.tokens_of_a_row());
}

double linear_operations_of_a_row(const ModelConfig& config) {
  const double width = real(config.hidden_size), inner = real(config.intermediate_size);
  // A Longformer with global tokens has keys and values for them of every token.
  const bool globals = longformer_globals(config).any();
  const double projections = globals ? 6.0 : 1.0 + real(projections_of_a_token(config));  // and the output's
  const double feed_forward = width * (real(config.inner_outputs()) + inner);
  return 2.0 * real(config.num_hidden_layers) * (projections * width * width + feed_forward);
}

double ModelOperations::pairs_in_windows(std::int64_t globals, std::int64_t length) {
  const auto known = pairs_.find({globals, length});
  if (known != pairs_.end()) return known->second;
  double all = 0;
  for (std::int64_t layer = 0; layer < config_.num_hidden_layers; ++layer)
    all += real(visible_pairs(config_, layer, {globals, length, 1}));
  return pairs_.emplace(std::pair(globals, length), all).first->second;
}

double ModelOperations::pairs_of_nodes(std::int64_t length) {
  const auto known = pairs_.find({0, length});
  if (known != pairs_.end()) return known->second;
  const double all = real(config_.num_hidden_layers * visible_pairs(config_, 0, length));
  return pairs_.emplace(std::pair(std::int64_t{0}, length), all).first->second;
}

double ModelOperations::pairs(std::int64_t blocks, std::int64_t length) {
  const auto known = pairs_.find({blocks, length});
  if (known != pairs_.end()) return known->second;
  auto listed = listed_.find(blocks);
  if (listed == listed_.end()) listed = listed_.emplace(blocks, listed_blocks(config_, blocks)).first;
  const auto tokens_of = [&](std::int64_t block) {
    return real(std::clamp<std::int64_t>(length - block * config_.block_size, 0, config_.block_size));
  };
  double sum = 0;
  for (std::int64_t query = 0; query < blocks && tokens_of(query) > 0; ++query) {
    const std::int64_t* const row = listed->second.data() + query * blocks;
    double keys = 0;
    for (std::int64_t key = 0; key < blocks; ++key) keys += real(row[key]) * tokens_of(key);
    sum += tokens_of(query) * keys;
  }
  pairs_.emplace(std::pair(blocks, length), sum);
  return sum;
}

double ModelOperations::heads(const Batch& batch, double tokens) const {
  const double width = real(config_.hidden_size), read = real(head_width(config_));
  const double sequences = real(batch.outputs());
  const double masked = real(static_cast<std::int64_t>(batch.masked_rows.size()));
  const double outputs = real(config_.num_labels);
  const double mlm = masked * 2.0 * width * (read + real(config_.vocab_size));
  switch (config_.head) {
    case HeadType::encoder:
      return sequences * 2.0 * read * width;
    case HeadType::pretraining:
      return mlm + (batch.sequence_labels.empty() ? 0.0 : sequences * 2.0 * width * (read + 2.0));
    case HeadType::masked_lm:
      return mlm;
    case HeadType::causal_lm:
      return masked * 2.0 * read * real(config_.vocab_size);
    case HeadType::classification:
      return sequences * 2.0 * width * (read + outputs);
    case HeadType::token_classification:
      return sequences * 2.0 * read * outputs;
    case HeadType::question_answering:
      if (config_.has_plain_question_head()) return tokens * 2.0 * read * 2.0;
      return tokens * 2.0 * read * (2.0 * real(config_.intermediate_size) + 2.0);
    case HeadType::structured_answers:
      return 2.0 * read *
             (tokens * real(static_cast<std::int64_t>(config_.token_scores.size())) + sequences * outputs);
    case HeadType::generation:
      return decoder(batch);
    case HeadType::masked_sentences:
    case HeadType::sentence_labels:
      return documents(batch);
  }
  return 0;
}

// Causal attention: half of the pairs, and those of a token with itself; cross-attention: all.
double ModelOperations::decoder(const Batch& batch) const {
  const double width = real(config_.hidden_size), inner = real(config_.decoder.intermediate_size);
  double operations = 0;
  for (std::size_t s = 0; s < batch.targets.lengths.size(); ++s) {
    const double written = real(batch.targets.lengths[s]), read = real(batch.lengths[s]);
    const double linear = written * 2.0 * (6.0 * width * width + 2.0 * width * inner);
    const double keys_and_values = read * 2.0 * 2.0 * width * width;
    const double attention = 4.0 * width * (written * (written + 1.0) / 2.0 + written * read);
    operations += (1.0 - config_.decoder.layer_drop) * real(config_.decoder.num_hidden_layers) *
                  (linear + keys_and_values + attention);
    operations += written * 2.0 * width * real(config_.vocab_size);
  }
  return operations;
}

// The second encoder, whose tokens are sentences, with their labels, or the decoder, without cross-attention.
double ModelOperations::documents(const Batch& batch) const {
  const double width = real(config_.hidden_size), inner = real(config_.decoder.intermediate_size);
  double of_layer =
      linear_operations_of_a_row(config_) / real(config_.num_hidden_layers) * real(batch.sequences());
  const std::vector<std::int64_t>& offsets = batch.documents.sentence_offsets;
  for (std::size_t d = 0; d + 1 < offsets.size(); ++d) {
    const double sentences = real(offsets[d + 1] - offsets[d]);
    of_layer += 4.0 * width * sentences * sentences;
  }
  double operations = real(config_.documents.num_hidden_layers) * of_layer;
  if (!config_.writes_sentences()) return operations + real(batch.sequences()) * 2.0 * width * 2.0;
  for (const std::int64_t length : batch.targets.lengths) {
    const double written = real(length);
    operations += real(config_.decoder.num_hidden_layers) *
                  (written * 2.0 * (4.0 * width * width + 2.0 * width * inner) +
                   4.0 * width * written * (written + 1.0) / 2.0);
    operations += written * 2.0 * width * real(config_.vocab_size);
  }
  return operations;
}

double ModelOperations::two_inputs(const Batch& batch) const {
  const std::int64_t radius = config_.attention_options.etc.radius;
  double rows = 0, pairs = 0;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t longs = batch.lengths[s];
    const std::int64_t globals = batch.globals.empty() ? fixed_globals(config_.attention_options.etc, longs)
                                                       : batch.globals.lengths[s];
    // Long tokens see their window, which is cut at both ends, and all else sees all.
    const std::int64_t side = std::min(radius, longs - 1);
    const double window = real(longs) * (2.0 * real(side) + 1.0) - real(side) * (real(side) + 1.0);
    pairs += window + real(globals) * (2.0 * real(longs) + real(globals));
    rows += real(longs + globals);
  }
  pairs *= real(config_.num_hidden_layers * config_.num_attention_heads);
  return linear_operations_of_a_row(config_) * rows + 4.0 * real(config_.head_size()) * pairs;
}

// A stem's products of single tokens: the dense layer over their filters, and of those that are masked, whose
// rows are spread whole, as much of it.
double ModelOperations::stem(const Batch& given) const {
  const double width = real(config_.hidden_size), tokens = sum_of(given.lengths);
  const double of_filters = tokens * 2.0 * width * real(config_.stem.channels);
  return of_filters + (given.masked_rows.empty() ? 0.0 : tokens * 2.0 * width * width);
}

double ModelOperations::forward(const Batch& batch) {
  return config_.has_stem() ? stem(batch) + of_rows(trunk_batch(config_, batch)) : of_rows(batch);
}

double ModelOperations::of_rows(const Batch& batch) {
  const double tokens = sum_of(batch.lengths);
  if (config_.attention == AttentionPattern::etc) return two_inputs(batch) + heads(batch, tokens);
  double all = 0, nodes = 0;
  double of_memories = 0;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    if (config_.attention == AttentionPattern::bpt) {
      all += pairs_of_nodes(batch.lengths[s]);
      nodes += real(partition_spans(batch.lengths[s]));
      continue;
    }
    if (config_.attention == AttentionPattern::reformer) {
      const double of_token = real(reformer_multiply_adds(config_, batch.lengths[s]));
      of_memories += 2.0 * real(config_.num_hidden_layers) * of_token * real(batch.lengths[s]);
      continue;
    }
    if (config_.attention == AttentionPattern::performer) {
      of_memories +=
          2.0 * real(config_.num_hidden_layers * feature_multiply_adds(config_)) * real(batch.lengths[s]);
      continue;
    }
    if (routed_heads(config_) > 0) {  // beside windows
      const double of_token = real(routing_multiply_adds(config_, batch.lengths[s]));
      of_memories += 2.0 * real(config_.num_hidden_layers) * of_token * real(batch.lengths[s]);
    }
    if (is_recurrent(config_)) {
      of_memories += of_memory(config_, batch, s);
      continue;
    }
    if (has_windows(config_)) {
      // Global tokens that a batch names are counted as if they were the first.
      const auto globals = static_cast<std::int64_t>(global_tokens(config_, batch, s).size());
      all += pairs_in_windows(globals, batch.lengths[s]);
      continue;
    }
    const std::int64_t blocks = (batch.plan_length(s) + config_.block_size - 1) / config_.block_size;
    all += pairs(planned_blocks(config_, blocks, batch.lengths[s]), batch.lengths[s]);
  }
  // Scores and weighted values of a pair take 2 D each.
  double encoder = linear_operations_of_a_row(config_) * (tokens + nodes) +
                   4.0 * real(config_.head_size()) * all + of_memories;
  if (config_.has_decoder()) encoder *= 1.0 - config_.decoder.encoder_layer_drop;
  return encoder + heads(batch, tokens);
}

std::optional<double> peak_operations(const std::string& device, kernels::Precision precision) {
  if (precision == kernels::Precision::fp32 || device.find(" MIG ") != std::string::npos) return std::nullopt;
  for (const DevicePeak& peak : device_peaks) {
    if (device.find(peak.name) == std::string::npos) continue;
    return precision == kernels::Precision::bf16 ? peak.bf16 : peak.bf16 / 2;
  }
  return std::nullopt;
}

}  // namespace bigbird
