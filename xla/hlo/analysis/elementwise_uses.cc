#include "xla/hlo/analysis/elementwise_uses.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

bool OnlyElementwiseUses(const HloInstruction* instruction) {
  absl::flat_hash_set<const HloInstruction*> seen = {instruction};
  std::vector<const HloInstruction*> work = {instruction};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    for (const HloInstruction* user : inst->users()) {
      if (user->opcode() != HloOpcode::kTuple) {
        for (int64_t i : user->OperandIndices(inst)) {
          if (!user->IsElementwiseOnOperand(i)) return false;
        }
      }
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return true;
}

}  // namespace xla
