#include "xla/hlo/transforms/simplifiers/canonicalizer.h"

#include <cstddef>
#include <deque>

#include "absl/container/btree_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {

Canonicalizer::Canonicalizer(const CanonicalizerOptions& options)
    : rules_(HloOpcodeCount()) {
  const absl::btree_set<absl::string_view> without =
      absl::StrSplit(options.without, '+', absl::SkipEmpty());
  absl::btree_set<absl::string_view> unknown = without;
  for (absl::Span<const CanonicalizerRule> table :
       {IdentityRules(), ReshapeRules(), SliceRules(), TypeRules()}) {
    for (const CanonicalizerRule& rule : table) {
      unknown.erase(rule.name);
      if (without.contains(rule.name)) continue;
      rules_[static_cast<size_t>(rule.opcode)].push_back(&rule);
    }
  }
  if (!unknown.empty()) unknown_ = *unknown.begin();
}

// A worklist up to a fixed point: a replacement and the users of what it
// replaced are looked at again, as they may match now. Dead instructions stay
// in memory until the computation is cleaned up, so entries of the list may be
// asked whether they are.
absl::StatusOr<bool> Canonicalizer::RunOnComputation(
    HloComputation* computation) {
  std::vector<HloInstruction*> order = computation->MakeInstructionPostOrder();
  std::deque<HloInstruction*> work(order.begin(), order.end());
  bool changed = false;
  while (!work.empty()) {
    HloInstruction* inst = work.front();
    work.pop_front();
    if (computation->IsMarkedAsDead(inst) || inst->HasControlDependencies()) {
      continue;
    }
    for (const CanonicalizerRule* rule :
         rules_[static_cast<size_t>(inst->opcode())]) {
      HloInstruction* replacement = rule->apply(inst);
      if (replacement == nullptr) continue;
      const bool is_new = replacement->user_count() == 0 &&
                          !replacement->IsRoot() && replacement != inst;
      std::vector<HloInstruction*> users(inst->users().begin(),
                                         inst->users().end());
      TF_ASSIGN_OR_RETURN(bool replaced, computation->ReplaceInstruction(
                                             inst, replacement,
                                             /*preserve_sharding=*/true));
      if (!replaced) {
        // The shardings differ; what the rule added for it goes again.
        if (is_new && replacement->opcode() != HloOpcode::kParameter) {
          TF_RETURN_IF_ERROR(
              computation->RemoveInstructionAndUnusedOperands(replacement));
        }
        continue;
      }
      changed = true;
      work.push_back(replacement);
      work.insert(work.end(), users.begin(), users.end());
      break;
    }
  }
  return changed;
}

absl::StatusOr<bool> Canonicalizer::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (!unknown_.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("canonicalizer: no rule ", unknown_));
  }
  bool changed = false;
  for (HloComputation* computation : module->computations(execution_threads)) {
    // What a custom fusion or an asynchronous wrapper holds is read by others
    // in just that form.
    const HloInstruction* fusion = computation->FusionInstruction();
    if (computation->IsAsyncComputation() ||
        (fusion != nullptr && fusion->IsCustomFusion())) {
      continue;
    }
    TF_ASSIGN_OR_RETURN(bool computation_changed,
                        RunOnComputation(computation));
    changed |= computation_changed;
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
