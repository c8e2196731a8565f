#ifndef XLA_ARRAY4D_H_
#define XLA_ARRAY4D_H_

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "absl/log/check.h"
#include "xla/array.h"
#include "xla/array2d.h"

namespace xla {

// A planes x depth x height x width array; as indices: p, z, y, x.
template <typename T>
class Array4D : public Array<T> {
 public:
  Array4D() : Array4D(0, 0, 0, 0) {}
  Array4D(int64_t planes, int64_t depth, int64_t height, int64_t width)
      : Array<T>(std::vector<int64_t>{planes, depth, height, width}) {}
  Array4D(int64_t planes, int64_t depth, int64_t height, int64_t width, T value)
      : Array<T>(std::vector<int64_t>{planes, depth, height, width}, value) {}
  // The elements in row-major order.
  template <typename Container = std::initializer_list<T>>
  Array4D(int64_t planes, int64_t depth, int64_t height, int64_t width,
          const Container& values)
      : Array4D(planes, depth, height, width) {
    this->SetValues(values);
  }
  // NOLINTNEXTLINE(google-explicit-constructor)
  Array4D(std::initializer_list<std::initializer_list<
              std::initializer_list<std::initializer_list<T>>>>
              values)
      : Array<T>(values) {}
  template <typename T2, array_impl::overload_for_float<T, T2> = true>
  // NOLINTNEXTLINE(google-explicit-constructor)
  Array4D(std::initializer_list<std::initializer_list<
              std::initializer_list<std::initializer_list<T2>>>>
              values)
      : Array<T>(values) {}

  int64_t n1() const { return this->dim(0); }
  int64_t n2() const { return this->dim(1); }
  int64_t n3() const { return this->dim(2); }
  int64_t n4() const { return this->dim(3); }
  int64_t planes() const { return this->dim(0); }
  int64_t depth() const { return this->dim(1); }
  int64_t height() const { return this->dim(2); }
  int64_t width() const { return this->dim(3); }

  // Fills from a matrix over two of the dimensions, the same for all indices
  // of the other two.
  void FillWithYX(const Array2D<T>& value) {
    CHECK_EQ(value.height(), height());
    CHECK_EQ(value.width(), width());
    FillFrom([&](int64_t p, int64_t z, int64_t y, int64_t x) {
      return value(y, x);
    });
  }
  void FillWithZY(const Array2D<T>& value) {
    CHECK_EQ(value.height(), depth());
    CHECK_EQ(value.width(), height());
    FillFrom([&](int64_t p, int64_t z, int64_t y, int64_t x) {
      return value(z, y);
    });
  }
  void FillWithPZ(const Array2D<T>& value) {
    CHECK_EQ(value.height(), planes());
    CHECK_EQ(value.width(), depth());
    FillFrom([&](int64_t p, int64_t z, int64_t y, int64_t x) {
      return value(p, z);
    });
  }
  // Each y-x matrix is filled with its number, counted from 0.
  void FillWithMinorDimNum() {
    FillFrom([&](int64_t p, int64_t z, int64_t y, int64_t x) {
      return static_cast<T>(p * depth() + z);
    });
  }

 private:
  template <typename F>
  void FillFrom(const F& value_at) {
    this->TemplatedEach([&](absl::Span<const int64_t> i, T* element) {
      *element = value_at(i[0], i[1], i[2], i[3]);
    });
  }
};

}  // namespace xla

#endif  // XLA_ARRAY4D_H_
