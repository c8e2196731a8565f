#include "xla/hlo/memory/accounting/hlo_memory_graph.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/heap/may_write_over.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using Node = MemoryGraph::Node;
using Value = MemoryGraph::Value;

// Values that need no memory in this computation.
constexpr Value kNoMemory = -1;

// Translates one computation into the abstract MemoryGraph: nodes are
// instructions in post order, values are dataflow values with a size, and
// values of one HloBuffer share memory. Only values without other members in
// their buffer may share memory with an operand by choice (AllowSharing); for
// the rest alias analysis has decided already.
class Builder {
 public:
  Builder(const HloComputation& computation,
          const HloAliasAnalysis& alias_analysis, const AliasInfo* alias_info,
          const BufferValue::SizeFunction& size_function,
          const ComputationPeaks& callees)
      : computation_(computation),
        alias_analysis_(alias_analysis),
        dataflow_(alias_analysis.dataflow_analysis()),
        alias_info_(alias_info),
        size_function_(size_function),
        callees_(callees) {
    // The config itself searches all outputs for a parameter.
    computation.parent()->input_output_alias_config().ForEachAlias(
        [&](const ShapeIndex&, const HloInputOutputAliasConfig::Alias& alias) {
          aliased_parameters_.insert(
              {alias.parameter_number, alias.parameter_index});
        });
  }

  absl::StatusOr<HloMemoryGraph> Build() {
    result_.instructions = computation_.MakeInstructionPostOrder();
    for (HloInstruction* inst : result_.instructions) {
      node_of_[inst] = AddNode(*inst);
    }
    for (HloInstruction* inst : result_.instructions) AddDependencies(*inst);
    for (HloInstruction* inst : result_.instructions) AddValues(*inst);
    for (HloInstruction* inst : result_.instructions) AddSharings(inst);
    TF_RETURN_IF_ERROR(status_);
    TF_RETURN_IF_ERROR(Explain(result_.graph.Finish()));
    return std::move(result_);
  }

 private:
  // Says which instruction it is that the graph complains about.
  absl::Status Explain(const absl::Status& status) const {
    if (status.ok()) return status;
    absl::Status cycle = CheckNoCycle(computation_);
    if (!cycle.ok()) return cycle;
    if (result_.values.empty()) return status;
    Value largest = 0;
    for (Value value = 0; value < result_.graph.value_count(); ++value) {
      if (result_.graph.value(value).size > result_.graph.value(largest).size) {
        largest = value;
      }
    }
    return absl::Status(
        status.code(),
        absl::StrCat("computation ", computation_.name(), ": ",
                     status.message(), "; the largest is that of ",
                     result_.values[largest]->instruction()->name(), ", ",
                     result_.graph.value(largest).size));
  }

  Node AddNode(const HloInstruction& inst) {
    int64_t extra = 0;
    for (const HloComputation* callee : ComputationsRunBy(inst)) {
      auto it = callees_.find(callee);
      if (it != callees_.end()) extra = std::max(extra, it->second);
    }
    return result_.graph.AddNode(extra);
  }

  void AddDependencies(const HloInstruction& inst) {
    Node node = node_of_.at(&inst);
    for (const HloInstruction* operand : inst.operands()) {
      AddDependency(operand, node);
    }
    for (const HloInstruction* before : inst.control_predecessors()) {
      AddDependency(before, node);
    }
  }

  void AddDependency(const HloInstruction* before, Node node) {
    auto it = node_of_.find(before);
    if (it != node_of_.end()) result_.graph.AddDependency(it->second, node);
  }

  // Adds the values that are new at `inst`.
  void AddValues(const HloInstruction& inst) {
    for (const auto& [index, set] : dataflow_.GetInstructionValueSet(&inst)) {
      for (const HloValue* value : set.values()) {
        auto [it, is_new] = values_.emplace(value->id(), kNoMemory);
        if (is_new) it->second = AddValue(*value, inst);
      }
    }
  }

