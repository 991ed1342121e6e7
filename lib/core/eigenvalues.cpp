// See eigenvalues.h.
#include "lib/core/eigenvalues.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "lib/core/error.h"

namespace bigbird {
namespace {

// Reflections from the last row up make the matrix tridiagonal: A' = A - u q^T - q u^T, with q = p - K u, p =
// A u / H and K = u^T p / 2H. Overwrites the lower triangle.
void make_tridiagonal(std::vector<double>& a, std::size_t n, std::vector<double>& diagonal,
                      std::vector<double>& beside) {
  const auto at = [&](std::size_t i, std::size_t j) -> double& { return a[i * n + j]; };
  std::vector<double> p(n);
  for (std::size_t i = n; i-- > 1;) {
    double scale = 0;
    for (std::size_t k = 0; k + 1 < i; ++k) scale += std::abs(at(i, k));
    if (scale == 0) {
      beside[i] = at(i, i - 1);
      continue;
    }
    double h = 0;
    for (std::size_t k = 0; k < i; ++k) h += at(i, k) * at(i, k);
    const double f = at(i, i - 1), g = std::copysign(std::sqrt(h), f);
    beside[i] = -g;
    h += f * g;
    at(i, i - 1) = f + g;  // row i is u
    double* const u = &at(i, 0);
    std::fill(p.begin(), p.end(), 0.0);
    for (std::size_t j = 0; j < i; ++j) {
      const double* const row = &at(j, 0);
      double sum = row[j] * u[j];
      for (std::size_t k = 0; k < j; ++k) {
        sum += row[k] * u[k];
        p[k] += row[k] * u[j];
      }
      p[j] += sum;
    }
    double along = 0;
    for (std::size_t j = 0; j < i; ++j) along += (p[j] /= h) * u[j];
    for (std::size_t j = 0; j < i; ++j) p[j] -= along / (2 * h) * u[j];
    for (std::size_t j = 0; j < i; ++j) {
      double* const row = &at(j, 0);
      for (std::size_t k = 0; k <= j; ++k) row[k] -= u[j] * p[k] + p[j] * u[k];
    }
  }
  for (std::size_t i = 0; i < n; ++i) diagonal[i] = at(i, i);
}

// d: the diagonal, e[i] what stands below d[i]; e[n - 1] is 0.
void implicit_ql(std::vector<double>& d, std::vector<double>& e) {
  constexpr int most_rounds = 60;
  const std::size_t n = d.size();
  for (std::size_t l = 0; l < n; ++l) {
    for (int round = 0;; ++round) {
      std::size_t m = l;
      while (m + 1 < n &&
             std::abs(e[m]) > std::numeric_limits<double>::epsilon() * (std::abs(d[m]) + std::abs(d[m + 1])))
        ++m;
      if (m == l) break;
      if (round == most_rounds) throw_runtime("the eigenvalues of a matrix do not converge");
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      g = d[m] - d[l] + e[l] / (g + std::copysign(std::hypot(g, 1.0), g));
      double s = 1, c = 1, p = 0;
      bool broken = false;
      for (std::size_t i = m; i-- > l;) {
        const double f = s * e[i], b = c * e[i];
        const double r = std::hypot(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          broken = true;
          break;
        }
        s = f / r;
        c = g / r;
        g = d[i + 1] - p;
        const double q = (d[i] - g) * s + 2 * c * b;
        p = s * q;
        d[i + 1] = g + p;
        g = c * q - b;
      }
      if (broken) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
}

}  // namespace

std::vector<double> symmetric_eigenvalues(std::vector<double> matrix, std::size_t n) {
  std::vector<double> diagonal(n), beside(n, 0.0);
  if (n == 0) return diagonal;
  make_tridiagonal(matrix, n, diagonal, beside);
  std::rotate(beside.begin(), beside.begin() + 1, beside.end());  // below d[i] instead of d[i - 1]
  beside[n - 1] = 0;
  implicit_ql(diagonal, beside);
  std::sort(diagonal.begin(), diagonal.end());
  return diagonal;
}

namespace {

double product(const std::vector<double>& a, const std::vector<double>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
void add_scaled(const std::vector<double>& x, double by, std::vector<double>& y) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += by * x[i];
}
void scale_to_unit(std::vector<double>& x) {
  const double length = std::sqrt(product(x, x));
  for (double& value : x) value /= length;
}

// How many eigenvalues of a tridiagonal matrix are below x (Sturm's count).
std::size_t count_below(const std::vector<double>& diagonal, const std::vector<double>& beside, double x) {
  std::size_t below = 0;
  double pivot = 1;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double off = i == 0 ? 0 : beside[i - 1];
    pivot = diagonal[i] - x - off * off / pivot;
    if (pivot == 0) pivot = -std::numeric_limits<double>::min();
    if (pivot < 0) ++below;
  }
  return below;
}

SpectrumEnds ends_of_tridiagonal(const std::vector<double>& diagonal, const std::vector<double>& beside) {
  double bound = 0;
  for (std::size_t i = 0; i < diagonal.size(); ++i) {
    const double before = i == 0 ? 0 : beside[i - 1], after = i + 1 < diagonal.size() ? beside[i] : 0;
    bound = std::max(bound, std::abs(diagonal[i]) + std::abs(before) + std::abs(after));
  }
  const auto find = [&](std::size_t rank) {  // the eigenvalue with so many below it
    double low = -bound, high = bound;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      (count_below(diagonal, beside, middle) > rank ? high : low) = middle;
    }
    return (low + high) / 2;
  };
  return {find(0), find(diagonal.size() - 1)};
}

}  // namespace

SpectrumEnds spectrum_ends(std::size_t n, const MatrixProduct& multiply, const std::vector<double>& known) {
  constexpr std::size_t first_check = 24, most_steps_a_row = 64;
  constexpr double still = 1e-11;
  std::vector<double> left_out = known, now(n), before(n, 0.0), next(n);
  scale_to_unit(left_out);
  const auto leave_out = [&](std::vector<double>& x) { add_scaled(left_out, -product(left_out, x), x); };
  // No symmetry that a matrix may have: parts of i^2 sqrt(2) after the point.
  for (std::size_t i = 0; i < n; ++i) {
    const auto number = static_cast<double>(i + 1);
    now[i] = std::fmod(number * number * std::sqrt(2.0), 1.0) - 0.5;
  }
  leave_out(now);
  scale_to_unit(now);
  std::vector<double> diagonal, beside;
  SpectrumEnds ends;
  for (std::size_t step = 1, check = std::min(first_check, n); step <= most_steps_a_row * n; ++step) {
    multiply(now, next);
    diagonal.push_back(product(now, next));
    add_scaled(now, -diagonal.back(), next);
    if (!beside.empty()) add_scaled(before, -beside.back(), next);
    leave_out(next);
    const double length = std::sqrt(product(next, next));
    double norm = 0;
    for (const double value : diagonal) norm = std::max(norm, std::abs(value));
    for (const double value : beside) norm = std::max(norm, value);
    const bool complete = length <= 1e-13 * norm || length == 0;  // there is no more of the matrix to see
    if (complete || step == check) {
      const SpectrumEnds found = ends_of_tridiagonal(diagonal, beside);
      const bool same = step > first_check && std::abs(found.least - ends.least) <= still * norm &&
                        std::abs(found.greatest - ends.greatest) <= still * norm;
      ends = found;
      if (complete || same) return ends;
      check = step + step / 2;
    }
    beside.push_back(length);
    before.swap(now);
    now.swap(next);
    for (double& value : now) value /= length;
  }
  throw_runtime("the ends of a spectrum were not found");
}

}  // namespace bigbird
