#ifndef XLA_HLO_ANALYSIS_LIBRARY_CALLS_H_
#define XLA_HLO_ANALYSIS_LIBRARY_CALLS_H_

#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// The custom calls that XLA:GPU makes from dots and convolutions. They return
// their result and a workspace for the library, which is never read:
//
//   y = (bf16[64,32], s8[4096]) custom-call(a, b),
//       custom_call_target="__cublas$lt$matmul"

// Whether the call is a pure function of its operands: another run gives the
// same bits, and no operand is overwritten. Excludes calls that add in an
// undefined order (__cudnn$convBackwardFilter).
bool IsPureLibraryCall(const HloInstruction& inst);

// Floating point operations, two for each multiplication and addition;
// nullopt for other calls, and if the attributes do not determine it.
std::optional<double> LibraryCallFlops(const HloInstruction& inst);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_LIBRARY_CALLS_H_
