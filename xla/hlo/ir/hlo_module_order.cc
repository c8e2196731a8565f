// Orders of the computations of a module.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/fingerprint.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/text/hlo_instruction_print_internal.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Depth-first post order over calls, with an explicit stack. Computations are
// known by their positions in the module.
class CallWalk {
 public:
  CallWalk(const std::vector<std::vector<int32_t>>& callees, int64_t size)
      : callees_(callees), next_(callees.size(), kUnseen) {
    order_.reserve(size);
  }

  // Appends what `root` calls and was not reached before, then itself.
  void From(int32_t root) {
    Push(root);
    while (!stack_.empty()) {
      const int32_t position = stack_.back();
      if (next_[position] < static_cast<int32_t>(callees_[position].size())) {
        Push(callees_[position][next_[position]++]);
      } else {
        order_.push_back(position);
        stack_.pop_back();
      }
    }
  }

  void Restart() {
    next_.assign(next_.size(), kUnseen);
    order_.clear();
  }

  int64_t size() const { return order_.size(); }
  const std::vector<int32_t>& order() const { return order_; }

 private:
  static constexpr int32_t kUnseen = -1;

  void Push(int32_t position) {
    if (next_[position] != kUnseen) return;
    next_[position] = 0;
    stack_.push_back(position);
  }

  const std::vector<std::vector<int32_t>>& callees_;
  // The callee to follow next, by position.
  std::vector<int32_t> next_;
  std::vector<int32_t> stack_;
  std::vector<int32_t> order_;
};

// Called computations in the order of the instructions that call them.
std::vector<HloComputation*> CalleesInPrintingOrder(
    const HloModule& module, const HloComputation& computation) {
  std::vector<HloComputation*> callees;
  absl::flat_hash_set<const HloComputation*> listed;
  for (const HloInstruction* instruction :
       hlo_print_internal::InstructionsInPrintingOrder(module, computation)) {
    for (HloComputation* callee : instruction->called_computations()) {
      if (listed.insert(callee).second) callees.push_back(callee);
    }
  }
  return callees;
}

}  // namespace

std::vector<HloComputation*> HloModule::MakeComputationPostOrder(
    bool dfs_postorder) const {
  // The entry comes last; before it the computations that nothing calls, and
  // those that only call itself.
  std::vector<HloComputation*> roots;
  // Positions of callees, by position of the caller.
  std::vector<std::vector<int32_t>> callees(computations_.size());
  for (HloComputation* computation : computations()) {
    if (computation->callers_.empty() && computation != entry_computation_) {
      roots.push_back(computation);
    }
    if (computation->callees_.empty()) continue;
    std::vector<int32_t>& list = callees[computation->position_in_module_];
    list.reserve(computation->callees_.size());
    auto add = [&](const HloComputation* callee) {
      // Not what has been removed, or is in no module yet.
      if (callee->parent_ == this && callee->position_in_module_ >= 0) {
        list.push_back(callee->position_in_module_);
      }
    };
    if (dfs_postorder) {
      for (const HloComputation* callee :
           CalleesInPrintingOrder(*this, *computation)) {
        add(callee);
      }
      continue;
    }
    for (const auto& [callee, count] : computation->callees_) add(callee);
    std::sort(list.begin(), list.end());
  }
  if (entry_computation_ != nullptr) roots.push_back(entry_computation_);
  CallWalk walk(callees, computation_count_);
  for (const HloComputation* root : roots) {
    walk.From(root->position_in_module_);
  }
  // Recursive calls, which only the verifier reports, leave some out.
  if (walk.size() < computation_count_) {
    walk.Restart();
    for (const HloComputation* computation : computations()) {
      walk.From(computation->position_in_module_);
    }
  }
  std::vector<HloComputation*> order;
  order.reserve(walk.size());
  for (int32_t position : walk.order()) {
    order.push_back(computations_[position].get());
  }
  return order;
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
