#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/collective_op_group_mode.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_module_config.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/rules.h"
#include "xla/xla_data.pb.h"

namespace xla::verifier {
namespace {

absl::StatusOr<CollectiveOpGroupMode> GroupMode(const HloInstruction& inst) {
  std::optional<bool> global;
  if (const auto* gather = DynCast<HloAllGatherInstruction>(&inst)) {
    global = gather->use_global_device_ids();
  } else if (const auto* reduce = DynCast<HloAllReduceInstructionBase>(&inst)) {
    global = reduce->use_global_device_ids();
  }
  return GetCollectiveOpGroupMode(inst.channel_id().has_value(), global);
}

// The device counts of the module; one replica and one partition is also what
// it counts when it says nothing.
struct Devices {
  int64_t replicas = 1;
  int64_t partitions = 1;
  bool AreKnown() const { return replicas > 1 || partitions > 1; }
};

Devices DevicesOf(const HloInstruction& inst) {
  const HloModule* module = inst.GetModule();
  if (module == nullptr) return {};
  return {module->config().replica_count(), module->config().num_partitions()};
}

int64_t MultiplySaturated(int64_t a, int64_t b) {
  int64_t product;
  return __builtin_mul_overflow(a, b, &product)
             ? std::numeric_limits<int64_t>::max()
             : product;
}

// Numbers that ids in groups of this mode can have.
int64_t IdCount(CollectiveOpGroupMode mode, const Devices& devices) {
  switch (mode) {
    case COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION:
      return devices.partitions;
    case COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID:
      return MultiplySaturated(devices.replicas, devices.partitions);
    default:
      return devices.replicas;
  }
}

bool NeedsEqualGroups(HloOpcode opcode) {
  return HloOpcodeIsOneOf<HloOpcode::kAllGather, HloOpcode::kAllGatherStart,
                          HloOpcode::kAllToAll, HloOpcode::kRaggedAllToAll,
                          HloOpcode::kReduceScatter>(opcode);
}

// Devices outside of all groups get zeros from a broadcast; all others have
// nothing to result in.
bool NeedsAllDevices(HloOpcode opcode) {
  return opcode != HloOpcode::kCollectiveBroadcast;
}

absl::Status CheckListedGroups(const HloInstruction& inst,
                               const std::vector<ReplicaGroup>& groups,
                               std::optional<int64_t> id_count) {
  absl::flat_hash_set<int64_t> seen;
  for (const ReplicaGroup& group : groups) {
    if (group.replica_ids().empty()) {
      return Broken(Invariant::V157, inst, "a group is empty");
    }
    for (int64_t id : group.replica_ids()) {
      if (id < 0 || (id_count.has_value() && id >= *id_count)) {
        return WithCode(
            absl::StatusCode::kInternal,
            Broken(Invariant::V158, inst,
                   id < 0 ? absl::StrCat("found ", id)
                          : absl::StrCat("expected ids below ", *id_count,
                                         ", found ", id)));
      }
      if (!seen.insert(id).second) {
        return Broken(Invariant::V157, inst,
                      absl::StrCat("found ", id, " twice"));
      }
    }
  }
  return absl::OkStatus();
}

// The ids are distinct and in range, so that their number tells.
absl::Status CheckAllNamed(const HloInstruction& inst, int64_t named,
                           std::optional<int64_t> id_count) {
  if (!id_count.has_value() || named == *id_count ||
      !NeedsAllDevices(inst.opcode())) {
    return absl::OkStatus();
  }
  return WithCode(
      absl::StatusCode::kInternal,
      Broken(Invariant::V166, inst,
             absl::StrCat("expected ", *id_count, ", found ", named)));
}

}  // namespace

absl::Status CheckReplicaGroups(const Context& context,
                                const HloInstruction& inst) {
  const absl::StatusOr<CollectiveOpGroupMode> mode = GroupMode(inst);
  if (!mode.ok()) return Broken(Invariant::V156, inst, mode.status().message());
  if (!context.opts().check_replica_groups) return absl::OkStatus();
  const CollectiveDeviceListBase& list =
      *Cast<HloCollectiveInstruction>(&inst)->device_list();
  if (list.num_replica_groups() == 0) {
    if (*mode != COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID) return absl::OkStatus();
    return Broken(Invariant::V156, inst,
                  "expected groups of global device ids, found none");
  }
  const Devices devices = DevicesOf(inst);
  std::optional<int64_t> id_count;
  if (devices.AreKnown()) id_count = IdCount(*mode, devices);
  if (list.version() == CollectiveDeviceListVersion::kIota) {
    // The ids of a rule are distinct and begin with 0.
    if (id_count.has_value() && list.num_total_devices() > *id_count) {
      return WithCode(
          absl::StatusCode::kInternal,
          Broken(Invariant::V158, inst,
                 absl::StrCat("expected ids below ", *id_count, ", found ",
                              list.num_total_devices() - 1)));
    }
    return CheckAllNamed(inst, list.num_total_devices(), id_count);
  }
  absl::Status status =
      CheckListedGroups(inst, list.replica_groups(), id_count);
  if (!status.ok()) return status;
  int64_t named = 0;
  for (const ReplicaGroup& group : list.replica_groups()) {
    named += group.replica_ids_size();
  }
  status = CheckAllNamed(inst, named, id_count);
  if (!status.ok()) return status;
  if (list.num_devices_per_group() < 0 && NeedsEqualGroups(inst.opcode())) {
    return Broken(Invariant::V159, inst,
                  absl::StrCat("found ", list.ToString()));
  }
  return absl::OkStatus();
}

int64_t GroupSize(const HloInstruction& inst) {
  const absl::StatusOr<CollectiveOpGroupMode> mode = GroupMode(inst);
  if (!mode.ok()) return 0;
  const Devices devices = DevicesOf(inst);
  const CollectiveDeviceListBase& list =
      *Cast<HloCollectiveInstruction>(&inst)->device_list();
  const bool all_partitions =
      *mode == COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION;
  int64_t size = list.num_devices_per_group();
  if (list.num_replica_groups() == 0) {
    if (!devices.AreKnown()) return 0;
    size = IdCount(*mode, devices);
  }
  if (size <= 0) return 0;
  return all_partitions ? MultiplySaturated(size, devices.partitions) : size;
}

absl::Status CheckSourceTargetPairs(const Context& context,
                                    const HloInstruction& inst) {
  const auto& pairs = inst.source_target_pairs();
  const Devices devices = DevicesOf(inst);
  const int64_t id_count =
      inst.channel_id().has_value() ? devices.partitions : devices.replicas;
  // Each slice of what is exchanged has its pairs.
  const size_t slices =
      std::max<size_t>(1, Cast<HloCollectivePermuteInstruction>(&inst)
                              ->dynamic_slice_sizes_list()
                              .size());
  std::vector<int64_t> ids;
  ids.reserve(pairs.size());
  for (const bool is_source : {true, false}) {
    ids.clear();
    for (const auto& [source, target] : pairs) {
      ids.push_back(is_source ? source : target);
      const int64_t id = ids.back();
      if (id < 0 || (devices.AreKnown() && id >= id_count)) {
        return Broken(Invariant::V161, inst,
                      id < 0 ? absl::StrCat("found ", id)
                             : absl::StrCat("expected ids below ", id_count,
                                            ", found ", id));
      }
    }
    std::sort(ids.begin(), ids.end());
    for (size_t i = slices; i < ids.size(); ++i) {
      if (ids[i - slices] != ids[i]) continue;
      return Broken(
          Invariant::V160, inst,
          absl::StrCat(
              "found ", ids[i], " ",
              slices == 1 ? "twice" : absl::StrCat(slices + 1, " times"),
              " as ", is_source ? "source" : "target"));
    }
  }
  return absl::OkStatus();
}

}  // namespace xla::verifier
