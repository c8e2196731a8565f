#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_CANONICALIZER_RULES_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_CANONICALIZER_RULES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

// One local rewrite of instructions of one opcode.
struct CanonicalizerRule {
  absl::string_view name;
  // The rewrite, as before → after.
  absl::string_view what;
  HloOpcode opcode;
  // Returns the replacement (an existing instruction, or one that it has just
  // added to the computation), or null if the rule does not apply. It must not
  // add anything if it returns null.
  HloInstruction* (*apply)(HloInstruction*);
};

// The tables, by topic.
absl::Span<const CanonicalizerRule> IdentityRules();
absl::Span<const CanonicalizerRule> ReshapeRules();
absl::Span<const CanonicalizerRule> SliceRules();
absl::Span<const CanonicalizerRule> TypeRules();

// Helpers of the rules.

// Whether both have the same type, dimensions and layout.
bool HasShapeOf(const HloInstruction* inst, const HloInstruction* other);

// The first operand if it has the shape of `inst`, otherwise null: a rule for
// instructions that then change nothing.
HloInstruction* OperandIfSameShape(HloInstruction* inst);

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_CANONICALIZER_RULES_H_
