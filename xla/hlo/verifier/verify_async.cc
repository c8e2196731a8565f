#include <cstdint>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/async_ends.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/status_macros.h"

namespace xla::verifier {
namespace {

// What state of a chain may pass through between two links: into loops and out
// of them, and through tuples.
bool PassesOn(const HloInstruction& inst) {
  return HloPredicateIsOp<HloOpcode::kCall, HloOpcode::kConditional>(&inst) ||
         inst.IsAllowedAsyncIntermediary() || ForwardsAsyncState(inst);
}

// A parameter of a computation that nothing calls, so that nobody can say what
// it is given; but nothing was started before the program.
bool MayBeGiven(const HloInstruction& inst) {
  return inst.opcode() == HloOpcode::kParameter &&
         inst.parent()->caller_instructions().empty() &&
         !inst.parent()->IsEntryComputation();
}

// Whatever gives the state that `inst` takes is a start that fits it.
template <typename IsStart>
absl::Status CheckOrigins(const HloInstruction& inst,
                          absl::string_view expected, IsStart is_start) {
  for (const HloInstruction* origin : AsyncStateOrigins(inst.operand(0))) {
    if (!is_start(*origin) && !MayBeGiven(*origin)) {
      return Broken(Invariant::V140, inst,
                    absl::StrCat("expected ", expected, ", found ",
                                 HloOpcodeString(origin->opcode())));
    }
  }
  return absl::OkStatus();
}

// Wherever the state of `inst` goes, whole, links take it, once each, and what
// passes it on. Returns whether there is a link.
template <typename IsNextLink>
absl::StatusOr<bool> CheckFinishedOnce(const HloInstruction& inst,
                                       absl::Span<const AsyncStatePlace> places,
                                       IsNextLink is_next_link) {
  AsyncEnds links;
  for (const auto& [holder, index] : places) {
    if (!index.empty()) continue;
    for (const HloInstruction* user : holder->users()) {
      if (user->operand(0) == holder && is_next_link(*user)) {
        if (!links.Add(*user)) {
          return Broken(
              Invariant::V139, inst,
              absl::StrCat("found ", links.CountIn(user->parent()), " ends"));
        }
      } else if (!PassesOn(*user)) {
        return Broken(
            Invariant::V139, inst,
            absl::StrCat("%", user->name(), ", a ",
                         HloOpcodeString(user->opcode()), ", uses it"));
      }
    }
  }
  return !links.empty();
}

absl::Status FoundNoEnd(const HloInstruction& start) {
  return Broken(Invariant::V139, start, "found 0 ends");
}

// A result of the program, of a computation that nothing calls or of what an
// asynchronous chain runs may be ended elsewhere.
bool LeavesSearch(absl::Span<const AsyncStatePlace> places) {
  return absl::c_any_of(places, [](const AsyncStatePlace& place) {
    return place.inst->IsRoot() &&
           absl::c_none_of(place.inst->parent()->caller_instructions(),
                           HloPredicateIsOp<HloOpcode::kCall, HloOpcode::kWhile,
                                            HloOpcode::kConditional>);
  });
}

std::optional<HloOpcode> DoneOf(HloOpcode start) {
  switch (start) {
    case HloOpcode::kAllGatherStart:
      return HloOpcode::kAllGatherDone;
    case HloOpcode::kAllReduceStart:
      return HloOpcode::kAllReduceDone;
    case HloOpcode::kCollectivePermuteStart:
      return HloOpcode::kCollectivePermuteDone;
    case HloOpcode::kCopyStart:
      return HloOpcode::kCopyDone;
    case HloOpcode::kRecv:
      return HloOpcode::kRecvDone;
    case HloOpcode::kSend:
      return HloOpcode::kSendDone;
    default:  // No start.
      return std::nullopt;
  }
}

std::optional<HloOpcode> StartOf(HloOpcode done) {
  switch (done) {
    case HloOpcode::kAllGatherDone:
      return HloOpcode::kAllGatherStart;
    case HloOpcode::kAllReduceDone:
      return HloOpcode::kAllReduceStart;
    case HloOpcode::kCollectivePermuteDone:
      return HloOpcode::kCollectivePermuteStart;
    case HloOpcode::kCopyDone:
      return HloOpcode::kCopyStart;
    case HloOpcode::kRecvDone:
      return HloOpcode::kRecv;
    case HloOpcode::kSendDone:
      return HloOpcode::kSend;
    default:  // No done.
      return std::nullopt;
  }
}

}  // namespace

absl::Status CheckStartAndDone(const HloInstruction& inst) {
  if (const std::optional<HloOpcode> done = DoneOf(inst.opcode())) {
    const std::vector<AsyncStatePlace> places = AsyncStatePlaces(&inst);
    TF_ASSIGN_OR_RETURN(
        const bool ends,
        CheckFinishedOnce(inst, places, [&](const HloInstruction& user) {
          return user.opcode() == *done;
        }));
    return ends || LeavesSearch(places) ? absl::OkStatus() : FoundNoEnd(inst);
  }
  const std::optional<HloOpcode> start = StartOf(inst.opcode());
  if (!start.has_value()) return absl::OkStatus();
  return CheckOrigins(inst, HloOpcodeString(*start),
                      [&](const HloInstruction& origin) {
                        // A group of several is started by what an asynchronous
                        // chain runs.
                        return origin.opcode() == *start ||
                               origin.opcode() == HloOpcode::kAsyncDone;
                      });
}

namespace {

// The chain ends somewhere, and in each computation only once: a loop that
// starts work in one iteration and waits for it in the next has a done in it
// and one behind it for each that is in flight.
//
// A forward search over everything that may carry the state, across loop and
// call boundaries, which visits each instruction once. From each end it goes
// back to what may have started it; where a state in an element behind a loop
// comes from is found once for each body and element.
absl::Status CheckReachesDone(const HloInstruction& start) {
  absl::flat_hash_set<const HloInstruction*> seen = {&start};
  AsyncEnds ends;
  std::vector<const HloInstruction*> work = {&start};
  while (!work.empty()) {
    const HloInstruction* link = work.back();
    work.pop_back();
    for (const HloInstruction* next : AsyncStateConsumers(link)) {
      if (!seen.insert(next).second) continue;
      if (next->opcode() != HloOpcode::kAsyncDone) {
        work.push_back(next);
      } else if (!ends.Add(*next)) {
        return Broken(Invariant::V139, start,
                      absl::StrCat("%", next->name(), " is a second end in %",
                                   next->parent()->name()));
      }
    }
  }
  return ends.empty() ? FoundNoEnd(start) : absl::OkStatus();
}

// All links call computations of one content, on one thread.
absl::Status CheckComesFromLink(const HloInstruction& inst) {
  TF_RETURN_IF_ERROR(CheckOrigins(
      inst, "async-start or async-update",
      [](const HloInstruction& origin) { return origin.IsAsyncProducer(); }));
  if (!inst.has_called_computations()) return absl::OkStatus();
  const HloInstruction* start =
      Cast<HloAsyncInstruction>(&inst)->async_chain_start();
  if (start == nullptr) return absl::OkStatus();
  const HloComputation& expected = *start->called_computations()[0];
  const HloComputation& found = *inst.called_computations()[0];
  if (&expected == &found) return absl::OkStatus();
  if (expected.execution_thread() != found.execution_thread()) {
    return Broken(
        Invariant::V138, inst,
        absl::StrCat("expected ", expected.execution_thread(), ", found ",
                     found.execution_thread(), " for %", found.name()));
  }
  if (expected.Equal(found, /*is_layout_sensitive=*/false)) {
    return absl::OkStatus();
  }
  return Broken(
      Invariant::V137, inst,
      absl::StrCat("expected %", expected.name(), ", found %", found.name()));
}

// On the main thread a chain runs one operation, or it waits for the elements
// of tuples; groups of collectives say that they are such.
absl::Status CheckMainThreadBody(const HloInstruction& start,
                                 const HloComputation& computation) {
  if (!computation.IsMainThread() ||
      start.get_frontend_attribute("_collectives_group").has_value()) {
    return absl::OkStatus();
  }
  for (const HloInstruction* inst : computation.instructions()) {
    if (inst->IsRoot() || inst->opcode() == HloOpcode::kParameter ||
        inst->opcode() == HloOpcode::kGetTupleElement) {
      continue;
    }
    return Broken(Invariant::V142, start,
                  absl::StrCat("%", computation.name(), " holds %",
                               inst->name(), " besides its root"));
  }
  return absl::OkStatus();
}

absl::Status CheckStartedComputation(const HloInstruction& start) {
  const HloComputation& computation = *start.called_computations()[0];
  const absl::string_view thread =
      Cast<HloAsyncInstruction>(&start)->async_execution_thread();
  if (computation.execution_thread() != thread) {
    return Broken(Invariant::V138, start,
                  absl::StrCat("expected ", thread, ", found ",
                               computation.execution_thread(), " for %",
                               computation.name()));
  }
  return CheckMainThreadBody(start, computation);
}

}  // namespace

absl::Status CheckAsyncLink(const HloInstruction& inst) {
  if (inst.IsAsyncProducer()) {
    TF_ASSIGN_OR_RETURN(const bool ends,
                        CheckFinishedOnce(inst, AsyncStatePlaces(&inst),
                                          [](const HloInstruction& user) {
                                            return user.IsAsyncConsumer();
                                          }));
    if (!ends) return FoundNoEnd(inst);
  }
  if (inst.IsAsyncConsumer()) return CheckComesFromLink(inst);
  TF_RETURN_IF_ERROR(CheckReachesDone(inst));
  return CheckStartedComputation(inst);
}

}  // namespace xla::verifier
