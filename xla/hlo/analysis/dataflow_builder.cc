#include "xla/hlo/analysis/dataflow_builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/async_operands.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

// Numbers all positions (instruction, shape index), records for each what it is
// (a definition, a forward from another position, or a merge of several), and
// lets ValueMerges resolve the resulting graph. Nothing is iterated to a fixed
// point over the module, which makes the analysis linear apart from the sets
// themselves.

namespace xla {
namespace {

absl::Status DoesNotFit(const HloInstruction& inst, const ShapeIndex& to,
                        const HloInstruction& source, const ShapeIndex& from) {
  return absl::InvalidArgumentError(absl::StrCat(
      inst.name(), " with shape ", inst.shape().ToString(), " cannot be, at ",
      to.ToString(), ", what ", source.name(), " is at ", from.ToString(), ": ",
      source.shape().ToString()));
}

const Shape* Subshape(const HloInstruction& inst, const ShapeIndex& index) {
  return ShapeUtil::IndexIsValid(inst.shape(), index)
             ? &ShapeUtil::GetSubshape(inst.shape(), index)
             : nullptr;
}

ShapeIndex Tail(const ShapeIndex& index, int64_t from) {
  return ShapeIndex(index.begin() + from, index.end());
}

}  // namespace

// First what flows between computations, then within them. Everything that no
// rule mentions stays a definition.
absl::Status DataflowBuilder::Build() {
  NumberPositions();
  const CallGraph& graph = *analysis_.call_graph_;
  for (const CallGraphNode& node : graph.nodes()) {
    if (node.context() == CallContext::kBoth) {
      return absl::FailedPreconditionError(
          absl::StrCat("computation ", node.computation()->name(),
                       " is called and also applied by a reduce or the like: ",
                       "flatten-call-graph has to run first"));
    }
    RETURN_IF_ERROR(HandleParameters(node.computation()));
  }
  for (const Entry& entry : order_) {
    if (OnlyDefines(entry.opcode)) continue;
    RETURN_IF_ERROR(Handle(entry.instruction));
  }
  if (!merges_->Resolve().ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "module ", analysis_.module_.name(), " calls recursively"));
  }
  MakeValues();
  FindUsesInWideTuples();
  return absl::OkStatus();
}

// Positions of one instruction are consecutive in pre-order of its shape, so
// that whole subtrees can be forwarded by counting.
void DataflowBuilder::NumberPositions() {
  const std::vector<HloComputation*> computations =
      analysis_.module_.MakeComputationPostOrder(options_.execution_threads);
  InstructionSlots& slots = analysis_.slots_;
  slots = InstructionSlots::Empty(computations);
  analysis_.value_sets_.resize(slots.size());
  first_position_.resize(slots.size(), -1);
  order_.reserve(slots.size());
  int32_t positions = 0;
  for (const HloComputation* computation : computations) {
    const std::vector<HloInstruction*> order =
        computation->MakeInstructionPostOrder();
    for (size_t i = 0; i < order.size(); ++i) {
      if (i + kInstructionsAhead < order.size()) {
        PrefetchInstruction(order[i + kInstructionsAhead]);
      }
      HloInstruction* inst = order[i];
      const int32_t slot = slots.Add(inst);
      order_.push_back({inst, slot, inst->opcode()});
      first_position_[slot] = positions;
      const auto& set = analysis_.value_sets_[slot].emplace(&inst->shape());
      positions += static_cast<int32_t>(set.end().operator->() -
                                        set.begin().operator->());
    }
  }
  merges_.emplace(positions);
}

int32_t DataflowBuilder::Position(const HloInstruction* inst,
                                  const ShapeIndex& index) const {
  const int32_t slot = analysis_.slots_[inst];
  if (index.empty()) return first_position_[slot];
  const InstructionValueSet& set = *analysis_.value_sets_[slot];
  auto it = set.find(index);
  if (it == set.end()) return -1;
  return first_position_[slot] +
         static_cast<int32_t>(it.operator->() - set.begin().operator->());
}

// Forwards a subtree of `source` to `inst` if both have the same structure.
bool DataflowBuilder::FlowIfSame(const HloInstruction* inst,
                                 const ShapeIndex& to,
                                 const HloInstruction* source,
                                 const ShapeIndex& from) {
  const Shape* to_shape = Subshape(*inst, to);
  const Shape* from_shape = Subshape(*source, from);
  if (to_shape == nullptr || from_shape == nullptr ||
      !ShapeUtil::EqualStructure(*to_shape, *from_shape)) {
    return false;
  }
  const int32_t first = Position(inst, to);
  const int32_t first_source = Position(source, from);
  const int32_t count =
      to_shape->IsTuple()
          ? static_cast<int32_t>(ShapeUtil::SubshapeCount(*to_shape))
          : 1;
  for (int32_t i = 0; i < count; ++i) {
    merges_->Forward(first + i, first_source + i);
  }
  return true;
}

// One source forwards; several are merged position by position.
absl::Status DataflowBuilder::Flow(const HloInstruction* inst,
                                   const ShapeIndex& to,
                                   absl::Span<const Source> sources, bool phi) {
  for (const Source& source : sources) {
    if (!FlowIfSame(inst, to, source.instruction, source.index)) {
      return DoesNotFit(*inst, to, *source.instruction, source.index);
    }
  }
  if (sources.size() < 2) return absl::OkStatus();
  absl::InlinedVector<int32_t, 4> from;
  for (const Source& source : sources) {
    from.push_back(Position(source.instruction, source.index));
  }
  const int32_t first = Position(inst, to);
  const int64_t count =
      ShapeUtil::SubshapeCount(ShapeUtil::GetSubshape(inst->shape(), to));
  for (int32_t i = 0; i < count; ++i) {
    merges_->Merge(first + i, from, phi);
    for (int32_t& position : from) ++position;
  }
  return absl::OkStatus();
}

// --- Between computations
// -----------------------------------------------------

// The sources of a parameter: the operand at every call site and, for loops,
// the body's root.
absl::Status DataflowBuilder::HandleParameters(
    const HloComputation* computation) {
  const CallGraphNode& node = analysis_.call_graph_->GetNode(computation);
  if (node.caller_callsites().empty() ||
      node.context() == CallContext::kEmbedded) {
    return absl::OkStatus();
  }
  bool phi = false;
  for (const CallSite& site : node.caller_callsites()) {
    const HloOpcode opcode = site.instruction()->opcode();
    phi |= opcode == HloOpcode::kWhile || opcode == HloOpcode::kConditional;
  }
  for (int64_t i = 0; i < computation->num_parameters(); ++i) {
    Sources sources;
    for (const CallSite& site : node.caller_callsites()) {
      RETURN_IF_ERROR(AddSources(site, computation, i, &sources));
    }
    if (sources.empty()) continue;
    RETURN_IF_ERROR(Flow(computation->parameter_instruction(i), {}, sources,
                         phi && options_.ssa_form));
  }
  return absl::OkStatus();
}

absl::Status DataflowBuilder::AddSources(const CallSite& site,
                                         const HloComputation* computation,
                                         int64_t number, Sources* sources) {
  HloInstruction* caller = site.instruction();
  auto add_operand = [&](int64_t operand) {
    if (operand >= caller->operand_count()) {
      return absl::InvalidArgumentError(
          absl::StrCat(caller->name(), " has no operand for parameter ", number,
                       " of ", computation->name()));
    }
    sources->push_back({caller->operand(operand), {}});
    return absl::OkStatus();
  };
  switch (caller->opcode()) {
    case HloOpcode::kCall:
      if (!options_.propagate_through_calls) return absl::OkStatus();
      return add_operand(number);
    case HloOpcode::kWhile:
      RETURN_IF_ERROR(add_operand(number));
      if (IsIncluded(caller->while_body())) {
        sources->push_back({caller->while_body()->root_instruction(), {}});
      }
      return absl::OkStatus();
    case HloOpcode::kConditional:
      for (int32_t branch : BranchesThatAre(caller, computation)) {
        RETURN_IF_ERROR(add_operand(number + branch + 1));
      }
      return absl::OkStatus();
    case HloOpcode::kAsyncStart: {
      const std::vector<AsyncOperand> operands = AsyncOperands(caller);
      // Operands that the chain binds elsewhere are defined by the parameter.
      if (number < static_cast<int64_t>(operands.size())) {
        sources->push_back({operands[number].instruction(), {}});
      }
      return absl::OkStatus();
    }
    default:  // The parameters of embedded computations define values.
      return absl::OkStatus();
  }
}

const std::vector<int32_t>& DataflowBuilder::BranchesThatAre(
    const HloInstruction* conditional, const HloComputation* computation) {
  auto [it, inserted] = branches_.try_emplace(conditional);
  if (inserted) {
    int32_t branch = 0;
    for (const HloComputation* callee : conditional->branch_computations()) {
      it->second[callee].push_back(branch++);
    }
  }
  return it->second[computation];
}

absl::Status DataflowBuilder::HandleCalls(const HloInstruction* inst) {
  Sources sources;
  if (inst->opcode() == HloOpcode::kCall && !options_.propagate_through_calls) {
    return absl::OkStatus();
  }
  if (inst->opcode() == HloOpcode::kWhile) {
    for (const HloComputation* callee : inst->called_computations()) {
      if (callee->num_parameters() == 1) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(inst->name(), " calls ", callee->name(), " which has ",
                       callee->num_parameters(), " parameters, not 1"));
    }
    sources.push_back({inst->operand(0), {}});
    if (IsIncluded(inst->while_body())) {
      sources.push_back({inst->while_body()->root_instruction(), {}});
    }
  } else {
    for (const HloComputation* callee : inst->called_computations()) {
      // Results of another thread are defined here.
      if (!IsIncluded(callee)) return absl::OkStatus();
      sources.push_back({callee->root_instruction(), {}});
    }
  }
  const bool phi = options_.ssa_form && inst->opcode() != HloOpcode::kCall;
  return Flow(inst, {}, sources, phi);
}

