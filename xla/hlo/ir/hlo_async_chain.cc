#include "xla/hlo/ir/hlo_async_chain.h"

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// A part of a value.
struct StatePlace {
  const HloInstruction* inst;
  ShapeIndex index;

  friend bool operator<(const StatePlace& a, const StatePlace& b) {
    const int64_t a_id = a.inst->unique_id(), b_id = b.inst->unique_id();
    if (a_id != b_id) return a_id < b_id;
    if (a.inst != b.inst) return a.inst < b.inst;
    return a.index < b.index;
  }
};

ShapeIndex InsideElement(int64_t element, const ShapeIndex& index) {
  ShapeIndex result = index;
  result.push_front(element);
  return result;
}

ShapeIndex OutsideElement(const ShapeIndex& index) {
  return ShapeIndex(index.begin() + 1, index.end());
}

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
    switch (caller->opcode()) {
      case HloOpcode::kCall:
        if (number < caller->operand_count()) {
          sources->push_back({caller->operand(number), place.index});
        }
        break;
      case HloOpcode::kWhile:
        sources->push_back({caller->operand(0), place.index});
        sources->push_back(
            {caller->while_body()->root_instruction(), place.index});
        break;
      case HloOpcode::kConditional:
        for (int b = 0; b < caller->branch_count(); ++b) {
          if (caller->branch_computation(b) == computation) {
            sources->push_back({caller->operand(b + 1), place.index});
          }
        }
        break;
      default:  // No other caller takes asynchronous states.
        break;
    }
  }
}

// Places that the state may have come from, likelier ones first.
//
// The state of an asynchronous chain can pass through tuples, loops, calls and
// conditionals between its links. A place is an instruction with the tuple
// index of the state in its value; one step backwards or forwards maps a place
// to neighbouring places, pushing or popping tuple indices. Searches are
// depth-first over places and visit each once, so loops do not trap them.
std::vector<StatePlace> StateSourcesOf(const StatePlace& place) {
  const HloInstruction* inst = place.inst;
  std::vector<StatePlace> sources;
  // Those that call have lost their computations where a module is torn down.
  if (CallsWhatItPassesOn(*inst) && inst->called_computations().empty()) {
    return sources;
  }
  switch (inst->opcode()) {
    case HloOpcode::kGetTupleElement:
      sources.push_back(
          {inst->operand(0), InsideElement(inst->tuple_index(), place.index)});
      break;
    case HloOpcode::kTuple:
      if (!place.index.empty() && place.index.front() < inst->operand_count()) {
        sources.push_back(
            {inst->operand(place.index.front()), OutsideElement(place.index)});
      }
      break;
    case HloOpcode::kWhile:
      sources.push_back({inst->operand(0), place.index});
      sources.push_back({inst->while_body()->root_instruction(), place.index});
      break;
    case HloOpcode::kCall:
      sources.push_back({inst->to_apply()->root_instruction(), place.index});
      break;
    case HloOpcode::kConditional:
      for (const HloComputation* branch : inst->branch_computations()) {
        sources.push_back({branch->root_instruction(), place.index});
      }
      break;
    case HloOpcode::kParameter:
      AddStateSourcesOfParameter(place, &sources);
      break;
    default:  // Passes its operand on, or makes the state.
      if (ForwardsAsyncState(*inst)) {
        sources.push_back({inst->operand(0), place.index});
      }
      break;
  }
  return sources;
}

// Effect of the caller of a computation on the state in its root.
void AddStateTargetsOfRoot(const StatePlace& place,
                           std::vector<StatePlace>* targets) {
  const HloComputation* computation = place.inst->parent();
  for (const HloInstruction* caller : computation->caller_instructions()) {
    if (caller->opcode() == HloOpcode::kWhile) {
      if (caller->while_body() != computation) continue;
      targets->push_back({caller, place.index});
      targets->push_back({computation->parameter_instruction(0), place.index});
    } else if (caller->opcode() == HloOpcode::kCall ||
               caller->opcode() == HloOpcode::kConditional) {
      targets->push_back({caller, place.index});
    }
  }
}

