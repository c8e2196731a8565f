#include "xla/hlo/transforms/spmd/dot_handler.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/block_scaled_dot.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/transforms/spmd/custom_call_handler.h"
#include "xla/hlo/transforms/spmd/dot_factors.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/scattered_sum.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/hlo/transforms/spmd/windowed_einsum.h"
#include "xla/hlo/utils/dot_as_convolution_util.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/status_macros.h"

// Dots: each batch, contracting and non-contracting dimension is a factor.

namespace xla::spmd {

using dot_as_convolution_util::DotConvolutionDimsInfo;

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

namespace {

// What a device computes in all steps of a ring, as one dot outside of any
// computation.
struct LocalDot {
  LocalDot(const HloInstruction& whole, const DotFactors& f,
           const WindowedDot& ring) {
    HloSharding factors =
        *FactorSharding(f.num_factors, ring.scatters ? f.lhs : f.result);
    if (ring.scatters) {
      hlo_sharding_util::MergeShardingIfCompatible(
          *FactorSharding(f.num_factors, f.rhs), &factors);
    }
    const auto shard = [&factors](const FactorTensor& tensor) {
      return MakePartitionedShape(tensor.shape,
                                  TensorSharding(factors, tensor));
    };
    lhs = HloInstruction::CreateParameter(0, shard(f.lhs), "lhs");
    rhs = HloInstruction::CreateParameter(1, shard(f.rhs), "rhs");
    dot = whole.CloneWithNewOperands(shard(f.result), {lhs.get(), rhs.get()});
  }
  std::unique_ptr<HloInstruction> lhs, rhs, dot;
};

}  // namespace

// A ring hides the shorter of the two. What travels both ways first goes to the
// neighbor, when nothing hides it.
bool SpmdPartitioningVisitor::RingTakesLess(HloInstruction* hlo,
                                            const DotFactors& f,
                                            const WindowedDot& ring) {
  const FactorTensor& sent = ring.scatters      ? f.result
                             : ring.moving == 0 ? f.lhs
                                                : f.rhs;
  const int64_t bytes =
      ring.count *
      ShapeSizeInBytes(MakePartitionedShape(
          sent.shape,
          ring.scatters ? f.result.sharding : ring.shardings[ring.moving]));
  std::vector<std::vector<int64_t>> rings = ring.rings;
  const auto devices = CreateReplicaGroups(rings);
  const LocalDot local(*hlo, f, ring);
  const double computing = GetComputationTimeInMilliSec(local.dot.get());
  const double sending = GetCommunicationTimeInMilliSec(bytes, *devices);
  if (computing <= 0 || sending <= 0) return true;
  const double first =
      FormOfRing(ring.count, options_).both_ways
          ? sending * 2 / ring.count * GetCommunicationMultiplier(*devices)
          : 0;
  return std::max(computing, sending) + first < computing + sending;
}

// The dot as a ring, if the options allow it and it pays.
bool SpmdPartitioningVisitor::HandleDotAsRing(HloInstruction* hlo,
                                              const DotFactors& f) {
  PartitionedHlo& lhs = GetPartitionedHlo(hlo->operand(0));
  PartitionedHlo& rhs = GetPartitionedHlo(hlo->operand(1));
  const std::optional<WindowedDot> ring =
      ChooseWindowedDot(*hlo, f.num_factors, f.lhs, f.rhs, f.result,
                        f.contracting, num_partitions_, options_);
  if (!ring.has_value() || (!ring->scatters && FeedsWindowedDot(hlo)) ||
      !RingTakesLess(hlo, f, *ring)) {
    return false;
  }
  const WindowedDotLoop loop = EmitWindowedDot(
      hlo, *ring,
      ZeroPadded(lhs.Reshard(ring->shardings[0]), f.lhs, f.contracting),
      ZeroPadded(rhs.Reshard(ring->shardings[1]), f.rhs, f.contracting),
      FormOfRing(ring->count, options_), MakePartitioningState());
  if (SpmdReport* report = partitioner_->running_report()) {
    report->RecordRing(hlo,
                       ring->scatters      ? "sums"
                       : ring->moving == 0 ? "lhs"
                                           : "rhs",
                       loop.hop, loop.hops);
  }
  if (!ring->scatters) {
    windowed_operands_.insert(hlo->operand(ring->moving));
  }
  if (loop.while_loop != nullptr) {
    const int64_t kept_dim = ring->operand_dims[1 - ring->moving];
    windowed_dot_general_loops_.push_back(
        {loop.while_loop, ring->moving,
         /*windowed_in_contracting_dims=*/!ring->scatters &&
             ring->result_dim < 0,
         /*windowed_in_batch_dims=*/!ring->scatters && ring->result_dim >= 0 &&
             kept_dim >= 0,
         /*operands_sharded_at_contracting_dims=*/ring->scatters, ring->count,
         nullptr});
  }
  SetPartitionedHlo(hlo, loop.result);
  return true;
}

namespace {

// Operands 2 and 3 are the scales of blocks of 0 and 1.
bool HasScales(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kScaledDot ||
         BlockScaledDotDimensions(hlo).has_value();
}

}  // namespace

absl::StatusOr<HloInstruction*> CreateShardedFunctorBase::operator()(
    const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
    SpmdBuilder* builder, const Window& conv_window,
    bool call_custom_create_sharded) const {
  if (call_custom_create_sharded && has_custom_create_sharded()) {
    return custom_create_sharded_(ll, rr, builder, conv_window);
  }
  return CreateSharded(ll, rr, builder, conv_window);
}

absl::StatusOr<HloInstruction*> CreateShardedDotFunctor::CreateSharded(
    const PartitionedHloMaybeMX& ll, const PartitionedHloMaybeMX& rr,
    SpmdBuilder* b, const Window& conv_window) const {
  std::vector<HloInstruction*> operands, scales;
  for (const PartitionedHloMaybeMX* side : {&ll, &rr}) {
    if (const auto* values = std::get_if<PartitionedHlo>(side)) {
      operands.push_back(values->hlo());
      continue;
    }
    operands.push_back(std::get<PartitionedHloMX>(*side).operand().hlo());
    scales.push_back(std::get<PartitionedHloMX>(*side).scale().hlo());
  }
  const bool scaled = HasScales(*dot_);
  if (scales.size() != (scaled ? 2 : 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(dot_->name(), " has ", scaled ? 2 : 0, " scales, ",
                     scales.size(), " were given"));
  }
  absl::c_copy(scales, std::back_inserter(operands));
  TF_ASSIGN_OR_RETURN(const Shape shape,
                      ShapeInference::InferDotOpShape(
                          operands[0]->shape(), operands[1]->shape(),
                          dimension_numbers_, dot_->shape().element_type()));
  return b->AddInstruction(dot_->CloneWithNewOperands(shape, operands));
}

namespace {

bool IsPlainDot(const HloInstruction& hlo) {
  return hlo.opcode() == HloOpcode::kDot && hlo.operand_count() == 2;
}

// The scales of an operand run along the factors of that operand, except along
// dimensions that have one scale.
FactorTensor ScaleTensor(const PartitionedHlo& scale,
                         const FactorTensor& operand) {
  const Shape& shape = scale.base_shape();
  FactorTensor tensor{shape, scale.sharding(), {}};
  for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
    const bool one =
        shape.dimensions(d) == 1 && operand.shape.dimensions(d) != 1;
    tensor.factors.push_back(one ? -1 : operand.factors[d]);
  }
  return tensor;
}

// Factors whose cuts would go through a block of `tensor`.
std::vector<int64_t> FactorsThroughBlocks(const HloSharding& factors,
                                          const FactorTensor& tensor,
                                          const FactorTensor& scale) {
  std::vector<int64_t> through;
  for (int64_t d = 0; d < scale.shape.dimensions().size(); ++d) {
    const int64_t factor = tensor.factors[d];
    if (factor >= 0 && !CutsBetweenBlocks(tensor.shape.dimensions(d),
                                          scale.shape.dimensions(d),
                                          ShardCountAtDim(factors, factor))) {
      through.push_back(factor);
    }
  }
  return through;
}

}  // namespace

