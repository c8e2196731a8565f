#ifndef XLA_BACKENDS_GPU_KERNEL_IR_WARP_MMA_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_WARP_MMA_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// Products of matrices by the matrix units, whose operands and sums are spread
// over the registers of a warp.
//
//   alloc %a : local bf16[4, 2, 8]        4 times 16 rows
//   alloc %b : local bf16[2, 8]           2 times 8 columns
//   alloc %c : local f32[4, 2, 2, 2]
//   %c[0, 0, 0, 0] = warp_mma(%a[0, 0, 0], %b[0, 0])
//
// adds to the sums %c the products over a depth of 16 words of 4 bytes: 16
// elements of f32, 32 of f16 or bf16. With p elements in a word, lane l has of
// block i, j
//
//   %a[i, r, v]     element v of words 4*(l%4) … 4*(l%4)+3 of row l/4 + 8*r
//   %b[j, v]        the same words of column l/4
//   %c[i, j, r, q]  row l/4 + 8*r, column 2*(l%4) + q
//
// so that what a lane has of a row lies in 16 bytes where the depth is the
// fastest dimension in memory. All lanes of the warp come by together.
//
// Sums are of f32. f32 is multiplied with nearly f32's accuracy (2^-21) as
// three products of numbers of 11 bits, infinities and NaNs included; numbers
// below 2^-126 count by their upper bits. Where whoever runs the kernel asks
// for it, f32 is multiplied as one such product (TF32), unless the third
// argument is 1.

namespace xla::gpu::kir {

struct WarpMma {
  static constexpr int kRows = 16, kColumns = 8, kWords = 16;
  ElementType type = ElementType::kF32;  // of the factors
  int64_t down = 1, across = 1;          // blocks of 16 rows, of 8 columns
  bool is_exact = false;                 // never TF32
  // Elements of a word, of all of a lane's words of one row.
  int64_t per_word() const { return 4 / ElementBytes(type); }
  int64_t per_row() const { return 4 * per_word(); }
  int64_t lhs_elements() const { return down * 2 * per_row(); }
  int64_t rhs_elements() const { return across * per_row(); }
  int64_t sum_elements() const { return down * across * 4; }
};

// Nothing, and why, where the statement's arrays are not as above.
std::optional<WarpMma> FindWarpMma(const Kernel& kernel, const Expr& expr,
                                   std::string* why);

// Adds the products to the sums. Each list has one array per lane.
void MultiplyFragments(const WarpMma& mma,
                       absl::Span<const std::vector<double>> lhs,
                       absl::Span<const std::vector<double>> rhs,
                       std::vector<std::vector<double>>* sums);

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_WARP_MMA_H_
