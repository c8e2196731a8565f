#include "xla/hlo/analysis/gpu_alias_info.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace xla::gpu {
namespace {

bool SameBits(const Shape& a, const Shape& b) {
  return a.IsArray() && b.IsArray() &&
         ShapeUtil::ElementsIn(a) == ShapeUtil::ElementsIn(b) &&
         ShapeUtil::ByteSizeOfElements(a) == ShapeUtil::ByteSizeOfElements(b);
}

// A layout that changes puts reads and writes of an element apart.
bool SameOrder(const Shape& a, const Shape& b) {
  return !a.has_layout() || !b.has_layout() ||
         a.layout().minor_to_major() == b.layout().minor_to_major();
}

// Whether what stands at operand `i` goes, element by element, into the same
// elements of `user`.
bool KeepsPlace(const HloInstruction& user, int64_t i) {
  if (user.opcode() != HloOpcode::kBitcast && user.shape().IsArray() &&
      !SameOrder(user.shape(), user.operand(i)->shape())) {
    return false;
  }
  switch (user.opcode()) {
    case HloOpcode::kBitcast:
      return true;
    case HloOpcode::kDynamicUpdateSlice:
      return i == 0;
    case HloOpcode::kScatter:
      return i < user.operand_count() / 2;
    default:
      return user.IsElementwiseOnOperand(i) &&
             SameBits(user.shape(), user.operand(i)->shape());
  }
}

// The instruction that makes an output of a fusion; null for tuples in tuples.
const HloInstruction* OutputOf(const HloInstruction& fusion,
                               const ShapeIndex& index) {
  const auto [inst, rest] =
      FollowTupleIndirection(fusion.fused_expression_root(), index);
  return rest.empty() ? inst : nullptr;
}

bool FusionMayShare(const HloInstruction& fusion, int64_t number,
                    const ShapeIndex& user_index) {
  const HloInstruction* output = OutputOf(fusion, user_index);
  const HloInstruction* root = fusion.fused_expression_root();
  if (output == nullptr) return false;
  const HloInstruction* parameter = fusion.fused_parameter(number);
  absl::flat_hash_set<const HloInstruction*> seen = {parameter};
  std::vector<const HloInstruction*> work = {parameter};
  bool reaches_output = false;
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    if (inst == output) {
      reaches_output = true;
      // Nobody may need it once it is written, but the tuple that returns it.
      if (inst->user_count() > (inst == root ? 0 : 1)) return false;
      continue;
    }
    if (inst == root) return false;
    for (const HloInstruction* user : inst->users()) {
      if (user == root && root->opcode() == HloOpcode::kTuple) {
        // Another output. Reductions have read everything by then.
        if (inst->opcode() != HloOpcode::kReduce) return false;
        continue;
      }
      if (user->opcode() != HloOpcode::kReduce ||
          fusion.fusion_kind() != HloInstruction::FusionKind::kInput) {
        for (int64_t i : user->OperandIndices(inst)) {
          if (!KeepsPlace(*user, i)) return false;
        }
      } else if (user == output) {
        return false;
      }
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return reaches_output;
}

}  // namespace

std::optional<bool> GpuAliasInfo::MayAlias(const HloInstruction* operand,
                                           const ShapeIndex& operand_index,
                                           const HloInstruction* user,
                                           const ShapeIndex& user_index) const {
  switch (user->opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kCollectiveBroadcast:
      return user->operand_count() == 1 ||
             (user_index.size() == 1 &&
              user->operand(user_index[0]) == operand);
    case HloOpcode::kFusion: {
      if (!SameBits(ShapeUtil::GetSubshape(operand->shape(), operand_index),
                    ShapeUtil::GetSubshape(user->shape(), user_index))) {
        return false;
      }
      // Tuples are no operands of kernels.
      if (!operand_index.empty()) return false;
      for (int64_t number : user->OperandIndices(operand)) {
        if (!FusionMayShare(*user, number, user_index)) return false;
      }
      return true;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace xla::gpu
