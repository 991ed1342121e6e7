// What heads share: of those with one answer per sequence the first token's row and the loss on the answer,
// of those with scores of tokens the loss of one score.
#pragma once

#include "lib/model/network/batch.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"

namespace bigbird {

// Brings the first token's rows, and the labels or targets that the batch has, to the device.
void sequence_stage(const PassContext& pass, const HeadRowActivations& head_rows,
                    const SequenceActivations& kept);
// kept.gathered [B, C] = the rows of hidden at the first token of every sequence, or the mean over each of
// the batch's spans; and back, the gradient [T, C] added to.
void gather_first_tokens(const PassContext& pass, const SequenceActivations& kept,
                         kernels::ConstValues hidden);
void spread_first_tokens(const PassContext& pass, const SequenceActivations& kept,
                         kernels::ConstValues dgathered, kernels::Values gradient);

// The loss of kept.logits [B, classes] against what the batch gives: cross entropy of a label (next sentence,
// and classification by a single label), binary cross entropy of every label, or squared error
// (ModelConfig::problem_type). Means over all of [B, classes] in the last two, as in transformers; positives
// weighted by ModelConfig::positive_weight do not change what the mean divides by.
bool has_sequence_loss(const PassContext& pass);
// Nothing without labels.
void sequence_loss_forward(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes);
void count_sequence_labels(const Batch& batch, const ModelConfig& config, LabelCounts& labels);
void sequence_result(const PassContext& pass, const SequenceActivations& kept, ForwardResult& result);
// Fills kept.dlogits. scale is a device pointer.
void sequence_loss_backward(const PassContext& pass, const SequenceActivations& kept, kernels::Index classes,
                            const float* scale);

// Labels other than ignored_label.
std::int64_t known_labels(const std::vector<std::int32_t>& labels);
// Reads losses, and predictions unless they are null, back to the host, and adds up in order those that have
// a label. Returns the losses.
std::vector<float> add_losses(kernels::Backend& backend, const float* losses, const std::int32_t* predictions,
                              const std::vector<std::int32_t>& labels, LossTerm& term);

// The loss of one score of tokens against its groups (TokenTargets in batch.h).

// Brings the targets to the device.
void token_targets_stage(const PassContext& pass, const TokenTargets& targets,
                         const TokenTargetActivations& kept);
// kept.losses of logits [T], and their gradient [T] where it is wanted: zeros for tokens of no group.
void token_loss(const PassContext& pass, const TokenTargets& targets, const TokenTargetActivations& kept,
                bool softmax, const float* logits, const kernels::LossGradient& gradient);
// The losses read back and added up in order.
double sum_token_losses(const PassContext& pass, const TokenTargets& targets,
                        const TokenTargetActivations& kept);

}  // namespace bigbird
