// The letters used everywhere for sizes, and the views of memory that operations take (operations.inc).
//
//   B  sequences in a batch
//   T  tokens of the whole batch, every sequence padded to its own multiple of b
//   C  width of the model
//   H  heads
//   D  head size: C = H * D
//   F  width inside the feed-forward block
//   L  layers
//   V  size of the vocabulary
//   b  block size in tokens
//   n  blocks of one sequence
//
// Activations are row-major (T, C) over the concatenated sequences, in the element type of the Backend in
// use. All pointers are pointers of its device, those to indices too, unless a comment says "host". Views own
// nothing.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>

#include "kernels/bf16.h"

namespace bigbird::kernels {

using Index = std::int64_t;

// How activations are stored. Statistics, losses, parameters, gradients of parameters and moments are always
// fp32.
enum class ElementType : std::uint8_t { fp32, bf16 };

constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::fp32 ? sizeof(float) : sizeof(bf16);
}

// The forms of a linear layer's weight that a backend packs once and keeps (Backend::pack_weight): rounded to
// bf16, or to integers of 8 bits with a scale for every output.
enum class WeightForm : std::uint8_t { bf16, int8 };

// A place in a matrix of activations: a device pointer that knows its element type. Counts are in elements.
// Null when there is no such matrix.
class ConstValues {
 public:
  ConstValues() = default;
  ConstValues(std::nullptr_t) {}
  ConstValues(const float* data) : data_(data), type_(ElementType::fp32) {}
  ConstValues(const bf16* data) : data_(data), type_(ElementType::bf16) {}
  ConstValues(const void* data, ElementType type) : data_(data), type_(type) {}

  ElementType type() const { return type_; }
  const void* data() const { return data_; }
  bool operator==(std::nullptr_t) const { return data_ == nullptr; }
  bool operator==(const ConstValues& other) const { return data_ == other.data_; }
  // Null stays null, and has any type.
  template <class T>
  const T* as() const {
    assert(data_ == nullptr || size_of(type_) == sizeof(T));
    return static_cast<const T*>(data_);
  }
  ConstValues operator+(Index elements) const {
    if (data_ == nullptr) return *this;
    return {static_cast<const std::byte*>(data_) + elements * static_cast<Index>(size_of(type_)), type_};
  }

 private:
  const void* data_ = nullptr;
  ElementType type_ = ElementType::fp32;
};

class Values {
 public:
  Values() = default;
  Values(std::nullptr_t) {}
  Values(float* data) : data_(data), type_(ElementType::fp32) {}
  Values(bf16* data) : data_(data), type_(ElementType::bf16) {}
  Values(void* data, ElementType type) : data_(data), type_(type) {}
  operator ConstValues() const { return {data_, type_}; }

  ElementType type() const { return type_; }
  void* data() const { return data_; }
  bool operator==(std::nullptr_t) const { return data_ == nullptr; }
  template <class T>
  T* as() const {
    assert(data_ == nullptr || size_of(type_) == sizeof(T));
    return static_cast<T*>(data_);
  }
  Values operator+(Index elements) const {
    if (data_ == nullptr) return *this;
    return {static_cast<std::byte*>(data_) + elements * static_cast<Index>(size_of(type_)), type_};
  }

 private:
  void* data_ = nullptr;
  ElementType type_ = ElementType::fp32;
};

// gelu in its two forms (Hendrycks and Gimpel 2016): x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which is
// BigBird's, and x/2 (1 + erf(x / sqrt(2))), which is BERT's; max(x, 0); and x sigmoid(x). See activations.h.
enum class Activation { gelu_tanh, gelu_erf, relu, silu };

// --- matrices

// A matrix with its rows end to end, or, where a stride is given, with so many elements from one to the next.
struct ConstMatrix {
  ConstValues data;
  Index rows = 0;
  Index columns = 0;
  Index stride = 0;  // 0: columns

  Index row_stride() const { return stride > 0 ? stride : columns; }
};

// The same number of columns out of every row of a larger matrix: where the first row begins, and how many
// elements lie between the starts of two rows. q, k and v lie like this side by side in one (T, 3C) matrix,
// or apart.
struct ConstRows {
  ConstValues data;
  Index stride = 0;
};
struct Rows {
  Values data;
  Index stride = 0;
  operator ConstRows() const { return {data, stride}; }
};

