// A batch on the host: ragged sequences laid end to end, each padded to its own multiple of the block size,
// or not at all where the model takes that. Used by the samplers (which fill it), the model (which runs it)
// and the tasks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/model/config.h"
#include "lib/model/network/global_tokens.h"
#include "lib/model/network/model_limits.h"

namespace bigbird {

// A label that is not to be predicted and does not count.
inline constexpr std::int32_t ignored_label = -100;

// What is right of one score per token. A softmax runs over the rows of a group, of which one or several are
// right: loss = log sum exp(all) - log sum exp(right), the OR-softmax of Clark and Gardner (2018, section 3),
// cross entropy where one is right, and nothing where none is. With sigmoids a group's loss is the sum of its
// rows' binary cross entropies. A group is a window, or all windows of a document; a row is in one group.
//
// Of a group with P parts, what competes are sums of P rows: all first parts from left to right, then all
// second ones. So WikiHop's candidates, which every input of a question has, are one choice.
struct TokenTargets {
  std::vector<std::int32_t> rows;                 // [N] of T, group after group
  std::vector<std::uint8_t> right;                // [N] 0 or 1; of parts the same at each
  std::vector<std::int32_t> group_offsets = {0};  // [G + 1] into rows
  std::vector<std::int32_t> group_parts;          // [G]; empty: all 1. More of a softmax alone

  std::int64_t groups() const { return static_cast<std::int64_t>(group_offsets.size()) - 1; }
  // Groups with a right row: those that a softmax has a loss for.
  std::int64_t answered_groups() const;
  // A new group, empty; and a row more for the last one.
  void open_group(std::int32_t parts = 1);
  std::int32_t parts_of(std::size_t group) const { return group_parts.empty() ? 1 : group_parts[group]; }
  void add(std::int64_t row, bool is_right);
};

// What a decoder reads, ragged as the tokens of a Batch: sequence s of it goes with sequence s of the batch.
// Row t of a sequence predicts the token behind it.
struct TargetTokens {
  std::vector<std::int32_t> ids;               // [T'] the start token, then the text without its last token
  std::vector<std::int64_t> token_offsets{0};  // [B + 1]
  std::vector<std::int64_t> lengths;           // [B] real tokens
  std::vector<std::int32_t> labels;            // [T'] or ignored_label; empty when unknown

  std::int64_t tokens() const { return token_offsets.back(); }
  // One sequence more, padded to a multiple of `multiple`. labels: as many as ids, or none, in every
  // sequence alike.
  void append(const std::vector<std::int32_t>& sequence_ids, const std::vector<std::int32_t>& sequence_labels,
              std::int64_t multiple, std::int32_t pad_id);
};

// Documents of a model with HeadType::masked_sentences or sentence_labels, whose sentences are the sequences.
struct BatchDocuments {
  std::vector<std::int64_t> sentence_offsets{0};  // [D + 1] into the sequences, all of which are in one
  // [B'] sequences that a decoder writes, ascending: sequence s of Batch::targets is of this one.
  std::vector<std::int32_t> written;

  bool empty() const { return sentence_offsets.size() < 2; }
  std::int64_t count() const { return static_cast<std::int64_t>(sentence_offsets.size()) - 1; }
};

// Neighbouring tokens of one sequence.
struct OutputSpan {
  std::int32_t first = 0;  // row of T
  std::int32_t length = 0;
  bool operator==(const OutputSpan&) const = default;
};

// Segments of streams, of a model with a memory: a sequence goes on where its stream's last one ended.
struct StreamPlaces {
  std::vector<std::int32_t> streams;  // [B] distinct, below BatchLimits::streams
  std::vector<std::uint8_t> begins;   // [B] 1: a document begins, and what the stream remembers is forgotten

