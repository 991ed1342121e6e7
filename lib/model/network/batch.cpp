// See batch.h.
#include "lib/model/network/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "lib/core/error.h"
#include "lib/model/network/attention_etc.h"
#include "lib/model/network/attention_recurrent.h"

namespace bigbird {
namespace {

void check_ids(const std::vector<std::int32_t>& ids, std::int64_t bound, const char* what) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= bound) {
      throw_bad_input(
          fmt::format("{} {} at row {} of the batch: the model knows 0 to {}", what, ids[i], i, bound - 1),
          "use the tokenizer that the model was trained with");
    }
  }
}

void check_label(std::int32_t label, std::int64_t bound, const char* what) {
  if (label != ignored_label) check_ids({label}, bound, what);
}

void check_size(std::int64_t size, std::int64_t limit, const char* what) {
  if (size > limit)
    throw_runtime(fmt::format("a batch of {} {}, the model was built for {}", size, what, limit));
}

bool none_or(std::size_t size, std::size_t all) {
  return size == 0 || size == all;
}

// Whether tokens and sequences fit together; a sequence that is too long is refused.
bool tokens_agree(const Batch& batch, const ModelConfig& config, const BatchLimits& limits,
                  bool whole_blocks) {
  const std::size_t tokens = static_cast<std::size_t>(batch.tokens());
  bool agree = batch.ids.size() == tokens && batch.types.size() == tokens &&
               batch.token_offsets.size() == batch.lengths.size() + 1 && batch.token_offsets.front() == 0 &&
               none_or(batch.given_lengths.size(), batch.lengths.size()) &&
               none_or(batch.plan_lengths.size(), whole_blocks ? 0 : batch.lengths.size()) &&
               none_or(batch.embedding_offsets.size(), tokens * static_cast<std::size_t>(config.hidden_size));
  for (std::size_t s = 0; agree && s < batch.lengths.size(); ++s) {
    const std::int64_t rows = batch.token_offsets[s + 1] - batch.token_offsets[s], length = batch.lengths[s];
    agree = rows > 0 && (!whole_blocks || rows % config.block_size == 0) && length > 0 && length <= rows &&
            batch.given_length(s) >= length && batch.given_length(s) <= rows &&
            batch.plan_length(s) >= rows &&
            (batch.plan_lengths.empty() || batch.plan_length(s) % config.block_size == 0);
    check_size(batch.plan_length(s), limits.longest, "tokens in one sequence");
    if (length > config.max_position_embeddings) {
      throw_bad_input(fmt::format("a sequence of {} tokens: the model has {} positions", length,
                                  config.max_position_embeddings),
                      "cut the sequence, or use a model trained for longer ones");
    }
  }
  return agree;
}

// Whether the global tokens that a batch names are real tokens, and no more of a sequence than are planned.
bool globals_agree(const Batch& batch, const ModelConfig& config, const BatchLimits& limits) {
  if (!batch.global_rows) return true;
  const std::vector<std::int32_t>& rows = *batch.global_rows;
  bool agree = config.attention == AttentionPattern::longformer &&
               std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  std::size_t counted = 0;
  for (std::size_t s = 0; s < batch.lengths.size(); ++s) {
    const std::int64_t first = batch.token_offsets[s];
    const auto count = std::count_if(rows.begin(), rows.end(), [&](std::int32_t row) {
      return row >= first && row < first + batch.lengths[s];
    });
    check_size(count, limits.global_tokens, "global tokens in one sequence");
    counted += static_cast<std::size_t>(count);
  }
  agree = agree && counted == rows.size();
  return agree;
}

