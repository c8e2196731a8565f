#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/primitive_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla::shape_inference_internal {

std::string Str(const Shape& shape) { return ShapeUtil::HumanString(shape); }

std::string Str(absl::Span<const int64_t> dims) {
  return absl::StrCat("{", absl::StrJoin(dims, ","), "}");
}

Size Merge(Size a, Size b) {
  if (IsUnbounded(a.size)) return b;
  if (IsUnbounded(b.size)) return a;
  return {std::min(a.size, b.size), a.dynamic || b.dynamic};
}

int64_t SaturatedAdd(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return b > 0 ? std::numeric_limits<int64_t>::max()
               : std::numeric_limits<int64_t>::min() + 1;
}

int64_t SaturatedMul(int64_t a, int64_t b) {
  int64_t result;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min() + 1;
}

absl::StatusOr<Shape> ArrayBuilder::Build(PrimitiveType type) const {
  return any_dynamic_ ? ShapeUtil::MakeValidatedShape(type, sizes_, dynamic_)
                      : ShapeUtil::MakeValidatedShape(type, sizes_);
}

absl::Status ExpectArray(const Shape& shape, absl::string_view what) {
  if (shape.IsArray()) return absl::OkStatus();
  return InvalidArgumentStrCat(what, " must be an array, not ", Str(shape));
}

absl::Status ExpectScalar(const Shape& shape, absl::string_view what) {
  if (ShapeUtil::IsScalar(shape)) return absl::OkStatus();
  return InvalidArgumentStrCat(what, " must be a scalar, not ", Str(shape));
}

absl::Status ExpectIntegralScalar(const Shape& shape, absl::string_view what) {
  if (ShapeUtil::IsScalar(shape) &&
      primitive_util::IsIntegralType(shape.element_type())) {
    return absl::OkStatus();
  }
  return InvalidArgumentStrCat(what, " must be an integer scalar, not ",
                               Str(shape));
}

absl::Status ExpectDimension(int64_t dim, int64_t rank,
                             absl::string_view what) {
  if (dim >= 0 && dim < rank) return absl::OkStatus();
  return InvalidArgumentStrCat(what, " ", dim, " is out of range [0, ", rank,
                               ")");
}

absl::Status ExpectDimensions(absl::Span<const int64_t> dims, int64_t rank,
                              absl::string_view what) {
  absl::InlinedVector<bool, 16> seen(rank, false);
  for (int64_t dim : dims) {
    TF_RETURN_IF_ERROR(ExpectDimension(dim, rank, what));
    if (seen[dim]) {
      return InvalidArgumentStrCat(what, " ", dim, " appears twice in ",
                                   Str(dims));
    }
    seen[dim] = true;
  }
  return absl::OkStatus();
}

absl::Status ExpectSorted(absl::Span<const int64_t> dims,
                          absl::string_view what) {
  if (std::is_sorted(dims.begin(), dims.end())) return absl::OkStatus();
  return InvalidArgumentStrCat(what, " must be sorted: ", Str(dims));
}

absl::Status ExpectSameSizes(const Shape& a, const Shape& b,
                             absl::string_view what) {
  bool agree = a.dimensions().size() == b.dimensions().size();
  for (size_t i = 0; agree && i < a.dimensions().size(); ++i) {
    agree = Agree(a.dimensions(i), b.dimensions(i));
  }
  if (agree) return absl::OkStatus();
  return InvalidArgumentStrCat(what, " must have the same dimensions: ", Str(a),
                               " and ", Str(b));
}

absl::StatusOr<PrimitiveType> CommonType(const Shape& a, const Shape& b,
                                         absl::string_view what) {
  if (!ShapeUtil::SameElementTypeIgnoringFpPrecision(a, b)) {
    return InvalidArgumentStrCat(what, ": element types of ", Str(a), " and ",
                                 Str(b), " do not match");
  }
  return a.element_type() == b.element_type()
             ? a.element_type()
             : ShapeUtil::HigherPrecisionElementType(a, b);
}

absl::StatusOr<PrimitiveType> ProductType(
    const Shape& lhs, const Shape& rhs,
    std::optional<PrimitiveType> preferred) {
  const auto is_complex = primitive_util::IsComplexType;
  const auto name = primitive_util::LowercasePrimitiveTypeName;
  const PrimitiveType type = ShapeUtil::HigherPrecisionElementType(lhs, rhs);
  if (!preferred || *preferred == type) return type;
  if (!primitive_util::IsArrayType(*preferred) ||
      is_complex(*preferred) != is_complex(type)) {
    return InvalidArgumentStrCat("preferred_element_type ", name(*preferred),
                                 " and the type ", name(type),
                                 " of the operands must both be complex, or "
                                 "none");
  }
  return *preferred;
}

