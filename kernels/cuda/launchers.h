// Launchers of the kernels that are not attention, each in the .cu file that is named; plain C++. Semantics
// are those of the operations of the same name in kernels/backend.h; statistics and sums are in fp32 or
// wider.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"
#include "kernels/types.h"

namespace bigbird::kernels::cuda {

// adafactor.cu: Adafactor.

// A tensor, and from which block on each launch works on it.
struct AdafactorPlace {
  AdafactorTensor tensor;
  Index row_block = 0;     // over rows: only of what has means of rows
  Index column_block = 0;  // over columns
  Index part_block = 0;    // over parts of rows
  Index part_blocks = 0;   // how many of the last
};

// All tensors of an update, side by side in every launch.
class AdafactorPlaces {
 public:
  explicit AdafactorPlaces(std::span<const AdafactorTensor> tensors);

  const std::vector<AdafactorPlace>& places() const { return places_; }
  Index count() const { return static_cast<Index>(places_.size()); }
  Index row_blocks() const { return row_blocks_; }
  Index column_blocks() const { return column_blocks_; }
  Index part_blocks() const { return part_blocks_; }
  // The places, a mean of all rows and a step for each tensor, two sums for each block over parts.
  std::size_t place_bytes() const { return places_.size() * sizeof(AdafactorPlace); }
  std::size_t scratch_bytes() const {
    return place_bytes() + static_cast<std::size_t>(2 * count() + 2 * part_blocks_) * sizeof(double);
  }

 private:
  std::vector<AdafactorPlace> places_;
  Index row_blocks_ = 0;
  Index column_blocks_ = 0;
  Index part_blocks_ = 0;
};

// One update of all tensors, in six launches. arrays.scratch has scratch_bytes(), and begins with the places
// (place_bytes()), which the caller has brought there. Parameters and state are fp32 and written in place;
// copy (bf16, of the numbering of the parameters, may be null) receives the new parameters rounded to
// nearest. Sums are made in double and in an order fixed by the shapes.
void adafactor(const AdafactorArrays& arrays, bf16* copy, const AdafactorPlaces& tensors,
               const AdafactorStep& step, Stream stream);

// lamb.cu: LAMB.

// A piece, and from which block on each launch works on it.
struct LambPlace {
  LambPiece piece;
  Index part_block = 0;
  Index part_blocks = 0;
  float rate = 0.0f;  // of lamb_move()
};

// All pieces of an update, side by side in every launch.
class LambPlaces {
 public:
  explicit LambPlaces(std::span<const LambPiece> pieces);
  void set_rates(const float* rates);

  const std::vector<LambPlace>& places() const { return places_; }
  Index count() const { return static_cast<Index>(places_.size()); }
  Index part_blocks() const { return part_blocks_; }
  // The places, and squares of each piece and of each block.
  std::size_t place_bytes() const { return places_.size() * sizeof(LambPlace); }
  std::size_t scratch_bytes() const {
    return place_bytes() + static_cast<std::size_t>(count() + part_blocks_) * sizeof(LambSquares);
  }

