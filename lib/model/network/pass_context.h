// One pass of a batch through a model as its layers see it: the batch, the attention runs and the dropout
// masks. A pass goes through four phases. Staging brings to the device what the batch says; forward and
// backward only enqueue operations, so that a device may record them and run them again for another batch of
// the same shape; the results are downloaded at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/types.h"
#include "lib/model/config.h"
#include "lib/model/label_smoothing.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/model_limits.h"
#include "lib/model/network/stream_memory.h"
#include "lib/model/plans/block_plan.h"

namespace bigbird {

// How a batch is cut for attention: the calls of every layer, made before the first of them runs, because a
// device wants to know the block lists and lengths beforehand.

// A run of neighbouring sequences that one kernel call serves. Rows and offsets are counted from its own
// first row.
class AttentionRun {
 public:
  // call: all but the slot and the sequences.
  AttentionRun(kernels::Index first_row, const kernels::AttentionBatch& call)
      : first_row_(first_row), call_(call) {}

  void append(kernels::Index rows, kernels::Index length, kernels::Index query_length, const BlockPlan& plan);
  // A sequence whose keys are of other rows: `key_rows` of them, `length` real. In a run all are or none.
  void append_cross(kernels::Index rows, kernels::Index query_length, kernels::Index key_rows,
                    kernels::Index length, const BlockPlan& plan);
  // The same of a sequence whose first query stands at a key row of its own; in a run all do or none.
  void append_behind(kernels::Index rows, kernels::Index query_length, kernels::Index key_rows,
                     kernels::Index length, kernels::Index start, const BlockPlan& plan);
  void set_slot(kernels::Index slot) { call_.slot = slot; }
  // Of the call's heads the first so many, of plans that have as many.
  void set_heads(kernels::Index heads) { call_.heads = heads; }
  // The rule stays the caller's.
  void set_rule(const kernels::PairRule* rule) { call_.rule = rule; }
  // Its arrays are the run's, at the same address every time.
  kernels::AttentionBatch call() const;
  kernels::Index first_row() const { return first_row_; }

 private:
  kernels::Index first_row_;
  std::vector<kernels::Index> offsets_{0};
  std::vector<kernels::Index> lengths_;
  std::vector<kernels::Index> query_lengths_;
  std::vector<kernels::Index> key_offsets_;  // none where keys are the queries' own rows
  std::vector<kernels::Index> query_starts_;
  std::vector<const kernels::BlockPlanView*> plans_;
  kernels::AttentionBatch call_;
};

// All of a call but the slot and the sequences: the heads and blocks of `config`, scores over sqrt(D), no
// dropout.
kernels::AttentionBatch attention_call(const ModelConfig& config);

// [layer][run]; every run has a slot of its own, from first_slot on (AttentionBatch::slot). Dropout of
// attention probabilities exists in full attention only, and a short sequence takes full attention beside
// long ones that do not: in training a batch is cut where that changes. Without it the whole batch is one
// run. dropout_seed is a device pointer.
std::vector<std::vector<AttentionRun>> attention_runs(const ModelConfig& config, PlanCache& plans,
                                                      const Batch& batch, bool training,
                                                      const std::uint64_t* dropout_seed,
                                                      kernels::Index first_slot);
// The most runs that a layer can have.
std::int64_t most_attention_runs(const ModelConfig& config, const BatchLimits& limits, bool training);

// Of so many values.
inline std::size_t bytes_of(kernels::Values values, std::int64_t count) {
  return static_cast<std::size_t>(count) * kernels::size_of(values.type());
}

// Where dropout happens, and the numbers that tell one mask from another.

// The sites (docs/specification.md 2.1). The numbers are part of what a seed means: never renumber, only
// append.
enum class DropoutSite : std::uint64_t {
  embeddings = 1,
  attention_probabilities = 2,  // full attention only
  attention_output = 3,
  feed_forward_output = 4,
  classifier_input = 5,
  classifier_inner = 6,
  question_input = 7,
  question_output = 8,
  cross_attention_probabilities = 9,
  cross_attention_output = 10,
  global_key_probabilities = 11,  // of local queries over global keys
  global_query_probabilities = 12,
  global_probabilities = 13,  // of global queries over global keys
  global_attention_output = 14,
  global_feed_forward_output = 15,
  class_probabilities = 16,   // of residue classes (residue_classes.h)
  random_probabilities = 17,  // of long queries over random blocks (attention_etc.h)
  distances = 18,             // of a layer with a memory (attention_recurrent.h), of all layers alike
  feed_forward_inner = 19,    // behind the activation; this and the next of such models alone
  last_state = 20,
  document_places = 21,  // of vectors of sentences with their places (hierarchy.h)
};

// kernels::Dropout::site: different for every (site, layer, part). Parts are runs of sequences, see
// AttentionRun.
constexpr std::uint64_t dropout_site(DropoutSite site, std::int64_t layer, std::int64_t part = 0) {
  return static_cast<std::uint64_t>(site) << 56 | static_cast<std::uint64_t>(layer) << 32 |
         static_cast<std::uint64_t>(part);
}

// Rows that the head for masked tokens works on when the batch has `masked` of them. A device that records
// calls gets a multiple of 64, as far as there are tokens, so that batches of one shape make the same calls:
// what is added are other tokens, with labels that are ignored.
std::int64_t masked_rows_of_pass(const kernels::Backend& backend, std::int64_t masked, std::int64_t tokens);

struct DecoderPass;    // decoder.h
struct WindowedPass;   // attention_windowed.h
struct EtcPass;        // attention_etc.h
struct RowsPass;       // attention_rows.h
struct RecurrentPass;  // attention_recurrent.h
struct FeaturePass;    // attention_features.h
struct ClusterPass;    // attention_clusters.h
struct RoutingPass;    // attention_routing.h
struct StemPass;       // stem.h
struct DocumentPass;   // hierarchy.h

// Of the states between layers, by their numbers: ForwardOptions::hidden_state.
using StateListener = std::function<void(std::int64_t, const std::vector<float>&)>;

struct PassContext {
  kernels::Backend& backend;
  const ModelConfig& config;
  const Batch& batch;                                  // host
  const std::vector<std::vector<AttentionRun>>& runs;  // [layer][run]
  std::int64_t masked_rows = 0;                        // masked_rows_of_pass()
  bool training = false;                               // dropout on
  const std::uint64_t* dropout_seed = nullptr;         // device
  const DecoderPass* decoder = nullptr;                // of models that have one
  const WindowedPass* windowed = nullptr;              // of has_windows() (attention_windowed.h)
  const EtcPass* etc = nullptr;                        // of AttentionPattern::etc
  const RowsPass* lists = nullptr;                     // of AttentionPattern::bpt
  const RecurrentPass* recurrent = nullptr;            // of is_recurrent()
  const FeaturePass* features = nullptr;               // of AttentionPattern::performer
  const ClusterPass* clusters = nullptr;               // of AttentionPattern::reformer
  const RoutingPass* routing = nullptr;                // of AttentionPattern::routing
  const StemPass* stem = nullptr;                      // of has_stem(): config and batch are its trunk's
  const DocumentPass* documents = nullptr;             // of has_documents() (hierarchy.h)
  // What layers are counted from where masks are drawn: a decoder's begin behind the encoder's.
  std::int64_t first_layer = 0;
  LabelSmoothing smoothing = {};  // of a decoder's loss
  // Layers that this pass leaves out (LayerDrop, Fan et al. 2019), counted as masks are; none: empty.
  std::span<const std::uint8_t> dropped = {};
  // The last layer behind its attention may be computed at some rows alone (head_rows.h): their numbers, on
  // the device. Null: at all.
  const std::int32_t* row_numbers = nullptr;
  std::int64_t row_count = -1;  // of those, or of a part of all; -1: all
  DropoutSite feed_forward_site = DropoutSite::feed_forward_output;
  // The weights of the losses are on the device before the forward pass: the gradient of logits is taken
  // together with their losses.
  bool scale_known = false;
  // A layer is computed again for a way back, and takes what was chosen from its values as it was.
  bool again = false;

