// dot, ragged-dot, fft, triangular-solve, cholesky, batch-norm.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/errors.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/ir/shape_inference/shape_inference_internal.h"
#include "xla/primitive_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

namespace {

// Pairs of dimensions that dot runs over together.
absl::Status ExpectPairs(absl::Span<const int64_t> lhs_dims,
                         absl::Span<const int64_t> rhs_dims, const Shape& lhs,
                         const Shape& rhs, absl::string_view what) {
  if (lhs_dims.size() != rhs_dims.size()) {
    return InvalidArgumentStrCat(
        what, " dimensions must come in pairs: ", Str(lhs_dims), " of ",
        Str(lhs), " and ", Str(rhs_dims), " of ", Str(rhs));
  }
  for (size_t i = 0; i < lhs_dims.size(); ++i) {
    if (!Agree(lhs.dimensions(lhs_dims[i]), rhs.dimensions(rhs_dims[i]))) {
      return InvalidArgumentStrCat(what, " dimension ", lhs_dims[i], " of ",
                                   Str(lhs), " and ", rhs_dims[i], " of ",
                                   Str(rhs), " differ in size");
    }
  }
  return absl::OkStatus();
}

absl::Status ExpectDotDimensions(const Shape& lhs, const Shape& rhs,
                                 const DotDimensionNumbers& dnums,
                                 absl::string_view what) {
  TF_RETURN_IF_ERROR(ExpectArray(lhs, absl::StrCat("lhs of ", what)));
  TF_RETURN_IF_ERROR(ExpectArray(rhs, absl::StrCat("rhs of ", what)));
  const auto check = [&](const Shape& shape, absl::Span<const int64_t> batch,
                         absl::Span<const int64_t> contracting,
                         absl::string_view side) {
    absl::InlinedVector<int64_t, 8> all(batch.begin(), batch.end());
    all.insert(all.end(), contracting.begin(), contracting.end());
    return ExpectDimensions(all, shape.dimensions().size(),
                            absl::StrCat(what, " ", side, " ", Str(shape),
                                         ": batch or contracting dimension"));
  };
  TF_RETURN_IF_ERROR(check(lhs, dnums.lhs_batch_dimensions(),
                           dnums.lhs_contracting_dimensions(), "lhs"));
  return check(rhs, dnums.rhs_batch_dimensions(),
               dnums.rhs_contracting_dimensions(), "rhs");
}

// Appends dimensions of `shape` that are in none of the lists.
void AddFree(const Shape& shape, absl::Span<const int64_t> batch,
             absl::Span<const int64_t> contracting,
             absl::Span<const int64_t> group, ArrayBuilder* result) {
  const int64_t rank = shape.dimensions().size();
  for (int64_t i = 0; i < rank; ++i) {
    if (!Contains(batch, i) && !Contains(contracting, i) &&
        !Contains(group, i)) {
      result->Add(SizeOf(shape, i));
    }
  }
}

// Batch dimensions have the sizes of lhs, even where rhs knows more.
void AddBatch(const Shape& lhs, const DotDimensionNumbers& dnums,
              ArrayBuilder* result) {
  for (int64_t dim : dnums.lhs_batch_dimensions()) {
    result->Add(SizeOf(lhs, dim));
  }
}

// Group sizes are one vector for all of lhs, or one for each element of what
// lies around the ragged dimension: the batch dimensions (up to a ragged one),
// then the dimensions of the ragged one's kind, free or contracting, that come
// before it.
absl::Status ExpectGroupSizes(const Shape& lhs, const Shape& group_sizes,
                              const DotDimensionNumbers& dnums,
                              int64_t ragged) {
  const int64_t vectors = group_sizes.dimensions().size() - 1;
  if (vectors == 0) return absl::OkStatus();
  absl::InlinedVector<int64_t, 6> around;
  const absl::Span<const int64_t> batch = dnums.lhs_batch_dimensions();
  const absl::Span<const int64_t> contracting =
      dnums.lhs_contracting_dimensions();
  // Everything up to the ragged dimension; true if it was met.
  const auto add_until_ragged = [&](absl::Span<const int64_t> dims) {
    for (int64_t dim : dims) {
      if (dim == ragged) return true;
      around.push_back(dim);
    }
    return false;
  };
  if (!add_until_ragged(batch)) {
    if (Contains(contracting, ragged)) {
      add_until_ragged(contracting);
    } else {
      for (int64_t dim = 0; dim < ragged; ++dim) {
        if (!Contains(batch, dim) && !Contains(contracting, dim)) {
          around.push_back(dim);
        }
      }
    }
  }
  bool fits = vectors == static_cast<int64_t>(around.size());
  for (int64_t i = 0; fits && i < vectors; ++i) {
    fits = Agree(group_sizes.dimensions(i), lhs.dimensions(around[i]));
  }
  if (fits) return absl::OkStatus();
  return InvalidArgumentStrCat("group sizes ", Str(group_sizes),
                               " of ragged-dot must be one vector, or "
                               "one for each element of dimensions ",
                               Str(around), " of lhs ", Str(lhs));
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferDotOpShape(
    const Shape& lhs, const Shape& rhs, const DotDimensionNumbers& dnums,
    std::optional<PrimitiveType> preferred_element_type) {
  TF_RETURN_IF_ERROR(ExpectDotDimensions(lhs, rhs, dnums, "dot"));
  TF_RETURN_IF_ERROR(ExpectPairs(dnums.lhs_contracting_dimensions(),
                                 dnums.rhs_contracting_dimensions(), lhs, rhs,
                                 "contracting"));
  TF_RETURN_IF_ERROR(ExpectPairs(dnums.lhs_batch_dimensions(),
                                 dnums.rhs_batch_dimensions(), lhs, rhs,
                                 "batch"));
  TF_ASSIGN_OR_RETURN(PrimitiveType type,
                      ProductType(lhs, rhs, preferred_element_type));
  ArrayBuilder result;
  AddBatch(lhs, dnums, &result);
  AddFree(lhs, dnums.lhs_batch_dimensions(), dnums.lhs_contracting_dimensions(),
          {}, &result);
  AddFree(rhs, dnums.rhs_batch_dimensions(), dnums.rhs_contracting_dimensions(),
          {}, &result);
  return result.Build(type);
}

absl::StatusOr<Shape> ShapeInference::InferRaggedDotOpShape(
    const Shape& lhs, const Shape& rhs, const Shape& group_sizes,
    const RaggedDotDimensionNumbers& ragged_dnums,
    std::optional<PrimitiveType> preferred_element_type) {
  const DotDimensionNumbers& dnums = ragged_dnums.dot_dimension_numbers();
  TF_RETURN_IF_ERROR(ExpectDotDimensions(lhs, rhs, dnums, "ragged-dot"));
  TF_RETURN_IF_ERROR(ExpectPairs(dnums.lhs_contracting_dimensions(),
                                 dnums.rhs_contracting_dimensions(), lhs, rhs,
                                 "contracting"));
  TF_RETURN_IF_ERROR(ExpectPairs(dnums.lhs_batch_dimensions(),
                                 dnums.rhs_batch_dimensions(), lhs, rhs,
                                 "batch"));
  TF_RETURN_IF_ERROR(ExpectArray(group_sizes, "group sizes of ragged-dot"));
  if (!primitive_util::IsIntegralType(group_sizes.element_type()) ||
      group_sizes.dimensions().empty()) {
    return InvalidArgumentStrCat(
        "group sizes of ragged-dot must be a vector of integers, not ",
        Str(group_sizes));
  }
  if (ragged_dnums.lhs_ragged_dimensions_size() != 1) {
    return InvalidArgumentStrCat(
        "ragged-dot needs exactly 1 ragged lhs dimension, not ",
        Str(ragged_dnums.lhs_ragged_dimensions()));
  }
  const int64_t ragged = ragged_dnums.lhs_ragged_dimensions(0);
  TF_RETURN_IF_ERROR(
      ExpectDimension(ragged, lhs.dimensions().size(), "ragged lhs dimension"));
  const absl::Span<const int64_t> group = ragged_dnums.rhs_group_dimensions();
  TF_RETURN_IF_ERROR(
      ExpectDimensions(group, rhs.dimensions().size(), "rhs group dimension"));
  const bool is_contracting =
      Contains(dnums.lhs_contracting_dimensions(), ragged);
  const bool is_batch = Contains(dnums.lhs_batch_dimensions(), ragged);
  const int64_t groups_dim = group_sizes.dimensions().size() - 1;
  TF_RETURN_IF_ERROR(ExpectGroupSizes(lhs, group_sizes, dnums, ragged));
  if (is_contracting || is_batch) {
    if (!group.empty()) {
      return InvalidArgumentStrCat(
          "ragged-dot with a ragged ", is_batch ? "batch" : "contracting",
          " dimension has no rhs group dimension: ", Str(group));
    }
  } else {
    if (group.size() != 1) {
      return InvalidArgumentStrCat(
          "ragged-dot with a free ragged dimension needs exactly 1 rhs group "
          "dimension, not ",
          Str(group));
    }
    if (Contains(dnums.rhs_contracting_dimensions(), group[0]) ||
        Contains(dnums.rhs_batch_dimensions(), group[0])) {
      return InvalidArgumentStrCat("rhs group dimension ", group[0],
                                   " is a batch or contracting dimension too");
    }
    if (!Agree(rhs.dimensions(group[0]), group_sizes.dimensions(groups_dim))) {
      return InvalidArgumentStrCat("ragged-dot has ",
                                   group_sizes.dimensions(groups_dim),
                                   " group sizes for the groups of ", Str(rhs));
    }
  }
  TF_ASSIGN_OR_RETURN(PrimitiveType type,
                      ProductType(lhs, rhs, preferred_element_type));
  ArrayBuilder result;
  if (is_contracting) result.Add(SizeOf(group_sizes, groups_dim));
  AddBatch(lhs, dnums, &result);
  AddFree(lhs, dnums.lhs_batch_dimensions(), dnums.lhs_contracting_dimensions(),
          {}, &result);
  AddFree(rhs, dnums.rhs_batch_dimensions(), dnums.rhs_contracting_dimensions(),
          group, &result);
  return result.Build(type);
}

absl::StatusOr<Shape> ShapeInference::InferFftShape(
    const Shape& in, FftType fft_type, absl::Span<const int64_t> fft_length) {
  TF_RETURN_IF_ERROR(ExpectArray(in, "operand of fft"));
  const int64_t fft_rank = fft_length.size();
  const int64_t rank = in.dimensions().size();
  if (fft_rank < 1 || fft_rank > 3 || rank < fft_rank) {
    return InvalidArgumentStrCat("fft_length ", Str(fft_length),
                                 " must have 1 to 3 dimensions and not more "
                                 "than the operand ",
                                 Str(in));
  }
  for (int64_t length : fft_length) {
    if (length < 0) {
      return InvalidArgumentStrCat("fft_length ", Str(fft_length),
                                   " must not be negative");
    }
  }
  const PrimitiveType type = in.element_type();
  // The size of dimension i counted from the first transformed one.
  const auto expect_length = [&](int64_t i, int64_t wanted) -> absl::Status {
    const int64_t size = in.dimensions(rank - fft_rank + i);
    if (Agree(size, wanted)) return absl::OkStatus();
    return InvalidArgumentStrCat("fft operand ", Str(in), " must have size ",
                                 wanted, " in dimension ", rank - fft_rank + i,
                                 " for fft_length ", Str(fft_length));
  };
  if (fft_type == FFT || fft_type == IFFT) {
    if (!primitive_util::IsComplexType(type)) {
      return InvalidArgumentStrCat("operand of ", FftType_Name(fft_type),
                                   " must be complex, not ", Str(in));
    }
    // As OpenXLA, which leaves other lengths to those who compute it.
    return in;
  }
  Shape result = in;
  const int64_t last = fft_length[fft_rank - 1];
  for (int64_t i = 0; i + 1 < fft_rank; ++i) {
    TF_RETURN_IF_ERROR(expect_length(i, fft_length[i]));
  }
  // Of the transform of n real numbers coefficient n - k is the conjugate of
  // coefficient k, so n / 2 + 1 of them say all; the way back needs the length,
  // as n and n + 1 have as many for even n.
  switch (fft_type) {
    case RFFT:
      if (type != F32 && type != F64) {
        return InvalidArgumentStrCat("operand of RFFT must be f32 or f64, not ",
                                     Str(in));
      }
      TF_RETURN_IF_ERROR(expect_length(fft_rank - 1, last));
      result.set_element_type(primitive_util::ComplexType(type));
      if (last != 0) result.set_dimensions(rank - 1, last / 2 + 1, false);
      return result;
    case IRFFT:
      if (!primitive_util::IsComplexType(type)) {
        return InvalidArgumentStrCat("operand of IRFFT must be complex, not ",
                                     Str(in));
      }
      TF_RETURN_IF_ERROR(
          expect_length(fft_rank - 1, last == 0 ? 0 : last / 2 + 1));
      result.set_element_type(primitive_util::ComplexComponentType(type));
      result.set_dimensions(rank - 1, last, false);
      return result;
    default:
      return InvalidArgumentStrCat("unknown fft type ",
                                   static_cast<int>(fft_type));
  }
}

namespace {

// An array of square matrices of floating-point or complex numbers.
absl::Status ExpectSquareMatrices(const Shape& a, absl::string_view what) {
  TF_RETURN_IF_ERROR(ExpectArray(a, what));
  const int64_t rank = a.dimensions().size();
  if (!primitive_util::IsFloatingPointType(a.element_type()) &&
      !primitive_util::IsComplexType(a.element_type())) {
    return InvalidArgumentStrCat(
        what, " must be floating point or complex, not ", Str(a));
  }
  if (rank < 2 || !Agree(a.dimensions(rank - 1), a.dimensions(rank - 2))) {
    return InvalidArgumentStrCat(
        what, " must end in two dimensions of the same size: ", Str(a));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferTriangularSolveShape(
    const Shape& a, const Shape& b, const TriangularSolveOptions& options) {
  TF_RETURN_IF_ERROR(
      ExpectSquareMatrices(a, "matrix operand of triangular-solve"));
  TF_RETURN_IF_ERROR(ExpectArray(b, "operand of triangular-solve"));
  const int64_t rank = a.dimensions().size();
  if (a.element_type() != b.element_type() ||
      static_cast<int64_t>(b.dimensions().size()) != rank) {
    return InvalidArgumentStrCat(
        "operands of triangular-solve differ in element type or rank: ", Str(a),
        " and ", Str(b));
  }
  for (int64_t i = 0; i < rank - 2; ++i) {
    if (!Agree(a.dimensions(i), b.dimensions(i))) {
      return InvalidArgumentStrCat(
          "operands of triangular-solve differ in "
          "batch dimension ",
          i, ": ", Str(a), " and ", Str(b));
    }
  }
  const int64_t shared = options.left_side() ? rank - 2 : rank - 1;
  if (!Agree(a.dimensions(rank - 1), b.dimensions(shared))) {
    return InvalidArgumentStrCat("triangular-solve of ", Str(a), " and ",
                                 Str(b), ": sizes do not match with left_side=",
                                 options.left_side() ? "true" : "false");
  }
  if (!TriangularSolveOptions::Transpose_IsValid(options.transpose_a()) ||
      options.transpose_a() == TriangularSolveOptions::TRANSPOSE_INVALID) {
    return InvalidArgumentStrCat("invalid transpose_a of triangular-solve: ",
                                 static_cast<int>(options.transpose_a()));
  }
  return b;
}

absl::StatusOr<Shape> ShapeInference::InferCholeskyShape(const Shape& a) {
  TF_RETURN_IF_ERROR(ExpectSquareMatrices(a, "operand of cholesky"));
  return a;
}

namespace {

// An operand of batch normalization, and its vectors of one element per
// feature. The vectors have the element type of the operand or, for mixed
// precision, another floating-point type.
absl::Status ExpectFeatures(const Shape& operand, int64_t feature_index,
                            absl::Span<const Shape* const> vectors,
                            absl::string_view what) {
  TF_RETURN_IF_ERROR(ExpectArray(operand, absl::StrCat("operand of ", what)));
  TF_RETURN_IF_ERROR(ExpectDimension(feature_index, operand.dimensions().size(),
                                     absl::StrCat("feature_index of ", what)));
  if (!primitive_util::IsFloatingPointType(operand.element_type())) {
    return InvalidArgumentStrCat("operand of ", what,
                                 " must be floating point, not ", Str(operand));
  }
  for (const Shape* vector : vectors) {
    if (!vector->IsArray() || vector->dimensions().size() != 1 ||
        !primitive_util::IsFloatingPointType(vector->element_type()) ||
        !Agree(vector->dimensions(0), operand.dimensions(feature_index))) {
      return InvalidArgumentStrCat(
          what, " of ", Str(operand), " with feature_index=", feature_index,
          " needs floating point vectors with an element per feature, not ",
          Str(*vector));
    }
  }
  return absl::OkStatus();
}

// A result with an element per feature: of the type of scale, of the size that
// the operand has.
Shape FeatureVector(const Shape& operand, const Shape& scale,
                    int64_t feature_index) {
  Shape result = scale;
  result.set_dimensions(0, operand.dimensions(feature_index),
                        operand.is_dynamic_dimension(feature_index));
  return result;
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferBatchNormTrainingShape(
    const Shape& operand_shape, const Shape& scale_shape,
    const Shape& offset_shape, int64_t feature_index) {
  TF_RETURN_IF_ERROR(ExpectFeatures(operand_shape, feature_index,
                                    {&scale_shape, &offset_shape},
                                    "batch-norm-training"));
  const Shape features =
      FeatureVector(operand_shape, scale_shape, feature_index);
  return ShapeUtil::MakeTupleShape({operand_shape, features, features});
}

absl::StatusOr<Shape> ShapeInference::InferBatchNormInferenceShape(
    const Shape& operand_shape, const Shape& scale_shape,
    const Shape& offset_shape, const Shape& mean_shape,
    const Shape& variance_shape, int64_t feature_index) {
  TF_RETURN_IF_ERROR(ExpectFeatures(
      operand_shape, feature_index,
      {&scale_shape, &offset_shape, &mean_shape, &variance_shape},
      "batch-norm-inference"));
  return operand_shape;
}

absl::StatusOr<Shape> ShapeInference::InferBatchNormGradShape(
    const Shape& operand_shape, const Shape& scale_shape,
    const Shape& mean_shape, const Shape& var_shape,
    const Shape& output_grad_shape, int64_t feature_index) {
  TF_RETURN_IF_ERROR(ExpectFeatures(operand_shape, feature_index,
                                    {&scale_shape, &mean_shape, &var_shape},
                                    "batch-norm-grad"));
  if (!ShapeUtil::CompatibleIgnoringFpPrecision(operand_shape,
                                                output_grad_shape)) {
    return InvalidArgumentStrCat("output gradient of batch-norm-grad is ",
                                 Str(output_grad_shape), ", the operand ",
                                 Str(operand_shape));
  }
  const Shape features =
      FeatureVector(operand_shape, scale_shape, feature_index);
  return ShapeUtil::MakeTupleShape({operand_shape, features, features});
}

}  // namespace xla
