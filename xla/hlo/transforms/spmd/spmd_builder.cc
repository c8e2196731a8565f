#include "xla/hlo/transforms/spmd/spmd_builder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_sharding.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/util.h"

namespace xla::spmd {

namespace {

// A custom call on shards prescribes the layouts of shards.
void FitLayoutConstraints(HloInstruction* hlo) {
  auto* call = DynCast<HloCustomCallInstruction>(hlo);
  if (call == nullptr || !call->layout_constrained()) return;
  std::vector<Shape> shapes = call->operand_shapes_with_layout();
  for (int64_t i = 0; i < shapes.size() && i < hlo->operand_count(); ++i) {
    const Shape& operand = hlo->operand(i)->shape();
    if (!operand.IsArray() || !shapes[i].IsArray() ||
        operand.dimensions().size() != shapes[i].dimensions().size()) {
      continue;
    }
    for (int64_t d = 0; d < operand.dimensions().size(); ++d) {
      shapes[i].set_dimensions(d, operand.dimensions(d));
    }
  }
  call->set_operand_shapes_with_layout(std::move(shapes));
}

}  // namespace

HloInstruction* SpmdBuilder::AddInstruction(
    std::unique_ptr<HloInstruction> instruction) {
  HloInstruction* hlo =
      HloComputation::Builder::AddInstruction(std::move(instruction));
  FitLayoutConstraints(hlo);
  if (visiting_hlo_ != nullptr) {
    std::shared_ptr<const HloSharding> sharding;
    if (hlo->has_sharding()) {
      sharding = std::make_shared<const HloSharding>(hlo->sharding());
    }
    visiting_hlo_->SetupDerivedInstruction(hlo);
    hlo->set_sharding(std::move(sharding));
    instructions_[visiting_hlo_].push_back(hlo);
  }
  SetBroadcastDims(hlo);
  return hlo;
}

namespace {

// What repeated dimensions become by a reshape: from the major end of what is
// split or merged together, as far as sizes divide.
//
//   [6 repeated, 5] → [2, 15]: dimension 0
std::vector<int64_t> RepeatedEnd(absl::Span<const int64_t> from,
                                 absl::Span<const int64_t> to,
                                 const absl::flat_hash_set<int64_t>& repeated,
                                 int64_t first_from, int64_t first_to) {
  int64_t copies = 1;
  for (int64_t d = 0; d < from.size(); ++d) {
    if (!repeated.contains(first_from + d)) break;
    copies *= from[d];
  }
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < to.size() && copies % to[d] == 0; ++d) {
    if (to[d] > 1) dims.push_back(first_to + d);
    copies /= to[d];
  }
  return dims;
}

absl::flat_hash_set<int64_t> ReshapedDims(
    absl::Span<const int64_t> from, absl::Span<const int64_t> to,
    const absl::flat_hash_set<int64_t>& repeated) {
  absl::flat_hash_set<int64_t> dims;
  for (int64_t d = 0; d < from.size(); ++d) {
    // One element of a shard says nothing about those of other shards, which
    // what it is merged with would be taken for.
    if (from[d] == 0 || (from[d] == 1 && !repeated.contains(d))) return dims;
  }
  const auto factors = CommonFactors(from, to);
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const auto [a, b] = factors[i];
    const auto [a_end, b_end] = factors[i + 1];
    for (int64_t d : RepeatedEnd(from.subspan(a, a_end - a),
                                 to.subspan(b, b_end - b), repeated, a, b)) {
      dims.insert(d);
    }
  }
  return dims;
}

}  // namespace

// Tracks the dimensions along which all elements of an instruction are equal,
// as they follow from broadcasts. Resharding along such dimensions needs no
// communication, since any slice of the right size will do.
void SpmdBuilder::SetBroadcastDims(const HloInstruction* hlo) {
  absl::flat_hash_set<int64_t> dims;
  const auto known = [&](const HloInstruction* operand) {
    return broadcast_dims_.find(operand);
  };
  switch (hlo->opcode()) {
    case HloOpcode::kBroadcast:
      for (int64_t d = 0; d < hlo->shape().dimensions().size(); ++d) {
        if (!absl::c_linear_search(hlo->dimensions(), d)) dims.insert(d);
      }
      break;
    case HloOpcode::kTranspose: {
      auto it = known(hlo->operand(0));
      if (it == broadcast_dims_.end()) return;
      for (int64_t d = 0; d < hlo->dimensions().size(); ++d) {
        if (it->second.contains(hlo->dimensions(d))) dims.insert(d);
      }
      break;
    }
    case HloOpcode::kPad: {
      auto it = known(hlo->operand(0));
      if (it == broadcast_dims_.end()) return;
      for (int64_t d : it->second) {
        const auto& padding = hlo->padding_config().dimensions(d);
        if (padding.edge_padding_low() == 0 &&
            padding.edge_padding_high() == 0 &&
            padding.interior_padding() == 0) {
          dims.insert(d);
        }
      }
      break;
    }
    case HloOpcode::kReshape: {
      auto it = known(hlo->operand(0));
      if (it == broadcast_dims_.end()) return;
      dims = ReshapedDims(hlo->operand(0)->shape().dimensions(),
                          hlo->shape().dimensions(), it->second);
      break;
    }
    case HloOpcode::kSlice:
    case HloOpcode::kDynamicSlice: {
      auto it = known(hlo->operand(0));
      if (it == broadcast_dims_.end()) return;
      dims = it->second;
      break;
    }
    default: {  // What all operands repeat, where it is elementwise.
      if (!hlo->IsElementwise() || hlo->operand_count() == 0) return;
      bool first = true;
      for (const HloInstruction* operand : hlo->operands()) {
        auto it = known(operand);
        if (it == broadcast_dims_.end()) return;
        if (first) {
          dims = it->second;
        } else {
          absl::erase_if(dims,
                         [&](int64_t d) { return !it->second.contains(d); });
        }
        first = false;
      }
    }
  }
  if (!dims.empty()) broadcast_dims_[hlo] = std::move(dims);
}

