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
//   free         group g of rows meets rhs[g]             -> rows of the result
//   contracting  group g of both operands is summed alone -> result[g]
//   batch        batches behind the last group are 0
//
// Group sizes of a higher rank differ between batches (and rows, if free
// dimensions of lhs come before the ragged one): each slice is a dot by itself.

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

// Everything that the slices of one ragged-dot have in common.
//
// A ragged dot is reduced to ordinary dots on slices. The role of the ragged
// dimension of lhs decides which:
//   * free: group g multiplies its rows of lhs by slice g of rhs;
//   * contracting: group g contracts its part of both operands, which gives
//     one product per group;
//   * batch: the groups together only bound how many batch elements are
//     computed; the rest of the result is zero.
//
// Group sizes that differ along leading dimensions are handled by recursion
// over these dimensions first. Sizes are clamped to the rows still left, so
// inconsistent sizes never read out of bounds.
class RaggedDot {
 public:
  RaggedDot(const HloInstruction* instruction, MemoryBudget* budget)
      : numbers_(instruction->ragged_dot_dimension_numbers()),
        dot_(numbers_.dot_dimension_numbers()),
        ragged_(numbers_.lhs_ragged_dimensions(0)),
        batch_(Find(dot_.lhs_batch_dimensions(), ragged_)),
        contracting_(Find(dot_.lhs_contracting_dimensions(), ragged_)),
        algorithm_(instruction->precision_config().algorithm()),
        type_(instruction->shape().element_type()),
        budget_(budget) {}

  // The dimensions of lhs for each of whose elements there are other sizes.
  absl::StatusOr<DimensionVector> SizedDimensions(const Value& sizes) const {
    DimensionVector dims;
    if (sizes.rank() == 1) return dims;
    for (int64_t d : dot_.lhs_batch_dimensions()) {
      if (d == ragged_) break;
      dims.push_back(d);
    }
    if (batch_ < 0 && contracting_ < 0) {
      for (int64_t d = 0; d < ragged_; ++d) {
        if (IsFree(d)) dims.push_back(d);
      }
    }
    if (sizes.rank() != static_cast<int64_t>(dims.size()) + 1) {
      return Unimplemented("group sizes of rank %d are not supported",
                           sizes.rank());
    }
    return dims;
  }

  // `result` is 0 so far; `sized` are the dimensions that sizes still has.
  absl::Status Add(const Value& lhs, const Value& rhs, const Value& sizes,
                   absl::Span<const int64_t> sized, Value& result) const {
    if (sized.empty()) return AddGroups(lhs, rhs, sizes, result);
    const int64_t batch = Find(dot_.lhs_batch_dimensions(), sized[0]);
    const int64_t axis = ResultAxis(sized[0]);
    DimensionVector inner(sizes.dims().begin() + 1, sizes.dims().end());
    DimensionVector part_dims = result.dims();
    part_dims[axis] = 1;
    if (sizes.dim(0) != lhs.dim(sized[0])) {
      return InvalidArgument("there are group sizes for %d of %d slices",
                             sizes.dim(0), lhs.dim(sized[0]));
    }
    for (int64_t i = 0; i < sizes.dim(0); ++i) {
      TF_ASSIGN_OR_RETURN(Value left, Part(lhs, sized[0], i, 1, budget_));
      Value right = rhs;
      if (batch >= 0) {
        TF_ASSIGN_OR_RETURN(
            right, Part(rhs, dot_.rhs_batch_dimensions(batch), i, 1, budget_));
      }
      TF_ASSIGN_OR_RETURN(Value own, Part(sizes, 0, i, 1, budget_));
      TF_ASSIGN_OR_RETURN(Value part,
                          Value::MakeZeros(type_, part_dims, budget_));
      TF_RETURN_IF_ERROR(
          Add(left, right, own.Reshaped(inner), sized.subspan(1), part));
      Insert(part, axis, i, result);
    }
    return absl::OkStatus();
  }

 private:
  bool IsFree(int64_t d) const {
    return Find(dot_.lhs_batch_dimensions(), d) < 0 &&
           Find(dot_.lhs_contracting_dimensions(), d) < 0;
  }

  // Where a batch or free dimension of lhs is in the result.
  int64_t ResultAxis(int64_t d) const {
    int64_t axis = contracting_ >= 0 ? 1 : 0;  // the groups come first
    const int64_t batch = Find(dot_.lhs_batch_dimensions(), d);
    if (batch >= 0) return axis + batch;
    axis += dot_.lhs_batch_dimensions_size();
    for (int64_t before = 0; before < d; ++before) axis += IsFree(before);
    return axis;
  }