 private:
  std::vector<LambPlace> places_;
  Index part_blocks_ = 0;
};

// As the operations of these names. arrays.scratch has scratch_bytes(), and begins with the places
// (place_bytes()), which the caller has brought there. Moments, in two launches: returns where in scratch the
// squares of the pieces lie. The move, in one: copy (bf16, of the numbering of the parameters, may be null)
// receives the new parameters rounded to nearest.
const LambSquares* lamb_moments(const LambArrays& arrays, const LambPlaces& pieces, const LambStep& step,
                                Stream stream);
void lamb_move(const LambArrays& arrays, bf16* copy, const LambPlaces& pieces, const LambStep& step,
               Stream stream);

// optimizer.cu: the gradient norm and AdamW.

// Device memory that sums_of_squares writes first, in bytes: at most 8 KiB for each sum.
std::size_t sums_of_squares_workspace(Index count, Index part);
// sums[i] (on the device) = the sum of squares of x[i * part ...], of all parts in two launches; in double
// and in an order fixed by the count of a part and, where part is a multiple of 4, the alignment of x.
void sums_of_squares(const float* x, Index count, Index part, double* sums, void* workspace, Stream stream);

// One step over all runs in one launch. runs lie on the device, ascending, apart from each other; `end` is
// where the last of them ends (elements). Parameters and moments are fp32 and written in place; copy (bf16,
// of the same numbering, may be null) receives the new parameters rounded to nearest.
void adamw(const AdamWArrays& arrays, bf16* copy, std::span<const ParameterRun> runs, Index end,
           const AdamWStep& step, Stream stream);

// losses.cu: losses on logits with their gradients in the same pass; `scale` is on the device.

// Logits and their gradient each have any type; the gradient may be the logits or null, predictions may be
// null. Two passes over each row: maximum and sum together, then the gradient.
void cross_entropy(const ConstMatrix& logits, const ClassLabels& labels, float* losses,
                   std::int32_t* predictions, const LossGradient& gradient, Stream stream);
void binary_cross_entropy(const ConstMatrix& logits, const float* targets, float positive_weight,
                          float* losses, const LossGradient& gradient, Stream stream);
void squared_error(const ConstMatrix& x, const float* targets, float* losses, const LossGradient& gradient,
                   Stream stream);
// A block for each group, in double. The gradient may be the logits where it is fp32.
void token_losses(const float* logits, const TokenGroups& groups, bool softmax, float* losses,
                  const LossGradient& gradient, Stream stream);

// layernorm.cu: LayerNorm (Ba et al. 2016), alone and as the end of a post-LN branch. All matrices of one
// call have one element type. The fused forms equal the chain of their steps to the last bit.

void layernorm_forward(ConstValues x, const Norm& norm, Values y, const NormState& state, Index rows,
                       Stream stream);
// Of a device with so many multiprocessors, which decides how many blocks share out the rows, and no number.
void dropout_add_layernorm_forward(const ResidualSum& join, const Norm& norm, Values y,
                                   const NormState& state, Index rows, int multiprocessors, Stream stream);

// Device memory for the partial sums of the gradients, in bytes: grows with rows until about 50 KiB for each
// multiprocessor of the device.
std::size_t layernorm_backward_workspace(Index rows, Index width, int multiprocessors);
// That memory. Rows are shared out among the multiprocessors in one wave of blocks; the gradients of
// parameters are summed block by block, so that their last bits depend on how many there are.
struct NormScratch {
  void* memory = nullptr;
  int multiprocessors = 0;
};
void layernorm_backward(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                        bool accumulate, const NormScratch& scratch, Stream stream);
void layernorm_backward_dropout(const NormBackward& pass, const Norm& norm, const NormGradients& gradients,
                                const Dropout& dropout, Values branch, const NormScratch& scratch,
                                Stream stream);

// elementwise.cu: element by element and row by row, what is neither a product nor a reduction. All matrices
// of one call have one element type, except where noted. Any count, width and address works; 16-byte aligned
// addresses and widths of whole 16-byte pieces are fast. Results are rounded once, from fp32.

// y = activation(x). y may be x.
void activation_forward(ConstValues x, Values y, Index count, Activation activation, Stream stream);
void activation_backward(ConstValues pre, ConstValues dy, Values dx, Index count, Activation activation,
                         Stream stream);
// gated.cu, likewise: of gated layers; dpre may be pre.
void gated_activation_forward(ConstValues pre, Values y, Index rows, Index width, Activation activation,
                              Stream stream);
void gated_activation_backward(ConstValues pre, ConstValues dy, Values dpre, Index rows, Index width,
                               Activation activation, Stream stream);
// y may be x; dx may be dy.
void tanh_forward(ConstValues x, Values y, Index count, Stream stream);
void tanh_backward(ConstValues y, ConstValues dy, Values dx, Index count, Stream stream);

void dropout(ConstValues x, Values y, Index count, const Dropout& dropout, Stream stream);
void dropout_add(ConstValues x, ConstValues residual, Values y, Index count, const Dropout& dropout,
                 Stream stream);
// y += x
void add(ConstValues x, Values y, Index count, Stream stream);
void subtract(ConstValues x, Values y, Index count, Stream stream);
// y[row] += bias for each row of width; bias may be of another type than y.
void add_bias(ConstValues bias, Values y, Index rows, Index width, Stream stream);

void rotate(Rows x, const Rotary& rotary, Index rows, bool back, Stream stream);

void max_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width, Stream stream);
void mean_rows_forward(ConstValues x, const RowSpans& spans, Values y, Index width, Stream stream);
void mean_rows_backward(ConstValues dy, const RowSpans& spans, Values dx, Index width, Stream stream);
void gather_rows(ConstValues x, const std::int32_t* rows, Values y, Index count, Index width, Stream stream);
void scatter_add_rows(ConstValues dy, const std::int32_t* rows, Values dx, Index count, Index width,
                      Stream stream);
