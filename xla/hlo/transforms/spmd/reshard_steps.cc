#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
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
          Gather(*before, plan_.steps[i]);
          break;
        case ReshardStep::Kind::kAllToAll:
          Exchange(*before, plan_.steps[i]);
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
  void Slice(const CutAxes& before, const CutAxes& after);
  void Gather(const CutAxes& before, const ReshardStep& step);
  void Exchange(const CutAxes& before, const ReshardStep& step);
  void Permute(const CutAxes& before, const CutAxes& after);

  const ReshardPlan& plan_;
  const PartitionedHlo& value_;
  SpmdBuilder* b_;
  HloInstruction* hlo_;
};

void Mover::Slice(const CutAxes& before, const CutAxes& after) {
  const std::vector<int64_t> dims =
      ShardDimensions(value_.base_shape(), plan_.axes, after);
  std::vector<int64_t> padded = dims;
  std::vector<HloInstruction*> starts;
  for (size_t d = 0; d < dims.size(); ++d) {
    const std::vector<int> added(after[d].begin() + before[d].size(),
                                 after[d].end());
    padded[d] *= Size(added);
    std::vector<int64_t> table = plan_.Coordinates(added);
    for (int64_t& entry : table) entry *= dims[d];
    starts.push_back(TableLookup(table, S32, value_.state().partition_id, b_));
  }
  hlo_ = PadToShape(hlo_, Resized(hlo_->shape(), padded), b_);
  hlo_ = b_->AddInstruction(HloInstruction::CreateDynamicSlice(
      Resized(hlo_->shape(), dims), hlo_, starts, dims));
}

void Mover::Gather(const CutAxes& before, const ReshardStep& step) {
  const std::vector<int> gathered(before[step.dim].end() - step.count,
                                  before[step.dim].end());
  std::vector<int64_t> dims(hlo_->shape().dimensions().begin(),
                            hlo_->shape().dimensions().end());
  dims[step.dim] *= Size(gathered);
  hlo_ = value_.state().collective_ops_creator.create_all_gather(
      b_, hlo_, Resized(hlo_->shape(), dims), *plan_.Groups(gathered),
      Channel(), step.dim);
  hlo_ = SliceTo(
      hlo_, ShardDimensions(value_.base_shape(), plan_.axes, step.after), b_);
}

//   [S_d, S_e] → [S_d, g, S_e / g] → exchange along g → [g, S_d, S_e / g]
void Mover::Exchange(const CutAxes& before, const ReshardStep& step) {
  const std::vector<int> moved(before[step.dim].end() - step.count,
                               before[step.dim].end());
  const int64_t group = Size(moved);
  const std::vector<int64_t> after =
      ShardDimensions(value_.base_shape(), plan_.axes, step.after);
  const int64_t rank = after.size();
  std::vector<int64_t> padded(hlo_->shape().dimensions().begin(),
                              hlo_->shape().dimensions().end());
  padded[step.target_dim] = after[step.target_dim] * group;
  hlo_ = PadToShape(hlo_, Resized(hlo_->shape(), padded), b_);
  std::vector<int64_t> split = padded;
  split[step.target_dim] = after[step.target_dim];
  split.insert(split.begin() + step.target_dim, group);
  hlo_ = AddReshape(hlo_, split, b_);
  hlo_ = value_.state().collective_ops_creator.create_all_to_all(
      b_, {hlo_}, *plan_.Groups(moved), Channel(), step.target_dim);
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == step.dim) perm.push_back(step.target_dim);
    perm.push_back(d < step.target_dim ? d : d + 1);
  }
  hlo_ = AddTranspose(hlo_, perm, b_);
  std::vector<int64_t> merged = padded;
  merged[step.target_dim] = after[step.target_dim];
  merged[step.dim] *= group;
  hlo_ = SliceTo(AddReshape(hlo_, merged, b_), after, b_);
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

std::optional<PartitionedHlo> PartitionedHlo::ReshardByPlan(
    const HloSharding& target) const {
  const std::optional<ReshardPlan> plan =
      PlanReshard(base_shape_, sharding(), target);
  if (!plan.has_value()) return std::nullopt;
  HloInstruction* moved = Mover(*plan, *this).Run();
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
