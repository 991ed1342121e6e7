// Runs encoded sequences through a model in ragged batches: each is padded to config.input_length, or without
// one only to its own multiple of the block size, so that what comes out of a sequence does not depend on its
// neighbours. The one engine under every verb that runs a model on sequences: scores, attributions, vectors,
// masked tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "lib/inference/device_thread.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model_limits.h"
#include "lib/model_folder/model_folder.h"

namespace bigbird {

class Model;
class Tokenizer;

// Most tokens of one sequence, [CLS] and [SEP] included.
std::int64_t most_tokens(const ModelConfig& config);

// [CLS] tokens [SEP]. Error{bad_input} "WHERE: ..." when they are more than the model takes.
std::vector<std::int32_t> with_cls_and_sep(const std::vector<std::uint32_t>& tokens,
                                           const Tokenizer& tokenizer, const ModelConfig& config,
                                           const std::string& where);

// One sequence's share of a batch's results; views that live for the call.
struct SequenceResult {
  std::span<const float> hidden;           // [tokens, C], without padding; empty when not asked for
  std::span<const float> masked_logits;    // [masked, V] in the order of `masked`
  std::span<const float> sequence_logits;  // [num_labels]; empty when not asked for
  std::span<const float> class_logits;     // [labelled, num_labels] in the order of `labelled`
  // [tokens] each, of question answering, as the head gives them (heads.h); empty when not asked for.
  std::span<const float> start_logits;
  std::span<const float> end_logits;
  // [tokens] for each of config().token_scores, of a structured_answers head (asked for by answer_logits; its
  // types are sequence_logits); empty for other heads.
  std::vector<std::span<const float>> token_logits;
  // [global tokens] for each of them, of an input with two_inputs; else empty.
  std::vector<std::span<const float>> global_logits;
  // For each of options.derive the gradient with respect to the vector of each token
  // (Model::input_gradients), [tokens, C] without padding.
  std::vector<std::span<const float>> input_gradients;
};

// How much is run at once.
struct BatchSize {
  std::int64_t tokens = 8192;  // padding included; one sequence always fits
  std::int64_t sequences = 0;  // where given, instead: so many of the longest
};

struct SequenceRunnerOptions {
  BatchSize batch;
  std::int64_t masked_tokens = 0;  // most masked tokens of a batch; 0: no MLM logits
  bool hidden = false;             // whether results carry the hidden states
  bool sequence_logits = false;    // whether they carry the logits of a classification head
  bool answer_logits = false;      // whether they carry those of a head that answers questions
  bool class_logits = false;       // whether they carry those of a head that gives classes to tokens
  std::int64_t longest = 0;        // most tokens that a sequence will have; 0: what the model takes
  std::int64_t globals = 0;        // of inputs with two_inputs: most global tokens of one
  // Weighted sums of the logits, [num_labels] weights each, whose gradients results carry. Every sum takes a
  // pass of its own.
  std::vector<std::vector<float>> derive = {};
  bool offsets = false;  // whether inputs may carry offsets of embeddings
  // The thread that runs the model; null: one of the runner's own on a device that works beside the program
  // (Backend::asynchronous), else none. Runners of one backend that are used together share one.
  std::shared_ptr<DeviceThread> device = nullptr;
  bool says_memory = true;  // the plan is logged; else that is its caller's
  // The weights are read by open(), or by the first add(): of a run whose output may be there already.
  bool waits = false;
};

// The thread of a backend that works beside the program; null for another.
std::shared_ptr<DeviceThread> device_thread_of(kernels::Backend& backend);
// What a runner of such a model will hold.
std::vector<MemoryRow> plan_runner_memory(const ModelConfig& config, const SequenceRunnerOptions& options,
                                          const kernels::Backend& backend);

// A sequence as the model reads it, special tokens included.
struct SequenceInput {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types = {};   // as many; empty: all 0
  std::vector<std::int32_t> masked = {};  // rows of `ids` whose MLM logits are wanted
  // Rows of `ids` whose logits are wanted, ascending, one at least, with options.class_logits.
  std::vector<std::int32_t> labelled = {};
  // Tokens that padding is for, where they are more than it has: sequences that are compared see the same.
  std::int64_t pad_to = 0;
  // [ids, C], with options.offsets: what is added to the vector of each token (Batch::embedding_offsets);
  // empty: nothing.
  std::vector<float> offsets = {};
  // Of BigBird-ETC: the same ids and their types, with global tokens; of all inputs or of none, for which the
  // model makes them itself. And whether sequence_logits are those of the first global token, not of the
  // first long one.
  std::optional<TwoInputs> two_inputs = {};
  bool reads_global = false;
};

class SequenceRunner {
 public:
  // Memory for the largest batch is taken here, or by open(). Error{bad_input} when the tokenizer does not
  // agree with the model, or when masked tokens, logits or their gradients are asked for of a model without
  // a head for them. Error{usage}: `length` (options.longest) beyond the positions of the model.
  SequenceRunner(const ModelFolder& folder, const SequenceRunnerOptions& options, kernels::Backend& backend);
  ~SequenceRunner();
  SequenceRunner(const SequenceRunner&) = delete;
  SequenceRunner& operator=(const SequenceRunner&) = delete;