// --- layers: their parameters, and where the gradients of these go. Gradients have the sizes of the
// parameters that an operation takes beside them, and are added to.

// y = x weight^T + bias.
struct Linear {
  const float* weight = nullptr;  // [out, in], as in Hugging Face
  const float* bias = nullptr;    // [out]; null: none
  Index in = 0;
  Index out = 0;
  // Elements from one row of y, or dy, to the next, as Backend::row_stride() wants them; 0: out. What lies
  // behind the columns of a row belongs to nobody: forward passes may leave anything there, backward passes
  // want zeros. Behind the weight, its gradient and the bias there is memory for as many rows; what is there
  // is finite, is read, and stays as it is.
  Index out_stride = 0;
  // A processor takes the products of this layer in fp32 in every precision: those of a head over few rows,
  // whose outputs are told apart by less than bf16 keeps of what it reads. Its activations are fp32. CUDA
  // takes them as all others.
  bool exact = false;

  Index row_stride() const { return out_stride > 0 ? out_stride : out; }
};
struct LinearGradients {
  float* weight = nullptr;
  float* bias = nullptr;  // null: not wanted
  // The weight's is written, whatever is there, not added to: the first time in an update. The bias's never.
  bool fresh = false;
};

// Numbers [first, first + count) of an array.
struct FloatRange {
  Index first = 0;
  Index count = 0;
};

// LayerNorm of rows: (x - mean) / sqrt(variance + epsilon) * gamma + beta.
struct Norm {
  const float* gamma = nullptr;  // [width]
  const float* beta = nullptr;   // [width]; a backward pass does not read it
  float epsilon = 0.0f;
  Index width = 0;
};
struct NormGradients {
  float* gamma = nullptr;
  float* beta = nullptr;
  // Of the bias of the linear layer whose output, through its dropout, goes into the sum that is normalised;
  // what it gets is there already when gamma's is made. Null: not wanted.
  float* linear_bias = nullptr;
};
// What the forward pass keeps of every row for the backward pass, [rows] each. Both null: nothing is kept.
struct NormState {
  float* mean = nullptr;
  float* rstd = nullptr;  // 1 / sqrt(variance + epsilon)
};
// The activations that a backward pass through LayerNorm reads and writes, [rows, width] each.
struct NormBackward {
  ConstValues dy;
  ConstValues x;    // the input of the forward pass
  NormState state;  // what it kept; only read
  Values dx;        // may be dy
  Index rows = 0;
};

// A token's vector is word[id] * word_scale + type[type] + position[position]. The last two may be
// null: no such term. EmbeddingIndices may scale the word's row further.
struct EmbeddingTables {
  const float* word = nullptr;      // [vocabulary, width]
  const float* type = nullptr;      // [types, width]
  const float* position = nullptr;  // [positions, width]
  float word_scale = 1.0f;
  Index width = 0;
  Index vocabulary = 0;
  Index types = 0;
  Index positions = 0;
};
struct EmbeddingGradients {
  float* word = nullptr;
  float* type = nullptr;  // null, as is the next: no such term
  float* position = nullptr;
};
// The rows of the tables that the tokens take.
struct EmbeddingIndices {
  const std::int32_t* ids = nullptr;
  const std::int32_t* types = nullptr;  // not read without their table, nor are the next
  const std::int32_t* positions = nullptr;
  Index tokens = 0;
  const float* word_scales = nullptr;  // [tokens], beside word_scale; null: ones
  // [tokens] each: the tokens in the order of their rows, those of one row ascending, negative ids last, for
  // a backend that sums gradients in this order (Backend::wants_row_order()). Null: it sorts them.
  const std::int32_t* id_order = nullptr;
  const std::int32_t* type_order = nullptr;
  const std::int32_t* position_order = nullptr;
};

