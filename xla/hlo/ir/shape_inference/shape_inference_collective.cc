#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

namespace {

// One array, or the tuple of several, each changed by `f`.
absl::StatusOr<Shape> EachOperand(absl::Span<const Shape* const> operands,
                                  absl::string_view what,
                                  absl::FunctionRef<absl::Status(Shape*)> f) {
  if (operands.empty()) return InvalidArgumentStrCat(what, " needs an operand");
  std::vector<Shape> results;
  results.reserve(operands.size());
  for (const Shape* operand : operands) {
    TF_RETURN_IF_ERROR(
        ExpectArray(*operand, absl::StrCat("operand of ", what)));
    results.push_back(*operand);
    TF_RETURN_IF_ERROR(f(&results.back()));
  }
  return OneOrTuple(std::move(results));
}

absl::Status Unchanged(Shape*) { return absl::OkStatus(); }

absl::Status ExpectPositive(int64_t count, absl::string_view what) {
  if (count > 0) return absl::OkStatus();
  return InvalidArgumentStrCat(what, " must be positive, not ", count);
}

Shape OperandsAsOne(absl::Span<const Shape* const> operands) {
  return operands.size() == 1 ? *operands[0]
                              : ShapeUtil::MakeTupleShapeWithPtrs(operands);
}

// The result part of an asynchronous collective's (operands, results, ...).
absl::StatusOr<Shape> ResultOfStart(const Shape& start,
                                    absl::string_view what) {
  if (!start.IsTuple() || start.tuple_shapes().size() < 2) {
    return InvalidArgumentStrCat("operand of ", what,
                                 " must be a tuple (operands, results), not ",
                                 Str(start));
  }
  return start.tuple_shapes(1);
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferAllGatherShape(
    absl::Span<const Shape* const> operand_shapes, int64_t all_gather_dimension,
    int64_t shard_count) {
  TF_RETURN_IF_ERROR(ExpectPositive(shard_count, "shard count of all-gather"));
  return EachOperand(operand_shapes, "all-gather", [&](Shape* shape) {
    const int64_t dim = all_gather_dimension;
    absl::Status status = ExpectDimension(dim, shape->dimensions().size(),
                                          "all-gather dimension");
    if (!status.ok()) return status;
    const Size size = SizeOf(*shape, dim);
    if (IsUnbounded(size.size)) return status;
    const int64_t gathered = SaturatedMul(size.size, shard_count);
    if (!Shape::IsValidDimensionSize(gathered, size.dynamic) ||
        (size.size != 0 && gathered / size.size != shard_count)) {
      return InvalidArgumentStrCat("all-gather of ", Str(*shape), " over ",
                                   shard_count, " shards is too large");
    }
    shape->set_dimensions(dim, gathered, size.dynamic);
    return status;
  });
}

absl::StatusOr<Shape> ShapeInference::InferAllGatherStartShape(
    absl::Span<const Shape* const> operand_shapes, int64_t all_gather_dimension,
    int64_t shard_count) {
  TF_ASSIGN_OR_RETURN(
      Shape result,
      InferAllGatherShape(operand_shapes, all_gather_dimension, shard_count));
  return ShapeUtil::MakeTupleShape({OperandsAsOne(operand_shapes), result});
}

absl::StatusOr<Shape> ShapeInference::InferAllGatherDoneShape(
    const Shape& all_gather_start_shape) {
  return ResultOfStart(all_gather_start_shape, "all-gather-done");
}

absl::StatusOr<Shape> ShapeInference::InferAllReduceShape(
    absl::Span<const Shape* const> operand_shapes) {
  return EachOperand(operand_shapes, "all-reduce", Unchanged);
}

absl::StatusOr<Shape> ShapeInference::InferAllReduceStartShape(
    absl::Span<const Shape* const> operand_shapes) {
  return EachOperand(operand_shapes, "all-reduce-start", Unchanged);
}

absl::StatusOr<Shape> ShapeInference::InferAllReduceDoneShape(
    const Shape& operand_shape) {
  return operand_shape;
}

absl::StatusOr<Shape> ShapeInference::InferReduceScatterShape(
    absl::Span<const Shape* const> operand_shapes, int64_t scatter_dimension,
    int64_t shard_count) {
  TF_RETURN_IF_ERROR(
      ExpectPositive(shard_count, "shard count of reduce-scatter"));
  return EachOperand(operand_shapes, "reduce-scatter", [&](Shape* shape) {
    const int64_t dim = scatter_dimension;
    absl::Status status = ExpectDimension(dim, shape->dimensions().size(),
                                          "reduce-scatter dimension");
    if (!status.ok()) return status;
    const Size size = SizeOf(*shape, dim);
    if (IsUnbounded(size.size)) return status;
    if (size.size % shard_count != 0) {
      return InvalidArgumentStrCat("reduce-scatter dimension ", dim, " of ",
                                   Str(*shape), " must be divisible by ",
                                   shard_count, " shards");
    }
    shape->set_dimensions(dim, size.size / shard_count, size.dynamic);
    return status;
  });
}

absl::StatusOr<Shape> ShapeInference::InferAllToAllShape(
    const Shape& shape, int64_t split_dimension, int64_t concat_dimension,
    int64_t split_count) {
  TF_RETURN_IF_ERROR(ExpectArray(shape, "operand of all-to-all"));
  TF_RETURN_IF_ERROR(ExpectPositive(split_count, "split count of all-to-all"));
  const int64_t rank = shape.dimensions().size();
  TF_RETURN_IF_ERROR(
      ExpectDimension(split_dimension, rank, "all-to-all split dimension"));
  TF_RETURN_IF_ERROR(
      ExpectDimension(concat_dimension, rank, "all-to-all concat dimension"));
  const Size split = SizeOf(shape, split_dimension);
  if (!IsUnbounded(split.size) && split.size % split_count != 0) {
    return InvalidArgumentStrCat("all-to-all split dimension ", split_dimension,
                                 " of ", Str(shape), " must be divisible by ",
                                 split_count);
  }
  ArrayBuilder result;
  for (int64_t i = 0; i < rank; ++i) {
    Size size = SizeOf(shape, i);
    if (!IsUnbounded(size.size)) {
      if (i == split_dimension) size.size /= split_count;
      if (i == concat_dimension) {
        size.size = SaturatedMul(size.size, split_count);
      }
    }
    result.Add(size);
  }
  return result.Build(shape.element_type());
}

absl::StatusOr<Shape> ShapeInference::InferAllToAllTupleShape(
    absl::Span<const Shape* const> operand_shapes) {
  if (operand_shapes.empty()) {
    return InvalidArgument("all-to-all needs an operand");
  }
  for (const Shape* operand : operand_shapes) {
    TF_RETURN_IF_ERROR(ExpectArray(*operand, "operand of all-to-all"));
    if (operand->is_unbounded_dynamic()) {
      return InvalidArgumentStrCat(
          "operands of a tuple all-to-all must have bounds, not ",
          Str(*operand));
    }
    if (!ShapeUtil::Compatible(*operand, *operand_shapes[0])) {
      return InvalidArgumentStrCat(
          "operands of a tuple all-to-all must have the same shape: ",
          Str(*operand_shapes[0]), " and ", Str(*operand));
    }
  }
  return ShapeUtil::MakeTupleShapeWithPtrs(operand_shapes);
}

absl::StatusOr<Shape> ShapeInference::InferRaggedAllToAllShape(
    absl::Span<const Shape* const> operand_shapes) {
  if (operand_shapes.size() != 6) {
    return InvalidArgumentStrCat("ragged-all-to-all takes 6 operands, not ",
                                 operand_shapes.size());
  }
  const Shape& input = *operand_shapes[0];
  const Shape& output = *operand_shapes[1];
  TF_RETURN_IF_ERROR(ExpectArray(input, "input of ragged-all-to-all"));
  TF_RETURN_IF_ERROR(ExpectArray(output, "output of ragged-all-to-all"));
  if (input.element_type() != output.element_type() ||
      input.dimensions().size() != output.dimensions().size() ||
      input.dimensions().empty()) {
    return InvalidArgumentStrCat(
        "input and output of ragged-all-to-all differ in element type or rank, "
        "or are scalars: ",
        Str(input), " and ", Str(output));
  }
  for (size_t i = 1; i < input.dimensions().size(); ++i) {
    if (!Agree(input.dimensions(i), output.dimensions(i))) {
      return InvalidArgumentStrCat(
          "input and output of ragged-all-to-all "
          "differ in dimension ",
          i, ": ", Str(input), " and ", Str(output));
    }
  }
  const Shape& offsets = *operand_shapes[2];
  for (size_t i = 2; i < 6; ++i) {
    const Shape& shape = *operand_shapes[i];
    if (!shape.IsArray() ||
        !primitive_util::IsIntegralType(shape.element_type()) ||
        shape.dimensions().empty() || !ShapeUtil::Compatible(shape, offsets)) {
      return InvalidArgumentStrCat(
          "offsets and sizes of ragged-all-to-all must be integer arrays of "
          "one shape: operand ",
          i, " is ", Str(shape), ", operand 2 ", Str(offsets));
    }
  }
  return output;
}

absl::StatusOr<Shape> ShapeInference::InferCollectiveBroadcastShape(
    absl::Span<const Shape* const> operand_shapes, bool has_dynamic_root) {
  if (has_dynamic_root) {
    if (operand_shapes.size() < 2) {
      return InvalidArgument(
          "collective-broadcast with a dynamic root needs an operand and the "
          "root");
    }
    // One number, as a scalar or as an array of one.
    const Shape& root = *operand_shapes.back();
    if (!root.IsArray() || root.dimensions().size() != 1 ||
        root.dimensions(0) != 1 ||
        !primitive_util::IsIntegralType(root.element_type())) {
      TF_RETURN_IF_ERROR(
          ExpectIntegralScalar(root, "root of collective-broadcast"));
    }
    operand_shapes.remove_suffix(1);
  }
  return EachOperand(operand_shapes, "collective-broadcast", Unchanged);
}

absl::StatusOr<Shape> ShapeInference::InferCollectivePermuteShape(
    absl::Span<const Shape* const> operand_shapes, bool inplace) {
  if (!inplace) {
    return EachOperand(operand_shapes, "collective-permute", Unchanged);
  }
  if (operand_shapes.size() != 4) {
    return InvalidArgumentStrCat(
        "collective-permute in place takes 4 operands, not ",
        operand_shapes.size());
  }
  return *operand_shapes[1];
}

absl::StatusOr<Shape> ShapeInference::InferCollectivePermuteStartShape(
    absl::Span<const Shape* const> operand_shapes,
    absl::Span<const Shape> context_shapes, bool inplace) {
  TF_ASSIGN_OR_RETURN(Shape result,
                      InferCollectivePermuteShape(operand_shapes, inplace));
  // In place the tables of slices are no part of what is under way.
  std::vector<Shape> parts = {
      OperandsAsOne(inplace ? operand_shapes.first(1) : operand_shapes),
      std::move(result)};
  parts.insert(parts.end(), context_shapes.begin(), context_shapes.end());
  return ShapeUtil::MakeTupleShape(std::move(parts));
}

absl::StatusOr<Shape> ShapeInference::InferCollectivePermuteDoneShape(
    const Shape& operand_shape) {
  return ResultOfStart(operand_shape, "collective-permute-done");
}

}  // namespace xla