// Whether the decoder's rows and labels fit together, and to the sequences.
bool targets_agree(const Batch& batch, const ModelConfig& config, const BatchLimits& limits,
                   bool whole_blocks) {
  const TargetTokens& targets = batch.targets;
  const std::size_t tokens = static_cast<std::size_t>(targets.tokens());
  if (targets.lengths.empty()) return targets.ids.empty() && targets.labels.empty() && tokens == 0;
  check_size(targets.tokens(), limits.target_tokens, "tokens of a decoder");
  const std::size_t sequences =
      config.writes_sentences() ? batch.documents.written.size() : batch.lengths.size();
  bool agree = config.has_any_decoder() && targets.lengths.size() == sequences &&
               targets.token_offsets.size() == targets.lengths.size() + 1 &&
               targets.token_offsets.front() == 0 && targets.ids.size() == tokens &&
               none_or(targets.labels.size(), tokens);
  for (std::size_t s = 0; agree && s < targets.lengths.size(); ++s) {
    const std::int64_t rows = targets.token_offsets[s + 1] - targets.token_offsets[s];
    const std::int64_t length = targets.lengths[s];
    agree = rows > 0 && (!whole_blocks || rows % config.block_size == 0) && length > 0 && length <= rows;
    if (length > config.decoder_positions()) {
      throw_bad_input(fmt::format("{} tokens to write: the model has {} positions for them", length,
                                  config.decoder_positions()),
                      "cut the text that is to be learned");
    }
  }
  return agree;
}

bool labels_agree(const Batch& batch, const ModelConfig& config) {
  const std::size_t sequences = batch.lengths.size();
  const auto outputs = static_cast<std::size_t>(batch.outputs());
  const std::size_t targets = outputs * static_cast<std::size_t>(config.num_labels);
  const auto& rows = batch.masked_rows;
  return none_or(batch.masked_labels.size(), rows.size()) &&
         std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end() &&
         (rows.empty() || (rows.front() >= 0 && rows.back() < batch.tokens())) &&
         none_or(batch.sequence_labels.size(), config.num_labels > 0 ? outputs : 0) &&
         none_or(batch.sequence_targets.size(), targets) &&
         none_or(batch.start_positions.size(), sequences) &&
         batch.end_positions.size() == batch.start_positions.size();
}

// Whether documents have sentences, no more than the model takes, and all sequences are of one.
void check_documents(const Batch& batch, const ModelConfig& config) {
  const BatchDocuments& documents = batch.documents;
  if (!config.has_documents()) {
    if (!documents.empty() || !documents.written.empty())
      throw_runtime("documents for a model that has no encoder of them");
    return;
  }
  if (documents.empty() || documents.sentence_offsets.front() != 0 ||
      documents.sentence_offsets.back() != batch.sequences())
    throw_runtime("sentences of a batch that are of no document");
  for (std::size_t d = 0; d + 1 < documents.sentence_offsets.size(); ++d) {
    const std::int64_t count = documents.sentence_offsets[d + 1] - documents.sentence_offsets[d];
    if (count < 1) throw_runtime("a document without sentences");
    if (count > config.documents.sentences) {
      throw_bad_input(
          fmt::format("a document of {} sentences: the model takes {}", count, config.documents.sentences),
          "cut the document");
    }
  }
  const std::vector<std::int32_t>& written = documents.written;
  if (std::adjacent_find(written.begin(), written.end(), std::greater_equal<>()) != written.end() ||
      (!written.empty() && (written.front() < 0 || written.back() >= batch.sequences())) ||
      written.size() != batch.targets.lengths.size())
    throw_runtime("sentences to write that are not there");
}

bool sequence_rows_agree(const Batch& batch) {
  return none_or(batch.sequence_rows.size(), batch.lengths.size()) &&
         std::all_of(batch.sequence_rows.begin(), batch.sequence_rows.end(),
                     [&](std::int32_t row) { return row >= 0 && row < batch.rows(); });
}

// Whether spans lie in real tokens of one sequence each, one after another.
bool output_spans_agree(const Batch& batch, const ModelConfig& config) {
  if (batch.output_spans.empty()) return true;
  std::size_t sequence = 0;
  std::int64_t next = 0;  // the first token that may be in the next span
  for (const OutputSpan& span : batch.output_spans) {
    while (sequence < batch.lengths.size() && span.first >= batch.token_offsets[sequence + 1]) ++sequence;
    if (sequence == batch.lengths.size() || span.first < next || span.length < 1) return false;
    next = std::int64_t{span.first} + span.length;
    const bool of_tokens = config.head == HeadType::token_classification;
    if (of_tokens && span.length != 1) return false;
    const std::int64_t length = of_tokens ? batch.token_offsets[sequence + 1] - batch.token_offsets[sequence]
                                          : batch.lengths[sequence];
    if (next > batch.token_offsets[sequence] + length) return false;
  }
  return config.reads_spans();
}

