#include "xla/hlo/transforms/operations/reshape_mover.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/operations/elementwise_moves.h"
#include "xla/permutation_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// A reshape or transpose of a constant, which is one in other dimensions.
bool IsConstantInOtherDimensions(const HloInstruction& inst) {
  return (inst.opcode() == HloOpcode::kReshape ||
          inst.opcode() == HloOpcode::kTranspose) &&
         inst.operand(0)->opcode() == HloOpcode::kConstant;
}

// A reshape or transpose that may move. One of a constant is no reason to move
// anything: it would be needed again on the way back.
bool IsRearrangement(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kReshape &&
      inst.opcode() != HloOpcode::kTranspose) {
    return false;
  }
  return IsMovableArray(inst) && inst.operand(0)->shape().is_static() &&
         !IsConstantInOtherDimensions(inst) &&
         !ShapeUtil::IsEffectiveScalar(inst.shape());
}

// Same operation, from the same dimensions.
bool RearrangeAlike(const HloInstruction& a, const HloInstruction& b) {
  return a.opcode() == b.opcode() &&
         ShapeUtil::SameDimensions(a.operand(0)->shape(),
                                   b.operand(0)->shape()) &&
         (a.opcode() == HloOpcode::kReshape ||
          a.dimensions() == b.dimensions());
}

// Decides for all instructions of a computation together. FindHow assumes, in
// post order, that every instruction sinks whose operands are rearranged alike
// or can be. That fails where a rearrangement has readers that do not sink: it
// would stay, and nothing would be gained. CheckReaders drops the other readers
// of such a rearrangement, and Drop what counted on them, so that the greatest
// set remains that meets both conditions. Transposes are then weighed by groups
// that can only sink together (Link, a union-find): a group sinks if it leaves
// no more transposes behind it than it removes.
class ReshapeMoves {
 public:
  ReshapeMoves(HloComputation* computation, const ReshapeMoverOptions& options)
      : computation_(computation), options_(options) {}

  absl::StatusOr<bool> Run() {
    const std::vector<HloInstruction*> order =
        computation_->MakeInstructionPostOrder();
    for (HloInstruction* inst : order) FindHow(inst);
    if (how_.empty()) return false;
    for (HloInstruction* inst : order) {
      if (how_.contains(inst)) Link(inst);
    }
    for (HloInstruction* inst : order) {
      if (how_.contains(inst)) CheckReaders(inst);
    }
    DropWhatCosts(order);
    bool changed = false;
    std::vector<HloInstruction*> old;
    for (HloInstruction* inst : order) {
      if (!how_.contains(inst)) continue;
      changed = true;
      old.insert(old.end(), inst->operands().begin(), inst->operands().end());
      old.push_back(inst);
      TF_RETURN_IF_ERROR(Sink(inst));
    }
    return changed ? RemoveDead(old) : false;
  }

 private:
  // The rearrangement that would stand behind the operand if it sank, null if
  // there is none.
  const HloInstruction* HowOf(HloInstruction* operand) const {
    if (auto it = how_.find(operand); it != how_.end()) return it->second;
    return IsRearrangement(*operand) ? operand : nullptr;
  }

  // Whether the operand can be made in the other shape at once.
  bool IsEasy(const HloInstruction& operand, const HloInstruction& how) const {
    if (operand.HasControlDependencies() || operand.has_sharding()) {
      return false;
    }
    if (operand.opcode() == HloOpcode::kConstant ||
        IsConstantInOtherDimensions(operand)) {
      return true;
    }
    if (operand.opcode() != HloOpcode::kBroadcast) return false;
    if (ShapeUtil::IsScalar(operand.operand(0)->shape())) return true;
    if (how.opcode() == HloOpcode::kReshape) {
      return options_.reshape_of_1d_broadcast_is_cheap &&
             operand.operand(0)->shape().dimensions().size() == 1;
    }
    // Dimensions of a broadcast stand in ascending order, and do so behind.
    const std::vector<int64_t> dimensions = Unpermuted(operand, how);
    return absl::c_is_sorted(dimensions);
  }

  // The dimensions of a broadcast in front of a transpose.
  static std::vector<int64_t> Unpermuted(const HloInstruction& broadcast,
                                         const HloInstruction& transpose) {
    std::vector<int64_t> dimensions;
    for (int64_t dimension : broadcast.dimensions()) {
      dimensions.push_back(transpose.dimensions(dimension));
    }
    return dimensions;
  }

  void FindHow(HloInstruction* inst) {
    if (!IsMovableElementwise(*inst)) return;
    const HloInstruction* how = nullptr;
    for (HloInstruction* operand : inst->operands()) {
      how = HowOf(operand);
      if (how != nullptr) break;
    }
    if (how == nullptr) return;
    for (HloInstruction* operand : inst->operands()) {
      const HloInstruction* other = HowOf(operand);
      if (other != nullptr ? !RearrangeAlike(*how, *other)
                           : !IsEasy(*operand, *how))
        return;
    }
    how_[inst] = how;
  }

  // Joins the instruction with what has to sink if it does.
  void Link(HloInstruction* inst) {
    for (HloInstruction* operand : inst->operands()) {
      if (HowOf(operand) != nullptr) group_[Group(operand)] = Group(inst);
    }
  }

  HloInstruction* Group(HloInstruction* inst) {
    HloInstruction* top = inst;
    for (auto it = group_.find(top); it != group_.end() && it->second != top;
         it = group_.find(top)) {
      top = it->second;
    }
    // What was on the way finds it at once the next time.
    while (inst != top) {
      HloInstruction*& next = group_[inst];
      inst = next;
      next = top;
    }
    return top;
  }

