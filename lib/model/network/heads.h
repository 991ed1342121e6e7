// The output heads on the last hidden state (docs/specification.md 3), each as transformers computes it:
// masked tokens, next sentence and the pooled first token, classification of sequences, spans that answer a
// question; and one of our own, for answers in parts. head_*() take the one that the config names;
// pass_context.h says what the phases are.
#pragma once

#include "lib/model/network/losses.h"
#include "lib/model/network/memory.h"
#include "lib/model/network/pass_context.h"
#include "lib/model/network/tensors.h"

namespace bigbird {

// Brings rows, labels and targets of the batch to the device.
void head_stage(const PassContext& pass, const Activations& kept);
// hidden [T, C], or of head_rows.h [R, C], is the last hidden state. Losses are computed for the labels that
// the batch carries. With `gradients` a decoder's logits are derived too, as decoder_forward() says, and
// on_decoder_state is as encoder_forward()'s.
void head_forward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors* gradients,
                  const Activations& kept, kernels::ConstValues hidden,
                  const StateListener& on_decoder_state);
// The losses and hits of a forward pass, read back and added up; the counts are there (label_counts()).
void head_result(const PassContext& pass, const Activations& kept, ForwardResult& result);
// Adds to kept.workspace.gradient, the gradient of the last hidden state, and to the parameter gradients. The
// weights of the losses are kept.scalars. Logits of masked tokens are turned into their gradients in place.
// With grad_checkpoint a decoder's layers are run again, as the encoder's are.
void head_backward(const PassContext& pass, const ModelTensors& tensors, const ModelTensors& gradients,
                   const Activations& kept, bool grad_checkpoint);

// Back through a head for classification from kept.sequence.dlogits, whatever they are the gradients of.
void classification_logits_backward(const PassContext& pass, const ClassificationHeadTensors& tensors,
                                    const ClassificationHeadTensors& gradients, const Activations& kept);

// BigBirdForQuestionAnswering: a block LayerNorm(x + dropout(W2 gelu(W1 dropout(x)))) and one logit each for
// the start and the end of the answer. Tokens of the question, up to and with the first [SEP] but without
// position 0, get 1e6 less; a sequence without [SEP] has no question. The softmax runs over
// Batch::given_length tokens: the real ones of a ragged batch, so that padding never takes part, or all T of
// a forward pass on given ids, where Hugging Face lets it. With Batch::token_targets it runs over their
// groups instead.
//
// Of HeadForm::roberta one dense layer on the hidden states gives the two logits, and the question's tokens
// keep theirs.
void question_head_stage(const PassContext& pass, const QuestionActivations& kept);
void question_head_forward(const PassContext& pass, const QuestionHeadTensors& tensors,
                           const Activations& kept, kernels::ConstValues hidden);
void count_question_labels(const Batch& batch, LabelCounts& labels);
void question_head_result(const PassContext& pass, const QuestionActivations& kept, ForwardResult& result);
void question_head_backward(const PassContext& pass, const QuestionHeadTensors& tensors,
                            const QuestionHeadTensors& gradients, const Activations& kept);

// HeadType::structured_answers: scores of every token, and the type of the answer at the first one, each by
// one dense layer on the last hidden state and without dropout (docs/specification.md 3.4).
void answer_head_stage(const PassContext& pass, const Activations& kept);
void answer_head_forward(const PassContext& pass, const AnswerHeadTensors& tensors, const Activations& kept,
                         kernels::ConstValues hidden);
void count_answer_labels(const Batch& batch, const ModelConfig& config, LabelCounts& labels);
void answer_head_result(const PassContext& pass, const Activations& kept, ForwardResult& result);
void answer_head_backward(const PassContext& pass, const AnswerHeadTensors& tensors,
                          const AnswerHeadTensors& gradients, const Activations& kept);

// What sums of losses, and their gradients, are multiplied by: 1, but for answers in parts of a model of
// BigBird-ETC that have sigmoids beside softmaxes. There each score and the type weigh the same, as in
// etcmodel: of HotpotQA's four losses each is a quarter of what is minimised.
LossScale answer_weights(const ModelConfig& config);

// Tokens of a sequence up to and with its first [SEP], of the first `length` ones; 1 without [SEP], as
// transformers counts.
std::int64_t question_length(const std::int32_t* ids, std::int64_t length, std::int64_t sep_token_id);

}  // namespace bigbird
