#ifndef XLA_HLO_UTILS_COLLECTIVES_COLLECTIVE_OPS_UTILS_H_
#define XLA_HLO_UTILS_COLLECTIVES_COLLECTIVE_OPS_UTILS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/collective_op_group_mode.h"  // IWYU pragma: export
#include "xla/hlo/ir/computation_placer.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/utils/collectives/device_id.h"
#include "xla/hlo/utils/collectives/reduction_kind.h"  // IWYU pragma: export
#include "xla/hlo/utils/collectives/run_id.h"
#include "xla/xla_data.pb.h"

// Who takes part in a collective. Ids mean replicas, partitions or flattened
// ids (replica * partitions + partition) by the group mode, see
// collective_op_group_mode.h; a DeviceAssignment turns them into devices. No
// listed groups stand for one group of all ids, which flattened ids do not
// allow. Errors are InvalidArgument.

namespace xla {

using SourceTargetPairs = std::vector<std::pair<int64_t, int64_t>>;

// --- What is a collective.

// all-gather, all-reduce, all-to-all, collective-broadcast,
// collective-permute, ragged-all-to-all, reduce-scatter with their starts and
// dones, send and recv between devices, and asynchronous wrappers of these.
bool IsNonFusionCollective(const HloInstruction* instruction);
// Also a fusion with one of these in it.
bool IsCollective(const HloInstruction* instruction);
// Whether a collective ends in another instruction, its done. Starts and
// wrappers do; InvalidArgument for what is not a collective.
absl::StatusOr<bool> IsAsyncCollective(const HloInstruction* instruction);
bool IsRaggedAllToAllOrAsyncStartRaggedAllToAll(
    const HloInstruction* instruction);
bool IsRaggedAllToAllOrAsyncDoneRaggedAllToAll(
    const HloInstruction* instruction);
// The instruction itself, or the first one in a fusion, that communicates over
// a channel; null without one.
HloInstruction* IsOrHasCollectiveWithChannelId(HloInstruction* instruction);

// By channel id and use_global_device_ids of a collective, or of what an
// asynchronous one wraps.
absl::StatusOr<CollectiveOpGroupMode> GetCollectiveOpGroupMode(
    const HloInstruction* instr);

// --- Groups.

// The ids in the group of `current_id`. `total_participant_count`: of all ids,
// needed where no groups are listed.
absl::StatusOr<std::vector<int>> GetParticipatingIDs(
    CollectiveOpGroupMode group_mode, int current_id,
    std::optional<int> total_participant_count,
    absl::Span<const ReplicaGroup> replica_groups);
absl::StatusOr<std::vector<int>> GetParticipatingIDs(
    CollectiveOpGroupMode group_mode, int current_id,
    std::optional<int> total_participant_count,
    const CollectiveDeviceListBase& groups);

// The groups of the collective in an asynchronous start, update or done.
absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>> GetAsyncReplicaGroups(
    const HloInstruction* instruction);

// The groups as flattened ids:
//
//   {{0,1}}, cross_partition, 2 replicas, 2 partitions -> {{0,1},{2,3}}
absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
GetParticipatingFlattenedIdGroups(
    const CollectiveDeviceListBase& collective_device_list,
    CollectiveOpGroupMode group_mode, int replica_count, int partition_count);
absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
GetParticipatingFlattenedIdGroups(
    const DeviceAssignment& device_assignment,
    const CollectiveDeviceListBase& collective_device_list,
    CollectiveOpGroupMode group_mode);
absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
GetParticipatingFlattenedIdGroups(const HloInstruction* hlo,
                                  const DeviceAssignment& device_assignment);

// How many devices are in each of the groups above.
absl::StatusOr<std::vector<int64_t>> GetParticipantCountsForReplicaGroups(
    int64_t num_replicas, int64_t num_partitions,
    absl::Span<const ReplicaGroup> replica_groups,
    CollectiveOpGroupMode group_mode);
// (groups, devices in each) by the counts of the module; nullopt for groups of
// different sizes.
absl::StatusOr<std::optional<std::pair<int64_t, int64_t>>>
GetReplicaGroupCountAndSize(const HloInstruction* hlo);

// Group i of `second` holds the i-th ids of the groups of `first`:
// {{0,1},{2,3}} and {{0,2},{1,3}}.
bool ReplicaGroupsOrthogonal(absl::Span<const ReplicaGroup> first,
                             absl::Span<const ReplicaGroup> second);
bool ReplicaGroupsEqual(absl::Span<const ReplicaGroup> first,
                        absl::Span<const ReplicaGroup> second);

// No two replicas are in one group: only partitions talk.
bool IsExclusivelyCrossModule(absl::Span<const ReplicaGroup> replica_groups,
                              bool use_global_ids, bool has_channel_id,
                              const DeviceAssignment& device_assignment);
// No two partitions are in one group: only replicas talk.
bool IsExclusivelyCrossReplica(absl::Span<const ReplicaGroup> replica_groups,
                               bool use_global_ids, bool has_channel_id,
                               const DeviceAssignment& device_assignment);

// Devices in the first group, by the counts of the module.
int64_t GetSubgroupSize(const HloCollectiveInstruction* hlo,
                        CollectiveOpGroupMode group_mode);

// --- Devices.

absl::StatusOr<std::vector<std::vector<GlobalDeviceId>>>
GetParticipatingDevicesGroups(const DeviceAssignment& device_assignment,
                              absl::Span<const ReplicaGroup> replica_groups,
                              CollectiveOpGroupMode group_mode);
absl::StatusOr<std::vector<std::vector<GlobalDeviceId>>>
GetParticipatingDevicesGroups(const HloInstruction& collective,
                              const DeviceAssignment& device_assignment);
// By the module's static device assignment, which must be there.
absl::StatusOr<std::vector<std::vector<GlobalDeviceId>>>
GetParticipatingDevicesGroups(const HloInstruction* collective);
// The group of `device_id`.
absl::StatusOr<std::vector<GlobalDeviceId>> GetParticipatingDevices(
    GlobalDeviceId device_id, const DeviceAssignment& device_assignment,
    absl::Span<const ReplicaGroup> replica_groups,
    CollectiveOpGroupMode group_mode);

// --- Keys.

// A name by which collectives are to be one group; nullopt without one. It is
// the frontend attribute kCollectiveGroupKeyAttr.
std::optional<absl::string_view> GetCollectiveGroupKey(
    const HloInstruction& instruction);
bool HasCollectiveGroupKey(const HloInstruction& instruction);
// Both have the same, or neither has one.
bool HaveCompatibleCollectiveGroupKeys(const HloInstruction& lhs,
                                       const HloInstruction& rhs);
// Afterwards both have the key of `source`, or neither has one.
void CopyCollectiveGroupKey(const HloInstruction& source,
                            HloInstruction& destination);
void ClearCollectiveGroupKey(HloInstruction& instruction);

// By what the participants of a collective find each other.
struct RendezvousKey {
  enum CollectiveOpKind {
    kCrossModule,
    kCrossReplica,
  };

