#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/transforms/spmd/halo_exchange.h"
#include "xla/hlo/transforms/spmd/handler_util.h"
#include "xla/hlo/transforms/spmd/partitioned_hlo.h"
#include "xla/hlo/transforms/spmd/reshard_plan.h"
#include "xla/hlo/transforms/spmd/spmd_partitioner_util.h"
#include "xla/shape_util.h"

namespace xla::spmd {
namespace {

Shape Resized(const Shape& shape, absl::Span<const int64_t> dims) {
  return ShapeUtil::MakeShape(shape.element_type(), dims);
}

// Emits the steps of a plan.
class Mover {
 public:
  Mover(const ReshardPlan& plan, const PartitionedHlo& value)
      : plan_(plan), value_(value), b_(value.state().b), hlo_(value.hlo()) {}

  HloInstruction* Run() {
    const CutAxes* before = &plan_.before;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      switch (plan_.steps[i].kind) {
        case ReshardStep::Kind::kSlice: {
          // One cut along all dimensions.
          size_t last = i;
          while (last + 1 < plan_.steps.size() &&
                 plan_.steps[last + 1].kind == ReshardStep::Kind::kSlice) {
            ++last;
          }
          Slice(*before, plan_.steps[last].after);
          i = last;
          break;
        }
        case ReshardStep::Kind::kAllGather:
          Gather(*before, plan_.steps[i].after);
          break;
        case ReshardStep::Kind::kAllToAll:
          Exchange(*before, plan_.steps[i].after);
          break;
        case ReshardStep::Kind::kPermute:
          Permute(*before, plan_.steps[i].after);
          break;
      }
      before = &plan_.steps[i].after;
    }
    return hlo_;
  }

 private:
  int64_t Size(absl::Span<const int> some) const {
    int64_t size = 1;
    for (int i : some) size *= plan_.axes[i].size;
    return size;
  }
  int64_t Channel() { return value_.NewChannel(); }
  // Tiles of dimension d become `size` long; nothing where it is whole.
  void Retile(const CutAxes& cuts, int64_t d, int64_t size);
  void Slice(const CutAxes& before, const CutAxes& after);
  void Gather(const CutAxes& before, const CutAxes& after);
  void Exchange(const CutAxes& before, const CutAxes& after);
  void Permute(const CutAxes& before, const CutAxes& after);

