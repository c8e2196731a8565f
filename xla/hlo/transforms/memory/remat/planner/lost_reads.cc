#include "xla/hlo/transforms/memory/remat/planner/lost_reads.h"

#include <memory>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/buffer_value.h"
#include "xla/hlo/analysis/buffers/buffer_assigner.h"
#include "xla/hlo/analysis/buffers/buffer_assignment.h"
#include "xla/hlo/analysis/buffers/memory_replay.h"
#include "xla/hlo/analysis/gpu_alias_info.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_buffer.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_ordering.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Operands of fusions, not updated in place, that lie where one of the results
// is written, while the kernel may still need them.
int64_t CountOverwrittenOperands(const HloAliasAnalysis& aliases) {
  const gpu::GpuAliasInfo alias_info;
  const HloDataflowAnalysis& dataflow = aliases.dataflow_analysis();
  const auto is_update = [&](const HloUse& use, const ShapeIndex& result) {
    const auto pairs = alias_info.GetInPlaceInputOutputPairs(use.instruction);
    return absl::c_any_of(pairs, [&](const auto& pair) {
      return pair.first.operand_number == use.operand_number &&
             pair.first.operand_index == use.operand_index &&
             pair.second == result;
    });
  };
  int64_t count = 0;
  for (const HloBuffer& buffer : aliases.buffers()) {
    absl::flat_hash_map<const HloInstruction*, const HloValue*> results;
    for (const HloValue* value : buffer.values()) {
      const HloInstruction* inst = value->defining_instruction();
      if (inst->opcode() == HloOpcode::kFusion) results[inst] = value;
    }
    if (results.empty() || buffer.values().size() < 2) continue;
    for (const HloValue* value : buffer.values()) {
      for (const HloUse& use : value->GetUses()) {
        const auto it = results.find(use.instruction);
        if (it == results.end() || it->second == value) continue;
        const ShapeIndex& result = it->second->defining_index();
        if (!is_update(use, result) &&
            !dataflow.CanShareOperandBufferWithUser(
                use.instruction->mutable_operand(use.operand_number),
                use.operand_index, use.instruction, result, &alias_info)) {
          ++count;
        }
      }
    }
  }
  return count;
}

}  // namespace

absl::StatusOr<int64_t> CountLostReads(const HloModule& module) {
  const AliasInfo alias_info;
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<BufferAssignment> assignment,
      BufferAssigner::Run(
          &module, std::make_unique<SequentialHloOrdering>(module.schedule()),
          [](const BufferValue& value) {
            return ShapeUtil::ByteSizeOf(value.shape(), /*pointer_size=*/8);
          },
          &alias_info, [](BufferValue::Color) { return int64_t{64}; }, {}));
  std::vector<MissingCopy> missing;
  TF_RETURN_IF_ERROR(
      ReplayBufferAssignment(*assignment, module.schedule(), &missing));
  return static_cast<int64_t>(missing.size()) +
         CountOverwrittenOperands(assignment->alias_analysis());
}

}  // namespace xla::remat_plan
