#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/primitive_util.h"
#include "xla/status_macros.h"
#include "xla/types.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// cholesky and triangular-solve, in double or complex double.

namespace xla {
namespace evaluator {
namespace {

template <typename T>
T Conjugate(T x) {
  if constexpr (is_complex_v<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

template <typename T>
bool IsPositive(T x) {
  return std::real(x) > 0;
}

// The Cholesky-Banachiewicz recurrences, column by column: a = l l^H in place,
// zeros above the diagonal. NaN everywhere if a is not positive definite.
// `at(i, j)` returns a reference.
template <typename T, typename At>
void CholeskyInPlace(int64_t n, const At& at) {
  bool definite = true;
  for (int64_t j = 0; j < n && definite; ++j) {
    T diagonal = at(j, j);
    for (int64_t k = 0; k < j; ++k) {
      diagonal -= at(j, k) * Conjugate(at(j, k));
    }
    definite = IsPositive(diagonal);
    const T root = std::sqrt(std::real(diagonal));
    at(j, j) = root;
    for (int64_t i = j + 1; i < n && definite; ++i) {
      T sum = at(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * Conjugate(at(j, k));
      at(i, j) = sum / root;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      if (!definite) at(i, j) = T(std::numeric_limits<double>::quiet_NaN());
      if (j > i && definite) at(i, j) = T(0);
    }
  }
}

template <typename T>
void CholeskyBatch(int64_t batches, int64_t n, bool lower, T* data) {
  for (int64_t b = 0; b < batches; ++b) {
    T* a = data + b * n * n;
    if (lower) {
      CholeskyInPlace<T>(
          n, [&](int64_t i, int64_t j) -> T& { return a[i * n + j]; });
      continue;
    }
    // a = u^H u: the transpose of u is what this finds in the conjugate of a,
    // whose lower triangle is read as a's upper one.
    CholeskyInPlace<T>(
        n, [&](int64_t i, int64_t j) -> T& { return a[j * n + i]; });
  }
}

struct Triangle {
  int64_t n;
  bool lower;  // Of op(a).
  bool unit;
  bool transposed;
  bool conjugated;

  template <typename T>
  T At(const T* a, int64_t i, int64_t j) const {
    const T x = transposed ? a[j * n + i] : a[i * n + j];
    return conjugated ? Conjugate(x) : x;
  }
};

// Forward or backward substitution for one column x of b, `stride` apart, of
// op(a) x = b; or, if `right`, for one row of x op(a) = b.
template <typename T>
void Substitute(const Triangle& triangle, bool right, const T* a, T* x,
                int64_t stride) {
  const int64_t n = triangle.n;
  // x op(a) = b is op(a)^T x = b, which is upper where op(a) is lower.
  const bool forward = triangle.lower != right;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = forward ? step : n - 1 - step;
    T sum = x[i * stride];
    for (int64_t k = 0; k < step; ++k) {
      const int64_t j = forward ? k : n - 1 - k;
      sum -=
          x[j * stride] * (right ? triangle.At(a, j, i) : triangle.At(a, i, j));
    }
    x[i * stride] = triangle.unit ? sum : sum / triangle.At(a, i, i);
  }
}

template <typename T>
void SolveBatch(int64_t batches, const Triangle& triangle, bool left,
                int64_t rows, int64_t columns, const T* a, T* b) {
  const int64_t n = triangle.n;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const T* matrix = a + batch * n * n;
    T* x = b + batch * rows * columns;
    if (left) {
      for (int64_t j = 0; j < columns; ++j) {
        Substitute(triangle, false, matrix, x + j, columns);
      }
    } else {
      for (int64_t i = 0; i < rows; ++i) {
        Substitute(triangle, true, matrix, x + i * columns, 1);
      }
    }
  }
}

// F64 or C128.
absl::StatusOr<Value> Widen(Value value, MemoryBudget* budget) {
  const PrimitiveType wide =
      primitive_util::IsComplexType(value.type()) ? C128 : F64;
  TF_ASSIGN_OR_RETURN(value, ConvertValue(std::move(value), wide, budget));
  return Value::MakeUnique(std::move(value), budget);
}

int64_t Batches(const Value& value) {
  int64_t batches = 1;
  for (int64_t d = 0; d + 2 < value.rank(); ++d) batches *= value.dim(d);
  return batches;
}

absl::Status CheckSquare(const Value& a) {
  if (a.rank() >= 2 && a.dim(a.rank() - 1) == a.dim(a.rank() - 2)) {
    return absl::OkStatus();
  }
  return InvalidArgument("the operand is not a square matrix");
}

}  // namespace

absl::StatusOr<Value> EvaluateCholesky(const HloInstruction* instruction,
                                       absl::Span<Value> operands,
                                       KernelContext& context) {
  const PrimitiveType type = operands[0].type();
  TF_RETURN_IF_ERROR(CheckSquare(operands[0]));
  TF_ASSIGN_OR_RETURN(Value a, Widen(std::move(operands[0]), context.budget));
  const int64_t n = a.dims().back();
  const bool lower = instruction->cholesky_options().lower();
  if (a.type() == F64) {
    CholeskyBatch(Batches(a), n, lower, a.mutable_data<double>());
  } else {
    complex128* data = a.mutable_data<complex128>();
    // The transposed triangle of a is the conjugate of its lower one.
    CholeskyBatch(Batches(a), n, lower, data);
  }
  return ConvertValue(std::move(a), type, context.budget);
}

absl::StatusOr<Value> EvaluateTriangularSolve(const HloInstruction* instruction,
                                              absl::Span<Value> operands,
                                              KernelContext& context) {
  const TriangularSolveOptions& options =
      instruction->triangular_solve_options();
  const PrimitiveType type = operands[1].type();
  TF_RETURN_IF_ERROR(CheckSquare(operands[0]));
  TF_ASSIGN_OR_RETURN(Value a, Widen(std::move(operands[0]), context.budget));
  TF_ASSIGN_OR_RETURN(Value b, Widen(std::move(operands[1]), context.budget));
  const int64_t n = a.dims().back();
  if (b.rank() != a.rank() || b.type() != a.type() ||
      Batches(a) != Batches(b) ||
      b.dim(b.rank() - (options.left_side() ? 2 : 1)) != n) {
    return InvalidArgument("the right-hand side does not fit the matrix");
  }
  const bool transposed =
      options.transpose_a() == TriangularSolveOptions::TRANSPOSE ||
      options.transpose_a() == TriangularSolveOptions::ADJOINT;
  const Triangle triangle = {
      n, options.lower() != transposed, options.unit_diagonal(), transposed,
      options.transpose_a() == TriangularSolveOptions::ADJOINT};
  const int64_t rows = b.dim(b.rank() - 2);
  const int64_t columns = b.dims().back();
  if (a.type() == F64) {
    SolveBatch(Batches(a), triangle, options.left_side(), rows, columns,
               a.data<double>(), b.mutable_data<double>());
  } else {
    SolveBatch(Batches(a), triangle, options.left_side(), rows, columns,
               a.data<complex128>(), b.mutable_data<complex128>());
  }
  return ConvertValue(std::move(b), type, context.budget);
}

}  // namespace evaluator
}  // namespace xla