void AddStateTargetsInUser(const StatePlace& place, const HloInstruction* user,
                           std::vector<StatePlace>* targets) {
  if (user->opcode() == HloOpcode::kGetTupleElement) {
    if (!place.index.empty() && place.index.front() == user->tuple_index()) {
      targets->push_back({user, OutsideElement(place.index)});
    }
    return;
  }
  if (ForwardsAsyncState(*user)) {
    if (user->operand(0) == place.inst) targets->push_back({user, place.index});
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
        targets->push_back({user, InsideElement(i, place.index)});
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
          {callee->parameter_instruction(parameter), place.index});
    }
  }
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

// Depth first from `from`, until `visit` says that it has seen enough.
void WalkState(
    const HloInstruction* from,
    absl::FunctionRef<std::vector<StatePlace>(const StatePlace&)> next,
    absl::FunctionRef<bool(const StatePlace&)> visit) {
  std::set<StatePlace> seen;
  std::vector<StatePlace> work = {{from, {}}};
  while (!work.empty()) {
    StatePlace place = std::move(work.back());
    work.pop_back();
    // Operands are null where they were detached.
    if (place.inst == nullptr) continue;
    if (!seen.insert(place).second) continue;
    if (visit(place)) return;
    std::vector<StatePlace> following = next(place);
    absl::c_reverse(following);
    work.insert(work.end(), following.begin(), following.end());
  }
}

}  // namespace

bool ForwardsAsyncState(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kDomain:
    case HloOpcode::kOptimizationBarrier:
      return inst.operand_count() == 1;
    case HloOpcode::kCustomCall:
      return inst.operand_count() == 1 &&
             (inst.IsAllowedAsyncIntermediaryCustomCall() ||
              inst.IsCustomCall("Sharding"));
    default:  // Not one of the chain.
      return false;
  }
}

HloInstruction* AsyncStateProducer(const HloInstruction* value) {
  HloInstruction* producer = nullptr;
  if (value == nullptr) return producer;
  if (value->IsAsyncProducer()) return const_cast<HloInstruction*>(value);
  WalkState(value, StateSourcesOf, [&](const StatePlace& place) {
    if (!place.index.empty() || !place.inst->IsAsyncProducer()) return false;
    producer = const_cast<HloInstruction*>(place.inst);
    return true;
  });
  return producer;
}

std::vector<HloInstruction*> AsyncStateConsumers(
    const HloInstruction* producer) {
  std::vector<HloInstruction*> consumers;
  WalkState(producer, StateTargetsOf, [&](const StatePlace& place) {
    if (!place.index.empty()) return false;
    for (HloInstruction* user : place.inst->users()) {
      if (user->IsAsyncConsumer() && user->operand(0) == place.inst) {
        consumers.push_back(user);
      }
    }
    return false;
  });
  return consumers;
}

const HloInstruction* AsyncLinkThatStays(
    const HloInstruction& done,
    absl::FunctionRef<bool(const HloInstruction&)> stays) {
  const HloInstruction* link = done.operand(0);
  ShapeIndex index;  // of the state in what `link` makes
  while (!stays(*link)) {
    if (link->opcode() == HloOpcode::kParameter) return link;
    if (link->opcode() == HloOpcode::kGetTupleElement) {
      index = InsideElement(link->tuple_index(), index);
      link = link->operand(0);
    } else if (link->opcode() == HloOpcode::kTuple && !index.empty()) {
      link = link->operand(index.front());
      index = OutsideElement(index);
    } else if (link->opcode() == HloOpcode::kWhile ||
               link->opcode() == HloOpcode::kAsyncUpdate ||
               ForwardsAsyncState(*link)) {
      link = link->operand(0);
    } else {
      return nullptr;
    }
  }
  return link;
}

bool IsCompleteAsyncState(const Shape& state, const HloComputation& callee) {
  return state.IsTuple() && state.tuple_shapes_size() >= 2 &&
         state.tuple_shapes(0).IsTuple() &&
         state.tuple_shapes(0).tuple_shapes_size() >= callee.num_parameters() &&
         ShapeUtil::Compatible(state.tuple_shapes(1),
                               callee.root_instruction()->shape());
}

}  // namespace xla