  const ModelConfig& config() const { return folder_.config(); }
  const ModelFolder& folder() const { return folder_; }
  const Tokenizer& tokenizer() const { return folder_.tokenizer(); }
  kernels::Precision precision() const { return backend_.precision(); }
  bool computes_in_int8() const;  // any layer; known before the weights are read
  // The values of one parameter tensor, by its name in ParameterLayout.
  std::vector<float> parameter(const std::string& name) const;

  // Reads the weights, once.
  void open();
  // `result` is called once for the sequence, in the order of the calls of add, now or in a later call, on
  // the calling thread. At most options.masked_tokens rows may be masked.
  void add(const SequenceInput& input, std::function<void(const SequenceResult&)> result);
  // Runs what is left; every result has been given afterwards.
  void finish();
  // Whether batches run while the caller prepares the next ones.
  bool works_ahead() const { return pipeline_->works_ahead(); }

 private:
  // Of a sequence, what its batch does not hold.
  struct Awaited {
    std::size_t masked = 0;    // rows
    std::size_t labelled = 0;  // rows
    std::function<void(const SequenceResult&)> result;
  };
  // A batch from its first sequence to its results, with what came of it as far as it is asked for.
  struct Pass {
    Batch batch;
    std::vector<Awaited> sequences;
    std::vector<float> hidden, masked_logits;
    std::vector<float> class_logits;                // [B, num_labels], or [rows, num_labels] of tokens
    std::vector<std::vector<float>> answer_logits;  // [scores][T], of question answering start and end
    std::vector<std::vector<float>> gradients;      // [options_.derive][tokens of the batch, C]
  };
  BatchLimits plan_batches(const ModelConfig& config);
  void run();
  void compute(Pass& pass);
  void deliver(const Pass& pass) const;
  std::vector<float> class_logits() const;
  std::vector<std::vector<float>> answer_logits() const;
  std::vector<std::vector<float>> derive(const Batch& batch);

  ModelFolder folder_;
  SequenceRunnerOptions options_;
  kernels::Backend& backend_;
  std::unique_ptr<Model> model_;  // null until open()
  std::int64_t limit_ = 0;        // tokens of a batch
  std::int64_t most_globals_ = 0;
  std::int64_t most_sequences_ = 0;
  std::shared_ptr<Pass> next_;  // is filled: sequences come one by one, and a model takes many at once
  std::unique_ptr<BatchPipeline> pipeline_;  // behind the model, which its batches use
};

// Logs the plan of batches of this size, whose longest sequence has so many tokens. Error{environment} where
// there is less memory than that, with the batch that would fit.
void require_inference_memory(const std::function<std::vector<MemoryRow>(const BatchSize&)>& plan,
                              const BatchSize& batch, std::int64_t longest, const kernels::Backend& backend);

// The rows of several models that are there together: one of each name.
void add_rows(std::vector<MemoryRow>& all, const std::vector<MemoryRow>& more);

}  // namespace bigbird
