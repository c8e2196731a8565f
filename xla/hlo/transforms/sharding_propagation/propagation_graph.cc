#include "xla/hlo/transforms/sharding_propagation/propagation_graph.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/sharding_propagation/sdy_sharding_rule.h"
#include "xla/hlo/transforms/sharding_propagation/sharding_annotations.h"
#include "xla/shape_util.h"

// The hypergraph on which the factor solver works: tensors are nodes, and each
// rule connects the tensors of an instruction whose dimensions correspond.
// Control flow becomes identity rules: the state of a loop is one rule over
// initial value, parameters, root and result, branches and calls likewise.
// Constant expressions are marked, since every device can compute them for
// itself.

namespace xla {
namespace {

int64_t NumLeaves(const Shape& shape) {
  return ShapeUtil::FlattenTupleShape(shape).size();
}

// What each device computes for itself in no time, from nothing that is
// distributed. Its sharding costs nothing to change, so axes from it are the
// last to be believed (FactorSolver's last round). What is annotated is taken
// at its word, but for constants and iotas themselves.
bool IsConstantExpression(
    const HloInstruction& inst,
    const absl::flat_hash_map<const HloInstruction*, bool>& constant) {
  if (inst.opcode() == HloOpcode::kConstant ||
      inst.opcode() == HloOpcode::kIota) {
    return true;
  }
  const bool cheap =
      inst.IsElementwise() || inst.opcode() == HloOpcode::kBroadcast ||
      inst.opcode() == HloOpcode::kReshape ||
      inst.opcode() == HloOpcode::kTranspose ||
      inst.opcode() == HloOpcode::kSlice || inst.opcode() == HloOpcode::kPad;
  if (!cheap || inst.operand_count() == 0 || inst.has_sharding()) return false;
  for (const HloInstruction* operand : inst.operands()) {
    const auto it = constant.find(operand);
    if (it == constant.end() || !it->second) return false;
  }
  return true;
}

RuleClass ClassOf(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kReshape:
    case HloOpcode::kTranspose:
      return RuleClass::kElementwise;
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
      return RuleClass::kDynamicSlice;
    case HloOpcode::kBroadcast:
      return RuleClass::kBroadcast;
    case HloOpcode::kOptimizationBarrier:
      return RuleClass::kDataFlow;
    case HloOpcode::kCustomCall:
      return inst.IsCustomCall({"TopK", "__op$block_scaled_dot"})
                 ? RuleClass::kOther
                 : RuleClass::kElementwise;
    default:  // Elementwise, or of no class.
      return inst.IsElementwise() ? RuleClass::kElementwise : RuleClass::kOther;
  }
}

bool OperandsUsedOnce(const HloInstruction& inst) {
  for (const HloInstruction* operand : inst.operands()) {
    if (ShapeUtil::IsScalar(operand->shape())) continue;
    if (operand->user_count() > 1) return false;
  }
  return true;
}

}  // namespace

PropagationGraph::PropagationGraph(const HloModule* module) {
  const std::unique_ptr<CallGraph> calls = CallGraph::Build(module);
  for (HloComputation* computation : module->MakeComputationPostOrder()) {
    const CallContext context = calls->GetNode(computation).context();
    if (computation != module->entry_computation() &&
        context != CallContext::kControlFlow) {
      continue;
    }
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      AddTensors(inst);
    }
  }
  for (const HloInstruction* inst : instructions_) AddRules(inst, *calls);
  first_of_elements_.clear();
  AddGroups();
  rules_of_.resize(tensors_.size());
  for (size_t r = 0; r < rules_.size(); ++r) {
    for (int tensor : rules_[r].tensors) {
      if (rules_of_[tensor].empty() ||
          rules_of_[tensor].back() != static_cast<int>(r)) {
        rules_of_[tensor].push_back(static_cast<int>(r));
      }
    }
  }
}

void PropagationGraph::AddTensors(HloInstruction* inst) {
  absl::flat_hash_map<const HloInstruction*, bool> operands;
  for (const HloInstruction* operand : inst->operands()) {
    const int first = first_.at(operand);
    operands[operand] = first < static_cast<int>(tensors_.size()) &&
                        tensors_[first].inst == operand &&
                        tensors_[first].constant;
  }
  const bool constant = IsConstantExpression(*inst, operands);
  instructions_.push_back(inst);
  first_[inst] = static_cast<int>(tensors_.size());
  for (const Shape* leaf : ShapeUtil::FlattenTupleShape(inst->shape())) {
    tensors_.push_back({inst, leaf, constant});
  }
}

int PropagationGraph::FirstTensorOfElement(const HloInstruction* tuple,
                                           int64_t element) {
  const auto [it, is_new] = first_of_elements_.try_emplace(tuple);
  if (is_new) {
    int tensor = FirstTensor(tuple);
    for (const Shape& shape : tuple->shape().tuple_shapes()) {
      it->second.push_back(tensor);
      tensor += static_cast<int>(NumLeaves(shape));
    }
  }
  return it->second[element];
}

void PropagationGraph::AddIdentity(const HloInstruction* inst,
                                   std::vector<int> tensors, int num_operands,
                                   bool operands_used_once) {
  const Shape& shape = *tensors_[tensors[0]].shape;
  if (!shape.IsArray() || shape.dimensions().empty()) return;
  for (int tensor : tensors) {
    if (!ShapeUtil::SameDimensions(*tensors_[tensor].shape, shape)) return;
  }
  OpShardingRule rule =
      IdentityRule(shape, static_cast<int>(tensors.size()), num_operands);
  rules_.push_back({inst, std::move(rule), std::move(tensors),
                    RuleClass::kDataFlow, operands_used_once});
}