absl::Status ExpectSlidingWindow(const Window& window, absl::string_view what) {
  for (int i = 0; i < window.dimensions_size(); ++i) {
    const WindowDimension& dim = window.dimensions(i);
    if (dim.size() <= 0 || dim.stride() <= 0 || dim.base_dilation() < 1 ||
        dim.window_dilation() < 1) {
      return InvalidArgumentStrCat(
          what, ": size, stride and dilations of window dimension ", i,
          " must be positive: size ", dim.size(), ", stride ", dim.stride(),
          ", base dilation ", dim.base_dilation(), ", window dilation ",
          dim.window_dilation());
    }
  }
  return absl::OkStatus();
}

// The number of window positions in each dimension. With the dilated extent of
// n elements, (n - 1) * dilation + 1, or 0 for n = 0, it is (padded base extent
// - window extent) / stride + 1, or 0 if the window does not fit. Arithmetic
// saturates, so absurd attributes give absurd sizes, which the validation of
// the shape then rejects.
absl::StatusOr<Shape> WindowOutput(const Shape& base, const Window& window,
                                   PrimitiveType type, absl::string_view what) {
  const int64_t rank = base.dimensions().size();
  if (window.dimensions_size() != rank) {
    return InvalidArgumentStrCat(what, ": the window has ",
                                 window.dimensions_size(), " dimensions, but ",
                                 Str(base), " has ", rank);
  }
  TF_RETURN_IF_ERROR(ExpectSlidingWindow(window, what));
  ArrayBuilder result;
  for (int64_t i = 0; i < rank; ++i) {
    const WindowDimension& dim = window.dimensions(i);
    Size size = SizeOf(base, i);
    if (!IsUnbounded(size.size)) {
      const auto dilated = [](int64_t bound, int64_t dilation) {
        return bound == 0 ? 0
                          : SaturatedAdd(SaturatedMul(bound - 1, dilation), 1);
      };
      const int64_t padded =
          SaturatedAdd(SaturatedAdd(dilated(size.size, dim.base_dilation()),
                                    dim.padding_low()),
                       dim.padding_high());
      const int64_t extent = dilated(dim.size(), dim.window_dilation());
      size.size = padded < extent ? 0 : (padded - extent) / dim.stride() + 1;
    }
    result.Add(size);
  }
  return result.Build(type);
}

const Shape& ReducerResult(const ProgramShape& reducer, int64_t i) {
  return reducer.result().IsTuple() ? reducer.result().tuple_shapes(i)
                                    : reducer.result();
}

absl::Status ExpectReducer(const ProgramShape& reducer,
                           absl::Span<const Shape* const> inputs,
                           absl::Span<const Shape* const> init_values,
                           absl::string_view what) {
  const int64_t n = inputs.size();
  if (reducer.parameters_size() != 2 * n) {
    return InvalidArgumentStrCat(what, ": the computation must take ", 2 * n,
                                 " parameters, but takes ",
                                 reducer.parameters_size());
  }
  const Shape& result = reducer.result();
  const int64_t results = result.IsTuple() ? result.tuple_shapes().size() : 1;
  if (results != n || (result.IsTuple() && n == 0)) {
    return InvalidArgumentStrCat(what, ": the computation must return ", n,
                                 " scalars, but returns ", Str(result));
  }
  for (int64_t i = 0; i < n; ++i) {
    const Shape& acc = ReducerResult(reducer, i);
    TF_RETURN_IF_ERROR(ExpectScalar(
        acc, absl::StrCat(what, ": result ", i, " of the computation")));
    const auto mismatch = [&](absl::string_view text, const Shape& shape) {
      return InvalidArgumentStrCat(what, ": ", text, " ", i, " is ", Str(shape),
                                   ", which does not match the accumulator ",
                                   Str(acc));
    };
    if (!ShapeUtil::Compatible(reducer.parameters(i), acc)) {
      return mismatch("parameter", reducer.parameters(i));
    }
    const Shape& value = reducer.parameters(n + i);
    if (!ShapeUtil::IsScalar(value) ||
        !ShapeUtil::SameElementTypeIgnoringFpPrecision(value, acc)) {
      return mismatch("value parameter", value);
    }
    if (!ShapeUtil::IsScalar(*init_values[i]) ||
        !ShapeUtil::SameElementTypeIgnoringFpPrecision(*init_values[i], acc)) {
      return mismatch("initial value", *init_values[i]);
    }
    const Shape& input = *inputs[i];
    if (!ShapeUtil::SameElementTypeIgnoringFpPrecision(input, value) &&
        !ShapeUtil::ElementCanUpcast(input, value)) {
      return mismatch("input", input);
    }
  }
  return absl::OkStatus();
}

Shape OneOrTuple(std::vector<Shape> shapes) {
  return shapes.size() == 1 ? std::move(shapes[0])
                            : ShapeUtil::MakeTupleShape(std::move(shapes));
}

}  // namespace xla::shape_inference_internal
