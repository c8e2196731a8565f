#include "xla/hlo/analysis/heap/may_write_over.h"

#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

bool MayWriteOver(const HloDataflowAnalysis& dataflow, const HloValue& result,
                  const HloValue& operand, const AliasInfo* alias_info) {
  HloInstruction* writer = result.instruction();
  const auto may_share = [&](HloInstruction* read, const ShapeIndex& index) {
    return dataflow.CanShareOperandBufferWithUser(read, index, writer,
                                                  result.index(), alias_info);
  };
  // The operands that are this position are looked at together.
  if (operand.positions().size() == 1) {
    const HloPosition& position = operand.defining_position();
    return writer->IsUserOf(position.instruction) &&
           may_share(position.instruction, position.index);
  }
  bool is_read = false;
  for (const HloUse& use : operand.GetUses()) {
    if (use.instruction != writer) continue;
    is_read = true;
    if (!may_share(writer->mutable_operand(use.operand_number),
                   use.operand_index)) {
      return false;
    }
  }
  return is_read;
}

}  // namespace xla
