#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"

namespace xla::verifier {
namespace {

// What state of a chain may pass through between two links: into loops and out
// of them, and through tuples.
bool PassesOn(const HloInstruction& inst) {
  switch (inst.opcode()) {
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
      return true;
    default:
      return inst.IsAllowedAsyncIntermediary();
  }
}

// At most one user is a link, and all others pass the state on.
template <typename IsNextLink>
absl::Status CheckFinishedOnce(const HloInstruction& inst,
                               IsNextLink is_next_link) {
  int64_t links = 0;
  for (const HloInstruction* user : inst.users()) {
    if (is_next_link(*user)) {
      ++links;
    } else if (!PassesOn(*user)) {
      return Broken(Invariant::V139, inst,
                    absl::StrCat("%", user->name(), ", a ",
                                 HloOpcodeString(user->opcode()), ", uses it"));
    }
  }
  if (links > 1 || inst.IsDead()) {
    return Broken(Invariant::V139, inst,
                  absl::StrCat("found ", links, " ends"));
  }
  return absl::OkStatus();
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
    default:
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
    default:
      return std::nullopt;
  }
}

}  // namespace

absl::Status CheckStartAndDone(const HloInstruction& inst) {
  if (const std::optional<HloOpcode> done = DoneOf(inst.opcode())) {
    return CheckFinishedOnce(inst, [&](const HloInstruction& user) {
      return user.opcode() == *done;
    });
  }
  const std::optional<HloOpcode> start = StartOf(inst.opcode());
  if (!start.has_value()) return absl::OkStatus();
  const HloInstruction& operand = *inst.operand(0);
  if (operand.opcode() == *start || PassesOn(operand)) return absl::OkStatus();
  return Broken(Invariant::V140, inst,
                absl::StrCat("expected ", HloOpcodeString(*start), ", found ",
                             HloOpcodeString(operand.opcode())));
}

absl::Status CheckAsyncLink(const HloInstruction& inst) {
  const auto& link = *Cast<HloAsyncInstruction>(&inst);
  if (inst.IsAsyncProducer()) {
    absl::Status status =
        CheckFinishedOnce(inst, [&](const HloInstruction& user) {
          return user.IsAsyncConsumer() && user.operand(0) == &inst;
        });
    if (!status.ok()) return status;
  }
  if (inst.IsAsyncConsumer()) {
    const HloInstruction& operand = *inst.operand(0);
    if (!operand.IsAsyncProducer() && !PassesOn(operand)) {
      return Broken(Invariant::V140, inst,
                    absl::StrCat("expected async-start or async-update, found ",
                                 HloOpcodeString(operand.opcode())));
    }
    // The link before has the computation of all before it.
    if (operand.IsAsyncProducer() && inst.has_called_computations() &&
        operand.has_called_computations() &&
        inst.called_computations()[0] != operand.called_computations()[0]) {
      return Broken(
          Invariant::V137, inst,
          absl::StrCat("expected %", operand.called_computations()[0]->name(),
                       ", found %", inst.called_computations()[0]->name()));
    }
    return absl::OkStatus();
  }
  const HloComputation& computation = *inst.called_computations()[0];
  if (computation.execution_thread() != link.async_execution_thread()) {
    return Broken(Invariant::V138, inst,
                  absl::StrCat("expected ", link.async_execution_thread(),
                               ", found ", computation.execution_thread(),
                               " for %", computation.name()));
  }
  for (const HloInstruction* caller : computation.caller_instructions()) {
    if (caller != &inst && !HloOpcodeIsAsync(caller->opcode())) {
      return Broken(Invariant::V137, inst,
                    absl::StrCat("%", caller->name(), " calls %",
                                 computation.name(), " as well"));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier
