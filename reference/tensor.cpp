// See tensor.h.
#include "reference/tensor.h"

#include <stdexcept>

namespace bigbird::reference {

Matrix transposed(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  }
  return result;
}

Matrix product(const Matrix& a, const Matrix& b) {
  if (a.columns != b.rows) throw std::invalid_argument("a product of matrices that do not fit");
  Matrix result(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t j = 0; j < b.columns; ++j) result(i, j) += a(i, k) * b(k, j);
    }
  }
  return result;
}

Vector sum(const Vector& a, const Vector& b) {
  if (a.size() != b.size()) throw std::invalid_argument("a sum of vectors of different lengths");
  Vector result(a);
  for (std::size_t i = 0; i < b.size(); ++i) result[i] += b[i];
  return result;
}

Matrix sum(const Matrix& a, const Matrix& b) {
  return Matrix(a.rows, a.columns, sum(a.values, b.values));
}

Matrix rows_of(const Matrix& x, std::size_t first, std::size_t count, std::size_t column,
               std::size_t columns) {
  Matrix result(count, columns);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result(i, j) = x(first + i, column + j);
  }
  return result;
}
void add_rows(Matrix& x, const Matrix& part, std::size_t first, std::size_t column) {
  for (std::size_t i = 0; i < part.rows; ++i) {
    for (std::size_t j = 0; j < part.columns; ++j) x(first + i, column + j) += part(i, j);
  }
}

}  // namespace bigbird::reference
