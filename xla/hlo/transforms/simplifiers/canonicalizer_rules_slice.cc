#include <cstdint>
#include <vector>

#include "absl/algorithm/container.h"
#include "xla/hlo/transforms/simplifiers/canonicalizer_rules.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

bool IsStatic(const HloInstruction* inst) { return inst->shape().is_static(); }

HloInstruction* WholeSlice(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  // A slice of all elements takes them with stride 1.
  return IsStatic(x) && HasShapeOf(inst, x) ? x : nullptr;
}

HloInstruction* SliceOfSlice(HloInstruction* inst) {
  HloInstruction* inner = inst->mutable_operand(0);
  if (inner->opcode() != HloOpcode::kSlice || !IsStatic(inner->operand(0))) {
    return nullptr;
  }
  std::vector<int64_t> starts, limits, strides;
  for (size_t i = 0; i < inst->shape().dimensions().size(); ++i) {
    const int64_t stride = inner->slice_strides(i);
    const int64_t start = inner->slice_starts(i);
    const int64_t size = inst->shape().dimensions(i);
    // Nothing behind the last element that the inner one takes may lie beyond
    // the operand.
    starts.push_back(size == 0 ? start
                               : start + inst->slice_starts(i) * stride);
    strides.push_back(inst->slice_strides(i) * stride);
    // One past the last element taken.
    limits.push_back(size == 0
                         ? starts.back()
                         : starts.back() + (size - 1) * strides.back() + 1);
  }
  return inst->AddInstruction(HloInstruction::CreateSlice(
      inst->shape(), inner->mutable_operand(0), starts, limits, strides));
}

// Only where all that is read lies in one operand; a slice across a border
// would need a slice of each side and a new concatenate, which saves nothing.
// The slice may have strides, as its limit bounds what it reads.
HloInstruction* SliceOfConcatenate(HloInstruction* inst) {
  HloInstruction* concatenate = inst->mutable_operand(0);
  if (concatenate->opcode() != HloOpcode::kConcatenate ||
      !IsStatic(concatenate)) {
    return nullptr;
  }
  const int64_t dimension = concatenate->concatenate_dimension();
  const int64_t start = inst->slice_starts(dimension);
  const int64_t limit = inst->slice_limits(dimension);
  int64_t offset = 0;
  for (HloInstruction* part : concatenate->operands()) {
    const int64_t end = offset + part->shape().dimensions(dimension);
    if (start >= offset && limit <= end && start < end) {
      if (HasShapeOf(inst, part)) return part;
      std::vector<int64_t> starts(inst->slice_starts().begin(),
                                  inst->slice_starts().end());
      std::vector<int64_t> limits(inst->slice_limits().begin(),
                                  inst->slice_limits().end());
      starts[dimension] -= offset;
      limits[dimension] -= offset;
      return inst->AddInstruction(HloInstruction::CreateSlice(
          inst->shape(), part, starts, limits, inst->slice_strides()));
    }
    offset = end;
  }
  return nullptr;
}

HloInstruction* SliceOfScalarBroadcast(HloInstruction* inst) {
  HloInstruction* broadcast = inst->mutable_operand(0);
  if (broadcast->opcode() != HloOpcode::kBroadcast || !IsStatic(inst) ||
      !ShapeUtil::IsScalar(broadcast->operand(0)->shape())) {
    return nullptr;
  }
  return inst->AddInstruction(HloInstruction::CreateBroadcast(
      inst->shape(), broadcast->mutable_operand(0), {}));
}

HloInstruction* SingleConcatenate(HloInstruction* inst) {
  if (inst->operand_count() != 1) return nullptr;
  HloInstruction* x = inst->mutable_operand(0);
  return HasShapeOf(inst, x) ? x : nullptr;
}

// Takes the operands of inner concatenates, and none that are empty.
HloInstruction* FlatConcatenate(HloInstruction* inst) {
  const int64_t dimension = inst->concatenate_dimension();
  std::vector<HloInstruction*> parts;
  bool flatter = false;
  for (HloInstruction* part : inst->operands()) {
    if (!IsStatic(part)) return nullptr;
    if (part->opcode() == HloOpcode::kConcatenate && part->user_count() == 1 &&
        part->concatenate_dimension() == dimension &&
        !part->HasControlDependencies()) {
      parts.insert(parts.end(), part->operands().begin(),
                   part->operands().end());
      flatter = true;
    } else if (part->shape().dimensions(dimension) == 0) {
      // What is empty for another dimension has its size in this one.
      flatter = true;
    } else {
      parts.push_back(part);
    }
  }
  if (!flatter || parts.empty()) return nullptr;
  if (parts.size() == 1) {
    return HasShapeOf(inst, parts[0]) ? parts[0] : nullptr;
  }
  return inst->AddInstruction(
      HloInstruction::CreateConcatenate(inst->shape(), parts, dimension));
}

HloInstruction* PadNothing(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  const auto& dimensions = inst->padding_config().dimensions();
  bool pads = absl::c_any_of(dimensions, [](const auto& dimension) {
    return dimension.edge_padding_low() != 0 ||
           dimension.edge_padding_high() != 0 ||
           dimension.interior_padding() != 0;
  });
  return !pads && HasShapeOf(inst, x) ? x : nullptr;
}

HloInstruction* WholeDynamicSlice(HloInstruction* inst) {
  HloInstruction* x = inst->mutable_operand(0);
  // The start is clamped to 0: there is no other place for it.
  return IsStatic(x) && HasShapeOf(inst, x) ? x : nullptr;
}

HloInstruction* WholeDynamicUpdateSlice(HloInstruction* inst) {
  HloInstruction* update = inst->mutable_operand(1);
  return IsStatic(inst) && HasShapeOf(inst, update) ? update : nullptr;
}

constexpr CanonicalizerRule kSliceRules[] = {
    {"slice-everything", "slice(x) of the same shape → x", HloOpcode::kSlice,
     WholeSlice},
    {"slice-of-slice", "slice(slice(x)) → slice(x)", HloOpcode::kSlice,
     SliceOfSlice},
    {"slice-of-concatenate", "slice(concatenate(x, y)) within y → slice(y)",
     HloOpcode::kSlice, SliceOfConcatenate},
    {"slice-of-scalar-broadcast", "slice(broadcast(scalar)) → broadcast",
     HloOpcode::kSlice, SliceOfScalarBroadcast},
    {"concatenate-one", "concatenate(x) → x", HloOpcode::kConcatenate,
     SingleConcatenate},
    {"concatenate-flat",
     "concatenate(concatenate(x, y), empty, z) → concatenate(x, y, z)",
     HloOpcode::kConcatenate, FlatConcatenate},
    {"pad-nothing", "pad(x) by 0 → x", HloOpcode::kPad, PadNothing},
    {"dynamic-slice-everything", "dynamic-slice(x) of the same shape → x",
     HloOpcode::kDynamicSlice, WholeDynamicSlice},
    {"dynamic-update-everything",
     "dynamic-update-slice(x, u) of the same shape → u",
     HloOpcode::kDynamicUpdateSlice, WholeDynamicUpdateSlice},
};

}  // namespace

absl::Span<const CanonicalizerRule> SliceRules() { return kSliceRules; }

}  // namespace xla