// A sum over neighbours: y[t] = bias + the sum over k of row rows[k, t] of table k. With the letters around
// every token for rows it is a convolution of one-hot letters, the first layer of DeepSEA (Zhou and
// Troyanskaya 2015), Basset or Enformer, by looking its products up.
struct NeighbourTables {
  const float* weight = nullptr;  // [neighbours, vocabulary, width]
  const float* bias = nullptr;    // [width]
  Index neighbours = 0;
  Index vocabulary = 0;
  Index width = 0;
};
struct NeighbourGradients {
  float* weight = nullptr;
  float* bias = nullptr;
};
struct NeighbourRows {
  const std::int32_t* rows = nullptr;  // [neighbours, tokens]; a negative one means no row
  Index tokens = 0;
};

// Neighbouring rows whose mean is one row. No two spans share a row.
struct RowSpans {
  const std::int32_t* first = nullptr;   // [count] the first row of each
  const std::int32_t* length = nullptr;  // [count] and how many there are, at least one
  Index count = 0;
};

// Rotary positions (Su et al. 2021) of every row: in each of `heads` heads of `head_size` columns, the pair
// of columns (i, i + half), i < half, is turned by the angle of (position, i).
struct Rotary {
  const std::int32_t* positions = nullptr;  // of the rows
  const float* rotations = nullptr;         // [*, 2 half]: for each position, the cosines, then the sines
  Index heads = 0;
  Index head_size = 0;
  Index half = 0;
};

// One place of dropout. Element i is kept iff dropout_keep(*seed, site, i, probability) (philox.h), and kept
// values are scaled by 1 / (1 - probability): the same mask on every device. A probability of 0 copies.
struct Dropout {
  float probability = 0.0f;
  const std::uint64_t* seed = nullptr;  // one number on the device: recorded work runs with others
  std::uint64_t site = 0;               // different for any two places whose masks must differ
  // Device. Where set, row i of what is dropped, `width` elements, a multiple of 4, has the mask of row
  // rows[i] of the whole: what is computed of some rows alone is what it would be of all.
  const std::int32_t* rows = nullptr;
  Index width = 0;
};

// How a post-LN branch joins the residual stream: sum = residual + dropout(x).
struct ResidualSum {
  ConstValues x;
  ConstValues residual;
  Values sum;  // may be x; null: not kept
  Dropout dropout;
};

// --- attention

// Which key blocks each query block sees, for every head, at one length n. Host pointers. Lists keep repeats:
// a key block that is listed twice counts twice in the softmax (docs/specification.md 1.1). The transpose
// lists, for every key block, the query blocks that name it (again with repeats), ascending.
struct BlockPlanView {
  // Equal for equal lists only, and never used again for others: devices keep their copy of a plan by it.
  std::uint64_t identity = 0;
  Index heads = 0;                               // H
  Index blocks = 0;                              // n
  const std::int32_t* row_offsets = nullptr;     // [H * n + 1] into key_blocks; row (h, i) is h * n + i
  const std::int32_t* key_blocks = nullptr;      // block numbers 0..n-1
  const std::int32_t* column_offsets = nullptr;  // [H * n + 1] into query_blocks
  const std::int32_t* query_blocks = nullptr;    // block numbers 0..n-1
  // Blocks of keys where these are not the queries' own (AttentionBatch::key_offsets): numbers of key blocks
  // are 0..key_count-1, and column_offsets is [H * key_count + 1]. 0: n.
  Index key_count = 0;
};

// Which pairs of a query and a key meet, of those that the block lists bring together: sliding windows of
// tokens, global tokens of ETC and Longformer (docs/specification.md 1.12). A list has every block with a
// pair that meets, once. Distances are in rows of the sequence, key row minus query row. Other pointers are
// device memory, one number for each row of the batch, null where there is no such condition; all conditions
// hold together. A query without any key has zeros for output and gradients, and a log_sum_exp of +infinity,
// which makes exp(score - log_sum_exp) zero.
struct PairRule {
  // Keys at most so many rows before the query, and after it; -1: any.
  Index before = -1;
  Index after = -1;
  const std::uint8_t* hidden = nullptr;  // [key rows]: 1 for what is nobody's key
  // Only rows of equal numbers meet: examples in one sequence, parts of a document.
  const std::int32_t* query_groups = nullptr;  // [query rows]
  const std::int32_t* key_groups = nullptr;    // [key rows]
  // A pair is linked where query_links[c][query] == key_links[c][key] for some c < link_columns.
  Index link_columns = 0;                     // at most most_link_columns
  const std::int32_t* query_links = nullptr;  // [link_columns, query rows]
  const std::int32_t* key_links = nullptr;    // [link_columns, key rows]
  // Where not 0: only pairs that are linked by one of the first so many columns meet, and all pairs of
  // queries with a 1 here.
  Index needed_links = 0;
  const std::uint8_t* free_queries = nullptr;  // [query rows]
  // A query sees its own key, the row of equal number, only where it sees no other (Kitaev et al. 2020,
  // section 2). A key without company has a weight of 1, and passes gradients to its value alone.
  bool self_last = false;
  // A query never sees its own key.
  bool no_self = false;
};
constexpr Index most_link_columns = 3;

