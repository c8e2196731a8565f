#include "xla/hlo/ir/replica_group.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

// Replica groups come in three representations: explicit lists (V1), a
// transposed iota (V2), and axes of a mesh (V3). Each can be expanded to lists;
// the expansion is made on first use, kept, and shared by copies. Comparison
// prefers the compact forms and falls back to the lists.

namespace xla {
namespace {

using Groups = std::vector<std::vector<int64_t>>;

void PrintGroups(Printer* printer, absl::Span<const ReplicaGroup> groups) {
  printer->Append("{");
  for (size_t i = 0; i < groups.size(); ++i) {
    printer->Append(i == 0 ? "{" : ",{");
    printer->AppendInt64List(groups[i].replica_ids(), /*leading_comma=*/false);
    printer->Append("}");
  }
  printer->Append("}");
}

bool SameGroups(const std::vector<ReplicaGroup>& a,
                const std::vector<ReplicaGroup>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ReplicaGroup& x, const ReplicaGroup& y) {
                      return std::equal(
                          x.replica_ids().begin(), x.replica_ids().end(),
                          y.replica_ids().begin(), y.replica_ids().end());
                    });
}

// Rows of an array of two dimensions.
Groups Rows(const Array<int64_t>& array) {
  Groups rows(array.dim(0));
  const int64_t* next = array.begin();
  for (std::vector<int64_t>& row : rows) {
    row.assign(next, next + array.dim(1));
    next += array.dim(1);
  }
  return rows;
}

}  // namespace

// ----------------------------------------------------------------- base

CollectiveDeviceListBase::CollectiveDeviceListBase(
    const CollectiveDeviceListBase& other)
    : groups_(std::atomic_load(&other.groups_)) {}

CollectiveDeviceListBase& CollectiveDeviceListBase::operator=(
    const CollectiveDeviceListBase& other) {
  if (this != &other) groups_ = std::atomic_load(&other.groups_);
  return *this;
}

const std::vector<ReplicaGroup>& CollectiveDeviceListBase::replica_groups()
    const {
  if (auto groups = std::atomic_load(&groups_)) return *groups;
  auto groups = std::make_shared<std::vector<ReplicaGroup>>();
  for (const std::vector<int64_t>& group : flattened_replica_groups()) {
    groups->emplace_back();
    groups->back().mutable_replica_ids()->Add(group.begin(), group.end());
  }
  // Another thread may win; its list stays.
  std::shared_ptr<const std::vector<ReplicaGroup>> expected;
  std::atomic_compare_exchange_strong(
      &groups_, &expected,
      std::shared_ptr<const std::vector<ReplicaGroup>>(std::move(groups)));
  return *std::atomic_load(&groups_);
}

void CollectiveDeviceListBase::Print(Printer* printer,
                                     const HloPrintOptions& options) const {
  if (options.print_full_replica_group_list()) {
    PrintGroups(printer, replica_groups());
  } else {
    Print(printer);
  }
}

std::string CollectiveDeviceListBase::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

std::string CollectiveDeviceListBase::ToString(
    const HloPrintOptions& options) const {
  StringPrinter printer;
  Print(&printer, options);
  return std::move(printer).ToString();
}

bool operator==(const CollectiveDeviceListBase& lhs,
                const CollectiveDeviceListBase& rhs) {
  if (&lhs == &rhs) return true;
  if (lhs.num_replica_groups() != rhs.num_replica_groups() ||
      lhs.num_devices_per_group() != rhs.num_devices_per_group()) {
    return false;
  }
  using Version = CollectiveDeviceListVersion;
  if (lhs.version() == Version::kIota && rhs.version() == Version::kIota) {
    return static_cast<const IotaReplicaGroupList&>(lhs) ==
           static_cast<const IotaReplicaGroupList&>(rhs);
  }
  if (lhs.version() == Version::kMeshAxes &&
      rhs.version() == Version::kMeshAxes &&
      static_cast<const MeshAxesReplicaGroupList&>(lhs) ==
          static_cast<const MeshAxesReplicaGroupList&>(rhs)) {
    return true;
  }
  return SameGroups(lhs.replica_groups(), rhs.replica_groups());
}