  absl::StatusOr<Value> Dot(const Value& lhs, const Value& rhs,
                            const DotDimensionNumbers& dims) const {
    return DotValues(lhs, rhs, dims, algorithm_, type_, budget_);
  }

  absl::Status AddGroups(const Value& lhs, const Value& rhs, const Value& sizes,
                         Value& result) const {
    if (batch_ >= 0) return AddBatches(lhs, rhs, sizes, result);
    int64_t start = 0;
    for (int64_t g = 0; g < sizes.count(); ++g) {
      const int64_t size =
          std::clamp<int64_t>(sizes.Int64At(g), 0, lhs.dim(ragged_) - start);
      TF_ASSIGN_OR_RETURN(Value left, Part(lhs, ragged_, start, size, budget_));
      TF_RETURN_IF_ERROR(contracting_ >= 0
                             ? AddProduct(left, rhs, g, start, result)
                             : AddRows(left, rhs, g, start, result));
      start += size;
    }
    return absl::OkStatus();
  }

  absl::Status AddBatches(const Value& lhs, const Value& rhs,
                          const Value& sizes, Value& result) const {
    int64_t used = 0;
    for (int64_t g = 0; g < sizes.count(); ++g) {
      used += std::clamp<int64_t>(sizes.Int64At(g), 0, lhs.dim(ragged_) - used);
    }
    TF_ASSIGN_OR_RETURN(Value left, Part(lhs, ragged_, 0, used, budget_));
    TF_ASSIGN_OR_RETURN(
        Value right,
        Part(rhs, dot_.rhs_batch_dimensions(batch_), 0, used, budget_));
    TF_ASSIGN_OR_RETURN(Value product, Dot(left, right, dot_));
    Insert(product, batch_, 0, result);
    return absl::OkStatus();
  }

  absl::Status AddProduct(const Value& left, const Value& rhs, int64_t g,
                          int64_t start, Value& result) const {
    TF_ASSIGN_OR_RETURN(Value right,
                        Part(rhs, dot_.rhs_contracting_dimensions(contracting_),
                             start, left.dim(ragged_), budget_));
    TF_ASSIGN_OR_RETURN(Value product, Dot(left, right, dot_));
    DimensionVector dims = {1};
    dims.insert(dims.end(), product.dims().begin(), product.dims().end());
    Insert(product.Reshaped(dims), 0, g, result);
    return absl::OkStatus();
  }

  absl::Status AddRows(const Value& left, const Value& rhs, int64_t g,
                       int64_t start, Value& result) const {
    if (numbers_.rhs_group_dimensions_size() != 1) {
      return InvalidArgument("rhs has no group dimension");
    }
    const int64_t group = numbers_.rhs_group_dimensions(0);
    TF_ASSIGN_OR_RETURN(Value right, Part(rhs, group, g, 1, budget_));
    DimensionVector dims = right.dims();
    dims.erase(dims.begin() + group);
    TF_ASSIGN_OR_RETURN(Value product, Dot(left, right.Reshaped(dims),
                                           WithoutGroupDimension(dot_, group)));
    Insert(product, ResultAxis(ragged_), start, result);
    return absl::OkStatus();
  }

  const RaggedDotDimensionNumbers& numbers_;
  const DotDimensionNumbers& dot_;
  const int64_t ragged_;
  const int64_t batch_;
  const int64_t contracting_;
  const PrecisionConfig::Algorithm algorithm_;
  const PrimitiveType type_;
  MemoryBudget* budget_;
};

}  // namespace

absl::StatusOr<Value> EvaluateRaggedDot(const HloInstruction* instruction,
                                        absl::Span<Value> operands,
                                        KernelContext& context) {
  const auto& numbers = instruction->ragged_dot_dimension_numbers();
  if (numbers.lhs_ragged_dimensions_size() != 1) {
    return Unimplemented("%d ragged dimensions",
                         numbers.lhs_ragged_dimensions_size());
  }
  const RaggedDot dot(instruction, context.budget);
  TF_ASSIGN_OR_RETURN(DimensionVector sized, dot.SizedDimensions(operands[2]));
  TF_ASSIGN_OR_RETURN(
      Value result,
      Value::MakeZeros(instruction->shape().element_type(),
                       instruction->shape().dimensions(), context.budget));
  TF_RETURN_IF_ERROR(
      dot.Add(operands[0], operands[1], operands[2], sized, result));
  return result;
}

}  // namespace evaluator
}  // namespace xla
