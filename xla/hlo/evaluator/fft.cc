#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/status_macros.h"
#include "xla/types.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// fft, in complex double: radix 2 for powers of two (Cooley and Tukey, 1965),
// other lengths as a convolution of that kind (Bluestein, 1970). O(n log n).

namespace xla {
namespace evaluator {
namespace {

using Vector = std::vector<complex128>;

complex128 Unit(double turns) { return std::polar(1.0, 2 * M_PI * turns); }

// Without std::complex's care for infinities.
complex128 Times(complex128 x, complex128 y) {
  return {x.real() * y.real() - x.imag() * y.imag(),
          x.real() * y.imag() + x.imag() * y.real()};
}

// Iterative radix-2 transform (Cooley and Tukey, 1965): bit reversal, then
// butterflies of growing length. x.size() is a power of two; `sign` is that of
// the exponent.
void PowerOfTwo(Vector& x, int sign) {
  const size_t n = x.size();
  for (size_t i = 1, j = 0; i < n; ++i) {
    size_t bit = n / 2;
    for (; j & bit; bit /= 2) j ^= bit;
    j |= bit;
    if (i < j) std::swap(x[i], x[j]);
  }
  for (size_t length = 2; length <= n; length *= 2) {
    const size_t half = length / 2;
    Vector roots(half);
    for (size_t k = 0; k < half; ++k) {
      roots[k] = Unit(sign * static_cast<double>(k) / length);
    }
    for (size_t start = 0; start < n; start += length) {
      for (size_t k = 0; k < half; ++k) {
        const complex128 odd = Times(x[start + k + half], roots[k]);
        x[start + k + half] = x[start + k] - odd;
        x[start + k] += odd;
      }
    }
  }
}

// Bluestein's algorithm (1970) for other lengths: ij = (i^2 + j^2 - (i - j)^2)
// / 2 turns the transform into a convolution with a chirp, which is computed by
// transforms of a padded power of two. O(n log n) for any n, including primes.
void Bluestein(Vector& x, int sign) {
  const int64_t n = x.size();
  size_t padded = 1;
  while (static_cast<int64_t>(padded) < 2 * n - 1) padded *= 2;
  // exp(sign pi i k^2 / n); k^2 modulo 2n keeps the angle exact.
  Vector chirp(n);
  for (int64_t k = 0; k < n; ++k) {
    const auto square = static_cast<unsigned __int128>(k) * k % (2 * n);
    chirp[k] = Unit(sign * static_cast<double>(square) / (2.0 * n));
  }
  Vector a(padded);
  Vector b(padded);
  for (int64_t k = 0; k < n; ++k) {
    a[k] = Times(x[k], chirp[k]);
    b[k] = std::conj(chirp[k]);
    b[(padded - k) % padded] = b[k];
  }
  PowerOfTwo(a, -1);
  PowerOfTwo(b, -1);
  for (size_t k = 0; k < padded; ++k) a[k] = Times(a[k], b[k]);
  PowerOfTwo(a, 1);
  for (int64_t k = 0; k < n; ++k) {
    x[k] = Times(a[k], chirp[k]) / static_cast<double>(padded);
  }
}

void Transform(Vector& x, bool inverse) {
  const size_t n = x.size();
  const int sign = inverse ? 1 : -1;
  if ((n & (n - 1)) == 0) {
    PowerOfTwo(x, sign);
  } else {
    Bluestein(x, sign);
  }
  if (!inverse) return;
  for (complex128& element : x) element /= static_cast<double>(n);
}

// Transforms one dimension of an array in place.
void TransformDimension(Value& array, int64_t d, bool inverse) {
  const int64_t n = array.dim(d);
  const int64_t stride = RowMajorStrides(array.dims())[d];
  complex128* data = array.mutable_data<complex128>();
  Vector line(n);
  for (int64_t outer = 0; outer < array.count(); outer += n * stride) {
    for (int64_t inner = 0; inner < stride; ++inner) {
      complex128* first = data + outer + inner;
      for (int64_t i = 0; i < n; ++i) line[i] = first[i * stride];
      Transform(line, inverse);
      for (int64_t i = 0; i < n; ++i) first[i * stride] = line[i];
    }
  }
}

// The last dimension resized to n: cut, or completed to the spectrum of n real
// numbers.
absl::StatusOr<Value> ResizeLast(const Value& array, int64_t n, bool complete,
                                 MemoryBudget* budget) {
  DimensionVector dims = array.dims();
  const int64_t from = dims.back();
  dims.back() = n;
  TF_ASSIGN_OR_RETURN(Value result, Value::MakeZeros(C128, dims, budget));
  const int64_t rows = n == 0 ? 0 : result.count() / n;
  for (int64_t row = 0; row < rows; ++row) {
    const complex128* in = array.data<complex128>() + row * from;
    complex128* out = result.mutable_data<complex128>() + row * n;
    std::copy_n(in, std::min(from, n), out);
    if (!complete) continue;
    // Parts of real spectra that must be real are taken as such.
    out[0] = out[0].real();
    if (n % 2 == 0) out[n / 2] = out[n / 2].real();
    for (int64_t i = n / 2 + 1; i < n; ++i) out[i] = std::conj(out[n - i]);
  }
  return result;
}

}  // namespace

// Works in complex double precision. Real transforms are complex ones of which
// half of the spectrum is dropped, or completed by symmetry.
absl::StatusOr<Value> EvaluateFft(const HloInstruction* instruction,
                                  absl::Span<Value> operands,
                                  KernelContext& context) {
  const std::vector<int64_t>& lengths = instruction->fft_length();
  const FftType type = instruction->fft_type();
  const int64_t rank = operands[0].rank();
  const int64_t transformed = lengths.size();
  if (transformed == 0 || transformed > rank) {
    return InvalidArgument("%d dimensions to transform, but the operand has %d",
                           transformed, rank);
  }
  if (operands[0].count() == 0 ||
      std::find(lengths.begin(), lengths.end(), 0) != lengths.end()) {
    return Value::MakeZeros(instruction->shape().element_type(),
                            instruction->shape().dimensions(), context.budget);
  }
  for (int64_t i = 0; i < transformed; ++i) {
    const bool is_half = type == IRFFT && i == transformed - 1;
    const int64_t due = is_half ? lengths[i] / 2 + 1 : lengths[i];
    if (operands[0].dim(rank - transformed + i) != due || lengths[i] <= 0) {
      return InvalidArgument("dimension %d does not have size %d",
                             rank - transformed + i, due);
    }
  }
  TF_ASSIGN_OR_RETURN(
      Value x, ConvertValue(std::move(operands[0]), C128, context.budget));
  TF_ASSIGN_OR_RETURN(x, Value::MakeUnique(std::move(x), context.budget));
  const bool inverse = type == IFFT || type == IRFFT;
  // The dimension that is real on one side is the last one inside.
  for (int64_t i = 0; i + 1 < transformed; ++i) {
    if (inverse) TransformDimension(x, rank - transformed + i, true);
  }
  if (type == IRFFT) {
    // Completing a row by itself needs a spectrum of a real row, which the rows
    // are after the other dimensions are done.
    TF_ASSIGN_OR_RETURN(
        x, ResizeLast(x, lengths.back(), /*complete=*/true, context.budget));
  }
  TransformDimension(x, rank - 1, inverse);
  if (type == RFFT) {
    TF_ASSIGN_OR_RETURN(x, ResizeLast(x, lengths.back() / 2 + 1,
                                      /*complete=*/false, context.budget));
  }
  for (int64_t i = 0; i + 1 < transformed; ++i) {
    if (!inverse) TransformDimension(x, rank - transformed + i, false);
  }
  return ConvertValue(std::move(x), instruction->shape().element_type(),
                      context.budget);
}

}  // namespace evaluator
}  // namespace xla
