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

inline Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  }
  return result;
}

// a (M, K) times b (K, N).
inline Matrix product(const Matrix& a, const Matrix& b) {
  if (a.columns != b.rows) throw std::invalid_argument("a product of matrices that do not fit");
  Matrix result(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

inline Vector sum(const Vector& a, const Vector& b) {
  if (a.size() != b.size()) throw std::invalid_argument("a sum of vectors of different lengths");
  Vector result(a);
  for (std::size_t i = 0; i < b.size(); ++i) result[i] += b[i];
  return result;
}

inline Matrix sum(const Matrix& a, const Matrix& b) {
  return Matrix(a.rows, a.columns, sum(a.values, b.values));
}

// A part of a matrix: `count` rows from `first` on, `columns` columns from `column` on; and a part added
// back.
inline Matrix rows_of(const Matrix& x, std::size_t first, std::size_t count, std::size_t column,
                      std::size_t columns) {
  Matrix result(count, columns);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result(i, j) = x(first + i, column + j);
  }
  return result;
}
inline void add_rows(Matrix& x, const Matrix& part, std::size_t first, std::size_t column) {
  for (std::size_t i = 0; i < part.rows; ++i) {
    for (std::size_t j = 0; j < part.columns; ++j) x(first + i, column + j) += part(i, j);
  }
}
}  // namespace bigbird::reference
