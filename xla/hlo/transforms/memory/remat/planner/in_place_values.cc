#include "xla/hlo/transforms/memory/remat/planner/in_place_values.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/elementwise_uses.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// Whether the result at `index` may reuse the operand's memory. Conservative:
// elementwise operations, updates of the first operand, and loop or input
// fusions that read the parameter elementwise only. Opcodes whose result has a
// buffer relation of its own (while, call, copy, ...) are excluded.
bool MayOverwrite(const HloInstruction& inst, const ShapeIndex& index,
                  const HloInstruction& operand, const AliasInfo& alias_info) {
  const auto indices = inst.OperandIndices(&operand);
  switch (inst.opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
    case HloOpcode::kSort:
      return false;
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kScatter:
      return indices.size() == 1 && indices[0] == 0;
    case HloOpcode::kFusion:
      if (alias_info.MustAlias(&operand, {}, &inst, index)) return true;
      return (inst.IsLoopFusion() || inst.IsInputFusion()) &&
             absl::c_all_of(indices, [&](int64_t i) {
               return OnlyElementwiseUses(inst.fused_parameter(i));
             });
    default:  // Elementwise opcodes alone.
      return absl::c_all_of(
          indices, [&](int64_t i) { return inst.IsElementwiseOnOperand(i); });
  }
}

}  // namespace

// Pairs each result with the first operand of equal shape whose memory it may
// take; each operand is given to one result at most. Only arrays that are nodes
// of their own qualify, not elements of tuples or aliases.
void FindInPlaceValues(ComputationProblem* problem) {
  RematProblem& of = problem->problem;
  const AliasInfo alias_info;
  absl::flat_hash_map<const HloInstruction*, ValueId> arrays;
  for (size_t n = 0; n < of.nodes.size(); ++n) {
    const HloInstruction& inst = *problem->instructions[n];
    ValueId value = of.nodes[n].first_value;
    std::vector<ValueId> taken;
    ShapeUtil::ForEachSubshape(inst.shape(), [&](const Shape& shape,
                                                 const ShapeIndex& index) {
      RematProblem::Value& result = of.values[value++];
      if (!shape.IsArray() || result.bytes == 0 || result.alias_of >= 0) {
        return;
      }
      for (const HloInstruction* operand : inst.operands()) {
        auto it = arrays.find(operand);
        if (it == arrays.end() || absl::c_linear_search(taken, it->second) ||
            of.values[it->second].bytes != result.bytes ||
            !ShapeUtil::Equal(operand->shape(), shape) ||
            !MayOverwrite(inst, index, *operand, alias_info)) {
          continue;
        }
        result.in_place_of = it->second;
        taken.push_back(it->second);
        return;
      }
    });
    // Values that others may overwrite.
    const ValueId first = of.nodes[n].first_value;
    if (inst.shape().IsArray() && inst.opcode() != HloOpcode::kConstant &&
        of.values[first].bytes > 0 && of.values[first].alias_of < 0) {
      arrays[&inst] = first;
    }
  }
}

}  // namespace xla::remat_plan
