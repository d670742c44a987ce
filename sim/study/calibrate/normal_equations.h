// The linear algebra of a least-squares fit of a handful of parameters: symmetric positive definite systems.
#pragma once

#include <vector>

namespace blockyard::study {

using Vector = std::vector<double>;

[[nodiscard]] double dot(const Vector& a, const Vector& b);

// Solves A x = b by Cholesky; false where A is not positive definite. `a` is row-major, n x n. Cost: n^3 / 6.
[[nodiscard]] bool solve_positive(Vector a, Vector b, Vector& x);

}  // namespace blockyard::study
