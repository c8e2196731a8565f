#ifndef XLA_HLO_IR_REPLICA_GROUP_H_
#define XLA_HLO_IR_REPLICA_GROUP_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

class CollectiveDeviceList;
class HloInstructionProto;
class HloPrintOptions;
class IotaReplicaGroupList;

// How the groups of a collective are written.
enum class CollectiveDeviceListVersion {
  kListOfLists,  // V1  {{0,1},{2,3}}
  kIota,         // V2  [2,2]<=[4]
  kMeshAxes,     // V3  mesh['a'=2,'b'=2] {'b'}
};

// The groups of devices (or replicas) that take part in a collective together.
// Groups are computed from the compact forms on first use and cached.
// Const members may be called concurrently.
class CollectiveDeviceListBase {
 public:
  virtual ~CollectiveDeviceListBase() = default;

  virtual int64_t num_replica_groups() const = 0;
  // -1 for groups of different sizes, 0 if there are no groups.
  virtual int64_t num_devices_per_group() const = 0;
  virtual int64_t num_total_devices() const {
    return num_replica_groups() * num_devices_per_group();
  }
  virtual std::vector<std::vector<int64_t>> flattened_replica_groups()
      const = 0;
  // The groups as messages; cached.
  virtual const std::vector<ReplicaGroup>& replica_groups() const;

  virtual void Print(Printer* printer) const = 0;
  // Honors print_full_replica_group_list (V1 syntax for every version) and
  // print_replica_groups_without_subaxes (V3).
  virtual void Print(Printer* printer, const HloPrintOptions& options) const;
  std::string ToString() const;
  std::string ToString(const HloPrintOptions& options) const;

  // The list an instruction carries; an empty V1 list if it carries none.
  // CHECK-fails where CreateFromProto returns an error.
  static std::unique_ptr<CollectiveDeviceListBase> DeviceListFromProto(
      const HloInstructionProto& proto);
  // As above, validated: counts, overflow, permutations, mesh axes.
  static absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
  CreateFromProto(const HloInstructionProto& proto);
  // Sets the field of `proto` that belongs to version().
  void ToInstructionProto(HloInstructionProto* proto) const;

  virtual std::unique_ptr<CollectiveDeviceListBase> Clone() const = 0;
  virtual CollectiveDeviceListVersion version() const = 0;

  // The same groups as a rule, where one exists. O(devices) for V1.
  virtual std::optional<IotaReplicaGroupList>
  MaybeConvertToIotaReplicaGroupList() const = 0;

 protected:
  CollectiveDeviceListBase() = default;
  CollectiveDeviceListBase(const CollectiveDeviceListBase& other);
  CollectiveDeviceListBase& operator=(const CollectiveDeviceListBase& other);
  CollectiveDeviceListBase(CollectiveDeviceListBase&&) = default;
  CollectiveDeviceListBase& operator=(CollectiveDeviceListBase&&) = default;

  // Accessed atomically.
  mutable std::shared_ptr<const std::vector<ReplicaGroup>> groups_;
};

// The same groups in the same order, whatever the version. O(1) when sizes
// differ or both are V2.
bool operator==(const CollectiveDeviceListBase& lhs,
                const CollectiveDeviceListBase& rhs);
inline bool operator!=(const CollectiveDeviceListBase& lhs,
                       const CollectiveDeviceListBase& rhs) {
  return !(lhs == rhs);
}
// Consistent with the operator above.
template <typename H>
H AbslHashValue(H h, const CollectiveDeviceListBase& list) {
  return H::combine(std::move(h), list.num_replica_groups(),
                    list.num_devices_per_group());
}

// V3: devices that differ only in their coordinates along `axes` form a group.
//
//   mesh['a'=2,'b'=4] {'b'}           two groups of four
//   mesh['a'=2,'b'=4] {'a','b':(1)2}
//   mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}
class MeshAxesReplicaGroupList : public CollectiveDeviceListBase {
 public:
  // CHECK-fails where Create returns an error.
  MeshAxesReplicaGroupList(Mesh mesh, std::vector<AxisRef> axes);
  // InvalidArgument for a bad mesh, or axes that do not exist or overlap.
  static absl::StatusOr<MeshAxesReplicaGroupList> Create(
      Mesh mesh, std::vector<AxisRef> axes);

  bool operator==(const MeshAxesReplicaGroupList& other) const {
    return mesh_ == other.mesh_ && axes_ == other.axes_;
  }
  bool operator!=(const MeshAxesReplicaGroupList& other) const {
    return !(*this == other);
  }
  template <typename H>
  friend H AbslHashValue(H h, const MeshAxesReplicaGroupList& c) {
    return H::combine(std::move(h), c.mesh_, c.axes_);
  }

  int64_t num_replica_groups() const override;
  int64_t num_devices_per_group() const override;
  std::vector<std::vector<int64_t>> flattened_replica_groups() const override;
  using CollectiveDeviceListBase::Print;
  void Print(Printer* printer) const override;
  void Print(Printer* printer, const HloPrintOptions& options) const override;

  // The same groups over a mesh whose axes are the parts, so without sub-axes.
  // Parts of axis 'a' get the names 'a_0', 'a_1', ..., major first.
  MeshAxesReplicaGroupList CanonicalizeWithoutSubaxes() const;

  const Mesh& mesh() const { return mesh_; }
  absl::Span<const AxisRef> axes() const { return axes_; }

  MeshAxesReplicaGroupListProto ToProto() const;
  static absl::StatusOr<MeshAxesReplicaGroupList> CreateFromProto(
      const MeshAxesReplicaGroupListProto& proto);
  static MeshAxesReplicaGroupList FromProto(
      const MeshAxesReplicaGroupListProto& proto);

