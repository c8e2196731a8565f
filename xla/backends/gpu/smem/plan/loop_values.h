#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_LOOP_VALUES_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_LOOP_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/smem/plan/smem_flow.h"

namespace xla::gpu {

// After how much of the name the expression has the same values again, up to
// 32; nothing where that cannot be told.
//
//   (k + 2) % 3 of k -> 3      x of k -> 1      k + x of k -> nothing
std::optional<int64_t> PeriodIn(const AffineExpr& expr,
                                const std::string& name);

// The values of a loop's index, when they are few; or so many of them that each
// pair of iterations, neighbors or not, is like one among them, where nothing
// around the accesses but their indices depends on the loop, and those repeat:
//
//   for %k : serial [0, 288) { %A[(k + 2) % 3, x] = …  … = f(%A[k % 3, y]) }
//   ->  0 … 6
//
// Empty otherwise.
std::vector<int64_t> LoopValuesOf(const SmemFlow& flow, int loop,
                                  absl::Span<const int> accesses);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_LOOP_VALUES_H_
