#include "xla/backends/gpu/transforms/layouts/transpose_layouts.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "xla/backends/gpu/transforms/layouts/layout_spread.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

int64_t Bytes(const HloInstruction& transpose) {
  return ShapeUtil::ByteSizeOf(transpose.shape());
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

// The bytes that transposes no longer move, less those that they have to move
// now.
int64_t BytesSaved(const LayoutSpread& spread) {
  int64_t saved = 0;
  for (const HloInstruction* transpose : spread.Transposes()) {
    const bool before = MovesNothing(*transpose);
    const bool after = SameOrder(
        transpose->shape(), spread.After(*transpose),
        ResultOrder(*transpose, spread.After(*transpose->operand(0))));
    if (before != after)
      saved += after ? Bytes(*transpose) : -Bytes(*transpose);
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
// A transpose costs nothing if its result has the layout that turns it into a
// bitcast. The change is made if it saves more bytes at transposes than it adds
// at others.
bool Carry(HloInstruction* transpose, const LayoutSpread::Loops& loops) {
  HloInstruction* operand = transpose->mutable_operand(0);
  LayoutSpread forward(loops);
  if (forward.Start(transpose,
                    ResultOrder(*transpose, OrderOf(operand->shape()))) &&
      BytesSaved(forward) > 0) {
    forward.Apply();
    return true;
  }
  LayoutSpread backward(loops);
  if (backward.Start(operand,
                     OperandOrder(*transpose, OrderOf(transpose->shape()))) &&
      BytesSaved(backward) > 0) {
    backward.Apply();
    return true;
  }
  return false;
}

}  // namespace

// Greedy, largest transposes first: each is tried in both directions, given the
// layouts chosen so far.
absl::StatusOr<bool> TransposeLayouts::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  std::vector<HloInstruction*> transposes;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    ASSIGN_OR_RETURN(const bool merged, MergeCopies(computation));
    changed |= merged;
    for (HloInstruction* instruction :
         computation->MakeInstructionPostOrder()) {
      if (instruction->opcode() == HloOpcode::kTranspose &&
          MayBecomeBitcast(*instruction)) {
        transposes.push_back(instruction);
      }
    }
  }
  std::stable_sort(transposes.begin(), transposes.end(),
                   [](const HloInstruction* a, const HloInstruction* b) {
                     return Bytes(*a) > Bytes(*b);
                   });
  const LayoutSpread::Loops loops = LayoutSpread::FindLoops(*module);
  for (HloInstruction* transpose : transposes) {
    if (!MovesNothing(*transpose)) changed |= Carry(transpose, loops);
  }
  for (HloInstruction* transpose : transposes) {
    if (!MovesNothing(*transpose)) continue;
    HloComputation* computation = transpose->parent();
    RETURN_IF_ERROR(computation->ReplaceWithNewInstruction(
        transpose, HloInstruction::CreateBitcast(
                       transpose->shape(), transpose->mutable_operand(0))));
    changed = true;
  }
  if (changed && module->has_schedule()) {
    RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla::gpu