  std::int64_t rows() const { return row_count < 0 ? tokens() : row_count; }
  // Of both inputs, where there are two, and with the nodes of spans.
  std::int64_t tokens() const { return batch.rows(); }
  // Of these the ones that embeddings give.
  std::int64_t embedded() const { return tokens() - batch.span_nodes; }
  std::int64_t width() const { return config.hidden_size; }
  // Of what the heads read.
  std::int64_t head_width() const { return bigbird::head_width(config); }

  bool drops(std::int64_t layer) const {
    return !dropped.empty() && dropped[static_cast<std::size_t>(first_layer + layer)] != 0;
  }
  // A host copy of rows(), without nodes of spans, for a listener, where there is one.
  void report_state(const StateListener& listener, std::size_t state, kernels::ConstValues values) const {
    if (!listener) return;
    const std::int64_t count = (row_count < 0 ? embedded() : row_count) * width();
    std::vector<float> host(static_cast<std::size_t>(count));
    backend.download_values(host.data(), values, count);
    listener(static_cast<std::int64_t>(state), host);
  }
  // What a layer that is left out does.
  void copy_state(kernels::ConstValues from, kernels::Values to) const {
    backend.copy(to.data(), from.data(),
                 static_cast<std::size_t>(tokens() * width()) * kernels::size_of(to.type()));
  }
  kernels::Dropout dropout(DropoutSite site, std::int64_t layer) const {
    return {training ? static_cast<float>(config.hidden_dropout_prob) : 0.0f, dropout_seed,
            dropout_site(site, first_layer + layer), row_numbers, width()};
  }
  kernels::Dropout classifier_dropout(DropoutSite site) const {
    const double probability =
        config.classifier_dropout < 0 ? config.hidden_dropout_prob : config.classifier_dropout;
    return {training ? static_cast<float>(probability) : 0.0f, dropout_seed, dropout_site(site, 0)};
  }
};

// forward_backward: the gradient of logits (PassContext::scale_known) is taken in the forward pass.
// first_backward: gradients of weights are written, not added to (LinearGradients::fresh).
enum class Phase : std::uint8_t { forward, backward, forward_backward, first_backward };

// For Backend::replay(): equal for passes of one model that make the same operations with the same arguments.
// What a batch holds does not count, its shape does: the block lists, and with them the runs, follow from the
// lengths of the sequences with their padding. model is a number that no other model ever has.
std::uint64_t pass_key(const PassContext& pass, std::uint64_t model, Phase phase);

}  // namespace bigbird
