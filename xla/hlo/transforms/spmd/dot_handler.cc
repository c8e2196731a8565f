#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/window_shards.h"
#include "xla/hlo/transforms/spmd/windowed_einsum.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

// Dots and convolutions: each batch, contracting and non-contracting dimension
// is a factor, and so is each sliding one of a convolution, along which shards
// of the left operand exchange what the windows of the result read.

namespace xla::spmd {
namespace {

using dot_as_convolution_util::DotConvolutionDimsInfo;

struct DotFactors {
  int64_t num_factors = 0;
  FactorTensor lhs;
  FactorTensor rhs;
  FactorTensor result;
  std::vector<int64_t> contracting;
};

DotFactors DotFactorsOf(const HloInstruction& hlo,
                        const DotConvolutionDimsInfo& info,
                        const HloSharding& lhs, const HloSharding& rhs) {
  auto none = [](const Shape& shape) {
    return std::vector<int64_t>(shape.dimensions().size(), -1);
  };
  DotFactors f;
  f.num_factors = hlo.shape().dimensions().size();
  f.lhs = {hlo.operand(0)->shape(), lhs, none(hlo.operand(0)->shape())};
  f.rhs = {hlo.operand(1)->shape(), rhs, none(hlo.operand(1)->shape())};
  f.result = {hlo.shape(), hlo.sharding(), none(hlo.shape()), true};
  for (const auto* dims : {&info.batch_dims, &info.lhs_non_contracting_dims,
                           &info.rhs_non_contracting_dims}) {
    for (const auto& dim : *dims) {
      f.result.factors[dim.output] = dim.output;
      if (dim.lhs >= 0) f.lhs.factors[dim.lhs] = dim.output;
      if (dim.rhs >= 0) f.rhs.factors[dim.rhs] = dim.output;
    }
  }
  for (const auto& dim : info.contracting_dims) {
    f.lhs.factors[dim.lhs] = f.num_factors;
    f.rhs.factors[dim.rhs] = f.num_factors;
    f.contracting.push_back(f.num_factors++);
  }
  for (const auto& dim : info.conv_spatial_dims) {
    f.result.factors[dim.output] = dim.output;
    f.lhs.factors[dim.lhs] = dim.output;
  }
  return f;
}

// An upper bound where windows meet padding.
double MultiplyAdds(const HloInstruction& hlo,
                    const DotConvolutionDimsInfo& info) {
  double count = ShapeUtil::ElementsIn(hlo.shape());
  const Shape& rhs = hlo.operand(1)->shape();
  for (const auto& dim : info.contracting_dims) {
    count *= rhs.dimensions(dim.rhs);
  }
  for (const auto& dim : info.conv_spatial_dims) {
    count *= rhs.dimensions(dim.rhs);
  }
  return count;
}

// Addends beyond the whole become zero.
HloInstruction* ZeroPadded(const PartitionedHlo& phlo,
                           const FactorTensor& tensor,
                           absl::Span<const int64_t> contracting) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < tensor.factors.size(); ++d) {
    if (tensor.factors[d] >= 0 &&
        absl::c_linear_search(contracting, tensor.factors[d])) {
      dims.push_back(d);
    }
  }
  if (dims.empty()) return phlo.hlo();
  return phlo.PadWithZeroOnSpecifiedDims(dims).hlo();
}

