#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/sharding/unreduced_sharding.h"
#include "xla/hlo/transforms/spmd/factor_sharding.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/reshard_route.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/hlo/transforms/spmd/spmd_report.h"
#include "xla/literal.h"
#include "xla/literal_util.h"
#include "xla/shape.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

// The same value under a name of its own, for another sharding.
PartitionedHlo Relabel(const PartitionedHlo& value,
                       const HloSharding& sharding) {
  HloInstruction* copy =
      value.state().b->AddInstruction(HloInstruction::CreateUnary(
          value.hlo()->shape(), HloOpcode::kCopy, value.hlo()));
  copy->set_sharding(sharding);
  return PartitionedHlo(copy, value.base_shape(), value.state());
}

// Tiles of no addends or manual values.
bool IsPlain(const HloSharding& sharding) {
  return sharding.IsTiledLeaf() && !sharding.IsManualSubgroup() &&
         !UnreducedDim(sharding).has_value();
}

// Whether tiles come from other devices.
bool MovesTiles(const Shape& shape, const HloSharding& from,
                const HloSharding& to) {
  return shape.IsArray() && IsPlain(from) &&
         (IsPlain(to) || to.IsReplicatedLeaf()) &&
         ReshardBytes(shape, from, to) > 0;
}

// Of the shardings that a value has been brought to, by sharding in `cache`,
// the one that lacks the least of `target`, if it lacks less than the value's
// own and less moves from it. Only the routes of these two are searched,
// however many shardings there are.
template <typename Cache>
PartitionedHlo NearestTo(const HloSharding& target, const PartitionedHlo& value,
                         const Cache& cache) {
  const Shape& shape = value.base_shape();
  if (cache.empty() || !MovesTiles(shape, value.sharding(), target)) {
    return value;
  }
  // By bytes lacking, then by text: the map has no order.
  const auto key_of = [&](const HloSharding& sharding) {
    return std::pair(ReshardLowerBound(shape, sharding, target),
                     sharding.ToString());
  };
  const double own = ReshardLowerBound(shape, value.sharding(), target);
  const PartitionedHlo* nearest = nullptr;
  std::pair<double, std::string> least;
  for (const auto& [sharding, source] : cache) {
    if (!IsPlain(sharding)) continue;
    auto key = key_of(sharding);
    if (key.first >= own || (nearest != nullptr && key >= least)) continue;
    nearest = &source;
    least = std::move(key);
  }
  if (nearest == nullptr || RouteBytes(shape, nearest->sharding(), target) >=
                                RouteBytes(shape, value.sharding(), target)) {
    return value;
  }
  return *nearest;
}

}  // namespace

PartitionedHlo PartitionedHlo::Reshard(const HloSharding& raw_target,
                                       std::optional<Literal> pad_value) const {
  HloSharding target = raw_target;
  if (base_shape_.IsTuple() && !target.IsTuple()) {
    target = HloSharding::SingleTuple(base_shape_, target);
  }
  if (sharding() == target) {
    if (!pad_value.has_value() || !hlo_->shape().IsArray()) return *this;
    return PadWithValue(CreateScalar(std::move(*pad_value), state_.b));
  }
  auto& cache = state_.reshard_cache->per_hlo_cache[hlo_].reshard_cache;
  if (!pad_value.has_value()) {
    auto it = cache.find(target);
    if (it != cache.end()) return it->second;
    // Devices that have the whole, too, cut their shards out of it.
    it = cache.find(HloSharding::Replicate());
    if (it != cache.end() && MovesTiles(base_shape_, sharding(), target)) {
      const PartitionedHlo whole = it->second;
      return whole.Reshard(target);
    }
  }
  const bool padded = pad_value.has_value();
  const PartitionedHlo source =
      padded ? *this : NearestTo(target, *this, cache);
  PartitionedHlo result = source.hlo_ == hlo_
                              ? ReshardNoCache(target, std::move(pad_value))
                              : source.Reshard(target);
  // Whether what a gather makes is kept for others is a question of memory.
  const bool gathers =
      !base_shape_.IsTuple() && sharding().IsTiledLeaf() &&
      (!target.IsTiledLeaf() || target.NumTiles() < sharding().NumTiles());
  if (!padded && (!gathers || state_.partitioner->options().cache_all_gather)) {
    cache.insert_or_assign(target, result);
    // The way back is where the value came from, except from a constant shared
    // with others.
    if (result.hlo() != hlo_) {
      state_.reshard_cache->per_hlo_cache[result.hlo()]
          .reshard_cache.insert_or_assign(sharding(), *this);
    }
  }
  return result;
}

