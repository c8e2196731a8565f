#include "xla/hlo/ir/computation_placer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace xla {

DeviceAssignment::DeviceAssignment(
    int replica_count, int computation_count,
    const std::vector<int64_t>& device_assignment)
    : Array2D<int64_t>(replica_count, computation_count) {
  CHECK_EQ(device_assignment.size(),
           static_cast<size_t>(replica_count) * computation_count);
  SetValues(device_assignment);
}

absl::StatusOr<DeviceAssignment::LogicalID>
DeviceAssignment::LogicalIdForDevice(int64_t device_id) const {
  std::optional<LogicalID> found;
  for (int r = 0; r < replica_count(); ++r) {
    for (int c = 0; c < computation_count(); ++c) {
      if ((*this)(r, c) != device_id) continue;
      if (found.has_value()) {
        return absl::InternalError(
            absl::StrFormat("device %d is assigned more than once in %s",
                            device_id, ToString()));
      }
      found = LogicalID{r, c};
    }
  }
  if (!found.has_value()) {
    return absl::NotFoundError(absl::StrFormat(
        "device %d is not in the device assignment %s", device_id, ToString()));
  }
  return *found;
}

absl::StatusOr<int> DeviceAssignment::ReplicaIdForDevice(
    int64_t device_id) const {
  absl::StatusOr<LogicalID> id = LogicalIdForDevice(device_id);
  if (!id.ok()) return id.status();
  return id->replica_id;
}

absl::flat_hash_map<int64_t, DeviceAssignment::LogicalID>
DeviceAssignment::GetDeviceToLogicalIdMap() const {
  absl::flat_hash_map<int64_t, LogicalID> ids;
  ids.reserve(num_elements());
  for (int r = 0; r < replica_count(); ++r) {
    for (int c = 0; c < computation_count(); ++c) {
      ids[(*this)(r, c)] = LogicalID{r, c};
    }
  }
  return ids;
}

void DeviceAssignment::Serialize(DeviceAssignmentProto* proto) const {
  proto->set_replica_count(replica_count());
  proto->set_computation_count(computation_count());
  for (int c = 0; c < computation_count(); ++c) {
    DeviceAssignmentProto::ComputationDevice* devices =
        proto->add_computation_devices();
    for (int r = 0; r < replica_count(); ++r) {
      devices->add_replica_device_ids((*this)(r, c));
    }
  }
}

absl::StatusOr<std::unique_ptr<DeviceAssignment>> DeviceAssignment::Deserialize(
    const DeviceAssignmentProto& proto) {
  if (proto.replica_count() <= 0 || proto.computation_count() <= 0) {
    return absl::InvalidArgumentError(
        absl::StrFormat("device assignment of %d replicas and %d computations",
                        proto.replica_count(), proto.computation_count()));
  }
  // Sizes are checked against the data before anything of that size is made.
  if (proto.computation_devices_size() != proto.computation_count()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "device assignment lists %d computations instead of %d",
        proto.computation_devices_size(), proto.computation_count()));
  }
  for (const auto& devices : proto.computation_devices()) {
    if (devices.replica_device_ids_size() != proto.replica_count()) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "device assignment lists %d replicas instead of %d",
          devices.replica_device_ids_size(), proto.replica_count()));
    }
  }
  auto assignment = std::make_unique<DeviceAssignment>(
      proto.replica_count(), proto.computation_count());
  for (int c = 0; c < proto.computation_count(); ++c) {
    for (int r = 0; r < proto.replica_count(); ++r) {
      (*assignment)(r, c) = proto.computation_devices(c).replica_device_ids(r);
    }
  }
  return assignment;
}

std::string DeviceAssignment::ToString() const {
  std::string text = absl::StrFormat(
      "DeviceAssignment{replica_count=%d, computation_count=%d,",
      replica_count(), computation_count());
  for (int c = 0; c < computation_count(); ++c) {
    absl::StrAppend(&text, " Computation", c, "{");
    for (int r = 0; r < replica_count(); ++r) {
      absl::StrAppend(&text, r == 0 ? "" : " ", (*this)(r, c));
    }
    absl::StrAppend(&text, "}");
  }
  absl::StrAppend(&text, "}");
  return text;
}

absl::StatusOr<DeviceAssignment> ComputationPlacer::AssignDevices(
    int replica_count, int computation_count) {
  if (replica_count < 1 || computation_count < 1) {
    return absl::InvalidArgumentError(
        absl::StrFormat("cannot place %d replicas of %d computations",
                        replica_count, computation_count));
  }
  DeviceAssignment assignment(replica_count, computation_count);
  for (int c = 0; c < computation_count; ++c) {
    for (int r = 0; r < replica_count; ++r) {
      assignment(r, c) = static_cast<int64_t>(c) * replica_count + r;
    }
  }
  return assignment;
}

}  // namespace xla
