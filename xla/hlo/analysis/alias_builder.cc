#include "xla/hlo/analysis/alias_builder.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/instruction_walk.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_input_output_alias_config.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/status_macros.h"

// Union-find over dataflow values. Every rule that forces two positions to
// share memory (loop state, branch results, in-place operands, input-output
// aliases, asynchronous chains) unites the values at these positions. parent_
// holds the parent for inner elements and the negated size for roots; union by
// size with path compression makes the whole pass almost linear.
//
// The rules assume a flat call graph: a position with several values would
// force buffers of different callers together.

namespace xla {
namespace {

absl::Status NotFlat(const HloInstruction& inst, absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat(
      "alias analysis of ", inst.parent()->name(), "/", inst.name(), ": ", what,
      "; flatten-call-graph has to run first"));
}

}  // namespace

// At the end every element points to the least value of its set, so that
// buffers get the same numbers whatever the order of unions was.
absl::Status AliasBuilder::Build() {
  RETURN_IF_ERROR(CheckFlat());
  FindChains();
  RETURN_IF_ERROR(AddAliasConfig());
  absl::Status status;
  for (const CallGraphNode& node : dataflow_.call_graph().nodes()) {
    ForEachInstruction(node.computation(), [&](const HloInstruction* inst) {
      if (status.ok()) status = AddInstruction(inst);
    });
  }
  RETURN_IF_ERROR(status);
  // Each set is to be known by its least value.
  std::vector<int32_t> first(parent_.size(), -1);
  std::vector<int32_t> root(parent_.size());
  for (int32_t i = 0; i < static_cast<int32_t>(parent_.size()); ++i) {
    root[i] = Root(i);
  }
  for (int32_t i = 0; i < static_cast<int32_t>(parent_.size()); ++i) {
    int32_t& least = first[root[i]];
    if (least < 0) least = i;
    parent_[i] = least;
  }
  return absl::OkStatus();
}

absl::Status AliasBuilder::AddInstruction(const HloInstruction* inst) {
  switch (inst->opcode()) {
    case HloOpcode::kWhile:
      RETURN_IF_ERROR(AddWhile(inst));
      break;
    case HloOpcode::kConditional:
      RETURN_IF_ERROR(AddConditional(inst));
      break;
    case HloOpcode::kAsyncStart:
      RETURN_IF_ERROR(AddLateOperands(inst));
      RETURN_IF_ERROR(AddLatePairs(inst));
      break;
    case HloOpcode::kAsyncDone:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCall:
    case XLA_ANY_WITHOUT_SCHEDULE:
      // Only their results in place, below.
      break;
  }
  return AddInPlacePairs(inst);
}

int32_t AliasBuilder::First(int32_t value) const { return parent_[value]; }

int32_t AliasBuilder::Root(int32_t value) {
  int32_t root = value;
  while (parent_[root] >= 0) root = parent_[root];
  while (parent_[value] >= 0) value = std::exchange(parent_[value], root);
  return root;
}

absl::Status AliasBuilder::Unite(const HloInstruction* a,
                                 const ShapeIndex& a_index,
                                 const HloInstruction* b,
                                 const ShapeIndex& b_index) {
  const auto& a_values = dataflow_.GetValueSet(a, a_index).values();
  const auto& b_values = dataflow_.GetValueSet(b, b_index).values();
  if (a_values.size() != 1 || b_values.size() != 1) {
    const HloInstruction& several = a_values.size() != 1 ? *a : *b;
    return NotFlat(*a, absl::StrCat("it shares a buffer with ", several.name(),
                                    ", which has values of several callers"));
  }
  int32_t x = Root(static_cast<int32_t>(a_values[0]->id()));
  int32_t y = Root(static_cast<int32_t>(b_values[0]->id()));
  if (x == y) return absl::OkStatus();
  // The larger set stays (sizes are negative); of equal ones the first.
  if (parent_[x] > parent_[y] || (parent_[x] == parent_[y] && x > y)) {
    std::swap(x, y);
  }
  parent_[x] += parent_[y];
  parent_[y] = x;
  return absl::OkStatus();
}

