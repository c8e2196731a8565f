#include "xla/hlo/transforms/loops/cheap_recipe.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {

int64_t BytesOf(const HloInstruction* inst) {
  return ShapeUtil::ByteSizeOf(inst->shape(), 8);
}

namespace {

constexpr size_t kMaxMade = 64;
// A value with this part of the bytes, or less, is carried without going
// further back.
constexpr int64_t kSmallPart = 16;

// Instructions that are cheap to recompute from their operands.
bool IsCheap(const HloInstruction* inst, bool fusions) {
  if (inst->shape().IsTuple() || inst->HasControlDependencies()) return false;
  switch (inst->opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kIota:
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
    case HloOpcode::kTranspose:
    case HloOpcode::kConvert:
    case HloOpcode::kCopy:
    case HloOpcode::kSlice:
      return true;
    case HloOpcode::kConstant:
      return ShapeUtil::IsEffectiveScalar(inst->shape());
    case HloOpcode::kFusion:
      if (!fusions) return false;
      if (inst->IsLoopFusion() && IsRecomputable(*inst) &&
          absl::c_all_of(inst->fused_instructions(),
                         [](const HloInstruction* inner) {
                           return inner->opcode() == HloOpcode::kParameter ||
                                  IsCheap(inner, /*fusions=*/false);
                         })) {
        return true;
      }
      break;
    default:  // Elementwise opcodes alone.
      break;
  }
  return inst->IsElementwise() && IsRecomputable(*inst);
}

// Instructions of a recipe, readers first: operands follow all that read them.
std::vector<const HloInstruction*> ReadersFirst(
    const HloInstruction* value,
    const absl::flat_hash_set<const HloInstruction*>& made) {
  std::vector<const HloInstruction*> order;
  absl::flat_hash_set<const HloInstruction*> seen;
  std::vector<std::pair<const HloInstruction*, bool>> stack = {{value, false}};
  while (!stack.empty()) {
    const auto [inst, operands_done] = stack.back();
    stack.pop_back();
    if (operands_done) {
      order.push_back(inst);
      continue;
    }
    if (!made.contains(inst) || !seen.insert(inst).second) continue;
    stack.emplace_back(inst, true);
    for (const HloInstruction* operand : inst->operands()) {
      stack.emplace_back(operand, false);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

bool IsParameterRead(const HloInstruction* inst) {
  while (inst->opcode() == HloOpcode::kGetTupleElement) {
    inst = inst->operand(0);
  }
  return inst->opcode() == HloOpcode::kParameter;
}

// Grows the set of instructions to recompute from `value` towards its operands.
// Growth stops at instructions that are expensive, at parameters, and at
// operands of at most 1/16 of the value's bytes, which are cheap to carry
// instead. There is no recipe if more than `kMaxMade` instructions would be
// recomputed, or if the carried operands together are too large compared with
// the value.
std::optional<CheapRecipe> FindCheapRecipe(const HloInstruction* value,
                                           const CheapRecipeOptions& options) {
  CheapRecipe recipe;
  std::vector<const HloInstruction*> work = {value};
  int64_t carried_bytes = 0;
  const int64_t bytes = BytesOf(value);
  while (!work.empty()) {
    const HloInstruction* inst = work.back();
    work.pop_back();
    if (recipe.made.contains(inst) || recipe.carried.contains(inst)) continue;
    const bool small = BytesOf(inst) * kSmallPart <= bytes;
    const bool make =
        IsCheap(inst, options.fusions) && !IsParameterRead(inst) &&
        (inst == value || !small || inst->opcode() == HloOpcode::kConstant);
    if (!make) {
      if (inst == value || inst->shape().IsTuple()) return std::nullopt;
      if (!IsParameterRead(inst)) carried_bytes += BytesOf(inst);
      recipe.carried.insert(inst);
      continue;
    }
    recipe.made.insert(inst);
    if (recipe.made.size() > kMaxMade) return std::nullopt;
    for (const HloInstruction* operand : inst->operands()) {
      work.push_back(operand);
    }
  }
  if (static_cast<double>(carried_bytes) * options.carried_part >
      static_cast<double>(bytes)) {
    return std::nullopt;
  }
  recipe.order = ReadersFirst(value, recipe.made);
  return recipe;
}

}  // namespace xla::remat_plan
