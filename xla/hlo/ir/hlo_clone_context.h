#ifndef XLA_HLO_IR_HLO_CLONE_CONTEXT_H_
#define XLA_HLO_IR_HLO_CLONE_CONTEXT_H_

#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"

namespace xla {

class HloComputation;
class HloInstruction;
class HloModule;

// Maps originals to their clones while a module, a computation or an
// instruction is cloned. Cloned callees are added to module(). If an original
// is cloned several times, the last clone wins.
class HloCloneContext {
 public:
  // `suffix` is appended to the names of cloned computations.
  explicit HloCloneContext(HloModule* module, const std::string& suffix = "");
  ~HloCloneContext();

  HloModule* module() const { return module_; }
  const std::string& suffix() const { return suffix_; }

  void MapInstruction(const HloInstruction* old_instruction,
                      HloInstruction* new_instruction);
  void MapComputation(const HloComputation* old_computation,
                      HloComputation* new_computation);

  // Null if there is no clone.
  HloInstruction* FindInstruction(const HloInstruction* old_instruction) const;
  HloComputation* FindComputation(const HloComputation* old_computation) const;

  // There must be a clone.
  HloInstruction* GetInstruction(const HloInstruction* old_instruction) const;
  HloComputation* GetComputation(const HloComputation* old_computation) const;

  const absl::flat_hash_map<const HloInstruction*, HloInstruction*>&
  cloned_instructions() const {
    return instructions_;
  }
  const absl::flat_hash_map<const HloComputation*, HloComputation*>&
  cloned_computations() const {
    return computations_;
  }

  // Avoids rehashing when the number of instructions to clone is known.
  void ReserveInstructions(size_t count);

 private:
  HloModule* module_;
  std::string suffix_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> instructions_;
  absl::flat_hash_map<const HloComputation*, HloComputation*> computations_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_CLONE_CONTEXT_H_
