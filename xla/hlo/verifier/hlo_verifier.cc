#include "xla/hlo/verifier/hlo_verifier.h"

#include <memory>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_opcode_groups.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/hlo/verifier/shape_verifier.h"
#include "xla/status_macros.h"

namespace xla {
namespace verifier {
namespace {

// V10, V19, and the rules of the opcode and of all opcodes; those of `custom`
// if there is one.
absl::Status CheckInstruction(const Context& context,
                              const HloInstruction& inst,
                              ShapeVerifier* custom) {
  if (custom != nullptr) {
    // Visitors are for instructions that may be changed; this one does not.
    auto* visited = const_cast<HloInstruction*>(&inst);
    TF_RETURN_IF_ERROR(custom->Preprocess(visited));
    return visited->Visit(custom);
  }
  TF_RETURN_IF_ERROR(CheckCounts(inst));
  TF_RETURN_IF_ERROR(CheckOpcodeRule(context, inst));
  return CheckCommonRules(context, inst);
}

// Opcodes that CommunicationCheck looks at.
bool Communicates(HloOpcode opcode) {
  switch (opcode) {
    case XLA_ANY_COLLECTIVE:
    case XLA_ANY_COLLECTIVE_START:
    case XLA_ANY_COLLECTIVE_DONE:
    case XLA_ANY_COPY_PAIR:
    case XLA_ANY_ASYNC:
    case XLA_ANY_TRANSFER:
      return true;
    case HloOpcode::kBitcast:
    case HloOpcode::kCopy:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFusion:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kTuple:
    case XLA_ANY_COMPUTATION:
    case XLA_ANY_SOURCE:
    case XLA_ANY_CONTROL_FLOW:
    case XLA_ANY_ORDERING:
    case XLA_ANY_FEED:
    case XLA_ANY_DEVICE_ID:
      break;
  }
  return false;
}

absl::Status VerifyModule(
    const HloModule& module, const HloVerifierOpts& opts, ShapeVerifier* custom,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  TF_RETURN_IF_ERROR(CheckStructure(module));
  TF_RETURN_IF_ERROR(CheckCalls(module, opts));
  const Context context(opts);
  CommunicationCheck communication;
  for (const HloComputation* computation : module.computations()) {
    if (!HloInstruction::IsThreadIncluded(computation->execution_thread(),
                                          execution_threads)) {
      continue;
    }
    for (const HloInstruction* inst : computation->instructions()) {
      TF_RETURN_IF_ERROR(CheckInstruction(context, *inst, custom));
      if (Communicates(inst->opcode())) {
        TF_RETURN_IF_ERROR(communication.Visit(*inst));
      }
    }
  }
  TF_RETURN_IF_ERROR(custom != nullptr
                         ? custom->VerifyEntryComputationLayout(module)
                         : CheckEntryLayout(module, opts));
  TF_RETURN_IF_ERROR(CheckAliasing(module, opts));
  TF_RETURN_IF_ERROR(CheckBuffers(module, opts));
  TF_RETURN_IF_ERROR(CheckSchedule(module));
  return opts.verify_no_collective_deadlocks
             ? CheckNoCollectiveDeadlocks(module)
             : absl::OkStatus();
}

}  // namespace
}  // namespace verifier

absl::Status VerifyHloModule(
    const HloModule* module, const HloVerifierOpts& opts,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return verifier::VerifyModule(*module, opts, /*custom=*/nullptr,
                                execution_threads);
}

absl::Status VerifyHloModuleForTarget(
    const HloModule* module, const TargetVerifierMetadata& target,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  const std::unique_ptr<ShapeVerifier> custom = target.GetVerifier();
  return verifier::VerifyModule(*module, target.GetVerifierOpts(), custom.get(),
                                execution_threads);
}

}  // namespace xla