// --- Within a computation
// -----------------------------------------------------

bool DataflowBuilder::OnlyDefines(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAddDependency:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kBitcast:
    case HloOpcode::kCollectivePermuteStart:
    case HloOpcode::kCopy:
    case HloOpcode::kDomain:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kRecvDone:
    case HloOpcode::kSend:
    case HloOpcode::kTuple:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_ASYNC:
      return false;
    case HloOpcode::kAfterAll:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kRecv:
    case HloOpcode::kSendDone:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return true;
}

absl::Status DataflowBuilder::Handle(const HloInstruction* inst) {
  auto forward = [&](const ShapeIndex& to, int64_t operand,
                     const ShapeIndex& from) -> absl::Status {
    return FlowIfSame(inst, to, inst->operand(operand), from)
               ? absl::OkStatus()
               : DoesNotFit(*inst, to, *inst->operand(operand), from);
  };
  switch (inst->opcode()) {
    case HloOpcode::kTuple:
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        RETURN_IF_ERROR(forward({i}, i, {}));
      }
      return absl::OkStatus();
    case HloOpcode::kGetTupleElement:
      return forward({}, 0, {inst->tuple_index()});
    case HloOpcode::kBitcast:
      if (options_.bitcast_defines_value) return absl::OkStatus();
      return forward({}, 0, {});
    case HloOpcode::kDomain:
    case HloOpcode::kAddDependency:
    case HloOpcode::kOptimizationBarrier:
    case HloOpcode::kAllReduceDone:
      return forward({}, 0, {});
    case HloOpcode::kCopy:
      if (!inst->shape().IsTuple()) return absl::OkStatus();
      RETURN_IF_ERROR(forward({}, 0, {}));
      merges_->Define(Position(inst, {}));
      return absl::OkStatus();
    case HloOpcode::kCopyDone:
      return forward({}, 0, {0});
    case HloOpcode::kRecvDone:
      return forward({0}, 0, {0});
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kCollectivePermuteDone:
      RETURN_IF_ERROR(forward({}, 0, {1}));
      // The elements are those of the start, the tuple around them is not.
      if (inst->shape().IsTuple()) merges_->Define(Position(inst, {}));
      return absl::OkStatus();
    case HloOpcode::kSend:
      // The token may come first.
      return forward({0}, inst->operand(0)->shape().IsToken() ? 1 : 0, {});
    case HloOpcode::kCopyStart:
      return forward({1}, 0, {});
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kCollectivePermuteStart:
      return HandleStart(inst);
    case HloOpcode::kCall:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
      return HandleCalls(inst);
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
      HandleAsync(inst);
      return absl::OkStatus();
    case HloOpcode::kAfterAll:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kRecv:
    case HloOpcode::kSendDone:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return absl::OkStatus();
}

absl::Status DataflowBuilder::HandleStart(const HloInstruction* inst) {
  // (sources, destinations, …), where each is a tuple if there are several.
  if (FlowIfSame(inst, {0}, inst->operand(0), {})) return absl::OkStatus();
  for (int64_t i = 0; i < inst->operand_count(); ++i) {
    if (!FlowIfSame(inst, {0, i}, inst->operand(i), {})) {
      return DoesNotFit(*inst, {0, i}, *inst->operand(i), {});
    }
  }
  return absl::OkStatus();
}

// Links of a chain define their tuples and contexts, and pass on all else.
void DataflowBuilder::HandleAsync(const HloInstruction* inst) {
  const InstructionValueSet& set =
      *analysis_.value_sets_[analysis_.slots_[inst]];
  for (const auto& [index, unused] : set) {
    const Shape& shape = ShapeUtil::GetSubshape(inst->shape(), index);
    if (shape.IsTuple()) continue;
    if (auto source = AsyncLeafSource(inst, index)) {
      FlowIfSame(inst, index, source->instruction, source->index);
    }
  }
}

