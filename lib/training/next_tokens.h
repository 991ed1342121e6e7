// Next tokens as batches have them, and the training task of models with a memory: streams of documents
// (lib/data/stream_sampler.h), whose segments are the sequences of an update.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/data/stream_sampler.h"
#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/tokenization/tokenizer.h"
#include "lib/training/run_options.h"
#include "lib/training/training_task.h"

namespace bigbird {

// Which tokens are predicted: ordinary ones, and [SEP], the end of a text.
class NextTokens {
 public:
  NextTokens(const Tokenizer& tokenizer, const ModelConfig& config);
  // A sequence of ids, and the label of each: the token behind it, or ignored_label. When left_neighbours is
  // given, the id before every label that counts is appended to it.
  void append(const std::vector<std::int32_t>& ids, const std::vector<std::int32_t>& labels, Batch& batch,
              std::vector<std::int32_t>* left_neighbours = nullptr) const;

 private:
  std::int64_t block_size_;
  std::int32_t pad_;
  std::vector<bool> predicted_;  // per id
};

// Whether a model reads streams: what it remembers is of the segments before.
bool reads_streams(const ModelConfig& config);

// The segments `number` of streams [first, first + count), which have the numbers first + offset ... in the
// model; a stream of one passage that is through is left out.
Batch stream_batch(const StreamSampler& sampler, const NextTokens& next, kernels::IndexRange streams,
                   std::uint64_t number, std::int64_t offset = 0,
                   std::vector<std::int32_t>* left_neighbours = nullptr);

// Every sequence of an update is the next segment of its stream: sequence s of update t segment t of stream
// s. Validation takes as many streams as a micro-batch has sequences, group after group of them; ranks take
// whole groups, as a stream has to be read in order.
class StreamTask : public TrainingTask {
 public:
  // All are referred to and must outlive the task. valid: of one passage; null: there is none.
  StreamTask(const RunOptions& options, const NextTokens& next, const StreamSampler& train,
             const StreamSampler* valid)
      : options_(options), next_(next), train_(train), valid_(valid) {}

  kernels::Index slots() const override { return slots_of_update(options_); }
  std::vector<Batch> batches(std::uint64_t step, kernels::IndexRange slots) const override;
  kernels::IndexRange streams(kernels::IndexRange slots) const override;
  std::uint64_t validation_batches() const override;
  std::optional<LossSums> validate(Model& model, kernels::Ranks& ranks) const override;

  // Streams that the model keeps: those of training, and behind them those of validation.
  static std::int64_t streams_of_model(const RunOptions& options);

 private:
  const RunOptions& options_;
  const NextTokens& next_;
  const StreamSampler& train_;
  const StreamSampler* valid_;
};

}  // namespace bigbird
