#include "xla/backends/gpu/model/cost/coalescing_analysis.h"

#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::gpu {
namespace {

// The innermost dimension in memory that has more than one element; -1 if there
// is none.
int64_t MinorDimension(const Shape& shape) {
  if (!shape.has_layout()) {
    for (int64_t d = shape.dimensions_size() - 1; d >= 0; --d) {
      if (shape.dimensions(d) > 1) return d;
    }
    return -1;
  }
  for (int64_t d : shape.layout().minor_to_major()) {
    if (shape.dimensions(d) > 1) return d;
  }
  return -1;
}

// The dimension of the operand that the result's dimension `d` runs along;
// nullopt if it runs along none.
// -1 stands for no order at all: neighbors in the result of a gather are slices
// that the indices choose. Not to run along any dimension is harmless, since
// all neighbors read the same element.
std::optional<int64_t> OperandDimension(const HloInstruction& instruction,
                                        int64_t d) {
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast: {
      const absl::Span<const int64_t> dims = instruction.dimensions();
      const auto it = absl::c_find(dims, d);
      if (it == dims.end()) return std::nullopt;
      return it - dims.begin();
    }
    case HloOpcode::kTranspose:
      return instruction.dimensions(d);
    case HloOpcode::kReduce: {
      int64_t kept = 0;
      for (int64_t i = 0; i < instruction.operand(0)->shape().dimensions_size();
           ++i) {
        if (absl::c_linear_search(instruction.dimensions(), i)) continue;
        if (kept++ == d) return i;
      }
      return std::nullopt;
    }
    case HloOpcode::kGather: {
      const GatherDimensionNumbers& dims =
          instruction.gather_dimension_numbers();
      if (!absl::c_linear_search(dims.offset_dims(), d)) return -1;
      int64_t before = 0;
      for (int64_t offset : dims.offset_dims()) before += offset < d;
      for (int64_t i = 0; i < instruction.operand(0)->shape().dimensions_size();
           ++i) {
        if (absl::c_linear_search(dims.collapsed_slice_dims(), i) ||
            absl::c_linear_search(dims.operand_batching_dims(), i)) {
          continue;
        }
        if (before-- == 0) return i;
      }
      return std::nullopt;
    }
    default:  // Keeps dimensions in place.
      return d;
  }
}

}  // namespace

bool IsReadCoalesced(const HloInstruction& instruction, int64_t i) {
  const Shape& operand = instruction.operand(i)->shape();
  const Shape& result = instruction.shape().IsTuple() &&
                                !instruction.shape().tuple_shapes().empty()
                            ? instruction.shape().tuple_shapes(0)
                            : instruction.shape();
  if (!operand.IsArray() || !result.IsArray()) return true;
  const int64_t minor = MinorDimension(operand);
  const int64_t d = MinorDimension(result);
  if (minor < 0 || d < 0) return true;
  switch (instruction.opcode()) {
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
      return instruction.IsEffectiveBitcast();
    case HloOpcode::kGather:
      if (i != 0) return true;
      break;
    case HloOpcode::kReduce:
      if (i >= instruction.operand_count() / 2) return true;
      break;
    case HloOpcode::kSlice:
      if (d == minor && instruction.slice_strides(d) != 1) return false;
      break;
    case HloOpcode::kBroadcast:
    case HloOpcode::kTranspose:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kConcatenate:
    case HloOpcode::kPad:
    case HloOpcode::kReverse:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kCopy:
      break;
    default:  // Elementwise, or a kernel of a library.
      if (!instruction.IsElementwise()) return true;
  }
  const std::optional<int64_t> along = OperandDimension(instruction, d);
  return !along.has_value() || *along == minor;
}

}  // namespace xla::gpu
