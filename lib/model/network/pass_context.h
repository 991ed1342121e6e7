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
#include "lib/model/config.h"
#include "lib/model/label_smoothing.h"
#include "lib/model/network/attention_runs.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/dropout_site.h"

namespace bigbird {

// Rows that the head for masked tokens works on when the batch has `masked` of them. A device that records
// calls gets a multiple of 64, as far as there are tokens, so that batches of one shape make the same calls:
// what is added are other tokens, with labels that are ignored.
std::int64_t masked_rows_of_pass(const kernels::Backend& backend, std::int64_t masked, std::int64_t tokens);

struct DecoderPass;  // decoder_pass.h

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
  // What layers are counted from where masks are drawn: a decoder's begin behind the encoder's.
  std::int64_t first_layer = 0;
  LabelSmoothing smoothing = {};  // of a decoder's loss
  // Layers that this pass leaves out (LayerDrop, Fan et al. 2019), counted as masks are; none: empty.
  std::span<const std::uint8_t> dropped = {};
  // The last layer behind its attention may be computed at some rows alone (head_rows.h): their numbers, on
  // the device. Null: at all.
  const std::int32_t* row_numbers = nullptr;
  std::int64_t row_count = 0;

  std::int64_t rows() const { return row_numbers == nullptr ? tokens() : row_count; }
  std::int64_t tokens() const { return batch.tokens(); }
  std::int64_t width() const { return config.hidden_size; }

  bool drops(std::int64_t layer) const {
    return !dropped.empty() && dropped[static_cast<std::size_t>(first_layer + layer)] != 0;
  }
  // A host copy of rows() for a listener, where there is one.
  void report_state(const StateListener& listener, std::size_t state, kernels::ConstValues values) const {
    if (!listener) return;
    std::vector<float> host(static_cast<std::size_t>(rows() * width()));
    backend.download_values(host.data(), values, rows() * width());
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

// forward_backward: the gradient of a decoder's logits is taken in the forward pass.
enum class Phase : std::uint8_t { forward, backward, forward_backward };

// For Backend::replay(): equal for passes of one model that make the same operations with the same arguments.
// What a batch holds does not count, its shape does: the block lists, and with them the runs, follow from the
// lengths of the sequences with their padding. model is a number that no other model ever has.
std::uint64_t pass_key(const PassContext& pass, std::uint64_t model, Phase phase);

}  // namespace bigbird
