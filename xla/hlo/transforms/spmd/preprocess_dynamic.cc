#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/preprocess.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::spmd {
namespace {

bool IsDynamicArray(const Shape& shape) {
  return shape.IsArray() && shape.is_dynamic();
}

// What gets values from elsewhere and makes nothing of them.
bool HandsElementsOn(const HloInstruction& hlo) {
  return HloPredicateIsOp<
      HloOpcode::kCall, HloOpcode::kConditional, HloOpcode::kGetTupleElement,
      HloOpcode::kOptimizationBarrier, HloOpcode::kParameter, HloOpcode::kTuple,
      HloOpcode::kWhile>(&hlo);
}

bool IsInManualRegion(const HloSharding& sharding) {
  if (sharding.IsTuple()) {
    return absl::c_any_of(sharding.tuple_elements(), IsInManualRegion);
  }
  return sharding.IsManualLeaf() || sharding.IsManualSubgroup();
}

// Replicated where the leaf has a dynamic size.
HloSharding WithWholeDynamicLeaves(const HloSharding& sharding,
                                   const Shape& shape) {
  if (IsDynamicArray(shape)) return HloSharding::Replicate();
  if (!shape.IsTuple() || !sharding.IsTuple()) return sharding;
  std::vector<HloSharding> leaves = sharding.tuple_elements();
  const std::vector<const Shape*> shapes = ShapeUtil::FlattenTupleShape(shape);
  for (size_t i = 0; i < shapes.size() && i < leaves.size(); ++i) {
    if (IsDynamicArray(*shapes[i])) leaves[i] = HloSharding::Replicate();
  }
  return HloSharding::FlatTuple(std::move(leaves));
}

}  // namespace

absl::Status KeepDynamicSizesWhole(HloComputation* computation) {
  for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
    if (IsInManualRegion(hlo->sharding())) continue;
    HloSharding whole = WithWholeDynamicLeaves(hlo->sharding(), hlo->shape());
    if (whole != hlo->sharding() && computation->IsEntryComputation() &&
        (hlo->opcode() == HloOpcode::kParameter || hlo->IsRoot())) {
      return absl::UnimplementedError(absl::StrCat(
          "a dynamic size of a value that the module takes or returns in "
          "shards: ",
          hlo->ToString()));
    }
    hlo->set_sharding(std::move(whole));
    if (HandsElementsOn(*hlo) ||
        (!IsDynamicArray(hlo->shape()) &&
         absl::c_none_of(hlo->operands(), [](const HloInstruction* operand) {
           return IsDynamicArray(operand->shape());
         }))) {
      continue;
    }
    for (int64_t i = 0; i < hlo->operand_count(); ++i) {
      HloInstruction* operand = hlo->mutable_operand(i);
      if (!operand->shape().IsArray() || operand->sharding().IsReplicated()) {
        continue;
      }
      RETURN_IF_ERROR(hlo->ReplaceOperandWith(
          i, AddSharding(operand, HloSharding::Replicate())));
    }
    const HloSharding wanted = hlo->sharding();
    const HloSharding replicated =
        HloSharding::Single(hlo->shape(), HloSharding::Replicate());
    if (wanted == replicated || hlo->HasSideEffectNoRecurse()) continue;
    hlo->set_sharding(replicated);
    // Elements of tuples are cut as they are taken.
    if (hlo->shape().IsTuple() && !hlo->IsRoot()) continue;
    RETURN_IF_ERROR(hlo->ReplaceAllUsesWith(AddSharding(hlo, wanted)));
  }
  return absl::OkStatus();
}

}  // namespace xla::spmd