// Where an array in the tuple of an asynchronous link comes from: the link
// before, an operand bound anywhere in the chain, or the root of the wrapped
// computation. nullopt: the link defines it.
std::optional<DataflowBuilder::Source> DataflowBuilder::AsyncLeafSource(
    const HloInstruction* link, const ShapeIndex& index) const {
  const Shape& shape = ShapeUtil::GetSubshape(link->shape(), index);
  auto fits = [&](const HloInstruction* source, const ShapeIndex& from) {
    const Shape* there = Subshape(*source, from);
    return there != nullptr && ShapeUtil::Compatible(*there, shape);
  };
  // Where the done has a result, the others have it in their tuple.
  const bool is_done = link->opcode() == HloOpcode::kAsyncDone;
  ShapeIndex in_state = index;
  if (is_done) in_state.push_front(1);
  // Contexts are each link's own.
  if (in_state.empty() || in_state[0] >= 2) return std::nullopt;
  if (link->opcode() != HloOpcode::kAsyncStart &&
      fits(link->operand(0), in_state)) {
    return Source{link->operand(0), in_state};
  }
  if (in_state.size() >= 2 && in_state[0] == 0) {
    const HloInstruction* start = link->async_chain_start();
    if (start == nullptr) return std::nullopt;
    const std::vector<AsyncOperand> operands =
        AsyncOperands(const_cast<HloInstruction*>(start));
    if (in_state[1] >= static_cast<int64_t>(operands.size())) {
      return std::nullopt;
    }
    const HloInstruction* operand = operands[in_state[1]].instruction();
    if (!fits(operand, Tail(in_state, 2))) return std::nullopt;
    return Source{operand, Tail(in_state, 2)};
  }
  if (in_state[0] == 1) {
    const HloComputation* callee = link->async_wrapped_computation();
    if (callee == nullptr || !IsIncluded(callee)) return std::nullopt;
    const ShapeIndex in_root = Tail(in_state, 1);
    if (!fits(callee->root_instruction(), in_root)) return std::nullopt;
    return Source{callee->root_instruction(), in_root};
  }
  return std::nullopt;
}

// --- Values
// -------------------------------------------------------------------

void DataflowBuilder::MakeValues() {
  // Positions that pass on or merge what is defined elsewhere.
  struct Rest {
    int32_t position;
    HloInstruction* instruction;
    const ShapeIndex* index;
    HloValueSet* set;
  };
  std::vector<Rest> rest;
  std::vector<HloValue*> value_at(merges_->size(), nullptr);
  const HloInstruction* entry_root =
      analysis_.module_.has_entry_computation()
          ? analysis_.module_.entry_computation()->root_instruction()
          : nullptr;
  // Phis have the last ids, as in OpenXLA, where they are found last: the order
  // of ids decides where equals go in heaps.
  for (const bool phis : {false, true}) {
    int32_t position = 0;
    for (const Entry& entry : order_) {
      for (auto& [index, set] : *analysis_.value_sets_[entry.slot]) {
        if (merges_->Unique(position) != position) {
          if (!phis) {
            rest.push_back({position, entry.instruction, &index, &set});
          }
        } else if (merges_->IsPhi(position) == phis) {
          HloValue* value = &analysis_.storage_.emplace_back(
              analysis_.next_value_id_++, entry.instruction, index, phis,
              entry.instruction == entry_root);
          analysis_.values_.push_back(value);
          value_at[position] = value;
          set = HloValueSet(value);
        }
        ++position;
      }
    }
  }
  for (const Rest& place : rest) {
    const int32_t unique = merges_->Unique(place.position);
    if (unique >= 0) {
      value_at[unique]->AddPosition(place.instruction, *place.index);
      *place.set = HloValueSet(value_at[unique]);
      continue;
    }
    std::vector<const HloValue*> values;
    for (int32_t source : merges_->Values(place.position)) {
      value_at[source]->AddPosition(place.instruction, *place.index);
      values.push_back(value_at[source]);
    }
    *place.set = HloValueSet(values);
  }
}

// The uses of a value are found on demand, by visiting all users of the tuples
// it is in. For the values of wide tuples, that would be quadratic: their uses
// are found here, together.
void DataflowBuilder::FindUsesInWideTuples() {
  constexpr int64_t kWide = 64;
  HloValue::TupleReaders readers;
  std::vector<const InstructionValueSet*> wide;
  for (const Entry& entry : order_) {
    const InstructionValueSet& set = *analysis_.value_sets_[entry.slot];
    if (set.end().operator->() - set.begin().operator->() <= kWide ||
        entry.instruction->user_count() <= kWide) {
      continue;
    }
    wide.push_back(&set);
    std::vector<HloInstruction*>& found = readers[entry.instruction];
    for (HloInstruction* user : entry.instruction->users()) {
      if (user->opcode() != HloOpcode::kGetTupleElement || user->IsRoot()) {
        found.push_back(user);
      }
    }
  }
  for (const InstructionValueSet* set : wide) {
    for (const auto& [index, values] : *set) {
      for (const HloValue* value : values.values()) {
        analysis_.GetValue(value->id()).FindUsesAmong(readers);
      }
    }
  }
}

}  // namespace xla
