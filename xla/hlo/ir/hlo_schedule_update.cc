// HloSchedule::Update: bringing a schedule up to date after changes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

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
// Each edge is looked at three times, so all is linear in instructions plus
// edges. Instructions lie apart in memory: they are read in storage order, and
// the rest is done with local ids.
class SequenceUpdater {
 public:
  explicit SequenceUpdater(const HloComputation& computation)
      : computation_(computation),
        instructions_(computation.next_unique_instruction_internal_id()),
        missing_(instructions_.size(), 0),
        state_(instructions_.size(), kInsert) {}

  absl::StatusOr<HloInstructionSequence> Update(
      const HloInstructionSequence& old_sequence) {
    ReadGraph();
    CollectKept(old_sequence);
    result_.reserve(computation_.instruction_count());
    const auto bound = static_cast<int32_t>(instructions_.size());
    for (int32_t id = 0; id < bound; ++id) {
      if (instructions_[id] != nullptr && state_[id] == kInsert &&
          missing_[id] == 0) {
        Place(id);
      }
    }
    for (int32_t id : kept_) {
      if (state_[id] == kPlaced) continue;
      if (missing_[id] == 0) {
        Place(id);
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
  static constexpr size_t kFetchedAhead = 16;

  // Edges by predecessor, once for each place at which the successor names it.
  void ReadGraph() {
    std::vector<const HloInstruction*> predecessors;
    std::vector<int32_t> successors;
    auto ahead = computation_.instructions().begin();
    const auto end = computation_.instructions().end();
    for (size_t i = 0; i < kFetchedAhead && ahead != end; ++i) ++ahead;
    for (HloInstruction* instruction : computation_.instructions()) {
      if (ahead != end) {
        __builtin_prefetch(*ahead);
        ++ahead;
      }
      const int32_t id = instruction->local_id();
      instructions_[id] = instruction;
      predecessors.insert(predecessors.end(), instruction->operands().begin(),
                          instruction->operands().end());
      predecessors.insert(predecessors.end(),
                          instruction->control_predecessors().begin(),
                          instruction->control_predecessors().end());
      missing_[id] =
          static_cast<int32_t>(predecessors.size() - successors.size());
      successors.resize(predecessors.size(), id);
    }
    // An edge from elsewhere is never satisfied.
    std::vector<int32_t> ids(predecessors.size(), -1);
    first_edge_.resize(instructions_.size() + 1);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (i + kFetchedAhead < ids.size()) {
        __builtin_prefetch(predecessors[i + kFetchedAhead]);
      }
      if (predecessors[i]->parent() != &computation_) continue;
      ids[i] = predecessors[i]->local_id();
      ++first_edge_[ids[i]];
    }
    // Ends of the ranges first, which become begins as they are filled.
    for (size_t id = 1; id < first_edge_.size(); ++id) {
      first_edge_[id] += first_edge_[id - 1];
    }
    successors_.resize(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] >= 0) successors_[--first_edge_[ids[i]]] = successors[i];
    }
  }

  // Instructions of the old sequence that are still there, each once. The
  // sequence may point to deleted ones, so it is matched by address only: with
  // what has the id, and, where ids have changed, with all.
  void CollectKept(const HloInstructionSequence& old_sequence) {
    absl::flat_hash_map<const HloInstruction*, int32_t> live;
    auto find = [&](size_t i) {
      const HloInstruction* instruction = old_sequence.instructions()[i];
      const int32_t id =
          HloInstruction::CalculateLocalId(old_sequence.ids()[i]);
      if (id >= 0 && id < static_cast<int64_t>(instructions_.size()) &&
          instructions_[id] == instruction) {
        return id;
      }
      if (live.empty()) {
        live.reserve(instructions_.size());
        for (size_t j = 0; j < instructions_.size(); ++j) {
          if (instructions_[j] == nullptr) continue;
          live[instructions_[j]] = static_cast<int32_t>(j);
        }
      }
      auto it = live.find(instruction);
      return it == live.end() ? -1 : it->second;
    };
    kept_.reserve(old_sequence.size());
    for (size_t i = 0; i < old_sequence.instructions().size(); ++i) {
      const int32_t id = find(i);
      if (id < 0 || state_[id] == kKept) continue;
      state_[id] = kKept;
      kept_.push_back(id);
    }
  }

  // Places an instruction all of whose predecessors are placed, and what waits
  // for nothing else.
  void Place(int32_t first) {
    stack_.push_back(first);
    while (!stack_.empty()) {
      const int32_t id = stack_.back();
      stack_.pop_back();
      state_[id] = kPlaced;
      result_.push_back(instructions_[id]);
      const auto old_size = static_cast<int64_t>(stack_.size());
      for (int32_t e = first_edge_[id]; e < first_edge_[id + 1]; ++e) {
        const int32_t successor = successors_[e];
        if (--missing_[successor] == 0 && state_[successor] == kInsert) {
          stack_.push_back(successor);
        }
      }
      // The stack turns the order around.
      std::sort(stack_.begin() + old_size, stack_.end(),
                std::greater<int32_t>());
    }
  }

  const HloComputation& computation_;
  // By local id; null where there is none.
  std::vector<HloInstruction*> instructions_;
  // By local id: edges from predecessors that are not placed.
  std::vector<int32_t> missing_;
  std::vector<State> state_;
  // By local id: where its edges begin in successors_.
  std::vector<int32_t> first_edge_;
  std::vector<int32_t> successors_;
  std::vector<int32_t> kept_;
  std::vector<int32_t> stack_;
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
