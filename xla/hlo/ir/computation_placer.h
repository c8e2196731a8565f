#ifndef XLA_HLO_IR_COMPUTATION_PLACER_H_
#define XLA_HLO_IR_COMPUTATION_PLACER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "xla/array2d.h"
#include "xla/xla_data.pb.h"

namespace xla {

// Device id of every (replica, computation) pair. For SPMD modules a
// computation is a partition.
class DeviceAssignment : public Array2D<int64_t> {
 public:
  struct LogicalID {
    int replica_id;
    int computation_id;
    bool operator==(const LogicalID& other) const {
      return replica_id == other.replica_id &&
             computation_id == other.computation_id;
    }
  };

  DeviceAssignment() = default;
  // All entries are -1 until set.
  DeviceAssignment(int replica_count, int computation_count)
      : Array2D<int64_t>(replica_count, computation_count, -1) {}
  // `device_assignment` is replica-major with replica_count rows.
  DeviceAssignment(int replica_count, int computation_count,
                   const std::vector<int64_t>& device_assignment);

  int replica_count() const { return height(); }
  int computation_count() const { return width(); }

  // The pair that runs on `device_id`; NotFound if there is none, Internal if
  // there are several. O(entries).
  absl::StatusOr<LogicalID> LogicalIdForDevice(int64_t device_id) const;
  absl::StatusOr<int> ReplicaIdForDevice(int64_t device_id) const;
  absl::flat_hash_map<int64_t, LogicalID> GetDeviceToLogicalIdMap() const;

  void Serialize(DeviceAssignmentProto* proto) const;
  static absl::StatusOr<std::unique_ptr<DeviceAssignment>> Deserialize(
      const DeviceAssignmentProto& proto);

  std::string ToString() const;
};

// Places computations on devices.
class ComputationPlacer {
 public:
  virtual ~ComputationPlacer() = default;

  // Numbers devices computation by computation: the device of (replica r,
  // computation c) is c * replica_count + r. InvalidArgument for counts < 1.
  virtual absl::StatusOr<DeviceAssignment> AssignDevices(int replica_count,
                                                         int computation_count);
};

}  // namespace xla

#endif  // XLA_HLO_IR_COMPUTATION_PLACER_H_