  // Constants count nothing, and neither do values that a parameter passes in
  // from a caller; the caller counts those. Entry parameters are live from the
  // start and, unless an output aliases them, to the end.
  Value AddValue(const HloValue& value, const HloInstruction& at) {
    bool is_parameter = at.opcode() == HloOpcode::kParameter;
    if (value.instruction()->opcode() == HloOpcode::kConstant ||
        (is_parameter && value.instruction() != &at)) {
      return kNoMemory;
    }
    int64_t size = size_function_(value);
    if (size < 0 && status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("computation ", computation_.name(), ": the size of ",
                       value.instruction()->name(), " is unknown"));
    }
    if (size <= 0) return kNoMemory;
    const HloBuffer& buffer = alias_analysis_.GetBufferContainingValue(value);
    auto [it, is_new] = buffers_.emplace(buffer.id(), -1);
    if (is_new) it->second = result_.graph.AddBuffer(size);
    Node def = node_of_.at(&at);
    Value added = result_.graph.AddValue(
        it->second, is_parameter ? MemoryGraph::kStart : def);
    result_.values.push_back(&value);
    // A parameter is there at least until its instruction.
    if (is_parameter) result_.graph.AddUse(added, def);
    for (const HloUse& use : value.GetUses()) {
      if (use.instruction->parent() != &computation_) continue;
      auto user = node_of_.find(use.instruction);
      if (user == node_of_.end()) continue;
      result_.graph.AddUse(added, user->second, IsHandedOver(value, use));
    }
    if (value.IsRootOf(&computation_) || StaysForCaller(value)) {
      result_.graph.SetLiveOut(added);
    }
    return added;
  }

  // Whether a while consumes the value: its body starts with a different value
  // in the same memory, so the operand does not have to survive the loop.
  bool IsHandedOver(const HloValue& value, const HloUse& use) const {
    if (use.instruction->opcode() != HloOpcode::kWhile) return false;
    const HloInstruction* parameter =
        use.instruction->while_body()->parameter_instruction(0);
    return !absl::c_linear_search(
        dataflow_.GetValueSet(parameter, use.operand_index).values(), &value);
  }

  bool StaysForCaller(const HloValue& value) const {
    const HloModule& module = *computation_.parent();
    return value.instruction()->opcode() == HloOpcode::kParameter &&
           &computation_ == module.entry_computation() &&
           !aliased_parameters_.contains(
               {value.instruction()->parameter_number(), value.index()});
  }

  void AddSharings(HloInstruction* inst) {
    if (inst->opcode() == HloOpcode::kCopy) return;
    Node node = node_of_.at(inst);
    for (const auto& [index, set] : dataflow_.GetInstructionValueSet(inst)) {
      for (const HloValue* value : set.values()) {
        if (value->instruction() != inst || !IsAlone(*value)) continue;
        Value result = values_.at(value->id());
        if (result == kNoMemory) continue;
        AddSharingsOf(inst, node, *value, result);
      }
    }
  }

  void AddSharingsOf(HloInstruction* inst, Node node, const HloValue& value,
                     Value result) {
    for (HloInstruction* operand : inst->operands()) {
      for (const HloValue* source : dataflow_.GetValueSet(operand).values()) {
        auto it = values_.find(source->id());
        if (it == values_.end() || it->second == kNoMemory ||
            !IsAlone(*source) || !inst->IsUserOf(source->instruction())) {
          continue;
        }
        if (MayWriteOver(dataflow_, value, *source, alias_info_)) {
          result_.graph.AllowSharing(node, it->second, result);
        }
      }
    }
  }

  bool IsAlone(const HloValue& value) const {
    return alias_analysis_.GetBufferContainingValue(value).values().size() == 1;
  }

  const HloComputation& computation_;
  const HloAliasAnalysis& alias_analysis_;
  const HloDataflowAnalysis& dataflow_;
  const AliasInfo* alias_info_;
  const BufferValue::SizeFunction& size_function_;
  const ComputationPeaks& callees_;
  // Parts of entry parameters, by number and index.
  absl::flat_hash_set<std::pair<int64_t, ShapeIndex>> aliased_parameters_;
  HloMemoryGraph result_;
  absl::Status status_;
  absl::flat_hash_map<const HloInstruction*, Node> node_of_;
  absl::flat_hash_map<HloValue::Id, Value> values_;
  absl::flat_hash_map<HloBuffer::Id, MemoryGraph::Buffer> buffers_;
};

}  // namespace

