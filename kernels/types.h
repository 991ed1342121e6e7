// The letters used everywhere for sizes, and the views that the kernels take.
//
//   B sequences in a batch        T tokens of the whole batch (every sequence padded to its own multiple of
//   b) C width of the model          H heads         D head size (C = H * D)      L layers V vocabulary size
//   F width of the feed-forward inner layer b block size in tokens        n blocks of one sequence
//
// Activations are row-major (T, C) over the concatenated sequences, in the element type of the Backend in
// use. All pointers are its device pointers; index arrays too, unless a comment says "host".
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
// BigBird's, and x/2 (1 + erf(x / sqrt(2))), which is BERT's.
enum class Activation { gelu_tanh, gelu_erf };

// Which key blocks each query block sees, for every head, at one length n. Host pointers. Lists keep repeats:
// a key block that is listed twice counts twice in the softmax (specification 1.1). The transpose lists, for
// every key block, the query blocks that name it (again with repeats), ascending.
struct BlockPlanView {
  // Equal for equal lists only, and never used again for others: devices keep their copy of a plan by it.
  std::uint64_t identity = 0;
  Index heads = 0;                               // H
  Index blocks = 0;                              // n
  const std::int32_t* row_offsets = nullptr;     // [H * n + 1] into key_blocks; row (h, i) is h * n + i
  const std::int32_t* key_blocks = nullptr;      // block numbers 0..n-1
  const std::int32_t* column_offsets = nullptr;  // [H * n + 1] into query_blocks
  const std::int32_t* query_blocks = nullptr;    // block numbers 0..n-1
};

// A ragged batch as attention sees it. Sequence s owns rows token_offsets[s] .. token_offsets[s + 1] of every
// (T, *) matrix; that count is plans[s].blocks * block_size. Its first lengths[s] tokens are real; the rest
// is padding: never attended to, and exact zeros in the output. With query_lengths, at least lengths each,
// the first of those rows see the keys as real tokens do, as full attention in Hugging Face lets padding.
struct AttentionBatch {
  // Which of the places of Backend::prepare_attention() holds this batch.
  Index place = 0;
  Index sequences = 0;                          // B
  Index heads = 0;                              // H
  Index head_size = 0;                          // D
  Index block_size = 0;                         // b
  const Index* token_offsets = nullptr;         // host, [B + 1]
  const Index* lengths = nullptr;               // host, [B]
  const Index* query_lengths = nullptr;         // host, [B]; null: lengths
  const BlockPlanView* const* plans = nullptr;  // host, [B]; plans of equal length are shared
  float scale = 1.0f;                           // 1 / sqrt(D), applied to the scores before the mask
  // Dropout of attention probabilities: only used in full attention; 0 on the sparse path
  // (specification 1.1).
  float drop_probability = 0.0f;
  const std::uint64_t* dropout_seed = nullptr;  // one number: key of philox.h dropout_keep
  std::uint64_t dropout_stream = 0;  // element index of (head h, query row t, key row u) of the batch, within
                                     // the stream: (h * T + t) * T + u
};

// q, k, v (and their gradients) lie side by side in one (T, 3C) matrix or apart: a pointer and the distance
// between rows.
struct ConstRows {
  ConstValues data;
  Index stride = 0;  // elements between the starts of consecutive rows
};
struct Rows {
  Values data;
  Index stride = 0;
};

}  // namespace bigbird::kernels
