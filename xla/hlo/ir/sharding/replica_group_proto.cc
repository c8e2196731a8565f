// Protos of replica group lists.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/replica_group.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/service/hlo.pb.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

template <typename List>
absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>> Boxed(
    absl::StatusOr<List> list) {
  if (!list.ok()) return list.status();
  return std::unique_ptr<CollectiveDeviceListBase>(
      std::make_unique<List>(*std::move(list)));
}

template <typename List>
List OrDie(absl::StatusOr<List> list) {
  CHECK(list.ok()) << list.status();
  return *std::move(list);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>>
CollectiveDeviceListBase::CreateFromProto(const HloInstructionProto& proto) {
  switch (proto.replica_group_list_case()) {
    case HloInstructionProto::kMeshAxesReplicaGroupList:
      return Boxed(MeshAxesReplicaGroupList::CreateFromProto(
          proto.mesh_axes_replica_group_list()));
    case HloInstructionProto::kIotaCollectiveDeviceList:
      return Boxed(IotaReplicaGroupList::CreateFromProto(
          proto.iota_collective_device_list()));
    default:
      return Boxed(absl::StatusOr<CollectiveDeviceList>(
          CollectiveDeviceList::FromProto(proto)));
  }
}

std::unique_ptr<CollectiveDeviceListBase>
CollectiveDeviceListBase::DeviceListFromProto(
    const HloInstructionProto& proto) {
  absl::StatusOr<std::unique_ptr<CollectiveDeviceListBase>> list =
      CreateFromProto(proto);
  CHECK(list.ok()) << list.status();
  return *std::move(list);
}

void CollectiveDeviceListBase::ToInstructionProto(
    HloInstructionProto* proto) const {
  switch (version()) {
    case CollectiveDeviceListVersion::kMeshAxes:
      *proto->mutable_mesh_axes_replica_group_list() =
          static_cast<const MeshAxesReplicaGroupList&>(*this).ToProto();
      return;
    case CollectiveDeviceListVersion::kIota:
      *proto->mutable_iota_collective_device_list() =
          static_cast<const IotaReplicaGroupList&>(*this).ToProto();
      return;
    case CollectiveDeviceListVersion::kListOfLists:
      *proto->mutable_collective_device_list() =
          static_cast<const CollectiveDeviceList&>(*this).ToProto();
      return;
  }
}

MeshAxesReplicaGroupListProto MeshAxesReplicaGroupList::ToProto() const {
  MeshAxesReplicaGroupListProto proto;
  *proto.mutable_mesh() = mesh_.ToProto();
  for (const AxisRef& axis : axes_) *proto.add_axes() = axis.ToProto();
  return proto;
}

absl::StatusOr<MeshAxesReplicaGroupList>
MeshAxesReplicaGroupList::CreateFromProto(
    const MeshAxesReplicaGroupListProto& proto) {
  absl::StatusOr<Mesh> mesh = Mesh::CreateFromProto(proto.mesh());
  if (!mesh.ok()) return mesh.status();
  std::vector<AxisRef> axes;
  for (const AxisRefProto& axis : proto.axes()) {
    absl::StatusOr<AxisRef> part = AxisRef::CreateFromProto(axis);
    if (!part.ok()) return part.status();
    axes.push_back(*part);
  }
  return Create(*std::move(mesh), std::move(axes));
}

MeshAxesReplicaGroupList MeshAxesReplicaGroupList::FromProto(
    const MeshAxesReplicaGroupListProto& proto) {
  return OrDie(CreateFromProto(proto));
}

IotaReplicaGroupListProto IotaReplicaGroupList::ToProto() const {
  IotaReplicaGroupListProto proto;
  proto.set_num_replica_groups(num_replica_groups());
  proto.set_num_devices_per_group(num_devices_per_group());
  for (int64_t dim : reshape_dims()) proto.add_iota_reshape_dims(dim);
  for (int p : transpose_perm()) proto.add_iota_transpose_perm(p);
  return proto;
}

absl::StatusOr<IotaReplicaGroupList> IotaReplicaGroupList::CreateFromProto(
    const IotaReplicaGroupListProto& proto) {
  const int64_t dims[] = {proto.num_replica_groups(),
                          proto.num_devices_per_group()};
  const std::vector<int> perm(proto.iota_transpose_perm().begin(),
                              proto.iota_transpose_perm().end());
  absl::Status status =
      IotaTileAssignment::Validate(dims, proto.iota_reshape_dims(), perm);
  if (!status.ok()) return status;
  return IotaReplicaGroupList(dims[0], dims[1], proto.iota_reshape_dims(),
                              perm);
}

IotaReplicaGroupList IotaReplicaGroupList::FromProto(
    const IotaReplicaGroupListProto& proto) {
  return OrDie(CreateFromProto(proto));
}

CollectiveDeviceListProto CollectiveDeviceList::ToProto() const {
  CollectiveDeviceListProto proto;
  for (const ReplicaGroup& group : replica_groups()) {
    *proto.add_replica_groups() = group;
  }
  return proto;
}

CollectiveDeviceList CollectiveDeviceList::FromProto(
    const CollectiveDeviceListProto& proto) {
  return CollectiveDeviceList(std::vector<ReplicaGroup>(
      proto.replica_groups().begin(), proto.replica_groups().end()));
}

CollectiveDeviceList CollectiveDeviceList::FromProto(
    const HloInstructionProto& proto) {
  if (proto.has_collective_device_list()) {
    return FromProto(proto.collective_device_list());
  }
  if (proto.has_iota_collective_device_list()) {
    return ConvertToV1CollectiveDeviceList(
        IotaReplicaGroupList::FromProto(proto.iota_collective_device_list()));
  }
  if (proto.has_mesh_axes_replica_group_list()) {
    return ConvertToV1CollectiveDeviceList(MeshAxesReplicaGroupList::FromProto(
        proto.mesh_axes_replica_group_list()));
  }
// Modules written before the newer field have the groups only here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return CollectiveDeviceList(std::vector<ReplicaGroup>(
      proto.replica_groups().begin(), proto.replica_groups().end()));
#pragma GCC diagnostic pop
}

}  // namespace xla
