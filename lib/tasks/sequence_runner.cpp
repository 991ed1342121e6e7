// Ragged batches of sequences; see sequence_runner.h.
#include "lib/tasks/sequence_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/folder/checkpoint.h"

namespace bigbird {
namespace {

std::int64_t padded(std::int64_t tokens, const ModelConfig& config) {
  const std::int64_t block = config.block_size;
  return std::max((tokens + block - 1) / block * block, config.input_length);
}

}  // namespace

std::int64_t most_tokens(const ModelConfig& config) {
  return config.input_length > 0 ? config.input_length : config.max_position_embeddings;
}

std::vector<std::int32_t> with_cls_and_sep(const std::vector<std::uint32_t>& tokens,
                                           const Tokenizer& tokenizer, const ModelConfig& config,
                                           const std::string& where) {
  const std::int64_t most = most_tokens(config);
  if (static_cast<std::int64_t>(tokens.size()) + 2 > most) {
    throw_bad_input(fmt::format("{}: {} tokens with [CLS] and [SEP], and the model takes {}", where,
                                tokens.size() + 2, most),
                    "give a shorter sequence, or cut it into windows");
  }
  std::vector<std::int32_t> ids;
  ids.reserve(tokens.size() + 2);
  ids.push_back(static_cast<std::int32_t>(tokenizer.special().cls));
  for (const std::uint32_t token : tokens) ids.push_back(static_cast<std::int32_t>(token));
  ids.push_back(static_cast<std::int32_t>(tokenizer.special().sep));
  return ids;
}

SequenceRunner::SequenceRunner(const std::string& model_folder, const SequenceRunnerOptions& options,
                               kernels::Backend& backend)
    : options_(options) {
  const LoadedModel loaded = load_model(model_folder, LoadOptions{});
  if (options.masked_tokens > 0 && !loaded.config.has_mlm()) {
    throw_bad_input(
        model_folder + ": the model has no masked-token head, its head is " + name_of(loaded.config.head),
        "take a pretrained model, such as run/final of bigbird pretrain");
  }
  if (options.sequence_logits && loaded.config.head != HeadType::classification) {
    throw_bad_input(model_folder + ": the model is no classifier, its head is " + name_of(loaded.config.head),
                    "take a fine-tuned model");
  }
  weight_files_ = loaded.files;
  tokenizer_ = load_tokenizer(model_folder);
  check_tokenizer_agrees(loaded.config, static_cast<std::int64_t>(tokenizer_->vocab_size()),
                         tokenizer_->digest(), model_folder, model_folder);
  const std::int64_t longest = padded(most_tokens(loaded.config), loaded.config);
  limit_ = std::max(options.batch_tokens, longest);
  const BatchLimits limits{limit_, limit_ / padded(1, loaded.config), options.masked_tokens, longest};
  std::size_t bytes = 0;
  for (const MemoryRow& row : plan_model_memory(loaded.config, limits, {}, backend)) bytes += row.bytes;
  log_debug(fmt::format("{}: {:.1f} MiB for the model and batches of {} tokens", model_folder,
                        static_cast<double>(bytes) / (1 << 20), limit_));
  model_ = std::make_unique<Model>(backend, loaded.config, limits, ModelOptions{});
  model_->set_parameters(loaded.parameters);
}

void SequenceRunner::add(std::vector<std::int32_t> ids, std::vector<std::int32_t> masked,
                         std::function<void(const SequenceResult&)> result) {
  const std::int64_t tokens = padded(static_cast<std::int64_t>(ids.size()), config());
  const auto rows = static_cast<std::int64_t>(masked.size());
  if (pending_tokens_ + tokens > limit_ || pending_masked_ + rows > options_.masked_tokens) run();
  pending_tokens_ += tokens;
  pending_masked_ += rows;
  pending_.push_back({std::move(ids), std::move(masked), std::move(result)});
}

void SequenceRunner::finish() {
  run();
}

void SequenceRunner::run() {
  if (pending_.empty()) return;
  throw_if_cancelled();
  batch_.clear();
  for (const Pending& sequence : pending_) {
    const auto first = static_cast<std::int32_t>(batch_.tokens());
    batch_.append(sequence.ids, {}, config().block_size, static_cast<std::int32_t>(config().pad_token_id),
                  config().input_length);
    for (const std::int32_t row : sequence.masked) {
      batch_.masked_rows.push_back(first + row);
      batch_.masked_labels.push_back(sequence.ids[static_cast<std::size_t>(row)]);
    }
  }
  model_->forward(batch_, {});
  const std::vector<float> hidden = options_.hidden ? model_->last_hidden_state() : std::vector<float>{};
  const std::vector<float> logits =
      batch_.masked_rows.empty() ? std::vector<float>{} : model_->masked_logits();
  const std::vector<float> classes =
      options_.sequence_logits ? model_->sequence_logits() : std::vector<float>{};
  const auto labels = static_cast<std::size_t>(config().num_labels);
  const auto width = static_cast<std::size_t>(config().hidden_size);
  const auto vocabulary = static_cast<std::size_t>(config().vocab_size);
  std::size_t masked = 0;
  for (std::size_t i = 0; i < pending_.size(); ++i) {
    SequenceResult result;
    if (options_.hidden) {
      result.hidden = std::span(hidden).subspan(static_cast<std::size_t>(batch_.token_offsets[i]) * width,
                                                pending_[i].ids.size() * width);
    }
    const std::size_t rows = pending_[i].masked.size();
    if (rows != 0) result.masked_logits = std::span(logits).subspan(masked * vocabulary, rows * vocabulary);
    masked += rows;
    if (options_.sequence_logits) result.sequence_logits = std::span(classes).subspan(i * labels, labels);
    pending_[i].result(result);
  }
  pending_.clear();
  pending_tokens_ = 0;
  pending_masked_ = 0;
}

}  // namespace bigbird
