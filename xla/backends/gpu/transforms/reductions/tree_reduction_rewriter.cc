#include "xla/backends/gpu/transforms/reductions/tree_reduction_rewriter.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/backends/gpu/model/reduction_utils.h"
#include "xla/hlo/analysis/cost/gpu_devices.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

namespace xla::gpu {
namespace {

// Whether the initial value may be met any number of times.
bool InitChangesNothing(const HloInstruction& reduce) {
  const HloInstruction* init = reduce.operand(1);
  const HloInstruction* op = reduce.to_apply()->root_instruction();
  if (!init->IsConstant() || op->operand_count() != 2 ||
      op->operand(0)->opcode() != HloOpcode::kParameter ||
      op->operand(1)->opcode() != HloOpcode::kParameter ||
      op->operand(0) == op->operand(1) ||
      op->shape().element_type() != init->shape().element_type()) {
    return false;
  }
  const Literal& value = init->literal();
  const PrimitiveType type = init->shape().element_type();
  switch (op->opcode()) {
    case HloOpcode::kAdd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return value.IsAll(0);
    case HloOpcode::kMultiply:
      return value.IsAll(1);
    case HloOpcode::kAnd:
      return type == PRED ? value.IsAll(1)
                          : primitive_util::IsSignedIntegralType(type) &&
                                value.IsAll(-1);
    case HloOpcode::kMaximum:
      return value == LiteralUtil::MinValue(type);
    case HloOpcode::kMinimum:
      return value == LiteralUtil::MaxValue(type);
    default:
      return false;
  }
}

// Two factors of `length`, or of a little more, near its root.
std::pair<int64_t, int64_t> Factors(int64_t length) {
  const auto root = static_cast<int64_t>(std::sqrt(length));
  for (int64_t factor = root; factor > root / 2; --factor) {
    if (length % factor == 0) return {factor, length / factor};
  }
  const int64_t factor = root + 1;
  return {factor, (length + factor - 1) / factor};
}

HloInstruction* Reduce(HloInstruction* reduce, HloInstruction* operand,
                       std::vector<int64_t> dims) {
  std::vector<int64_t> sizes;
  for (int64_t d = 0; d < operand->shape().dimensions_size(); ++d) {
    if (!absl::c_linear_search(dims, d)) {
      sizes.push_back(operand->shape().dimensions(d));
    }
  }
  HloInstruction* result =
      reduce->parent()->AddInstruction(HloInstruction::CreateReduce(
          ShapeUtil::MakeShape(operand->shape().element_type(), sizes), operand,
          reduce->mutable_operand(1), dims, reduce->to_apply()));
  result->set_metadata(reduce->metadata());
  return result;
}

// [.., n, ..] as [.., factor, n / factor, ..]; padded where that is uneven.
HloInstruction* Cut(HloInstruction* reduce, int64_t dim) {
  HloComputation* computation = reduce->parent();
  HloInstruction* operand = reduce->mutable_operand(0);
  const int64_t length = operand->shape().dimensions(dim);
  const auto [major, minor] = Factors(length);
  std::vector<int64_t> sizes(operand->shape().dimensions().begin(),
                             operand->shape().dimensions().end());
  if (major * minor != length) {
    PaddingConfig padding;
    for (int64_t d = 0; d < operand->shape().dimensions_size(); ++d) {
      padding.add_dimensions()->set_edge_padding_high(
          d == dim ? major * minor - length : 0);
    }
    sizes[dim] = major * minor;
    operand = computation->AddInstruction(HloInstruction::CreatePad(
        ShapeUtil::MakeShape(operand->shape().element_type(), sizes), operand,
        reduce->mutable_operand(1), padding));
    operand->set_metadata(reduce->metadata());
  }
  sizes[dim] = minor;
  sizes.insert(sizes.begin() + dim, major);
  HloInstruction* cut =
      computation->AddInstruction(HloInstruction::CreateBitcast(
          ShapeUtil::MakeShape(operand->shape().element_type(), sizes),
          operand));
  cut->set_metadata(reduce->metadata());
  return cut;
}

bool CanSplit(const HloInstruction& reduce,
              const se::DeviceDescription& device) {
  if (reduce.opcode() != HloOpcode::kReduce || reduce.operand_count() != 2 ||
      !reduce.shape().IsArray() || !reduce.operand(0)->shape().has_layout() ||
      !LayoutUtil::IsMonotonicWithDim0Major(
          reduce.operand(0)->shape().layout()) ||
      (reduce.shape().has_layout() &&
       !LayoutUtil::IsMonotonicWithDim0Major(reduce.shape().layout())) ||
      !IsReductionFromOrToContiguousDimensions(reduce, device) ||
      ReductionIsRaceFree(*ReductionDimensionsOf(reduce), device)) {
    return false;
  }
  // Neighbors are one dimension.
  for (int64_t dim : reduce.dimensions()) {
    if (absl::c_linear_search(reduce.dimensions(), dim + 1)) return false;
  }
  return InitChangesNothing(reduce);
}

// The two reductions that take the place of `reduce`, in their order.
std::pair<HloInstruction*, HloInstruction*> Split(HloInstruction* reduce) {
  std::vector<int64_t> dims(reduce->dimensions().begin(),
                            reduce->dimensions().end());
  absl::c_sort(dims);
  if (dims.size() > 1) {
    HloInstruction* minor =
        Reduce(reduce, reduce->mutable_operand(0), {dims.back()});
    dims.pop_back();
    return {minor, Reduce(reduce, minor, dims)};
  }
  HloInstruction* minor = Reduce(reduce, Cut(reduce, dims[0]), {dims[0] + 1});
  return {minor, Reduce(reduce, minor, dims)};
}

}  // namespace

absl::StatusOr<bool> TreeReductionRewriter::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  se::DeviceDescription device;
  if (device_.has_value()) {
    device = *device_;
  } else {
    ASSIGN_OR_RETURN(device, LoadGpuDevice(options_.device));
  }
  bool changed = false;
  for (HloComputation* computation :
       module->MakeNonfusionComputations(execution_threads)) {
    std::vector<HloInstruction*> work = computation->MakeInstructionPostOrder();
    // Halves may be too long themselves.
    while (!work.empty()) {
      HloInstruction* reduce = work.back();
      work.pop_back();
      if (!CanSplit(*reduce, device)) continue;
      const auto [first, second] = Split(reduce);
      RETURN_IF_ERROR(computation->ReplaceInstruction(reduce, second));
      work.push_back(first);
      work.push_back(second);
      changed = true;
    }
  }
  return changed;
}

}  // namespace xla::gpu
