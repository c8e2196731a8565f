#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_visitor.h"
#include "xla/shape_util.h"

// Start indices are clamped for the whole before anything is compared with
// places of shards.

namespace xla::spmd {
namespace {

// Dimensions that are not taken as a whole.
std::vector<int64_t> SlicedDims(const Shape& whole, const Shape& slice) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    if (whole.dimensions(d) != slice.dimensions(d)) dims.push_back(d);
  }
  return dims;
}

HloInstruction* And(HloInstruction* a, HloInstruction* b,
                    SpmdBuilder* builder) {
  return a == nullptr ? b : AddBinary(HloOpcode::kAnd, a, b, builder);
}

// Where the option asks for it: the dimension of evenly cut rows of which all
// devices want one.
std::optional<int64_t> DimOfBroadcastRows(const HloInstruction& hlo,
                                          const HloSharding& input,
                                          absl::Span<const int64_t> sliced,
                                          int64_t num_partitions,
                                          const SpmdPartitionerOptions& o) {
  if (!o.enable_dynamic_slice_collective_broadcast || num_partitions < 2 ||
      num_partitions > o.max_dynamic_slice_collective_broadcast_partitions ||
      !hlo.sharding().IsReplicated() || sliced.size() != 1 ||
      hlo.shape().dimensions(sliced[0]) != 1 || !input.IsTiledLeaf() ||
      input.IsManualSubgroup() || UniqueTiledDim(input) != sliced[0] ||
      input.NumTiles() != num_partitions ||
      !EvenlyPartitions(hlo.operand(0)->shape(), input)) {
    return std::nullopt;
  }
  return sliced[0];
}

// The dimension of which a slice of several elements is taken although it stays
// cut: each device has a part of the slice, or none, and all add those up. That
// is twice the slice, against a gather of all elements; -1 where none is less.
int64_t DimOfStraddlingSlice(const Shape& whole, const Shape& slice,
                             const HloSharding& input) {
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    if (slice.dimensions(d) > 1 && ShardCountAtDim(input, d) > 1 &&
        2 * slice.dimensions(d) < whole.dimensions(d)) {
      return d;
    }
  }
  return -1;
}

// Bytes that a device receives in the sum with which the owners of a slice send
// it to all: every part comes twice.
double BytesOfOwners(const HloInstruction& hlo, const HloSharding& input,
                     absl::Span<const int64_t> sliced) {
  double owners = 1;
  for (int64_t d : sliced) owners *= ShardCountAtDim(input, d);
  return 2 * (owners - 1) / owners *
         ShapeSizeInBytes(MakePartitionedShape(
             hlo.shape(), ReplicatedOnDims(input, sliced)));
}

// The sharding of the input of a dynamic slice under which fewest bytes move:
// its own with cuts along sliced dimensions, of which `longer` ones cannot be
// cut, or without, or that of the result.
HloSharding CheapestShardingOfSlice(const HloInstruction& hlo,
                                    const HloSharding& input,
                                    absl::Span<const int64_t> sliced,
                                    absl::Span<const int64_t> longer) {
  HloSharding best = ReplicatedOnDims(input, longer);
  // What is whole on all devices is so on one.
  const HloSharding wanted = hlo.sharding().IsSingleDeviceLeaf()
                                 ? HloSharding::Replicate()
                                 : hlo.sharding();
  if (!IsPriced(input) || !IsPriced(wanted)) {
    return IsCut(best) ? best : ReplicatedOnDims(wanted, sliced);
  }
  const auto bytes = [&](const HloSharding& sharding) {
    return RouteBytes(hlo.operand(0)->shape(), input, sharding) +
           BytesOfOwners(hlo, sharding, sliced) +
           RouteBytes(hlo.shape(), ReplicatedOnDims(sharding, sliced), wanted);
  };
  double fewest = bytes(best);
  for (const HloSharding& sharding :
       {ReplicatedOnDims(wanted, sliced), ReplicatedOnDims(input, sliced)}) {
    const double sum = bytes(sharding);
    if (sum < fewest || (sum == fewest && !IsCut(best))) {
      best = sharding;
      fewest = sum;
    }
  }
  return best;
}

