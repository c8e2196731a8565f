#include "xla/hlo/transforms/memory/remat/planner/in_place_values.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/elementwise_uses.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// Whether the result at `index` may reuse the operand's memory. Conservative
// where `alias_info` has no opinion: elementwise operations, and loop or input
// fusions that read the parameter elementwise only. Opcodes whose result has a
// buffer relation of its own (while, call, copy, ...) are excluded.
bool MayOverwrite(const HloInstruction& inst, const ShapeIndex& index,
                  const HloInstruction& operand, const AliasInfo& alias_info) {
  const std::optional<bool> may =
      alias_info.MayAlias(&operand, {}, &inst, index);
  if (may.has_value()) return *may;
  if (!ShapeUtil::Equal(operand.shape(),
                        ShapeUtil::GetSubshape(inst.shape(), index))) {
    return false;
  }
  const auto indices = inst.OperandIndices(&operand);
  switch (inst.opcode()) {
    case HloOpcode::kCopy:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
    case HloOpcode::kSort:
      return false;
    case HloOpcode::kFusion:
      return (inst.IsLoopFusion() || inst.IsInputFusion()) &&
             absl::c_all_of(indices, [&](int64_t i) {
               return OnlyElementwiseUsesInFusion(inst, i);
             });
    default:  // Elementwise opcodes alone.
      return absl::c_all_of(
          indices, [&](int64_t i) { return inst.IsElementwiseOnOperand(i); });
  }
}

// Pairs each result with an operand of equal size; each operand is given to one
// result at most.
class InPlaceFinder {
 public:
  InPlaceFinder(const AliasInfo& alias_info, ComputationProblem* problem)
      : alias_info_(alias_info), nodes_(*problem), problem_(problem->problem) {}

  void Run() {
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const HloInstruction& inst = *nodes_.instructions[n];
      taken_.clear();
      FindUpdates(inst, problem_.nodes[n]);
      FindReuse(inst, problem_.nodes[n]);
      node_of_[&inst] = static_cast<NodeId>(n);
    }
  }

 private:
  // The value at `index` of what an instruction renames; -1: there is none.
  ValueId ValueAt(const HloInstruction* inst, ShapeIndex index) const {
    while (true) {
      if (inst->opcode() == HloOpcode::kGetTupleElement) {
        index.push_front(inst->tuple_index());
      } else if (inst->opcode() != HloOpcode::kBitcast) {
        break;
      }
      inst = inst->operand(0);
    }
    const auto it = node_of_.find(inst);
    if (it == node_of_.end() || inst->opcode() == HloOpcode::kConstant) {
      return -1;
    }
    return problem_.nodes[it->second].first_value +
           static_cast<ValueId>(PlaceOf(inst->shape(), index));
  }

  bool CanShare(ValueId value, ValueId operand) const {
    if (operand < 0) return false;
    const RematProblem::Value& result = problem_.values[value];
    const RematProblem::Value& from = problem_.values[operand];
    return result.in_place_of < 0 && result.alias_of < 0 && from.alias_of < 0 &&
           result.bytes > 0 && result.bytes == from.bytes &&
           !absl::c_linear_search(taken_, operand);
  }

  void Share(ValueId value, ValueId operand) {
    problem_.values[value].in_place_of = operand;
    taken_.push_back(operand);
  }

  // What has to be where an operand is: whatever renames that.
  void FindUpdates(const HloInstruction& inst, const RematProblem::Node& node) {
    for (const auto& [from, output] :
         alias_info_.GetInPlaceInputOutputPairs(&inst)) {
      if (from.operand_number >= inst.operand_count()) continue;
      const HloInstruction* operand = inst.operand(from.operand_number);
      // What it reads elsewhere, too, is copied first.
      if (inst.opcode() != HloOpcode::kFusion &&
          inst.OperandIndices(operand).size() != 1) {
        continue;
      }
      const ValueId value = node.first_value +
                            static_cast<ValueId>(PlaceOf(inst.shape(), output));
      const ValueId target = ValueAt(operand, from.operand_index);
      if (CanShare(value, target)) Share(value, target);
    }
  }

  // Only arrays that are nodes of their own qualify, not elements of tuples or
  // aliases.
  void FindReuse(const HloInstruction& inst, const RematProblem::Node& node) {
    ValueId value = node.first_value;
    ShapeUtil::ForEachSubshape(
        inst.shape(), [&](const Shape& shape, const ShapeIndex& index) {
          const ValueId result = value++;
          if (!shape.IsArray()) return;
          for (const HloInstruction* operand : inst.operands()) {
            const auto it = node_of_.find(operand);
            if (it == node_of_.end() || !operand->shape().IsArray() ||
                operand->opcode() == HloOpcode::kConstant) {
              continue;
            }
            const ValueId target = problem_.nodes[it->second].first_value;
            if (CanShare(result, target) &&
                MayOverwrite(inst, index, *operand, alias_info_)) {
              Share(result, target);
            }
          }
        });
  }

  const AliasInfo& alias_info_;
  const ComputationProblem& nodes_;
  RematProblem& problem_;
  absl::flat_hash_map<const HloInstruction*, NodeId> node_of_;
  std::vector<ValueId> taken_;  // by results of the node at hand
};

}  // namespace

void FindInPlaceValues(const AliasInfo& alias_info,
                       ComputationProblem* problem) {
  InPlaceFinder(alias_info, problem).Run();
}

}  // namespace xla::remat_plan
