#include "xla/hlo/transforms/control_flow/while_loop_invariant_code_motion.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/while_loop_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/control_flow/inlined_calls.h"
#include "xla/hlo/transforms/fusion/fusible_opcodes.h"
#include "xla/hlo/transforms/loops/loop_state.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using remat_plan::LoopState;

bool IsTied(const HloInstruction& inst) {
  return inst.HasControlDependencies() || inst.HasSideEffect() ||
         !inst.shape().IsArray();
}

// What must run where it stands, or what other devices take part in.
bool MayNotMove(const HloInstruction& inst) {
  if (IsTied(inst)) return true;
  return HloPredicateIsOp<HloOpcode::kParameter, HloOpcode::kGetTupleElement,
                          HloOpcode::kTuple, HloOpcode::kRng,
                          HloOpcode::kRngBitGenerator, HloOpcode::kCustomCall,
                          HloOpcode::kWhile, HloOpcode::kConditional,
                          HloOpcode::kCall, HloOpcode::kAfterAll,
                          HloOpcode::kOptimizationBarrier>(&inst) ||
         hlo_query::IsCollectiveCommunicationOp(inst.opcode());
}

// What no kernel of a reader computes for each of its elements.
bool IsOfItsOwnKernel(const HloInstruction& inst) {
  return HloPredicateIsOp<
      HloOpcode::kDot, HloOpcode::kConvolution, HloOpcode::kReduce,
      HloOpcode::kReduceWindow, HloOpcode::kSort, HloOpcode::kScatter,
      HloOpcode::kFft, HloOpcode::kCholesky, HloOpcode::kTriangularSolve>(
      &inst);
}

int64_t OperandBytes(const HloInstruction& inst) {
  int64_t bytes = 0;
  for (const HloInstruction* operand : inst.unique_operands()) {
    bytes += ShapeUtil::ByteSizeOf(operand->shape(), 8);
  }
  return bytes;
}

// One loop: what is invariant in its body, and the values that leave it.
//
// An instruction is invariant if all its operands are: constants, invariant
// elements of the state, or invariant instructions. One pass in post order
// finds all of them. Those that pay are recomputed in front of the loop and
// carried through it as new invariant elements; an instruction that only feeds
// others that move is not carried itself, which is why they are visited from
// the last to the first.
class InvariantCode {
 public:
  InvariantCode(const WhileLoopInvariantCodeMotionOptions& options,
                LoopState state)
      : options_(options), state_(state) {}

  absl::StatusOr<bool> MoveOut() {
    std::vector<HloInstruction*> moved;
    for (HloInstruction* inst : state_.body()->MakeInstructionPostOrder()) {
      if (!Follow(inst) || inst->user_count() == 0) continue;
      if (Pays(*inst)) moved.push_back(inst);
    }
    if (moved.empty()) return false;
    TF_RETURN_IF_ERROR(state_.Open());
    // Later ones first: what only they read need not be carried.
    bool changed = false;
    for (auto it = moved.rbegin(); it != moved.rend(); ++it) {
      if ((*it)->user_count() == 0) continue;
      TF_RETURN_IF_ERROR(Replace(*it));
      changed = true;
    }
    return changed;
  }

 private:
  // Whether the instruction is invariant; remembers it and where it varies.
  bool Follow(HloInstruction* inst) {
    if (inst->opcode() == HloOpcode::kConstant) {
      varies_[inst] = false;
      source_bytes_[inst] = ShapeUtil::ByteSizeOf(inst->shape(), 8);
      invariant_.insert(inst);
      return options_.constants && !IsTied(*inst);
    }
    const std::optional<int64_t> element =
        LoopState::ElementOf(inst, state_.body_state());
    if (element.has_value()) {
      if (state_.IsInvariant(*element) && inst->shape().IsArray()) {
        invariant_.insert(inst);
        varies_[inst] = true;
        source_bytes_[inst] = ShapeUtil::ByteSizeOf(inst->shape(), 8);
      }
      return false;
    }
    if (MayNotMove(*inst) || inst == state_.body_root() ||
        !absl::c_all_of(inst->operands(), [&](const HloInstruction* operand) {
          return invariant_.contains(operand);
        })) {
      return false;
    }
    invariant_.insert(inst);
    // Depends on anything but constants.
    varies_[inst] = absl::c_any_of(
        inst->operands(),
        [&](const HloInstruction* operand) { return varies_.at(operand); });
    source_bytes_[inst] = ShapeUtil::ByteSizeOf(inst->shape(), 8);
    if (!IsOfItsOwnKernel(*inst) && !IsExpensiveToRepeat(*inst)) {
      source_bytes_[inst] =
          std::min(source_bytes_[inst], OperandSourceBytes(*inst));
    }
    return true;
  }

