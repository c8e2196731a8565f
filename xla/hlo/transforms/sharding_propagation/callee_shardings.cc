#include "xla/hlo/transforms/sharding_propagation/callee_shardings.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"

namespace xla {
namespace {

// The instructions that must be sharded as a loop or a conditional is.
std::vector<HloInstruction*> TiedTo(HloInstruction* caller) {
  if (caller->opcode() == HloOpcode::kWhile) {
    return {caller->while_condition()->parameter_instruction(0),
            caller->while_body()->parameter_instruction(0),
            caller->while_body()->root_instruction()};
  }
  std::vector<HloInstruction*> roots;
  if (caller->opcode() == HloOpcode::kConditional) {
    for (HloComputation* branch : caller->branch_computations()) {
      roots.push_back(branch->root_instruction());
    }
  }
  return roots;
}

// One pass over all callers, outer ones first.
bool UnifyOnce(HloModule* module, bool give_to_all) {
  bool changed = false;
  absl::flat_hash_set<const HloInstruction*> settled;
  const std::vector<HloComputation*> order = module->MakeComputationPostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    for (HloInstruction* caller : (*it)->instructions()) {
      std::vector<HloInstruction*> tied = TiedTo(caller);
      if (tied.empty()) continue;
      // The sharding that another caller settled, then the caller's own, then
      // any other.
      const HloInstruction* model = nullptr;
      tied.insert(tied.begin(), caller);
      for (const HloInstruction* one : tied) {
        if (!one->has_sharding()) continue;
        if (model == nullptr || settled.contains(one)) model = one;
        if (settled.contains(one)) break;
      }
      if (model == nullptr) continue;
      const HloSharding sharding = model->sharding();
      for (HloInstruction* one : tied) {
        settled.insert(one);
        if (one->has_sharding() ? one->sharding() == sharding : !give_to_all) {
          continue;
        }
        one->set_sharding(sharding);
        changed = true;
      }
    }
  }
  return changed;
}

}  // namespace

bool UnifyCalleeShardings(HloModule* module, bool give_to_all) {
  bool changed = UnifyOnce(module, give_to_all);
  // A loop that is the root of another's body passes on what it is given inside
  // only in the next pass.
  while (changed && UnifyOnce(module, give_to_all)) {
  }
  return changed;
}

}  // namespace xla