void add_rows(ConstRows x, Rows y, Index rows, Index width, Stream stream);

// Zeros in ranges that are ascending and apart: large ones by the device's own fill, the others by one kernel
// for up to 64 of them.
void zero_ranges(float* values, std::span<const FloatRange> ranges, Stream stream);

// average[i] += share * (values[i] - average[i]), in place.
void move_towards(float* average, const float* values, Index count, float share, Stream stream);
// to = from, in the type of to (to nearest): working copies of weights, and back.
void convert(ConstValues from, Values to, Index count, Stream stream);

// embedding.cu: rows of tables looked up and summed, and their gradients without atomics.

// The tables as they are read: working copies, of the type of y, or the parameters in fp32.
struct TableValues {
  ConstValues word;
  ConstValues type;
  ConstValues position;  // may be null
};
void embedding_forward(const EmbeddingIndices& indices, const TableValues& tables, float word_scale, Values y,
                       Index width, Stream stream);

// The tables as they are read, [neighbours, vocabulary, width] and [width]; of `sizes` only the sizes count.
void neighbours_forward(const NeighbourRows& rows, const NeighbourTables& sizes, ConstValues weight,
                        ConstValues bias, Values y, Stream stream);

// Rows of a table, one for each token. Keys are below key_count; a negative one means no row.
struct TokenKeys {
  const std::int32_t* keys = nullptr;
  Index tokens = 0;
  Index key_count = 0;
  const std::int32_t* order = nullptr;  // the tokens sorted, as EmbeddingIndices says; null: sorted here
  const float* scales = nullptr;        // [tokens] what each row is multiplied by; null: ones
};

// Device memory for add_rows_by_key, in bytes: about 10, and 1/32 of a row in fp32, for each token.
std::size_t rows_by_key_workspace(Index tokens, Index width, Index key_count);

// table[keys[t]] += scale * scales[t] * dy[t] for every token t, in fp32 and in an order fixed by the keys:
// the tokens are sorted by key, cut into even pieces, and each run of equal keys is summed in order. One call
// per table; the workspace serves one after another.
void add_rows_by_key(ConstValues dy, const TokenKeys& by, float scale, float* table, Index width,
                     void* workspace, Stream stream);

// columns.cu: sums over the rows of a matrix (gradients of biases), in an order fixed by the shape.

// Device memory for the sums of parts of the rows, in bytes: at most about 1 MiB, or 32 for each column.
std::size_t column_sums_workspace(Index rows, Index width);

// sums[j] += the sum of x[:, j], x [rows, width] with rows `stride` elements apart; in fp32.
void add_column_sums(ConstRows x, float* sums, Index rows, Index width, void* workspace, Stream stream);

// top_columns.cu: the largest logits of every row with their log-softmax.

// A block for each row. std::logic_error for a count beyond most_top_columns.
void top_log_softmax(const ConstMatrix& logits, const TopColumns& top, Stream stream);

}  // namespace bigbird::kernels::cuda
