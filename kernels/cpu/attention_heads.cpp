// See attention_heads.h. Here is also the merge of what two groups of keys gave, row by row.
#include "kernels/cpu/attention_heads.h"

namespace bigbird::kernels {
namespace {

template <class T>
const T* from_row(const T* rows, Index row) {
  return rows != nullptr ? rows + row : nullptr;
}

}  // namespace

LabelTables::LabelTables(const AttentionBatch& batch, float* memory) : batch_(batch), memory_(memory) {
  if (!has_own(batch)) return;
  const RelativeTerm& term = *batch.relative;
  const Index size = batch.head_size;
  parallel_for(static_cast<std::size_t>(batch.heads), [&](std::size_t task) {
    const auto head = static_cast<Index>(task);
    float* const to = memory + head * floats(term.labels, size);
    for (Index label = 0; label < term.labels; ++label) {
      const Index at = label * batch.heads + head;
      std::copy_n(term.weight + at * size, size, to + label * size);
      if (term.bias != nullptr) to[term.labels * size + label] = term.bias[at];
    }
  });
}

void LabelTables::put(Index head, HeadPairs& pairs) const {
  RelativeTerm& relative = pairs.relative;
  pairs.label_stride = batch_.heads * batch_.head_size;
  pairs.bias_stride = batch_.heads;
  if (!has_own(batch_)) {
    relative.weight = from_row(relative.weight, head * batch_.head_size);
    relative.bias = from_row(relative.bias, head);
    return;
  }
  relative.weight = memory_ + head * floats(relative.labels, batch_.head_size);
  if (relative.bias != nullptr) relative.bias = relative.weight + relative.labels * batch_.head_size;
  pairs.label_stride = batch_.head_size;
  pairs.bias_stride = 1;
}

HeadPairs pairs_of(const AttentionBatch& batch, const LabelTables& tables, Index sequence, Index head,
                   float* room) {
  // Queries are numbered by the keys' rows that they stand at.
  const Index first = batch.token_offsets[sequence] - query_start_of(batch, sequence);
  const Index first_key = key_offsets_of(batch)[sequence];
  HeadPairs pairs;
  if (batch.rule != nullptr) pairs.rule = *batch.rule;
  if (batch.relative != nullptr) pairs.relative = *batch.relative;
  PairRule& rule = pairs.rule;
  rule.hidden = from_row(rule.hidden, first_key);
  rule.query_groups = from_row(rule.query_groups, first);
  rule.key_groups = from_row(rule.key_groups, first_key);
  rule.query_links = from_row(rule.query_links, first);
  rule.key_links = from_row(rule.key_links, first_key);
  rule.free_queries = from_row(rule.free_queries, first);
  pairs.query_link_stride = batch.token_offsets[batch.sequences];
  pairs.key_link_stride = key_offsets_of(batch)[batch.sequences];
  pairs.hides_by_rows = rule.hidden != nullptr || rule.query_groups != nullptr || rule.needed_links > 0;
  pairs.hides = pairs.hides_by_rows || rule.before >= 0 || rule.after >= 0 || rule.self_last || rule.no_self;
  RelativeTerm& relative = pairs.relative;
  relative.query_parts = from_row(relative.query_parts, first);
  relative.key_parts = from_row(relative.key_parts, first_key);
  pairs.span_stride = batch.heads;
  relative.span_logits = from_row(relative.span_logits, first * batch.heads + head);
  tables.put(head, pairs);
  pairs.room = room;
  return pairs;
}

void put_span_gradients(const AttentionBatch& batch, const RelativeGradients& gradients, Index sequence,
                        Index head, HeadPairs& pairs) {
  const Index first = batch.token_offsets[sequence] - query_start_of(batch, sequence);
  if (gradients.span_logits != nullptr)
    pairs.span_gradients = gradients.span_logits + first * batch.heads + head;
}

Index LabelGradients::together(Index sequences, Index heads, Index labels, Index head_size) {
  constexpr Index most_floats = Index{1} << 24;  // 64 MiB, if that keeps all threads busy
  if (labels == 0) return sequences;
  const Index that_fit = most_floats / (heads * label_gradient_floats(labels, head_size));
  return std::min(sequences, std::max(that_fit, pieces(2 * thread_count(), heads)));
}

void LabelGradients::add_to(const RelativeGradients& gradients, Index sequences) const {
  if (labels_of(batch_) == 0) return;
  parallel_for(static_cast<std::size_t>(batch_.heads), [&](std::size_t task) {
    const Index head = static_cast<Index>(task), size = batch_.head_size, labels = labels_of(batch_);
    for (Index sequence = 0; sequence < sequences; ++sequence) {
      const float* const from = of(sequence, head);
      for (Index label = 0; label < labels; ++label) {
        float* const to = gradients.weight + (label * batch_.heads + head) * size;
        for (Index d = 0; d < size; ++d) to[d] += from[label * size + d];
        if (gradients.bias != nullptr)
          gradients.bias[label * batch_.heads + head] += from[labels * size + label];
      }
    }
  });
}

void take_rows(const Level& level, const ConstRows& from, Index first, Index column, Index rows, Index width,
               float* to) {
  for (Index row = 0; row < rows; ++row) {
    const ConstValues at = from.data + ((first + row) * from.stride + column);
    if (at.type() == ElementType::fp32) {
      std::copy_n(floats(at), width, to + row * width);
    } else {
      level.widen(at.as<bf16>(), to + row * width, width);
    }
  }
}

void put_rows(const Level& level, const float* from, Index width, const Rows& to, Index first, Index column,
              Index rows) {
  for (Index row = 0; row < rows; ++row) {
    const Values at = to.data + ((first + row) * to.stride + column);
    if (at.type() == ElementType::fp32) {
      std::copy_n(from + row * width, width, floats(at));
    } else {
      level.narrow(from + row * width, nullptr, at.as<bf16>(), width);
    }
  }
}

void CpuBackend::merge_attention(const AttentionPart& first, const AttentionPart& second, Rows out,
                                 float* log_sum_exp, Index rows, Index heads, Index head_size) {
  const bool narrow = out.data.type() == ElementType::bf16;
  const Index room = narrow ? 2 * pieces(head_size, line_floats) * line_floats : 0;
  float* const scratch = scratch_.reserve(room * thread_count());
  parallel_for_worker(static_cast<std::size_t>(rows), [&](std::size_t task, int worker) {
    const auto row = static_cast<Index>(task);
    for (Index head = 0; head < heads; ++head) {
      const Index column = head * head_size, at = head * rows + row;
      const float* parts[2] = {nullptr, nullptr};
      float* own = scratch + room * worker;
      for (const AttentionPart* part : {&first, &second}) {
        const float*& from = parts[part == &second ? 1 : 0];
        if (narrow) {
          take_rows(level_, part->out, row, column, 1, head_size, own);
          from = own;
          own += room / 2;
        } else {
          from = floats(part->out.data) + row * part->out.stride + column;
        }
      }
      own = scratch + room * worker;
      float* const to = narrow ? own : floats(out.data) + row * out.stride + column;
      const float sum =
          level_.merge_row(parts[0], first.log_sum_exp[at], parts[1], second.log_sum_exp[at], to, head_size);
      if (log_sum_exp != nullptr) log_sum_exp[at] = sum;
      if (narrow) put_rows(level_, to, head_size, out, row, column, 1);
    }
  });
}

}  // namespace bigbird::kernels