  explicit RendezvousKey(const RunId& run_id,
                         std::vector<GlobalDeviceId> global_devices,
                         int num_local_participants,
                         CollectiveOpKind collective_op_kind, int64_t op_id)
      : run_id(run_id),
        global_devices(std::move(global_devices)),
        num_local_participants(num_local_participants),
        collective_op_kind(collective_op_kind),
        op_id(op_id) {}

  template <typename H>
  friend H AbslHashValue(H h, const RendezvousKey& k) {
    return H::combine(std::move(h), k.run_id, k.global_devices,
                      k.num_local_participants,
                      static_cast<int>(k.collective_op_kind), k.op_id);
  }
  friend bool operator==(const RendezvousKey& a, const RendezvousKey& b) {
    return a.run_id == b.run_id && a.global_devices == b.global_devices &&
           a.num_local_participants == b.num_local_participants &&
           a.collective_op_kind == b.collective_op_kind && a.op_id == b.op_id;
  }
  friend bool operator!=(const RendezvousKey& a, const RendezvousKey& b) {
    return !(a == b);
  }

  // "cross_module", "cross_replica".
  absl::string_view CollectiveOpKindString() const;
  std::string ToString() const;

  RunId run_id;
  std::vector<GlobalDeviceId> global_devices;
  int num_local_participants;
  CollectiveOpKind collective_op_kind;
  int64_t op_id;
};

// What a collective is, of an asynchronous call that does not say it by an
// instruction.
struct AsyncCollectiveConfig {
  std::vector<ReplicaGroup> replica_groups;
  std::optional<int64_t> channel_id;
  bool use_global_device_ids = false;
  // (source, target)
  std::vector<std::pair<int64_t, int64_t>> permutation;
  std::optional<int64_t> all_gather_dimension;
  std::optional<int64_t> scatter_dimension;
  std::optional<bool> tiled;
  std::optional<int64_t> split_dimension;
  std::optional<int64_t> concat_dimension;
  std::optional<int64_t> split_count;
};
// A JSON object with the names above; what is absent is left out:
//
//   {"replica_groups":[[0,1],[2,3]],"channel_id":7,"tiled":true}
//
// InvalidArgument for what is not such an object; other names are skipped.
absl::StatusOr<AsyncCollectiveConfig> ParseAsyncCollectiveConfig(
    absl::string_view config_json_str);
std::string SerializeAsyncCollectiveConfig(const AsyncCollectiveConfig& config);

// --- Pairs and names.

// A device sends, or receives, twice.
bool HasDuplicateSourcesOrTargets(const SourceTargetPairs& pairs);

// Channels of pipelined send and recv pairs have positive ids.
inline bool MayPipelineSendRecvChannel(int64_t channel_id) {
  return channel_id > 0;
}

inline constexpr char kSendRecvPipelineAttr[] = "_xla_send_recv_pipeline";
inline constexpr absl::string_view kCollectiveStreamAttrName =
    "_xla_gpu_collective_stream";
inline constexpr absl::string_view kCollectiveStreamP2P = "p2p";
inline constexpr absl::string_view kCollectiveGroupKeyAttr =
    "_xla_collective_group_key";
inline constexpr absl::string_view kNopCustomCallTarget = "AllocateBuffer";
inline constexpr absl::string_view kNopReturnTokenCustomCallTarget =
    "NopReturnToken";

}  // namespace xla

#endif  // XLA_HLO_UTILS_COLLECTIVES_COLLECTIVE_OPS_UTILS_H_