  // Takes the instruction, and what counted on it, out if one of its
  // rearrangements has other readers.
  void CheckReaders(HloInstruction* inst) {
    for (HloInstruction* operand : inst->operands()) {
      if (how_.contains(operand) || !IsRearrangement(*operand)) continue;
      if (operand->IsRoot() ||
          !absl::c_all_of(operand->users(), [&](HloInstruction* user) {
            return how_.contains(user);
          })) {
        Drop(inst);
        return;
      }
    }
  }

  void Drop(HloInstruction* first) {
    std::vector<HloInstruction*> work = {first};
    while (!work.empty()) {
      HloInstruction* inst = work.back();
      work.pop_back();
      if (how_.erase(inst) == 0) continue;
      for (HloInstruction* user : inst->users()) work.push_back(user);
      for (HloInstruction* operand : inst->operands()) {
        if (how_.contains(operand) || !IsRearrangement(*operand)) continue;
        for (HloInstruction* user : operand->users()) work.push_back(user);
      }
    }
  }

  bool StaysVisible(const HloInstruction& inst) const {
    return inst.IsRoot() ||
           !absl::c_all_of(inst.users(), [&](HloInstruction* user) {
             return how_.contains(user);
           });
  }

  // Groups that would have more transposes behind than they have before.
  void DropWhatCosts(const std::vector<HloInstruction*>& order) {
    absl::flat_hash_map<HloInstruction*, int64_t> more;
    absl::flat_hash_set<HloInstruction*> counted;
    for (HloInstruction* inst : order) {
      auto it = how_.find(inst);
      if (it == how_.end() || it->second->opcode() != HloOpcode::kTranspose) {
        continue;
      }
      int64_t& count = more[Group(inst)];
      count += StaysVisible(*inst) ? 1 : 0;
      for (HloInstruction* operand : inst->operands()) {
        if (!how_.contains(operand) && IsRearrangement(*operand) &&
            counted.insert(operand).second) {
          --count;
        }
      }
    }
    for (HloInstruction* inst : order) {
      auto it = more.find(Group(inst));
      if (it != more.end() && it->second > 0) how_.erase(inst);
    }
  }

  // The operand before the rearrangement `how`.
  HloInstruction* Before(HloInstruction* operand, const HloInstruction& how) {
    if (auto it = sunk_.find(operand); it != sunk_.end()) return it->second;
    if (IsRearrangement(*operand)) return operand->mutable_operand(0);
    const Shape shape =
        InDimensionsOf(operand->shape(), how.operand(0)->shape());
    if (operand->opcode() == HloOpcode::kBroadcast &&
        ShapeUtil::IsScalar(operand->operand(0)->shape())) {
      return computation_->AddInstruction(HloInstruction::CreateBroadcast(
          shape, operand->mutable_operand(0), {}));
    }
    if (how.opcode() == HloOpcode::kReshape) {
      return computation_->AddInstruction(
          HloInstruction::CreateReshape(shape, operand));
    }
    if (operand->opcode() == HloOpcode::kBroadcast) {
      return computation_->AddInstruction(HloInstruction::CreateBroadcast(
          shape, operand->mutable_operand(0), Unpermuted(*operand, how)));
    }
    return computation_->AddInstruction(HloInstruction::CreateTranspose(
        shape, operand, InversePermutation(how.dimensions())));
  }

  absl::Status Sink(HloInstruction* inst) {
    const HloInstruction& how = *how_.at(inst);
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : inst->operands()) {
      operands.push_back(Before(operand, how));
    }
    HloInstruction* moved =
        computation_->AddInstruction(inst->CloneWithNewOperands(
            InDimensionsOf(inst->shape(), how.operand(0)->shape()), operands));
    sunk_[inst] = moved;
    if (!StaysVisible(*inst)) return absl::OkStatus();
    HloInstruction* behind = computation_->AddInstruction(
        how.opcode() == HloOpcode::kReshape
            ? HloInstruction::CreateReshape(inst->shape(), moved)
            : HloInstruction::CreateTranspose(inst->shape(), moved,
                                              how.dimensions()));
    behind->set_metadata(how.metadata());
    sunk_[behind] = moved;
    // Those that sink, too, look it up.
    return inst->ReplaceAllUsesWith(behind);
  }

  absl::StatusOr<bool> RemoveDead(const std::vector<HloInstruction*>& old) {
    absl::flat_hash_set<HloInstruction*> removed;
    for (size_t i = old.size(); i-- > 0;) {
      HloInstruction* inst = old[i];
      if (removed.contains(inst) || !inst->users().empty() || inst->IsRoot() ||
          !computation_->IsSafelyRemovable(inst)) {
        continue;
      }
      removed.insert(inst);
      TF_RETURN_IF_ERROR(computation_->RemoveInstruction(inst));
    }
    return true;
  }

  HloComputation* computation_;
  const ReshapeMoverOptions& options_;
  // What stands behind an instruction that sinks.
  absl::flat_hash_map<HloInstruction*, const HloInstruction*> how_;
  absl::flat_hash_map<HloInstruction*, HloInstruction*> group_;
  // An instruction, and the rearrangement behind it -> what is before that.
  absl::flat_hash_map<HloInstruction*, HloInstruction*> sunk_;
};

}  // namespace

absl::StatusOr<bool> ReshapeMover::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    TF_ASSIGN_OR_RETURN(bool moved, ReshapeMoves(computation, options_).Run());
    changed |= moved;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
