#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/evaluator/dot.h"
#include "xla/hlo/evaluator/kernels.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/strided_copy.h"
#include "xla/util.h"
#include "xla/xla_data.pb.h"

// ragged-dot: one dot per group. Groups are consecutive runs of the ragged
// dimension of lhs, and by what that dimension is in the dot:
//
//   free         group g of rows meets rhs[g]              -> rows of the
//   result contracting  group g of both operands is summed alone  -> result[g]
//   batch        groups do not matter

namespace xla {
namespace evaluator {
namespace {

// The part [start, start + size) of one dimension.
absl::StatusOr<Value> Part(const Value& value, int64_t axis, int64_t start,
                           int64_t size, MemoryBudget* budget) {
  DimensionVector dims = value.dims();
  dims[axis] = size;
  TF_ASSIGN_OR_RETURN(Value part, Value::Make(value.type(), dims, budget));
  if (part.count() == 0) return part;
  const DimensionVector strides = RowMajorStrides(value.dims());
  CopyStridedBox(part.mutable_raw(), RowMajorStrides(dims),
                 value.raw() + start * strides[axis] * value.element_bytes(),
                 strides, dims, value.element_bytes());
  return part;
}

void Insert(const Value& part, int64_t axis, int64_t start, Value& whole) {
  if (part.count() == 0) return;
  const DimensionVector strides = RowMajorStrides(whole.dims());
  CopyStridedBox(
      whole.mutable_raw() + start * strides[axis] * whole.element_bytes(),
      strides, part.raw(), RowMajorStrides(part.dims()), part.dims(),
      part.element_bytes());
}

int64_t Find(const google::protobuf::RepeatedField<int64_t>& list, int64_t x) {
  const auto it = std::find(list.begin(), list.end(), x);
  return it == list.end() ? -1 : it - list.begin();
}

// The dimension numbers of rhs without its group dimension.
DotDimensionNumbers WithoutGroupDimension(DotDimensionNumbers dims,
                                          int64_t group) {
  for (auto* list : {dims.mutable_rhs_batch_dimensions(),
                     dims.mutable_rhs_contracting_dimensions()}) {
    for (int64_t& d : *list) d -= d > group;
  }
  return dims;
}

}  // namespace

absl::StatusOr<Value> EvaluateRaggedDot(const HloInstruction* instruction,
                                        absl::Span<Value> operands,
                                        KernelContext& context) {
  const Value& lhs = operands[0];
  const Value& rhs = operands[1];
  const Value& sizes = operands[2];
  const RaggedDotDimensionNumbers& numbers =
      instruction->ragged_dot_dimension_numbers();
  const DotDimensionNumbers& dot = numbers.dot_dimension_numbers();
  const auto algorithm = instruction->precision_config().algorithm();
  const PrimitiveType type = instruction->shape().element_type();
  if (numbers.lhs_ragged_dimensions_size() != 1) {
    return Unimplemented("%d ragged dimensions",
                         numbers.lhs_ragged_dimensions_size());
  }
  const int64_t ragged = numbers.lhs_ragged_dimensions(0);
  if (Find(dot.lhs_batch_dimensions(), ragged) >= 0) {
    return DotValues(lhs, rhs, dot, algorithm, type, context.budget);
  }
  if (sizes.rank() != 1) {
    return Unimplemented("group sizes that differ between batches");
  }
  TF_ASSIGN_OR_RETURN(Value result,
                      Value::MakeZeros(type, instruction->shape().dimensions(),
                                       context.budget));
  const int64_t contracting = Find(dot.lhs_contracting_dimensions(), ragged);
  int64_t start = 0;
  for (int64_t g = 0; g < sizes.count(); ++g) {
    const int64_t size =
        std::clamp<int64_t>(sizes.Int64At(g), 0, lhs.dim(ragged) - start);
    TF_ASSIGN_OR_RETURN(Value left,
                        Part(lhs, ragged, start, size, context.budget));
    if (contracting >= 0) {
      TF_ASSIGN_OR_RETURN(Value right,
                          Part(rhs, dot.rhs_contracting_dimensions(contracting),
                               start, size, context.budget));
      TF_ASSIGN_OR_RETURN(Value product, DotValues(left, right, dot, algorithm,
                                                   type, context.budget));
      DimensionVector dims = {1};
      dims.insert(dims.end(), product.dims().begin(), product.dims().end());
      Insert(product.Reshaped(dims), 0, g, result);
    } else {
      if (numbers.rhs_group_dimensions_size() != 1) {
        return InvalidArgument("rhs has no group dimension");
      }
      const int64_t group = numbers.rhs_group_dimensions(0);
      TF_ASSIGN_OR_RETURN(Value right, Part(rhs, group, g, 1, context.budget));
      DimensionVector dims = right.dims();
      dims.erase(dims.begin() + group);
      TF_ASSIGN_OR_RETURN(
          Value product, DotValues(left, right.Reshaped(dims),
                                   WithoutGroupDimension(dot, group), algorithm,
                                   type, context.budget));
      // The ragged dimension follows the batch dimensions, among the free ones.
      int64_t axis = dot.lhs_batch_dimensions_size();
      for (int64_t d = 0; d < ragged; ++d) {
        axis += Find(dot.lhs_batch_dimensions(), d) < 0 &&
                Find(dot.lhs_contracting_dimensions(), d) < 0;
      }
      Insert(product, axis, start, result);
    }
    start += size;
  }
  return result;
}

}  // namespace evaluator
}  // namespace xla
