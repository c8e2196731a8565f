#include "xla/hlo/transforms/sharding_propagation/product_sharding_rules.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "xla/hlo/transforms/sharding_propagation/rule_builder.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"

namespace xla {
namespace {

using DimNums = dot_as_convolution_util::DotConvolutionDimsInfo::DimNums;
using FactorKind = OpShardingRule::Kind;

// A factor for each of the dimensions `dims` of one role.
void MapRole(const std::vector<DimNums>& dims, RuleBuilder* b,
             FactorKind kind = FactorKind::kPassThrough) {
  for (const DimNums& dim : dims) {
    // Scales have none.
    std::vector<int64_t> places(b->num_tensors(), -1);
    places[0] = dim.lhs;
    places[1] = dim.rhs;
    places[b->result()] = dim.output;
    b->MapAll(places, kind);
  }
}

// Along a dimension where windows are no larger than the input and as many as
// it has elements, that and the result are cut alike and neighbors exchange
// their edges. Where they are as large as the input and few, as for the
// gradient of a kernel, devices add up parts of both operands.
void MapSlidingDim(const HloInstruction& conv, const DimNums& dim,
                   RuleBuilder* b) {
  const WindowDimension& window = conv.window().dimensions(dim.spatial_dim);
  const int64_t in = b->shape(0).dimensions(dim.lhs);
  const int64_t out = b->shape(b->result()).dimensions(dim.output);
  const int64_t base = in * window.base_dilation();
  const int64_t dilation = window.window_dilation();
  const int64_t reach = (window.size() - 1) * dilation + 1;
  const int64_t steps = out * window.stride();
  if (base == steps && reach <= base) {
    b->MapAll({dim.lhs, -1, dim.output});
  } else if (base == in && window.size() * dilation == in && steps * 2 <= in) {
    b->MapAll({dim.lhs, dim.rhs, -1}, FactorKind::kReduction);
  }
}

// Features that are convolved in groups of several: each group is computed by
// itself, whatever is in it.
void MapGroups(const HloInstruction& conv, RuleBuilder* b) {
  const ConvolutionDimensionNumbers& dims =
      conv.convolution_dimension_numbers();
  const bool of_features = conv.feature_group_count() > 1;
  const int factor = b->AddFactor(of_features ? conv.feature_group_count()
                                              : conv.batch_group_count());
  b->Map(0,
         of_features ? dims.input_feature_dimension()
                     : dims.input_batch_dimension(),
         factor);
  b->Map(1, dims.kernel_output_feature_dimension(), factor);
  b->Map(b->result(), dims.output_feature_dimension(), factor);
}

}  // namespace

OpShardingRule DotShardingRule(const HloInstruction& product,
                               const DotDimensionNumbers& dims) {
  RuleBuilder b(product);
  const auto info = dot_as_convolution_util::ParseDotGeneral(&product, dims);
  MapRole(info.batch_dims, &b);
  MapRole(info.lhs_non_contracting_dims, &b);
  MapRole(info.rhs_non_contracting_dims, &b);
  MapRole(info.contracting_dims, &b, FactorKind::kReduction);
  return b.Build();
}

std::optional<OpShardingRule> ConvolutionShardingRule(
    const HloInstruction& conv) {
  if (conv.sparsity_config().has_lhs() || conv.sparsity_config().has_rhs()) {
    return std::nullopt;
  }
  RuleBuilder b(conv);
  const auto info = dot_as_convolution_util::ParseConvolutionDimsInfo(&conv);
  MapRole(info.lhs_non_contracting_dims, &b);
  MapRole(info.batch_dims, &b);
  MapRole(info.contracting_dims, &b, FactorKind::kReduction);
  MapRole(info.rhs_non_contracting_dims, &b);
  const int64_t features =
      conv.convolution_dimension_numbers().output_feature_dimension();
  // Without groups, and in groups of one, they have a factor by now.
  if (!b.HasFactor(b.result(), features) &&
      !dot_as_convolution_util::IsBackwardConvolution(conv)) {
    MapGroups(conv, &b);
  }
  for (const DimNums& dim : info.conv_spatial_dims) {
    MapSlidingDim(conv, dim, &b);
  }
  return b.Build();
}

}  // namespace xla
