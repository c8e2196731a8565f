// reduce, reduce-window, select-and-scatter, and windows themselves.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
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

namespace {

// Arrays of the same sizes; returns the most specific ones.
absl::StatusOr<std::vector<Size>> CommonSizes(
    absl::Span<const Shape* const> shapes, absl::string_view what) {
  if (shapes.empty()) return InvalidArgumentStrCat(what, " needs an operand");
  std::vector<Size> sizes;
  for (size_t k = 0; k < shapes.size(); ++k) {
    const Shape* shape = shapes[k];
    TF_RETURN_IF_ERROR(ExpectArray(*shape, absl::StrCat("operand of ", what)));
    const int64_t rank = shape->dimensions().size();
    // By position: one value may be several operands.
    if (k == 0) {
      for (int64_t i = 0; i < rank; ++i) sizes.push_back(SizeOf(*shape, i));
      continue;
    }
    bool agree = rank == static_cast<int64_t>(sizes.size());
    for (int64_t i = 0; agree && i < rank; ++i) {
      agree = Agree(sizes[i].size, shape->dimensions(i));
      if (agree) sizes[i] = Merge(sizes[i], SizeOf(*shape, i));
    }
    if (!agree) {
      return InvalidArgumentStrCat("operands of ", what,
                                   " must have the same dimensions: ",
                                   Str(*shapes[0]), " and ", Str(*shape));
    }
  }
  return sizes;
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferReduceShape(
    absl::Span<const Shape* const> arg_shapes,
    absl::Span<const int64_t> dimensions_to_reduce,
    const ProgramShape& to_apply) {
  if (arg_shapes.empty() || arg_shapes.size() % 2 != 0) {
    return InvalidArgumentStrCat(
        "reduce needs as many initial values as inputs, and at least one; got ",
        arg_shapes.size(), " operands");
  }
  const size_t n = arg_shapes.size() / 2;
  const auto inputs = arg_shapes.first(n);
  TF_ASSIGN_OR_RETURN(std::vector<Size> sizes, CommonSizes(inputs, "reduce"));
  TF_RETURN_IF_ERROR(ExpectDimensions(dimensions_to_reduce, sizes.size(),
                                      "reduced dimension"));
  TF_RETURN_IF_ERROR(
      ExpectReducer(to_apply, inputs, arg_shapes.subspan(n), "reduce"));
  ArrayBuilder builder;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!Contains(dimensions_to_reduce, i)) builder.Add(sizes[i]);
  }
  std::vector<Shape> results;
  for (size_t i = 0; i < n; ++i) {
    TF_ASSIGN_OR_RETURN(
        results.emplace_back(),
        builder.Build(ReducerResult(to_apply, i).element_type()));
  }
  return OneOrTuple(std::move(results));
}

absl::StatusOr<Shape> ShapeInference::InferReduceWindowShape(
    absl::Span<const Shape* const> operands,
    absl::Span<const Shape* const> init_values, const Window& window,
    const ProgramShape& to_apply_shape) {
  if (operands.size() != init_values.size()) {
    return InvalidArgumentStrCat("reduce-window has ", operands.size(),
                                 " inputs but ", init_values.size(),
                                 " initial values");
  }
  TF_RETURN_IF_ERROR(CommonSizes(operands, "reduce-window").status());
  TF_RETURN_IF_ERROR(
      ExpectReducer(to_apply_shape, operands, init_values, "reduce-window"));
  std::vector<Shape> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    TF_ASSIGN_OR_RETURN(
        results.emplace_back(),
        WindowOutput(*operands[i], window,
                     ReducerResult(to_apply_shape, i).element_type(),
                     "reduce-window"));
  }
  return OneOrTuple(std::move(results));
}

absl::StatusOr<Shape> ShapeInference::InferReduceWindowShape(
    const Shape& operand_shape, const Shape& init_value, const Window& window,
    const ProgramShape& to_apply_shape) {
  const Shape* const operands[] = {&operand_shape};
  const Shape* const init_values[] = {&init_value};
  return InferReduceWindowShape(absl::Span<const Shape* const>(operands),
                                absl::Span<const Shape* const>(init_values),
                                window, to_apply_shape);
}

absl::StatusOr<Shape> ShapeInference::InferReduceWindowShape(
    const Shape& operand_shape, const Shape& init_value, const Window& window) {
  const Shape* operands[] = {&operand_shape};
  const Shape* init_values[] = {&init_value};
  return InferReduceWindowShape(absl::Span<const Shape*>(operands),
                                absl::Span<const Shape*>(init_values), window);
}

