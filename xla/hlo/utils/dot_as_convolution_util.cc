#include "xla/hlo/utils/dot_as_convolution_util.h"

#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/shape.h"
#include "xla/status_macros.h"
#include "xla/window_util.h"

namespace xla {
namespace dot_as_convolution_util {
namespace {

using DimNums = DotConvolutionDimsInfo::DimNums;

int64_t Extent(const WindowDimension& wd) {
  return window_util::DilatedBound(wd.size(), wd.window_dilation());
}

// How many windows there are over lhs.
int64_t WindowCount(int64_t lhs_size, const WindowDimension& wd) {
  const int64_t base = window_util::DilatedBound(lhs_size, wd.base_dilation()) +
                       wd.padding_low() + wd.padding_high();
  // Negative padding may take more than there is.
  if (base < Extent(wd)) return 0;
  return window_util::StridedBound(base, Extent(wd), wd.stride());
}

// The spatial dimension `i`, in the list of its role.
void AddSpatialDim(const HloInstruction& conv, int64_t i,
                   DotConvolutionDimsInfo* info) {
  const ConvolutionDimensionNumbers& dnums =
      conv.convolution_dimension_numbers();
  const WindowDimension& wd = conv.window().dimensions(i);
  const int64_t lhs = dnums.input_spatial_dimensions(i);
  const int64_t rhs = dnums.kernel_spatial_dimensions(i);
  const int64_t output = dnums.output_spatial_dimensions(i);
  const int64_t lhs_size = conv.operand(0)->shape().dimensions(lhs);
  const int64_t rhs_size = conv.operand(1)->shape().dimensions(rhs);
  if (SpatialIsBatch(lhs_size, wd) != SpatialBatchRepresentation::kNone) {
    info->batch_dims.push_back({lhs, rhs, output, i});
  } else if (SpatialIsContracting(lhs_size, rhs_size, wd)) {
    info->contracting_dims.push_back({lhs, rhs, -1, i});
  } else if (SpatialIsLhsNonContracting(rhs_size, wd)) {
    info->lhs_non_contracting_dims.push_back({lhs, -1, output, i});
  } else if (SpatialIsRhsNonContracting(lhs_size, rhs_size, wd)) {
    info->rhs_non_contracting_dims.push_back({-1, rhs, output, i});
  } else {
    info->conv_spatial_dims.push_back({lhs, rhs, output, i});
  }
}

// Whether the pair of features is a batch dimension of groups of one.
bool FeatureGroupsAreBatch(const HloInstruction& conv) {
  const ConvolutionDimensionNumbers& dnums =
      conv.convolution_dimension_numbers();
  const int64_t groups = conv.feature_group_count();
  return groups > 1 &&
         conv.operand(0)->shape().dimensions(dnums.input_feature_dimension()) ==
             groups &&
         conv.operand(1)->shape().dimensions(
             dnums.kernel_output_feature_dimension()) == groups;
}

bool BatchGroupsAreBatch(const HloInstruction& conv) {
  const ConvolutionDimensionNumbers& dnums =
      conv.convolution_dimension_numbers();
  const int64_t groups = conv.batch_group_count();
  return groups > 1 &&
         conv.operand(0)->shape().dimensions(dnums.input_batch_dimension()) ==
             groups &&
         conv.operand(1)->shape().dimensions(
             dnums.kernel_output_feature_dimension()) == groups;
}

// Batches and features of a backward kind. Those that groups divide have no
// role.
void AddBackwardDims(const HloInstruction& conv, DotConvolutionDimsInfo* info) {
  const ConvolutionDimensionNumbers& dnums =
      conv.convolution_dimension_numbers();
  const bool one_batch_group = conv.batch_group_count() == 1;
  const bool one_feature_group = conv.feature_group_count() == 1;
  const int64_t lhs_batch = dnums.input_batch_dimension();
  const int64_t lhs_feature = dnums.input_feature_dimension();
  const int64_t kernel_in = dnums.kernel_input_feature_dimension();
  const int64_t kernel_out = dnums.kernel_output_feature_dimension();
  const int64_t output_batch = dnums.output_batch_dimension();
  const int64_t output_feature = dnums.output_feature_dimension();
  if (Cast<HloConvolutionInstruction>(&conv)->convolution_kind() ==
      CONVOLUTION_KIND_DGRAD) {
    if (one_batch_group) {
      info->lhs_non_contracting_dims.push_back(
          {lhs_batch, -1, output_batch, -1});
    }
    if (one_batch_group && one_feature_group) {
      info->contracting_dims.push_back({lhs_feature, kernel_out, -1, -1});
    }
    if (one_feature_group) {
      info->rhs_non_contracting_dims.push_back(
          {-1, kernel_in, output_feature, -1});
    }
    return;
  }
  // rhs has the dimensions of the output, the result those of the kernel.
  if (one_batch_group) {
    info->contracting_dims.push_back({lhs_batch, output_batch, -1, -1});
  }
  if (one_feature_group) {
    info->lhs_non_contracting_dims.push_back({lhs_feature, -1, kernel_in, -1});
  }
  if (one_batch_group && one_feature_group) {
    info->rhs_non_contracting_dims.push_back(
        {-1, output_feature, kernel_out, -1});
  }
}

// How many of the `groups` along dimensions of the operands a part has that is
// made of whole groups. Parts of a dimension without elements all look alike.
int64_t GroupsOfPart(const HloInstruction& conv, int64_t groups,
                     const Shape& lhs, int64_t lhs_dim, const Shape& rhs) {
  if (groups == 1) return 1;
  const int64_t rhs_dim =
      conv.convolution_dimension_numbers().kernel_output_feature_dimension();
  const int64_t lhs_size = conv.operand(0)->shape().dimensions(lhs_dim);
  const int64_t rhs_size = conv.operand(1)->shape().dimensions(rhs_dim);
  if (lhs_size > 0) return groups * lhs.dimensions(lhs_dim) / lhs_size;
  if (rhs_size > 0) return groups * rhs.dimensions(rhs_dim) / rhs_size;
  return groups;
}

// The window of a dimension of role `dim`, for parts of those sizes.
absl::Status FitWindow(const std::vector<DimNums>& dims,
                       const HloInstruction& conv, const Shape& lhs,
                       const Shape& rhs, Window* window) {
  for (const DimNums& dim : dims) {
    if (dim.spatial_dim < 0) continue;
    if (dim.spatial_dim >= window->dimensions_size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(conv.name(), ": no window dimension ", dim.spatial_dim));
    }
    WindowDimension* wd = window->mutable_dimensions(dim.spatial_dim);
    if (dim.lhs >= 0 && dim.rhs >= 0 &&
        lhs.dimensions(dim.lhs) != rhs.dimensions(dim.rhs)) {
      return absl::InvalidArgumentError(
          absl::StrCat(conv.name(), ": ", lhs.dimensions(dim.lhs),
                       " elements of lhs and ", rhs.dimensions(dim.rhs),
                       " of rhs along spatial dimension ", dim.spatial_dim));
    }
    wd->set_size(dim.rhs >= 0 ? rhs.dimensions(dim.rhs) : 1);
    // Padded windows start with the first element of lhs under their last one,
    // and end the other way round.
    const bool padded = wd->padding_low() > 0;
    const int64_t padding = padded ? Extent(*wd) - 1 : 0;
    wd->set_padding_low(padding);
    wd->set_padding_high(padding);
  }
  return absl::OkStatus();
}

}  // namespace

SpatialBatchRepresentation SpatialIsBatch(int64_t lhs_spatial_size,
                                          const WindowDimension& spatial_wd) {
  const int64_t n = lhs_spatial_size;
  if (n != spatial_wd.size() || n == 0 || WindowCount(n, spatial_wd) != n) {
    return SpatialBatchRepresentation::kNone;
  }
  const int64_t stride = spatial_wd.stride();
  const int64_t base = spatial_wd.base_dilation();
  const int64_t dilation = spatial_wd.window_dilation();
  if (n == 1) {
    return spatial_wd.padding_low() == 0
               ? SpatialBatchRepresentation::kUnpaddedVersion
               : SpatialBatchRepresentation::kNone;
  }
  // Element j of window k lies at k * stride + j * dilation - low, element i
  // of lhs at i * base. i = j = k is a hit for every k only under the first
  // equation; the second says that there are no others, since a hit elsewhere
  // needs multiples of the coprime parts between 0 and n.
  const int64_t gcd = std::gcd(base, dilation);
  if (!spatial_wd.window_reversal()) {
    return spatial_wd.padding_low() == 0 && base == stride + dilation &&
                   base / gcd >= n
               ? SpatialBatchRepresentation::kUnpaddedVersion
               : SpatialBatchRepresentation::kNone;
  }
  return spatial_wd.padding_low() == (n - 1) * dilation &&
                 stride == base + dilation && stride / gcd >= n
             ? SpatialBatchRepresentation::kPaddedVersion
             : SpatialBatchRepresentation::kNone;
}

// The window is one element wide, and window k begins at k * stride, where
// element k of lhs lies after dilation.
bool SpatialIsLhsNonContracting(int64_t rhs_spatial_size,
                                const WindowDimension& spatial_wd) {
  return rhs_spatial_size == 1 && spatial_wd.size() == 1 &&
         spatial_wd.stride() == spatial_wd.base_dilation() &&
         spatial_wd.padding_low() == 0 && spatial_wd.padding_high() == 0;
}

// The window is padded so that its last element meets the only one of lhs
// first, and its first element last. So output k takes the element that is k-th
// from the end of the window, which is element k of rhs where the window is
// reversed.
bool SpatialIsRhsNonContracting(int64_t lhs_spatial_size,
                                int64_t rhs_spatial_size,
                                const WindowDimension& spatial_wd) {
  const int64_t padding = Extent(spatial_wd) - 1;
  return lhs_spatial_size == 1 && rhs_spatial_size == spatial_wd.size() &&
         rhs_spatial_size > 0 &&
         spatial_wd.stride() == spatial_wd.window_dilation() &&
         spatial_wd.padding_low() == padding &&
         spatial_wd.padding_high() == padding &&
         (spatial_wd.window_reversal() || rhs_spatial_size == 1);
}

// lhs and the window are of one size, dilated alike and not padded: there is
// one place for the window, and there each element of rhs meets the one of lhs
// with its number. A reversed window does that only where it has one element.
bool SpatialIsContracting(int64_t lhs_spatial_size, int64_t rhs_spatial_size,
                          const WindowDimension& spatial_wd) {
  return lhs_spatial_size == rhs_spatial_size &&
         rhs_spatial_size == spatial_wd.size() && rhs_spatial_size > 0 &&
         spatial_wd.base_dilation() == spatial_wd.window_dilation() &&
         spatial_wd.padding_low() == 0 && spatial_wd.padding_high() == 0 &&
         (!spatial_wd.window_reversal() || rhs_spatial_size == 1);
}

bool IsBackwardConvolution(const HloInstruction& conv) {
  const ConvolutionKind kind =
      Cast<HloConvolutionInstruction>(&conv)->convolution_kind();
  return kind == CONVOLUTION_KIND_DGRAD || kind == CONVOLUTION_KIND_WGRAD;
}

DotConvolutionDimsInfo ParseDotGeneralFromDot(const HloInstruction* dot) {
  return ParseDotGeneral(dot, dot->dot_dimension_numbers());
}

DotConvolutionDimsInfo ParseDotGeneral(const HloInstruction* dot,
                                       const DotDimensionNumbers& dnums) {
  DotConvolutionDimsInfo info;
  info.lhs_shape_rank = dot->operand(0)->shape().dimensions().size();
  info.rhs_shape_rank = dot->operand(1)->shape().dimensions().size();
  info.output_shape_rank = dot->shape().dimensions().size();
  int64_t output = 0;
  for (int i = 0; i < dnums.lhs_batch_dimensions_size(); ++i) {
    info.batch_dims.push_back({dnums.lhs_batch_dimensions(i),
                               dnums.rhs_batch_dimensions(i), output++, -1});
  }
  for (int i = 0; i < dnums.lhs_contracting_dimensions_size(); ++i) {
    info.contracting_dims.push_back({dnums.lhs_contracting_dimensions(i),
                                     dnums.rhs_contracting_dimensions(i), -1,
                                     -1});
  }
  for (int64_t d = 0; d < info.lhs_shape_rank; ++d) {
    if (!absl::c_linear_search(dnums.lhs_batch_dimensions(), d) &&
        !absl::c_linear_search(dnums.lhs_contracting_dimensions(), d)) {
      info.lhs_non_contracting_dims.push_back({d, -1, output++, -1});
    }
  }
  for (int64_t d = 0; d < info.rhs_shape_rank; ++d) {
    if (!absl::c_linear_search(dnums.rhs_batch_dimensions(), d) &&
        !absl::c_linear_search(dnums.rhs_contracting_dimensions(), d)) {
      info.rhs_non_contracting_dims.push_back({-1, d, output++, -1});
    }
  }
  return info;
}

// A dimension of features or batches in groups of more than one element is in
// none of the lists: cut along it, a shard would need to know to which group
// each of its elements belongs. Groups of one element each are a batch
// dimension, as in a depthwise convolution.
DotConvolutionDimsInfo ParseConvolutionDimsInfo(const HloInstruction* conv) {
  const ConvolutionDimensionNumbers& dnums =
      conv->convolution_dimension_numbers();
  DotConvolutionDimsInfo info;
  info.lhs_shape_rank = conv->operand(0)->shape().dimensions().size();
  info.rhs_shape_rank = conv->operand(1)->shape().dimensions().size();
  info.output_shape_rank = conv->shape().dimensions().size();
  if (IsBackwardConvolution(*conv)) {
    AddBackwardDims(*conv, &info);
    return info;
  }
  const int64_t lhs_batch = dnums.input_batch_dimension();
  const int64_t lhs_feature = dnums.input_feature_dimension();
  const int64_t rhs_in = dnums.kernel_input_feature_dimension();
  const int64_t rhs_out = dnums.kernel_output_feature_dimension();
  const int64_t output_batch = dnums.output_batch_dimension();
  const int64_t output_feature = dnums.output_feature_dimension();
  if (conv->batch_group_count() == 1) {
    info.lhs_non_contracting_dims.push_back({lhs_batch, -1, output_batch, -1});
  } else if (BatchGroupsAreBatch(*conv)) {
    info.batch_dims.push_back({lhs_batch, rhs_out, output_feature, -1});
  }
  if (conv->feature_group_count() == 1) {
    info.contracting_dims.push_back({lhs_feature, rhs_in, -1, -1});
    if (conv->batch_group_count() == 1) {
      info.rhs_non_contracting_dims.push_back(
          {-1, rhs_out, output_feature, -1});
    }
  } else if (FeatureGroupsAreBatch(*conv)) {
    info.batch_dims.push_back({lhs_feature, rhs_out, output_feature, -1});
  }
  for (int64_t i = 0; i < conv->window().dimensions_size(); ++i) {
    AddSpatialDim(*conv, i, &info);
  }
  return info;
}

absl::StatusOr<std::unique_ptr<HloInstruction>>
CreateShardedConvForDotGeneralConvolution(
    const HloInstruction& conv, const DotConvolutionDimsInfo& dot_dnums,
    HloInstruction* sharded_lhs_hlo, HloInstruction* sharded_rhs_hlo) {
  if (conv.opcode() != HloOpcode::kConvolution) {
    return absl::InvalidArgumentError(
        absl::StrCat(conv.name(), " is a ", HloOpcodeString(conv.opcode()),
                     ", not a convolution"));
  }
  const auto& original = *Cast<HloConvolutionInstruction>(&conv);
  const ConvolutionDimensionNumbers& dnums =
      conv.convolution_dimension_numbers();
  const Shape& lhs = sharded_lhs_hlo->shape();
  const Shape& rhs = sharded_rhs_hlo->shape();
  if (!lhs.IsArray() || !rhs.IsArray() ||
      lhs.dimensions().size() != conv.operand(0)->shape().dimensions().size() ||
      rhs.dimensions().size() != conv.operand(1)->shape().dimensions().size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(conv.name(), ": parts ", lhs.ToString(), " and ",
                     rhs.ToString(), " are not parts of the operands"));
  }
  Window window = conv.window();
  for (const std::vector<DimNums>* dims :
       {&dot_dnums.batch_dims, &dot_dnums.contracting_dims,
        &dot_dnums.lhs_non_contracting_dims,
        &dot_dnums.rhs_non_contracting_dims}) {
    TF_RETURN_IF_ERROR(FitWindow(*dims, conv, lhs, rhs, &window));
  }
  const int64_t feature_groups =
      GroupsOfPart(conv, conv.feature_group_count(), lhs,
                   dnums.input_feature_dimension(), rhs);
  const int64_t batch_groups = GroupsOfPart(conv, conv.batch_group_count(), lhs,
                                            dnums.input_batch_dimension(), rhs);
  TF_ASSIGN_OR_RETURN(Shape shape,
                      ShapeInference::InferConvolveShape(
                          lhs, rhs, feature_groups, batch_groups, window, dnums,
                          SparsityConfig(), conv.shape().element_type(),
                          original.convolution_kind()));
  HloInstruction* operands[] = {sharded_lhs_hlo, sharded_rhs_hlo};
  return HloInstruction::CreateConvolve(
      shape, operands, feature_groups, batch_groups, window, dnums,
      conv.precision_config(), original.sparsity_config(),
      original.convolution_kind());
}

}  // namespace dot_as_convolution_util
}  // namespace xla