namespace {

// Groups of flattened ids, one copy of each per replica.
std::shared_ptr<CollectiveDeviceListBase> AcrossReplicas(
    const CollectiveDeviceListBase& groups, int64_t num_partitions,
    int64_t num_replicas) {
  if (groups.num_replica_groups() == 0) {
    return std::make_shared<IotaReplicaGroupList>(num_replicas, num_partitions);
  }
  if (num_replicas == 1) {
    return std::shared_ptr<CollectiveDeviceListBase>(groups.Clone());
  }
  std::vector<std::vector<int64_t>> all;
  for (int64_t r = 0; r < num_replicas; ++r) {
    for (std::vector<int64_t> group : groups.flattened_replica_groups()) {
      for (int64_t& id : group) id += r * num_partitions;
      all.push_back(std::move(group));
    }
  }
  return std::make_shared<CollectiveDeviceList>(
      absl::Span<const std::vector<int64_t>>(all));
}

HloInstruction* Permute(SpmdBuilder* b, HloInstruction* operand,
                        const std::vector<std::pair<int64_t, int64_t>>& pairs,
                        int64_t channel_id, int64_t num_partitions) {
  if (pairs.empty()) {
    return b->AddInstruction(HloInstruction::CreateBroadcast(
        operand->shape(),
        b->AddInstruction(HloInstruction::CreateConstant(
            LiteralUtil::Zero(operand->shape().element_type()))),
        {}));
  }
  const bool identity = absl::c_all_of(
      pairs, [](const auto& pair) { return pair.first == pair.second; });
  if (identity && static_cast<int64_t>(pairs.size()) == num_partitions) {
    return operand;
  }
  return b->AddInstruction(HloInstruction::CreateCollectivePermute(
      operand->shape(), operand, pairs, channel_id));
}

}  // namespace

SPMDCollectiveOpsCreator GetDefaultCollectiveOpsCreator(int64_t num_partitions,
                                                        int64_t num_replicas) {
  SPMDCollectiveOpsCreator creator;
  creator.create_partition_id = [](SpmdBuilder* b) {
    return b->AddInstruction(HloInstruction::CreatePartitionId());
  };
  creator.create_all_reduce =
      [=](SpmdBuilder* b, HloInstruction* operand, HloComputation* reduction,
          const CollectiveDeviceListBase& groups, int64_t channel_id) {
        return b->AddInstruction(HloInstruction::CreateAllReduce(
            operand->shape(), {operand}, reduction,
            AcrossReplicas(groups, num_partitions, num_replicas),
            /*constrain_layout=*/false, channel_id,
            /*use_global_device_ids=*/true));
      };
  creator.create_collective_permute =
      [=](SpmdBuilder* b, HloInstruction* operand,
          std::vector<std::pair<int64_t, int64_t>>& pairs, int64_t channel_id) {
        return Permute(b, operand, pairs, channel_id, num_partitions);
      };
  creator.create_all_to_all =
      [](SpmdBuilder* b, absl::Span<HloInstruction* const> operands,
         const CollectiveDeviceListBase& groups, int64_t channel_id,
         std::optional<int64_t> split_dimension) {
        std::vector<Shape> shapes;
        for (HloInstruction* operand : operands) {
          shapes.push_back(operand->shape());
        }
        return b->AddInstruction(HloInstruction::CreateAllToAll(
            split_dimension.has_value() ? shapes[0]
                                        : ShapeUtil::MakeTupleShape(shapes),
            operands, std::shared_ptr<CollectiveDeviceListBase>(groups.Clone()),
            /*constrain_layout=*/false, channel_id, split_dimension));
      };
  creator.create_all_gather = [=](SpmdBuilder* b, HloInstruction* operand,
                                  const Shape& shape,
                                  const CollectiveDeviceListBase& groups,
                                  int64_t channel_id, int64_t dimension) {
    return b->AddInstruction(HloInstruction::CreateAllGather(
        shape, {operand}, dimension,
        AcrossReplicas(groups, num_partitions, num_replicas),
        /*constrain_layout=*/false, channel_id,
        /*use_global_device_ids=*/true));
  };
  creator.create_reduce_scatter =
      [=](SpmdBuilder* b, HloInstruction* operand, HloComputation* reduction,
          const Shape& shape, const CollectiveDeviceListBase& groups,
          int64_t channel_id, int64_t dimension) {
        return b->AddInstruction(HloInstruction::CreateReduceScatter(
            shape, {operand}, reduction,
            AcrossReplicas(groups, num_partitions, num_replicas),
            /*constrain_layout=*/false, channel_id,
            /*use_global_device_ids=*/true, dimension));
      };
  return creator;
}

}  // namespace xla::spmd
