#include "xla/hlo/analysis/logical_buffer_analysis.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/analysis/tuple_points_to_analysis.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether the instruction says that it writes this part into an operand.
bool IsAliased(const HloInstruction& inst, const ShapeIndex& index) {
  if (!HloPredicateIsOp<HloOpcode::kFusion, HloOpcode::kCustomCall>(&inst)) {
    return false;
  }
  return absl::c_any_of(
      Cast<HloCallableInstruction>(&inst)->output_to_operand_aliasing(),
      [&](const auto& pair) { return pair.first == index; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogicalBufferAnalysis>>
LogicalBufferAnalysis::Run(const HloModule* module,
                           bool alias_buffer_across_dataflow) {
  TF_ASSIGN_OR_RETURN(const std::unique_ptr<TuplePointsToAnalysis> points_to,
                      TuplePointsToAnalysis::Run(module));
  auto analysis =
      std::unique_ptr<LogicalBufferAnalysis>(new LogicalBufferAnalysis());
  for (const HloComputation* computation : module->computations()) {
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      ShapeUtil::ForEachSubshape(
          inst->shape(), [&](const Shape&, const ShapeIndex& index) {
            const bool defines =
                IsAliased(*inst, index)
                    ? !alias_buffer_across_dataflow
                    : points_to->InstructionDefinesBufferAtIndex(inst, index);
            if (!defines) return;
            auto& buffers = analysis->logical_buffers_;
            buffers.push_back(std::make_unique<LogicalBuffer>(
                inst, index, static_cast<LogicalBuffer::Id>(buffers.size())));
            analysis->by_place_.emplace(std::make_pair(inst, index),
                                        buffers.back().get());
          });
    }
  }
  return analysis;
}

absl::StatusOr<LogicalBuffer*> LogicalBufferAnalysis::GetBuffer(
    LogicalBuffer::Id id) const {
  if (id < 0 || static_cast<size_t>(id) >= logical_buffers_.size()) {
    return absl::NotFoundError(absl::StrCat("no logical buffer has id ", id));
  }
  return logical_buffers_[id].get();
}

absl::StatusOr<LogicalBuffer*> LogicalBufferAnalysis::GetBuffer(
    HloInstruction* instruction, const ShapeIndex& index) const {
  auto it = by_place_.find({instruction, index});
  if (it == by_place_.end()) {
    return absl::NotFoundError(absl::StrCat("%", instruction->name(),
                                            " defines no logical buffer at ",
                                            index.ToString()));
  }
  return it->second;
}

}  // namespace xla