bool PartitionedHlo::IsAlso(const HloSharding& sharding) const {
  const auto cached = state_.reshard_cache->per_hlo_cache.find(hlo_);
  return cached != state_.reshard_cache->per_hlo_cache.end() &&
         cached->second.reshard_cache.contains(sharding);
}

PartitionedHlo PartitionedHlo::ReshardTuple(const HloSharding& target) const {
  std::vector<HloInstruction*> elements;
  for (int64_t i = 0; i < base_shape_.tuple_shapes().size(); ++i) {
    HloInstruction* element =
        state_.b->AddInstruction(HloInstruction::CreateGetTupleElement(
            hlo_->shape().tuple_shapes(i), hlo_, i));
    element->set_sharding(sharding().GetSubSharding(base_shape_, {i}));
    PartitionedHlo part(element, base_shape_.tuple_shapes(i), state_);
    elements.push_back(
        part.Reshard(target.GetSubSharding(base_shape_, {i})).hlo());
  }
  HloInstruction* tuple =
      state_.b->AddInstruction(HloInstruction::CreateTuple(elements));
  tuple->set_sharding(target);
  return PartitionedHlo(tuple, base_shape_, state_);
}

PartitionedHlo PartitionedHlo::ReshardNoCache(
    const HloSharding& target, std::optional<Literal> pad_value) const {
  if (base_shape_.IsTuple()) return ReshardTuple(target);
  // Tokens are everywhere; what is manual is no longer ours to move.
  if (!base_shape_.IsArray() || target.IsManualLeaf() ||
      sharding().IsManualLeaf()) {
    if (!ShapeUtil::Compatible(MakePartitionedShape(base_shape_, target),
                               hlo_->shape())) {
      state_.b->Fail(absl::InvalidArgumentError(absl::StrCat(
          "manual and other shardings meet outside of SPMDFullToShardShape and "
          "SPMDShardToFullShape: ",
          ShapeUtil::HumanString(base_shape_), " has ", sharding().ToString(),
          ", its reader wants ", target.ToString())));
    }
    return Relabel(*this, target);
  }
  if (sharding() != target && (UnreducedDim(sharding()).has_value() ||
                               UnreducedDim(target).has_value())) {
    return ReshardAddends(target, std::move(pad_value));
  }
  if (sharding().IsSingleDeviceLeaf()) {
    // Once for all that want it.
    const PartitionedHlo whole =
        target.IsReplicatedLeaf() ? Broadcast() : Replicate();
    return whole.Reshard(target, std::move(pad_value));
  }
  if (target.IsSingleDeviceLeaf()) {
    const PartitionedHlo whole = Replicate();
    PartitionedHlo result = Relabel(whole, target);
    // Every device has what this one is said to have.
    result.AddReshardCache(whole.sharding(), whole);
    return result;
  }
  // Values held everywhere by one who says so in other words.
  if (hlo_->opcode() == HloOpcode::kBroadcast &&
      ShapeUtil::IsScalar(hlo_->operand(0)->shape())) {
    HloInstruction* splat =
        state_.b->AddInstruction(HloInstruction::CreateBroadcast(
            MakePartitionedShape(base_shape_, target), hlo_->mutable_operand(0),
            {}));
    splat->set_sharding(target);
    return PartitionedHlo(splat, base_shape_, state_);
  }
  PartitionedHlo result = ReshardArray(target, std::move(pad_value));
  if (SpmdReport* report = state_.partitioner->running_report()) {
    report->RecordReshard(state_.b->visiting_hlo(), base_shape_, hlo_,
                          result.hlo());
  }
  return result;
}

}  // namespace xla::spmd
