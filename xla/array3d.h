#ifndef XLA_ARRAY3D_H_
#define XLA_ARRAY3D_H_

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "xla/array.h"
#include "xla/bit_util.h"

namespace xla {

// An n1 x n2 x n3 array.
template <typename T>
class Array3D : public Array<T> {
 public:
  Array3D() : Array3D(0, 0, 0) {}
  Array3D(const int64_t n1, const int64_t n2, const int64_t n3)
      : Array<T>(std::vector<int64_t>{n1, n2, n3}) {}
  Array3D(const int64_t n1, const int64_t n2, const int64_t n3, const T value)
      : Array<T>(std::vector<int64_t>{n1, n2, n3}, value) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Array3D(std::initializer_list<std::initializer_list<std::initializer_list<T>>>
              values)
      : Array<T>(values) {}
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Array3D(
      std::initializer_list<std::initializer_list<std::initializer_list<T2>>>
          values)
      : Array<T>(values) {}

  int64_t n1() const { return this->dim(0); }
  int64_t n2() const { return this->dim(1); }
  int64_t n3() const { return this->dim(2); }

  // Each element is start_value + its three index numbers, side by side as bit
  // fields: distinct everywhere and easy to read.
  void FillUnique(T start_value = 0) {
    const int shift2 = std::max(Log2Ceiling<uint64_t>(n2()), 0);
    const int shift3 = std::max(Log2Ceiling<uint64_t>(n3()), 0);
    for (int64_t i = 0; i < n1(); ++i) {
      for (int64_t j = 0; j < n2(); ++j) {
        for (int64_t k = 0; k < n3(); ++k) {
          (*this)(i, j, k) =
              static_cast<T>((((i << shift2) | j) << shift3) | k) + start_value;
        }
      }
    }
  }
};

}  // namespace xla

#endif  // XLA_ARRAY3D_H_
