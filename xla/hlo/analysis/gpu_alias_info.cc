#include "xla/hlo/analysis/gpu_alias_info.h"

#include <cstdint>
#include <utility>
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
  if (user.IsEffectiveBitcast() ||
      user.opcode() == HloOpcode::kGetTupleElement) {
    return true;
  }
  return user.shape().IsArray() && user.opcode() != HloOpcode::kCopy &&
         SameOrder(user.shape(), user.operand(i)->shape()) &&
         user.IsElementwiseOnOperand(i) &&
         SameBits(user.shape(), user.operand(i)->shape());
}

bool HasSeveralResults(const HloInstruction& inst) {
  return inst.shape().IsTuple() && (inst.opcode() == HloOpcode::kScatter ||
                                    inst.opcode() == HloOpcode::kSort);
}

const HloInstruction* ThroughBitcasts(const HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kBitcast) inst = inst->operand(0);
  return inst;
}

// The reduction that the kernel is built around: the first output that is one,
// seen through what only changes its elements one by one, to another type, too;
// null without any.
const HloInstruction* HeroReduction(const HloInstruction& root) {
  const bool several = root.opcode() == HloOpcode::kTuple;
  for (int64_t i = 0; i < (several ? root.operand_count() : 1); ++i) {
    const HloInstruction* inst = several ? root.operand(i) : &root;
    while (inst->operand_count() == 1 &&
           (KeepsPlace(*inst, 0) || inst->IsElementwise())) {
      inst = inst->operand(0);
    }
    if (inst->opcode() == HloOpcode::kReduce) return inst;
  }
  return nullptr;
}

// Walks from a parameter of a fusion to its outputs.
class FusionSharing {
 public:
  FusionSharing(const HloInstruction& fusion, const ShapeIndex& index)
      : fusion_(fusion), root_(fusion.fused_expression_root()) {
    if (fusion.fusion_kind() == HloInstruction::FusionKind::kInput) {
      hero_ = HeroReduction(*root_);
    }
    const auto [inst, rest] = FollowTuplesToTheEnd(root_, index);
    if (rest.empty()) {
      output_ = inst;
    } else if (rest.size() == 1 && HasSeveralResults(*inst)) {
      output_ = inst;
      result_ = rest[0];
    }
  }

  // Whether the output may be where the parameter is.
  bool MayShare(int64_t number) {
    if (output_ == nullptr) return false;
    Visit(fusion_.fused_parameter(number), /*is_slice=*/false);
    while (!work_.empty()) {
      const auto [inst, is_slice] = work_.back();
      work_.pop_back();
      if (inst == output_) {
        reaches_output_ = true;
      } else if (inst == root_) {
        return false;
      }
      for (const HloInstruction* user : inst->users()) {
        for (int64_t i : user->OperandIndices(inst)) {
          if (!Enter(*inst, *user, i, is_slice)) return false;
        }
      }
    }
    return reaches_output_ && !(updates_ && reaches_other_);
  }

 private:
  void Visit(const HloInstruction* inst, bool is_slice) {
    if (seen_.insert(inst).second) work_.push_back({inst, is_slice});
  }

  // False if `user` reads `inst`, its operand `i`, where another thread may
  // have written already.
  bool Enter(const HloInstruction& inst, const HloInstruction& user, int64_t i,
             bool is_slice) {
    if (&user == root_ && user.opcode() == HloOpcode::kTuple) {
      // Reductions have read everything when other outputs are written.
      const HloInstruction* made = FollowTuplesToTheEnd(&inst, {}).first;
      if (made != output_ && made->opcode() != HloOpcode::kReduce) {
        reaches_other_ = true;
      }
      return true;
    }
    switch (user.opcode()) {
      case HloOpcode::kDynamicUpdateSlice:
        updates_ = true;
        if (i != (is_slice ? 1 : 0)) return false;
        if (is_slice && &user != ThroughBitcasts(output_)) return false;
        Visit(&user, /*is_slice=*/false);
        return true;
      case HloOpcode::kScatter:
        updates_ = true;
        if (is_slice || i >= user.operand_count() / 2) return false;
        if (HasSeveralResults(user) && (&user != output_ || i != result_)) {
          return false;
        }
        Visit(&user, /*is_slice=*/false);
        return true;
      case HloOpcode::kSort:
        updates_ = true;
        if (is_slice || &user != output_ || i != result_) return false;
        Visit(&user, /*is_slice=*/false);
        return true;
      case HloOpcode::kDynamicSlice:
        if (is_slice || i != 0 || !IsWhatIsUpdated(user)) return false;
        Visit(&user, /*is_slice=*/true);
        return true;
      case HloOpcode::kReduce:
        // All threads read an initial value.
        if (&user != hero_ || &user == output_ ||
            i >= user.operand_count() / 2) {
          return false;
        }
        Visit(&user, is_slice);
        return true;
      default:  // Elementwise opcodes alone.
        if (!KeepsPlace(user, i)) return false;
        Visit(&user, is_slice);
        return true;
    }
  }

  // Whether the output is an update of the part that `slice` reads.
  bool IsWhatIsUpdated(const HloInstruction& slice) const {
    const HloInstruction* update = ThroughBitcasts(output_);
    if (update->opcode() != HloOpcode::kDynamicUpdateSlice ||
        !ShapeUtil::Compatible(update->shape(), slice.operand(0)->shape()) ||
        !ShapeUtil::SameDimensions(update->operand(1)->shape(),
                                   slice.shape()) ||
        !SameOrder(update->shape(), slice.operand(0)->shape())) {
      return false;
    }
    for (int64_t d = 0; d < update->shape().dimensions_size(); ++d) {
      if (update->operand(d + 2) != slice.operand(d + 1)) return false;
    }
    return true;
  }

  const HloInstruction& fusion_;
  const HloInstruction* const root_;
  const HloInstruction* hero_ = nullptr;
  const HloInstruction* output_ = nullptr;  // null: in a tuple that came whole
  int64_t result_ = 0;                      // of output_
  bool reaches_output_ = false;
  bool reaches_other_ = false;
  // Something does more than one element by one thread.
  bool updates_ = false;
  absl::flat_hash_set<const HloInstruction*> seen_;
  // With whether only the part that the output updates has come so far.
  std::vector<std::pair<const HloInstruction*, bool>> work_;
};

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
        if (!FusionSharing(*user, user_index).MayShare(number)) return false;
      }
      return true;
    }
    default:  // AliasInfo's answer.
      return std::nullopt;
  }
}

}  // namespace xla::gpu