// The row `owner` has, in a conditional of which each branch is the broadcast
// of one device: of all devices, the number of the branch is the same.
HloInstruction* BroadcastOfOwner(
    const HloInstruction* hlo, HloInstruction* row, HloInstruction* owner,
    const HloSharding& sharding, int64_t dim,
    const PartitionedHlo::PartitioningState& state) {
  std::vector<int64_t> device_of_tile(sharding.NumTiles());
  const std::vector<int64_t> ordinals = OrdinalTable(sharding, dim);
  for (int64_t d = 0; d < ordinals.size(); ++d) device_of_tile[ordinals[d]] = d;
  std::vector<HloComputation*> branches;
  for (int64_t first : device_of_tile) {
    SpmdBuilder b(absl::StrCat("broadcast_of_", first), nullptr);
    HloInstruction* parameter = b.AddInstruction(
        HloInstruction::CreateParameter(0, row->shape(), "row"));
    std::vector<int64_t> group = {first};
    for (int64_t device = 0; device < device_of_tile.size(); ++device) {
      if (device != first) group.push_back(device);
    }
    std::vector<ReplicaGroup> groups(1);
    groups[0].mutable_replica_ids()->Assign(group.begin(), group.end());
    HloInstruction* broadcast =
        b.AddInstruction(HloInstruction::CreateCollectiveBroadcast(
            row->shape(), {parameter}, groups, /*constrain_layout=*/false,
            (*state.next_channel_id)++));
    broadcast->set_metadata(hlo->metadata());
    branches.push_back(
        state.module->AddEmbeddedComputation(b.Build(broadcast)));
  }
  return state.b->AddInstruction(HloInstruction::CreateConditional(
      row->shape(), owner, branches,
      std::vector<HloInstruction*>(branches.size(), row)));
}

// Element `row` along `dim` of an input that is cut there, for all devices.
HloInstruction* RowOfOwner(const HloInstruction* hlo,
                           const PartitionedHlo& input, HloInstruction* row,
                           int64_t dim) {
  SpmdBuilder* b = input.state().b;
  HloInstruction* size = CreateR0(input.hlo()->shape().dimensions(dim), S32, b);
  std::vector<HloInstruction*> starts(input.num_dimensions(),
                                      CreateR0(0, S32, b));
  starts[dim] = AddBinary(HloOpcode::kRemainder, row, size, b);
  HloInstruction* local = b->AddInstruction(HloInstruction::CreateDynamicSlice(
      hlo->shape(), input.hlo(), starts, hlo->shape().dimensions()));
  return BroadcastOfOwner(hlo, local,
                          AddBinary(HloOpcode::kDivide, row, size, b),
                          input.sharding(), dim, input.state());
}

}  // namespace

