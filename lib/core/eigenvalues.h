// Eigenvalues of a symmetric matrix.
#pragma once

#include <cstddef>
#include <vector>

namespace bigbird {

// All of them, ascending. matrix: [n, n] row-major, of which the lower triangle is read; O(n^3) operations.
// Householder's tridiagonal form, then implicit QL (Martin, Reinsch and Wilkinson 1968; Dubrulle, Martin and
// Wilkinson 1968). Error{runtime} where it does not converge, as of values that are not finite.
std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n);

}  // namespace bigbird
