// Recipes for opcodes that concern several devices. They are drawn where all
// devices meet: in the entry and, for options.odd, in what it calls.

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "xla/hlo/ir/shape_inference.h"
#include "xla/hlo/testlib/random_computation.h"
#include "xla/primitive_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace random_module_internal {

RandomComputation::Groups RandomComputation::RandomGroups(bool with_all_modes) {
  const int64_t partitions = state_.options.num_partitions;
  const int64_t replicas = state_.options.num_replicas;
  Groups result;
  int64_t ids = replicas;
  int64_t devices_per_id = 1;
  if (!with_all_modes) {
    // Without a channel replicas, with one partitions.
    result.has_channel = partitions > 1 && (replicas == 1 || state_.OneIn(2));
    if (result.has_channel) ids = partitions;
  } else if (state_.OneIn(3) && replicas > 1) {
    // Replicas.
  } else if (state_.OneIn(2) && replicas > 1) {
    result.has_channel = true;
    devices_per_id = partitions;
  } else {
    result.has_channel = true;
    result.global_ids = true;
    ids = partitions * replicas;
  }
  if (result.has_channel) result.channel_id = state_.next_channel_id++;
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= ids; ++size) {
    if (ids % size == 0) sizes.push_back(size);
  }
  // One group of one device each is legal, and rare.
  if (sizes.size() > 1 && !state_.OneIn(6)) sizes.erase(sizes.begin());
  const int64_t size = sizes[state_.Below(sizes.size())];
  result.size = size * devices_per_id;
  // No groups at all: one of everything. Flattened ids are always listed.
  if (size == ids && !result.global_ids && state_.OneIn(3)) return result;
  std::vector<int64_t> order(ids);
  for (int64_t i = 0; i < ids; ++i) order[i] = i;
  for (int64_t i = ids - 1; i > 0; --i) {
    std::swap(order[i], order[state_.Below(i + 1)]);
  }
  for (int64_t first = 0; first < ids; first += size) {
    ReplicaGroup& group = result.groups.emplace_back();
    for (int64_t i = 0; i < size; ++i) group.add_replica_ids(order[first + i]);
  }
  return result;
}

bool RandomComputation::DeviceId(HloOpcode opcode) {
  const bool partition = opcode == HloOpcode::kPartitionId;
  const int64_t count =
      partition ? state_.options.num_partitions : state_.options.num_replicas;
  Publish(partition ? HloInstruction::CreatePartitionId()
                    : HloInstruction::CreateReplicaId(),
          {0, count - 1.0}, true);
  return true;
}

bool RandomComputation::AllReduce(HloOpcode opcode) {
  Value x = PickArray([](const Value&) { return true; });
  if (x.instruction == nullptr) return false;
  const Groups groups = RandomGroups(/*with_all_modes=*/true);
  Range range;
  double identity = 0;
  bool stable = false;
  const HloOpcode by = ReducerFor(x, groups.size, &range, &identity, &stable);
  HloComputation* computation = Reducer(by, x.type());
  if (state_.OneIn(3)) {
    HloInstruction* start = Add(HloInstruction::CreateAllReduceStart(
        x.shape(), {x.instruction}, computation, groups.groups,
        /*constrain_layout=*/false, groups.channel_id, groups.global_ids));
    Publish(HloInstruction::CreateUnary(x.shape(), HloOpcode::kAllReduceDone,
                                        start),
            range, stable);
    return true;
  }
  Publish(HloInstruction::CreateAllReduce(
              x.shape(), {x.instruction}, computation, groups.groups,
              /*constrain_layout=*/false, groups.channel_id, groups.global_ids),
          range, stable);
  return true;
}

bool RandomComputation::AllGather(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  const Groups groups = RandomGroups(/*with_all_modes=*/true);
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  if (ShapeUtil::ElementsIn(x.shape()) * groups.size >
      4 * state_.options.max_elements) {
    return false;
  }
  Shape shape = x.shape();
  shape.set_dimensions(dimension, shape.dimensions(dimension) * groups.size);
  if (state_.OneIn(3)) {
    HloInstruction* start = Add(HloInstruction::CreateAllGatherStart(
        ShapeUtil::MakeTupleShape({x.shape(), shape}), {x.instruction},
        dimension, groups.groups, /*constrain_layout=*/false, groups.channel_id,
        groups.global_ids));
    Publish(
        HloInstruction::CreateUnary(shape, HloOpcode::kAllGatherDone, start),
        x.range, x.stable);
    return true;
  }
  Publish(HloInstruction::CreateAllGather(
              shape, {x.instruction}, dimension, groups.groups,
              /*constrain_layout=*/false, groups.channel_id, groups.global_ids),
          x.range, x.stable);
  return true;
}

