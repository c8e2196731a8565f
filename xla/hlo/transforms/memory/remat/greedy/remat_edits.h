#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_EDITS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_EDITS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// Changes of a module that can be taken back until they are committed.
//
//   Add(c); ReplaceOperand(z, 0, c); Drop(x)      z reads c, x is still there
//   Undo()                                        z reads x, c has gone
//   Commit()                                      x has gone
//
// Instructions are added and read others at once, but are removed at the end,
// and the module's schedule stays as it is until then. O(1) an edit.
class RematEdits {
 public:
  // Adds an instruction, under a name if that is given.
  HloInstruction* Add(HloComputation* computation,
                      std::unique_ptr<HloInstruction> instruction,
                      absl::string_view name = "");
  // Adds `original` once more, as `name.remat`, with computations of its own
  // where it has such, which run in the order of those of the original, a
  // channel of its own, and all control dependencies.
  absl::StatusOr<HloInstruction*> AddClone(HloInstruction* original);
  absl::Status ReplaceOperand(HloInstruction* user, int64_t operand,
                              HloInstruction* now);
  // Nobody but what has been dropped before reads it.
  void Drop(HloInstruction* instruction) { dropped_.push_back(instruction); }

  // Removes what was dropped, and computations that nothing calls any more, and
  // gives those that were added their sequences.
  // Cannot fail: users are dropped before what they read, and nothing comes to
  // read or to wait for what has been dropped.
  void Commit(HloModule* module);
  // Takes all back, but for names and ids that have been given away.
  absl::Status Undo();

  // A channel id that no instruction of the module has.
  int64_t NextChannelId(const HloModule& module);

 private:
  struct Edit {
    HloInstruction* instruction;
    // The previous operand of the instruction, and its number; null for a new
    // instruction.
    HloInstruction* operand = nullptr;
    int64_t operand_number = 0;
  };

  // Lets computations that a clone calls run in the order of the original's.
  void ScheduleClones(const HloCloneContext& context,
                      const HloSchedule& schedule);

  std::vector<Edit> edits_;
  std::vector<HloInstruction*> dropped_;
  // In the order in which they were added.
  std::vector<HloComputation*> new_computations_;
  absl::flat_hash_map<const HloComputation*, HloInstructionSequence>
      new_sequences_;
  std::optional<int64_t> next_channel_id_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_EDITS_H_
