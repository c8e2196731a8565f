#ifndef XLA_HLO_IR_HLO_SCHEDULE_H_
#define XLA_HLO_IR_HLO_SCHEDULE_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/service/hlo.pb.h"

namespace xla {

class HloComputation;
class HloInstruction;
class HloModule;

// A total order of instructions. Removal, replacement and insertion are O(n).
class HloInstructionSequence {
 public:
  HloInstructionSequence() = default;
  explicit HloInstructionSequence(
      absl::Span<HloInstruction* const> instructions);

  // Compares the instructions, not the ids.
  bool operator==(const HloInstructionSequence& other) const {
    return instruction_sequence_ == other.instruction_sequence_;
  }
  bool operator!=(const HloInstructionSequence& other) const {
    return !(*this == other);
  }

  void push_back(HloInstruction* instruction);
  void reserve(int64_t size);

  // Removes the instruction; no effect if it is absent.
  void remove_instruction(HloInstruction* instruction);
  // Removes all for which `predicate` holds. O(n) in all.
  void RemoveIf(absl::FunctionRef<bool(const HloInstruction*)> predicate);
  // The old instruction must be in the sequence.
  void replace_instruction(HloInstruction* old_instruction,
                           HloInstruction* new_instruction);
  // Inserts before position `index` (0 <= index <= size()).
  void insert_instruction(HloInstruction* instruction, int64_t index);

  bool contains(const HloInstruction* inst) const;

  void clear();
  int64_t size() const {
    return static_cast<int64_t>(instruction_sequence_.size());
  }

  const std::vector<HloInstruction*>& instructions() const {
    return instruction_sequence_;
  }

  // Unique ids of instructions() at the time they were added;
  // update_id_sequence() refreshes them after ids have changed. They outlive
  // the instructions.
  const std::vector<int64_t>& ids() const { return id_sequence_; }
  void update_id_sequence();

 private:
  std::vector<HloInstruction*> instruction_sequence_;
  std::vector<int64_t> id_sequence_;
};

// The execution order of a module: a sequence for each non-fusion computation
// of the scheduled threads. Keys are unique ids of computations.
//
// After a module has changed, Update() brings a schedule up to date with as
// little disturbance as possible:
//
//   sequence a b c; b removed, d(a) and e() added  ==>  e a d c
class HloSchedule {
 public:
  explicit HloSchedule(const HloModule* module);
  HloSchedule(const HloSchedule& other);
  HloSchedule(HloSchedule&& other) noexcept;
  HloSchedule& operator=(const HloSchedule& other);
  HloSchedule& operator=(HloSchedule&& other) noexcept;
  ~HloSchedule();

  // Sequences name instructions by unique id. The remap, if given, translates
  // the proto's ids, per computation id. InvalidArgument for ids that do not
  // exist; the result is not verified.
  static absl::StatusOr<HloSchedule> CreateFromProto(
      const HloModule* module, const HloScheduleProto& proto,
      const absl::flat_hash_map<int64_t, absl::flat_hash_map<int64_t, int64_t>>*
          computation_id_to_instruction_id_remap = nullptr);
  // Verifies first.
  absl::StatusOr<HloScheduleProto> ToProto() const;

  // The computation must be scheduled.
  const HloInstructionSequence& sequence(
      const HloComputation* computation) const;
  HloInstructionSequence& GetOrCreateSequence(
      const HloComputation* computation);

  // Sets or replaces a sequence. The computation must belong to module().
  void set_sequence(const HloComputation* computation,
                    absl::Span<HloInstruction* const> sequence);
  void set_sequence(const HloComputation* computation,
                    HloInstructionSequence sequence);

  const absl::flat_hash_map<int64_t, HloInstructionSequence>& sequences()
      const {
    return sequences_;
  }

  // How many scheduled computations each execution thread has.
  absl::flat_hash_map<std::string, int64_t> num_sequences_by_execution_thread()
      const;

  bool is_computation_scheduled(const HloComputation* computation) const;

  // The computation must be scheduled.
  void remove_computation(const HloComputation* computation);
  // No effect if the computation is not scheduled.
  void remove_instruction(const HloComputation* computation,
                          HloInstruction* instruction);
  // The computation must be scheduled.
  void replace_instruction(const HloComputation* computation,
                           HloInstruction* old_instruction,
                           HloInstruction* new_instruction);

  // Makes the schedule valid again after the module has changed: drops
  // computations and instructions that are gone, and for each non-fusion
  // computation of `execution_threads` (empty: all) inserts its new
  // instructions as soon as all operands and control predecessors are placed
  // (those without any go to the front). Instructions whose order contradicts a
  // dependency are removed and reinserted the same way. All others keep their
  // order.
  //
  // Computations of those threads that were not scheduled get a sequence;
  // sequences of other threads are unchanged. Near-linear in instructions plus
  // edges.
  absl::Status Update(
      const absl::flat_hash_set<absl::string_view>& execution_threads = {});

  // Checks that every non-fusion computation of each thread with a scheduled
  // computation has a sequence, that each sequence holds every instruction of
  // its computation exactly once, and that operands and control predecessors
  // come before their users. The Internal error names the offender.
  absl::Status Verify() const;
  // The same for one computation.
  absl::Status Verify(const HloComputation* computation) const;

  std::string ToString() const;

  bool empty() const { return sequences_.empty(); }

  const HloModule* module() const { return module_; }

 private:
  friend class HloModule;

  // Moves the schedule to another module with the same ids.
  void set_module(const HloModule* module) { module_ = module; }

  absl::Status UpdateComputationSchedule(const HloComputation* computation);

  const HloModule* module_;
  absl::flat_hash_map<int64_t, HloInstructionSequence> sequences_;
  // Thread of each scheduled computation; outlives the computation.
  absl::flat_hash_map<int64_t, std::string> execution_threads_;
};

std::ostream& operator<<(std::ostream& out, const HloSchedule& schedule);

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_SCHEDULE_H_