// A term for the label u of a pair, beside the product with its key (Shaw et al. 2018, section 3.2, keys
// only; Ainslie et al. 2020, section 2.3): score = scale (q.k + q.weight[u] + bias[u]). Labels by distance d:
// min(d, most) where d >= 0, most + min(-d, most) below; where parts differ 2 most + 3. Labels by links: 2
// most + 1, of a pair that is linked (PairRule) 2 most + 2. Labels behind: of keys at the query or before it
// alone, min(-d, most); no other key may meet (AttentionBatch::causal, or a rule). Pairs of a label whose
// bias is -infinity do not meet, and its gradients are 0.
struct RelativeTerm {
  const float* weight = nullptr;  // [labels, H, D]
  const float* bias = nullptr;    // [labels, H]
  Index labels = 0;               // R, more than any label that is met; at most most_labels
  Index most = 0;                 // the largest distance that is told apart
  bool by_links = false;
  bool behind = false;
  const std::int32_t* query_parts = nullptr;  // device, [query rows]; null, as the next: no parts
  const std::int32_t* key_parts = nullptr;    // device, [key rows]
  // Of labels behind, on the CPU only: what a query sees ends with a span of its own in every head, z =
  // most_span / (1 + exp(-logit)) (Sukhbaatar et al. 2019, section 2.2). The exponential of a score at
  // distance d is multiplied by m = clamp((ramp + z + 1 - d) / ramp, 0, 1). Pairs with m = 0 do not meet.
  const float* span_logits = nullptr;  // [query rows, H]; null: no such spans
  float most_span = 0.0f;
  float ramp = 1.0f;
};
constexpr Index most_labels = 16384;
constexpr Index most_device_labels = 2048;  // with CUDA, which keeps numbers of every row, head and label
struct RelativeGradients {
  float* weight = nullptr;  // as RelativeTerm has them; added to
  float* bias = nullptr;
  float* span_logits = nullptr;  // set for every query that sees a key
};

// A ragged batch as attention sees it. Sequence s owns rows token_offsets[s] .. token_offsets[s + 1] of every
// (T, *) matrix: all of the plan's blocks wherever the backend wants whole blocks, and in a backward pass;
// else those of its tokens at least, and what is missing is padding. Its first lengths[s] tokens are real;
// the rest is padding: never attended to, and exact zeros in the output. With query_lengths, at least lengths
// each, the first of those rows see the keys as real tokens do, as full attention in Hugging Face lets
// padding.
struct AttentionBatch {
  Index slot = 0;        // which of the slots of Backend::prepare_attention() holds this batch
  Index sequences = 0;   // B
  Index heads = 0;       // H
  Index head_size = 0;   // D
  Index block_size = 0;  // b
  const Index* token_offsets = nullptr;         // host, [B + 1]
  const Index* lengths = nullptr;               // host, [B]
  const Index* query_lengths = nullptr;         // host, [B]; null: lengths
  const BlockPlanView* const* plans = nullptr;  // host, [B]; plans of equal length are shared
  float scale = 1.0f;                           // 1 / sqrt(D), applied to the scores before the mask
  // Dropout of probabilities: in full attention only, 0 on the sparse path (docs/specification.md 1.1). The
  // element of head h, query row t and key row u, both counted over the batch, is (h * T + t) * T + u.
  float drop_probability = 0.0f;
  const std::uint64_t* dropout_seed = nullptr;  // as in Dropout
  std::uint64_t dropout_site = 0;
  // A decoder's attention. causal: a query sees no key behind its own row. With key_offsets (host, [B + 1])
  // keys are of other rows than queries: sequence s has key rows key_offsets[s] .. key_offsets[s + 1], of
  // which lengths[s] are real, and of its query rows query_lengths[s] ask. Dropout then counts u over the
  // rows of keys, and an element is (h * T + t) * (rows of keys) + u. With query_starts (host, [B]) as well,
  // query row i of sequence s stands at its key row query_starts[s] + i, which is its own key: causal, a
  // rule's distances and labels count from there, as where a segment's keys follow those of a memory (Dai et
  // al. 2019, section 3.2). Without them key_offsets is not causal.
  bool causal = false;
  const Index* key_offsets = nullptr;
  const Index* query_starts = nullptr;
  // Of the forward pass: outputs and sums are wanted of so many query blocks of each sequence, from the first
  // on; those of others may be left as they are. 0: of all.
  Index wanted_blocks = 0;
  // Null: every pair that the lists bring together meets, and scores are of queries and keys alone. What they
  // point to is at the same address for all work that is recorded as one; `causal` and key_offsets may stand
  // beside them.
  const PairRule* rule = nullptr;
  const RelativeTerm* relative = nullptr;
};