// ------------------------------------------------------------------- V3

MeshAxesReplicaGroupList::MeshAxesReplicaGroupList(Mesh mesh,
                                                   std::vector<AxisRef> axes)
    : mesh_(std::move(mesh)), axes_(std::move(axes)) {
  absl::Status status = mesh_.Validate();
  if (status.ok()) status = ValidateAxes(axes_, mesh_);
  CHECK(status.ok()) << status;
}

absl::StatusOr<MeshAxesReplicaGroupList> MeshAxesReplicaGroupList::Create(
    Mesh mesh, std::vector<AxisRef> axes) {
  absl::Status status = mesh.Validate();
  if (status.ok()) status = ValidateAxes(axes, mesh);
  if (!status.ok()) return status;
  return MeshAxesReplicaGroupList(std::move(mesh), std::move(axes));
}

int64_t MeshAxesReplicaGroupList::num_devices_per_group() const {
  int64_t size = 1;
  for (const AxisRef& axis : axes_) size *= axis.size(mesh_);
  return size;
}

int64_t MeshAxesReplicaGroupList::num_replica_groups() const {
  return mesh_.num_devices() / num_devices_per_group();
}

namespace {

// [groups, devices per group]: axes that no group runs along, then the axes.
TileAssignment GroupsOf(const Mesh& mesh, absl::Span<const AxisRef> axes,
                        int64_t groups, int64_t per_group) {
  const int64_t dims[] = {groups, per_group};
  if (mesh.IsMaximal()) return mesh.device_assignment().Reshape(dims);
  const MeshAxesSplit split = SplitMeshByAxes(axes, mesh);
  std::vector<int> perm(split.unused.begin(), split.unused.end());
  perm.insert(perm.end(), split.axis_to_dim.begin(), split.axis_to_dim.end());
  return mesh.device_assignment()
      .Reshape(split.sizes)
      .Transpose(perm)
      .Reshape(dims);
}

}  // namespace

std::vector<std::vector<int64_t>>
MeshAxesReplicaGroupList::flattened_replica_groups() const {
  return Rows(
      *GroupsOf(mesh_, axes_, num_replica_groups(), num_devices_per_group())
           .shared_array());
}

std::optional<IotaReplicaGroupList>
MeshAxesReplicaGroupList::MaybeConvertToIotaReplicaGroupList() const {
  const TileAssignment groups =
      GroupsOf(mesh_, axes_, num_replica_groups(), num_devices_per_group())
          .ToV2();
  if (!groups.iota()) return std::nullopt;
  return IotaReplicaGroupList(num_replica_groups(), num_devices_per_group(),
                              *groups.iota());
}

IotaReplicaGroupList MeshAxesReplicaGroupList::ToIotaReplicaGroupList() const {
  std::optional<IotaReplicaGroupList> iota =
      MaybeConvertToIotaReplicaGroupList();
  CHECK(iota.has_value()) << ToString();
  return *std::move(iota);
}

std::unique_ptr<CollectiveDeviceList>
MeshAxesReplicaGroupList::ToCollectiveDeviceList() const {
  return std::make_unique<CollectiveDeviceList>(replica_groups());
}

void MeshAxesReplicaGroupList::Print(Printer* printer) const {
  mesh_.Print(printer);
  printer->Append(" {");
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (i > 0) printer->Append(",");
    axes_[i].Print(printer, mesh_);
  }
  printer->Append("}");
}

void MeshAxesReplicaGroupList::Print(Printer* printer,
                                     const HloPrintOptions& options) const {
  const bool has_parts = std::any_of(
      axes_.begin(), axes_.end(),
      [](const AxisRef& axis) { return axis.sub_axis_info().has_value(); });
  if (has_parts && options.print_replica_groups_without_subaxes() &&
      !options.print_full_replica_group_list()) {
    CanonicalizeWithoutSubaxes().Print(printer);
  } else {
    CollectiveDeviceListBase::Print(printer, options);
  }
}

namespace {

// A part must not take the name of an axis: `b_0`, else `b_0a`, `b_0b`, ...
std::string PartName(std::string name, const Mesh& mesh) {
  std::string candidate = name;
  while (mesh.FindAxis(candidate)) {
    char& last = candidate.back();
    if (candidate.size() > name.size() && last < 'z') {
      ++last;
    } else {
      candidate.push_back('a');
    }
  }
  return candidate;
}

}  // namespace

