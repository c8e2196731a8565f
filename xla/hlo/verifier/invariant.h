#ifndef XLA_HLO_VERIFIER_INVARIANT_H_
#define XLA_HLO_VERIFIER_INVARIANT_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla {

// The rows of invariants.def, by number.
enum class Invariant {
#define INVARIANT(number, text) number,
#include "xla/hlo/verifier/invariants.def"
#undef INVARIANT
};

// All of them, in the order of the list.
absl::Span<const Invariant> AllInvariants();
// "V17".
absl::string_view InvariantNumber(Invariant invariant);
// "operands are defined in the same computation".
absl::string_view InvariantText(Invariant invariant);

// The error for an invariant that does not hold:
//
//   [V17] operands are defined in the same computation: %add.3 = f32[4]
//   add(%a, %b) in computation %main: `detail` (model.py:12)
//
// in one line. The place in the source comes from metadata, or from the
// module's stack frames. Works on instructions that are broken in any way.
absl::Status Broken(Invariant invariant, const HloInstruction& where,
                    absl::string_view detail);
absl::Status Broken(Invariant invariant, const HloComputation& where,
                    absl::string_view detail);
absl::Status Broken(Invariant invariant, const HloModule& where,
                    absl::string_view detail);

}  // namespace xla

#endif  // XLA_HLO_VERIFIER_INVARIANT_H_
