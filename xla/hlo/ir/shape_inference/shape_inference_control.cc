// Tuples, and opcodes that call computations.
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

absl::StatusOr<Shape> ShapeInference::InferGetTupleElementShape(
    const Shape& arg, int64_t index) {
  if (!arg.IsTuple()) {
    return InvalidArgumentStrCat(
        "operand of get-tuple-element must be a "
        "tuple, not ",
        Str(arg));
  }
  TF_RETURN_IF_ERROR(ExpectDimension(index, arg.tuple_shapes().size(),
                                     "index of get-tuple-element"));
  return arg.tuple_shapes(index);
}

absl::StatusOr<Shape> ShapeInference::InferWhileShape(
    const ProgramShape& condition, const ProgramShape& body,
    const Shape& init) {
  if (condition.parameters_size() != 1 || body.parameters_size() != 1) {
    return InvalidArgumentStrCat(
        "condition and body of while take 1 parameter each, not ",
        condition.parameters_size(), " and ", body.parameters_size());
  }
  if (!ShapeUtil::Compatible(condition.result(),
                             ShapeUtil::MakeShape(PRED, {}))) {
    return InvalidArgumentStrCat("condition of while must return pred[], not ",
                                 Str(condition.result()));
  }
  if (!ShapeUtil::Compatible(body.result(), condition.parameters(0)) ||
      !ShapeUtil::Compatible(body.result(), body.parameters(0)) ||
      !ShapeUtil::Compatible(body.result(), init)) {
    return InvalidArgumentStrCat(
        "parameter of the condition, parameter and result of the body, and "
        "initial value of while must have one shape: ",
        Str(condition.parameters(0)), ", ", Str(body.parameters(0)), ", ",
        Str(body.result()), ", ", Str(init));
  }
  return init;
}

absl::StatusOr<Shape> ShapeInference::InferConditionalShape(
    const Shape& branch_index,
    absl::Span<const ProgramShape> branch_computations,
    absl::Span<const Shape> branch_operands) {
  const size_t count = branch_computations.size();
  if (ShapeUtil::IsScalarWithElementType(branch_index, PRED)) {
    if (count != 2) {
      return InvalidArgumentStrCat("conditional on pred[] has 2 branches, not ",
                                   count);
    }
  } else if (!ShapeUtil::IsScalarWithElementType(branch_index, S32)) {
    return InvalidArgumentStrCat(
        "branch index of conditional must be pred[] or s32[], not ",
        Str(branch_index));
  }
  if (count == 0 || count != branch_operands.size()) {
    return InvalidArgumentStrCat("conditional has ", count, " branches and ",
                                 branch_operands.size(), " operands for them");
  }
  for (size_t i = 0; i < count; ++i) {
    const ProgramShape& branch = branch_computations[i];
    if (branch.parameters_size() != 1) {
      return InvalidArgumentStrCat("branch ", i,
                                   " of conditional takes 1 parameter, not ",
                                   branch.parameters_size());
    }
    if (!ShapeUtil::Compatible(branch.parameters(0), branch_operands[i])) {
      return InvalidArgumentStrCat(
          "branch ", i, " of conditional takes ", Str(branch.parameters(0)),
          ", but its operand is ", Str(branch_operands[i]));
    }
    if (!ShapeUtil::Compatible(branch_computations[0].result(),
                               branch.result())) {
      return InvalidArgumentStrCat(
          "branches of conditional must return one shape: branch 0 returns ",
          Str(branch_computations[0].result()), ", branch ", i, " ",
          Str(branch.result()));
    }
  }
  // Dynamic where the result of any branch is.
  Shape result = branch_computations[0].result();
  for (const ProgramShape& branch : branch_computations.subspan(1)) {
    ShapeUtil::ForEachSubshape(
        branch.result(), [&](const Shape& shape, const ShapeIndex& index) {
          if (!shape.IsArray()) return;
          Shape* merged = ShapeUtil::GetMutableSubshape(&result, index);
          for (size_t i = 0; i < shape.dimensions().size(); ++i) {
            if (shape.is_dynamic_dimension(i)) {
              merged->set_dynamic_dimension(i, true);
            }
          }
        });
  }
  return result;
}

absl::StatusOr<Shape> ShapeInference::InferCallShape(
    absl::Span<const Shape* const> arg_shapes, const ProgramShape& to_apply) {
  if (static_cast<int>(arg_shapes.size()) != to_apply.parameters_size()) {
    return InvalidArgumentStrCat("call passes ", arg_shapes.size(),
                                 " operands to a computation of ",
                                 to_apply.parameters_size(), " parameters");
  }
  for (size_t i = 0; i < arg_shapes.size(); ++i) {
    if (!ShapeUtil::Compatible(*arg_shapes[i], to_apply.parameters(i))) {
      return InvalidArgumentStrCat("operand ", i, " of call is ",
                                   Str(*arg_shapes[i]), ", the parameter ",
                                   Str(to_apply.parameters(i)));
    }
  }
  return to_apply.result();
}

}  // namespace xla
