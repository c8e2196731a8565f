#include "xla/hlo/evaluator/devices/collective_groups.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/collective_op_group_mode.h"
#include "xla/hlo/ir/hlo_casting_utils.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace evaluator {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

absl::Status Bad(const HloInstruction* instruction, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("%", instruction->name(), ": ", what));
}

// Absent for opcodes without the attribute.
std::optional<bool> UseGlobalDeviceIds(const HloInstruction* instruction) {
  if (const auto* gather = DynCast<HloAllGatherInstruction>(instruction)) {
    return gather->use_global_device_ids();
  }
  if (const auto* reduce = DynCast<HloAllReduceInstructionBase>(instruction)) {
    return reduce->use_global_device_ids();
  }
  return std::nullopt;
}

// The listed groups, complete and checked, as ids of the mode.
absl::StatusOr<Groups> ListedGroups(const HloCollectiveInstruction* collective,
                                    int64_t ids) {
  Groups groups = collective->device_list()->flattened_replica_groups();
  if (groups.empty()) {
    groups.emplace_back();
    for (int64_t i = 0; i < ids; ++i) groups[0].push_back(i);
    return groups;
  }
  std::vector<bool> seen(ids, false);
  int64_t count = 0;
  for (const std::vector<int64_t>& group : groups) {
    if (group.empty()) return Bad(collective, "an empty group");
    for (int64_t id : group) {
      if (id < 0 || id >= ids) {
        return Bad(collective,
                   absl::StrCat("id ", id, " in a group; there are ", ids));
      }
      if (seen[id]) {
        return Bad(collective, absl::StrCat("id ", id, " is in two groups"));
      }
      seen[id] = true;
      ++count;
    }
  }
  const bool needs_all = UseGlobalDeviceIds(collective).has_value();
  if (needs_all && count != ids) {
    return Bad(collective,
               absl::StrCat("the groups hold ", count, " of ", ids, " ids"));
  }
  return groups;
}

// The values of a permute are exchanged in one step, once all of these devices
// have come to it. A device without a pair is a group by itself.
Groups PermuteGroups(const std::vector<int64_t>& sources) {
  const int64_t n = static_cast<int64_t>(sources.size());
  // Devices connected by pairs: a source and a target at most each, so chains
  // and rings.
  std::vector<int64_t> group_of(n, -1);
  std::vector<int64_t> targets(n, -1);
  for (int64_t d = 0; d < n; ++d) {
    if (sources[d] >= 0) targets[sources[d]] = d;
  }
  Groups groups;
  for (int64_t d = 0; d < n; ++d) {
    if (group_of[d] >= 0) continue;
    // To the start of the chain, or once around the ring.
    int64_t first = d;
    while (sources[first] >= 0 && sources[first] != d) first = sources[first];
    groups.emplace_back();
    for (int64_t at = first; at >= 0 && group_of[at] < 0; at = targets[at]) {
      group_of[at] = static_cast<int64_t>(groups.size()) - 1;
      groups.back().push_back(at);
    }
  }
  return groups;
}

}  // namespace

absl::StatusOr<CollectiveOpGroupMode> GroupModeOf(
    const HloInstruction* instruction) {
  return GetCollectiveOpGroupMode(instruction->channel_id().has_value(),
                                  UseGlobalDeviceIds(instruction));
}

int64_t IdCount(CollectiveOpGroupMode mode, const DeviceGrid& grid) {
  switch (mode) {
    case COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION:
      return grid.partitions;
    case COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID:
      return grid.size();
    default:
      return grid.replicas;
  }
}

std::vector<std::vector<int64_t>> FlattenGroups(
    absl::Span<const std::vector<int64_t>> listed, CollectiveOpGroupMode mode,
    const DeviceGrid& grid) {
  Groups groups;
  for (const std::vector<int64_t>& ids : listed) {
    switch (mode) {
      case COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA:
        for (int64_t p = 0; p < grid.partitions; ++p) {
          groups.emplace_back();
          for (int64_t r : ids) groups.back().push_back(grid.device(r, p));
        }
        break;
      case COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION:
        for (int64_t r = 0; r < grid.replicas; ++r) {
          groups.emplace_back();
          for (int64_t p : ids) groups.back().push_back(grid.device(r, p));
        }
        break;
      case COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION:
        groups.emplace_back();
        for (int64_t r : ids) {
          for (int64_t p = 0; p < grid.partitions; ++p) {
            groups.back().push_back(grid.device(r, p));
          }
        }
        break;
      default:
        groups.push_back(ids);
    }
  }
  return groups;
}

absl::StatusOr<std::vector<int64_t>> PermuteSources(
    const HloInstruction* instruction, const DeviceGrid& grid) {
  const bool partitions = instruction->channel_id().has_value();
  const int64_t ids = partitions ? grid.partitions : grid.replicas;
  std::vector<int64_t> sources(grid.size(), -1);
  std::vector<bool> is_source(ids, false);
  for (const auto& [source, target] : instruction->source_target_pairs()) {
    if (source < 0 || source >= ids || target < 0 || target >= ids) {
      return Bad(instruction, absl::StrCat("pair {", source, ",", target,
                                           "}; there are ", ids, " ids"));
    }
    if (is_source[source]) {
      return Bad(instruction,
                 absl::StrCat("source ", source, " is in two pairs"));
    }
    is_source[source] = true;
    for (int64_t other = 0; other < grid.size() / ids; ++other) {
      const int64_t from =
          partitions ? grid.device(other, source) : grid.device(source, other);
      const int64_t to =
          partitions ? grid.device(other, target) : grid.device(target, other);
      if (sources[to] >= 0) {
        return Bad(instruction,
                   absl::StrCat("target ", target, " is in two pairs"));
      }
      sources[to] = from;
    }
  }
  return sources;
}

absl::StatusOr<std::vector<std::vector<int64_t>>> CollectiveGroups(
    const HloInstruction* instruction, const DeviceGrid& grid) {
  if (instruction->opcode() == HloOpcode::kCollectivePermute ||
      instruction->opcode() == HloOpcode::kCollectivePermuteStart) {
    TF_ASSIGN_OR_RETURN(const std::vector<int64_t> sources,
                        PermuteSources(instruction, grid));
    return PermuteGroups(sources);
  }
  const auto* collective = DynCast<HloCollectiveInstruction>(instruction);
  if (collective == nullptr) return Bad(instruction, "no collective");
  absl::StatusOr<CollectiveOpGroupMode> mode = GroupModeOf(instruction);
  if (!mode.ok()) return Bad(instruction, mode.status().message());
  TF_ASSIGN_OR_RETURN(const Groups listed,
                      ListedGroups(collective, IdCount(*mode, grid)));
  return FlattenGroups(listed, *mode, grid);
}

}  // namespace evaluator
}  // namespace xla
