#ifndef XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_COMPUTATION_H_
#define XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_COMPUTATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/remat_buffers.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_edits.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_instruction_list.h"
#include "xla/hlo/transforms/memory/remat/greedy/remat_memory_tracker.h"
#include "xla/shape.h"

namespace xla {

// How values go to the host and back, and at which rates (bytes per second).
struct RematHostMemory {
  int64_t memory_space = 0;
  double to_host_bytes_per_second = 0;
  double from_host_bytes_per_second = 0;
};

// State shared by all computations of one run.
struct RematPolicy {
  bool recompute = false;
  bool compress = false;
  bool host_offload = false;
  // Blocks do not start at instructions that define fewer bytes, except clones.
  int64_t min_remat_size = 0;
  RematSizeOptions sizes;
  // The layout or form in which a value takes less memory. Null: none.
  std::function<absl::StatusOr<Shape>(const Shape&)> compact_shape;
  std::optional<RematHostMemory> host_memory;
  // Seconds of instructions; needed for host_offload.
  HloCostAnalysis* cost_analysis = nullptr;

  // Only arrays that are not read through another instruction.
  bool direct_uses_only = false;
  // Clones made by this pass are not recomputed again.
  bool never_clone_clones = false;
  // Reads of operands smaller than the value do not pull a clone to earlier
  // places.
  bool ignore_small_operands = false;
  // A value that several instructions of a block would read again counts
  // against the block once for each of them, so that it is taken later.
  bool count_each_read = false;

  // All changes of the module go through it.
  RematEdits edits;
  absl::AnyInvocable<absl::Status(HloInstruction*, HloInstruction*)>
      on_rematerialized = nullptr;
};

// One computation while it is rewritten: its buffers, its order, the current
// point of the walk, and what must not be touched (again).
class RematComputation {
 public:
  // InvalidArgument for a sequence that contradicts operands.
  static absl::StatusOr<std::unique_ptr<RematComputation>> Create(
      HloComputation* computation, const HloInstructionSequence& sequence,
      RematPolicy* policy);
  // With what was built before, as policy's sizes say.
  RematComputation(HloComputation* computation, RematBuffers buffers,
                   RematPolicy* policy);
  RematComputation(const RematComputation&) = delete;
  RematComputation& operator=(const RematComputation&) = delete;

  HloComputation* computation() { return computation_; }
  RematPolicy& policy() { return *policy_; }
  RematBuffers& buffers() { return buffers_; }
  const RematBuffers& buffers() const { return buffers_; }
  RematInstructionList& list() { return list_; }
  const RematInstructionList& list() const { return list_; }
  RematMemoryTracker& tracker() { return tracker_; }
  const RematMemoryTracker& tracker() const { return tracker_; }
  HloInstruction* instruction(RematItemId item) const {
    return buffers_.item(item).instruction;
  }

  // Whether it can be recomputed with the same meaning: not parameters,
  // constants, calls, custom calls, control flow, side effects, copies that
  // change no layout (copy insertion put them there), collectives with
  // constrained layouts.
  bool rematerializable(RematItemId item) {
    if (flags_[item].rematerializable < 0) FindRematerializable(item);
    return flags_[item].rematerializable > 0;
  }
  // Starts and dones of asynchronous chains: since there is one start and one
  // done, they can only be moved later, not duplicated.
  bool only_moves(RematItemId item) {
    return rematerializable(item) && flags_[item].only_moves;
  }
  bool denylisted(RematItemId item) const { return flags_[item].denylisted; }
  void Denylist(RematItemId item) { flags_[item].denylisted = true; }
  bool is_new(RematItemId item) const { return flags_[item].is_new; }
  // Made from an original that had no other readers left.
  bool is_move(RematItemId item) const { return flags_[item].is_move; }
  void set_is_move(RematItemId item) { flags_[item].is_move = true; }

  // Registers an instruction that was added to the computation. Clones may
  // become candidates themselves; other new instructions are denylisted.
  absl::StatusOr<RematItemId> AddNewItem(HloInstruction* instruction);

  // Removed from the list because nothing reads it. It is part of the
  // computation until the edits are committed.
  bool dropped(const HloInstruction* instruction) const {
    const RematItemId item = buffers_.Find(instruction);
    return item >= 0 && flags_[item].dropped;
  }
  // Whether it is the root, or has a reader that is not dropped.
  bool IsRead(const HloInstruction* instruction) const;
  // Marks it for inspection by DropUnread.
  void MayBeUnread(const HloInstruction* instruction) {
    const RematItemId item = buffers_.Find(instruction);
    if (item >= 0) may_be_unread_.push_back(item);
  }
  // Removes instructions that lost a reader and are now unread, and their
  // operands in turn, from the list; not parameters, nor instructions with
  // control dependencies or side effects. None may be in progress.
  void DropUnread();

  // Bytes of all buffers that it defines.
  int64_t DefinedBytes(RematItemId item) const;

  // Peak of the computation with its callees, in bytes, as last measured.
  int64_t peak_bytes = 0;

  // Seconds from the start of the computation to that of the item; new items
  // take no time. Empty unless values may go to the host.
  std::vector<double>& start_seconds() { return start_seconds_; }
  double total_seconds() const { return total_seconds_; }
  // Call for a new item once it has its place in the list.
  void TakeNoTime(RematItemId item);

  // The instructions in their order now.
  HloInstructionSequence ToSequence() const;

 private:
  struct Flags {
    int8_t rematerializable = -1;  // not known
    bool only_moves = false;
    bool denylisted = false;
    bool is_new = false;
    bool is_move = false;
    bool dropped = false;
  };

  void FindRematerializable(RematItemId item);
  void MeasureSeconds();

  HloComputation* computation_;
  RematPolicy* policy_;
  RematBuffers buffers_;
  RematInstructionList list_;
  RematMemoryTracker tracker_;
  std::vector<Flags> flags_;
  std::vector<RematItemId> may_be_unread_;
  std::vector<double> start_seconds_;
  double total_seconds_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_REMAT_GREEDY_REMAT_COMPUTATION_H_
