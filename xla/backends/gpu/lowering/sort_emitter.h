#ifndef XLA_BACKENDS_GPU_LOWERING_SORT_EMITTER_H_
#define XLA_BACKENDS_GPU_LOWERING_SORT_EMITTER_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/reduction_results.h"
#include "xla/backends/gpu/lowering/sort_lowering.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"

namespace xla::gpu {

int64_t SortedDimension(const HloInstruction& sort);
// Each result's shape, which may have fewer elements along rows than operands.
const Shape& SortedShape(const HloInstruction& sort);

// What all ways to sort have in common: in shared memory, and by ranks.
class SortEmitter {
 protected:
  SortEmitter(const SortGroup& group, KernelFrame* frame);

  // Whether the elements `a` of all operands go before the elements `b`.
  absl::StatusOr<kir::Operand> GoesBefore(absl::Span<const kir::Operand> a,
                                          absl::Span<const kir::Operand> b);
  // Calls `store` for each of the group's results and the indices in it of what
  // is computed from the sort's element `indices`, which has these values.
  absl::Status WriteResults(const Indices& indices,
                            std::vector<kir::Operand> values,
                            absl::FunctionRef<absl::Status(
                                const KernelFrame::Result&, const Indices&)>
                                store);

  const SortGroup& group_;
  const HloInstruction& sort_;
  KernelFrame& frame_;
  KernelBuilder& builder_;
  ElementEmitter& emitter_;
  const Shape& shape_;     // of the operands
  const int64_t along_;    // the dimension
  const int64_t written_;  // elements of a row
  const ReductionLevels levels_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_SORT_EMITTER_H_
