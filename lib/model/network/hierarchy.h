// HIBERT (Zhang et al. 2019; docs/specification.md 2.14): the encoder's sequences are sentences, whose last
// tokens stand for them; a second encoder reads these vectors, document by document, each with the sinusoid
// of its place. On it stands a decoder, which is given a sentence's vector in every layer (decoder.h), or a
// label of every sentence.
#pragma once

#include <cstdint>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/batch.h"
#include "lib/model/network/decoder.h"
#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// The config that a layer of the second encoder sees: the encoder's, with as many layers as that has, and
// blocks of one sentence, so that no document is padded.
ModelConfig document_config(const ModelConfig& config);

// A pass of the second encoder, whose tokens are the sentences of the batch, without padding.
struct DocumentPass {
  ModelConfig config;  // document_config()
  Batch batch;         // offsets and lengths alone
  std::vector<std::vector<AttentionRun>> runs;

  // As a layer of the second encoder sees it, where `encoder` is the first one's.
  PassContext context(const PassContext& encoder) const;
};

// config is the model's. Every run has a slot of its own from first_slot on.
void document_pass(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                   const std::uint64_t* dropout_seed, kernels::Index first_slot, DocumentPass& pass);

// The passes of the stacks behind the encoder, as far as the model has them. Their slots are the last of
// those before `end`; the first of them is returned.
kernels::Index later_stacks(const ModelConfig& config, DecoderPlans& plans, const Batch& batch, bool training,
                            const std::uint64_t* dropout_seed, kernels::Index end, DocumentPass& documents,
                            DecoderPass& decoder);

// [positions, width], Vaswani et al. (2017): column 2i of position p is sin(p / 10000^(2i / width)), column
// 2i + 1 the cosine.
std::vector<float> sinusoids(std::int64_t positions, std::int64_t width);
// The same on the device, and in the tensors that read it; nothing for other positions.
void fill_sinusoids(kernels::Backend& backend, const ModelConfig& config, float* to, ModelTensors& tensors);

// Brings the rows that are read, and labels of sentences, to the device.
void documents_stage(const PassContext& pass, const Activations& kept);
// hidden [T, C] is the encoder's; fills kept.documents.
void documents_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept,
                       kernels::ConstValues hidden);
// kept.documents.workspace.gradient is that of the last state on entry; the gradient of hidden is added to
// kept.workspace.gradient. With grad_checkpoint as encoder_backward().
void documents_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                        const Activations& kept, bool grad_checkpoint);
// Zeros for what a head adds to.
void zero_document_gradient(const PassContext& pass, const DocumentActivations& kept);

// HeadType::sentence_labels: dropout, and two logits of each sentence.
void sentence_head_forward(const PassContext& pass, const ModelTensors& tensors, const Activations& kept);
void sentence_head_backward(const PassContext& pass, const ModelTensors& tensors,
                            const ModelTensors& gradients, const Activations& kept);

// In place of a decoder's cross-attention: LayerNorm(input + dropout(the vector of the sentence that the row
// is of)). input [T', C]; the output is kept.norm.
void added_row_forward(const PassContext& decoder, std::int64_t layer, const NormTensors& norm,
                       kernels::ConstValues input, const CrossAttentionActivations& kept,
                       const DocumentActivations& documents);
// As attention_layer_backward(); the vectors' gradients are added to documents.workspace.gradient.
void added_row_backward(const PassContext& decoder, std::int64_t layer, const NormTensors& norm,
                        const NormTensors& gradients, const CrossAttentionActivations& kept,
                        const BackwardWorkspace& work, const DocumentActivations& documents);

}  // namespace bigbird
