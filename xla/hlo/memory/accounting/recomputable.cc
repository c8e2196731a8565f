#include "xla/hlo/memory/accounting/recomputable.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/library_calls.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"

namespace xla {
namespace {

// Whether what a loop, conditional or call runs may run once more: no side
// effects, no meetings of devices, no code that is not known.
bool CalleesAreRecomputable(const HloInstruction& caller) {
  std::vector<const HloComputation*> work(caller.called_computations().begin(),
                                          caller.called_computations().end());
  absl::flat_hash_set<const HloComputation*> seen(work.begin(), work.end());
  while (!work.empty()) {
    const HloComputation* computation = work.back();
    work.pop_back();
    for (const HloInstruction* inst : computation->instructions()) {
      const bool free = inst->opcode() == HloOpcode::kParameter ||
                        inst->opcode() == HloOpcode::kOptimizationBarrier ||
                        inst->opcode() == HloOpcode::kAddDependency ||
                        inst->opcode() == HloOpcode::kAfterAll ||
                        IsRenaming(*inst) ||
                        (RunsComputations(*inst) && !inst->IsAsynchronous());
      if (!free && !IsRecomputable(*inst)) return false;
      for (const HloComputation* callee : inst->called_computations()) {
        if (seen.insert(callee).second) work.push_back(callee);
      }
    }
  }
  return true;
}

}  // namespace

bool IsRenaming(const HloInstruction& instruction) {
  if (instruction.HasControlDependencies()) return false;
  return HloPredicateIsOp<HloOpcode::kGetTupleElement, HloOpcode::kBitcast,
                          HloOpcode::kTuple>(&instruction);
}

bool IsRecomputable(const HloInstruction& instruction) {
  return !instruction.HasControlDependencies() &&
         IsRecomputableElsewhere(instruction);
}

bool IsRecomputableElsewhere(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kRng:
    case HloOpcode::kRngGetAndUpdateState:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case HloOpcode::kBitcast:
    case XLA_ANY_ORDERING:
    case XLA_ANY_COPY_PAIR:
    // Each is one meeting of devices; a second one would need a channel of
    // its own on all of them.
    case XLA_ANY_COLLECTIVE:
      return false;
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return CalleesAreRecomputable(instruction);
    case HloOpcode::kCustomCall:
      return IsPureLibraryCall(instruction) ||
             instruction.IsCustomCall(
                 {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape"});
    case HloOpcode::kConstant:
    case HloOpcode::kCopy:
    case HloOpcode::kFusion:
    case HloOpcode::kIota:
    case HloOpcode::kRngBitGenerator:
    case XLA_ANY_MOVEMENT:
    case XLA_ANY_ELEMENTWISE:
    case XLA_ANY_REDUCTION:
    case XLA_ANY_CONTRACTION:
    case XLA_ANY_BATCH_NORM:
    case XLA_ANY_LIBRARY_CALL:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_ASYNC:
    case XLA_ANY_TRANSFER:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return !instruction.IsAsynchronous() && !instruction.HasSideEffect();
}

}  // namespace xla
