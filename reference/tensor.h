// The few row-major double helpers that the oracles need: written to be read, not to be fast.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bigbird::reference {

using Vector = std::vector<double>;

// Row-major matrix: element (i, j) is values[i * columns + j].
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  Vector values;

  Matrix() = default;
  Matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count, 0.0) {}
  Matrix(std::size_t row_count, std::size_t column_count, Vector elements)
      : rows(row_count), columns(column_count), values(std::move(elements)) {
    if (values.size() != rows * columns) throw std::invalid_argument("a matrix of the wrong size");
  }

  double& operator()(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

// Compiled once, with the oracles: of an inline function the linker may keep the copy of a test, which is not
// optimised, and these take most of an oracle's time.

Matrix transposed(const Matrix& a);
// a (M, K) times b (K, N).
Matrix product(const Matrix& a, const Matrix& b);
Vector sum(const Vector& a, const Vector& b);
Matrix sum(const Matrix& a, const Matrix& b);
// A part of a matrix: `count` rows from `first` on, `columns` columns from `column` on; and a part added
// back.
Matrix rows_of(const Matrix& x, std::size_t first, std::size_t count, std::size_t column,
               std::size_t columns);
void add_rows(Matrix& x, const Matrix& part, std::size_t first, std::size_t column);

}  // namespace bigbird::reference