  const ReshardPlan& plan_;
  const PartitionedHlo& value_;
  SpmdBuilder* b_;
  HloInstruction* hlo_;
};

void Mover::Retile(const CutAxes& cuts, int64_t d, int64_t size) {
  if (cuts[d].empty() || hlo_->shape().dimensions(d) == size) return;
  const int64_t base_size = value_.base_shape().dimensions(d);
  hlo_ = ExchangeIntervals(hlo_, plan_.Sharding(cuts), d, base_size,
                           RetiledIntervals(base_size, Size(cuts[d]), size),
                           nullptr, value_.state());
}

// Each device takes its part by a dynamic slice whose starts come from a table
// by partition id. Tiles are brought to a common length first, so that parts do
// not straddle shards.
void Mover::Slice(const CutAxes& before, const CutAxes& after) {
  const std::vector<int64_t> dims =
      ShardDimensions(value_.base_shape(), plan_.axes, after);
  std::vector<int64_t> padded = dims;
  std::vector<HloInstruction*> starts;
  absl::flat_hash_set<int64_t> repeated;
  if (const auto known = b_->BroadcastDimsForCreatedHlo(hlo_)) {
    repeated = **known;
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<int> added = ChangeOfCut(before[d], after[d]).gained;
    // Where all elements are equal, any part of the whole will do, and unlike
    // padding, it is still known to repeat them.
    if (before[d].empty() && !added.empty() && repeated.contains(d)) {
      padded[d] = hlo_->shape().dimensions(d);
      starts.push_back(CreateR0(0, S32, b_));
      continue;
    }
    padded[d] *= Size(added);
    Retile(before, d, padded[d]);
    std::vector<int64_t> table = plan_.Coordinates(added);
    for (int64_t& entry : table) entry *= dims[d];
    starts.push_back(TableLookup(table, S32, value_.state().partition_id, b_));
  }
  hlo_ = PadToShape(hlo_, Resized(hlo_->shape(), padded), b_);
  hlo_ = b_->AddInstruction(HloInstruction::CreateDynamicSlice(
      Resized(hlo_->shape(), dims), hlo_, starts, dims));
}

// Gathers along one dimension, where most shards of it have no elements by a
// sum of the others, then fixes the length of tiles and drops the padding that
// remains.
void Mover::Gather(const CutAxes& before, const CutAxes& after) {
  int64_t dim = 0;
  while (before[dim] == after[dim]) ++dim;
  const std::vector<int> gathered = ChangeOfCut(before[dim], after[dim]).lost;
  const auto groups = plan_.Groups(gathered);
  if (after[dim].empty()) {
    hlo_ = GatherShards(hlo_, value_.base_shape().dimensions(dim), dim,
                        Size(gathered), *groups, Channel(), value_.state());
  } else {
    Shape shape = hlo_->shape();
    shape.set_dimensions(dim, shape.dimensions(dim) * Size(gathered));
    hlo_ = GatherGroups(hlo_, shape, dim, *groups, Channel(), value_.state());
  }
  const std::vector<int64_t> dims =
      ShardDimensions(value_.base_shape(), plan_.axes, after);
  Retile(after, dim, dims[dim]);
  hlo_ = SliceTo(hlo_, dims, b_);
}

//   axes from dimension d to e:
//   [S_d, S_e] → [S_d, g, S_e / g] → exchange along g → [g, S_d, S_e / g]
// With several target dimensions, the parts move to the front and are exchanged
// as one dimension.
void Mover::Exchange(const CutAxes& before, const CutAxes& after) {
  const std::vector<int64_t> dims =
      ShardDimensions(value_.base_shape(), plan_.axes, after);
  const int64_t rank = dims.size();
  std::vector<int64_t> padded(hlo_->shape().dimensions().begin(),
                              hlo_->shape().dimensions().end());
  // Parts, in the order of the target dimensions.
  std::vector<int> moved;
  int64_t targets = 0, exchanged = 0;
  for (int64_t d = 0; d < rank; ++d) {
    const std::vector<int> gained = ChangeOfCut(before[d], after[d]).gained;
    if (gained.empty()) continue;
    padded[d] = dims[d] * Size(gained);
    Retile(before, d, padded[d]);
    moved.insert(moved.end(), gained.begin(), gained.end());
    if (targets++ == 0) exchanged = d;
  }
  hlo_ = PadToShape(hlo_, Resized(hlo_->shape(), padded), b_);
  if (targets > 1) {
    std::vector<int64_t> split, parts, rest;
    for (int64_t d = 0; d < rank; ++d) {
      const std::vector<int> gained = ChangeOfCut(before[d], after[d]).gained;
      for (int i : gained) {
        parts.push_back(split.size());
        split.push_back(plan_.axes[i].size);
      }
      rest.push_back(split.size());
      split.push_back(gained.empty() ? padded[d] : dims[d]);
    }
    std::vector<int64_t> perm = parts;
    perm.insert(perm.end(), rest.begin(), rest.end());
    hlo_ = AddTranspose(AddReshape(hlo_, split, b_), perm, b_);
    exchanged = 0;
  }
  // [.., parts, ..] with one dimension for all parts at `exchanged`.
  std::vector<int64_t> local = padded;
  for (int64_t d = 0; d < rank; ++d) {
    if (!ChangeOfCut(before[d], after[d]).gained.empty()) local[d] = dims[d];
  }
  std::vector<int64_t> together = local;
  together.insert(together.begin() + exchanged, Size(moved));
  hlo_ = value_.state().collective_ops_creator.create_all_to_all(
      b_, {AddReshape(hlo_, together, b_)}, *plan_.Groups(moved), Channel(),
      exchanged);
  // The index of each part is in front of its dimension.
  std::vector<int64_t> apart = local;
  for (size_t i = 0; i < moved.size(); ++i) {
    apart.insert(apart.begin() + exchanged + i, plan_.axes[moved[i]].size);
  }
  std::vector<int64_t> perm, merged = local;
  for (int64_t d = 0; d < rank; ++d) {
    for (int i : ChangeOfCut(before[d], after[d]).lost) {
      perm.push_back(exchanged + (absl::c_find(moved, i) - moved.begin()));
      merged[d] *= plan_.axes[i].size;
    }
    perm.push_back(d < exchanged ? d : d + moved.size());
  }
  hlo_ = AddReshape(AddTranspose(AddReshape(hlo_, apart, b_), perm, b_), merged,
                    b_);
  for (int64_t d = 0; d < rank; ++d) Retile(after, d, dims[d]);
  hlo_ = SliceTo(hlo_, dims, b_);
}

void Mover::Permute(const CutAxes& before, const CutAxes& after) {
  // Tiles of both by number; a device of a manual region sends only inside.
  const auto tiles = [&](const CutAxes& cuts) {
    std::vector<int> order = plan_.manual_axes;
    for (const std::vector<int>& dim : cuts) {
      order.insert(order.end(), dim.begin(), dim.end());
    }
    return plan_.Coordinates(order);
  };
  const std::vector<int64_t> from = tiles(before), to = tiles(after);
  std::map<int64_t, std::vector<int64_t>> free_senders;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t id = 0; id < from.size(); ++id) {
    if (from[id] == to[id]) {
      pairs.push_back({id, id});
    } else {
      free_senders[from[id]].push_back(id);
    }
  }
  // As many devices need a tile as have one and do not keep it.
  for (size_t id = 0; id < to.size(); ++id) {
    if (from[id] == to[id]) continue;
    std::vector<int64_t>& senders = free_senders.at(to[id]);
    pairs.push_back({senders.back(), id});
    senders.pop_back();
  }
  absl::c_sort(pairs);
  hlo_ = value_.state().collective_ops_creator.create_collective_permute(
      b_, hlo_, pairs, Channel());
}

}  // namespace

