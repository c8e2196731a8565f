#include "xla/hlo/utils/collectives/collective_ops_utils.h"

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/evaluator/devices/collective_groups.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

using evaluator::DeviceGrid;
using Groups = std::vector<std::vector<int64_t>>;

Groups ToGroups(absl::Span<const ReplicaGroup> replica_groups) {
  return CollectiveDeviceList(replica_groups).flattened_replica_groups();
}

DeviceGrid GridOf(const DeviceAssignment& assignment) {
  return {assignment.replica_count(), assignment.computation_count()};
}

DeviceGrid GridOf(const HloInstruction* hlo) {
  const HloModuleConfig& config = hlo->GetModule()->config();
  return {config.replica_count(), config.num_partitions()};
}

// Groups of flattened ids. Listed ids must be among those of the mode.
absl::StatusOr<Groups> FlatGroups(Groups listed, CollectiveOpGroupMode mode,
                                  const DeviceGrid& grid) {
  const int64_t ids = evaluator::IdCount(mode, grid);
  if (listed.empty()) {
    if (mode == COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID) {
      return absl::InvalidArgumentError(
          "groups of flattened ids must be listed");
    }
    listed.emplace_back();
    for (int64_t i = 0; i < ids; ++i) listed[0].push_back(i);
  }
  for (const std::vector<int64_t>& group : listed) {
    for (int64_t id : group) {
      if (id >= 0 && id < ids) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("id ", id, " in a group; there are ", ids, " of ",
                       CollectiveOpGroupModeToString(mode)));
    }
  }
  return evaluator::FlattenGroups(listed, mode, grid);
}

const HloInstruction* Unwrapped(const HloInstruction* instruction) {
  return instruction->IsAsynchronous()
             ? instruction->async_wrapped_instruction()
             : instruction;
}

absl::Status NoCollective(const HloInstruction* instruction) {
  return absl::InvalidArgumentError(absl::StrCat(
      "%", instruction->name(), " (", HloOpcodeString(instruction->opcode()),
      ") is not a collective with groups"));
}

absl::StatusOr<const HloCollectiveInstruction*> GroupedCollective(
    const HloInstruction* instruction) {
  const auto* collective =
      DynCast<HloCollectiveInstruction>(Unwrapped(instruction));
  if (collective == nullptr) return NoCollective(instruction);
  return collective;
}

// Whether any group holds two devices that differ in their `row`: replica or
// partition.
bool GroupsCross(absl::Span<const ReplicaGroup> replica_groups,
                 const DeviceGrid& grid,
                 int64_t (DeviceGrid::*row)(int64_t) const) {
  return absl::c_any_of(replica_groups, [&](const ReplicaGroup& group) {
    return absl::c_any_of(group.replica_ids(), [&](int64_t id) {
      return (grid.*row)(id) != (grid.*row)(group.replica_ids(0));
    });
  });
}

}  // namespace

bool IsNonFusionCollective(const HloInstruction* instruction) {
  const HloInstruction* hlo = Unwrapped(instruction);
  if (HloPredicateIsOp<HloOpcode::kAllGatherDone, HloOpcode::kAllReduceDone,
                       HloOpcode::kCollectivePermuteDone>(hlo)) {
    return true;
  }
  if (const auto* send_recv = DynCast<HloSendRecvInstruction>(hlo)) {
    return !send_recv->is_host_transfer();
  }
  return DynCast<HloCollectiveInstruction>(hlo) != nullptr ||
         DynCast<HloCollectivePermuteInstruction>(hlo) != nullptr;
}

bool IsCollective(const HloInstruction* instruction) {
  if (instruction->opcode() != HloOpcode::kFusion) {
    return IsNonFusionCollective(instruction);
  }
  return absl::c_any_of(instruction->fused_instructions(), IsCollective);
}

absl::StatusOr<bool> IsAsyncCollective(const HloInstruction* instruction) {
  if (!IsNonFusionCollective(instruction)) return NoCollective(instruction);
  return HloPredicateIsOp<HloOpcode::kAllGatherStart, HloOpcode::kAllGatherDone,
                          HloOpcode::kAllReduceStart, HloOpcode::kAllReduceDone,
                          HloOpcode::kCollectivePermuteStart,
                          HloOpcode::kCollectivePermuteDone>(instruction) ||
         instruction->IsAsynchronous() ||
         DynCast<HloSendRecvInstruction>(instruction) != nullptr;
}

