// Eigenvalues of symmetric matrices: all of a small one, the ends of a large one.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace bigbird {

// All of them, ascending. matrix: [n, n] row-major, of which the lower triangle is read; O(n^3) operations.
// Householder's tridiagonal form, then implicit QL (Martin, Reinsch and Wilkinson 1968; Dubrulle, Martin and
// Wilkinson 1968). Error{runtime} where it does not converge, as of values that are not finite.
std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n);

// The least and the greatest eigenvalue of a matrix of n > 1 rows that is known by its products, y = A x,
// where one eigenvector is known, of any length, and is left out of account. Lanczos' three-term recurrence
// (Paige 1972) from a fixed vector, until neither changes by more than 1e-11 of the matrix's norm in half as
// many steps again: where the ends are crowded there are as many steps as rows and more.
struct SpectrumEnds {
  double least = 0;
  double greatest = 0;
};
using MatrixProduct = std::function<void(const std::vector<double>& x, std::vector<double>& y)>;
SpectrumEnds spectrum_ends(std::size_t n, const MatrixProduct& multiply, const std::vector<double>& known);

}  // namespace bigbird