// The left operand of a shard's convolution: what its windows read, zeros where
// that is nothing. By halos, or cut out of dimensions that are whole where
// those would be larger.
HloInstruction* ConvolutionOperand(const PartitionedHlo& lhs,
                                   HloSharding sharding, const DotFactors& f,
                                   const HloInstruction& conv,
                                   const DotConvolutionDimsInfo& info,
                                   absl::Span<const WindowDim> windows) {
  struct Cut {
    int64_t dim;
    ShardIntervals intervals;
    std::vector<int64_t> ordinals;
    bool halos;
  };
  std::vector<Cut> cuts;
  for (const auto& dim : info.conv_spatial_dims) {
    const int64_t tiles = ShardCountAtDim(sharding, dim.lhs);
    if (tiles == 1) continue;
    Cut cut{dim.lhs,
            ShardWindows(windows[dim.output],
                         conv.shape().dimensions(dim.output), tiles)
                .intervals,
            OrdinalTable(sharding, dim.lhs), false};
    cut.halos = CanFetchIntervals(lhs.base_shape().dimensions(dim.lhs), tiles,
                                  cut.intervals);
    cuts.push_back(std::move(cut));
  }
  for (const Cut& cut : cuts) {
    if (!cut.halos) sharding = ReplicatedOnDims(sharding, {cut.dim});
  }
  const PartitionedHlo moved = lhs.Reshard(sharding);
  HloInstruction* local = ZeroPadded(moved, f.lhs, f.contracting);
  SpmdBuilder* b = lhs.state().b;
  for (const Cut& cut : cuts) {
    if (cut.halos) {
      HloInstruction* zero = CreateZero(
          ShapeUtil::MakeShape(local->shape().element_type(), {}), b);
      local = *FetchIntervals(local, sharding, cut.dim,
                              lhs.base_shape().dimensions(cut.dim),
                              cut.intervals, zero, lhs.state());
      continue;
    }
    std::vector<int64_t> table;
    for (int64_t ordinal : cut.ordinals) {
      table.push_back(cut.intervals.start[ordinal]);
    }
    local = WindowAt(local, cut.dim,
                     TableLookup(table, S32, lhs.state().partition_id, b),
                     cut.intervals.size, b);
  }
  return local;
}

}  // namespace

bool SpmdPartitioningVisitor::FeedsWindowedDot(const HloInstruction* dot) {
  if (!options_.disable_ag_rewrite_for_multiple_consumers) return false;
  return absl::c_any_of(dot->operands(), [&](const HloInstruction* operand) {
    const HloOpcode opcode = operand->opcode();
    const bool moves = opcode == HloOpcode::kReshape ||
                       opcode == HloOpcode::kBitcast ||
                       opcode == HloOpcode::kTranspose;
    return windowed_operands_.contains(operand) ||
           (moves && windowed_operands_.contains(operand->operand(0)));
  });
}

absl::Status SpmdPartitioningVisitor::HandleDot(HloInstruction* hlo) {
  // More operands describe sparse ones.
  if (hlo->operand_count() != 2) return DefaultAction(hlo);
  PartitionedHlo& lhs = GetPartitionedHlo(hlo->operand(0));
  PartitionedHlo& rhs = GetPartitionedHlo(hlo->operand(1));
  const DotConvolutionDimsInfo info =
      dot_as_convolution_util::ParseDotGeneralFromDot(hlo);
  const DotFactors f = DotFactorsOf(*hlo, info, lhs.sharding(), rhs.sharding());
  const std::optional<WindowedDot> ring = ChooseWindowedDot(
      *hlo, f.lhs, f.rhs, f.result, num_partitions_, options_);
  if (ring.has_value() && (ring->scatters || !FeedsWindowedDot(hlo))) {
    const WindowedDotLoop loop = EmitWindowedDot(
        hlo, *ring, ZeroPadded(lhs, f.lhs, f.contracting),
        ZeroPadded(rhs, f.rhs, f.contracting),
        options_.unroll_windowed_einsum ? 2 : 1, MakePartitioningState());
    if (!ring->scatters) {
      windowed_operands_.insert(hlo->operand(ring->moving));
    }
    SetPartitionedHlo(hlo, loop.result);
    return absl::OkStatus();
  }
  const std::optional<HloSharding> factors = ChooseFactorSharding(
      f.num_factors, {f.lhs, f.rhs, f.result}, f.contracting,
      WorkOfFlops(MultiplyAdds(*hlo, info) * 2));
  if (!factors.has_value()) return DefaultAction(hlo);
  HloInstruction* local_lhs = ZeroPadded(
      lhs.Reshard(TensorSharding(*factors, f.lhs)), f.lhs, f.contracting);
  HloInstruction* local_rhs = ZeroPadded(
      rhs.Reshard(TensorSharding(*factors, f.rhs)), f.rhs, f.contracting);
  HloInstruction* local = b_.AddInstruction(hlo->CloneWithNewOperands(
      MakePartitionedShape(hlo->shape(), TensorSharding(*factors, f.result)),
      {local_lhs, local_rhs}));
  ShardedSum sum = SumAddends(local, *factors, f.result, f.contracting,
                              MakePartitioningState());
  Finish(hlo, sum.sum, sum.sharding);
  return absl::OkStatus();
}