struct QueryKeyValue {
  ConstRows q, k, v;
};

// Queries that each see rows of their own of a matrix of keys and values: query i those numbered
// rows[offsets[i]] .. rows[offsets[i + 1]); one without any has zeros and a log_sum_exp of +infinity. With
// labels every entry e of the lists has a term beside the product with its key (Shaw et al. 2018, section
// 3.2, keys only): score = scale (q.k + q.label_weight[labels[e]] + label_bias[labels[e]]). An entry whose
// bias is -infinity counts for nothing; each head of a query with a list has another entry.
struct RowAttention {
  Index queries = 0;
  Index heads = 0;      // H
  Index head_size = 0;  // D
  float scale = 1.0f;
  const std::int32_t* rows = nullptr;
  const std::int32_t* offsets = nullptr;  // [queries + 1]
  const std::int32_t* labels = nullptr;   // [entries] below label_count; null: no such term
  const float* label_weight = nullptr;    // [label_count, D] for all heads, or by head [label_count, H, D]
  Index label_count = 0;
  bool labels_by_head = false;
  const float* label_bias = nullptr;  // [label_count, H]; null: zeros. Of the forward pass alone

  Index label_stride() const { return labels_by_head ? heads * head_size : head_size; }
};
// The lists of a RowAttention the other way around: of every row of keys the queries that name it,
// ascending, with the labels they have for it. What a key gets in a backward pass is gathered in this order.
struct RowsByKey {
  Index rows = 0;                         // of keys and values
  const std::int32_t* queries = nullptr;  // [entries]
  const std::int32_t* offsets = nullptr;  // [rows + 1] into queries
  const std::int32_t* labels = nullptr;   // [entries]; null without
};
struct RowAttentionGradients {
  Rows q, k, v;                   // overwritten, for every query and every row of keys
  float* label_weight = nullptr;  // as RowAttention has it; added to
  // Scratch of the caller: the products of outputs with their gradients, [H, queries], and sums of parts of
  // the queries, which are added up in their order, [row_label_parts, label_count, label_stride()].
  float* products = nullptr;
  float* label_parts = nullptr;
};
constexpr Index row_label_parts = 64;

struct QueryKeyValueGradients {
  Rows q, k, v;
  RelativeGradients relative = {};  // where the batch has such a term
};

// What queries saw of one group of keys: the output, and log_sum_exp [H, T] (operations.inc).
struct AttentionPart {
  ConstRows out;
  const float* log_sum_exp = nullptr;
};

// --- losses

// What softmax cross entropy holds its rows against: a class number for each, -100 where there is none. Label
// smoothing spreads it: `own` of the distribution lies at the label's column, `other` at each of the rest;
// together they are 1. {1, 0}: the label alone.
struct ClassLabels {
  const std::int32_t* classes = nullptr;
  float own = 1.0f;
  float other = 0.0f;
};