bool RandomComputation::ReduceScatter(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  const Groups groups = RandomGroups(/*with_all_modes=*/true);
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  // Make the dimension divisible.
  Shape whole = x.shape();
  whole.set_dimensions(dimension, state_.Between(1, 2) * groups.size);
  if (ShapeUtil::ElementsIn(whole) > 4 * state_.options.max_elements) {
    return false;
  }
  x = Make(whole, state_.Limit(x.type()));
  Range range;
  double identity = 0;
  bool stable = false;
  const HloOpcode by = ReducerFor(x, groups.size, &range, &identity, &stable);
  Shape shape = whole;
  shape.set_dimensions(dimension, whole.dimensions(dimension) / groups.size);
  Publish(HloInstruction::CreateReduceScatter(
              shape, {x.instruction}, Reducer(by, x.type()), groups.groups,
              /*constrain_layout=*/false, groups.channel_id, groups.global_ids,
              dimension),
          range, stable);
  return true;
}

bool RandomComputation::AllToAll(HloOpcode opcode) {
  Value x = PickArray(HasRank);
  if (x.instruction == nullptr) return false;
  const Groups groups = RandomGroups(/*with_all_modes=*/false);
  if (groups.groups.empty()) return false;
  if (state_.OneIn(2)) {
    // Operand i goes to member i.
    std::vector<HloInstruction*> operands;
    std::vector<Shape> shapes;
    Range range = x.range;
    bool stable = true;
    for (int64_t i = 0; i < groups.size; ++i) {
      Value part = i == 0 ? x : Make(x.shape(), state_.Limit(x.type()));
      operands.push_back(part.instruction);
      shapes.push_back(part.shape());
      range = Union(range, part.range);
      stable &= part.stable;
    }
    HloInstruction* all_to_all = Add(HloInstruction::CreateAllToAll(
        ShapeUtil::MakeTupleShape(shapes), operands, groups.groups,
        /*constrain_layout=*/false, groups.channel_id));
    Publish(HloInstruction::CreateGetTupleElement(all_to_all,
                                                  state_.Below(groups.size)),
            range, stable);
    return true;
  }
  const int64_t dimension = state_.Below(x.shape().dimensions().size());
  Shape shape = x.shape();
  shape.set_dimensions(dimension, state_.Between(1, 2) * groups.size);
  if (ShapeUtil::ElementsIn(shape) > 4 * state_.options.max_elements) {
    return false;
  }
  x = Make(shape, state_.Limit(x.type()));
  Publish(HloInstruction::CreateAllToAll(shape, {x.instruction}, groups.groups,
                                         /*constrain_layout=*/false,
                                         groups.channel_id, dimension),
          x.range, x.stable);
  return true;
}

bool RandomComputation::CollectivePermute(HloOpcode opcode) {
  Value x = PickArray([](const Value&) { return true; });
  if (x.instruction == nullptr) return false;
  const Groups groups = RandomGroups(/*with_all_modes=*/false);
  const int64_t ids = groups.has_channel ? state_.options.num_partitions
                                         : state_.options.num_replicas;
  std::vector<int64_t> targets(ids);
  for (int64_t i = 0; i < ids; ++i) targets[i] = i;
  for (int64_t i = ids - 1; i > 0; --i) {
    std::swap(targets[i], targets[state_.Below(i + 1)]);
  }
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (int64_t i = 0; i < ids; ++i) {
    if (!state_.OneIn(4)) pairs.push_back({i, targets[i]});
  }
  if (pairs.empty()) pairs.push_back({0, 0});
  const Range range = Union(x.range, {0, 0});
  if (state_.OneIn(3)) {
    HloInstruction* start = Add(HloInstruction::CreateCollectivePermuteStart(
        ShapeUtil::MakeTupleShape({x.shape(), x.shape()}), x.instruction, pairs,
        groups.channel_id));
    Publish(HloInstruction::CreateUnary(
                x.shape(), HloOpcode::kCollectivePermuteDone, start),
            range, x.stable);
    return true;
  }
  Publish(HloInstruction::CreateCollectivePermute(x.shape(), x.instruction,
                                                  pairs, groups.channel_id),
          range, x.stable);
  return true;
}

bool RandomComputation::CollectiveBroadcast(HloOpcode opcode) {
  Value x = PickArray([](const Value&) { return true; });
  if (x.instruction == nullptr) return false;
  const Groups groups = RandomGroups(/*with_all_modes=*/false);
  if (groups.groups.empty()) return false;
  Publish(HloInstruction::CreateCollectiveBroadcast(
              x.shape(), {x.instruction}, groups.groups,
              /*constrain_layout=*/false, groups.channel_id),
          x.range, x.stable);
  return true;
}

}  // namespace random_module_internal
}  // namespace xla
