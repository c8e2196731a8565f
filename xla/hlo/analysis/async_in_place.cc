#include "xla/hlo/analysis/async_in_place.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"

namespace xla {
namespace {

bool HasOperands(const Shape& state) {
  return state.IsTuple() && state.tuple_shapes_size() >= 2 &&
         state.tuple_shapes(0).IsTuple();
}

ShapeIndex Below(ShapeIndex index, const ShapeIndex& rest) {
  index.insert(index.end(), rest.begin(), rest.end());
  return index;
}

}  // namespace

// The state, and where in it, is told by the shapes and by who makes it.
std::optional<AsyncInPlace::OperandPart> AsyncInPlace::FindOperandPart(
    const HloInstruction* inst, const ShapeIndex& index) {
  if (!dataflow_.HasValues(inst)) return std::nullopt;
  for (size_t i = 0; i + 1 < index.size(); ++i) {
    const ShapeIndex place(index.begin(), index.begin() + i);
    if (index[i] != 0 ||
        !HasOperands(ShapeUtil::GetSubshape(inst->shape(), place))) {
      continue;
    }
    const auto& states = dataflow_.GetValueSet(inst, place).values();
    if (states.size() != 1) continue;
    Starts starts = StartsOf(*states[0]);
    if (starts.empty()) continue;
    return OperandPart{place, ShapeIndex(index.begin() + i, index.end()),
                       std::move(starts)};
  }
  return std::nullopt;
}

std::vector<HloInstruction*> AsyncInPlace::OperationsWith(
    const HloInstruction* inst, const ShapeIndex& index) {
  std::optional<OperandPart> part = FindOperandPart(inst, index);
  return part.has_value() ? std::move(part->starts) : Starts();
}

std::vector<HloPosition> AsyncInPlace::ResultsInPlaceOf(
    const HloInstruction* inst, const ShapeIndex& index) {
  std::vector<HloPosition> results;
  const std::optional<OperandPart> part = FindOperandPart(inst, index);
  if (!part.has_value()) return results;
  const std::vector<Pair> pairs = PairsOf(part->starts[0]);
  for (const Pair& pair : pairs) {
    const ShapeIndex there = Below(part->state, pair.second);
    if (pair.first == part->operand &&
        ShapeUtil::IndexIsValid(inst->shape(), there) &&
        absl::c_all_of(part->starts, [&](HloInstruction* start) {
          return absl::c_linear_search(PairsOf(start), pair);
        })) {
      results.push_back({const_cast<HloInstruction*>(inst), there});
    }
  }
  return results;
}

bool AsyncInPlace::AddSource(const HloInstruction* inst,
                             const ShapeIndex& index,
                             std::vector<const HloValue*>* sources) const {
  if (!dataflow_.HasValues(inst) ||
      !ShapeUtil::IndexIsValid(inst->shape(), index)) {
    return false;
  }
  const auto& values = dataflow_.GetValueSet(inst, index).values();
  sources->insert(sources->end(), values.begin(), values.end());
  return values.size() == 1;
}

bool AsyncInPlace::AddSources(const HloValue& state,
                              std::vector<const HloValue*>* sources) const {
  const HloInstruction* inst = state.defining_instruction();
  const ShapeIndex& index = state.defining_index();
  const HloInstruction* taker = inst;
  if (inst->opcode() == HloOpcode::kParameter) {
    const auto callers = inst->parent()->caller_instructions();
    if (callers.size() != 1) return false;
    taker = callers[0];
  }
  switch (taker->opcode()) {
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kCopy:
      return index.empty() && AddSource(taker->operand(0), {}, sources);
    case HloOpcode::kWhile:
      return AddSource(taker->operand(0), index, sources) &&
             AddSource(taker->while_body()->root_instruction(), index, sources);
    case HloOpcode::kConditional:
      for (int64_t i = 0; i < taker->branch_count(); ++i) {
        const HloComputation* branch = taker->branch_computation(i);
        if (taker == inst
                ? !AddSource(branch->root_instruction(), index, sources)
                : branch == inst->parent() &&
                      !AddSource(taker->operand(i + 1), index, sources)) {
          return false;
        }
      }
      return true;
    default:  // Makes no states, or is none that is known here.
      return false;
  }
}

const AsyncInPlace::Starts& AsyncInPlace::StartsOf(const HloValue& state) {
  if (auto it = starts_.find(&state); it != starts_.end()) return it->second;
  Starts starts;
  std::vector<const HloValue*> open = {&state};
  absl::flat_hash_set<const HloValue*> seen = {&state};
  bool all_known = true;
  for (size_t i = 0; i < open.size() && all_known; ++i) {
    HloInstruction* inst = open[i]->defining_instruction();
    if (auto known = starts_.find(open[i]); known != starts_.end()) {
      all_known = !known->second.empty();
      for (HloInstruction* start : known->second) {
        if (!absl::c_linear_search(starts, start)) starts.push_back(start);
      }
    } else if (inst->opcode() == HloOpcode::kAsyncStart &&
               open[i]->defining_index().empty()) {
      if (!absl::c_linear_search(starts, inst)) starts.push_back(inst);
    } else {
      std::vector<const HloValue*> sources;
      all_known = AddSources(*open[i], &sources);
      for (const HloValue* source : sources) {
        if (seen.insert(source).second) open.push_back(source);
      }
    }
  }
  if (!all_known) starts.clear();
  return starts_[&state] = std::move(starts);
}

std::vector<HloUse> AsyncInPlace::InPlaceOf(const HloValue& value) const {
  HloInstruction* inst = value.defining_instruction();
  const ShapeIndex& index = value.defining_index();
  std::vector<HloUse> uses;
  if (inst->opcode() == HloOpcode::kWhile) uses.emplace_back(inst, 0, index);
  for (const auto& [source, output] :
       alias_info_.GetInPlaceInputOutputPairs(inst)) {
    if (output == index && source.operand_number < inst->operand_count()) {
      uses.emplace_back(inst, source.operand_number, source.operand_index);
    }
  }
  return uses;
}

const std::vector<AsyncInPlace::Pair>& AsyncInPlace::PairsOf(
    HloInstruction* start) {
  const auto [it, is_new] = pairs_.try_emplace(start);
  std::vector<Pair>& pairs = it->second;
  if (!is_new) return pairs;
  for (auto& [operand, result] :
       alias_info_.GetInPlaceInputOutputPairs(start)) {
    pairs.push_back(
        {Below({0, operand.operand_number}, operand.operand_index), result});
  }
  const HloComputation* wrapped = start->async_wrapped_computation();
  const HloInstruction* root = wrapped->root_instruction();
  if (!dataflow_.HasValues(root)) return pairs;
  // The parts of the operands, by value.
  absl::flat_hash_map<const HloValue*, std::vector<ShapeIndex>> parts;
  for (const HloInstruction* parameter : wrapped->parameter_instructions()) {
    for (const auto& [index, values] :
         dataflow_.GetInstructionValueSet(parameter)) {
      if (values.values().size() != 1) continue;
      parts[values.values()[0]].push_back(
          Below({0, parameter->parameter_number()}, index));
    }
  }
  for (const auto& [index, values] : dataflow_.GetInstructionValueSet(root)) {
    const ShapeIndex result = Below({1}, index);
    // One that is returned as it is.
    const auto [returned, part] = FollowTuplesToTheEnd(root, index);
    if (returned->opcode() == HloOpcode::kParameter) {
      pairs.push_back({Below({0, returned->parameter_number()}, part), result});
      continue;
    }
    std::vector<const HloValue*> open(values.values());
    absl::flat_hash_set<const HloValue*> seen(open.begin(), open.end());
    auto add = [&](const HloInstruction* inst, const ShapeIndex& at) {
      std::vector<const HloValue*> sources;
      AddSource(inst, at, &sources);
      for (const HloValue* source : sources) {
        if (seen.insert(source).second) open.push_back(source);
      }
    };
    for (size_t i = 0; i < open.size(); ++i) {
      const HloInstruction* inst = open[i]->defining_instruction();
      if (auto there = parts.find(open[i]);
          there != parts.end() && place_of_copy_ == nullptr) {
        for (const ShapeIndex& operand : there->second) {
          pairs.push_back({operand, result});
        }
        continue;
      }
      // A branch's result is united with those of the others.
      if (inst->opcode() == HloOpcode::kConditional &&
          place_of_copy_ == nullptr) {
        for (const HloComputation* branch : inst->branch_computations()) {
          add(branch->root_instruction(), open[i]->defining_index());
        }
      }
      for (const HloUse& use : InPlaceOf(*open[i])) {
        if (place_of_copy_ == nullptr) {
          add(use.instruction->operand(use.operand_number), use.operand_index);
          continue;
        }
        const std::optional<HloUse> copy = place_of_copy_(use);
        if (copy.has_value() && copy->instruction == start) {
          pairs.push_back(
              {Below({0, copy->operand_number}, copy->operand_index), result});
        }
      }
    }
  }
  return pairs;
}

}  // namespace xla
