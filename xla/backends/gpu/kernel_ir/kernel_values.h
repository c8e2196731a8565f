#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VALUES_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VALUES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_ops.h"

// The semantics of kernel operations, on doubles.

namespace xla::gpu {

// The value as a buffer of this type holds it.
double RoundToType(double value, kir::ElementType type);

// Elementwise operations, and those that pass on one element (copy, pad, …).
// `type` is that of the result: sums, products and shifts of integers wrap as
// the type does, however large intermediate values are.
double ApplyKernelOp(absl::string_view op, absl::Span<const double> arguments,
                     kir::ElementType type);

// Operations on bits (kir::IsOfBits), of numbers of type `from`. NaN has one
// payload, and integers of 64 bits are as doubles hold them.
double ApplyToBits(absl::string_view op, absl::Span<const double> arguments,
                   kir::ElementType from, kir::ElementType to);

double ApplyCombiner(kir::Combiner combiner, double a, double b);
double CombinerIdentity(kir::Combiner combiner);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VALUES_H_
