#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/dimension_numbers.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/permutation_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

using A = Attribute;

namespace {

// True, too, where a size is not known.
bool MayHaveEqualSizes(const Shape& a, const Shape& b) {
  if (!a.IsArray() || !b.IsArray() || a.is_unbounded_dynamic() ||
      b.is_unbounded_dynamic()) {
    return true;
  }
  return ShapeUtil::ElementsIn(a) == ShapeUtil::ElementsIn(b);
}

}  // namespace

std::unique_ptr<HloInstruction> ModuleParser::BuildDataMovement(
    const Draft& draft, bool* handled) {
  const Shape& shape = *draft.shape;
  const AttributeValues& values = draft.values;
  absl::Span<HloInstruction* const> operands = draft.operands;
  absl::Span<const int64_t> dims = values.Ints(A::kDimensions);
  auto expect = [&](bool ok, absl::string_view rule) {
    return ExpectOperands(draft, ok, rule);
  };
  switch (draft.opcode) {
    case HloOpcode::kBroadcast:
      if (!expect(operands[0]->shape().IsArray() &&
                      dims.size() == operands[0]->shape().dimensions().size(),
                  "dimensions= needs one entry per operand dimension")) {
        return nullptr;
      }
      return HloInstruction::CreateBroadcast(shape, operands[0], dims);
    case HloOpcode::kTranspose:
      if (!expect(shape.IsArray() && dims.size() == shape.dimensions().size() &&
                      IsPermutation(dims),
                  "dimensions= is not a permutation of the dimensions")) {
        return nullptr;
      }
      return HloInstruction::CreateTranspose(shape, operands[0], dims);
    case HloOpcode::kReverse:
      return HloInstruction::CreateReverse(shape, operands[0], dims);
    case HloOpcode::kConcatenate:
      if (!expect(dims.size() == 1, "dimensions= needs one entry") ||
          !expect(!operands.empty(), "at least one operand is needed")) {
        return nullptr;
      }
      return HloInstruction::CreateConcatenate(shape, operands, dims[0]);
    case HloOpcode::kGetDimensionSize:
      if (!expect(dims.size() == 1, "dimensions= needs one entry")) {
        return nullptr;
      }
      return HloInstruction::CreateGetDimensionSize(shape, operands[0],
                                                    dims[0]);
    case HloOpcode::kSetDimensionSize:
      if (!expect(dims.size() == 1, "dimensions= needs one entry")) {
        return nullptr;
      }
      return HloInstruction::CreateSetDimensionSize(shape, operands[0],
                                                    operands[1], dims[0]);
    case HloOpcode::kIota:
      return HloInstruction::CreateIota(shape, values.Int(A::kIotaDimension));
    case HloOpcode::kReshape:
      if (!expect(MayHaveEqualSizes(operands[0]->shape(), shape),
                  "the result has as many elements as the operand")) {
        return nullptr;
      }
      return HloInstruction::CreateReshape(
          shape, operands[0], values.Int(A::kInferredDimension, -1));
    case HloOpcode::kDynamicReshape:
      if (!expect(!operands.empty() && shape.IsArray() &&
                      shape.dimensions().size() == operands.size() - 1,
                  "one size operand per dimension is needed")) {
        return nullptr;
      }
      return HloInstruction::CreateDynamicReshape(shape, operands[0],
                                                  operands.subspan(1));
    case HloOpcode::kSlice:
      return HloInstruction::CreateSlice(
          shape, operands[0], values.slice_starts, values.slice_limits,
          values.slice_strides);
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice: {
      const size_t first = draft.opcode == HloOpcode::kDynamicSlice ? 1 : 2;
      if (!expect(operands.size() >= first && operands[0]->shape().IsArray(),
                  "an array and start indices are needed")) {
        return nullptr;
      }
      absl::Span<HloInstruction* const> starts = operands.subspan(first);
      const bool is_vector = starts.size() == 1 &&
                             starts[0]->shape().IsArray() &&
                             starts[0]->shape().dimensions().size() == 1;
      if (!expect(is_vector ||
                      starts.size() == operands[0]->shape().dimensions().size(),
                  "one start index per dimension is needed")) {
        return nullptr;
      }
      if (draft.opcode == HloOpcode::kDynamicUpdateSlice) {
        return HloInstruction::CreateDynamicUpdateSlice(shape, operands[0],
                                                        operands[1], starts);
      }
      return HloInstruction::CreateDynamicSlice(
          shape, operands[0], starts, values.Ints(A::kDynamicSliceSizes));
    }
    case HloOpcode::kPad:
      return HloInstruction::CreatePad(shape, operands[0], operands[1],
                                       values.padding);
    case HloOpcode::kGather:
      if (!expect(values.slice_sizes.size() == 1,
                  "slice_sizes= is one list of numbers")) {
        return nullptr;
      }
      return HloInstruction::CreateGather(
          shape, operands[0], operands[1], GatherDims(values),
          values.slice_sizes[0], values.Flag(A::kIndicesAreSorted));
    case HloOpcode::kScatter: {
      if (!expect(operands.size() % 2 == 1 && operands.size() >= 3,
                  "n arrays, indices and n updates are needed")) {
        return nullptr;
      }
      const size_t count = operands.size() / 2;
      return HloInstruction::CreateScatter(
          shape, operands.first(count), operands[count],
          operands.subspan(count + 1), values.Computation(A::kToApply),
          ScatterDims(values), values.Flag(A::kIndicesAreSorted),
          values.Flag(A::kUniqueIndices));
    }
    default:  // Built elsewhere.
      *handled = false;
      return nullptr;
  }
}

}  // namespace xla::hlo_text
