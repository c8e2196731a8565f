#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
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

// Whether devices may have tiles of what one device has, but not yet the whole,
// and want others.
template <typename Cache>
bool SpreadsTiles(const HloSharding& target, const Cache& cache) {
  return (IsPlain(target) || target.IsReplicatedLeaf()) &&
         !cache.contains(HloSharding::Replicate());
}

// The routes from more sources than these are not searched, however many there
// are.
constexpr size_t kMostSources = 4;

// That from which least moves to `target`: the value, or what it has been
// brought to, by sharding in `cache`, among those that lack the least of it.
template <typename Cache>
PartitionedHlo NearestTo(const HloSharding& target, const PartitionedHlo& value,
                         const Cache& cache) {
  const Shape& shape = value.base_shape();
  const bool is_on_one = value.sharding().IsSingleDeviceLeaf();
  if (cache.empty() ||
      !(is_on_one ? SpreadsTiles(target, cache)
                  : MovesTiles(shape, value.sharding(), target))) {
    return value;
  }
  // By bytes lacking, then by text: the map has no order.
  std::vector<std::tuple<double, std::string, const PartitionedHlo*>> sources;
  const double own = is_on_one
                         ? ShapeSizeInBytes(shape)
                         : ReshardLowerBound(shape, value.sharding(), target);
  for (const auto& [sharding, source] : cache) {
    if (!IsPlain(sharding)) continue;
    const double lacking = ReshardLowerBound(shape, sharding, target);
    if (lacking > own) continue;
    sources.push_back({lacking, sharding.ToString(), &source});
  }
  absl::c_sort(sources);
  if (sources.size() > kMostSources) sources.resize(kMostSources);
  const PartitionedHlo* nearest = &value;
  // To spread what one device has takes at least all but a share of it.
  double fewest = is_on_one ? own : RouteBytes(shape, value.sharding(), target);
  for (const auto& [lacking, text, source] : sources) {
    const double bytes = RouteBytes(shape, source->sharding(), target);
    if (bytes >= fewest) continue;
    nearest = source;
    fewest = bytes;
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
    // Devices that have the whole, too, or need it anyway, cut their shards out
    // of it.
    it = cache.find(HloSharding::Replicate());
    if (it != cache.end() ? MovesTiles(base_shape_, sharding(), target)
                          : IsBetterWhole(target)) {
      const PartitionedHlo whole = Replicate();
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

// Where a reader wants the whole later: to come from there takes nothing, if
// the way to the whole does not lead over `target`.
bool PartitionedHlo::IsBetterWhole(const HloSharding& target) const {
  const auto& cached = state_.reshard_cache->per_hlo_cache[hlo_];
  if (!cached.whole_is_read || !IsPlain(target) ||
      !state_.partitioner->options().cache_all_gather) {
    return false;
  }
  if (sharding().IsSingleDeviceLeaf()) return true;
  if (!MovesTiles(base_shape_, sharding(), target)) return false;
  const HloSharding whole = HloSharding::Replicate();
  const double bytes = RouteBytes(base_shape_, sharding(), target);
  return bytes > 0 && RouteBytes(base_shape_, sharding(), whole) <
                          bytes + RouteBytes(base_shape_, target, whole);
}

PartitionedHlo PartitionedHlo::ReshardTuple(const HloSharding& target) const {
  std::vector<HloInstruction*> elements;
  const std::vector<HloSharding> present =
      ElementShardings(sharding(), base_shape_);
  const std::vector<HloSharding> wanted = ElementShardings(target, base_shape_);
  for (int64_t i = 0; i < base_shape_.tuple_shapes().size(); ++i) {
    HloInstruction* element =
        state_.b->AddInstruction(HloInstruction::CreateGetTupleElement(
            hlo_->shape().tuple_shapes(i), hlo_, i));
    element->set_sharding(present[i]);
    PartitionedHlo part(element, base_shape_.tuple_shapes(i), state_);
    elements.push_back(part.Reshard(wanted[i]).hlo());
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
    const PartitionedHlo spread =
        target.IsReplicatedLeaf() || (!IsAlsoWhole() && IsScattered(target))
            ? Spread(target)
            : Replicate();
    return spread.Reshard(target, std::move(pad_value));
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
