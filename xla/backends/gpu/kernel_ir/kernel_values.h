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

// Element-wise operations, and those that hand one element on (copy, pad, …).
// `type` is that of the result: sums, products and shifts of integers wrap as
// the type does, however large they are on the way.
double ApplyKernelOp(absl::string_view op, absl::Span<const double> arguments,
                     kir::ElementType type);

// Operation `bits`: what the bits of the value in a buffer of type `from` are
// in one of type `to`. f32 and integers of as many bits; NaN has one payload.
// Other types hand the value on.
double ReinterpretBits(double value, kir::ElementType from,
                       kir::ElementType to);

double ApplyCombiner(kir::Combiner combiner, double a, double b);
double CombinerIdentity(kir::Combiner combiner);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KERNEL_VALUES_H_
