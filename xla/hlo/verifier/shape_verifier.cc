#include "xla/hlo/verifier/shape_verifier.h"

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/hlo/verifier/rules.h"

namespace xla {

absl::Status ShapeVerifier::VerifyEntryComputationLayout(
    const HloModule& module) {
  return verifier::CheckEntryLayout(module, opts_);
}

absl::Status ShapeVerifier::Preprocess(HloInstruction* hlo) {
  absl::Status status = verifier::CheckCounts(*hlo);
  if (!status.ok()) return status;
  return verifier::CheckCommonRules(verifier::Context(opts_), *hlo);
}

absl::Status ShapeVerifier::DefaultAction(HloInstruction* hlo) {
  return verifier::CheckOpcodeRule(verifier::Context(opts_), *hlo);
}

}  // namespace xla
