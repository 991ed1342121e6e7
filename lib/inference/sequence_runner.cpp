// Ragged batches of sequences; see sequence_runner.h.
#include "lib/inference/sequence_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "lib/core/cancel.h"
#include "lib/core/error.h"
#include "lib/core/log.h"
#include "lib/model/network/layout.h"
#include "lib/model/network/linear_layers.h"
#include "lib/model_folder/open_model.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/memory_plan.h"

namespace bigbird {
namespace {

std::int64_t in_blocks(std::int64_t tokens, const ModelConfig& config) {
  const std::int64_t block = config.block_size;
  return (tokens + block - 1) / block * block;
}
std::int64_t padded(std::int64_t tokens, const ModelConfig& config) {
  return std::max(in_blocks(tokens, config), config.input_length);
}

// The largest batch: one sequence always fits.
BatchLimits limits_of(const ModelConfig& config, const SequenceRunnerOptions& options) {
  const std::int64_t longest = padded(options.longest > 0 ? options.longest : most_tokens(config), config);
  const std::int64_t tokens = options.batch.sequences > 0 ? options.batch.sequences * longest
                                                          : std::max(options.batch.tokens, longest);
  BatchLimits limits{tokens, tokens / config.block_size, options.masked_tokens, longest};
  // Short inputs have as many global tokens as long ones: a batch has those of as many of the longest.
  limits.globals = tokens / longest * in_blocks(options.globals, config);
  return limits;
}

ModelOptions model_options(const SequenceRunnerOptions& options) {
  ModelOptions model;
  model.training = !options.derive.empty();
  model.embedding_offsets = options.offsets;
  model.head_rows = !options.hidden;
  return model;
}

// Rows of results that are of the global tokens of a sequence.
struct GlobalRows {
  std::size_t begin = 0;
  std::size_t end = 0;
};
std::optional<GlobalRows> global_rows_of(const Batch& batch, std::size_t sequence) {
  if (batch.globals.empty()) return std::nullopt;
  const auto begin = static_cast<std::size_t>(batch.tokens() + batch.globals.token_offsets[sequence]);
  return GlobalRows{begin, begin + static_cast<std::size_t>(batch.globals.lengths[sequence])};
}

// Batches on their way to the device: results of tokens are large.
std::size_t most_on_the_way(const SequenceRunnerOptions& options) {
  const bool of_tokens = options.hidden || options.masked_tokens > 0 || !options.derive.empty();
  return of_tokens ? 3 : 32;
}

}  // namespace

std::int64_t most_tokens(const ModelConfig& config) {
  return config.input_length > 0 ? config.input_length : config.max_position_embeddings;
}

std::vector<std::int32_t> with_cls_and_sep(const std::vector<std::uint32_t>& tokens,
                                           const Tokenizer& tokenizer, const ModelConfig& config,
                                           const std::string& where) {
  const std::int64_t most = most_tokens(config);
  const std::size_t all = tokens.size() + tokenizer.special().around();
  if (static_cast<std::int64_t>(all) > most) {
    throw_bad_input(
        fmt::format("{}: {} tokens with [CLS] and [SEP], and the model takes {}", where, all, most),
        "give a shorter sequence, or cut it into windows");
  }
  return between_special_pieces(std::span(tokens), tokenizer.special());
}

std::shared_ptr<DeviceThread> device_thread_of(kernels::Backend& backend) {
  if (!backend.asynchronous()) return nullptr;
  return std::make_shared<DeviceThread>([&backend] { backend.enter_thread(); });
}

std::vector<MemoryRow> plan_runner_memory(const ModelConfig& config, const SequenceRunnerOptions& options,
                                          const kernels::Backend& backend) {
  return plan_model_memory(config, limits_of(config, options), model_options(options), backend);
}

SequenceRunner::SequenceRunner(const ModelFolder& folder, const SequenceRunnerOptions& options,
                               kernels::Backend& backend)
    : folder_(folder), options_(options), backend_(backend), next_(std::make_shared<Pass>()) {
  if (options.masked_tokens > 0) folder_.require_masked_token_head();
  if (options.sequence_logits || !options.derive.empty()) folder_.require_classifier();
  if (options.class_logits) folder_.require_token_classifier();
  if (options.answer_logits && folder_.config().head != HeadType::structured_answers) {
    folder_.require_question_head();
  }
  const std::int64_t most = most_tokens(config());
  if (options.longest > most) {
    throw_usage(message("`length` {}: {} takes at most {} tokens", options.longest, folder_.path(), most));
  }
  folder_.tokenizer();  // opened and checked before the weights, which may be many
  if (!options.waits) open();
  pipeline_ = std::make_unique<BatchPipeline>(options.device ? options.device : device_thread_of(backend),
                                              most_on_the_way(options));
}

SequenceRunner::~SequenceRunner() = default;

void SequenceRunner::open() {
  if (model_) return;
  LoadOptions load;
  load.encoder_only = options_.masked_tokens == 0 && !options_.sequence_logits && !options_.answer_logits &&
                      !options_.class_logits && options_.derive.empty();
  const auto limits = [this](const ModelConfig& config) { return plan_batches(config); };
  model_ = open_model(folder_, {backend_, limits, model_options(options_), std::move(load)}).model;
}

bool SequenceRunner::computes_in_int8() const {
  return options_.derive.empty() && Int8Layers::bytes(backend_, config(), int8_layer_names(config())) > 0;
}

BatchLimits SequenceRunner::plan_batches(const ModelConfig& config) {
  const BatchLimits limits = limits_of(config, options_);
  limit_ = limits.tokens;
  most_sequences_ = limits.sequences;
  most_globals_ = limits.globals;
  if (options_.says_memory) {
    const auto plan = [&config, this, options = options_](const BatchSize& batch) mutable {
      options.batch = batch;
      return plan_runner_memory(config, options, backend_);
    };
    require_inference_memory(plan, options_.batch, limits.longest, backend_);
  }
  std::size_t bytes = 0;
  for (const MemoryRow& row : plan_runner_memory(config, options_, backend_)) bytes += row.bytes;
  log_debug(fmt::format("{}: {:.1f} MiB for the model and batches of {} tokens", folder_.path(),
                        static_cast<double>(bytes) / (1 << 20), limit_));
  return limits;
}

std::vector<float> SequenceRunner::parameter(const std::string& name) const {
  pipeline_->finish();  // the model is used by one thread at a time
  const std::vector<float> all = model_->host_parameters();
  const auto& tensors = model_->layout().tensors();
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const TensorSpec& spec) { return spec.name == name; });
  if (found == tensors.end()) throw_runtime("the model has no tensor " + name);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(found->offset);
  return {first, first + static_cast<std::ptrdiff_t>(found->count)};
}

void SequenceRunner::add(const SequenceInput& input, std::function<void(const SequenceResult&)> result) {
  open();
  const auto length = static_cast<std::int64_t>(input.ids.size());
  const std::int64_t with_padding = padded(std::max(length, input.pad_to), config());
  const std::int64_t tokens = model_->wants_whole_blocks() ? with_padding : length;
  const auto rows = static_cast<std::int64_t>(input.masked.size());
  const auto globals =
      input.two_inputs ? static_cast<std::int64_t>(input.two_inputs->global_ids.size()) : std::int64_t{0};
  const bool is_full =
      next_->batch.tokens() + tokens > limit_ ||
      next_->batch.globals.tokens() + in_blocks(globals, config()) > most_globals_ ||
      static_cast<std::int64_t>(next_->batch.masked_rows.size()) + rows > options_.masked_tokens ||
      next_->batch.sequences() == most_sequences_;
  if (is_full) run();
  Batch& batch = next_->batch;
  const bool whole_blocks = model_->wants_whole_blocks();
  const auto first = static_cast<std::int32_t>(batch.tokens());
  const std::int64_t multiple = whole_blocks ? config().block_size : 1;
  const auto pad = static_cast<std::int32_t>(config().pad_token_id);
  if (input.two_inputs) {
    const std::int64_t first_global = batch.globals.tokens();
    batch.append(*input.two_inputs, multiple, pad);
    if (input.reads_global) batch.sequence_rows.push_back(global_row(first_global));
  } else {
    batch.append(input.ids, input.types, multiple, pad, whole_blocks ? with_padding : 0);
  }
  if (!whole_blocks) batch.plan_lengths.push_back(with_padding);
  for (const std::int32_t row : input.masked) {
    batch.masked_rows.push_back(first + row);
    batch.masked_labels.push_back(input.ids[static_cast<std::size_t>(row)]);
  }
  for (const std::int32_t row : input.labelled) batch.output_spans.push_back({first + row, 1});
  if (options_.offsets) {
    std::vector<float>& offsets = batch.embedding_offsets;
    offsets.insert(offsets.end(), input.offsets.begin(), input.offsets.end());
    offsets.resize(static_cast<std::size_t>(batch.tokens() * config().hidden_size), 0.0F);
  }
  next_->sequences.push_back({input.masked.size(), input.labelled.size(), std::move(result)});
}

void SequenceRunner::finish() {
  run();
  pipeline_->finish();
}

void SequenceRunner::run() {
  if (next_->sequences.empty()) return;
  throw_if_cancelled();
  const auto pass = std::exchange(next_, std::make_shared<Pass>());
  pipeline_->run([this, pass] { compute(*pass); }, [this, pass] { deliver(*pass); });
}

void SequenceRunner::compute(Pass& pass) {
  model_->forward(pass.batch, {});
  if (options_.hidden) pass.hidden = model_->last_hidden_state();
  if (!pass.batch.masked_rows.empty()) pass.masked_logits = model_->masked_logits();
  pass.class_logits = class_logits();
  pass.answer_logits = answer_logits();
  pass.gradients = derive(pass.batch);
}