PartitionedHlo PartitionedHlo::ReshardByPlan(const ReshardPlan& plan,
                                             const HloSharding& target) const {
  HloInstruction* moved = Mover(plan, *this).Run();
  if (moved == hlo_) {
    moved = state_.b->AddInstruction(
        HloInstruction::CreateUnary(hlo_->shape(), HloOpcode::kCopy, hlo_));
  }
  moved->set_sharding(target);
  return PartitionedHlo(moved, base_shape_, state_);
}

PartitionedHlo PartitionedHlo::ReshardWithCollectivePermute(
    const HloSharding& target) const {
  // Devices of a tile, for both; those that keep theirs send nothing.
  const auto tiles = [&](const HloSharding& sharding) {
    std::vector<int64_t> result(sharding.tile_assignment().num_elements());
    const int64_t copies = sharding.SubgroupReplicationDim();
    sharding.tile_assignment().Each(
        [&](absl::Span<const int64_t> index, int64_t device) {
          int64_t tile = 0;
          for (int64_t d = 0; d < index.size(); ++d) {
            if (d == copies) continue;
            tile = tile * sharding.tile_assignment().dim(d) + index[d];
          }
          result[device] = tile;
        });
    return result;
  };
  const std::vector<int64_t> from = tiles(sharding()), to = tiles(target);
  std::map<int64_t, std::vector<int64_t>> senders;
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t id = 0; id < from.size(); ++id) {
    if (from[id] == to[id]) {
      pairs.push_back({id, id});
    } else {
      senders[from[id]].push_back(id);
    }
  }
  for (size_t id = 0; id < to.size(); ++id) {
    if (from[id] == to[id]) continue;
    pairs.push_back({senders.at(to[id]).back(), id});
    senders.at(to[id]).pop_back();
  }
  absl::c_sort(pairs);
  HloInstruction* moved =
      state_.collective_ops_creator.create_collective_permute(
          state_.b, hlo_, pairs, NewChannel());
  if (moved == hlo_) {
    moved = state_.b->AddInstruction(
        HloInstruction::CreateUnary(hlo_->shape(), HloOpcode::kCopy, hlo_));
  }
  moved->set_sharding(target);
  return PartitionedHlo(moved, base_shape_, state_);
}

}  // namespace xla::spmd
