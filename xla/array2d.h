#ifndef XLA_ARRAY2D_H_
#define XLA_ARRAY2D_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/bit_util.h"

namespace xla {

// An n1 x n2 array: n1 rows (height) of n2 elements (width).
template <typename T>
class Array2D : public Array<T> {
 public:
  Array2D() : Array2D(0, 0) {}
  Array2D(const int64_t n1, const int64_t n2)
      : Array<T>(std::vector<int64_t>{n1, n2}) {}
  Array2D(const int64_t n1, const int64_t n2, const T value)
      : Array<T>({n1, n2}, value) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Array2D(std::initializer_list<std::initializer_list<T>> values)
      : Array<T>(values) {}
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Array2D(std::initializer_list<std::initializer_list<T2>> values)
      : Array<T>(values) {}

  int64_t n1() const { return this->dim(0); }
  int64_t n2() const { return this->dim(1); }
  int64_t height() const { return this->dim(0); }
  int64_t width() const { return this->dim(1); }

  // Each element is start_value + its row and column number, side by side as
  // bit fields: distinct everywhere and easy to read.
  void FillUnique(T start_value = 0) {
    const int shift = std::max(Log2Ceiling<uint64_t>(n2()), 0);
    for (int64_t i = 0; i < n1(); ++i) {
      for (int64_t j = 0; j < n2(); ++j) {
        (*this)(i, j) = static_cast<T>((i << shift) | j) + start_value;
      }
    }
  }

  using Array<T>::Each;
  void Each(absl::FunctionRef<void(int64_t, int64_t, T*)> f) {
    for (int64_t i = 0; i < n1(); ++i) {
      for (int64_t j = 0; j < n2(); ++j) f(i, j, &(*this)(i, j));
    }
  }
};

// n1 * n2 evenly spaced values from `from` to `to`, in row-major order.
template <typename NativeT = float>
std::unique_ptr<Array2D<NativeT>> MakeLinspaceArray2D(double from, double to,
                                                      int64_t n1, int64_t n2) {
  auto array = std::make_unique<Array2D<NativeT>>(n1, n2);
  const int64_t count = n1 * n2;
  const double step = count > 1 ? (to - from) / (count - 1) : 0.0;
  int64_t i = 0;
  for (NativeT& element : *array) {
    // The last one without rounding errors.
    const double value = count > 1 && i == count - 1 ? to : from + i * step;
    element = static_cast<NativeT>(value);
    ++i;
  }
  return array;
}

}  // namespace xla

#endif  // XLA_ARRAY2D_H_