bool IsRaggedAllToAllOrAsyncStartRaggedAllToAll(
    const HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kRaggedAllToAll ||
         (instruction->opcode() == HloOpcode::kAsyncStart &&
          Unwrapped(instruction)->opcode() == HloOpcode::kRaggedAllToAll);
}

bool IsRaggedAllToAllOrAsyncDoneRaggedAllToAll(
    const HloInstruction* instruction) {
  return instruction->opcode() == HloOpcode::kRaggedAllToAll ||
         (instruction->opcode() == HloOpcode::kAsyncDone &&
          Unwrapped(instruction)->opcode() == HloOpcode::kRaggedAllToAll);
}

HloInstruction* IsOrHasCollectiveWithChannelId(HloInstruction* instruction) {
  if (instruction->opcode() == HloOpcode::kFusion) {
    for (HloInstruction* fused : instruction->fused_instructions()) {
      if (HloInstruction* found = IsOrHasCollectiveWithChannelId(fused)) {
        return found;
      }
    }
    return nullptr;
  }
  const auto* channel = DynCast<HloChannelInstruction>(instruction);
  return channel != nullptr && channel->channel_id().has_value() ? instruction
                                                                 : nullptr;
}

absl::StatusOr<CollectiveOpGroupMode> GetCollectiveOpGroupMode(
    const HloInstruction* instr) {
  const HloInstruction* hlo = Unwrapped(instr);
  if (DynCast<HloCollectiveInstruction>(hlo) == nullptr &&
      DynCast<HloCollectivePermuteInstruction>(hlo) == nullptr) {
    return NoCollective(instr);
  }
  return evaluator::GroupModeOf(hlo);
}

absl::StatusOr<std::vector<int>> GetParticipatingIDs(
    CollectiveOpGroupMode group_mode, int current_id,
    std::optional<int> total_participant_count,
    absl::Span<const ReplicaGroup> replica_groups) {
  std::vector<int> ids;
  if (replica_groups.empty()) {
    if (!total_participant_count.has_value() ||
        group_mode == COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID) {
      return absl::InvalidArgumentError(
          "no groups, and no count of ids that would be in one");
    }
    for (int i = 0; i < *total_participant_count; ++i) ids.push_back(i);
    return ids;
  }
  bool found = false;
  for (const ReplicaGroup& group : replica_groups) {
    if (!absl::c_linear_search(group.replica_ids(), current_id)) continue;
    if (found) {
      return absl::InvalidArgumentError(
          absl::StrCat("id ", current_id, " is in two groups"));
    }
    found = true;
    ids.assign(group.replica_ids().begin(), group.replica_ids().end());
  }
  if (!found) {
    return absl::InvalidArgumentError(
        absl::StrCat("id ", current_id, " is in no group"));
  }
  return ids;
}

absl::StatusOr<std::vector<int>> GetParticipatingIDs(
    CollectiveOpGroupMode group_mode, int current_id,
    std::optional<int> total_participant_count,
    const CollectiveDeviceListBase& groups) {
  return GetParticipatingIDs(group_mode, current_id, total_participant_count,
                             groups.replica_groups());
}

absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>> GetAsyncReplicaGroups(
    const HloInstruction* instruction) {
  TF_ASSIGN_OR_RETURN(const HloCollectiveInstruction* collective,
                      GroupedCollective(instruction));
  return collective->device_list()->Clone();
}

absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
GetParticipatingFlattenedIdGroups(
    const CollectiveDeviceListBase& collective_device_list,
    CollectiveOpGroupMode group_mode, int replica_count, int partition_count) {
  TF_ASSIGN_OR_RETURN(
      const Groups groups,
      FlatGroups(collective_device_list.flattened_replica_groups(), group_mode,
                 {replica_count, partition_count}));
  // What is listed stays as it was written.
  if (group_mode == COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID) {
    return collective_device_list.Clone();
  }
  return std::make_unique<CollectiveDeviceList>(groups);
}

absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
GetParticipatingFlattenedIdGroups(
    const DeviceAssignment& device_assignment,
    const CollectiveDeviceListBase& collective_device_list,
    CollectiveOpGroupMode group_mode) {
  return GetParticipatingFlattenedIdGroups(
      collective_device_list, group_mode, device_assignment.replica_count(),
      device_assignment.computation_count());
}

absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
GetParticipatingFlattenedIdGroups(const HloInstruction* hlo,
                                  const DeviceAssignment& device_assignment) {
  const HloInstruction* collective = Unwrapped(hlo);
  TF_ASSIGN_OR_RETURN(const CollectiveOpGroupMode mode,
                      GetCollectiveOpGroupMode(collective));
  if (collective->opcode() == HloOpcode::kCollectivePermute ||
      collective->opcode() == HloOpcode::kCollectivePermuteStart) {
    TF_ASSIGN_OR_RETURN(
        const Groups groups,
        evaluator::CollectiveGroups(collective, GridOf(device_assignment)));
    return std::make_unique<CollectiveDeviceList>(groups);
  }
  TF_ASSIGN_OR_RETURN(const HloCollectiveInstruction* grouped,
                      GroupedCollective(collective));
  return GetParticipatingFlattenedIdGroups(device_assignment,
                                           *grouped->device_list(), mode);
}

absl::StatusOr<std::vector<int64_t>> GetParticipantCountsForReplicaGroups(
    int64_t num_replicas, int64_t num_partitions,
    absl::Span<const ReplicaGroup> replica_groups,
    CollectiveOpGroupMode group_mode) {
  TF_ASSIGN_OR_RETURN(const Groups groups,
                      FlatGroups(ToGroups(replica_groups), group_mode,
                                 {num_replicas, num_partitions}));
  std::vector<int64_t> counts;
  for (const std::vector<int64_t>& group : groups) {
    counts.push_back(group.size());
  }
  return counts;
}

absl::StatusOr<std::optional<std::pair<int64_t, int64_t>>>
GetReplicaGroupCountAndSize(const HloInstruction* hlo) {
  TF_ASSIGN_OR_RETURN(const HloCollectiveInstruction* collective,
                      GroupedCollective(hlo));
  TF_ASSIGN_OR_RETURN(const CollectiveOpGroupMode mode,
                      GetCollectiveOpGroupMode(collective));
  const DeviceGrid grid = GridOf(hlo);
  TF_ASSIGN_OR_RETURN(
      const std::vector<int64_t> counts,
      GetParticipantCountsForReplicaGroups(grid.replicas, grid.partitions,
                                           collective->replica_groups(), mode));
  const bool uniform =
      absl::c_all_of(counts, [&](int64_t count) { return count == counts[0]; });
  if (!uniform) return std::nullopt;
  return std::make_pair(static_cast<int64_t>(counts.size()), counts[0]);
}

// Written as matrices with a group in each row, one is the transpose of the
// other: {{0,1,2},{3,4,5}} and {{0,3},{1,4},{2,5}}.
bool ReplicaGroupsOrthogonal(absl::Span<const ReplicaGroup> first,
                             absl::Span<const ReplicaGroup> second) {
  for (const ReplicaGroup& group : first) {
    if (group.replica_ids_size() != second.size()) return false;
  }
  for (int64_t i = 0; i < second.size(); ++i) {
    if (second[i].replica_ids_size() != first.size()) return false;
    for (int64_t j = 0; j < first.size(); ++j) {
      if (second[i].replica_ids(j) != first[j].replica_ids(i)) return false;
    }
  }
  return true;
}

bool ReplicaGroupsEqual(absl::Span<const ReplicaGroup> first,
                        absl::Span<const ReplicaGroup> second) {
  return absl::c_equal(first, second,
                       [](const ReplicaGroup& a, const ReplicaGroup& b) {
                         return absl::c_equal(a.replica_ids(), b.replica_ids());
                       });
}