  // The bytes that its operands take, or what these are computed from for free
  // where they are read, whichever are fewer.
  int64_t OperandSourceBytes(const HloInstruction& inst) const {
    int64_t bytes = 0;
    for (const HloInstruction* operand : inst.unique_operands()) {
      bytes += source_bytes_.at(operand);
    }
    return bytes;
  }

  // Moving an instruction out saves its work in all trips but one, but its
  // value then occupies memory during the whole loop. Values much larger than
  // what they are computed from stay inside.
  bool Pays(const HloInstruction& inst) const {
    if (inst.opcode() == HloOpcode::kConstant) return true;
    if (options_.expensive_only && !varies_.at(&inst)) return false;
    const int64_t bytes = ShapeUtil::ByteSizeOf(inst.shape(), 8);
    const int64_t from =
        options_.expensive_only ? OperandSourceBytes(inst) : OperandBytes(inst);
    if (options_.size_inflation_ratio >= 0 &&
        bytes > options_.size_inflation_ratio * from) {
      return false;
    }
    if (options_.expensive_only && !IsOfItsOwnKernel(inst)) {
      // Parts of a value are read where they lie.
      return bytes < from && inst.opcode() == HloOpcode::kConvert;
    }
    if (inst.opcode() == HloOpcode::kReshape) return options_.reshapes;
    return HloPredicateIsNotOp<HloOpcode::kBitcast, HloOpcode::kBroadcast,
                               HloOpcode::kIota>(&inst);
  }

  // The value of an invariant instruction in front of the loop.
  HloInstruction* Outside(HloInstruction* inst) {
    auto it = outside_.find(inst);
    if (it != outside_.end()) return it->second;
    HloComputation* computation = state_.loop()->parent();
    // Operands first, without recursion.
    std::vector<HloInstruction*> work = {inst};
    while (!work.empty()) {
      HloInstruction* next = work.back();
      if (outside_.contains(next)) {
        work.pop_back();
        continue;
      }
      const std::optional<int64_t> element =
          LoopState::ElementOf(next, state_.body_state());
      if (element.has_value()) {
        outside_[next] = state_.init()->mutable_operand(*element);
        continue;
      }
      std::vector<HloInstruction*> operands;
      for (HloInstruction* operand : next->operands()) {
        auto known = outside_.find(operand);
        if (known == outside_.end()) {
          work.push_back(operand);
        } else {
          operands.push_back(known->second);
        }
      }
      if (work.back() != next) continue;
      outside_[next] = computation->AddInstruction(
          next->CloneWithNewOperands(next->shape(), operands, "invariant"));
    }
    return outside_.at(inst);
  }

  absl::Status Replace(HloInstruction* inst) {
    TF_ASSIGN_OR_RETURN(const int64_t element, state_.Append(Outside(inst)));
    HloInstruction* read = state_.BodyElement(element);
    TF_RETURN_IF_ERROR(inst->ReplaceAllUsesWith(read));
    return state_.body()->RemoveInstructionAndUnusedOperands(inst);
  }

  const WhileLoopInvariantCodeMotionOptions& options_;
  LoopState state_;
  absl::flat_hash_set<const HloInstruction*> invariant_;
  absl::flat_hash_map<const HloInstruction*, bool> varies_;
  absl::flat_hash_map<const HloInstruction*, int64_t> source_bytes_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> outside_;
};

}  // namespace

absl::StatusOr<bool> WhileLoopInvariantCodeMotion::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!hoist_other_) return false;
  bool changed = false;
  // Inner loops first: what leaves one may leave the next.
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    // What runs asynchronously stays one operation.
    if (computation->IsFusionComputation() ||
        computation->IsAsyncComputation()) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      std::optional<LoopState> state = LoopState::MatchClosed(inst);
      if (!state.has_value()) continue;
      const std::optional<int64_t> trips = ComputeWhileLoopTripCount(inst, 2);
      if (trips.has_value() && *trips <= 1) continue;
      TF_ASSIGN_OR_RETURN(bool moved,
                          InvariantCode(options_, *state).MoveOut());
      changed |= moved;
    }
  }
  if (changed) {
    TF_RETURN_IF_ERROR(UpdateScheduleIfAny(module, execution_threads));
  }
  return changed;
}

}  // namespace xla
