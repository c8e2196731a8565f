#include "xla/backends/gpu/lowering/check_lowered.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/element_emitter.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

bool IsOfKernelType(const Shape& shape) {
  if (shape.IsTuple()) {
    return absl::c_all_of(shape.tuple_shapes(), IsOfKernelType);
  }
  return !shape.IsArray() ||
         primitive_util::IsComplexType(shape.element_type()) ||
         KernelType(shape.element_type()).ok();
}

absl::Status CheckOne(const HloInstruction& hlo) {
  switch (hlo.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
      return absl::OkStatus();
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kMulhi:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kStochasticConvert:
      return LowerLoop(hlo).status();
    default:  // Lowered for all types that kernels have.
      break;
  }
  const bool is_known =
      IsOfKernelType(hlo.shape()) &&
      absl::c_all_of(hlo.operands(), [](const HloInstruction* operand) {
        return IsOfKernelType(operand->shape());
      });
  return is_known ? absl::OkStatus() : LowerLoop(hlo).status();
}

}  // namespace

absl::Status CheckIsLowered(const HloInstruction& kernel) {
  std::vector<const HloComputation*> left;
  absl::flat_hash_set<const HloComputation*> found;
  const auto check = [&](const HloInstruction& hlo) -> absl::Status {
    for (const HloComputation* called : hlo.called_computations()) {
      if (found.insert(called).second) left.push_back(called);
    }
    return hlo.opcode() == HloOpcode::kFusion ? absl::OkStatus()
                                              : CheckOne(hlo);
  };
  RETURN_IF_ERROR(check(kernel));
  while (!left.empty()) {
    const HloComputation* computation = left.back();
    left.pop_back();
    for (const HloInstruction* hlo : computation->instructions()) {
      RETURN_IF_ERROR(check(*hlo));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::gpu