MeshAxesReplicaGroupList MeshAxesReplicaGroupList::CanonicalizeWithoutSubaxes()
    const {
  const MeshAxesSplit split = SplitMeshByAxes(axes_, mesh_);
  std::vector<std::string> names;
  std::vector<int64_t> sizes;
  std::vector<int64_t> new_axis(split.sizes.size());
  int64_t dim = 0;
  for (int64_t a = 0; a < mesh_.num_axes(); ++a) {
    const auto is_part = [&](const AxisRef& axis) {
      return axis.mesh_axis_index() == a && axis.sub_axis_info();
    };
    if (std::none_of(axes_.begin(), axes_.end(), is_part)) {
      new_axis[dim] = sizes.size();
      sizes.push_back(split.sizes[dim++]);
      names.push_back(mesh_.axis_name(a));
      continue;
    }
    // What is before the parts and what is behind them is named even where it
    // is of size 1.
    int64_t count = 0;
    const auto add = [&](int64_t size) {
      names.push_back(
          PartName(absl::StrCat(mesh_.axis_name(a), "_", count++), mesh_));
      sizes.push_back(size);
    };
    const auto begins = [&](const AxisRef& axis) {
      return is_part(axis) && axis.pre_size() == 1;
    };
    const auto ends = [&](const AxisRef& axis) {
      return is_part(axis) &&
             axis.sub_axis_info()->next_pre_size() == mesh_.axis_size(a);
    };
    if (std::any_of(axes_.begin(), axes_.end(), begins)) add(1);
    for (int64_t left = mesh_.axis_size(a); left > 1; ++dim) {
      new_axis[dim] = sizes.size();
      add(split.sizes[dim]);
      left /= split.sizes[dim];
    }
    if (std::any_of(axes_.begin(), axes_.end(), ends)) add(1);
  }
  std::vector<AxisRef> axes;
  for (int64_t d : split.axis_to_dim) axes.push_back(AxisRef(new_axis[d]));
  return MeshAxesReplicaGroupList(
      Mesh(mesh_.device_assignment().Reshape(sizes),
           std::vector<absl::string_view>(names.begin(), names.end())),
      std::move(axes));
}

std::unique_ptr<CollectiveDeviceListBase> MeshAxesReplicaGroupList::Clone()
    const {
  return std::make_unique<MeshAxesReplicaGroupList>(*this);
}

// ------------------------------------------------------------------- V2

IotaReplicaGroupList::IotaReplicaGroupList(int64_t num_replica_groups,
                                           int64_t num_devices_per_group)
    : iota_(IotaTileAssignment::Create(
          {num_replica_groups, num_devices_per_group})) {}

IotaReplicaGroupList::IotaReplicaGroupList(
    int64_t num_replica_groups, int64_t num_devices_per_group,
    absl::Span<const int64_t> reshape_dims,
    absl::Span<const int> transpose_perm)
    : iota_(IotaTileAssignment::Create(
          {num_replica_groups, num_devices_per_group}, reshape_dims,
          transpose_perm)) {}

IotaReplicaGroupList::IotaReplicaGroupList(
    int64_t num_replica_groups, int64_t num_devices_per_group,
    const IotaTileAssignment& iota_tile_assignment)
    : iota_(iota_tile_assignment.Reshape(
          {num_replica_groups, num_devices_per_group})) {}

std::vector<std::vector<int64_t>>
IotaReplicaGroupList::flattened_replica_groups() const {
  return Rows(iota_.ToArray());
}

void IotaReplicaGroupList::Print(Printer* printer) const {
  iota_.Print(printer);
}

std::unique_ptr<CollectiveDeviceListBase> IotaReplicaGroupList::Clone() const {
  return std::make_unique<IotaReplicaGroupList>(*this);
}

// ------------------------------------------------------------------- V1

CollectiveDeviceList::CollectiveDeviceList() {
  static const auto* const empty =
      new std::shared_ptr<const std::vector<ReplicaGroup>>(
          std::make_shared<const std::vector<ReplicaGroup>>());
  groups_ = *empty;
}

