// Probabilities of sequences under one or several fine-tuned models, on one or both strands, streamed in
// order: every verb that predicts with a fine-tuned model stands on it. What comes out of a sequence is a
// function of the sequence and the models alone: not of batch, threads or neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/finetuned_model.h"
#include "lib/inference/sequence_runner.h"

namespace bigbird {

struct SpecialIds;

struct ScorerOptions {
  std::vector<std::string> models;  // folders with a classification head and the same profiles and window
  Strands strands = Strands::both;  // both: the reverse complement too, tokenized anew
  BatchSize batch;                  // run at once by each model
  bool says_memory = true;          // the plan of all models is logged, and must fit
  std::shared_ptr<DeviceThread> device = nullptr;  // instead of device_thread_of(backend)
  bool waits = false;                              // as SequenceRunnerOptions
};

// A sequence as every model will read it.
struct EncodedSequence {
  // [models * strands], strand fastest (of both 0 is as given, 1 the reverse complement): ids with [CLS] and
  // [SEP].
  std::vector<std::vector<std::int32_t>> ids;
  std::size_t taken =
      0;             // bases of all strands whose tokens are those of a known sequence, of tokenizers once
  bool cut = false;  // it had more tokens than a model takes and lost its right end on some strand
};

// A sequence that was encoded, as others can use it that share stretches with it.
struct KnownSequence {
  std::string forward, reverse;  // the strands; empty where one is not read
  EncodedSequence encoded;
};

// Views that live for the callback.
struct SequenceScores {
  // [models, strands, outputs], last fastest.
  std::span<const double> values;
  std::size_t strands = 1;
  std::size_t outputs = 1;
  double at(std::size_t model, std::size_t strand, std::size_t output) const {
    return values[(model * strands + strand) * outputs + output];
  }
  std::size_t models() const { return values.size() / (strands * outputs); }
  // Mean over the models, on one strand: what an ensemble says.
  double mean_of_models(std::size_t strand, std::size_t output) const;
  // Mean over models and strands.
  double mean(std::size_t output) const;
};

class SequenceScorer {
 public:
  // Error{bad_input}: as FinetunedModel for DNA; models whose profiles, window or kind of output differ.
  SequenceScorer(const ScorerOptions& options, kernels::Backend& backend);
  ~SequenceScorer();

  std::size_t models() const { return models_.size(); }
  // The first one, for what all have in common: profiles, window, task.
  const FinetunedModel& model() const { return models_.front(); }
  const std::vector<FinetunedModel>& all_models() const { return models_; }
  // Those that are read, never automatic, and their number.
  Strands strands_read() const { return strands_; }
  std::size_t strands() const { return strands_ == Strands::both ? 2 : 1; }
  // Output columns, as FinetunedModel::profiles() says.
  const std::vector<Profile>& profiles() const { return model().profiles(); }
  std::size_t outputs() const { return profiles().size(); }
  // Of the first model's tokenizer.
  const SpecialIds& first_special() const;
  bool gives_probabilities() const { return model().gives_probabilities(); }
  // The window that the models were trained with, where their folders tell.
  const std::optional<ModelWindow>& window() const { return model().window(); }
  // Whether the models run while the caller prepares the next sequences.
  bool works_ahead() const { return runners_.front()->works_ahead(); }
  // That the models are run in.
  kernels::Precision precision() const;
  bool computes_in_int8() const;  // any layer of any model
  void open();                    // reads the weights, once
  // sha256 of each model's weights, in order; computed at the first call.
  const std::vector<std::string>& digests();

  // Tokenizes; safe to call from many threads at once. `sequence`: A C G T N, upper case, not empty.
  EncodedSequence encode(std::string_view sequence) const;
  // The same of a sequence whose base i is probably base i + offset of the known one, for one of the
  // `offsets`: sooner, the more of it is.
  EncodedSequence encode_like(std::string_view sequence, const KnownSequence& known,
                              std::span<const std::int64_t> offsets) const;
  KnownSequence as_known(std::string_view sequence, const EncodedSequence& encoded) const;
  // `done` is called once, in the order of the calls of add, now or later, on the calling thread.
  void add(EncodedSequence sequence, std::function<void(const SequenceScores&)> done);
  void add(std::string_view sequence, std::function<void(const SequenceScores&)> done);
  // Every `done` has been called afterwards.
  void finish();

 private:
  bool reads_forward() const { return strands_ != Strands::reverse; }
  bool reads_reverse() const { return strands_ != Strands::forward; }
  EncodedSequence encode_both(std::string_view sequence, const KnownSequence* known,
                              std::span<const std::int64_t> offsets) const;

  std::vector<FinetunedModel> models_;
  Strands strands_ = Strands::both;
  std::vector<std::unique_ptr<SequenceRunner>> runners_;  // one for each model
  std::vector<std::string> digests_;
};

}  // namespace bigbird
