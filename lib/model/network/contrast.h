// Contrastive predictive coding of BigBird-ETC (docs/specification.md 2.8; the idea is Ainslie et al. 2020,
// section 2.4, the definition ours). Of N pairs of a masked sentence and the same sentence read alone, the
// global rows are projected to contexts c_i and targets t_j, and with scores s_ij = c_i . t_j / sqrt(C)
//
//   loss = sum over i of (log sum over j of exp(s_ij) - s_ii)
//
// where a j of the same text as i, but not i itself, is left out. Fewer than two different texts: no loss.
// The scores are few, and taken on the host in double; a device only projects.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// contexts and targets [N, width], texts [N] as SentencePairs has them.
struct Contrast {
  LossTerm loss;                           // its sum, N labels, and how many i score t_i highest
  double candidates = 0;                   // j of all i together, i itself too
  std::vector<float> dcontexts, dtargets;  // [N, width] gradients of the sum
};
Contrast contrast(const std::vector<float>& contexts, const std::vector<float>& targets,
                  const std::vector<std::int32_t>& texts, std::int64_t width);

// All do nothing without pairs in the batch.
void contrast_stage(const PassContext& pass, const ContrastActivations& kept);
void contrast_forward(const PassContext& pass, const ContrastTensors& tensors,
                      const ContrastActivations& kept, kernels::ConstValues hidden);
void count_contrast_labels(const Batch& batch, const ModelConfig& config, LabelCounts& labels);
// Reads what forward has made; `gradients` gets [2N, C], contexts first, of the sum of losses.
void contrast_result(const PassContext& pass, const ContrastActivations& kept, ForwardResult& result,
                     std::vector<float>& gradients);
// Before the backward pass: brings them to the device, times `scale`.
void contrast_stage_backward(const PassContext& pass, const ContrastActivations& kept,
                             const std::vector<float>& gradients, float scale);
void contrast_backward(const PassContext& pass, const ContrastTensors& tensors,
                       const ContrastTensors& gradients, const ContrastActivations& kept,
                       const BackwardWorkspace& work);

}  // namespace bigbird
