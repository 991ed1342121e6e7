// NumPy's .npy files, little-endian: float32 in C order written (format version 1.0), and stored matrices
// read (versions 1 to 3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/io/files/file.h"

namespace bigbird {

// float32 in C order, whole or not at all. Error when the values do not fill the shape.
void write_npy(const std::string& path, std::span<const float> values,
               const std::vector<std::int64_t>& shape);

// What the header of a .npy file says, of any number of axes.
struct NpyHeader {
  std::string type;                // as numpy writes it: "<f4"
  std::vector<std::size_t> shape;  // empty for a single number
  bool fortran = false;
  std::size_t begin = 0;  // of the values, in the file
  std::size_t width = 1;  // bytes of a value
};
// Error{bad_input} naming the file: not a .npy file, another type than float32, float64, uint8 and bool,
// shorter or longer than its shape says.
NpyHeader read_npy_header(const std::string& path);

// Memory-mapped: float32, float64, uint8 or bool, in C or Fortran order. One axis is taken as one column.
class NpyMatrix {
 public:
  enum class Type { float32, float64, uint8 };  // bool counts as uint8

  NpyMatrix() = default;
  // Error{bad_input} naming the file: not a .npy file, another type or number of axes, shorter or longer than
  // its shape says.
  explicit NpyMatrix(const std::string& path);

  const std::string& path() const { return file_.path(); }
  Type type() const { return type_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  // The type as numpy writes it: "<f4".
  const std::string& type_name() const { return type_name_; }

  double number(std::size_t row, std::size_t column) const;
  // Only for Type::uint8.
  std::uint8_t byte(std::size_t row, std::size_t column) const {
    return std::to_integer<std::uint8_t>(values_[row * row_stride_ + column * column_stride_]);
  }
  // out[(column - begin) * stride + i] = number(rows[i], column) of the columns [begin, end): a few columns
  // of a matrix that is stored by rows.
  void gather(std::size_t begin, std::size_t end, std::span<const std::uint32_t> rows, std::size_t stride,
              double* out) const;

 private:
  MappedFile file_;
  const std::byte* values_ = nullptr;
  Type type_ = Type::uint8;
  std::string type_name_;
  std::size_t rows_ = 0, columns_ = 0;
  std::size_t row_stride_ = 0, column_stride_ = 0;  // in elements
};

}  // namespace bigbird