bool sentence_pairs_agree(const Batch& batch, const ModelConfig& config, const BatchLimits& limits) {
  const SentencePairs& pairs = batch.sentence_pairs;
  if (pairs.contexts.empty()) return pairs.targets.empty() && pairs.texts.empty();
  check_size(static_cast<std::int64_t>(pairs.contexts.size()), limits.sentence_pairs, "pairs of sentences");
  std::vector<bool> taken(static_cast<std::size_t>(batch.globals.tokens()), false);
  for (const auto* side : {&pairs.contexts, &pairs.targets}) {
    for (const std::int32_t global : *side) {
      if (global < 0 || global >= batch.globals.tokens() || taken[static_cast<std::size_t>(global)])
        return false;
      taken[static_cast<std::size_t>(global)] = true;
    }
  }
  return config.has_contrast() && pairs.targets.size() == pairs.contexts.size() &&
         pairs.texts.size() == pairs.contexts.size();
}

// Whether every group's rows are so many parts of as many members, alike in what is right.
bool parts_agree(const TokenTargets& targets, bool softmax) {
  if (!none_or(targets.group_parts.size(), static_cast<std::size_t>(targets.groups()))) return false;
  for (std::size_t group = 0; group < targets.group_parts.size(); ++group) {
    const std::int32_t parts = targets.group_parts[group], first = targets.group_offsets[group];
    const std::int32_t rows = targets.group_offsets[group + 1] - first;
    if (parts < 1 || (parts > 1 && !softmax) || rows % parts != 0) return false;
    const auto right = targets.right.begin() + first;
    const std::int32_t members = rows / parts;
    if (!std::equal(right + members, right + rows, right)) return false;  // each part as the one before
  }
  return true;
}

// What the softmax or the sigmoids of one score run over. `taken` [T] marks the rows of its groups.
bool groups_agree(const TokenTargets& targets, const Batch& batch, std::vector<bool>& taken) {
  const std::vector<std::int32_t>& offsets = targets.group_offsets;
  if (targets.right.size() != targets.rows.size() || offsets.empty() || offsets.front() != 0 ||
      static_cast<std::size_t>(offsets.back()) != targets.rows.size() ||
      !std::is_sorted(offsets.begin(), offsets.end())) {
    return false;
  }
  taken.assign(static_cast<std::size_t>(batch.rows()), false);
  for (std::size_t i = 0; i < targets.rows.size(); ++i) {
    const std::int32_t row = targets.rows[i];
    if (targets.right[i] > 1 || row < 0 || row >= batch.rows()) return false;
    if (row >= batch.tokens()) {  // a global token
      if (taken[static_cast<std::size_t>(row)]) return false;
      taken[static_cast<std::size_t>(row)] = true;
      continue;
    }
    const auto next = std::upper_bound(batch.token_offsets.begin(), batch.token_offsets.end(), row);
    const auto sequence = static_cast<std::size_t>(next - batch.token_offsets.begin()) - 1;
    const auto at = static_cast<std::size_t>(row);
    if (row - batch.token_offsets[sequence] >= batch.given_length(sequence) || taken[at]) return false;
    taken[at] = true;
  }
  return true;
}

bool token_targets_agree(const Batch& batch, const ModelConfig& config, const BatchLimits& limits) {
  if (batch.token_targets.empty()) return true;
  const bool parts = config.head == HeadType::structured_answers;
  const std::size_t scores = parts                                         ? config.token_scores.size()
                             : config.head == HeadType::question_answering ? 2
                                                                           : 0;
  if (batch.token_targets.size() != scores || !batch.start_positions.empty()) return false;
  std::vector<bool> taken;
  std::int64_t marked = -1;  // groups of the sigmoids
  for (std::size_t score = 0; score < scores; ++score) {
    const TokenTargets& targets = batch.token_targets[score];
    check_size(targets.groups(), limits.sequences, "groups of tokens");
    const bool softmax = !parts || config.token_scores[score].softmax;
    if (!groups_agree(targets, batch, taken) || !parts_agree(targets, softmax)) return false;
    if (softmax) continue;
    if (marked >= 0 && targets.groups() != marked) return false;
    marked = targets.groups();
  }
  return true;
}

}  // namespace

