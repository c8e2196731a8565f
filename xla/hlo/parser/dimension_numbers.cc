#include "xla/hlo/parser/dimension_numbers.h"

#include <cstdint>

#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/parser/attribute_table.h"
#include "xla/hlo/parser/module_parser.h"
#include "xla/xla_data.pb.h"

namespace xla::hlo_text {

using A = Attribute;

namespace {

void Assign(absl::Span<const int64_t> values,
            google::protobuf::RepeatedField<int64_t>* field) {
  field->Assign(values.begin(), values.end());
}

}  // namespace

DotDimensionNumbers DotDims(const AttributeValues& values) {
  DotDimensionNumbers dims;
  Assign(values.Ints(A::kLhsContractingDims),
         dims.mutable_lhs_contracting_dimensions());
  Assign(values.Ints(A::kRhsContractingDims),
         dims.mutable_rhs_contracting_dimensions());
  Assign(values.Ints(A::kLhsBatchDims), dims.mutable_lhs_batch_dimensions());
  Assign(values.Ints(A::kRhsBatchDims), dims.mutable_rhs_batch_dimensions());
  return dims;
}

RaggedDotDimensionNumbers RaggedDotDims(const AttributeValues& values) {
  RaggedDotDimensionNumbers dims;
  *dims.mutable_dot_dimension_numbers() = DotDims(values);
  Assign(values.Ints(A::kLhsRaggedDims), dims.mutable_lhs_ragged_dimensions());
  Assign(values.Ints(A::kRhsGroupDims), dims.mutable_rhs_group_dimensions());
  return dims;
}

GatherDimensionNumbers GatherDims(const AttributeValues& values) {
  return HloGatherInstruction::MakeGatherDimNumbers(
      values.Ints(A::kOffsetDims), values.Ints(A::kCollapsedSliceDims),
      values.Ints(A::kStartIndexMap), values.Int(A::kIndexVectorDim),
      values.Ints(A::kOperandBatchingDims),
      values.Ints(A::kStartIndicesBatchingDims));
}

ScatterDimensionNumbers ScatterDims(const AttributeValues& values) {
  return HloScatterInstruction::MakeScatterDimNumbers(
      values.Ints(A::kUpdateWindowDims), values.Ints(A::kInsertedWindowDims),
      values.Ints(A::kScatterDimsToOperandDims), values.Int(A::kIndexVectorDim),
      values.Ints(A::kInputBatchingDims),
      values.Ints(A::kScatterIndicesBatchingDims));
}

TriangularSolveOptions SolveOptions(const AttributeValues& values) {
  TriangularSolveOptions options;
  options.set_left_side(values.Flag(A::kLeftSide));
  options.set_lower(values.Flag(A::kLower));
  options.set_unit_diagonal(values.Flag(A::kUnitDiagonal));
  options.set_transpose_a(values.As<TriangularSolveOptions::Transpose>(
      A::kTransposeA, TriangularSolveOptions::NO_TRANSPOSE));
  return options;
}

}  // namespace xla::hlo_text
