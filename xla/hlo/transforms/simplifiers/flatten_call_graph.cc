#include "xla/hlo/transforms/simplifiers/flatten_call_graph.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/prefetch.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {
namespace {

using SkipCloningHandler = FlattenCallGraph::SkipCloningHandler;

int64_t ReferenceCount(const HloInstruction& inst,
                       const HloComputation* computation) {
  return absl::c_count(inst.called_computations(), computation);
}

// Instructions that share one reference: a chain of asynchronous links, or one
// instruction.
using Caller = absl::InlinedVector<HloInstruction*, 1>;

// The callers of a computation, by the unique ids of their first instructions.
absl::InlinedVector<Caller, 1> CallersOf(const HloComputation& computation) {
  absl::InlinedVector<HloInstruction*, 1> instructions =
      computation.caller_instructions();
  absl::InlinedVector<Caller, 1> callers;
  if (instructions.size() == 1) {
    callers.push_back({instructions[0]});
    return callers;
  }
  absl::flat_hash_map<const HloInstruction*, size_t> caller_of_chain;
  for (HloInstruction* inst : instructions) {
    const HloInstruction* chain = inst;
    if (inst->IsAsynchronous() && inst->async_chain_start() != nullptr) {
      chain = inst->async_chain_start();
    }
    auto [it, inserted] = caller_of_chain.try_emplace(chain, callers.size());
    if (inserted) callers.emplace_back();
    callers[it->second].push_back(inst);
  }
  return callers;
}

// Whether some computation is referred to more than once; links of one
// asynchronous chain count as several. Most modules that were flattened before
// are done with this.
bool MayHaveSharedComputations(const HloModule& module) {
  std::vector<std::pair<const HloComputation*, const HloInstruction*>> calls;
  calls.reserve(module.computation_count());
  for (const HloComputation* computation : module.computations()) {
    absl::InlinedVector<HloInstruction*, 1> callers =
        computation->caller_instructions();
    if (callers.size() > 1) return true;
    if (callers.size() == 1) calls.emplace_back(computation, callers[0]);
  }
  constexpr size_t kAhead = 8;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i + kAhead < calls.size()) {
      absl::PrefetchToLocalCache(calls[i + kAhead].second);
    }
    if (ReferenceCount(*calls[i].second, calls[i].first) > 1) return true;
  }
  return false;
}

// Clones computations of a module together with what they call.
class TreeCloner {
 public:
  TreeCloner(HloModule* module, SkipCloningHandler& skip_cloning)
      : module_(module), skip_cloning_(skip_cloning) {}

  HloComputation* Clone(HloComputation* computation) {
    HloComputation* clone = CloneOne(computation);
    while (!work_.empty()) {
      HloComputation* next = work_.back();
      work_.pop_back();
      for (HloInstruction* inst : next->instructions()) CloneCallees(inst);
    }
    return clone;
  }

 private:
  void CloneCallees(HloInstruction* inst) {
    if (!inst->has_called_computations()) return;
    // The first link of a chain has been given its clone, and so has a fusion.
    if (absl::c_all_of(inst->called_computations(),
                       [this](const HloComputation* callee) {
                         return fresh_.contains(callee);
                       })) {
      return;
    }
    if (inst->IsAsynchronous() && inst->async_chain_start() != nullptr &&
        inst->async_chain_start() != inst) {
      HloComputation* wrapped =
          inst->async_chain_start()->async_wrapped_computation();
      inst->ReplaceCalledComputations([&](HloComputation*) { return wrapped; });
      return;
    }
    inst->ReplaceCalledComputations([this](HloComputation* callee) {
      if (fresh_.contains(callee) || skip_cloning_(*callee)) return callee;
      return CloneOne(callee);
    });
  }