absl::Status SpmdPartitioningVisitor::HandleDot(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  // More operands describe sparse ones.
  if (hlo->operand_count() != 2) return DefaultAction(hlo);
  CreateShardedDotFunctor create(hlo);
  return HandleDotHelper(
      hlo, dot_as_convolution_util::ParseDotGeneralFromDot(hlo), create);
}

absl::Status SpmdPartitioningVisitor::HandleScaledDot(HloInstruction* hlo) {
  if (const auto numbers = BlockScaledDotDimensions(*hlo)) {
    CreateShardedScaledDotFunctor create(Cast<HloCustomCallInstruction>(hlo),
                                         *numbers);
    return HandleDotHelper(
        hlo, dot_as_convolution_util::ParseDotGeneral(hlo, *numbers), create);
  }
  CreateShardedDotFunctor create(hlo);
  return HandleDotHelper(
      hlo, dot_as_convolution_util::ParseDotGeneralFromDot(hlo), create);
}

// Three strategies, in this order: a ring that overlaps communication with
// partial products (windowed einsum), if the options allow it and it pays; a
// sharding of the factors of the dot, chosen by a cost model over the operands'
// and the result's shardings; and replication. Contracting dimensions that are
// sharded leave partial sums on the devices, which are added up by an
// all-reduce or reduce-scatter, unless all users want addends; their padding
// has to be zero.
absl::Status SpmdPartitioningVisitor::HandleDotHelper(
    HloInstruction* hlo, const DotConvolutionDimsInfo& dims_mapping,
    const CreateShardedFunctorBase& create_sharded_dot) {
  PartitionedHlo& lhs = GetPartitionedHlo(hlo->operand(0));
  PartitionedHlo& rhs = GetPartitionedHlo(hlo->operand(1));
  DotFactors f =
      DotFactorsOf(*hlo, dims_mapping, lhs.sharding(), rhs.sharding());
  f.result.addends = AddendsWanted(*hlo);
  // Not both: with one operand whole, the other need not be.
  auto gathered_lhs = GatheredForDots(*hlo, 0);
  auto gathered_rhs = GatheredForDots(*hlo, 1);
  if (gathered_lhs.has_value() != gathered_rhs.has_value()) {
    FactorTensor& shared = gathered_lhs.has_value() ? f.lhs : f.rhs;
    shared.readers.push_back(gathered_lhs.has_value()
                                 ? *std::move(gathered_lhs)
                                 : *std::move(gathered_rhs));
  }
  f.lhs.is_made = lhs.IsAlsoWhole();
  f.rhs.is_made = rhs.IsAlsoWhole();
  if (IsPlainDot(*hlo) && !create_sharded_dot.has_custom_create_sharded() &&
      HandleDotAsRing(hlo, f)) {
    return absl::OkStatus();
  }
  std::vector<FactorTensor> tensors = {f.lhs, f.rhs, f.result};
  std::vector<FactorTensor> scales;
  if (HasScales(*hlo)) {
    scales = {ScaleTensor(GetPartitionedHlo(hlo->operand(2)), f.lhs),
              ScaleTensor(GetPartitionedHlo(hlo->operand(3)), f.rhs)};
    for (const FactorTensor& scale : scales) {
      if (!scale.factors.empty()) tensors.push_back(scale);
    }
  }
  // Rings resolve what the shardings leave open.
  const bool as_they_are = !options_.need_resolve_conflicts &&
                           !options_.enable_windowed_einsum_for_all_gather &&
                           !options_.enable_windowed_einsum_for_reduce_scatter;
  TF_ASSIGN_OR_RETURN(
      std::optional<HloSharding> factors,
      as_they_are ? AgreedFactorSharding(*hlo, f.num_factors, tensors)
                  : ChooseFactorSharding(
                        f.num_factors, tensors, f.contracting,
                        WorkOfFlops(MultiplyAdds(*hlo, dims_mapping) * 2)));
  ExplainPriced(tensors, partitioner_);
  if (!factors.has_value()) return DefaultAction(hlo);
  PartitionedHloMaybeMX ll = lhs, rr = rhs;
  if (scales.empty()) {
    auto shard = [&](const PartitionedHlo& phlo, const FactorTensor& tensor) {
      return phlo.Reshard(TensorSharding(*factors, tensor))
          .PadWithZeroOnSpecifiedDims(AddendDims(tensor, f.contracting));
    };
    ll = shard(lhs, f.lhs);
    rr = shard(rhs, f.rhs);
  } else {
    std::vector<int64_t> through =
        FactorsThroughBlocks(*factors, f.lhs, scales[0]);
    absl::c_copy(FactorsThroughBlocks(*factors, f.rhs, scales[1]),
                 std::back_inserter(through));
    if (!through.empty()) factors = ReplicatedOnDims(*factors, through);
    if (!factors->IsTiledLeaf()) return DefaultAction(hlo);
    auto shard = [&](int64_t side, const FactorTensor& tensor) {
      return PartitionedHloMX(GetPartitionedHlo(hlo->operand(side)),
                              GetPartitionedHlo(hlo->operand(side + 2)))
          .Reshard(TensorSharding(*factors, tensor))
          .PadWithZeroOnSpecifiedDims(AddendDims(tensor, f.contracting));
    };
    ll = shard(0, f.lhs);
    rr = shard(1, f.rhs);
  }
  TF_ASSIGN_OR_RETURN(HloInstruction * local,
                      create_sharded_dot(ll, rr, &b_, Window()));
  ShardedSum sum = SumAddends(local, *factors, f.result, f.contracting,
                              MakePartitioningState());
  Finish(hlo, sum.sum, sum.sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
