#ifndef XLA_HLO_IR_COLLECTIVE_OP_GROUP_MODE_H_
#define XLA_HLO_IR_COLLECTIVE_OP_GROUP_MODE_H_

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/xla_data.pb.h"

namespace xla {

// How the ids in the replica groups of a collective are read: as replicas,
// as partitions, as both (all partitions of the named replicas), or as
// flattened device ids.
absl::string_view CollectiveOpGroupModeToString(
    CollectiveOpGroupMode group_mode);

// Inverse of the above; InvalidArgument for unknown names.
absl::StatusOr<CollectiveOpGroupMode> StringToCollectiveOpGroupMode(
    absl::string_view name);

// The mode that an instruction's attributes ask for:
//
//   channel id | use_global_device_ids | mode
//   no         | absent or false       | cross_replica
//   no         | true                  | InvalidArgument
//   yes        | absent                | cross_partition
//   yes        | false                 | cross_replica_and_partition
//   yes        | true                  | flattened_id
absl::StatusOr<CollectiveOpGroupMode> GetCollectiveOpGroupMode(
    bool has_channel_id, std::optional<bool> use_global_device_ids);

}  // namespace xla

#endif  // XLA_HLO_IR_COLLECTIVE_OP_GROUP_MODE_H_
