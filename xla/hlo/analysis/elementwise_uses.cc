#include "xla/hlo/analysis/elementwise_uses.h"

#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
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

bool IsOutput(const HloInstruction& inst) {
  return inst.IsRoot() ||
         absl::c_any_of(inst.users(), [](const HloInstruction* user) {
           return user->IsRoot() && user->opcode() == HloOpcode::kTuple;
         });
}

// A value that follows from the parameter, by way of a reduction or not.
struct Follower {
  const HloInstruction* inst;
  bool is_reduced;
};

bool MayBeWrittenOver(const HloInstruction& parameter) {
  absl::flat_hash_set<const HloInstruction*> seen[2];
  std::vector<Follower> work = {{&parameter, false}};
  bool reaches_output = false;
  while (!work.empty()) {
    const auto [inst, is_reduced] = work.back();
    work.pop_back();
    reaches_output |= !is_reduced && IsOutput(*inst);
    for (const HloInstruction* user : inst->users()) {
      const bool reduces = user->opcode() == HloOpcode::kReduce;
      for (int64_t i : user->OperandIndices(inst)) {
        if (user->opcode() == HloOpcode::kTuple) break;
        // All threads read an initial value.
        if (reduces ? i >= user->operand_count() / 2 : !KeepsPlace(*user, i)) {
          return false;
        }
      }
      const bool user_is_reduced = is_reduced || reduces;
      if (seen[user_is_reduced].insert(user).second) {
        work.push_back({user, user_is_reduced});
      }
    }
  }
  return reaches_output;
}

}  // namespace

bool OnlyElementwiseUses(const HloInstruction* instruction) {
  absl::flat_hash_set<const HloInstruction*> seen = {instruction};
  std::vector<const HloInstruction*> work = {instruction};
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    for (const HloInstruction* user : inst->users()) {
      for (int64_t i : user->OperandIndices(inst)) {
        if (user->opcode() == HloOpcode::kTuple) break;
        if (!user->IsElementwiseOnOperand(i)) return false;
      }
      if (seen.insert(user).second) work.push_back(user);
    }
  }
  return true;
}

bool OnlyElementwiseUsesInFusion(const HloInstruction& fusion, int64_t number) {
  const HloInstruction* parameter = fusion.fused_parameter(number);
  return fusion.IsInputFusion() ? MayBeWrittenOver(*parameter)
                                : OnlyElementwiseUses(parameter);
}

}  // namespace xla
