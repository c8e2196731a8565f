#include "xla/hlo/transforms/operations/variadic_op_splitter.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// A concatenation of some of the operands; one alone stands for itself.
HloInstruction* Part(HloInstruction* concatenate,
                     absl::Span<HloInstruction* const> operands) {
  if (operands.size() == 1) return operands[0];
  const int64_t dimension = concatenate->concatenate_dimension();
  Shape shape = concatenate->shape();
  int64_t size = 0;
  for (const HloInstruction* operand : operands) {
    size += operand->shape().dimensions(dimension);
  }
  shape.set_dimensions(dimension, size);
  HloInstruction* part = concatenate->AddInstruction(
      HloInstruction::CreateConcatenate(shape, operands, dimension));
  part->set_metadata(concatenate->metadata());
  return part;
}

// A tree, level by level from the operands on: n of them make log(n) /
// log(max_operands) levels, and as often is each element copied.
absl::Status Split(HloInstruction* concatenate, int64_t max_operands) {
  std::vector<HloInstruction*> level(concatenate->operands().begin(),
                                     concatenate->operands().end());
  while (static_cast<int64_t>(level.size()) > max_operands) {
    std::vector<HloInstruction*> next;
    for (size_t i = 0; i < level.size(); i += max_operands) {
      const size_t count = std::min<size_t>(max_operands, level.size() - i);
      next.push_back(
          Part(concatenate, absl::MakeSpan(level).subspan(i, count)));
    }
    level = std::move(next);
  }
  return concatenate->parent()->ReplaceInstruction(concatenate,
                                                   Part(concatenate, level));
}

}  // namespace

absl::StatusOr<bool> VariadicOpSplitter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  if (options_.max_operands < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "variadic-op-splitter: max-operands=", options_.max_operands,
        " is below 2"));
  }
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* inst : computation->MakeInstructionPostOrder()) {
      if (inst->opcode() != HloOpcode::kConcatenate ||
          inst->operand_count() <= options_.max_operands ||
          inst->shape().is_dynamic() || inst->HasControlDependencies()) {
        continue;
      }
      TF_RETURN_IF_ERROR(Split(inst, options_.max_operands));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
