#ifndef XLA_HLO_ANALYSIS_ASYNC_OPERANDS_H_
#define XLA_HLO_ANALYSIS_ASYNC_OPERANDS_H_

#include <cstdint>
#include <vector>

#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {

// Where a chain of async-start, async-update… and async-done binds a parameter
// of its computation: to an operand of the start or of a later link.
struct AsyncOperand {
  HloInstruction* link;
  int64_t operand;

  HloInstruction* instruction() const { return link->mutable_operand(operand); }
};

// By parameter number; covers the parameters bound by links that the start
// reaches within its computation. Operand 0 of a later link is the chain.
// O(links + result).
std::vector<AsyncOperand> AsyncOperands(HloInstruction* start);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ASYNC_OPERANDS_H_
