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
#include "xla/hlo/transforms/spmd/windowed_einsum.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"
#include "xla/window_util.h"

// Dots and convolutions: each batch, contracting and non-contracting dimension
// is a factor. A convolution has its sliding dimensions as factors of the
// result alone: the left operand is whole there, and each device cuts out what
// the windows of its shard read.

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
    const WindowDimension& wd = hlo.window().dimensions(dim.spatial_dim);
    if (wd.base_dilation() == 1) f.result.factors[dim.output] = dim.output;
  }
  return f;
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
  const DotFactors f =
      DotFactorsOf(*hlo, dot_as_convolution_util::ParseDotGeneralFromDot(hlo),
                   lhs.sharding(), rhs.sharding());
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
      f.num_factors, {f.lhs, f.rhs, f.result}, f.contracting);
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
  const std::optional<HloSharding> factors = ChooseFactorSharding(
      f.num_factors, {f.lhs, f.rhs, f.result}, f.contracting);
  if (!factors.has_value()) return DefaultAction(hlo);
  HloInstruction* local_lhs = ZeroPadded(
      lhs.Reshard(TensorSharding(*factors, f.lhs)), f.lhs, f.contracting);
  const HloSharding result_sharding = TensorSharding(*factors, f.result);
  Window window = hlo->window();
  // Holes of dilated operands are zeros that meet padding of the kernel.
  const auto& dnums = hlo->convolution_dimension_numbers();
  PartitionedHlo kernel = rhs.Reshard(TensorSharding(*factors, f.rhs));
  std::vector<int64_t> masked(dnums.kernel_spatial_dimensions().begin(),
                              dnums.kernel_spatial_dimensions().end());
  masked.push_back(dnums.kernel_input_feature_dimension());
  HloInstruction* local_rhs = kernel.PadWithZeroOnSpecifiedDims(masked).hlo();
  for (const auto& dim : info.conv_spatial_dims) {
    const int64_t tiles = ShardCountAtDim(result_sharding, dim.output);
    if (tiles == 1) continue;
    WindowDimension* wd = window.mutable_dimensions(dim.spatial_dim);
    const int64_t count =
        CeilOfRatio(hlo->shape().dimensions(dim.output), tiles);
    std::vector<int64_t> table = OrdinalTable(result_sharding, dim.output);
    for (int64_t& start : table) start *= count * wd->stride();
    HloInstruction* start = AddBinary(
        HloOpcode::kSubtract, TableLookup(table, S32, partition_id_, &b_),
        CreateR0(wd->padding_low(), S32, &b_), &b_);
    const int64_t read =
        (count - 1) * wd->stride() +
        window_util::DilatedBound(wd->size(), wd->window_dilation());
    local_lhs = WindowAt(local_lhs, dim.lhs, start, read, &b_);
    wd->set_padding_low(0);
    wd->set_padding_high(0);
  }
  std::unique_ptr<HloInstruction> windowed = hlo->Clone();
  windowed->set_window(window);
  TF_ASSIGN_OR_RETURN(
      std::unique_ptr<HloInstruction> conv,
      dot_as_convolution_util::CreateShardedConvForDotGeneralConvolution(
          *windowed, info, local_lhs, local_rhs));
  ShardedSum sum = SumAddends(b_.AddInstruction(std::move(conv)), *factors,
                              f.result, f.contracting, MakePartitioningState());
  Finish(hlo, sum.sum, sum.sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
