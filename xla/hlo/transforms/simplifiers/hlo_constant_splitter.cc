#include "xla/hlo/transforms/simplifiers/hlo_constant_splitter.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether it makes an expression of constants out of constants.
bool IsCheapOnConstants(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kConstant:
    case HloOpcode::kIota:
    case HloOpcode::kBroadcast:
    case HloOpcode::kReshape:
    case HloOpcode::kSlice:
    case HloOpcode::kDynamicSlice:
      return true;
    // Clones would draw other numbers.
    case HloOpcode::kRng:
      return false;
    default:  // Elementwise opcodes alone.
      return inst.operand_count() > 0 && inst.IsElementwise() &&
             inst.called_computations().empty();
  }
}

// Clones an expression for one reader; parts that it reads twice once.
class ExpressionCloner {
 public:
  explicit ExpressionCloner(
      const absl::flat_hash_set<const HloInstruction*>& expressions)
      : expressions_(expressions) {}

  // Depth-first with its own stack: an instruction stays on it until all its
  // operands within the expression are cloned, and what two operands share is
  // cloned once. Operands outside the expression are shared with the original.
  HloInstruction* Clone(HloInstruction* root) {
    absl::flat_hash_map<HloInstruction*, HloInstruction*> clones;
    std::vector<HloInstruction*> work = {root};
    while (!work.empty()) {
      HloInstruction* inst = work.back();
      if (clones.contains(inst)) {
        work.pop_back();
        continue;
      }
      bool ready = true;
      for (HloInstruction* operand : inst->operands()) {
        if (expressions_.contains(operand) && !clones.contains(operand)) {
          work.push_back(operand);
          ready = false;
        }
      }
      if (!ready) continue;
      std::vector<HloInstruction*> operands;
      for (HloInstruction* operand : inst->operands()) {
        auto it = clones.find(operand);
        operands.push_back(it == clones.end() ? operand : it->second);
      }
      clones[inst] = inst->parent()->AddInstruction(
          inst->CloneWithNewOperands(inst->shape(), operands), inst->name());
      work.pop_back();
    }
    return clones.at(root);
  }

  // Gives the expression to one reader; false if a part of it is another's.
  bool Own(const HloInstruction* root) {
    absl::flat_hash_set<const HloInstruction*> parts = {root};
    std::vector<const HloInstruction*> work = {root};
    while (!work.empty()) {
      const HloInstruction* inst = work.back();
      work.pop_back();
      if (owned_.contains(inst)) return false;
      for (const HloInstruction* operand : inst->operands()) {
        if (expressions_.contains(operand) && parts.insert(operand).second) {
          work.push_back(operand);
        }
      }
    }
    owned_.insert(parts.begin(), parts.end());
    return true;
  }

 private:
  const absl::flat_hash_set<const HloInstruction*>& expressions_;
  absl::flat_hash_set<const HloInstruction*> owned_;
};

}  // namespace

absl::StatusOr<bool> HloConstantSplitter::RunOnComputation(
    HloComputation* computation) {
  absl::flat_hash_set<const HloInstruction*> expressions;
  std::vector<HloInstruction*> order;
  for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
    bool is_expression =
        inst->opcode() == HloOpcode::kConstant ||
        (options_.split_expressions && IsCheapOnConstants(*inst) &&
         absl::c_all_of(inst->operands(), [&](const HloInstruction* operand) {
           return expressions.contains(operand);
         }));
    if (!is_expression || inst->HasControlDependencies() ||
        !extra_constraints_(inst)) {
      continue;
    }
    expressions.insert(inst);
    order.push_back(inst);
  }
  bool changed = false;
  ExpressionCloner cloner(expressions);
  for (HloInstruction* inst : order) {
    // Readers inside an expression get their clones with the expression.
    std::vector<HloInstruction*> readers;
    for (HloInstruction* user : inst->users()) {
      if (!expressions.contains(user)) readers.push_back(user);
    }
    const bool also_read_inside = readers.size() < inst->users().size();
    // The first reader keeps the original, unless parts of it are another's.
    const bool is_kept = !readers.empty() && !also_read_inside &&
                         !inst->IsRoot() && cloner.Own(inst);
    const size_t first = is_kept ? 1 : 0;
    for (size_t i = first; i < readers.size(); ++i) {
      TF_RETURN_IF_ERROR(inst->ReplaceUseWith(readers[i], cloner.Clone(inst)));
      changed = true;
    }
  }
  // Expressions all of whose readers have clones are dead; roots first.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if ((*it)->user_count() > 0 || (*it)->IsRoot() || !changed) continue;
    TF_RETURN_IF_ERROR(computation->RemoveInstruction(*it));
  }
  return changed;
}

absl::StatusOr<bool> HloConstantSplitter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
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
