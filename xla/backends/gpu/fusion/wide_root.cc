#include "xla/backends/gpu/fusion/wide_root.h"

#include <algorithm>
#include <string>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {

absl::Status WideRoot::ReplaceRoot(HloInstruction* root,
                                   const std::vector<HloInstruction*>& operands,
                                   const Shape& shape) {
  HloInstruction* new_root =
      computation_->AddInstruction(root->CloneWithNewOperands(shape, operands));
  computation_->set_root_instruction(new_root, /*accept_different_shape=*/true);
  const std::string name(root->name());
  TF_RETURN_IF_ERROR(computation_->RemoveInstruction(root));
  new_root->SetAndSanitizeName(name);
  return absl::OkStatus();
}

absl::Status WideRoot::Split() {
  HloInstruction* root = computation_->root_instruction();
  const int64_t results = root->operand_count();
  if (root->opcode() != HloOpcode::kTuple || results <= kMaxResults ||
      root->user_count() > 0 || root->HasControlDependencies() ||
      root->has_sharding() || computation_->parent()->has_schedule()) {
    return absl::OkStatus();
  }
  shape_ = root->shape();
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < results; i += kPieceResults) {
    const int64_t end = std::min(results, i + kPieceResults);
    pieces_.push_back(computation_->AddInstruction(HloInstruction::CreateTuple(
        absl::MakeConstSpan(root->operands()).subspan(i, end - i))));
    shapes.push_back(pieces_.back()->shape());
  }
  return ReplaceRoot(root, pieces_, ShapeUtil::MakeTupleShape(shapes));
}

absl::Status WideRoot::Join() {
  if (pieces_.empty()) return absl::OkStatus();
  std::vector<HloInstruction*> results;
  for (HloInstruction* piece : pieces_) {
    for (HloInstruction* result : piece->mutable_operands()) {
      results.push_back(result);
    }
  }
  TF_RETURN_IF_ERROR(
      ReplaceRoot(computation_->root_instruction(), results, shape_));
  for (HloInstruction* piece : pieces_) {
    TF_RETURN_IF_ERROR(computation_->RemoveInstruction(piece));
  }
  pieces_.clear();
  return absl::OkStatus();
}

}  // namespace xla::gpu
