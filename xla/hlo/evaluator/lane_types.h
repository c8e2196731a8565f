#ifndef XLA_HLO_EVALUATOR_LANE_TYPES_H_
#define XLA_HLO_EVALUATOR_LANE_TYPES_H_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "xla/hlo/evaluator/lanes.h"
#include "xla/primitive_util.h"
#include "xla/types.h"

// C++ types of lanes, for the files that hold the loops.

namespace xla {
namespace evaluator {

// The lane type that holds elements of native type T.
template <typename T>
using LaneOf = std::conditional_t<
    is_complex_v<T> || std::is_same_v<T, double> || std::is_same_v<T, bool>, T,
    std::conditional_t<is_specialized_floating_point_v<T>, float,
                       std::conditional_t<std::numeric_limits<T>::is_signed,
                                          int64_t, uint64_t>>>;

// Loops over one operation, a struct with a static Apply.
template <typename Op, typename T, typename R = T>
void UnaryLoop(const void* const* in, void* out, int64_t n,
               const LaneParams& params) {
  const T* a = static_cast<const T*>(in[0]);
  R* r = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i]);
}

template <typename Op, typename T, typename R = T>
void BinaryLoop(const void* const* in, void* out, int64_t n,
                const LaneParams& params) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  R* r = static_cast<R*>(out);
  for (int64_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i], b[i]);
}

// For operations that depend on the width of the integer type.
template <typename Op, typename T>
void WidthUnaryLoop(const void* const* in, void* out, int64_t n,
                    const LaneParams& params) {
  const T* a = static_cast<const T*>(in[0]);
  T* r = static_cast<T*>(out);
  const int width = params.width;
  for (int64_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i], width);
}

template <typename Op, typename T>
void WidthBinaryLoop(const void* const* in, void* out, int64_t n,
                     const LaneParams& params) {
  const T* a = static_cast<const T*>(in[0]);
  const T* b = static_cast<const T*>(in[1]);
  T* r = static_cast<T*>(out);
  const int width = params.width;
  for (int64_t i = 0; i < n; ++i) r[i] = Op::Apply(a[i], b[i], width);
}

// The low `width` bits.
inline uint64_t LowBits(uint64_t x, int width) {
  return width >= 64 ? x : x & ((uint64_t{1} << width) - 1);
}

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_LANE_TYPES_H_
