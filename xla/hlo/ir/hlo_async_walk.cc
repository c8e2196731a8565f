#include "xla/hlo/ir/hlo_async_walk.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::async_walk {
namespace {

// Calls in calls in calls are followed along this many of their paths to a
// place, so that their number stays bounded.
constexpr size_t kMaxPathsOfCalls = 256;

bool CallsWhatItPassesOn(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kCall ||
         inst.opcode() == HloOpcode::kWhile ||
         inst.opcode() == HloOpcode::kConditional;
}

// Where the state at the parameter comes from.
void AddStateSourcesOfParameter(const StatePlace& place,
                                std::vector<StatePlace>* sources) {
  const HloComputation* computation = place.inst->parent();
  if (computation == nullptr) return;
  const int64_t number = place.inst->parameter_number();
  for (const HloInstruction* caller : computation->caller_instructions()) {
    if (!place.MayBeIn(caller)) continue;
    switch (caller->opcode()) {
      case HloOpcode::kCall:
        if (number < caller->operand_count()) {
          sources->push_back(place.Outside(caller->operand(number)));
        }
        break;
      case HloOpcode::kWhile:
        sources->push_back(place.Outside(caller->operand(0)));
        sources->push_back(
            place.At(caller->while_body()->root_instruction(), place.index));
        break;
      case HloOpcode::kConditional:
        for (int b = 0; b < caller->branch_count(); ++b) {
          if (caller->branch_computation(b) == computation) {
            sources->push_back(place.Outside(caller->operand(b + 1)));
          }
        }
        break;
      default:  // Of no other caller is it known what becomes of states.
        break;
    }
  }
}

// Effect of the caller of a computation on the state in its root.
void AddStateTargetsOfRoot(const StatePlace& place,
                           std::vector<StatePlace>* targets) {
  const HloComputation* computation = place.inst->parent();
  for (const HloInstruction* caller : computation->caller_instructions()) {
    if (!place.MayBeIn(caller)) continue;
    if (caller->opcode() == HloOpcode::kWhile) {
      if (caller->while_body() != computation) continue;
      targets->push_back(place.Outside(caller));
      targets->push_back(
          place.At(computation->parameter_instruction(0), place.index));
    } else if (caller->opcode() == HloOpcode::kCall ||
               caller->opcode() == HloOpcode::kConditional) {
      targets->push_back(place.Outside(caller));
    }
  }
}

void AddStateTargetsInUser(const StatePlace& place, const HloInstruction* user,
                           std::vector<StatePlace>* targets) {
  if (user->opcode() == HloOpcode::kGetTupleElement) {
    if (!place.index.empty() && place.index.front() == user->tuple_index()) {
      targets->push_back(place.At(user, OutsideElement(place.index)));
    }
    return;
  }
  if (ForwardsAsyncState(*user)) {
    if (user->operand(0) == place.inst) {
      targets->push_back(place.At(user, place.index));
    }
    return;
  }
  if (CallsWhatItPassesOn(*user) && user->called_computations().empty()) {
    return;
  }
  for (int64_t i = 0; i < user->operand_count(); ++i) {
    if (user->operand(i) != place.inst) continue;
    const HloComputation* callee = nullptr;
    int64_t parameter = 0;
    switch (user->opcode()) {
      case HloOpcode::kTuple:
        targets->push_back(place.At(user, InsideElement(i, place.index)));
        break;
      case HloOpcode::kWhile:
        callee = user->while_body();
        break;
      case HloOpcode::kCall:
        callee = user->to_apply();
        parameter = i;
        break;
      case HloOpcode::kConditional:
        if (i > 0 && i <= user->branch_count()) {
          callee = user->branch_computation(i - 1);
        }
        break;
      default:  // Has no computation that takes states.
        break;
    }
    if (callee != nullptr && parameter < callee->num_parameters()) {
      targets->push_back(
          place.Inside(user, callee->parameter_instruction(parameter)));
    }
  }
}

}  // namespace

ShapeIndex InsideElement(int64_t element, const ShapeIndex& index) {
  ShapeIndex result = index;
  result.push_front(element);
  return result;
}

ShapeIndex OutsideElement(const ShapeIndex& index) {
  return ShapeIndex(index.begin() + 1, index.end());
}

std::vector<StatePlace> StateSourcesOf(const StatePlace& place) {
  const HloInstruction* inst = place.inst;
  std::vector<StatePlace> sources;
  // Those that call have lost their computations where a module is torn down.
  if (CallsWhatItPassesOn(*inst) && inst->called_computations().empty()) {
    return sources;
  }
  switch (inst->opcode()) {
    case HloOpcode::kGetTupleElement:
      sources.push_back(place.At(
          inst->operand(0), InsideElement(inst->tuple_index(), place.index)));
      break;
    case HloOpcode::kTuple:
      // Not yet verified where a parser asks.
      if (!place.index.empty() && place.index.front() >= 0 &&
          place.index.front() < inst->operand_count()) {
        sources.push_back(place.At(inst->operand(place.index.front()),
                                   OutsideElement(place.index)));
      }
      break;
    case HloOpcode::kWhile:
      sources.push_back(place.At(inst->operand(0), place.index));
      sources.push_back(
          place.Inside(inst, inst->while_body()->root_instruction()));
      break;
    case HloOpcode::kCall:
      sources.push_back(
          place.Inside(inst, inst->to_apply()->root_instruction()));
      break;
    case HloOpcode::kConditional:
      for (const HloComputation* branch : inst->branch_computations()) {
        sources.push_back(place.Inside(inst, branch->root_instruction()));
      }
      break;
    case HloOpcode::kParameter:
      AddStateSourcesOfParameter(place, &sources);
      break;
    default:  // Passes its operand on, or makes the state.
      if (ForwardsAsyncState(*inst)) {
        sources.push_back(place.At(inst->operand(0), place.index));
      }
      break;
  }
  return sources;
}

std::vector<StatePlace> StateTargetsOf(const StatePlace& place) {
  std::vector<StatePlace> targets;
  for (const HloInstruction* user : place.inst->users()) {
    AddStateTargetsInUser(place, user, &targets);
  }
  if (place.inst->parent() != nullptr && place.inst->IsRoot()) {
    AddStateTargetsOfRoot(place, &targets);
  }
  return targets;
}

// The calls that a search is in are a call string (Sharir and Pnueli, Two
// Approaches to Interprocedural Data Flow Analysis, 1981): a state that went
// into a computation through one call does not come out of another. Beyond
// kMaxPathsOfCalls strings to a place only the innermost call is kept, which
// may find a few sources too many but none too few, and bounds the search.
void WalkState(
    const HloInstruction* from,
    absl::FunctionRef<std::vector<StatePlace>(const StatePlace&)> next,
    absl::FunctionRef<bool(const StatePlace&)> visit) {
  std::map<StatePlace, std::set<std::vector<const HloInstruction*>>> seen;
  std::vector<StatePlace> work = {{from, {}, {}}};
  while (!work.empty()) {
    StatePlace place = std::move(work.back());
    work.pop_back();
    // Operands are null where they were detached.
    if (place.inst == nullptr) continue;
    std::set<std::vector<const HloInstruction*>>& paths = seen[place];
    if (paths.size() >= kMaxPathsOfCalls && !place.calls.empty()) {
      // Any call further out may be the one.
      place.calls = {place.calls.back()};
    }
    if (!paths.insert(place.calls).second) continue;
    if (visit(place)) return;
    std::vector<StatePlace> following = next(place);
    absl::c_reverse(following);
    work.insert(work.end(), following.begin(), following.end());
  }
}

}  // namespace xla::async_walk
