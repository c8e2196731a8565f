#include "xla/hlo/memory/schedulers/async_postprocessor.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "google/protobuf/struct.pb.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {
namespace {

using Instructions = std::vector<HloInstruction*>;
using IsWanted = absl::FunctionRef<bool(const HloInstruction&)>;

constexpr std::pair<absl::string_view, AsyncPlacement> kPlacementNames[] = {
    {"as-scheduled", AsyncPlacement::kAsScheduled},
    {"overlap", AsyncPlacement::kOverlap},
};

CustomCallSchedule ScheduleOf(const HloInstruction& inst) {
  if (inst.opcode() != HloOpcode::kCustomCall) {
    return CustomCallSchedule::SCHEDULE_NONE;
  }
  return Cast<HloCustomCallInstruction>(&inst)->custom_call_schedule();
}

// Through updates; null where the start is out of sight.
const HloInstruction* StartOf(const HloInstruction& done) {
  const HloInstruction* inst = &done;
  while (!inst->IsAsyncStart()) {
    if (inst->operand_count() == 0 ||
        (inst != &done && inst->opcode() != HloOpcode::kAsyncUpdate)) {
      return nullptr;
    }
    inst = inst->operand(0);
  }
  return inst;
}

bool SaysSynchronous(const HloInstruction& inst) {
  if (!inst.has_backend_config()) return false;
  auto config = inst.backend_config<google::protobuf::Struct>();
  if (!config.ok()) return false;
  auto says = [](const google::protobuf::Struct& fields) {
    auto it = fields.fields().find("is_sync");
    return it != fields.fields().end() && it->second.bool_value();
  };
  if (says(*config)) return true;
  auto it = config->fields().find("collective_backend_config");
  return it != config->fields().end() && says(it->second.struct_value());
}

// The predecessors of an instruction and its successors, each once.
Instructions Before(const HloInstruction& inst) {
  absl::flat_hash_set<const HloInstruction*> seen;
  Instructions result;
  for (HloInstruction* operand : inst.operands()) {
    if (seen.insert(operand).second) result.push_back(operand);
  }
  for (HloInstruction* before : inst.control_predecessors()) {
    if (seen.insert(before).second) result.push_back(before);
  }
  return result;
}

Instructions After(const HloInstruction& inst) {
  absl::flat_hash_set<const HloInstruction*> seen;
  Instructions result;
  for (HloInstruction* user : inst.users()) {
    if (seen.insert(user).second) result.push_back(user);
  }
  for (HloInstruction* after : inst.control_successors()) {
    if (seen.insert(after).second) result.push_back(after);
  }
  return result;
}

// The same order, but what `is_wanted` picks comes as soon as all of its
// `waits_for` have come. `leads_to` is the other way round.
//
// Counts for each wanted instruction how many of its predecessors are not
// placed yet; the one that brings the count to zero is followed by it directly.
// Linear in instructions and edges, and the relative order of all others is
// kept.
Instructions AsSoonAsPossible(
    const Instructions& order, IsWanted is_wanted,
    absl::FunctionRef<Instructions(const HloInstruction&)> waits_for,
    absl::FunctionRef<Instructions(const HloInstruction&)> leads_to) {
  absl::flat_hash_map<const HloInstruction*, int64_t> waits;
  for (const HloInstruction* inst : order) {
    if (is_wanted(*inst)) {
      waits[inst] = static_cast<int64_t>(waits_for(*inst).size());
    }
  }
  absl::flat_hash_set<const HloInstruction*> placed;
  Instructions result;
  Instructions to_place;
  for (HloInstruction* next : order) {
    if (placed.contains(next)) continue;
    to_place.assign(1, next);
    while (!to_place.empty()) {
      HloInstruction* inst = to_place.back();
      to_place.pop_back();
      placed.insert(inst);
      result.push_back(inst);
      Instructions ready;
      for (HloInstruction* later : leads_to(*inst)) {
        auto it = waits.find(later);
        if (it != waits.end() && --it->second == 0) ready.push_back(later);
      }
      to_place.insert(to_place.end(), ready.rbegin(), ready.rend());
    }
  }
  return result;
}

}  // namespace

bool AbslParseFlag(absl::string_view text, AsyncPlacement* placement,
                   std::string* error) {
  for (const auto& [name, value] : kPlacementNames) {
    if (name != text) continue;
    *placement = value;
    return true;
  }
  *error = "expected as-scheduled or overlap";
  return false;
}

std::string AbslUnparseFlag(AsyncPlacement placement) {
  for (const auto& [name, value] : kPlacementNames) {
    if (value == placement) return std::string(name);
  }
  return "unknown";
}

SchedulerPostprocessor MakeAsyncPostprocessor(AsyncPlacement placement) {
  if (placement == AsyncPlacement::kAsScheduled) return {};
  return OverlapAsync;
}

bool IsSynchronous(const HloInstruction& start) {
  return SaysSynchronous(start) ||
         (start.opcode() == HloOpcode::kAsyncStart &&
          SaysSynchronous(*start.async_wrapped_instruction()));
}

// Two passes of the same routine: forwards, starts move up as early as
// possible; then on the reversed sequence with the relations swapped, dones
// move down as late as possible. What is synchronous keeps start and done
// together.
HloInstructionSequence OverlapAsync(const HloInstructionSequence& sequence) {
  absl::flat_hash_set<const HloInstruction*> synchronous;
  for (const HloInstruction* inst : sequence.instructions()) {
    if (inst->IsAsyncStart() && IsSynchronous(*inst)) synchronous.insert(inst);
  }
  Instructions order = AsSoonAsPossible(
      sequence.instructions(),
      [&](const HloInstruction& inst) {
        return (inst.IsAsyncStart() && !synchronous.contains(&inst)) ||
               ScheduleOf(inst) == CustomCallSchedule::SCHEDULE_EARLIEST;
      },
      Before, After);
  std::reverse(order.begin(), order.end());
  order = AsSoonAsPossible(
      order,
      [&](const HloInstruction& inst) {
        if (inst.IsAsyncDone()) return !synchronous.contains(StartOf(inst));
        return synchronous.contains(&inst) ||
               ScheduleOf(inst) == CustomCallSchedule::SCHEDULE_LATEST;
      },
      After, Before);
  std::reverse(order.begin(), order.end());
  return HloInstructionSequence(order);
}

}  // namespace xla