// What is compared: gathering a sliced dimension sends the whole of it; keeping
// it cut costs a sum over its shards of something as large as the slice, of
// which all but the owner's part are zeros.
//
// A dimension of which one element is taken may stay cut: its owner sends the
// element to all. So may one dimension of a short slice. Other sliced
// dimensions are gathered.
absl::Status SpmdPartitioningVisitor::HandleDynamicSlice(HloInstruction* hlo) {
  if (HandledOnDeviceOfOperands(hlo)) return absl::OkStatus();
  const Shape& whole = hlo->operand(0)->shape();
  // The old form, of a vector of indices.
  if (hlo->operand_count() != whole.dimensions().size() + 1) {
    return DefaultAction(hlo);
  }
  PartitionedHlo& input = GetPartitionedHlo(hlo->operand(0));
  const std::vector<int64_t> sliced = SlicedDims(whole, hlo->shape());
  if (const std::optional<int64_t> dim = DimOfBroadcastRows(
          *hlo, input.sharding(), sliced, num_partitions_, options_)) {
    HloInstruction* row = ClampToS32(ReplicatedOperand(hlo, *dim + 1),
                                     whole.dimensions(*dim) - 1, &b_);
    Finish(hlo, RowOfOwner(hlo, input, row, *dim), hlo->sharding());
    return absl::OkStatus();
  }
  const int64_t straddled =
      DimOfStraddlingSlice(whole, hlo->shape(), input.sharding());
  std::vector<int64_t> longer;
  for (int64_t d : sliced) {
    if (hlo->shape().dimensions(d) != 1 && d != straddled) longer.push_back(d);
  }
  const HloSharding sharding =
      CheapestShardingOfSlice(*hlo, input.sharding(), sliced, longer);
  if (!IsCut(sharding)) return DefaultAction(hlo);
  HloInstruction* local_input = input.Reshard(sharding).hlo();
  const std::vector<HloInstruction*> offsets =
      MakePartitionOffsets(whole, sharding, partition_id_, &b_, sliced);
  const HloSharding result_sharding = ReplicatedOnDims(sharding, sliced);
  const Shape shape = MakePartitionedShape(hlo->shape(), result_sharding);
  std::vector<HloInstruction*> starts;
  std::vector<int64_t> owned;
  HloInstruction* is_here = nullptr;
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    if (!absl::c_linear_search(sliced, d)) {
      starts.push_back(CreateR0(0, S32, &b_));
      continue;
    }
    HloInstruction* start =
        ClampToS32(ReplicatedOperand(hlo, d + 1),
                   whole.dimensions(d) - hlo->shape().dimensions(d), &b_);
    if (ShardCountAtDim(sharding, d) > 1) {
      owned.push_back(d);
      start = AddBinary(HloOpcode::kSubtract, start, offsets[d], &b_);
      if (d == straddled) {
        // Zeros where the slice is not in the shard; it is never in padding.
        const int64_t shard = local_input->shape().dimensions(d);
        const int64_t length = hlo->shape().dimensions(d);
        local_input = WindowAt(local_input, d, start, length, &b_);
        if (IntegerOfBits(whole.element_type()) == PRIMITIVE_TYPE_INVALID) {
          // Not added up as integers: -0 must meet -0 there.
          HloInstruction* position =
              AddBinary(HloOpcode::kAdd,
                        b_.AddInstruction(HloInstruction::CreateIota(
                            ShapeUtil::MakeShape(S32, {length}), 0)),
                        CreateBroadcast(start, {length}, &b_), &b_);
          local_input =
              AddSelect(IsInRange(position, shard, &b_), {d}, local_input,
                        NothingToAdd(local_input->shape(), &b_), &b_);
        }
        starts.push_back(CreateR0(0, S32, &b_));
        continue;
      }
      is_here =
          And(is_here,
              IsInRange(start, local_input->shape().dimensions(d), &b_), &b_);
    }
    starts.push_back(start);
  }
  HloInstruction* local = local_input;
  if (!ShapeUtil::SameDimensions(shape, local_input->shape()) ||
      owned.empty()) {
    local = b_.AddInstruction(HloInstruction::CreateDynamicSlice(
        shape, local_input, starts, shape.dimensions()));
  }
  if (!owned.empty()) {
    local = AllReduceOfOwners(local, is_here, {}, sharding, owned,
                              MakePartitioningState());
  }
  Finish(hlo, local, result_sharding);
  return absl::OkStatus();
}

DynamicUpdateSliceAnalysis AnalyzeDynamicUpdateSlice(
    const HloInstruction* hlo) {
  const Shape& whole = hlo->shape();
  const Shape& update = hlo->operand(1)->shape();
  DynamicUpdateSliceAnalysis result;
  result.slice_dims = SlicedDims(whole, update);
  bool single = true, known = true;
  for (int64_t d : result.slice_dims) {
    const int64_t shards =
        hlo->has_sharding() ? ShardCountAtDim(hlo->sharding(), d) : 1;
    if (shards == 1) continue;
    result.partitioned_slice_dims.push_back(d);
    const HloInstruction* index = hlo->operand(d + 2);
    const int64_t size = update.dimensions(d);
    const std::optional<int64_t> written =
        index->IsConstant() && !index->literal().is_elided()
            ? index->literal().GetFirstInteger()
            : std::nullopt;
    known &= written.has_value();
    if (size == 1) continue;
    if (!written.has_value()) {
      single = false;
      continue;
    }
    const int64_t shard = CeilOfRatio(whole.dimensions(d), shards);
    const int64_t start =
        std::clamp<int64_t>(*written, 0, whole.dimensions(d) - size);
    single &= start / shard == (start + size - 1) / shard;
  }
  if (result.partitioned_slice_dims.empty()) return result;
  if (single) {
    result.method = DynamicUpdateSliceMethod::kUpdateOnASinglePartition;
  } else if (known) {
    result.method =
        DynamicUpdateSliceMethod::kAllPartitionedSliceDimsHaveConstantIndices;
  }
  return result;
}