std::int64_t most_outputs(const ModelConfig& config, const BatchLimits& limits) {
  if (limits.outputs > 0) return limits.outputs;
  return config.head == HeadType::token_classification ? limits.tokens : limits.sequences;
}

void Batch::append(const std::vector<std::int32_t>& sequence_ids,
                   const std::vector<std::int32_t>& sequence_types, std::int64_t multiple,
                   std::int32_t pad_id, std::int64_t pad_to) {
  if (sequence_ids.empty()) throw_runtime("a batch cannot hold a sequence without tokens");
  if (!sequence_types.empty() && sequence_types.size() != sequence_ids.size()) {
    throw_runtime("a sequence has as many token types as tokens, or none");
  }
  const std::int64_t length = static_cast<std::int64_t>(sequence_ids.size());
  const std::int64_t end = tokens() + (std::max(length, pad_to) + multiple - 1) / multiple * multiple;

  ids.insert(ids.end(), sequence_ids.begin(), sequence_ids.end());
  types.insert(types.end(), sequence_types.begin(), sequence_types.end());
  ids.resize(static_cast<std::size_t>(end), pad_id);
  types.resize(static_cast<std::size_t>(end), 0);
  token_offsets.push_back(end);
  lengths.push_back(length);
}

void Batch::append(const TwoInputs& inputs, std::int64_t multiple, std::int32_t pad_id) {
  const std::int64_t before = tokens();
  append(inputs.ids, inputs.types.empty() ? std::vector<std::int32_t>(inputs.ids.size(), 1) : inputs.types,
         multiple, pad_id);
  globals.append(inputs, tokens() - before, multiple, pad_id);
}

void TargetTokens::append(const std::vector<std::int32_t>& sequence_ids,
                          const std::vector<std::int32_t>& sequence_labels, std::int64_t multiple,
                          std::int32_t pad_id) {
  if (sequence_ids.empty()) throw_runtime("a decoder cannot read a sequence without tokens");
  if (!sequence_labels.empty() && sequence_labels.size() != sequence_ids.size())
    throw_runtime("a decoder's sequence has as many labels as tokens, or none");
  const std::int64_t length = static_cast<std::int64_t>(sequence_ids.size());
  const std::int64_t end = tokens() + (length + multiple - 1) / multiple * multiple;
  ids.insert(ids.end(), sequence_ids.begin(), sequence_ids.end());
  ids.resize(static_cast<std::size_t>(end), pad_id);
  if (!sequence_labels.empty()) {
    labels.insert(labels.end(), sequence_labels.begin(), sequence_labels.end());
    labels.resize(static_cast<std::size_t>(end), ignored_label);
  }
  token_offsets.push_back(end);
  lengths.push_back(length);
}

std::int64_t TokenTargets::answered_groups() const {
  std::int64_t count = 0;
  for (std::size_t group = 0; group + 1 < group_offsets.size(); ++group) {
    const auto end = right.begin() + group_offsets[group + 1];
    count += std::find(right.begin() + group_offsets[group], end, std::uint8_t{1}) == end ? 0 : 1;
  }
  return count;
}

void TokenTargets::open_group(std::int32_t parts) {
  if (parts != 1 || !group_parts.empty()) {
    group_parts.resize(static_cast<std::size_t>(groups()), 1);
    group_parts.push_back(parts);
  }
  group_offsets.push_back(group_offsets.back());
}

void TokenTargets::add(std::int64_t row, bool is_right) {
  if (groups() == 0) throw_runtime("a row of no group");
  rows.push_back(static_cast<std::int32_t>(row));
  right.push_back(is_right ? 1 : 0);
  ++group_offsets.back();
}

void Batch::find_output_spans(const HeadPooling& pooling) {
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const bool middle = pooling.kind == HeadPooling::Kind::middle;
    const std::int64_t length = middle ? std::min(pooling.tokens, lengths[s]) : lengths[s];
    output_spans.push_back({static_cast<std::int32_t>(token_offsets[s] + (lengths[s] - length) / 2),
                            static_cast<std::int32_t>(length)});
  }
}

