#ifndef XLA_HLO_ANALYSIS_LIBRARY_CALLS_H_
#define XLA_HLO_ANALYSIS_LIBRARY_CALLS_H_

#include <optional>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// The custom calls that XLA:GPU makes of dots and convolutions. They return
// their result and the workspace that the library asked for, which nobody
// reads:
//
//   y = (bf16[64,32], s8[4096]) custom-call(a, b),
//       custom_call_target="__cublas$lt$matmul"

// Whether the call computes its results from its operands and does nothing
// else: another run gives the same bits, and no operand is overwritten. Not
// those that add in any order (__cudnn$convBackwardFilter).
bool IsPureLibraryCall(const HloInstruction& inst);

// Floating point operations, two for each multiplication and addition;
// nullopt for calls that are not such a dot or convolution, or whose attributes
// do not say it.
std::optional<double> LibraryCallFlops(const HloInstruction& inst);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_LIBRARY_CALLS_H_
