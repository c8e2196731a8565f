#include "xla/hlo/ir/collective_op_group_mode.h"

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

struct NamedMode {
  CollectiveOpGroupMode mode;
  absl::string_view name;
};

constexpr NamedMode kModes[] = {
    {COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA, "cross_replica"},
    {COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION, "cross_partition"},
    {COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION,
     "cross_replica_and_partition"},
    {COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID, "flattened_id"},
};

}  // namespace

absl::string_view CollectiveOpGroupModeToString(
    CollectiveOpGroupMode group_mode) {
  for (const NamedMode& entry : kModes) {
    if (entry.mode == group_mode) return entry.name;
  }
  return "unknown";
}

absl::StatusOr<CollectiveOpGroupMode> StringToCollectiveOpGroupMode(
    absl::string_view name) {
  for (const NamedMode& entry : kModes) {
    if (entry.name == name) return entry.mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Unknown collective op group mode: ", name));
}

absl::StatusOr<CollectiveOpGroupMode> GetCollectiveOpGroupMode(
    bool has_channel_id, std::optional<bool> use_global_device_ids) {
  if (!has_channel_id) {
    if (use_global_device_ids.value_or(false)) {
      return absl::InvalidArgumentError(
          "use_global_device_ids needs a channel id");
    }
    return COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA;
  }
  if (!use_global_device_ids.has_value()) {
    return COLLECTIVE_OP_GROUP_MODE_CROSS_PARTITION;
  }
  return *use_global_device_ids
             ? COLLECTIVE_OP_GROUP_MODE_FLATTENED_ID
             : COLLECTIVE_OP_GROUP_MODE_CROSS_REPLICA_AND_PARTITION;
}

}  // namespace xla
