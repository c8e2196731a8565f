#ifndef XLA_HLO_IR_SHARDING_TILE_ASSIGNMENT_INTERNAL_H_
#define XLA_HLO_IR_SHARDING_TILE_ASSIGNMENT_INTERNAL_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"

// Shared by the parts of tile assignments; for their own files only.

namespace xla::tile_assignment_internal {

using Dims = absl::InlinedVector<int64_t, 6>;

// Row-major strides.
inline Dims StridesOf(absl::Span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (int i = static_cast<int>(dims.size()) - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

// Yields the elements of an iota array in row-major order.
class IotaWalker {
 public:
  IotaWalker(absl::Span<const int64_t> reshape_dims,
             absl::Span<const int> perm) {
    const Dims strides = StridesOf(reshape_dims);
    for (int i = static_cast<int>(perm.size()) - 1; i >= 0; --i) {
      axes_.push_back({reshape_dims[perm[i]], strides[perm[i]], 0});
    }
  }

  int64_t Next() {
    const int64_t value = value_;
    for (Axis& axis : axes_) {
      value_ += axis.stride;
      if (++axis.at < axis.size) break;
      value_ -= axis.stride * axis.size;
      axis.at = 0;
    }
    return value;
  }

 private:
  struct Axis {
    int64_t size;
    int64_t stride;
    int64_t at;
  };
  absl::InlinedVector<Axis, 4> axes_;  // minor first
  int64_t value_ = 0;
};

}  // namespace xla::tile_assignment_internal

#endif  // XLA_HLO_IR_SHARDING_TILE_ASSIGNMENT_INTERNAL_H_
