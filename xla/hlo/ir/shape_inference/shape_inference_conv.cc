// convolution: forward, backward towards the input and towards the kernel.
#include <cstdint>
#include <optional>
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
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {

using namespace shape_inference_internal;  // NOLINT: its own helpers

namespace {

// Batch, feature and spatial dimensions name every dimension once.
absl::Status ExpectConvolutionDimensions(int64_t batch, int64_t feature,
                                         absl::Span<const int64_t> spatial,
                                         int64_t rank, int64_t spatial_count,
                                         absl::string_view what) {
  if (static_cast<int64_t>(spatial.size()) != spatial_count ||
      rank != spatial_count + 2) {
    return InvalidArgumentStrCat("convolution ", what, ": ", spatial.size(),
                                 " spatial dimensions and rank ", rank,
                                 " do not fit the ", spatial_count,
                                 " dimensions of the window");
  }
  absl::InlinedVector<int64_t, 6> all(spatial.begin(), spatial.end());
  all.push_back(batch);
  all.push_back(feature);
  return ExpectDimensions(all, rank,
                          absl::StrCat("convolution ", what, " dimension"));
}

// A feature group convolves its share of the input's features with its share of
// the kernel's output features, so the kernel has input features for one group
// only: 6 input features in 3 groups take kernels of 2. A batch group does the
// same with its share of the batch.
absl::Status ExpectGroups(const Shape& lhs, const Shape& rhs,
                          int64_t feature_group_count,
                          int64_t batch_group_count,
                          const ConvolutionDimensionNumbers& dnums) {
  if (feature_group_count <= 0 || batch_group_count <= 0 ||
      (feature_group_count > 1 && batch_group_count > 1)) {
    return InvalidArgumentStrCat(
        "group counts of a convolution must be positive and one of them 1: "
        "feature_group_count=",
        feature_group_count, ", batch_group_count=", batch_group_count);
  }
  const int64_t in = lhs.dimensions(dnums.input_feature_dimension());
  const int64_t batch = lhs.dimensions(dnums.input_batch_dimension());
  const int64_t kernel_in =
      rhs.dimensions(dnums.kernel_input_feature_dimension());
  const int64_t kernel_out =
      rhs.dimensions(dnums.kernel_output_feature_dimension());
  const auto error = [&](absl::string_view text, int64_t a, int64_t b) {
    return InvalidArgumentStrCat("convolution of ", Str(lhs), " with ",
                                 Str(rhs), ": ", text, " (", a, " and ", b,
                                 ")");
  };
  if (!IsUnbounded(in) && !IsUnbounded(kernel_in) &&
      (in % feature_group_count != 0 ||
       in / feature_group_count != kernel_in)) {
    return error(
        "input features must be feature_group_count times kernel input "
        "features",
        in, SaturatedMul(kernel_in, feature_group_count));
  }
  if (!IsUnbounded(kernel_out) && kernel_out % feature_group_count != 0) {
    return error("feature_group_count must divide kernel output features",
                 feature_group_count, kernel_out);
  }
  if (!IsUnbounded(batch) && batch % batch_group_count != 0) {
    return error("batch_group_count must divide the batch", batch_group_count,
                 batch);
  }
  if (!IsUnbounded(kernel_out) && kernel_out % batch_group_count != 0) {
    return error("batch_group_count must divide kernel output features",
                 batch_group_count, kernel_out);
  }
  return absl::OkStatus();
}

// The shape of the operand that a sparse one stands for: of each block of
// block_size elements along a dimension num_non_zero are stored.
absl::StatusOr<Shape> Dense(
    const Shape& stored, bool is_sparse,
    const SparsityConfig::TensorSparsityConfig& sparsity,
    absl::string_view what) {
  if (!is_sparse) return stored;
  TF_RETURN_IF_ERROR(ExpectDimension(
      sparsity.dimension(), stored.dimensions().size(),
      absl::StrCat("sparse dimension of ", what, " ", Str(stored))));
  const int64_t size = stored.dimensions(sparsity.dimension());
  if (sparsity.num_non_zero() < 1 ||
      sparsity.block_size() < sparsity.num_non_zero() ||
      (!IsUnbounded(size) && size % sparsity.num_non_zero() != 0)) {
    return InvalidArgumentStrCat("sparsity ", sparsity.num_non_zero(), "x",
                                 sparsity.block_size(), " of ", what,
                                 " does not fit dimension ",
                                 sparsity.dimension(), " of ", Str(stored));
  }
  ArrayBuilder dense;
  for (int64_t i = 0; i < static_cast<int64_t>(stored.dimensions().size());
       ++i) {
    Size dim = SizeOf(stored, i);
    if (i == sparsity.dimension() && !IsUnbounded(dim.size)) {
      dim.size = SaturatedMul(dim.size / sparsity.num_non_zero(),
                              sparsity.block_size());
    }
    dense.Add(dim);
  }
  return dense.Build(stored.element_type());
}

// Everything about a convolution but its operands.
struct Convolution {
  int64_t feature_groups;
  int64_t batch_groups;
  const Window& window;
  const ConvolutionDimensionNumbers& dnums;

  int64_t rank() const { return window.dimensions_size() + 2; }
};

absl::Status ExpectInput(const Shape& shape, const Convolution& conv) {
  return ExpectConvolutionDimensions(
      conv.dnums.input_batch_dimension(), conv.dnums.input_feature_dimension(),
      conv.dnums.input_spatial_dimensions(), shape.dimensions().size(),
      conv.window.dimensions_size(), "input");
}

absl::Status ExpectKernel(int64_t rank, const Convolution& conv) {
  return ExpectConvolutionDimensions(
      conv.dnums.kernel_input_feature_dimension(),
      conv.dnums.kernel_output_feature_dimension(),
      conv.dnums.kernel_spatial_dimensions(), rank,
      conv.window.dimensions_size(), "kernel");
}

absl::Status ExpectOutput(int64_t rank, const Convolution& conv) {
  return ExpectConvolutionDimensions(conv.dnums.output_batch_dimension(),
                                     conv.dnums.output_feature_dimension(),
                                     conv.dnums.output_spatial_dimensions(),
                                     rank, conv.window.dimensions_size(),
                                     "output");
}

// The window slid over the spatial dimensions of `lhs`; it must have the sizes
// of the kernel.
absl::StatusOr<Shape> SlideWindow(const Shape& lhs, const Shape& kernel,
                                  const Convolution& conv, PrimitiveType type) {
  ArrayBuilder base;
  for (int i = 0; i < conv.window.dimensions_size(); ++i) {
    const int64_t size =
        kernel.dimensions(conv.dnums.kernel_spatial_dimensions(i));
    if (!Agree(size, conv.window.dimensions(i).size())) {
      return InvalidArgumentStrCat(
          "window dimension ", i, " of convolution is ",
          conv.window.dimensions(i).size(), " but the kernel ", Str(kernel),
          " has ", size);
    }
    base.Add(SizeOf(lhs, conv.dnums.input_spatial_dimensions(i)));
  }
  TF_ASSIGN_OR_RETURN(Shape base_shape, base.Build(type));
  return WindowOutput(base_shape, conv.window, type, "convolution");
}

// A result with the dimensions of the output.
absl::StatusOr<Shape> Output(Size batch, Size feature, const Shape& spatial,
                             const Convolution& conv, PrimitiveType type) {
  std::vector<Size> sizes(conv.rank());
  sizes[conv.dnums.output_batch_dimension()] = batch;
  sizes[conv.dnums.output_feature_dimension()] = feature;
  for (int i = 0; i < conv.window.dimensions_size(); ++i) {
    sizes[conv.dnums.output_spatial_dimensions(i)] = SizeOf(spatial, i);
  }
  ArrayBuilder result;
  for (const Size& size : sizes) result.Add(size);
  return result.Build(type);
}

absl::StatusOr<Shape> ForwardShape(const Shape& lhs, const Shape& rhs,
                                   const Convolution& conv,
                                   PrimitiveType type) {
  TF_RETURN_IF_ERROR(ExpectInput(lhs, conv));
  TF_RETURN_IF_ERROR(ExpectKernel(rhs.dimensions().size(), conv));
  TF_RETURN_IF_ERROR(ExpectOutput(conv.rank(), conv));
  TF_RETURN_IF_ERROR(ExpectGroups(lhs, rhs, conv.feature_groups,
                                  conv.batch_groups, conv.dnums));
  TF_ASSIGN_OR_RETURN(Shape spatial, SlideWindow(lhs, rhs, conv, type));
  Size batch = SizeOf(lhs, conv.dnums.input_batch_dimension());
  if (!IsUnbounded(batch.size)) batch.size /= conv.batch_groups;
  return Output(batch,
                SizeOf(rhs, conv.dnums.kernel_output_feature_dimension()),
                spatial, conv, type);
}

absl::Status ExpectPositiveGroups(const Convolution& conv) {
  if (conv.feature_groups > 0 && conv.batch_groups > 0) return absl::OkStatus();
  return InvalidArgumentStrCat(
      "group counts of a convolution must be positive: feature_group_count=",
      conv.feature_groups, ", batch_group_count=", conv.batch_groups);
}

// The gradient of the output (lhs) becomes that of the input: the kernel runs
// from its output features to its input features.
absl::StatusOr<Shape> InputGradientShape(const Shape& lhs, const Shape& rhs,
                                         const Convolution& conv,
                                         PrimitiveType type) {
  TF_RETURN_IF_ERROR(ExpectInput(lhs, conv));
  TF_RETURN_IF_ERROR(ExpectKernel(rhs.dimensions().size(), conv));
  TF_RETURN_IF_ERROR(ExpectOutput(conv.rank(), conv));
  TF_RETURN_IF_ERROR(ExpectPositiveGroups(conv));
  const Size out = SizeOf(rhs, conv.dnums.kernel_output_feature_dimension());
  const Size in = SizeOf(lhs, conv.dnums.input_feature_dimension());
  if (!Agree(in.size, out.size)) {
    return InvalidArgumentStrCat("features of the gradient ", Str(lhs),
                                 " and output features of the kernel ",
                                 Str(rhs), " differ (", in.size, " and ",
                                 out.size, ")");
  }
  TF_ASSIGN_OR_RETURN(Shape spatial, SlideWindow(lhs, rhs, conv, type));
  Size batch = SizeOf(lhs, conv.dnums.input_batch_dimension());
  if (!IsUnbounded(batch.size)) {
    batch.size = SaturatedMul(batch.size, conv.batch_groups);
  }
  Size feature = SizeOf(rhs, conv.dnums.kernel_input_feature_dimension());
  if (!IsUnbounded(feature.size)) {
    feature.size = SaturatedMul(feature.size, conv.feature_groups);
  }
  return Output(batch, feature, spatial, conv, type);
}

// The input (lhs) and the gradient of the output (rhs, with the dimensions of
// the output) become the gradient of the kernel, as large as the window.
absl::StatusOr<Shape> KernelGradientShape(const Shape& lhs, const Shape& rhs,
                                          const Convolution& conv,
                                          PrimitiveType type) {
  TF_RETURN_IF_ERROR(ExpectInput(lhs, conv));
  TF_RETURN_IF_ERROR(ExpectOutput(rhs.dimensions().size(), conv));
  TF_RETURN_IF_ERROR(ExpectKernel(conv.rank(), conv));
  TF_RETURN_IF_ERROR(ExpectPositiveGroups(conv));
  TF_RETURN_IF_ERROR(ExpectSlidingWindow(conv.window, "convolution"));
  Size batch = SizeOf(lhs, conv.dnums.input_batch_dimension());
  Size feature = SizeOf(lhs, conv.dnums.input_feature_dimension());
  const int64_t gradients = rhs.dimensions(conv.dnums.output_batch_dimension());
  const bool divisible =
      (IsUnbounded(batch.size) || batch.size % conv.batch_groups == 0) &&
      (IsUnbounded(feature.size) || feature.size % conv.feature_groups == 0);
  if (!IsUnbounded(batch.size)) batch.size /= conv.batch_groups;
  if (!IsUnbounded(feature.size)) feature.size /= conv.feature_groups;
  if (!divisible || !Agree(batch.size, gradients)) {
    return InvalidArgumentStrCat("batch or features of the input ", Str(lhs),
                                 " do not fit the gradient ", Str(rhs),
                                 " and the group counts");
  }
  std::vector<Size> sizes(conv.rank());
  sizes[conv.dnums.kernel_input_feature_dimension()] = feature;
  sizes[conv.dnums.kernel_output_feature_dimension()] =
      SizeOf(rhs, conv.dnums.output_feature_dimension());
  for (int i = 0; i < conv.window.dimensions_size(); ++i) {
    sizes[conv.dnums.kernel_spatial_dimensions(i)] =
        Size{conv.window.dimensions(i).size(), false};
  }
  ArrayBuilder result;
  for (const Size& size : sizes) result.Add(size);
  return result.Build(type);
}

}  // namespace

absl::StatusOr<Shape> ShapeInference::InferConvolveShape(
    const Shape& lhs, const Shape& rhs, int64_t feature_group_count,
    int64_t batch_group_count, const Window& window,
    const ConvolutionDimensionNumbers& dnums,
    const SparsityConfig& sparsity_config,
    std::optional<PrimitiveType> preferred_element_type,
    ConvolutionKind convolution_kind) {
  TF_RETURN_IF_ERROR(ExpectArray(lhs, "input of convolution"));
  TF_RETURN_IF_ERROR(ExpectArray(rhs, "kernel of convolution"));
  TF_ASSIGN_OR_RETURN(PrimitiveType type,
                      ProductType(lhs, rhs, preferred_element_type));
  TF_ASSIGN_OR_RETURN(
      Shape left, Dense(lhs, sparsity_config.has_lhs(), sparsity_config.lhs(),
                        "convolution lhs"));
  TF_ASSIGN_OR_RETURN(
      Shape right, Dense(rhs, sparsity_config.has_rhs(), sparsity_config.rhs(),
                         "convolution rhs"));
  const Convolution conv = {feature_group_count, batch_group_count, window,
                            dnums};
  switch (convolution_kind) {
    case CONVOLUTION_KIND_DGRAD:
      return InputGradientShape(left, right, conv, type);
    case CONVOLUTION_KIND_WGRAD:
      return KernelGradientShape(left, right, conv, type);
    default:
      return ForwardShape(left, right, conv, type);
  }
}

}  // namespace xla
