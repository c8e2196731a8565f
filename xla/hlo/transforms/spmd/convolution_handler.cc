#include "xla/hlo/transforms/spmd/convolution_handler.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/kernel_parts.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/window_shards.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

// Convolutions: batches and features as in dots, and groups of features as
// batches are. Along a sliding dimension the shards of the left operand
// exchange what the windows of the result read; or, where both operands are cut
// there, either operand is brought to the shards of the other, and an
// all-reduce adds up.

namespace xla::spmd {
namespace {

using dot_as_convolution_util::DotConvolutionDimsInfo;

// Where moving the kernel would take more, the left operand moves.
constexpr int64_t kMostKernelParts = 4;

// Elements along a spatial dimension that the shards of an operand become.
struct SpatialCut {
  int64_t dim;
  ShardIntervals intervals;
};

// How an operand gets those: by halos, or cut out of dimensions that are whole
// where halos would be larger.
struct SpatialFetch {
  HloSharding sharding;
  std::vector<bool> has_halos;
};

// What a device receives in that.
double BytesOfFetch(const Shape& base_shape, const HloSharding& present,
                    const SpatialFetch& fetch,
                    absl::Span<const SpatialCut> cuts) {
  double bytes = RouteBytes(base_shape, present, fetch.sharding);
  Shape shard = MakePartitionedShape(base_shape, fetch.sharding);
  for (int64_t i = 0; i < cuts.size(); ++i) {
    const auto& [dim, intervals] = cuts[i];
    if (!fetch.has_halos[i]) continue;
    bytes +=
        BytesOfIntervals(base_shape.dimensions(dim), intervals, dim, &shard);
  }
  return bytes;
}

SpatialFetch PlanFetch(const Shape& base_shape, const HloSharding& present,
                       HloSharding sharding,
                       absl::Span<const SpatialCut> cuts) {
  SpatialFetch fetch{std::move(sharding), {}};
  for (const SpatialCut& cut : cuts) {
    fetch.has_halos.push_back(CanFetchIntervals(
        base_shape.dimensions(cut.dim),
        ShardCountAtDim(fetch.sharding, cut.dim), cut.intervals));
  }
  for (int64_t i = 0; i < cuts.size(); ++i) {
    if (fetch.has_halos[i]) continue;
    fetch.sharding = ReplicatedOnDims(fetch.sharding, {cuts[i].dim});
  }
  // What is whole already has no need of halos.
  for (int64_t i = 0; i < cuts.size(); ++i) {
    if (!fetch.has_halos[i]) continue;
    SpatialFetch whole = fetch;
    whole.sharding = ReplicatedOnDims(fetch.sharding, {cuts[i].dim});
    whole.has_halos[i] = false;
    if (BytesOfFetch(base_shape, present, whole, cuts) <
        BytesOfFetch(base_shape, present, fetch, cuts)) {
      fetch = std::move(whole);
    }
  }
  return fetch;
}

double BytesOfFetch(const FactorTensor& operand, const HloSharding& sharding,
                    absl::Span<const SpatialCut> cuts) {
  return BytesOfFetch(
      operand.shape, operand.sharding,
      PlanFetch(operand.shape, operand.sharding, sharding, cuts), cuts);
}

// Zeros where there is nothing, and in the padding of `masked` dimensions.
HloInstruction* FetchSpatial(const PartitionedHlo& operand,
                             const HloSharding& cut_sharding,
                             absl::Span<const int64_t> masked,
                             absl::Span<const SpatialCut> cuts) {
  std::vector<std::vector<int64_t>> ordinals;
  for (const SpatialCut& cut : cuts) {
    ordinals.push_back(OrdinalTable(cut_sharding, cut.dim));
  }
  const auto [sharding, has_halos] =
      PlanFetch(operand.base_shape(), operand.sharding(), cut_sharding, cuts);
  HloInstruction* local =
      operand.Reshard(sharding).PadWithZeroOnSpecifiedDims(masked).hlo();
  SpmdBuilder* b = operand.state().b;
  // Halos first: they come from any device that has a shard, while all of those
  // have the same of it.
  for (int64_t i = 0; i < cuts.size(); ++i) {
    if (!has_halos[i]) continue;
    const auto& [dim, intervals] = cuts[i];
    HloInstruction* zero =
        CreateZero(ShapeUtil::MakeShape(local->shape().element_type(), {}), b);
    local = *FetchIntervals(local, sharding, dim,
                            operand.base_shape().dimensions(dim), intervals,
                            zero, operand.state());
  }
  for (int64_t i = 0; i < cuts.size(); ++i) {
    if (has_halos[i]) continue;
    const auto& [dim, intervals] = cuts[i];
    std::vector<int64_t> table;
    for (int64_t ordinal : ordinals[i]) {
      table.push_back(intervals.start[ordinal]);
    }
    local = WindowAt(local, dim,
                     TableLookup(table, S32, operand.state().partition_id, b),
                     intervals.size, b);
  }
  return local;
}

// Spatial dimensions along which both operands are cut and the result is not,
// as in the gradient of a kernel: each device adds up a part of the window.
// With one window there is nothing else to cut, so either operand may be whole.
std::vector<int64_t> SummedSpatialDims(const DotConvolutionDimsInfo& info,
                                       const Shape& result,
                                       const HloSharding& lhs,
                                       const HloSharding& rhs,
                                       const HloSharding& output,
                                       const Window& window) {
  std::vector<int64_t> dims;
  for (const auto& dim : info.conv_spatial_dims) {
    const WindowDimension& wd = window.dimensions(dim.spatial_dim);
    const bool lhs_is_cut = ShardCountAtDim(lhs, dim.lhs) > 1;
    const bool rhs_is_cut = ShardCountAtDim(rhs, dim.rhs) > 1;
    const bool is_cut = result.dimensions(dim.output) == 1
                            ? lhs_is_cut || rhs_is_cut
                            : lhs_is_cut && rhs_is_cut;
    if (is_cut && ShardCountAtDim(output, dim.output) == 1 &&
        wd.base_dilation() == 1) {
      dims.push_back(dim.spatial_dim);
    }
  }
  return dims;
}

// Steps from the first to the last window.
int64_t WindowSpan(const HloInstruction& conv, int64_t output_dim,
                   const WindowDimension& wd) {
  return (conv.shape().dimensions(output_dim) - 1) * wd.stride();
}

void SetWindow(int64_t size, int64_t low, int64_t high, WindowDimension* wd) {
  wd->set_size(size);
  wd->set_padding_low(low);
  wd->set_padding_high(high);
}

// Each device keeps its shard of the kernel, and gets what of the left operand
// all windows read through that. The last shard of a reversed kernel is the
// first to be read.
SpatialCut LhsOfKernelShards(const HloInstruction& conv,
                             const DotConvolutionDimsInfo::DimNums& dim,
                             int64_t tiles, WindowDimension* wd) {
  const int64_t shard = CeilOfRatio(wd->size(), tiles);
  const int64_t dilation = wd->window_dilation();
  SpatialCut cut{dim.lhs, {}};
  cut.intervals.size =
      WindowSpan(conv, dim.output, *wd) + (shard - 1) * dilation + 1;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t first =
        wd->window_reversal() ? wd->size() - (i + 1) * shard : i * shard;
    cut.intervals.start.push_back(first * dilation - wd->padding_low());
    cut.intervals.needed.push_back(cut.intervals.size);
  }
  SetWindow(shard, 0, 0, wd);
  return cut;
}

// Whether the kernel may move instead: its elements stand alike beside all
// shards of the left operand.
bool KernelMeetsLhsShards(const HloInstruction& conv,
                          const DotConvolutionDimsInfo::DimNums& dim,
                          int64_t tiles, const WindowDimension& wd) {
  const int64_t shard =
      CeilOfRatio(conv.operand(0)->shape().dimensions(dim.lhs), tiles);
  return shard % wd.window_dilation() == 0;
}

// Each device keeps its shard of the left operand, and gets what of the kernel
// meets that in any window.
SpatialCut KernelOfLhsShards(const HloInstruction& conv,
                             const DotConvolutionDimsInfo::DimNums& dim,
                             int64_t tiles, WindowDimension* wd) {
  const int64_t shard =
      CeilOfRatio(conv.operand(0)->shape().dimensions(dim.lhs), tiles);
  const int64_t span = WindowSpan(conv, dim.output, *wd);
  const int64_t dilation = wd->window_dilation();
  // The first element of the kernel that meets the first shard.
  const int64_t first = FloorOfRatio(wd->padding_low() - span, dilation);
  const int64_t low = wd->padding_low() - first * dilation;
  SpatialCut cut{dim.rhs, {}};
  cut.intervals.size = (shard - 1 + low) / dilation + 1;
  for (int64_t i = 0; i < tiles; ++i) {
    const int64_t start = i * shard / dilation + first;
    cut.intervals.start.push_back(wd->window_reversal()
                                      ? wd->size() - start - cut.intervals.size
                                      : start);
    cut.intervals.needed.push_back(cut.intervals.size);
  }
  const int64_t reach = span + (cut.intervals.size - 1) * dilation + 1;
  SetWindow(cut.intervals.size, low, reach - shard - low, wd);
  return cut;
}

// Features that are convolved in groups of several, of both operands and of the
// result, or of batches of the left operand: shards of whole groups need
// nothing of other groups.
//
//   f32[8,10,6] x, f32[3,2,9] w, dim_labels=b0f_0io->b0f, feature_group_count=3
//       → in 3 shards: f32[8,10,2], f32[3,2,3], feature_group_count=1
struct GroupFactor {
  int64_t factor = -1;
  int64_t count = 1;
};

// Groups of one feature each are a batch dimension among the factors already.
GroupFactor AddGroupFactor(const HloInstruction& conv, DotFactors* f) {
  const ConvolutionDimensionNumbers& dnums =
      conv.convolution_dimension_numbers();
  const int64_t factor = dnums.output_feature_dimension();
  if (f->result.factors[factor] >= 0 ||
      dot_as_convolution_util::IsBackwardConvolution(conv)) {
    return {};
  }
  const bool of_features = conv.feature_group_count() > 1;
  f->result.factors[factor] = factor;
  f->lhs.factors[of_features ? dnums.input_feature_dimension()
                             : dnums.input_batch_dimension()] = factor;
  f->rhs.factors[dnums.kernel_output_feature_dimension()] = factor;
  return {factor,
          of_features ? conv.feature_group_count() : conv.batch_group_count()};
}

// What a sharding of the factors means for the spatial dimensions.
struct SpatialShards {
  // Without cuts that windows do not allow.
  HloSharding factors = HloSharding::Replicate();
  std::vector<WindowDim> windows;
  Window window;
  std::vector<SpatialCut> lhs_cuts, rhs_cuts;
  std::vector<KernelShards> kernel_shards;
};

// Brings the left operand to the shards of the kernel, or the kernel to those
// of the left operand. Shards of a reversed kernel meet the opposite ones of
// the left operand, so either may have far to go.
void CutSummedDim(const HloInstruction& conv,
                  const DotConvolutionDimsInfo::DimNums& dim,
                  const DotFactors& f, bool halo_on_lhs,
                  SpatialShards* shards) {
  WindowDimension* wd = shards->window.mutable_dimensions(dim.spatial_dim);
  const int64_t tiles = shards->factors.dimension(f.lhs.factors[dim.lhs]);
  if (tiles == 1) return;
  WindowDimension lhs_window = *wd;
  WindowDimension rhs_window = *wd;
  SpatialCut lhs_cut = LhsOfKernelShards(conv, dim, tiles, &lhs_window);
  SpatialCut rhs_cut = KernelOfLhsShards(conv, dim, tiles, &rhs_window);
  KernelShards kernel{dim.spatial_dim, dim.rhs, wd->size(), rhs_window.size(),
                      rhs_cut.intervals.start};
  bool kernel_moves =
      KernelMeetsLhsShards(conv, dim, tiles, *wd) &&
      MostKernelParts(kernel, f.lhs.shape.element_type()) <= kMostKernelParts;
  if (kernel_moves && halo_on_lhs) {
    const auto bytes = [&](absl::Span<const SpatialCut> lhs_cuts,
                           absl::Span<const SpatialCut> rhs_cuts) {
      return BytesOfFetch(f.lhs, TensorSharding(shards->factors, f.lhs),
                          lhs_cuts) +
             BytesOfFetch(f.rhs, TensorSharding(shards->factors, f.rhs),
                          rhs_cuts);
    };
    kernel_moves =
        wd->window_reversal() && bytes({}, {rhs_cut}) < bytes({lhs_cut}, {});
  }
  if (kernel_moves) {
    shards->rhs_cuts.push_back(std::move(rhs_cut));
    *wd = rhs_window;
  } else {
    shards->lhs_cuts.push_back(std::move(lhs_cut));
    *wd = lhs_window;
    kernel.size = wd->size();
    for (int64_t i = 0; i < tiles; ++i) kernel.start[i] = i * kernel.size;
  }
  shards->kernel_shards.push_back(std::move(kernel));
}

SpatialShards ShardSpatialDims(const HloInstruction& conv,
                               const DotConvolutionDimsInfo& info,
                               const DotFactors& f,
                               absl::Span<const int64_t> summed,
                               const Window& conv_window, bool halo_on_lhs,
                               const HloSharding& factors) {
  const Shape& result = conv.shape();
  SpatialShards shards;
  shards.factors = factors;
  shards.window = conv_window;
  shards.windows.resize(result.dimensions().size());
  for (const auto& dim : info.conv_spatial_dims) {
    if (absl::c_linear_search(summed, dim.spatial_dim)) continue;
    WindowDim& window = shards.windows[dim.output];
    window = WindowDimOf(conv_window.dimensions(dim.spatial_dim));
    window.moves = true;
    const int64_t tiles = ShardCountAtDim(shards.factors, dim.output);
    if (tiles > 1 &&
        !CanShardWindows(window, result.dimensions(dim.output), tiles)) {
      shards.factors = ReplicatedOnDims(shards.factors, {dim.output});
    }
  }
  if (!shards.factors.IsTiledLeaf()) return shards;
  const HloSharding result_sharding = TensorSharding(shards.factors, f.result);
  for (const auto& dim : info.conv_spatial_dims) {
    WindowDimension* wd = shards.window.mutable_dimensions(dim.spatial_dim);
    if (absl::c_linear_search(summed, dim.spatial_dim)) {
      CutSummedDim(conv, dim, f, halo_on_lhs, &shards);
      continue;
    }
    const int64_t tiles = ShardCountAtDim(result_sharding, dim.output);
    if (tiles == 1) continue;
    WindowShards shard = ShardWindows(shards.windows[dim.output],
                                      result.dimensions(dim.output), tiles);
    wd->set_padding_low(shard.padding_low);
    wd->set_padding_high(shard.padding_high);
    shards.lhs_cuts.push_back({dim.lhs, std::move(shard.intervals)});
  }
  return shards;
}

// What each device computes, and what it receives for that.
struct ConvolutionPlan {
  DotFactors f;
  SpatialShards shards;
  double bytes = std::numeric_limits<double>::infinity();
};

// With `summed` dimensions as contracting ones.
ConvolutionPlan PlanConvolution(const HloInstruction& conv,
                                const DotConvolutionDimsInfo& info,
                                const HloSharding& lhs, const HloSharding& rhs,
                                const HloSharding& output_sharding,
                                absl::Span<const int64_t> summed,
                                const Window& conv_window, bool halo_on_lhs) {
  ConvolutionPlan plan;
  plan.f = DotFactorsOf(conv, info, lhs, rhs, summed);
  DotFactors& f = plan.f;
  const GroupFactor groups = AddGroupFactor(conv, &f);
  f.result.sharding = output_sharding;
  f.result.addends = AddendsWanted(conv);
  const auto tensors = {f.lhs, f.rhs, f.result};
  const auto shard_spatial_dims = [&](const HloSharding& factors) {
    const bool whole_groups =
        groups.factor < 0 ||
        groups.count % factors.dimension(groups.factor) == 0;
    return ShardSpatialDims(
        conv, info, f, summed, conv_window, halo_on_lhs,
        whole_groups ? factors : ReplicatedOnDims(factors, {groups.factor}));
  };
  const auto price = [&](const HloSharding& factors) {
    const SpatialShards shards = shard_spatial_dims(factors);
    if (!shards.factors.IsTiledLeaf()) {
      return std::numeric_limits<double>::infinity();
    }
    return BytesOfFetch(f.lhs, TensorSharding(shards.factors, f.lhs),
                        shards.lhs_cuts) +
           BytesOfFetch(f.rhs, TensorSharding(shards.factors, f.rhs),
                        shards.rhs_cuts) +
           BytesOfResult(shards.factors, f.result, f.contracting);
  };
  const std::optional<HloSharding> chosen = ChooseFactorSharding(
      f.num_factors, tensors, f.contracting,
      WorkOfFlops(MultiplyAdds(conv, info) * 2), /*preferred=*/{}, price);
  if (!chosen.has_value()) return plan;
  plan.shards = shard_spatial_dims(*chosen);
  if (plan.shards.factors.IsTiledLeaf()) plan.bytes = price(*chosen);
  return plan;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloInstruction>> CreateShardedConvolution(
    const HloInstruction& conv, const DotConvolutionDimsInfo& dot_dnums,
    HloInstruction* sharded_lhs_hlo, HloInstruction* sharded_rhs_hlo,
    const Window& conv_window) {
  std::unique_ptr<HloInstruction> windowed = conv.Clone();
  windowed->set_window(conv_window);
  return dot_as_convolution_util::CreateShardedConvForDotGeneralConvolution(
      *windowed, dot_dnums, sharded_lhs_hlo, sharded_rhs_hlo);
}

absl::StatusOr<HloInstruction*> CreateShardedConvolutionFunctor::CreateSharded(
    const PartitionedHlo& ll, const PartitionedHlo& rr, SpmdBuilder* b,
    const Window& conv_window) const {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloInstruction> conv,
                      CreateShardedConvolution(*conv_, dims_info_, ll.hlo(),
                                               rr.hlo(), conv_window));
  return b->AddInstruction(std::move(conv));
}

absl::StatusOr<HloInstruction*> PartitionConvolution(
    const PartitionedHlo& lhs, const PartitionedHlo& rhs,
    const Shape& output_base_shape, const HloSharding& output_sharding,
    const DotConvolutionDimsInfo& info,
    CreateShardedConvolutionFunctor& create_sharded_conv,
    const Window& conv_window, HloInstruction* hlo, int64_t num_partitions,
    const SpmdPartitionerOptions& options, HloInstruction* partition_id,
    HloModule* module, SpmdBuilder* b) {
  // There are no windows whose elements could be cut.
  if (ShapeUtil::IsZeroElementArray(output_base_shape)) return nullptr;
  PartitionedHlo::PartitioningState state = lhs.state();
  state.partition_id = partition_id;
  state.module = module;
  state.b = b;
  const auto summed_for = [&](const HloSharding& output) {
    return SummedSpatialDims(info, output_base_shape, lhs.sharding(),
                             rhs.sharding(), output, conv_window);
  };
  const auto plan_with = [&](absl::Span<const int64_t> summed) {
    return PlanConvolution(*hlo, info, lhs.sharding(), rhs.sharding(),
                           output_sharding, summed, conv_window,
                           options.conv_halo_exchange_always_on_lhs);
  };
  const std::vector<int64_t> summed = summed_for(output_sharding);
  ConvolutionPlan plan = plan_with(summed);
  // The sum may be cut afterwards instead of the windows.
  const std::vector<int64_t> all_summed = summed_for(HloSharding::Replicate());
  if (all_summed != summed) {
    ConvolutionPlan cut_later = plan_with(all_summed);
    if (cut_later.bytes < plan.bytes) plan = std::move(cut_later);
  }
  ExplainPriced({plan.f.lhs, plan.f.rhs, plan.f.result}, state.partitioner);
  const auto& [f, shards, bytes] = plan;
  const HloSharding& factors = shards.factors;
  if (!factors.IsTiledLeaf()) return nullptr;
  const HloSharding result_sharding = TensorSharding(factors, f.result);
  std::vector<int64_t> masked = AddendDims(f.rhs, f.contracting);
  // Holes of dilated operands are zeros that meet padding of the kernel.
  for (int64_t d :
       hlo->convolution_dimension_numbers().kernel_spatial_dimensions()) {
    masked.push_back(d);
  }
  HloInstruction* local_lhs =
      FetchSpatial(lhs, TensorSharding(factors, f.lhs),
                   AddendDims(f.lhs, f.contracting), shards.lhs_cuts);
  HloInstruction* local_rhs = FetchSpatial(rhs, TensorSharding(factors, f.rhs),
                                           masked, shards.rhs_cuts);
  local_lhs->set_sharding(TensorSharding(factors, f.lhs));
  local_rhs->set_sharding(TensorSharding(factors, f.rhs));
  TF_ASSIGN_OR_RETURN(
      HloInstruction * local,
      ConvolveByKernelParts(PartitionedHlo(local_lhs, lhs.base_shape(), state),
                            PartitionedHlo(local_rhs, rhs.base_shape(), state),
                            shards.kernel_shards, shards.window,
                            create_sharded_conv));
  local = CutWindowResult(local, result_sharding, output_base_shape,
                          shards.windows, state);
  ShardedSum sum = SumAddends(local, factors, f.result, f.contracting, state);
  sum.sum->set_sharding(sum.sharding);
  state.reshard_cache->per_hlo_cache[sum.sum].whole_is_read =
      absl::c_linear_search(f.result.readers, HloSharding::Replicate());
  return PartitionedHlo(sum.sum, output_base_shape, state)
      .Reshard(output_sharding)
      .hlo();
}

absl::Status SpmdPartitioningVisitor::HandleConvolution(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  // Tiles of stored elements are not those of the elements they stand for.
  if (hlo->sparsity_config().has_lhs() || hlo->sparsity_config().has_rhs()) {
    return DefaultAction(hlo);
  }
  const DotConvolutionDimsInfo info =
      dot_as_convolution_util::ParseConvolutionDimsInfo(hlo);
  CreateShardedConvolutionFunctor create(hlo, info);
  TF_ASSIGN_OR_RETURN(
      HloInstruction * result,
      PartitionConvolution(GetPartitionedHlo(hlo->operand(0)),
                           GetPartitionedHlo(hlo->operand(1)), hlo->shape(),
                           hlo->sharding(), info, create, hlo->window(), hlo,
                           num_partitions_, options_, partition_id_, module_,
                           &b_));
  if (result == nullptr) return DefaultAction(hlo);
  SetPartitionedHlo(hlo, result);
  return absl::OkStatus();
}

}  // namespace xla::spmd
