#include "xla/backends/gpu/transforms/layouts/transpose_layouts.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "xla/backends/gpu/transforms/layouts/layout_spread.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

int64_t Bytes(const HloInstruction& move) {
  return ShapeUtil::ByteSizeOf(move.shape());
}

// Whether the operand's memory can be the result's, in some order of
// dimensions. A bitcast has no place in the order that control dependencies
// give, and sizes of dynamic dimensions would be lost.
bool MayBecomeBitcast(const HloInstruction& instruction) {
  const Shape& from = instruction.operand(0)->shape();
  const Shape& to = instruction.shape();
  return from.has_layout() && to.has_layout() && from.is_static() &&
         to.is_static() && !instruction.HasControlDependencies() &&
         from.layout().tiles().empty() && to.layout().tiles().empty() &&
         from.layout().memory_space() == to.layout().memory_space() &&
         from.layout().element_size_in_bits() ==
             to.layout().element_size_in_bits();
}

bool MovesNothing(const HloInstruction& transpose) {
  return SameOrder(
      transpose.shape(), OrderOf(transpose.shape()),
      ResultOrder(transpose, OrderOf(transpose.operand(0)->shape())));
}

// Something that may become a bitcast: a transpose, or with `copies` a copy
// into another order. Other copies are there for what happens to their memory.
bool IsMove(const HloInstruction& instruction, bool copies) {
  if (instruction.opcode() == HloOpcode::kTranspose) {
    return MayBecomeBitcast(instruction);
  }
  return copies && instruction.opcode() == HloOpcode::kCopy &&
         !instruction.has_sharding() && MayBecomeBitcast(instruction) &&
         !MovesNothing(instruction);
}

// The bytes that transposes, and with `copies` copies, no longer move, less
// those that they have to move now.
int64_t BytesSaved(const LayoutSpread& spread, bool copies) {
  int64_t saved = 0;
  for (const HloInstruction* move : spread.Moves()) {
    if (move->opcode() == HloOpcode::kCopy && !IsMove(*move, copies)) continue;
    const bool before = MovesNothing(*move);
    const bool after =
        SameOrder(move->shape(), spread.After(*move),
                  ResultOrder(*move, spread.After(*move->operand(0))));
    if (before != after) saved += after ? Bytes(*move) : -Bytes(*move);
  }
  return saved;
}

// A copy that does nothing but to put a transpose's result in another order.
bool ReordersTranspose(const HloInstruction& copy) {
  return copy.opcode() == HloOpcode::kCopy && !copy.has_sharding() &&
         copy.operand(0)->opcode() == HloOpcode::kTranspose &&
         MayBecomeBitcast(copy) && MayBecomeBitcast(*copy.operand(0)) &&
         OrderOf(copy.shape()) != OrderOf(copy.operand(0)->shape());
}

// Lets transposes write the order that copies bring their results in: one
// instruction then moves what two did, and the order that is needed is known
// where layouts spread from.
absl::StatusOr<bool> MergeCopies(HloComputation* computation) {
  bool changed = false;
  for (HloInstruction* copy : computation->MakeInstructionPostOrder()) {
    if (!ReordersTranspose(*copy)) continue;
    HloInstruction* transpose = copy->mutable_operand(0);
    RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
        copy, HloInstruction::CreateTranspose(copy->shape(),
                                              transpose->mutable_operand(0),
                                              transpose->dimensions())));
    changed = true;
  }
  return changed;
}

// Makes the transpose's result lie as its operand does, or the other way round.
//
// A transpose or copy costs nothing if its result has the layout that turns it
// into a bitcast. The change is made if it saves more bytes at such moves than
// it adds at others. `module`: where the entry's layouts may change.
bool Carry(HloInstruction* move, const LayoutSpread::Loops& loops,
           HloModule* module) {
  const bool copies = module != nullptr;
  HloInstruction* operand = move->mutable_operand(0);
  LayoutSpread forward(loops, module);
  if (forward.Start(move, ResultOrder(*move, OrderOf(operand->shape()))) &&
      BytesSaved(forward, copies) > 0) {
    forward.Apply();
    return true;
  }
  LayoutSpread backward(loops, module);
  if (backward.Start(operand, OperandOrder(*move, OrderOf(move->shape()))) &&
      BytesSaved(backward, copies) > 0) {
    backward.Apply();
    return true;
  }
  return false;
}

}  // namespace

bool AbslParseFlag(absl::string_view text, EntryLayouts* layouts,
                   std::string* error) {
  for (EntryLayouts known : {EntryLayouts::kKept, EntryLayouts::kAuto}) {
    if (text == AbslUnparseFlag(known)) {
      *layouts = known;
      return true;
    }
  }
  *error = "expected kept or auto";
  return false;
}

std::string AbslUnparseFlag(EntryLayouts layouts) {
  return layouts == EntryLayouts::kKept ? "kept" : "auto";
}

// Greedy, largest moves first: each is tried in both directions, given the
// layouts chosen so far.
absl::StatusOr<bool> TransposeLayouts::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  const bool free_entry = options_.layouts == EntryLayouts::kAuto;
  std::vector<HloInstruction*> moves;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    ASSIGN_OR_RETURN(const bool merged, MergeCopies(computation));
    changed |= merged;
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      if (IsMove(*instruction, /*copies=*/free_entry)) {
        moves.push_back(instruction);
      }
    }
  }
  std::stable_sort(moves.begin(), moves.end(),
                   [](const HloInstruction* a, const HloInstruction* b) {
                     return Bytes(*a) > Bytes(*b);
                   });
  const LayoutSpread::Loops loops = LayoutSpread::FindLoops(*module);
  for (HloInstruction* move : moves) {
    if (MovesNothing(*move)) continue;
    changed |= Carry(move, loops, free_entry ? module : nullptr);
  }
  for (HloInstruction* move : moves) {
    if (!MovesNothing(*move)) continue;
    HloComputation* computation = move->parent();
    RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
        move, HloInstruction::CreateBitcast(move->shape(),
                                            move->mutable_operand(0))));
    changed = true;
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
