#include "xla/hlo/analysis/async_operands.h"

#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

std::vector<AsyncOperand> AsyncOperands(HloInstruction* start) {
  std::vector<AsyncOperand> operands;
  for (HloInstruction* link = start; link != nullptr;
       link = link->IsAsyncProducer() ? link->async_chain_next() : nullptr) {
    int64_t i = link->opcode() == HloOpcode::kAsyncStart ? 0 : 1;
    for (; i < link->operand_count(); ++i) operands.push_back({link, i});
  }
  return operands;
}

}  // namespace xla
