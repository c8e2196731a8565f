// Orders of the computations of a module.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/fingerprint.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Depth-first post order over calls from `roots`, with an explicit stack.
std::vector<HloComputation*> PostOrder(
    absl::Span<HloComputation* const> roots, int64_t computation_count,
    absl::FunctionRef<std::vector<HloComputation*>(HloComputation*)> callees) {
  struct Frame {
    HloComputation* computation;
    std::vector<HloComputation*> callees;
    size_t next;
  };
  std::vector<HloComputation*> order;
  order.reserve(computation_count);
  absl::flat_hash_set<const HloComputation*> visited;
  visited.reserve(computation_count);
  std::vector<Frame> stack;
  for (HloComputation* root : roots) {
    if (!visited.insert(root).second) continue;
    stack.push_back({root, callees(root), 0});
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.callees.size()) {
        order.push_back(frame.computation);
        stack.pop_back();
        continue;
      }
      HloComputation* callee = frame.callees[frame.next++];
      if (visited.insert(callee).second) {
        stack.push_back({callee, callees(callee), 0});
      }
    }
  }
  return order;
}

// Called computations in the order of the instructions that call them.
std::vector<HloComputation*> CalleesInPostOrder(HloComputation* computation) {
  std::vector<HloComputation*> callees;
  absl::flat_hash_set<const HloComputation*> listed;
  for (const HloInstruction* instruction :
       computation->MakeInstructionPostOrder()) {
    for (HloComputation* callee : instruction->called_computations()) {
      if (listed.insert(callee).second) callees.push_back(callee);
    }
  }
  return callees;
}

}  // namespace

std::vector<HloComputation*> HloModule::MakeComputationPostOrder(
    bool dfs_postorder) const {
  // The entry comes last; before it what nobody calls, and what only calls
  // itself.
  std::vector<HloComputation*> roots;
  for (HloComputation* computation : computations()) {
    if (computation->callers_.empty() && computation != entry_computation_) {
      roots.push_back(computation);
    }
  }
  if (entry_computation_ != nullptr) roots.push_back(entry_computation_);
  auto callees = [&](HloComputation* computation) {
    std::vector<HloComputation*> result;
    if (computation->callees_.empty()) return result;
    if (dfs_postorder) return CalleesInPostOrder(computation);
    result.reserve(computation->callees_.size());
    for (const auto& [callee, count] : computation->callees_) {
      result.push_back(callee);
    }
    std::sort(result.begin(), result.end(),
              [](const HloComputation* a, const HloComputation* b) {
                return a->position_in_module_ < b->position_in_module_;
              });
    return result;
  };
  std::vector<HloComputation*> order =
      PostOrder(roots, computation_count_, callees);
  if (static_cast<int64_t>(order.size()) == computation_count_) return order;
  // Recursive calls, which only the verifier reports.
  roots.clear();
  for (HloComputation* computation : computations()) {
    roots.push_back(computation);
  }
  return PostOrder(roots, computation_count_, callees);
}

std::vector<HloComputation*> HloModule::MakeComputationPostOrder(
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    bool dfs_postorder) const {
  std::vector<HloComputation*> order = MakeComputationPostOrder(dfs_postorder);
  if (execution_threads.empty()) return order;
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](const HloComputation* computation) {
                               return !execution_threads.contains(
                                   computation->execution_thread());
                             }),
              order.end());
  return order;
}

std::vector<HloComputation*> HloModule::MakeComputationPostOrder(
    const absl::flat_hash_set<absl::string_view>& execution_threads,
    const absl::flat_hash_set<HloComputation*>& allow_list,
    bool dfs_postorder) const {
  std::vector<HloComputation*> order =
      MakeComputationPostOrder(execution_threads, dfs_postorder);
  order.erase(std::remove_if(order.begin(), order.end(),
                             [&](HloComputation* computation) {
                               return !allow_list.contains(computation);
                             }),
              order.end());
  return order;
}

namespace {

void RemoveFusionComputations(std::vector<HloComputation*>* computations) {
  computations->erase(
      std::remove_if(computations->begin(), computations->end(),
                     [](const HloComputation* computation) {
                       return computation->IsFusionComputation();
                     }),
      computations->end());
}

// By size, then by a fingerprint of the text without names; computations that
// are equal in both stay in their order.
void SortByContent(std::vector<HloComputation*>* computations) {
  absl::flat_hash_map<const HloComputation*, uint64_t> fingerprints;
  auto fingerprint = [&](const HloComputation* computation) {
    auto [it, inserted] = fingerprints.try_emplace(computation, 0);
    if (inserted) {
      it->second = Fingerprint64(
          computation->ToString(HloPrintOptions::ModuleFingerprint()));
    }
    return it->second;
  };
  std::stable_sort(computations->begin(), computations->end(),
                   [&](const HloComputation* a, const HloComputation* b) {
                     if (a == b) return false;
                     if (a->instruction_count() != b->instruction_count()) {
                       return a->instruction_count() < b->instruction_count();
                     }
                     // Texts are made only where sizes do not tell.
                     return fingerprint(a) < fingerprint(b);
                   });
}

}  // namespace

std::vector<HloComputation*> HloModule::MakeComputationSorted() const {
  return MakeComputationSorted(/*execution_threads=*/{});
}

std::vector<HloComputation*> HloModule::MakeComputationSorted(
    const absl::flat_hash_set<absl::string_view>& execution_threads) const {
  std::vector<HloComputation*> order =
      MakeComputationPostOrder(execution_threads);
  if (config().content_aware_computation_sorting()) SortByContent(&order);
  return order;
}

std::vector<HloComputation*> HloModule::MakeNonfusionComputations() const {
  return MakeNonfusionComputations(/*execution_threads=*/{});
}

std::vector<HloComputation*> HloModule::MakeNonfusionComputations(
    const absl::flat_hash_set<absl::string_view>& execution_threads) const {
  std::vector<HloComputation*> order =
      MakeComputationPostOrder(execution_threads);
  RemoveFusionComputations(&order);
  return order;
}

std::vector<HloComputation*> HloModule::MakeNonfusionComputationsSorted()
    const {
  return MakeNonfusionComputationsSorted(/*execution_threads=*/{});
}

std::vector<HloComputation*> HloModule::MakeNonfusionComputationsSorted(
    const absl::flat_hash_set<absl::string_view>& execution_threads) const {
  std::vector<HloComputation*> order =
      MakeNonfusionComputations(execution_threads);
  if (config().content_aware_computation_sorting()) SortByContent(&order);
  return order;
}

absl::Status HloModule::ReorderComputationsToPostOrder() {
  const std::vector<HloComputation*> order = MakeComputationPostOrder();
  absl::flat_hash_set<const HloComputation*> placed;
  for (const HloComputation* computation : order) {
    for (const auto& [callee, count] : computation->callees_) {
      TF_RET_CHECK(placed.contains(callee))
          << "calls of " << callee->name() << " by " << computation->name()
          << " are recursive";
    }
    placed.insert(computation);
  }
  CleanupComputations();
  std::vector<std::unique_ptr<HloComputation>> sorted;
  sorted.reserve(order.size());
  for (HloComputation* computation : order) {
    sorted.push_back(
        std::move(computations_[computation->position_in_module_]));
  }
  computations_ = std::move(sorted);
  for (size_t i = 0; i < computations_.size(); ++i) {
    computations_[i]->position_in_module_ = static_cast<int32_t>(i);
  }
  return absl::OkStatus();
}

}  // namespace xla
