// HloSchedule::Update: bringing a schedule up to date after changes.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Merges the instructions to insert into the kept part of a sequence:
//
//   1. Those without predecessors come first, in storage order.
//   2. The kept ones follow in their order. Right after an instruction come the
//      inserted ones for which it was the last predecessor missing, in storage
//      order, and so on transitively, depth first.
//   3. A kept instruction one of whose predecessors has not been placed by then
//      (its order contradicts the graph) is handled like an inserted one.
//
// Each edge is looked at twice, so all is linear in instructions plus edges.
class SequenceUpdater {
 public:
  explicit SequenceUpdater(const HloComputation& computation)
      : computation_(computation),
        missing_(computation.next_unique_instruction_internal_id(), 0),
        state_(computation.next_unique_instruction_internal_id(), kInsert) {}

  absl::StatusOr<HloInstructionSequence> Update(
      const HloInstructionSequence& old_sequence) {
    CollectKept(old_sequence);
    for (const HloInstruction* instruction : computation_.instructions()) {
      missing_[instruction->local_id()] =
          DistinctOperandCount(*instruction) +
          static_cast<int32_t>(instruction->control_predecessors().size());
    }
    result_.reserve(computation_.instruction_count());
    for (HloInstruction* instruction : computation_.instructions()) {
      const int32_t id = instruction->local_id();
      if (state_[id] == kInsert && missing_[id] == 0) Place(instruction);
    }
    for (HloInstruction* instruction : kept_) {
      const int32_t id = instruction->local_id();
      if (state_[id] == kPlaced) continue;
      if (missing_[id] == 0) {
        Place(instruction);
      } else {
        state_[id] = kInsert;
      }
    }
    if (result_.size() != computation_.instruction_count()) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot schedule ", computation_.name(),
                       ": its dependencies form a cycle"));
    }
    return std::move(result_);
  }

 private:
  enum State : uint8_t { kInsert, kKept, kPlaced };

  // Instructions of the old sequence that are still there, each once. The
  // sequence may point to deleted ones, so it is matched by address only.
  void CollectKept(const HloInstructionSequence& old_sequence) {
    absl::flat_hash_set<const HloInstruction*> live;
    live.reserve(computation_.instruction_count());
    for (const HloInstruction* instruction : computation_.instructions()) {
      live.insert(instruction);
    }
    for (HloInstruction* instruction : old_sequence.instructions()) {
      if (!live.contains(instruction)) continue;
      State& state = state_[instruction->local_id()];
      if (state == kKept) continue;
      state = kKept;
      kept_.push_back(instruction);
    }
  }

  // Users are listed once per instruction, so operands count once, too.
  int32_t DistinctOperandCount(const HloInstruction& instruction) {
    const auto& operands = instruction.operands();
    if (operands.size() < 2) return operands.size();
    return instruction.unique_operands().size();
  }

  // Places an instruction all of whose predecessors are placed, and what waits
  // for nothing else.
  void Place(HloInstruction* first) {
    stack_.push_back(first);
    while (!stack_.empty()) {
      HloInstruction* instruction = stack_.back();
      stack_.pop_back();
      state_[instruction->local_id()] = kPlaced;
      result_.push_back(instruction);
      ready_.clear();
      for (HloInstruction* user : instruction->users()) Satisfy(user);
      for (HloInstruction* successor : instruction->control_successors()) {
        Satisfy(successor);
      }
      // The stack turns the order around.
      absl::c_sort(ready_,
                   [](const HloInstruction* a, const HloInstruction* b) {
                     return a->local_id() > b->local_id();
                   });
      stack_.insert(stack_.end(), ready_.begin(), ready_.end());
    }
  }

  void Satisfy(HloInstruction* instruction) {
    const int32_t id = instruction->local_id();
    if (--missing_[id] == 0 && state_[id] == kInsert) {
      ready_.push_back(instruction);
    }
  }

  const HloComputation& computation_;
  // By local id: predecessors that are not placed.
  std::vector<int32_t> missing_;
  std::vector<State> state_;
  std::vector<HloInstruction*> kept_;
  std::vector<HloInstruction*> stack_;
  std::vector<HloInstruction*> ready_;
  HloInstructionSequence result_;
};

}  // namespace

absl::Status HloSchedule::UpdateComputationSchedule(
    const HloComputation* computation) {
  HloInstructionSequence& sequence = GetOrCreateSequence(computation);
  TF_ASSIGN_OR_RETURN(sequence, SequenceUpdater(*computation).Update(sequence));
  return absl::OkStatus();
}

absl::Status HloSchedule::Update(
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const std::vector<HloComputation*> computations =
      module_->MakeNonfusionComputations(execution_threads);
  absl::flat_hash_set<int64_t> ids;
  ids.reserve(computations.size());
  for (const HloComputation* computation : computations) {
    ids.insert(computation->unique_id());
    // A computation may have changed its thread.
    auto it = execution_threads_.find(computation->unique_id());
    if (it != execution_threads_.end()) {
      it->second = std::string(computation->execution_thread());
    }
  }
  absl::erase_if(sequences_, [&](const auto& entry) {
    if (ids.contains(entry.first)) return false;
    auto it = execution_threads_.find(entry.first);
    return it == execution_threads_.end() ||
           HloInstruction::IsThreadIncluded(it->second, execution_threads);
  });
  absl::erase_if(execution_threads_, [&](const auto& entry) {
    return !sequences_.contains(entry.first);
  });
  for (const HloComputation* computation : computations) {
    TF_RETURN_IF_ERROR(UpdateComputationSchedule(computation));
  }
  return absl::OkStatus();
}

}  // namespace xla
