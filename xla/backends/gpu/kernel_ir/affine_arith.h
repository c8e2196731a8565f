#ifndef XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_ARITH_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_ARITH_H_

#include <cstdint>

namespace xla::gpu {

// int64_t arithmetic with overflow checks: sets `*result` and returns true, or
// returns false.
inline bool CheckedAdd(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_add_overflow(a, b, result);
}
inline bool CheckedMul(int64_t a, int64_t b, int64_t* result) {
  return !__builtin_mul_overflow(a, b, result);
}

// The quotient rounded towards -infinity, and the remainder, which is in [0,
// b). `b` must be positive.
inline int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
inline int64_t FloorRemainder(int64_t a, int64_t b) {
  const int64_t r = a % b;
  return r < 0 ? r + b : r;
}

// The least multiple of `b` > 0 that is >= `a`.
inline bool CheckedAlignUp(int64_t a, int64_t b, int64_t* result) {
  const int64_t r = FloorRemainder(a, b);
  return CheckedAdd(a, r == 0 ? 0 : b - r, result);
}

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_AFFINE_ARITH_H_
