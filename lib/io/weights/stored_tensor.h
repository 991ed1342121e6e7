// Tensors as weight files hold them: number types, a view into a mapped file, and conversion of its numbers.
// Shared by the safetensors and the PyTorch readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace bigbird {

// Those behind `boolean` are known by name and size, so that a file may hold them beside what is read: their
// numbers are not read.
enum class TensorType {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u8,
  boolean,
  u16,
  u32,
  u64,
  c64,
  c128,
  f8_e4m3,
  f8_e5m2,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz
};
// "F32", ... as safetensors spells them.
const char* tensor_type_name(TensorType type);
std::optional<TensorType> find_tensor_type(const std::string& name);
std::size_t tensor_type_size(TensorType type);
bool is_floating_point(TensorType type);
// What a message says of numbers that are not read, and how to convert a file that holds them.
std::string unread_type_words(const std::string& type);
std::string unread_type_hint(const std::string& file);

// A view: `first` points into a mapped file whose owner outlives it, and every element that shape and strides
// reach lies inside of the map (the readers check this). Elements need not be aligned.
struct StoredTensor {
  std::string name;
  TensorType type = TensorType::f32;
  std::vector<std::int64_t> shape;    // empty for a scalar
  std::vector<std::int64_t> strides;  // in elements, one per axis, not negative
  const std::byte* first = nullptr;
  std::string file;  // for messages

  std::int64_t elements() const;
  bool is_contiguous() const;  // row-major without holes
};

// Strides of a row-major tensor.
std::vector<std::int64_t> row_major_strides(const std::vector<std::int64_t>& shape);

// Row-major values, converted exactly (F64 is rounded). Error naming file and tensor: another number of
// values than `out` takes, or a type that holds whole numbers or is not read.
void read_floats(const StoredTensor& tensor, std::span<float> out);
// The same, part by part, and what was read of the mapped file need not stay in memory: of a large tensor
// the two copies are never there at once. It may be read again.
void read_floats_and_release(const StoredTensor& tensor, std::span<float> out);
// From the types of whole numbers; Error for floating-point types.
std::vector<std::int64_t> read_integers(const StoredTensor& tensor);

// Bit patterns of the two 16-bit formats as float (exact), and back (round to nearest, ties to even; beyond
// the range: infinity; NaN stays NaN).
float bfloat16_to_float(std::uint16_t bits);
float float16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);
std::uint16_t float_to_float16(float value);

// A name from a file for a message: its first 80 bytes, control characters as ?, so that it stays one line.
std::string one_line_name(const std::string& text);

}  // namespace bigbird