void PropagationGraph::AddGroups() {
  std::map<int64_t, std::vector<const HloInstruction*>> groups;
  for (const HloInstruction* inst : instructions_) {
    if (!inst->has_sharding() || inst->sharding().IsTuple() ||
        !inst->sharding().IsShardGroup() || !inst->shape().IsArray()) {
      continue;
    }
    groups[inst->sharding().GetShardGroup().shard_group_id].push_back(inst);
  }
  for (const auto& [id, members] : groups) {
    TieAll(members[0], members, static_cast<int>(members.size()) - 1);
  }
}

// One rule over all of them rather than one for each pair: the solver sees
// every value of a loop's state at once, so that a sharding inside the body and
// another one at the initial value meet as equals, and no order of pairs
// decides.
void PropagationGraph::TieAll(const HloInstruction* inst,
                              const std::vector<const HloInstruction*>& values,
                              int num_operands) {
  const int64_t leaves = NumLeaves(values[0]->shape());
  for (const HloInstruction* value : values) {
    if (!Contains(value) || NumLeaves(value->shape()) != leaves) return;
  }
  const bool operands_used_once = OperandsUsedOnce(*inst);
  for (int64_t leaf = 0; leaf < leaves; ++leaf) {
    std::vector<int> tensors;
    for (const HloInstruction* value : values) {
      tensors.push_back(FirstTensor(value) + static_cast<int>(leaf));
    }
    AddIdentity(inst, std::move(tensors), num_operands, operands_used_once);
  }
}

void PropagationGraph::AddRules(const HloInstruction* inst,
                                const CallGraph& calls) {
  switch (inst->opcode()) {
    case HloOpcode::kTuple: {
      int leaf = FirstTensor(inst);
      const bool operands_used_once = OperandsUsedOnce(*inst);
      for (const HloInstruction* operand : inst->operands()) {
        for (int64_t i = 0; i < NumLeaves(operand->shape()); ++i) {
          AddIdentity(inst,
                      {FirstTensor(operand) + static_cast<int>(i), leaf++}, 1,
                      operands_used_once);
        }
      }
      return;
    }
    case HloOpcode::kGetTupleElement: {
      const int from =
          FirstTensorOfElement(inst->operand(0), inst->tuple_index());
      const bool operands_used_once = OperandsUsedOnce(*inst);
      for (int64_t i = 0; i < NumLeaves(inst->shape()); ++i) {
        AddIdentity(inst,
                    {from + static_cast<int>(i),
                     FirstTensor(inst) + static_cast<int>(i)},
                    1, operands_used_once);
      }
      return;
    }
    case HloOpcode::kWhile:
      TieAll(inst,
             {inst->operand(0), inst->while_body()->parameter_instruction(0),
              inst->while_body()->root_instruction(),
              inst->while_condition()->parameter_instruction(0), inst},
             1);
      return;
    case HloOpcode::kConditional: {
      std::vector<const HloInstruction*> results;
      for (int b = 0; b < inst->branch_count(); ++b) {
        const HloComputation* branch = inst->branch_computation(b);
        TieAll(inst, {inst->operand(b + 1), branch->parameter_instruction(0)},
               1);
        results.push_back(branch->root_instruction());
      }
      results.push_back(inst);
      TieAll(inst, results, static_cast<int>(results.size()) - 1);
      return;
    }
    case HloOpcode::kCall: {
      const HloComputation* callee = inst->to_apply();
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        TieAll(inst, {inst->operand(i), callee->parameter_instruction(i)}, 1);
      }
      TieAll(inst, {callee->root_instruction(), inst}, 1);
      return;
    }
    case HloOpcode::kOptimizationBarrier:
      TieAll(inst, {inst->operand(0), inst}, 1);
      return;
    case HloOpcode::kCustomCall:
      if (!IsShardBarrier(*inst)) break;
      if (const size_t first = rules_.size(); inst->operand_count() == 1) {
        TieAll(inst, {inst->operand(0), inst}, 1);
        for (size_t r = first; r < rules_.size(); ++r) {
          rules_[r].goes_forward = !inst->IsCustomCall("ShardBarrierFrom");
          rules_[r].goes_backward = !inst->IsCustomCall("ShardBarrierTo");
        }
      }
      return;
    default:  // By its sharding rule, below.
      break;
  }
  // Malformed ones are errors of who builds the graph.
  std::optional<OpShardingRule> rule =
      GivenShardingRule(*inst).value_or(std::nullopt);
  const RuleClass rule_class = rule ? RuleClass::kOther : ClassOf(*inst);
  if (!rule) rule = GetOpShardingRule(*inst, &calls);
  if (!rule) return;
  std::vector<int> tensors;
  for (const HloInstruction* operand : inst->operands()) {
    for (int64_t i = 0; i < NumLeaves(operand->shape()); ++i) {
      tensors.push_back(FirstTensor(operand) + static_cast<int>(i));
    }
  }
  for (int64_t i = 0; i < NumLeaves(inst->shape()); ++i) {
    tensors.push_back(FirstTensor(inst) + static_cast<int>(i));
  }
  rules_.push_back({inst, *std::move(rule), std::move(tensors), rule_class,
                    OperandsUsedOnce(*inst)});
}

}  // namespace xla