absl::Status SpmdPartitioningVisitor::HandleConvolution(HloInstruction* hlo) {
  PartitionedHlo& lhs = GetPartitionedHlo(hlo->operand(0));
  PartitionedHlo& rhs = GetPartitionedHlo(hlo->operand(1));
  const DotConvolutionDimsInfo info =
      dot_as_convolution_util::ParseConvolutionDimsInfo(hlo);
  const DotFactors f = DotFactorsOf(*hlo, info, lhs.sharding(), rhs.sharding());
  std::optional<HloSharding> factors = ChooseFactorSharding(
      f.num_factors, {f.lhs, f.rhs, f.result}, f.contracting,
      WorkOfFlops(MultiplyAdds(*hlo, info) * 2));
  if (!factors.has_value()) return DefaultAction(hlo);
  std::vector<WindowDim> windows(hlo->shape().dimensions().size());
  for (const auto& dim : info.conv_spatial_dims) {
    windows[dim.output] =
        WindowDimOf(hlo->window().dimensions(dim.spatial_dim));
    windows[dim.output].moves = true;
    const int64_t tiles = ShardCountAtDim(*factors, dim.output);
    if (tiles > 1 &&
        !CanShardWindows(windows[dim.output],
                         hlo->shape().dimensions(dim.output), tiles)) {
      factors = ReplicatedOnDims(*factors, {dim.output});
    }
  }
  const HloSharding result_sharding = TensorSharding(*factors, f.result);
  Window window = hlo->window();
  // Holes of dilated operands are zeros that meet padding of the kernel.
  const auto& dnums = hlo->convolution_dimension_numbers();
  PartitionedHlo kernel = rhs.Reshard(TensorSharding(*factors, f.rhs));
  std::vector<int64_t> masked(dnums.kernel_spatial_dimensions().begin(),
                              dnums.kernel_spatial_dimensions().end());
  masked.push_back(dnums.kernel_input_feature_dimension());
  HloInstruction* local_rhs = kernel.PadWithZeroOnSpecifiedDims(masked).hlo();
  HloInstruction* local_lhs = ConvolutionOperand(
      lhs, TensorSharding(*factors, f.lhs), f, *hlo, info, windows);
  for (const auto& dim : info.conv_spatial_dims) {
    const int64_t tiles = ShardCountAtDim(result_sharding, dim.output);
    if (tiles == 1) continue;
    WindowDimension* wd = window.mutable_dimensions(dim.spatial_dim);
    const WindowShards shard = ShardWindows(
        windows[dim.output], hlo->shape().dimensions(dim.output), tiles);
    wd->set_padding_low(shard.padding_low);
    wd->set_padding_high(shard.padding_high);
  }
  std::unique_ptr<HloInstruction> windowed = hlo->Clone();
  windowed->set_window(window);
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<HloInstruction> conv,
      dot_as_convolution_util::CreateShardedConvForDotGeneralConvolution(
          *windowed, info, local_lhs, local_rhs));
  HloInstruction* local =
      CutWindowResult(b_.AddInstruction(std::move(conv)), result_sharding,
                      hlo->shape(), windows, MakePartitioningState());
  ShardedSum sum = SumAddends(local, *factors, f.result, f.contracting,
                              MakePartitioningState());
  Finish(hlo, sum.sum, sum.sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
