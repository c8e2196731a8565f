#ifndef XLA_BACKENDS_GPU_LOWERING_WARP_OP_COSTS_H_
#define XLA_BACKENDS_GPU_LOWERING_WARP_OP_COSTS_H_

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"

// What a warp's operations cost on their own, whatever they wait for.

namespace xla::gpu {

// Issue slots of an operation, and cycles until its result.
struct OpCost {
  double slots;
  double cycles;
};
OpCost CostOf(absl::string_view op, kir::ElementType type);

// A warp's products of fragments: two for each block of its sums, since a unit
// multiplies 32 bytes of the depth at once. f32 takes three each, of factors
// that are split before; the sums are added afterwards.
struct ProductCost {
  double products, slots, cycles;
};
ProductCost CostOfProducts(const kir::Kernel& kernel, const kir::Expr& expr);

// Slots of an index: additions, and divisions that are no shifts; in a loop
// over that name, if any, those of what depends on it.
double IndexSlots(const AffineExpr& expr, absl::string_view loop = "");

// Exchanges by which a warp, or as many neighbors as a second argument says,
// combine their values.
double ShufflesOf(const kir::Expr& expr);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_WARP_OP_COSTS_H_