void Batch::find_token_spans() {
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (std::int64_t token = 0; token < lengths[s]; ++token)
      output_spans.push_back({static_cast<std::int32_t>(token_offsets[s] + token), 1});
  }
}

void Batch::find_global_rows() {
  const auto behind = static_cast<std::int32_t>(tokens());
  const auto find = [&](std::vector<std::int32_t>& rows) {
    for (std::int32_t& row : rows) row = row < 0 ? behind - 1 - row : row;
  };
  for (TokenTargets& of_score : token_targets) find(of_score.rows);
  find(sequence_rows);
}

void complete_batch(const ModelConfig& config, bool whole_blocks, Batch& batch) {
  if (config.attention == AttentionPattern::etc) {
    if (batch.globals.empty()) with_fixed_globals(config, whole_blocks ? config.block_size : 1, batch);
    batch.find_global_rows();
  }
  if (config.pools() && batch.output_spans.empty()) batch.find_output_spans(config.pooling);
  if (config.head == HeadType::token_classification && batch.output_spans.empty()) batch.find_token_spans();
  if (config.has_documents() && batch.documents.empty())
    batch.documents.sentence_offsets.push_back(batch.sequences());
}

void check_batch(const Batch& batch, const ModelConfig& config, const BatchLimits& limits,
                 bool whole_blocks) {
  if (batch.sequences() == 0) throw_runtime("a batch without sequences");
  if (!batch.row_orders.empty() && static_cast<std::int64_t>(batch.row_orders.size()) != 3 * batch.tokens())
    throw_runtime("a batch that was changed after it was made ready");
  check_size(batch.tokens(), limits.tokens, "tokens");
  check_size(batch.sequences(), limits.sequences, "sequences");
  check_size(batch.outputs(), most_outputs(config, limits), "outputs");
  check_size(static_cast<std::int64_t>(batch.masked_rows.size()), limits.masked_tokens, "masked tokens");
  if (!tokens_agree(batch, config, limits, whole_blocks) || !globals_agree(batch, config, limits) ||
      !labels_agree(batch, config) || !token_targets_agree(batch, config, limits) ||
      !targets_agree(batch, config, limits, whole_blocks)) {
    throw_runtime("the parts of a batch do not agree in their sizes");
  }
  if (!sequence_rows_agree(batch) || !output_spans_agree(batch, config) ||
      !sentence_pairs_agree(batch, config, limits))
    throw_runtime("rows of a batch that are not there");
  check_places(batch, config, limits);
  check_documents(batch, config);
  if (config.attention == AttentionPattern::etc) {
    check_globals(batch, config, limits, whole_blocks);
  } else if (!batch.globals.empty()) {
    throw_runtime("global tokens for a model that has no second input");
  }
  check_ids(batch.ids, config.vocab_size, "token id");
  check_ids(batch.globals.ids, config.vocab_size, "id of a global token");
  check_ids(batch.globals.types, std::max<std::int64_t>(config.type_vocab_size, 1), "type of a global token");
  if (config.type_vocab_size > 1) check_ids(batch.types, config.type_vocab_size, "token type");
  check_ids(batch.targets.ids, config.vocab_size, "token id of a decoder");
  for (const std::int32_t label : batch.targets.labels) check_label(label, config.vocab_size, "label");
  const std::int64_t classes = config.head == HeadType::pretraining ? 2 : config.num_labels;
  for (const std::int32_t label : batch.sequence_labels) check_label(label, classes, "label");
  for (const std::int32_t label : batch.masked_labels) check_label(label, config.vocab_size, "masked label");
  for (const float target : batch.sequence_targets) {
    if (!std::isfinite(target)) throw_bad_input(fmt::format("a target of {}", target), "give finite numbers");
  }
  for (std::size_t s = 0; s < batch.start_positions.size(); ++s) {
    check_label(batch.start_positions[s], batch.given_length(s), "start position");
    check_label(batch.end_positions[s], batch.given_length(s), "end position");
  }
}

}  // namespace bigbird