  std::unique_ptr<CollectiveDeviceListBase> Clone() const override;
  CollectiveDeviceListVersion version() const override {
    return CollectiveDeviceListVersion::kMeshAxes;
  }
  std::optional<IotaReplicaGroupList> MaybeConvertToIotaReplicaGroupList()
      const override;
  // CHECK-fails when the mesh has explicit device ids that follow no rule.
  IotaReplicaGroupList ToIotaReplicaGroupList() const;
  std::unique_ptr<CollectiveDeviceList> ToCollectiveDeviceList() const;

 private:
  Mesh mesh_;
  std::vector<AxisRef> axes_;
};

// V2: row i of a [groups, devices per group] iota array is group i.
class IotaReplicaGroupList : public CollectiveDeviceListBase {
 public:
  IotaReplicaGroupList(int64_t num_replica_groups,
                       int64_t num_devices_per_group);
  IotaReplicaGroupList(int64_t num_replica_groups,
                       int64_t num_devices_per_group,
                       absl::Span<const int64_t> reshape_dims,
                       absl::Span<const int> transpose_perm);
  IotaReplicaGroupList(int64_t num_replica_groups,
                       int64_t num_devices_per_group,
                       const IotaTileAssignment& iota_tile_assignment);

  bool operator==(const IotaReplicaGroupList& other) const {
    return iota_ == other.iota_;
  }
  bool operator!=(const IotaReplicaGroupList& other) const {
    return !(*this == other);
  }
  template <typename H>
  friend H AbslHashValue(H h, const IotaReplicaGroupList& c) {
    return H::combine(std::move(h), c.iota_.dims(), c.iota_.reshape_dims(),
                      c.iota_.transpose_perm());
  }

  int64_t num_replica_groups() const override { return iota_.dim(0); }
  int64_t num_devices_per_group() const override { return iota_.dim(1); }
  absl::Span<const int64_t> reshape_dims() const {
    return iota_.reshape_dims();
  }
  absl::Span<const int> transpose_perm() const {
    return iota_.transpose_perm();
  }
  const IotaTileAssignment& iota_tile_assignment() const { return iota_; }
  Array<int64_t> ToArray() const { return iota_.ToArray(); }
  std::vector<std::vector<int64_t>> flattened_replica_groups() const override;
  using CollectiveDeviceListBase::Print;
  void Print(Printer* printer) const override;

  std::unique_ptr<CollectiveDeviceListBase> Clone() const override;
  CollectiveDeviceListVersion version() const override {
    return CollectiveDeviceListVersion::kIota;
  }
  std::optional<IotaReplicaGroupList> MaybeConvertToIotaReplicaGroupList()
      const override {
    return *this;
  }

  IotaReplicaGroupListProto ToProto() const;
  static absl::StatusOr<IotaReplicaGroupList> CreateFromProto(
      const IotaReplicaGroupListProto& proto);
  static IotaReplicaGroupList FromProto(const IotaReplicaGroupListProto& proto);

 private:
  IotaTileAssignment iota_;  // two dimensions
};

// V1: the groups one by one. Copies share them.
class CollectiveDeviceList : public CollectiveDeviceListBase {
 public:
  CollectiveDeviceList();
  explicit CollectiveDeviceList(
      std::initializer_list<std::vector<int64_t>> replica_groups)
      : CollectiveDeviceList(absl::Span<const std::vector<int64_t>>(
            replica_groups.begin(), replica_groups.size())) {}
  explicit CollectiveDeviceList(std::vector<ReplicaGroup> replica_groups);
  explicit CollectiveDeviceList(absl::Span<const ReplicaGroup> replica_groups);
  explicit CollectiveDeviceList(
      absl::Span<const std::vector<int64_t>> replica_groups);

  bool operator==(const CollectiveDeviceList& other) const;
  bool operator!=(const CollectiveDeviceList& other) const {
    return !(*this == other);
  }
  // Lexicographic by groups, then by members.
  bool operator<(const CollectiveDeviceList& other) const;
  template <typename H>
  friend H AbslHashValue(H h, const CollectiveDeviceList& c) {
    for (const ReplicaGroup& group : c.replica_groups()) {
      h = H::combine_contiguous(std::move(h), group.replica_ids().data(),
                                group.replica_ids_size());
    }
    return H::combine(std::move(h), c.num_replica_groups());
  }

  const std::vector<ReplicaGroup>& replica_groups() const override {
    return *groups_;
  }
  std::vector<std::vector<int64_t>> flattened_replica_groups() const override;
  int64_t num_replica_groups() const override { return groups_->size(); }
  int64_t num_devices_per_group() const override;
  int64_t num_total_devices() const override;
  using CollectiveDeviceListBase::Print;
  void Print(Printer* printer) const override;

  CollectiveDeviceListVersion version() const override {
    return CollectiveDeviceListVersion::kListOfLists;
  }
  std::optional<IotaReplicaGroupList> MaybeConvertToIotaReplicaGroupList()
      const override;
  CollectiveDeviceListProto ToProto() const;
  static CollectiveDeviceList FromProto(const CollectiveDeviceListProto& proto);
  // The list in the current field, or in the deprecated one.
  static CollectiveDeviceList FromProto(const HloInstructionProto& proto);
  std::unique_ptr<CollectiveDeviceListBase> Clone() const override;
};

// `{{0,1},{2,3}}`.
std::string ReplicaGroupsToString(
    absl::Span<const ReplicaGroup> replica_groups);

CollectiveDeviceList ConvertToV1CollectiveDeviceList(
    const CollectiveDeviceListBase& device_list);

}  // namespace xla

#endif  // XLA_HLO_IR_REPLICA_GROUP_H_
