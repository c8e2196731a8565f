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

// Changes of a module that can be undone until they are committed.
//
//   Add(c); ReplaceOperand(z, 0, c); Drop(x)      z reads c, x is still there
//   Undo()                                        z reads x, c has gone
//   Commit()                                      x has gone
//
// Instructions are added and operands replaced at once; removals are deferred
// to the commit, and so is the update of the module's schedule. O(1) per edit.
class RematEdits {
 public:
  // Adds an instruction, under a name if that is given.
  HloInstruction* Add(HloComputation* computation,
                      std::unique_ptr<HloInstruction> instruction,
                      absl::string_view name = "");
  // Clones `original` as `name.remat`, with clones of its computations, which
  // run in the same order as the originals, a channel of its own, and all
  // control dependencies.
  absl::StatusOr<HloInstruction*> AddClone(HloInstruction* original);
  absl::Status ReplaceOperand(HloInstruction* user, int64_t operand,
                              HloInstruction* now);
  // Only instructions dropped before may read it.
  void Drop(HloInstruction* instruction) { dropped_.push_back(instruction); }

  // Removes what was dropped, and computations without callers, and adds
  // sequences for new ones. Cannot fail: users are dropped before what they
  // read, and nothing starts to read or to wait for a dropped instruction.
  void Commit(HloModule* module);
  // Undoes all edits, except for names and ids already given out.
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

  // Lets computations that a clone calls run in the same order as the
  // original's.
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
