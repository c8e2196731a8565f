#include "xla/hlo/analysis/elementwise_uses.h"

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Whether what the user makes of the n-th element of operand `i` in memory is
// its own n-th one.
bool KeepsPlace(const HloInstruction& user, int64_t i) {
  const Shape& from = user.operand(i)->shape();
  const Shape& to = user.shape();
  if (!from.IsArray() || !to.IsArray() ||
      ShapeUtil::ElementsIn(from) != ShapeUtil::ElementsIn(to)) {
    return false;
  }
  return user.IsEffectiveBitcast() ||
         (user.IsElementwiseOnOperand(i) &&
          (!from.has_layout() || !to.has_layout() ||
           from.layout().minor_to_major() == to.layout().minor_to_major()));
}

bool OnlyElementwiseUses(const HloInstruction* instruction,
                         bool reductions_read_first) {
  absl::flat_hash_set<const HloInstruction*> seen = {instruction};
  std::vector<const HloInstruction*> work = {instruction};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    for (const HloInstruction* user : inst->users()) {
      const bool passes =
          user->opcode() == HloOpcode::kTuple ||
          (reductions_read_first && user->opcode() == HloOpcode::kReduce);
      for (int64_t i : user->OperandIndices(inst)) {
        if (passes) break;
        if (reductions_read_first ? !KeepsPlace(*user, i)
                                  : !user->IsElementwiseOnOperand(i)) {
          return false;
        }
      }
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return true;
}

}  // namespace

bool OnlyElementwiseUses(const HloInstruction* instruction) {
  return OnlyElementwiseUses(instruction, /*reductions_read_first=*/false);
}

bool OnlyElementwiseUsesInFusion(const HloInstruction& fusion, int64_t number) {
  return OnlyElementwiseUses(fusion.fused_parameter(number),
                             /*reductions_read_first=*/fusion.IsInputFusion());
}

}  // namespace xla