  bool empty() const { return streams.empty(); }
};

struct Batch {
  // [T], T = token_offsets.back(): token ids (pad id in the padding), token types 0/1, which a model with one
  // of them or none does not read. Positions are 0.. within a sequence.
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;
  // [B + 1] first row of every sequence (a multiple of the block size apart, unless the model takes other
  // lengths), and [B] real tokens of each.
  std::vector<std::int64_t> token_offsets{0};
  std::vector<std::int64_t> lengths;
  // MLM: rows (of T) whose token is to be predicted, ascending, and the true ids. Empty without MLM.
  std::vector<std::int32_t> masked_rows;
  std::vector<std::int32_t> masked_labels;
  // NSP: [B] 0 = B follows A, 1 = random; empty without NSP. Classification by a single label: [B] class
  // numbers; empty when unknown.
  std::vector<std::int32_t> sequence_labels;
  // Multi-label classification (0..1) and regression: [B, num_labels]; empty when unknown.
  std::vector<float> sequence_targets;
  // Question answering: [B] first and last token of the answer, both or none; position 0 says that there is
  // no answer, ignored_label that it lies outside.
  std::vector<std::int32_t> start_positions;
  std::vector<std::int32_t> end_positions;
  // Answers in parts (HeadType::structured_answers), and several right positions (question_answering, whose
  // outputs are start and end; then without start_positions): one entry per score that a token has, or none
  // at all. Rows are real tokens; there are at most B groups, and of sigmoids as many for every score. The
  // type of the answer is a class number in sequence_labels, or ignored_label.
  std::vector<TokenTargets> token_targets;
  TargetTokens targets;      // generation, masked_sentences; none: the encoder runs alone
  BatchDocuments documents;  // has_documents(); none: all sequences are of one document
  // BigBird-ETC; none: the model makes them (with_fixed_globals). token_targets may list global_row() then.
  GlobalTokens globals;
  // Of a model with AttentionPattern::bpt, which sets it: rows of span nodes behind those of the tokens.
  std::int64_t span_nodes = 0;
  SentencePairs sentence_pairs;  // BigBird-ETC with EtcOptions::cpc; none: no such loss
  // [B] the row that the head reads of a sequence (classes, types of answers), or global_row(). Empty: its
  // first token, of a model with AttentionPattern::bpt the root of its tree.
  std::vector<std::int32_t> sequence_rows;
  // Of a model that pools (ModelConfig::pools): the tokens whose mean the head reads, ascending, no two alike
  // in a token; several of a sequence are as many outputs, each with labels of its own. Empty: one of each
  // sequence, as ModelConfig::pooling says. Of token_classification one token each, of those that get a
  // class, padding that was given among them; empty: every real token.
  std::vector<OutputSpan> output_spans;
  // Empty of a model with a memory: every sequence begins without one, and nothing is kept.
  StreamPlaces places;
  // [B] tokens of every sequence together with the padding that it was given with. Hugging Face computes what
  // its (B, T) matrix holds, padding too: in full attention that padding sees the real tokens, and all T
  // tokens compete for start and end. Empty: the real tokens alone, so that padding changes nothing.
  std::vector<std::int64_t> given_lengths;

  // Of a model with AttentionPattern::longformer: rows (of T) of the global tokens, ascending, real tokens.
  // None given: those of the model's rule.
  std::optional<std::vector<std::int32_t>> global_rows;
  // [B] tokens that attention is planned for, in whole blocks: those of the rows, and padding that has no
  // rows because the model takes sequences without. Empty: the rows.
  std::vector<std::int64_t> plan_lengths;
  // [3, T] embedding_orders() (encoder.h) of the finished batch: Model::make_ready(). Empty: not made yet.
  std::vector<std::int32_t> row_orders;
  // [T, C] of a model with ModelOptions::embedding_offsets: what is added to the vector that stands for each
  // token (Model::input_gradients), to run a model between and beyond the tokens that it has. Empty: nothing.
  std::vector<float> embedding_offsets;

  std::int64_t tokens() const { return token_offsets.back(); }
  // Long and global ones, and span nodes.
  std::int64_t rows() const { return tokens() + globals.tokens() + span_nodes; }
  std::int64_t sequences() const { return static_cast<std::int64_t>(lengths.size()); }
  // Rows of a head of classes.
  std::int64_t outputs() const {
    return output_spans.empty() ? sequences() : static_cast<std::int64_t>(output_spans.size());
  }
  std::int64_t given_length(std::size_t sequence) const {
    return given_lengths.empty() ? lengths[sequence] : given_lengths[sequence];
  }

  std::int64_t plan_length(std::size_t sequence) const {
    return plan_lengths.empty() ? token_offsets[sequence + 1] - token_offsets[sequence]
                                : plan_lengths[sequence];
  }

  // Appends one sequence of real tokens, padding it to a multiple of `multiple`, which is the block size, or
  // 1 where the model takes that (or to pad_to tokens when larger). types may be empty (all 0).
  void append(const std::vector<std::int32_t>& sequence_ids, const std::vector<std::int32_t>& sequence_types,
              std::int64_t multiple, std::int32_t pad_id, std::int64_t pad_to = 0);
  // The same of BigBird-ETC. All sequences of a batch have two inputs, or none has.
  void append(const TwoInputs& inputs, std::int64_t multiple, std::int32_t pad_id);
  // Of a model that pools and a batch that does not say what; and of every token.
  void find_output_spans(const HeadPooling& pooling);
  void find_token_spans();
  // Once the batch is whole: every global_row() becomes the row that it is.
  void find_global_rows();
};

// What a batch leaves to the model: global tokens of BigBird-ETC, spans of a head that pools, one document of
// all sentences.
void complete_batch(const ModelConfig& config, bool whole_blocks, Batch& batch);

// One pass over the host side of a batch before it runs, so that no kernel ever reads outside a table.

// `whole_blocks`: each sequence must have rows for whole blocks (Model::wants_whole_blocks).
//
// Error{bad_input} for ids, types, labels and positions that the model does not know, and for sequences
// longer than its positions; Error{runtime} for a batch over the limits or whose parts do not agree in their
// sizes.
void check_batch(const Batch& batch, const ModelConfig& config, const BatchLimits& limits, bool whole_blocks);

}  // namespace bigbird
