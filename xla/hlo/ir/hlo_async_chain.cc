#include "xla/hlo/ir/hlo_async_chain.h"

#include <set>
#include <vector>

#include "absl/functional/function_ref.h"
#include "xla/hlo/ir/hlo_async_walk.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {

using async_walk::StatePlace;
using async_walk::StateSourcesOf;
using async_walk::StateTargetsOf;
using async_walk::WalkState;

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

std::vector<AsyncStatePlace> AsyncStatePlaces(const HloInstruction* start) {
  std::vector<AsyncStatePlace> places;
  std::set<StatePlace> seen;
  WalkState(start, StateTargetsOf, [&](const StatePlace& place) {
    if (seen.insert({place.inst, place.index, {}}).second) {
      places.push_back({place.inst, place.index});
    }
    return false;
  });
  return places;
}

std::vector<const HloInstruction*> AsyncStateOrigins(
    const HloInstruction* value) {
  std::vector<const HloInstruction*> origins;
  WalkState(value, StateSourcesOf, [&](const StatePlace& place) {
    if (StateSourcesOf(place).empty()) origins.push_back(place.inst);
    return false;
  });
  return origins;
}

std::vector<HloInstruction*> AsyncStateConsumers(
    const HloInstruction* producer) {
  std::vector<HloInstruction*> consumers;
  for (const auto& [inst, index] : AsyncStatePlaces(producer)) {
    if (!index.empty()) continue;
    for (HloInstruction* user : inst->users()) {
      if (user->IsAsyncConsumer() && user->operand(0) == inst) {
        consumers.push_back(user);
      }
    }
  }
  return consumers;
}

const HloInstruction* AsyncLinkThatStays(
    const HloInstruction& done,
    absl::FunctionRef<bool(const HloInstruction&)> stays) {
  const HloInstruction* found = nullptr;
  if (done.operand_count() == 0) return found;
  const auto sources = [](const StatePlace& place) {
    if (place.inst->opcode() == HloOpcode::kAsyncUpdate) {
      return std::vector<StatePlace>{
          place.At(place.inst->operand(0), place.index)};
    }
    return StateSourcesOf(place);
  };
  WalkState(done.operand(0), sources, [&](const StatePlace& place) {
    // What is inside calls goes with these.
    if (!place.calls.empty()) return false;
    if (place.inst->opcode() != HloOpcode::kParameter && !stays(*place.inst)) {
      return false;
    }
    found = place.inst;
    return true;
  });
  return found;
}

bool IsCompleteAsyncState(const Shape& state, const HloComputation& callee) {
  return state.IsTuple() && state.tuple_shapes_size() >= 2 &&
         state.tuple_shapes(0).IsTuple() &&
         state.tuple_shapes(0).tuple_shapes_size() >= callee.num_parameters() &&
         ShapeUtil::Compatible(state.tuple_shapes(1),
                               callee.root_instruction()->shape());
}

}  // namespace xla