bool IsExclusivelyCrossModule(absl::Span<const ReplicaGroup> replica_groups,
                              bool use_global_ids, bool has_channel_id,
                              const DeviceAssignment& device_assignment) {
  if (!has_channel_id) return false;
  const DeviceGrid grid = GridOf(device_assignment);
  if (replica_groups.empty()) return grid.replicas == 1;
  if (!use_global_ids) {
    return absl::c_all_of(replica_groups, [](const ReplicaGroup& group) {
      return group.replica_ids_size() == 1;
    });
  }
  return !GroupsCross(replica_groups, grid, &DeviceGrid::replica);
}

bool IsExclusivelyCrossReplica(absl::Span<const ReplicaGroup> replica_groups,
                               bool use_global_ids, bool has_channel_id,
                               const DeviceAssignment& device_assignment) {
  if (!has_channel_id) return true;
  const DeviceGrid grid = GridOf(device_assignment);
  if (!use_global_ids || replica_groups.empty()) return grid.partitions == 1;
  return !GroupsCross(replica_groups, grid, &DeviceGrid::partition);
}

int64_t GetSubgroupSize(const HloCollectiveInstruction* hlo,
                        CollectiveOpGroupMode group_mode) {
  const DeviceGrid grid = GridOf(hlo);
  int64_t listed = hlo->replica_groups().empty()
                       ? evaluator::IdCount(group_mode, grid)
                       : hlo->replica_groups()[0].replica_ids_size();
  if (group_mode == COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION) {
    listed *= grid.partitions;
  }
  return listed;
}

absl::StatusOr<std::vector<std::vector<GlobalDeviceId>>>
GetParticipatingDevicesGroups(const DeviceAssignment& device_assignment,
                              absl::Span<const ReplicaGroup> replica_groups,
                              CollectiveOpGroupMode group_mode) {
  const DeviceGrid grid = GridOf(device_assignment);
  TF_ASSIGN_OR_RETURN(const Groups groups,
                      FlatGroups(ToGroups(replica_groups), group_mode, grid));
  std::vector<std::vector<GlobalDeviceId>> devices;
  for (const std::vector<int64_t>& group : groups) {
    devices.emplace_back();
    for (int64_t id : group) {
      devices.back().push_back(GlobalDeviceId(
          device_assignment(grid.replica(id), grid.partition(id))));
    }
  }
  return devices;
}

absl::StatusOr<std::vector<std::vector<GlobalDeviceId>>>
GetParticipatingDevicesGroups(const HloInstruction& collective,
                              const DeviceAssignment& device_assignment) {
  TF_ASSIGN_OR_RETURN(
      const std::unique_ptr<CollectiveDeviceListBase> flat,
      GetParticipatingFlattenedIdGroups(&collective, device_assignment));
  return GetParticipatingDevicesGroups(device_assignment,
                                       flat->replica_groups(),
                                       COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID);
}

absl::StatusOr<std::vector<std::vector<GlobalDeviceId>>>
GetParticipatingDevicesGroups(const HloInstruction* collective) {
  const HloModuleConfig& config = collective->GetModule()->config();
  if (!config.has_static_device_assignment()) {
    return absl::InvalidArgumentError(
        absl::StrCat("%", collective->name(),
                     ": its module has no static device assignment"));
  }
  return GetParticipatingDevicesGroups(*collective,
                                       config.static_device_assignment());
}

absl::StatusOr<std::vector<GlobalDeviceId>> GetParticipatingDevices(
    GlobalDeviceId device_id, const DeviceAssignment& device_assignment,
    absl::Span<const ReplicaGroup> replica_groups,
    CollectiveOpGroupMode group_mode) {
  TF_ASSIGN_OR_RETURN(std::vector<std::vector<GlobalDeviceId>> groups,
                      GetParticipatingDevicesGroups(
                          device_assignment, replica_groups, group_mode));
  for (std::vector<GlobalDeviceId>& group : groups) {
    if (absl::c_linear_search(group, device_id)) return std::move(group);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("device ", device_id.value(), " is in no group"));
}

bool HasDuplicateSourcesOrTargets(const SourceTargetPairs& pairs) {
  absl::flat_hash_set<int64_t> sources, targets;
  return absl::c_any_of(pairs, [&](const auto& pair) {
    return !sources.insert(pair.first).second ||
           !targets.insert(pair.second).second;
  });
}

}  // namespace xla
