#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
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

}  // namespace

// A dimension of which one element is taken stays cut: its owner sends the
// element to all. Other sliced dimensions are gathered.
absl::Status SpmdPartitioningVisitor::HandleDynamicSlice(HloInstruction* hlo) {
  const Shape& whole = hlo->operand(0)->shape();
  // The old form, of a vector of indices.
  if (hlo->operand_count() != whole.dimensions().size() + 1) {
    return DefaultAction(hlo);
  }
  PartitionedHlo& input = GetPartitionedHlo(hlo->operand(0));
  const std::vector<int64_t> sliced = SlicedDims(whole, hlo->shape());
  std::vector<int64_t> longer;
  for (int64_t d : sliced) {
    if (hlo->shape().dimensions(d) != 1) longer.push_back(d);
  }
  HloSharding sharding = ReplicatedOnDims(input.sharding(), longer);
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    sharding = ReplicatedOnDims(hlo->sharding(), sliced);
  }
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
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
      is_here =
          And(is_here,
              IsInRange(start, local_input->shape().dimensions(d), &b_), &b_);
    }
    starts.push_back(start);
  }
  HloInstruction* local = b_.AddInstruction(HloInstruction::CreateDynamicSlice(
      shape, local_input, starts, shape.dimensions()));
  if (is_here != nullptr) {
    local = AllReduceOfOwners(local, is_here, {}, sharding, owned,
                              MakePartitioningState());
  }
  Finish(hlo, local, result_sharding);
  return absl::OkStatus();
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
  HloSharding sharding =
      hlo->sharding().IsTiledLeaf() ? hlo->sharding() : input.sharding();
  if (!sharding.IsTiledLeaf() || sharding.NumTiles() == 1) {
    return DefaultAction(hlo);
  }
  const std::vector<int64_t> sliced = SlicedDims(whole, update_shape);
  HloInstruction* local_input = input.Reshard(sharding).hlo();
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
