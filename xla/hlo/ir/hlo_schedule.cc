#include "xla/hlo/ir/hlo_schedule.h"

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/status_macros.h"

namespace xla {

// --- HloInstructionSequence
// ----------------------------------------------------

HloInstructionSequence::HloInstructionSequence(
    absl::Span<HloInstruction* const> instructions) {
  reserve(instructions.size());
  for (HloInstruction* instruction : instructions) push_back(instruction);
}

void HloInstructionSequence::push_back(HloInstruction* instruction) {
  instruction_sequence_.push_back(instruction);
  id_sequence_.push_back(instruction->unique_id());
}

void HloInstructionSequence::reserve(int64_t size) {
  instruction_sequence_.reserve(size);
  id_sequence_.reserve(size);
}

void HloInstructionSequence::remove_instruction(HloInstruction* instruction) {
  auto it = absl::c_find(instruction_sequence_, instruction);
  if (it == instruction_sequence_.end()) return;
  id_sequence_.erase(id_sequence_.begin() +
                     (it - instruction_sequence_.begin()));
  instruction_sequence_.erase(it);
}

void HloInstructionSequence::RemoveIf(
    absl::FunctionRef<bool(const HloInstruction*)> predicate) {
  size_t kept = 0;
  for (size_t i = 0; i < instruction_sequence_.size(); ++i) {
    if (predicate(instruction_sequence_[i])) continue;
    instruction_sequence_[kept] = instruction_sequence_[i];
    id_sequence_[kept] = id_sequence_[i];
    ++kept;
  }
  instruction_sequence_.resize(kept);
  id_sequence_.resize(kept);
}

void HloInstructionSequence::replace_instruction(
    HloInstruction* old_instruction, HloInstruction* new_instruction) {
  auto it = absl::c_find(instruction_sequence_, old_instruction);
  CHECK(it != instruction_sequence_.end())
      << old_instruction->name() << " is not in the sequence";
  id_sequence_[it - instruction_sequence_.begin()] =
      new_instruction->unique_id();
  *it = new_instruction;
}

void HloInstructionSequence::insert_instruction(HloInstruction* instruction,
                                                int64_t index) {
  CHECK(index >= 0 && index <= size()) << index << " of " << size();
  instruction_sequence_.insert(instruction_sequence_.begin() + index,
                               instruction);
  id_sequence_.insert(id_sequence_.begin() + index, instruction->unique_id());
}

bool HloInstructionSequence::contains(const HloInstruction* inst) const {
  return absl::c_linear_search(instruction_sequence_, inst);
}

void HloInstructionSequence::clear() {
  instruction_sequence_.clear();
  id_sequence_.clear();
}

void HloInstructionSequence::update_id_sequence() {
  for (size_t i = 0; i < instruction_sequence_.size(); ++i) {
    id_sequence_[i] = instruction_sequence_[i]->unique_id();
  }
}

// --- Access ------------------------------------------------------------------
HloSchedule::HloSchedule(const HloModule* module) : module_(module) {}
HloSchedule::HloSchedule(const HloSchedule& other) = default;
HloSchedule::HloSchedule(HloSchedule&& other) noexcept = default;
HloSchedule& HloSchedule::operator=(const HloSchedule& other) = default;
HloSchedule& HloSchedule::operator=(HloSchedule&& other) noexcept = default;
HloSchedule::~HloSchedule() = default;

const HloInstructionSequence& HloSchedule::sequence(
    const HloComputation* computation) const {
  auto it = sequences_.find(computation->unique_id());
  CHECK(it != sequences_.end()) << computation->name() << " is not scheduled";
  return it->second;
}

HloInstructionSequence& HloSchedule::GetOrCreateSequence(
    const HloComputation* computation) {
  auto [it, inserted] = sequences_.try_emplace(computation->unique_id());
  if (inserted) {
    execution_threads_[computation->unique_id()] =
        std::string(computation->execution_thread());
  }
  return it->second;
}

void HloSchedule::set_sequence(const HloComputation* computation,
                               absl::Span<HloInstruction* const> sequence) {
  set_sequence(computation, HloInstructionSequence(sequence));
}

void HloSchedule::set_sequence(const HloComputation* computation,
                               HloInstructionSequence sequence) {
  CHECK(computation->parent() == module_)
      << computation->name() << " is in another module";
  sequences_[computation->unique_id()] = std::move(sequence);
  execution_threads_[computation->unique_id()] =
      std::string(computation->execution_thread());
}

absl::flat_hash_map<std::string, int64_t>
HloSchedule::num_sequences_by_execution_thread() const {
  absl::flat_hash_map<std::string, int64_t> counts;
  for (const auto& [id, sequence] : sequences_) {
    auto it = execution_threads_.find(id);
    ++counts[it == execution_threads_.end()
                 ? std::string(HloInstruction::kMainExecutionThread)
                 : it->second];
  }
  return counts;
}

bool HloSchedule::is_computation_scheduled(
    const HloComputation* computation) const {
  return sequences_.contains(computation->unique_id());
}

void HloSchedule::remove_computation(const HloComputation* computation) {
  CHECK_EQ(sequences_.erase(computation->unique_id()), 1)
      << computation->name() << " is not scheduled";
  execution_threads_.erase(computation->unique_id());
}

void HloSchedule::remove_instruction(const HloComputation* computation,
                                     HloInstruction* instruction) {
  auto it = sequences_.find(computation->unique_id());
  if (it != sequences_.end()) it->second.remove_instruction(instruction);
}

void HloSchedule::replace_instruction(const HloComputation* computation,
                                      HloInstruction* old_instruction,
                                      HloInstruction* new_instruction) {
  auto it = sequences_.find(computation->unique_id());
  CHECK(it != sequences_.end()) << computation->name() << " is not scheduled";
  it->second.replace_instruction(old_instruction, new_instruction);
}

// --- Verification ------------------------------------------------------------

// Checks that the sequence is a permutation of the instructions and a
// topological order of data and control dependencies. O(instructions + edges).
absl::Status HloSchedule::Verify(const HloComputation* computation) const {
  // Schedules come from files: the words are for those who wrote them.
  auto wrong = [](const auto&... words) {
    return absl::InternalError(absl::StrCat(words...));
  };
  if (!is_computation_scheduled(computation)) {
    return wrong("computation ", computation->name(), " is not scheduled");
  }
  const std::vector<HloInstruction*>& order =
      sequence(computation).instructions();
  // Sequences may hold pointers to what is gone; those are in no slot.
  absl::flat_hash_set<const HloInstruction*> live;
  live.reserve(computation->instruction_count());
  for (const HloInstruction* instruction : computation->instructions()) {
    live.insert(instruction);
  }
  std::vector<int64_t> position(
      computation->next_unique_instruction_internal_id(), -1);
  for (size_t i = 0; i < order.size(); ++i) {
    if (!live.contains(order[i])) {
      return wrong("position ", i, " of the schedule of ", computation->name(),
                   " is an instruction that is not in the computation");
    }
    int64_t& its_position = position[order[i]->local_id()];
    if (its_position >= 0) {
      return wrong(order[i]->name(), " is in the schedule of ",
                   computation->name(), " twice");
    }
    its_position = i;
  }
  for (const HloInstruction* instruction : computation->instructions()) {
    const int64_t own = position[instruction->local_id()];
    if (own < 0) {
      return wrong(instruction->name(), " is missing in the schedule of ",
                   computation->name());
    }
    for (const HloInstruction* operand : instruction->operands()) {
      if (position[operand->local_id()] < own) continue;
      return wrong(instruction->name(), " is scheduled before its operand ",
                   operand->name());
    }
    for (const HloInstruction* predecessor :
         instruction->control_predecessors()) {
      if (position[predecessor->local_id()] < own) continue;
      return wrong(instruction->name(),
                   " is scheduled before its control predecessor ",
                   predecessor->name());
    }
  }
  return absl::OkStatus();
}

absl::Status HloSchedule::Verify() const {
  absl::flat_hash_map<std::string, int64_t> unmatched =
      num_sequences_by_execution_thread();
  for (const HloComputation* computation :
       module_->MakeNonfusionComputations()) {
    auto it = unmatched.find(computation->execution_thread());
    if (it == unmatched.end()) continue;
    TF_RETURN_IF_ERROR(Verify(computation));
    --it->second;
  }
  for (const auto& [thread, count] : unmatched) {
    if (count == 0) continue;
    return absl::InternalError(absl::StrCat(
        count, " sequences of thread ", thread,
        " are for computations that are gone, fused or on another thread"));
  }
  return absl::OkStatus();
}

// --- Text
// ----------------------------------------------------------------------

std::string HloSchedule::ToString() const {
  std::vector<int64_t> ids;
  ids.reserve(sequences_.size());
  for (const auto& [id, sequence] : sequences_) ids.push_back(id);
  absl::c_sort(ids);
  absl::flat_hash_map<int64_t, const HloComputation*> by_id;
  for (const HloComputation* computation : module_->computations()) {
    by_id[computation->unique_id()] = computation;
  }
  std::string text = "HloSchedule\n";
  for (int64_t id : ids) {
    auto it = by_id.find(id);
    if (it == by_id.end()) {
      absl::StrAppend(&text, "computation with id ", id, " (gone)\n");
      continue;
    }
    absl::StrAppend(&text, "computation ", it->second->name(), ":\n");
    absl::flat_hash_set<const HloInstruction*> live;
    for (const HloInstruction* instruction : it->second->instructions()) {
      live.insert(instruction);
    }
    for (const HloInstruction* instruction : sequences_.at(id).instructions()) {
      absl::StrAppend(
          &text, "  ",
          live.contains(instruction) ? instruction->name() : "(removed)", "\n");
    }
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const HloSchedule& schedule) {
  return out << schedule.ToString();
}

}  // namespace xla
