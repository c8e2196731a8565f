#include "xla/backends/gpu/transforms/reductions/reduction_splitter.h"

#include <memory>
#include <utility>
#include <vector>

#include "xla/backends/gpu/transforms/reductions/reduction_forms.h"
#include "xla/hlo/evaluator/run/init_values.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// In the grouper's form, of several dimensions, and free to begin anew in each
// of its parts.
bool IsCandidate(const HloInstruction& hlo) {
  if (hlo.opcode() != HloOpcode::kReduce || hlo.operand_count() != 2 ||
      hlo.dimensions().size() < 2 || hlo.HasControlDependencies()) {
    return false;
  }
  for (const Shape* shape : {&hlo.shape(), &hlo.operand(0)->shape()}) {
    if (shape->is_dynamic() || !shape->has_layout() ||
        !LayoutUtil::IsMonotonicWithDim0Major(shape->layout())) {
      return false;
    }
  }
  for (int64_t dim : hlo.dimensions()) {
    if (IsReduced(hlo, dim + 1)) return false;
  }
  return InitMayRepeat(hlo);
}

// Reduced first, it leaves the smallest intermediate result.
int64_t LongestDimension(const HloInstruction& reduce) {
  const Shape& shape = reduce.operand(0)->shape();
  int64_t longest = reduce.dimensions(0);
  for (int64_t dim : reduce.dimensions()) {
    if (shape.dimensions(dim) > shape.dimensions(longest)) longest = dim;
  }
  return longest;
}

absl::Status Split(HloInstruction* reduce, int64_t first) {
  HloInstruction* value = reduce->mutable_operand(0);
  HloInstruction* init = reduce->mutable_operand(1);
  HloComputation* computation = reduce->parent();
  HloInstruction* partial =
      computation->AddInstruction(HloInstruction::CreateReduce(
          ShapeUtil::DeleteDimension(
              first, ShapeUtil::ChangeElementType(
                         value->shape(), reduce->shape().element_type())),
          value, init, {first}, reduce->to_apply()));
  partial->set_metadata_ptr(reduce->metadata_ptr());
  std::vector<int64_t> rest;
  for (int64_t dim : reduce->dimensions()) {
    if (dim != first) rest.push_back(dim < first ? dim : dim - 1);
  }
  std::unique_ptr<HloInstruction> whole = HloInstruction::CreateReduce(
      reduce->shape(), partial, init, rest, reduce->to_apply());
  reduce->SetupDerivedInstruction(whole.get());
  return computation->ReplaceWithNewInstruction(reduce, std::move(whole));
}

}  // namespace

absl::StatusOr<bool> ReductionSplitter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    // What runs asynchronously on the main thread stays one operation.
    if (computation->IsAsyncComputation()) continue;
    for (HloInstruction* hlo : computation->MakeInstructionPostOrder()) {
      if (!IsCandidate(*hlo)) continue;
      const int64_t first = LongestDimension(*hlo);
      if (hlo->operand(0)->shape().dimensions(first) < options_.min_size) {
        continue;
      }
      TF_RETURN_IF_ERROR(Split(hlo, first));
      changed = true;
    }
  }
  if (changed && module->has_schedule()) module->clear_schedule();
  return changed;
}

}  // namespace xla::gpu