absl::StatusOr<Shape> ShapeInference::InferReduceWindowShape(
    absl::Span<const Shape*> operands, absl::Span<const Shape*> init_values,
    const Window& window) {
  if (operands.size() != init_values.size()) {
    return InvalidArgumentStrCat("reduce-window has ", operands.size(),
                                 " inputs but ", init_values.size(),
                                 " initial values");
  }
  TF_RETURN_IF_ERROR(CommonSizes(operands, "reduce-window").status());
  std::vector<Shape> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    TF_RETURN_IF_ERROR(
        ExpectScalar(*init_values[i], "initial value of reduce-window"));
    TF_RETURN_IF_ERROR(
        CommonType(*operands[i], *init_values[i], "reduce-window").status());
    TF_ASSIGN_OR_RETURN(
        results.emplace_back(),
        WindowOutput(*operands[i], window, init_values[i]->element_type(),
                     "reduce-window"));
  }
  return OneOrTuple(std::move(results));
}

absl::StatusOr<Shape> ShapeInference::InferSelectAndScatterShape(
    const Shape& operand_shape, const ProgramShape& select_shape,
    const Window& window, const Shape& source_shape,
    const Shape& init_value_shape, const ProgramShape& scatter_shape) {
  TF_RETURN_IF_ERROR(
      ExpectArray(operand_shape, "operand of select-and-scatter"));
  TF_RETURN_IF_ERROR(ExpectArray(source_shape, "source of select-and-scatter"));
  if (select_shape.parameters_size() != 2 ||
      !ShapeUtil::IsScalarWithElementType(select_shape.result(), PRED)) {
    return InvalidArgumentStrCat(
        "select of select-and-scatter must take 2 parameters and return "
        "pred[], not ",
        select_shape.ToString());
  }
  for (const Shape& parameter : select_shape.parameters()) {
    if (!ShapeUtil::IsScalar(parameter) ||
        !ShapeUtil::SameElementTypeIgnoringFpPrecision(parameter,
                                                       operand_shape)) {
      return InvalidArgumentStrCat(
          "select of select-and-scatter must take scalars of the type of ",
          Str(operand_shape), ", not ", Str(parameter));
    }
  }
  const Shape* const source[] = {&source_shape};
  const Shape* const init[] = {&init_value_shape};
  TF_RETURN_IF_ERROR(ExpectReducer(scatter_shape, source, init,
                                   "scatter of select-and-scatter"));
  TF_ASSIGN_OR_RETURN(Shape windows, WindowOutput(operand_shape, window,
                                                  source_shape.element_type(),
                                                  "select-and-scatter"));
  bool agree = windows.dimensions().size() == source_shape.dimensions().size();
  for (size_t i = 0; agree && i < windows.dimensions().size(); ++i) {
    agree = Agree(windows.dimensions(i), source_shape.dimensions(i));
  }
  if (!agree) {
    return InvalidArgumentStrCat(
        "source of select-and-scatter is ", Str(source_shape),
        ", but the window over the operand gives ", Str(windows));
  }
  return operand_shape;
}

absl::StatusOr<Window> ShapeInference::InferWindowFromDimensions(
    absl::Span<const int64_t> window_dimensions,
    absl::Span<const int64_t> window_strides,
    absl::Span<const std::pair<int64_t, int64_t>> padding,
    absl::Span<const int64_t> lhs_dilation,
    absl::Span<const int64_t> rhs_dilation,
    std::optional<std::vector<bool>> window_reversal) {
  const size_t rank = window_dimensions.size();
  const auto expect_size = [&](size_t size,
                               absl::string_view what) -> absl::Status {
    if (size == 0 || size == rank) return absl::OkStatus();
    return InvalidArgumentStrCat("window has ", rank, " dimensions but ", size,
                                 " ", what);
  };
  TF_RETURN_IF_ERROR(expect_size(window_strides.size(), "strides"));
  TF_RETURN_IF_ERROR(expect_size(padding.size(), "paddings"));
  TF_RETURN_IF_ERROR(expect_size(lhs_dilation.size(), "base dilations"));
  TF_RETURN_IF_ERROR(expect_size(rhs_dilation.size(), "window dilations"));
  if (window_reversal) {
    TF_RETURN_IF_ERROR(expect_size(window_reversal->size(), "reversals"));
  }
  Window window;
  for (size_t i = 0; i < rank; ++i) {
    WindowDimension* dim = window.add_dimensions();
    dim->set_size(window_dimensions[i]);
    dim->set_stride(window_strides.empty() ? 1 : window_strides[i]);
    if (!padding.empty()) {
      dim->set_padding_low(padding[i].first);
      dim->set_padding_high(padding[i].second);
    }
    dim->set_base_dilation(lhs_dilation.empty() ? 1 : lhs_dilation[i]);
    dim->set_window_dilation(rhs_dilation.empty() ? 1 : rhs_dilation[i]);
    dim->set_window_reversal(window_reversal && !window_reversal->empty() &&
                             (*window_reversal)[i]);
  }
  return window;
}

}  // namespace xla
