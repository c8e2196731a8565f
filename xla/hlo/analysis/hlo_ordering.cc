#include "xla/hlo/analysis/hlo_ordering.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/async_in_place.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_opcode.h"

// Order of two instructions anywhere in the call tree: both are lifted to their
// nearest ancestors in a common computation. Different ancestors are ordered by
// that computation's order (a dependency graph or a schedule). A common
// ancestor that is a while runs its condition before its body in each
// iteration, and different branches of a conditional exclude each other;
// anything else is unordered.

namespace xla {
namespace {

using ExecutionConstraint = HloOrdering::ExecutionConstraint;

// One is a link of an asynchronous chain, the other what the chain wraps.
bool IsLinkOf(const HloInstruction* link, const HloInstruction* wrapped) {
  return link->IsAsynchronous() &&
         link->async_wrapped_computation() != nullptr &&
         link->async_wrapped_instruction() == wrapped;
}

// The link of an asynchronous chain that `inst` is, or that runs it, of several
// the start; null if there is none.
const HloInstruction* AsyncLink(const HloInstruction* inst) {
  if (inst->IsAsynchronous()) return inst;
  if (!inst->parent()->IsAsyncComputation()) return nullptr;
  const HloInstruction* link = nullptr;
  for (const HloInstruction* caller : inst->parent()->caller_instructions()) {
    if (caller->opcode() == HloOpcode::kAsyncStart) return caller;
    if (caller->IsAsynchronous()) link = caller;
  }
  return link;
}

// Whether a loop or the caller of the computation takes the value of `inst`.
bool IsTaken(const HloInstruction* inst) {
  return inst->IsRoot() ||
         absl::c_any_of(inst->users(), [](const HloInstruction* user) {
           return user->opcode() == HloOpcode::kWhile;
         });
}

// The same of a state of the chain that holds `value`. What happens to it there
// is told by other uses.
bool IsTakenWithState(const HloValue& value, const HloInstruction* link) {
  if (absl::c_none_of(value.positions(), [](const HloPosition& position) {
        return !position.index.empty() && IsTaken(position.instruction);
      })) {
    return false;
  }
  const HloComputation* computation = link->parent();
  for (; link != nullptr && link->parent() == computation;
       link = link->async_chain_next()) {
    for (const AsyncStatePlace& place : AsyncStatePlaces(link)) {
      if (!IsTaken(place.inst)) continue;
      for (const HloPosition& position : value.positions()) {
        if (position.instruction == place.inst &&
            position.index.size() > place.index.size() &&
            std::equal(place.index.begin(), place.index.end(),
                       position.index.begin())) {
          return true;
        }
      }
    }
  }
  return false;
}

bool IsEntryParameter(const HloInstruction* inst) {
  return inst->opcode() == HloOpcode::kParameter &&
         inst->parent()->IsEntryComputation();
}

bool IsControlFlow(HloOpcode opcode) {
  return opcode == HloOpcode::kWhile || opcode == HloOpcode::kConditional ||
         opcode == HloOpcode::kCall || opcode == HloOpcode::kAsyncStart;
}

// The computation called by `caller` that `inst` is nested in; null if there is
// none. Climbs from the instruction: a conditional may have many branches.
const HloComputation* CalleeAround(const CallGraph& graph,
                                   const HloInstruction* caller,
                                   const HloInstruction* inst) {
  const HloComputation* current = inst->parent();
  while (true) {
    const CallGraphNode& node = graph.GetNode(current);
    if (node.caller_callsites().empty()) return nullptr;
    if (node.caller_callsites().size() > 1 && !current->IsAsyncComputation()) {
      break;
    }
    const HloInstruction* call = node.caller_callsites()[0].instruction();
    if (call == caller) return current;
    current = call->parent();
  }
  for (const HloComputation* callee : caller->called_computations()) {
    if (graph.Dominates(callee, current)) return callee;
  }
  return nullptr;
}

}  // namespace

HloOrdering::HloOrdering(const HloModule* module)
    : module_(module),
      call_graph_(CallGraph::Build(module)),
      has_async_computations_(
          absl::c_any_of(module->computations(), [](const auto* computation) {
            return computation->IsAsyncComputation();
          })) {}

// --- Order of instructions
// -----------------------------------------------------

// Climbs the unique chain of callers; falls back to dominance in the call graph
// where a computation has several.
bool HloOrdering::IsNestedIn(const HloInstruction* inst,
                             const HloComputation* computation) const {
  const int depth = call_graph_->GetNode(computation).depth();
  const HloComputation* current = inst->parent();
  while (current != computation) {
    const CallGraphNode& node = call_graph_->GetNode(current);
    // Callers are less deep than what they call.
    if (node.depth() <= depth || node.caller_callsites().empty()) return false;
    if (node.caller_callsites().size() > 1 && !current->IsAsyncComputation()) {
      return call_graph_->Dominates(computation, current);
    }
    current = node.caller_callsites()[0].instruction()->parent();
  }
  return true;
}

ExecutionConstraint HloOrdering::GetExecutionConstraint(
    const HloInstruction* a, const HloInstruction* b) const {
  if (a == b || IsLinkOf(a, b) || IsLinkOf(b, a)) {
    return ExecutionConstraint::kIsSame;
  }
  auto [a_ancestor, b_ancestor] =
      call_graph_->NearestAncestorsInSameComputation(
          const_cast<HloInstruction*>(a), const_cast<HloInstruction*>(b));
  if (a_ancestor == nullptr) return ExecutionConstraint::kUnordered;
  if (a_ancestor != b_ancestor) {
    if (ExecutesBeforeInSameComputation(a_ancestor, b_ancestor)) {
      return ExecutionConstraint::kRunBeforeStart;
    }
    if (ExecutesBeforeInSameComputation(b_ancestor, a_ancestor)) {
      return ExecutionConstraint::kRunAfter;
    }
    return ExecutionConstraint::kUnordered;
  }
  if (a_ancestor == a || a_ancestor == b) {
    return ExecutionConstraint::kUnordered;
  }
  if (a_ancestor->opcode() == HloOpcode::kWhile &&
      IsNestedIn(a, a_ancestor->while_condition()) &&
      IsNestedIn(b, a_ancestor->while_body())) {
    return ExecutionConstraint::kRunBeforeEnd;
  }
  if (a_ancestor->opcode() == HloOpcode::kConditional) {
    const HloComputation* a_branch = CalleeAround(*call_graph_, a_ancestor, a);
    const HloComputation* b_branch = CalleeAround(*call_graph_, a_ancestor, b);
    if (a_branch != nullptr && b_branch != nullptr && a_branch != b_branch) {
      const auto branches = a_ancestor->called_computations();
      return absl::c_find(branches, a_branch) < absl::c_find(branches, b_branch)
                 ? ExecutionConstraint::kRunExclusiveBefore
                 : ExecutionConstraint::kRunExclusiveAfter;
    }
  }
  return ExecutionConstraint::kUnordered;
}

bool HloOrdering::ExecutesBefore(const HloInstruction* a,
                                 const HloInstruction* b) const {
  switch (GetExecutionConstraint(a, b)) {
    case ExecutionConstraint::kRunBeforeStart:
    case ExecutionConstraint::kRunBeforeEnd:
    case ExecutionConstraint::kRunExclusiveBefore:
      return true;
    case ExecutionConstraint::kIsSame:
    case ExecutionConstraint::kRunExclusiveAfter:
    case ExecutionConstraint::kRunAfter:
    case ExecutionConstraint::kUnordered:
      return false;
  }
  return false;
}

// --- Lives of values
// -----------------------------------------------------------

// Parameters are defined when their computation starts, whatever their place in
// a schedule.
bool HloOrdering::IsDefinedBefore(const HloValue& a, const HloValue& b) const {
  const HloInstruction* a_def = a.defining_instruction();
  const HloInstruction* b_def = b.defining_instruction();
  if (a_def == b_def) return false;
  // A schedule may list parameters anywhere; they are there from the start.
  if (IsEntryParameter(b_def)) return false;
  if (IsEntryParameter(a_def)) return true;
  if (b_def->opcode() == HloOpcode::kParameter &&
      IsNestedIn(a_def, b_def->parent())) {
    return false;
  }
  if (a_def->opcode() == HloOpcode::kParameter &&
      IsNestedIn(b_def, a_def->parent())) {
    return true;
  }
  // Values defined by a while, conditional or call exist when its callees have
  // run.
  if (IsControlFlow(b_def->opcode()) &&
      CalleeAround(*call_graph_, b_def, a_def) != nullptr) {
    return true;
  }
  return ExecutesBefore(a_def, b_def);
}

std::vector<HloPosition> HloOrdering::PlacesTakenBy(
    const HloValue& a, const HloValue& b, const HloDataflowAnalysis& dataflow,
    const AliasInfo* alias_info) const {
  std::vector<HloPosition> places;
  const AliasInfo default_info;
  AsyncInPlace in_place(dataflow,
                        alias_info == nullptr ? default_info : *alias_info);
  for (const HloPosition& position : a.positions()) {
    const auto results =
        in_place.ResultsInPlaceOf(position.instruction, position.index);
    if (absl::c_any_of(results, [&](const HloPosition& result) {
          return absl::c_linear_search(dataflow.GetValueSet(result).values(),
                                       &b);
        })) {
      places.push_back(position);
    }
  }
  return places;
}

bool HloOrdering::IsReadInside(const HloInstruction* inst,
                               const ShapeIndex& index, const HloValue& value,
                               const HloInstruction* def,
                               const HloDataflowAnalysis& dataflow) const {
  if (!has_async_computations_ || index.size() < 2) return false;
  const AliasInfo default_info;
  AsyncInPlace in_place(dataflow, default_info);
  return absl::c_any_of(
      in_place.OperationsWith(inst, index), [&](const HloInstruction* start) {
        const HloComputation* wrapped = start->async_wrapped_computation();
        return CalleeAround(*call_graph_, start, def) == wrapped &&
               absl::c_any_of(value.positions(), [&](const HloPosition& place) {
                 return place.instruction->opcode() == HloOpcode::kParameter &&
                        place.instruction->parent() == wrapped;
               });
      });
}

bool HloOrdering::UseIsBeforeValueDefinition(
    const HloUse& use, const HloValue* used, const HloValue& value,
    const HloDataflowAnalysis& dataflow, const AliasInfo* alias_info,
    bool use_is_always_before_def_in_same_instr) const {
  const HloInstruction* def = value.defining_instruction();
  const HloInstruction* user = use.instruction;
  if (user == def) {
    if (use_is_always_before_def_in_same_instr) return true;
    return dataflow.CanShareOperandBufferWithUser(
        use.instruction->mutable_operand(use.operand_number), use.operand_index,
        value.defining_instruction(), value.defining_index(), alias_info);
  }
  // A caller passes its operands when its callees start; what they do with
  // it is counted as their uses.
  if (IsControlFlow(user->opcode()) &&
      CalleeAround(*call_graph_, user, def) != nullptr) {
    return true;
  }
  if (used != nullptr &&
      IsReadInside(user->operand(use.operand_number), use.operand_index, *used,
                   def, dataflow)) {
    return true;
  }
  // Operands of an asynchronous chain are read until it is done, but an update
  // makes a context of its own from the last one.
  const bool is_context =
      user->opcode() == HloOpcode::kAsyncUpdate && use.operand_number == 0 &&
      !use.operand_index.empty() && use.operand_index[0] >= 2;
  const HloInstruction* end = user;
  if (const HloInstruction* link = AsyncLink(user)) {
    const HloInstruction* done = link->async_chain_done();
    // What the chain runs is in order.
    const bool is_inside =
        used != nullptr && link != user && IsNestedIn(def, user->parent());
    if (done != nullptr && !is_context && !is_inside &&
        (used == nullptr || !IsTakenWithState(*used, link))) {
      end = done;
    }
  }
  switch (GetExecutionConstraint(end, def)) {
    case ExecutionConstraint::kRunBeforeStart:
    case ExecutionConstraint::kRunBeforeEnd:
    // If the value is defined, the use does not take place.
    case ExecutionConstraint::kRunExclusiveBefore:
    case ExecutionConstraint::kRunExclusiveAfter:
      return true;
    case ExecutionConstraint::kIsSame:
      // A link passes on what the wrapped instruction reads; whether that may
      // write over it is said by its own use.
      return !def->IsAsynchronous() || use_is_always_before_def_in_same_instr;
    case ExecutionConstraint::kRunAfter:
    case ExecutionConstraint::kUnordered:
      break;
  }
  // The value that a while or a call defines begins when its callees are done,
  // and so after uses in there.
  return IsControlFlow(def->opcode()) &&
         def->opcode() != HloOpcode::kAsyncStart &&
         CalleeAround(*call_graph_, def, end) != nullptr;
}

bool HloOrdering::UsesBeforeValueDefinition(
    absl::Span<const HloUse* const> uses, const HloValue& value,
    const HloDataflowAnalysis& dataflow, const AliasInfo* alias_info,
    bool use_is_always_before_def_in_same_instr) const {
  return absl::c_all_of(uses, [&](const HloUse* use) {
    return UseIsBeforeValueDefinition(*use, /*used=*/nullptr, value, dataflow,
                                      alias_info,
                                      use_is_always_before_def_in_same_instr);
  });
}

// The definition of a comes before that of b, and all uses of a do as well.
// Values that leave the module, or leave a computation in which b is defined,
// never end before b.
bool HloOrdering::LiveRangeStrictlyBefore(
    const HloValue& a, const HloValue& b, const HloDataflowAnalysis& dataflow,
    const AliasInfo* alias_info,
    bool use_is_always_before_def_in_same_instr) const {
  auto ends_before = [&](absl::Span<const HloPosition> taken) {
    auto is_taken = [&](HloInstruction* inst, const ShapeIndex& index) {
      return absl::c_linear_search(taken, HloPosition{inst, index});
    };
    const HloInstruction* def = b.defining_instruction();
    if (!IsDefinedBefore(a, b) &&
        (a.defining_instruction() != def ||
         !is_taken(a.instruction(), a.defining_index()))) {
      return false;
    }
    // A value that leaves a computation lives to its end.
    for (const HloPosition& position : a.positions()) {
      if (position.instruction->IsRoot() &&
          !is_taken(position.instruction, position.index) &&
          IsNestedIn(def, position.instruction->parent()) &&
          !IsReadInside(position.instruction, position.index, a, def,
                        dataflow)) {
        return false;
      }
    }
    return absl::c_all_of(a.GetUses(), [&](const HloUse& use) {
      return is_taken(use.instruction->mutable_operand(use.operand_number),
                      use.operand_index) ||
             UseIsBeforeValueDefinition(use, &a, b, dataflow, alias_info,
                                        use_is_always_before_def_in_same_instr);
    });
  };
  if (a.live_out_of_module()) return false;
  if (ends_before({})) return true;
  if (!has_async_computations_) return false;
  // Nobody else reads an operand where an asynchronous operation puts b.
  const std::vector<HloPosition> taken =
      PlacesTakenBy(a, b, dataflow, alias_info);
  return !taken.empty() && ends_before(taken);
}

bool HloOrdering::MayInterfere(const HloValue& a, const HloValue& b,
                               const HloDataflowAnalysis& dataflow,
                               const AliasInfo* alias_info) const {
  return !LiveRangeStrictlyBefore(a, b, dataflow, alias_info) &&
         !LiveRangeStrictlyBefore(b, a, dataflow, alias_info);
}

// --- Orderings
// -----------------------------------------------------------------

bool PredecessorHloOrdering::ExecutesBeforeInSameComputation(
    const HloInstruction* a, const HloInstruction* b) const {
  auto it = predecessors_.find(a->parent());
  // Instructions of a fusion have no order of their own.
  return a != b && it != predecessors_.end() && it->second->IsReachable(a, b);
}

std::string PredecessorHloOrdering::ToStringHelper(
    const std::string& name) const {
  std::string text = absl::StrCat(name, "\n");
  for (const HloComputation* computation :
       module_->MakeNonfusionComputations()) {
    auto it = predecessors_.find(computation);
    if (it == predecessors_.end()) continue;
    absl::StrAppend(&text, "computation ", computation->name(), ":\n");
    for (const HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      absl::StrAppend(&text, "  ", inst->name(), " after:");
      for (const HloInstruction* operand : inst->operands()) {
        absl::StrAppend(&text, " ", operand->name());
      }
      for (const HloInstruction* predecessor : inst->control_predecessors()) {
        absl::StrAppend(&text, " ", predecessor->name());
      }
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

DependencyHloOrdering::DependencyHloOrdering(const HloModule* module)
    : PredecessorHloOrdering(module) {
  // Nothing changes the map afterwards, so that its sparse form answers as fast
  // as a matrix that fits into no cache: 16 MiB, 11,585 instructions.
  constexpr size_t kMaxMatrixBytes = size_t{16} << 20;
  for (const HloComputation* computation :
       module->MakeNonfusionComputations()) {
    predecessors_[computation] =
        HloReachabilityMap::Build(computation, kMaxMatrixBytes);
  }
}

std::string DependencyHloOrdering::ToString() const {
  return ToStringHelper("DependencyHloOrdering");
}

SequentialHloOrdering::SequentialHloOrdering(const HloSchedule& schedule)
    : HloOrdering(schedule.module()), schedule_(schedule) {
  Initialize();
}

SequentialHloOrdering::SequentialHloOrdering(HloSchedule&& schedule)
    : HloOrdering(schedule.module()), schedule_(std::move(schedule)) {
  Initialize();
}

void SequentialHloOrdering::Initialize() {
  for (const HloComputation* computation :
       module_->MakeNonfusionComputations()) {
    if (!schedule_.is_computation_scheduled(computation)) continue;
    std::vector<int32_t>& positions = order_[computation];
    positions.resize(computation->next_unique_instruction_internal_id(), -1);
    int32_t next = 0;
    for (const HloInstruction* inst :
         schedule_.sequence(computation).instructions()) {
      positions[inst->local_id()] = next++;
    }
  }
}

bool SequentialHloOrdering::ExecutesBeforeInSameComputation(
    const HloInstruction* a, const HloInstruction* b) const {
  auto it = order_.find(a->parent());
  if (it == order_.end() || a->IsRoot()) return false;
  auto position_of = [&](const HloInstruction* inst) {
    const int64_t id = inst->local_id();
    return id < static_cast<int64_t>(it->second.size()) ? it->second[id] : -1;
  };
  const int32_t a_position = position_of(a);
  const int32_t b_position = position_of(b);
  return a_position >= 0 && b_position >= 0 && a_position < b_position;
}

const HloInstructionSequence* SequentialHloOrdering::SequentialOrder(
    const HloComputation& computation) const {
  return schedule_.is_computation_scheduled(&computation)
             ? &schedule_.sequence(&computation)
             : nullptr;
}

std::string SequentialHloOrdering::ToString() const {
  return absl::StrCat("SequentialHloOrdering\n", schedule_.ToString());
}

}  // namespace xla
