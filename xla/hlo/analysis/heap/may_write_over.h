#ifndef XLA_HLO_ANALYSIS_HEAP_MAY_WRITE_OVER_H_
#define XLA_HLO_ANALYSIS_HEAP_MAY_WRITE_OVER_H_

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"

namespace xla {

// Whether the instruction that defines `result` may write it over `operand`, a
// value that dies there: it reads that value, and wherever it does,
// CanShareOperandBufferWithUser allows it. One that reads it through bitcasts,
// too, reads it in several places:
//
//   c = f32[16,16] bitcast(a); b = f32[256] bitcast(a)
//   f = f32[16,16] fusion(c, b), which adds c and reverse(b)
//   (f, a) → no, though element by element it could write over c
//
// O(uses of the operand), O(1) for one that is in one place only.
bool MayWriteOver(const HloDataflowAnalysis& dataflow, const HloValue& result,
                  const HloValue& operand, const AliasInfo* alias_info);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HEAP_MAY_WRITE_OVER_H_