void SequenceRunner::deliver(const Pass& pass) const {
  const std::size_t labels = options_.class_logits ? static_cast<std::size_t>(config().num_labels)
                                                   : pass.class_logits.size() / pass.sequences.size();
  const auto vocabulary = static_cast<std::size_t>(config().vocab_size);
  const auto width = static_cast<std::size_t>(head_width(config()));
  std::size_t masked = 0, labelled = 0;
  for (std::size_t i = 0; i < pass.sequences.size(); ++i) {
    SequenceResult result;
    const auto first_token = static_cast<std::size_t>(pass.batch.token_offsets[i]);
    const auto tokens = static_cast<std::size_t>(pass.batch.lengths[i]);
    const std::size_t first = first_token * width, values = tokens * width;
    if (options_.hidden) result.hidden = std::span(pass.hidden).subspan(first, values);
    for (const std::vector<float>& all : pass.gradients)
      result.input_gradients.push_back(std::span(all).subspan(first, values));
    const std::size_t rows = pass.sequences[i].masked;
    if (rows != 0)
      result.masked_logits = std::span(pass.masked_logits).subspan(masked * vocabulary, rows * vocabulary);
    masked += rows;
    if (options_.class_logits) {
      const std::size_t count = pass.sequences[i].labelled;
      result.class_logits = std::span(pass.class_logits).subspan(labelled * labels, count * labels);
      labelled += count;
    } else {
      result.sequence_logits = std::span(pass.class_logits).subspan(i * labels, labels);
    }
    for (const std::vector<float>& all : pass.answer_logits) {
      result.token_logits.push_back(std::span(all).subspan(first_token, tokens));
      if (const auto globals = global_rows_of(pass.batch, i); globals && globals->end <= all.size())
        result.global_logits.push_back(std::span(all).subspan(globals->begin, globals->end - globals->begin));
    }
    if (config().head == HeadType::question_answering && !pass.answer_logits.empty()) {
      result.start_logits = result.token_logits[0];
      result.end_logits = result.token_logits[1];
      result.token_logits.clear();
    }
    pass.sequences[i].result(result);
  }
}

std::vector<float> SequenceRunner::class_logits() const {
  const bool types = options_.answer_logits && config().head == HeadType::structured_answers;
  if (options_.sequence_logits || options_.class_logits || (types && config().num_labels > 0))
    return model_->sequence_logits();
  return {};
}

std::vector<std::vector<float>> SequenceRunner::answer_logits() const {
  if (!options_.answer_logits) return {};
  if (config().head == HeadType::question_answering) return {model_->start_logits(), model_->end_logits()};
  std::vector<std::vector<float>> logits;
  for (std::size_t score = 0; score < config().token_scores.size(); ++score)
    logits.push_back(model_->token_logits(score));
  return logits;
}

// Each gradient takes the results of the pass before it with it: the batch, which has just been run, is run
// again for the second and later ones.
std::vector<std::vector<float>> SequenceRunner::derive(const Batch& batch) {
  std::vector<std::vector<float>> gradients;
  for (const std::vector<float>& one : options_.derive) {
    throw_if_cancelled();
    if (!gradients.empty()) model_->forward(batch, {});
    std::vector<float> weights;
    for (std::size_t i = 0; i < batch.lengths.size(); ++i)
      weights.insert(weights.end(), one.begin(), one.end());
    gradients.push_back(model_->input_gradients(weights));
  }
  return gradients;
}

void require_inference_memory(const std::function<std::vector<MemoryRow>(const BatchSize&)>& plan,
                              const BatchSize& batch, std::int64_t longest, const kernels::Backend& backend) {
  const MemoryBefore before = memory_before(backend, 0);
  const TrainingMemory memory = plan_inference_memory(plan(batch), backend, before);
  log_memory(memory);
  SmallerRuns smaller(1);
  if (batch.sequences > 0) {
    for (std::int64_t sequences = batch.sequences / 2; sequences > 0; sequences /= 2) {
      smaller[0].push_back({message("`batch` {}", sequences), [&plan, &backend, before, sequences] {
                              return plan_inference_memory(plan({0, sequences}), backend, before);
                            }});
    }
  } else {
    for (std::int64_t tokens = batch.tokens / 2; 2 * tokens > longest; tokens /= 2) {
      smaller[0].push_back({message("`batch_tokens` {}", tokens), [&plan, &backend, before, tokens] {
                              return plan_inference_memory(plan({tokens, 0}), backend, before);
                            }});
    }
  }
  require_memory(memory, smaller);
}

void add_rows(std::vector<MemoryRow>& all, const std::vector<MemoryRow>& more) {
  for (const MemoryRow& row : more) {
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const MemoryRow& candidate) { return candidate.what == row.what; });
    if (same == all.end()) {
      all.push_back(row);
      continue;
    }
    same->bytes += row.bytes;
    same->fp32_bytes += row.fp32_bytes;
    same->bf16_bytes += row.bf16_bytes;
  }
}

}  // namespace bigbird