// Unites position by position where both shapes have an array at the same
// index.
absl::Status AliasBuilder::UniteAll(const HloInstruction* a,
                                    const HloInstruction* b) {
  const bool same = ShapeUtil::EqualStructure(a->shape(), b->shape());
  for (const auto& [index, unused] : dataflow_.GetInstructionValueSet(a)) {
    if (same || (ShapeUtil::IndexIsValid(b->shape(), index) &&
                 !ShapeUtil::GetSubshape(a->shape(), index).IsTuple() &&
                 !ShapeUtil::GetSubshape(b->shape(), index).IsTuple())) {
      RETURN_IF_ERROR(Unite(a, index, b, index));
    }
  }
  return absl::OkStatus();
}

absl::Status AliasBuilder::CheckFlat() const {
  const CallGraph& graph = dataflow_.call_graph();
  for (const CallGraphNode& node : graph.nodes()) {
    for (const CallSite& site : node.callsites()) {
      const HloInstruction& caller = *site.instruction();
      if (caller.opcode() != HloOpcode::kWhile &&
          caller.opcode() != HloOpcode::kConditional) {
        continue;
      }
      absl::flat_hash_set<const HloComputation*> distinct;
      for (const HloComputation* callee : site.called_computations()) {
        if (!distinct.insert(callee).second ||
            graph.GetNode(callee).caller_callsites().size() > 1) {
          return NotFlat(caller, absl::StrCat("computation ", callee->name(),
                                              " is called more than once"));
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AliasBuilder::AddAliasConfig() {
  const HloModule& module = dataflow_.module();
  const HloComputation* entry = module.entry_computation();
  return module.input_output_alias_config().ForEachAliasWithStatus(
      [&](const ShapeIndex& output,
          const HloInputOutputAliasConfig::Alias& alias) {
        const HloInstruction* root = entry->root_instruction();
        if (alias.parameter_number < entry->num_parameters() &&
            ShapeUtil::IndexIsValid(root->shape(), output)) {
          const HloInstruction* parameter =
              entry->parameter_instruction(alias.parameter_number);
          if (ShapeUtil::IndexIsValid(parameter->shape(),
                                      alias.parameter_index)) {
            return Unite(root, output, parameter, alias.parameter_index);
          }
        }
        return absl::InvalidArgumentError(absl::StrCat(
            "input_output_alias of module ", module.name(), ": output ",
            output.ToString(), " or parameter ", alias.parameter_number, " ",
            alias.parameter_index.ToString(), " does not exist"));
      });
}

// Initial value, body parameter, body root, condition parameter and result of a
// loop all live in one buffer per position.
absl::Status AliasBuilder::AddWhile(const HloInstruction* loop) {
  const HloComputation* body = loop->while_body();
  RETURN_IF_ERROR(UniteAll(loop, loop->operand(0)));
  for (const HloInstruction* other :
       {body->parameter_instruction(0), body->root_instruction(),
        loop->while_condition()->parameter_instruction(0)}) {
    RETURN_IF_ERROR(UniteAll(loop, other));
  }
  return absl::OkStatus();
}

absl::Status AliasBuilder::AddConditional(const HloInstruction* conditional) {
  for (const HloComputation* branch : conditional->branch_computations()) {
    RETURN_IF_ERROR(UniteAll(conditional, branch->root_instruction()));
  }
  return absl::OkStatus();
}

absl::Status AliasBuilder::AddPair(const HloInstruction* inst,
                                   const ShapeIndex& output,
                                   const HloInstruction* operand,
                                   const HloOperandIndex& source) {
  if (!ShapeUtil::IndexIsValid(operand->shape(), source.operand_index) ||
      !ShapeUtil::IndexIsValid(inst->shape(), output)) {
    return absl::InvalidArgumentError(absl::StrCat(
        inst->name(), ": output ", output.ToString(), " or operand ",
        source.operand_number, " ", source.operand_index.ToString(),
        ", which it aliases, does not exist"));
  }
  return Unite(inst, output, operand, source.operand_index);
}

absl::Status AliasBuilder::AddInPlacePairs(const HloInstruction* inst) {
  for (const auto& [source, output] :
       alias_info_.GetInPlaceInputOutputPairs(inst)) {
    if (source.operand_number >= inst->operand_count()) continue;
    RETURN_IF_ERROR(
        AddPair(inst, output, inst->operand(source.operand_number), source));
  }
  return absl::OkStatus();
}

// --- Async chains
// -------------------------------------------------------------

// Collects all operands that the links of an asynchronous chain bind, since
// updates may bind more than the start did. The next link is found by the value
// of the tuple it consumes, which works across computations.
void AliasBuilder::FindChains() {
  // The link after a link: its tuple is defined by the one before, also where
  // that is in another computation.
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> next;
  std::vector<HloInstruction*> starts;
  for (const CallGraphNode& node : dataflow_.call_graph().nodes()) {
    ForEachInstruction(node.computation(), [&](HloInstruction* inst) {
      if (inst->opcode() == HloOpcode::kAsyncStart) {
        starts.push_back(inst);
      } else if (inst->IsAsyncConsumer()) {
        const auto& before =
            dataflow_.GetValueSet(inst->operand(0), {}).values();
        if (before.size() == 1) {
          next.emplace(before[0]->defining_instruction(), inst);
        }
      }
    });
  }
  for (HloInstruction* start : starts) {
    std::vector<AsyncOperand>& operands = chains_[start];
    for (int64_t i = 0; i < start->operand_count(); ++i) {
      operands.push_back({start, i});
    }
    size_t links = 0;
    for (auto it = next.find(start); it != next.end() && links++ < next.size();
         it = next.find(it->second)) {
      for (int64_t i = 1; i < it->second->operand_count(); ++i) {
        operands.push_back({it->second, i});
      }
    }
  }
}

absl::Status AliasBuilder::AddLateOperands(const HloInstruction* start) {
  const std::vector<AsyncOperand>& operands = chains_.at(start);
  const HloComputation* callee = start->async_wrapped_computation();
  const int64_t count =
      std::min<int64_t>(operands.size(), callee->num_parameters());
  for (int64_t i = start->operand_count(); i < count; ++i) {
    const HloInstruction* operand = operands[i].instruction();
    // Other threads' computations have no values here.
    if (dataflow_.HasValues(callee->parameter_instruction(i))) {
      RETURN_IF_ERROR(UniteAll(operand, callee->parameter_instruction(i)));
    }
    // The places that the chain keeps for it.
    for (const HloInstruction* link :
         {start, const_cast<const HloInstruction*>(operands[i].link)}) {
      const ShapeIndex place = {0, i};
      if (ShapeUtil::IndexIsValid(link->shape(), place) &&
          !ShapeUtil::GetSubshape(link->shape(), place).IsTuple() &&
          !operand->shape().IsTuple()) {
        RETURN_IF_ERROR(Unite(link, place, operand, {}));
      }
    }
  }
  return absl::OkStatus();
}

// Outputs that the start shows already and that are what later links bind.
absl::Status AliasBuilder::AddLatePairs(const HloInstruction* start) {
  const std::vector<AsyncOperand>& operands = chains_.at(start);
  for (const auto& [output, source] : start->output_operand_aliasing()) {
    const auto& [number, index] = source;
    if (number < start->operand_count() ||
        number >= static_cast<int64_t>(operands.size())) {
      continue;
    }
    const HloInstruction* operand = operands[number].instruction();
    if (!ShapeUtil::IndexIsValid(start->shape(), output) ||
        !ShapeUtil::IndexIsValid(operand->shape(), index) ||
        !ShapeUtil::EqualStructure(
            ShapeUtil::GetSubshape(start->shape(), output),
            ShapeUtil::GetSubshape(operand->shape(), index))) {
      continue;
    }
    RETURN_IF_ERROR(
        AddPair(start, output, operand, HloOperandIndex{number, index}));
  }
  return absl::OkStatus();
}

}  // namespace xla
