#include "xla/hlo/analysis/instruction_slots.h"

#include <algorithm>

#include "xla/hlo/analysis/instruction_walk.h"

namespace xla {

InstructionSlots::InstructionSlots(const HloModule& module) {
  Build(module.computations());
}

InstructionSlots::InstructionSlots(
    const std::vector<HloComputation*>& computations) {
  Build(computations);
}

InstructionSlots InstructionSlots::Empty(
    const std::vector<HloComputation*>& computations) {
  InstructionSlots slots;
  slots.Reserve(computations);
  return slots;
}

template <typename Computations>
void InstructionSlots::Reserve(const Computations& computations) {
  int64_t slots = 0;
  int64_t count = 0;
  int64_t max_id = -1;
  for (const HloComputation* computation : computations) {
    slots += computation->next_unique_instruction_internal_id();
    max_id = std::max(max_id, computation->unique_id());
    ++count;
  }
  instructions_.resize(slots, nullptr);
  const bool dense = max_id < 16 * count + 1024;
  if (dense) first_by_id_.resize(max_id + 1, -1);
  int32_t first = 0;
  for (HloComputation* computation : computations) {
    if (dense && computation->unique_id() >= 0) {
      first_by_id_[computation->unique_id()] = first;
    } else {
      first_by_pointer_[computation] = first;
    }
    first += computation->next_unique_instruction_internal_id();
  }
}

template <typename Computations>
void InstructionSlots::Build(const Computations& computations) {
  Reserve(computations);
  for (HloComputation* computation : computations) {
    const int32_t first = FirstSlot(computation);
    ForEachInstruction(computation, [&](HloInstruction* inst) {
      instructions_[first + inst->local_id()] = inst;
    });
  }
}

}  // namespace xla