// Where a loss leaves the gradient of what it is taken of. Null: no gradient is wanted.
struct LossGradient {
  Values data;  // as large as the logits; of any type when it is another matrix than they are
  const float* scale = nullptr;  // what the gradient is multiplied by: one number on the device
};

// Numbers that are taken together by a loss, group after group: rows [N] says where each lies, and right [N]
// whether it is right (1) or not (0). A row is in one group at most. Of a group with P parts, n / P members
// compete, each with the sum of P numbers: rows are all first parts from member to member, then all second
// ones. `right` is read at the first parts.
struct TokenGroups {
  const std::int32_t* rows = nullptr;
  const std::int32_t* right = nullptr;
  const std::int32_t* offsets = nullptr;  // [groups + 1] into rows and right
  const std::int32_t* parts = nullptr;    // [groups], 1 or more and a divisor of the group's rows
  Index groups = 0;
};

// --- a search for tokens

// The largest `count` of every row, best first: [rows, count] each.
struct TopColumns {
  Index count = 0;                     // N: 1 to most_top_columns, and at most the columns of a row
  float* log_probabilities = nullptr;  // x - log sum exp(row)
  std::int32_t* columns = nullptr;
};
constexpr Index most_top_columns = 128;

// --- optimizer

// The arrays of an update, which have one numbering.
struct AdamWArrays {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;   // moment
  float* second = nullptr;  // moment
};

// Neighbouring parameters of one decay group.
struct ParameterRun {
  Index offset = 0;
  Index count = 0;
  bool decay = false;
};

struct AdamWStep {
  float learning_rate = 0.0f;
  double beta1 = 0.9;  // double, because 1 - beta2 would lose five digits in float
  double beta2 = 0.999;
  float epsilon = 1e-6f;
  float weight_decay = 0.0f;    // decoupled; of the runs that decay
  float gradient_scale = 1.0f;  // applied to the gradient first (clipping)
  // 1 for the google variant; 1 - beta^step for the torch variant (m / correction1, sqrt(v / correction2)).
  float correction1 = 1.0f;
  float correction2 = 1.0f;
};

// A part of one tensor of an update by LAMB, or all of it.
struct LambPiece {
  Index offset = 0;
  Index count = 0;
  bool decay = false;
};

struct LambArrays {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* first = nullptr;   // moment
  float* second = nullptr;  // moment
  void* scratch = nullptr;  // Backend::lamb_scratch_bytes() of the pieces
};

struct LambStep {
  double beta1 = 0.9;
  double beta2 = 0.999;
  float epsilon = 1e-6f;
  float weight_decay = 0.0f;    // of the pieces that decay
  float gradient_scale = 1.0f;  // applied to the gradient first (clipping)
};

// Sums over a piece, in double.
struct LambSquares {
  double parameter = 0.0;
  double update = 0.0;
};

// One tensor of an update by Adafactor. Its state is a mean of squares for every column and, of a matrix, for
// every row; a vector is a matrix of one row that goes without the latter.
struct AdafactorTensor {
  Index offset = 0;  // of its parameters and gradients
  Index rows = 1;
  Index columns = 0;
  Index row_means = -1;    // where in the state `rows` numbers lie; negative: a vector
  Index column_means = 0;  // where in the state `columns` numbers lie
  double rate = 1.0;       // fraction of the step's learning rate
};

// Parameters and gradients have one numbering, the state has one of its own.
struct AdafactorArrays {
  float* parameters = nullptr;
  const float* gradients = nullptr;
  float* state = nullptr;   // zeros before the first update
  void* scratch = nullptr;  // Backend::adafactor_scratch_bytes() of the tensors
};

struct AdafactorStep {
  double learning_rate = 0.0;
  double beta2 = 0.0;           // what the means keep: 1 - t^-0.8 in update t = 1, 2, ...
  float gradient_scale = 1.0f;  // applied to the gradient first (clipping)
};
// Added to every square, so that nothing is divided by zero; and the least root mean square that a tensor is
// taken to have, so that one of zeros moves.
constexpr double adafactor_least_square = 1e-30;
constexpr double adafactor_least_scale = 1e-3;

}  // namespace bigbird::kernels