// Kahn's algorithm; if it gets stuck, walks back along unsatisfied dependencies
// until an instruction comes up twice, which then lies on a cycle and can be
// named in the error.
absl::Status CheckNoCycle(const HloComputation& computation) {
  absl::flat_hash_map<const HloInstruction*, int64_t> waits;
  std::vector<const HloInstruction*> ready;
  for (const HloInstruction* inst : computation.instructions()) {
    absl::flat_hash_set<const HloInstruction*> operands(
        inst->operands().begin(), inst->operands().end());
    waits[inst] = static_cast<int64_t>(operands.size() +
                                       inst->control_predecessors().size());
    if (waits[inst] == 0) ready.push_back(inst);
  }
  for (size_t i = 0; i < ready.size(); ++i) {
    for (const HloInstruction* user : ready[i]->users()) {
      if (--waits[user] == 0) ready.push_back(user);
    }
    for (const HloInstruction* after : ready[i]->control_successors()) {
      if (--waits[after] == 0) ready.push_back(after);
    }
  }
  if (static_cast<int64_t>(ready.size()) == computation.instruction_count()) {
    return absl::OkStatus();
  }
  // Back from any that never runs, to one that comes again.
  auto stuck = [&waits](const HloInstruction* inst) { return waits[inst] > 0; };
  const HloInstruction* inst = nullptr;
  for (const HloInstruction* other : computation.instructions()) {
    if (stuck(other)) inst = other;
  }
  absl::flat_hash_set<const HloInstruction*> seen;
  while (seen.insert(inst).second) {
    auto operand = absl::c_find_if(inst->operands(), stuck);
    inst = operand != inst->operands().end()
               ? *operand
               : *absl::c_find_if(inst->control_predecessors(), stuck);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "computation ", computation.name(), ": ", inst->name(),
      " waits for itself through operands and control dependencies"));
}

absl::Span<HloComputation* const> ComputationsRunBy(
    const HloInstruction& instruction) {
  if (!instruction.has_called_computations() ||
      GetInstructionCallContext(instruction.opcode()) !=
          CallContext::kControlFlow) {
    return {};
  }
  return absl::MakeConstSpan(instruction.called_computations().data(),
                             instruction.called_computations().size());
}

absl::StatusOr<HloMemoryGraph> BuildMemoryGraph(
    const HloComputation& computation, const HloAliasAnalysis& alias_analysis,
    const AliasInfo* alias_info, const BufferValue::SizeFunction& size_function,
    const ComputationPeaks& callees) {
  return Builder(computation, alias_analysis, alias_info, size_function,
                 callees)
      .Build();
}

absl::StatusOr<std::vector<Node>> HloMemoryGraph::ToNodes(
    absl::Span<HloInstruction* const> sequence) const {
  absl::flat_hash_map<const HloInstruction*, Node> nodes;
  for (size_t i = 0; i < instructions.size(); ++i) {
    nodes[instructions[i]] = static_cast<Node>(i);
  }
  std::vector<Node> order;
  order.reserve(sequence.size());
  for (const HloInstruction* inst : sequence) {
    auto it = nodes.find(inst);
    if (it == nodes.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the sequence holds ", inst->name(),
                       " twice, or it is not of this computation"));
    }
    order.push_back(it->second);
    nodes.erase(it);
  }
  for (const HloInstruction* inst : instructions) {
    if (nodes.contains(inst)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the sequence misses ", inst->name()));
    }
  }
  return order;
}

std::vector<HloInstruction*> HloMemoryGraph::ToInstructions(
    absl::Span<const Node> order) const {
  std::vector<HloInstruction*> sequence;
  sequence.reserve(order.size());
  for (Node node : order) sequence.push_back(instructions[node]);
  return sequence;
}

}  // namespace xla
