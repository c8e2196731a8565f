#ifndef XLA_HLO_ANALYSIS_INSTRUCTION_SLOTS_H_
#define XLA_HLO_ANALYSIS_INSTRUCTION_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// Prefetches the fields of an instruction that analyses read: opcode, parent,
// operands, kind of shape. Instructions are scattered in memory; a walk over
// many that prefetches a few steps ahead avoids waiting for it.
inline void PrefetchInstruction(const HloInstruction* instruction) {
  const char* bytes = reinterpret_cast<const char*>(instruction);
  __builtin_prefetch(bytes);
  __builtin_prefetch(bytes + 64);
  __builtin_prefetch(bytes + 128);
}
inline constexpr size_t kInstructionsAhead = 12;

// Numbers the instructions of a module, or of some of its computations, so that
// analyses can keep facts in arrays: slot = first slot of the computation +
// local id. A snapshot: instructions added later have no slot, and changing
// local ids (HloComputation::Cleanup) invalidates it.
//
// Building takes O(instructions), a look-up is two array reads.
class InstructionSlots {
 public:
  InstructionSlots() = default;
  explicit InstructionSlots(const HloModule& module);
  explicit InstructionSlots(const std::vector<HloComputation*>& computations);
  // Slots for the computations, whose instructions are then added one by one.
  static InstructionSlots Empty(
      const std::vector<HloComputation*>& computations);

  // Returns the slot of an instruction of one of the computations.
  int32_t Add(HloInstruction* instruction) {
    const int32_t slot =
        FirstSlot(instruction->parent()) + instruction->local_id();
    instructions_[slot] = instruction;
    return slot;
  }

  // Upper bound of slots; includes holes.
  int32_t size() const { return static_cast<int32_t>(instructions_.size()); }

  // -1 for an unknown instruction.
  int32_t Find(const HloInstruction* instruction) const {
    const HloComputation* computation = instruction->parent();
    if (computation == nullptr) return -1;
    const int32_t first = FirstSlot(computation);
    if (first < 0) return -1;
    const int32_t slot = first + instruction->local_id();
    return slot < size() && instructions_[slot] == instruction ? slot : -1;
  }
  int32_t operator[](const HloInstruction* instruction) const {
    const int32_t slot = Find(instruction);
    CHECK_GE(slot, 0) << "not in this analysis: " << instruction->name();
    return slot;
  }

  // Null if the slot is a hole.
  HloInstruction* instruction(int32_t slot) const {
    return instructions_[slot];
  }

  // Slot of the instruction with local id 0, -1 if the computation has none.
  int32_t FirstSlot(const HloComputation* computation) const {
    const int64_t id = computation->unique_id();
    if (id >= 0 && id < static_cast<int64_t>(first_by_id_.size())) {
      return first_by_id_[id];
    }
    if (first_by_pointer_.empty()) return -1;
    auto it = first_by_pointer_.find(computation);
    return it == first_by_pointer_.end() ? -1 : it->second;
  }

 private:
  template <typename Computations>
  void Reserve(const Computations& computations);
  template <typename Computations>
  void Build(const Computations& computations);

  std::vector<HloInstruction*> instructions_;
  // By unique id where ids are dense, as they are in modules from text.
  std::vector<int32_t> first_by_id_;
  absl::flat_hash_map<const HloComputation*, int32_t> first_by_pointer_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_INSTRUCTION_SLOTS_H_