CollectiveDeviceList::CollectiveDeviceList(
    std::vector<ReplicaGroup> replica_groups) {
  groups_ = std::make_shared<const std::vector<ReplicaGroup>>(
      std::move(replica_groups));
}

CollectiveDeviceList::CollectiveDeviceList(
    absl::Span<const ReplicaGroup> replica_groups)
    : CollectiveDeviceList(std::vector<ReplicaGroup>(replica_groups.begin(),
                                                     replica_groups.end())) {}

CollectiveDeviceList::CollectiveDeviceList(
    absl::Span<const std::vector<int64_t>> replica_groups) {
  auto groups = std::make_shared<std::vector<ReplicaGroup>>();
  groups->reserve(replica_groups.size());
  for (const std::vector<int64_t>& group : replica_groups) {
    groups->emplace_back();
    groups->back().mutable_replica_ids()->Add(group.begin(), group.end());
  }
  groups_ = std::move(groups);
}

bool CollectiveDeviceList::operator==(const CollectiveDeviceList& other) const {
  return groups_ == other.groups_ || SameGroups(*groups_, *other.groups_);
}

bool CollectiveDeviceList::operator<(const CollectiveDeviceList& other) const {
  return std::lexicographical_compare(
      groups_->begin(), groups_->end(), other.groups_->begin(),
      other.groups_->end(), [](const ReplicaGroup& a, const ReplicaGroup& b) {
        return std::lexicographical_compare(
            a.replica_ids().begin(), a.replica_ids().end(),
            b.replica_ids().begin(), b.replica_ids().end());
      });
}

std::vector<std::vector<int64_t>>
CollectiveDeviceList::flattened_replica_groups() const {
  Groups groups;
  groups.reserve(groups_->size());
  for (const ReplicaGroup& group : *groups_) {
    groups.emplace_back(group.replica_ids().begin(), group.replica_ids().end());
  }
  return groups;
}

int64_t CollectiveDeviceList::num_devices_per_group() const {
  if (groups_->empty()) return 0;
  const int64_t size = (*groups_)[0].replica_ids_size();
  const bool uniform = std::all_of(
      groups_->begin(), groups_->end(),
      [size](const ReplicaGroup& g) { return g.replica_ids_size() == size; });
  return uniform ? size : -1;
}

int64_t CollectiveDeviceList::num_total_devices() const {
  return std::accumulate(groups_->begin(), groups_->end(), int64_t{0},
                         [](int64_t sum, const ReplicaGroup& g) {
                           return sum + g.replica_ids_size();
                         });
}

void CollectiveDeviceList::Print(Printer* printer) const {
  PrintGroups(printer, *groups_);
}

std::optional<IotaReplicaGroupList>
CollectiveDeviceList::MaybeConvertToIotaReplicaGroupList() const {
  const int64_t groups = num_replica_groups();
  const int64_t per_group = num_devices_per_group();
  if (groups == 0 || per_group <= 0) return std::nullopt;
  const int64_t dims[] = {groups, per_group};
  Array<int64_t> array(absl::MakeConstSpan(dims));
  int64_t* next = array.begin();
  for (const ReplicaGroup& group : *groups_) {
    next =
        std::copy(group.replica_ids().begin(), group.replica_ids().end(), next);
  }
  std::optional<IotaTileAssignment> rule = IotaTileAssignment::FromArray(array);
  if (!rule) return std::nullopt;
  return IotaReplicaGroupList(groups, per_group, *rule);
}

std::unique_ptr<CollectiveDeviceListBase> CollectiveDeviceList::Clone() const {
  return std::make_unique<CollectiveDeviceList>(*this);
}

std::string ReplicaGroupsToString(
    absl::Span<const ReplicaGroup> replica_groups) {
  StringPrinter printer;
  PrintGroups(&printer, replica_groups);
  return std::move(printer).ToString();
}

CollectiveDeviceList ConvertToV1CollectiveDeviceList(
    const CollectiveDeviceListBase& device_list) {
  return CollectiveDeviceList(device_list.replica_groups());
}

}  // namespace xla