  // Clones a computation and those that belong to its instructions (of fusions
  // and asynchronous starts), and leaves the clones on the work list.
  HloComputation* CloneOne(HloComputation* computation) {
    HloCloneContext context(module_);
    HloComputation* clone =
        module_->AddEmbeddedComputation(computation->Clone("clone", &context));
    std::vector<HloComputation*> clones;
    for (const auto& [original, cloned] : context.cloned_computations()) {
      clones.push_back(cloned);
      CopySchedule(original, cloned, context);
    }
    absl::c_sort(clones, [](const HloComputation* a, const HloComputation* b) {
      return a->unique_id() > b->unique_id();
    });
    fresh_.insert(clones.begin(), clones.end());
    work_.insert(work_.end(), clones.begin(), clones.end());
    return clone;
  }

  void CopySchedule(const HloComputation* original, HloComputation* clone,
                    const HloCloneContext& context) {
    if (!module_->has_schedule() ||
        !module_->schedule().is_computation_scheduled(original)) {
      return;
    }
    std::vector<HloInstruction*> sequence;
    for (const HloInstruction* inst :
         module_->schedule().sequence(original).instructions()) {
      sequence.push_back(context.GetInstruction(inst));
    }
    module_->schedule().set_sequence(clone, sequence);
  }

  HloModule* module_;
  SkipCloningHandler& skip_cloning_;
  // Clones whose callees have not been looked at.
  std::vector<HloComputation*> work_;
  // Every clone made here.
  absl::flat_hash_set<const HloComputation*> fresh_;
};

// Gives all references but one to the computation clones of it.
bool Flatten(HloComputation* computation, SkipCloningHandler& skip_cloning) {
  bool changed = false;
  bool taken = false;
  for (const Caller& caller : CallersOf(*computation)) {
    if (!taken && ReferenceCount(*caller[0], computation) == 1) {
      taken = true;
      continue;
    }
    // Only the first caller may keep it.
    taken = true;
    changed = true;
    HloComputation* shared_clone = nullptr;
    for (HloInstruction* link : caller) {
      link->ReplaceCalledComputations([&](HloComputation* callee) {
        if (callee != computation) return callee;
        if (caller.size() > 1 && shared_clone != nullptr) return shared_clone;
        shared_clone =
            TreeCloner(computation->parent(), skip_cloning).Clone(computation);
        return shared_clone;
      });
    }
  }
  return changed;
}

}  // namespace

FlattenCallGraph::FlattenCallGraph(const FlattenCallGraphOptions& options)
    : options_(options) {
  if (options.skip_cloning_for_calls) {
    skip_cloning_ = &SkipCloningForCalls;
  } else {
    skip_cloning_ = [](const HloComputation&) { return false; };
  }
}

bool FlattenCallGraph::SkipCloningForCalls(const HloComputation& computation) {
  return absl::c_all_of(computation.caller_instructions(),
                        [](const HloInstruction* caller) {
                          return caller->opcode() == HloOpcode::kCall;
                        });
}

absl::Status FlattenCallGraph::CheckGrowth(const HloModule& module) {
  // How many computations each one becomes, callers first.
  std::vector<HloComputation*> order = module.MakeComputationPostOrder();
  absl::c_reverse(order);
  absl::flat_hash_map<const HloComputation*, double> copies;
  double instructions = 0;
  for (const HloComputation* computation : order) {
    double count = 0;
    if (!skip_cloning_(*computation)) {
      for (const Caller& caller : CallersOf(*computation)) {
        count += copies[caller[0]->parent()] *
                 static_cast<double>(ReferenceCount(*caller[0], computation));
      }
    }
    if (count < 1) count = 1;
    copies[computation] = count;
    instructions +=
        count * static_cast<double>(computation->instruction_count());
  }
  if (instructions > static_cast<double>(options_.max_instructions)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "flattening module ", module.name(), " would make ", instructions,
        " instructions of ", module.instruction_count(), "; the limit is ",
        options_.max_instructions));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> FlattenCallGraph::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!MayHaveSharedComputations(*module)) return false;
  absl::Status growth = CheckGrowth(*module);
  if (!growth.ok()) return growth;
  bool changed = false;
  for (HloComputation* computation :
       module->MakeComputationPostOrder(execution_threads)) {
    if (computation->IsEntryComputation() || skip_cloning_(*computation)) {
      continue;
    }
    changed |= Flatten(computation, skip_cloning_);
  }
  return changed;
}

}  // namespace xla