// The big tensor stays where it is. Each device gets the whole update along the
// sliced dimensions, and puts in what lies in its shard.
absl::Status SpmdPartitioningVisitor::HandleDynamicUpdateSlice(
    HloInstruction* hlo) {
  const Shape& whole = hlo->shape();
  const Shape& update_shape = hlo->operand(1)->shape();
  if (hlo->operand_count() != whole.dimensions().size() + 2) {
    return DefaultAction(hlo);
  }
  PartitionedHlo& input = GetPartitionedHlo(hlo->operand(0));
  const std::vector<int64_t> sliced = SlicedDims(whole, update_shape);
  const HloSharding sharding = WhereLeastMoves(
      *hlo,
      {CuttingSharding(*hlo, input.sharding()),
       input.sharding().IsTiledLeaf() ? input.sharding() : hlo->sharding()},
      [&](int64_t operand, const HloSharding& result) {
        if (operand > 1) return HloSharding::Replicate();
        return operand == 0 ? result : ReplicatedOnDims(result, sliced);
      });
  if (!IsCut(sharding)) return DefaultAction(hlo);
  HloInstruction* local_input = Operand(hlo, 0, sharding);
  HloInstruction* update = Operand(hlo, 1, ReplicatedOnDims(sharding, sliced));
  const std::vector<HloInstruction*> offsets =
      MakePartitionOffsets(whole, sharding, partition_id_, &b_, sliced);
  std::vector<HloInstruction*> starts;
  // Whether the device has any of it, by scalars, and which positions along a
  // dimension are its own.
  HloInstruction* is_here = nullptr;
  std::vector<std::pair<int64_t, HloInstruction*>> is_updated;
  for (int64_t d = 0; d < whole.dimensions().size(); ++d) {
    if (!absl::c_linear_search(sliced, d)) {
      starts.push_back(CreateR0(0, S32, &b_));
      continue;
    }
    const int64_t length = update_shape.dimensions(d);
    HloInstruction* start = ClampToS32(ReplicatedOperand(hlo, d + 2),
                                       whole.dimensions(d) - length, &b_);
    if (ShardCountAtDim(sharding, d) == 1) {
      starts.push_back(start);
      continue;
    }
    const int64_t shard = local_input->shape().dimensions(d);
    if (length == 1) {
      start = AddBinary(HloOpcode::kSubtract, start, offsets[d], &b_);
      is_here = And(is_here, IsInRange(start, shard, &b_), &b_);
      starts.push_back(start);
      continue;
    }
    // Element j of the shard is element offset - start + j of the update, which
    // is padded by a shard on both sides so that there is one for each j.
    HloInstruction* shift =
        AddBinary(HloOpcode::kSubtract, offsets[d], start, &b_);
    update = WindowAt(update, d, shift, shard, &b_);
    HloInstruction* position = b_.AddInstruction(
        HloInstruction::CreateIota(ShapeUtil::MakeShape(S32, {shard}), 0));
    position = AddBinary(HloOpcode::kAdd, position,
                         CreateBroadcast(shift, {shard}, &b_), &b_);
    is_updated.push_back({d, IsInRange(position, length, &b_)});
    starts.push_back(CreateR0(0, S32, &b_));
  }
  if (is_here != nullptr || !is_updated.empty()) {
    HloInstruction* old = b_.AddInstruction(HloInstruction::CreateDynamicSlice(
        update->shape(), local_input, starts, update->shape().dimensions()));
    if (is_here != nullptr) update = AddSelect(is_here, {}, update, old, &b_);
    for (const auto& [d, mask] : is_updated) {
      update = AddSelect(mask, {d}, update, old, &b_);
    }
  }
  HloInstruction* local =
      b_.AddInstruction(HloInstruction::CreateDynamicUpdateSlice(
          local_input->shape(), local_input, update, starts));
  Finish(hlo, local, sharding);
  return absl::OkStatus();
}

}  // namespace xla::spmd
