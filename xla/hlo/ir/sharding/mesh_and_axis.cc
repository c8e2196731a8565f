#include "xla/hlo/ir/mesh_and_axis.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

// An axis of size n is a range of numbers, and a part (p)s of it one digit of
// these numbers in a mixed radix: p is the product of the radices above the
// digit, p * s that of those down to it. So a part covers the interval [p, p *
// s) of products, two parts of an axis overlap where their intervals do, and
// one radix has digits for both exactly where the ends of the intervals,
// sorted, divide each other in turn. Those of (1)2 and (1)3 of an axis of size
// 6 do not: no reshape of the mesh has dimensions for both.

namespace xla {

Mesh::Mesh(int64_t device_id) : device_assignment_(device_id), maximal_(true) {
  CHECK_OK(Validate());
}

Mesh::Mesh(absl::Span<const int64_t> axes_sizes,
           absl::Span<const absl::string_view> axes_names)
    : Mesh(TileAssignment(axes_sizes), axes_names) {}

Mesh::Mesh(TileAssignment device_assignment,
           absl::Span<const absl::string_view> axes_names)
    : device_assignment_(std::move(device_assignment)),
      axes_names_(axes_names.begin(), axes_names.end()) {
  CHECK_OK(Validate());
}

Mesh::Mesh(Array<int64_t> device_assignment,
           absl::Span<const absl::string_view> axes_names)
    : Mesh(TileAssignment(std::make_shared<const Array<int64_t>>(
               std::move(device_assignment))),
           axes_names) {}

Mesh::Mesh(absl::Span<const int64_t> device_ids,
           absl::Span<const int64_t> axes_sizes,
           absl::Span<const absl::string_view> axes_names)
    : axes_names_(axes_names.begin(), axes_names.end()) {
  auto array = std::make_shared<Array<int64_t>>(axes_sizes);
  CHECK_EQ(array->num_elements(), device_ids.size());
  std::copy(device_ids.begin(), device_ids.end(), array->begin());
  device_assignment_ = TileAssignment(std::move(array));
  CHECK_OK(Validate());
}

std::optional<int64_t> Mesh::FindAxis(absl::string_view name) const {
  const auto it = std::find(axes_names_.begin(), axes_names_.end(), name);
  if (it == axes_names_.end()) return std::nullopt;
  return it - axes_names_.begin();
}

absl::Status Mesh::Validate() const {
  if (maximal_) {
    if (device_assignment_.first() >= 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("device of a maximal mesh must not be negative: ",
                     device_assignment_.first()));
  }
  if (device_assignment_.num_dimensions() != num_axes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("mesh has ", num_axes(), " axis names but ",
                     device_assignment_.num_dimensions(), " sizes"));
  }
  absl::flat_hash_set<absl::string_view> names;
  for (const std::string& name : axes_names_) {
    if (name.empty() || !names.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "mesh axis names must be distinct and not empty: '", name, "'"));
    }
    int64_t number;
    if (absl::SimpleAtoi(name, &number)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "mesh axis '", name, "' would read as the number of an axis"));
    }
  }
  if (device_assignment_.iota()) return absl::OkStatus();
  const int64_t n = device_assignment_.num_elements();
  std::vector<bool> seen(n, false);
  for (int64_t device : device_assignment_.array()) {
    if (device < 0 || device >= n || seen[device]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device ids of a mesh must be 0 to ", n - 1,
          " in some order; device ", device, " is repeated or out of range"));
    }
    seen[device] = true;
  }
  return absl::OkStatus();
}

void Mesh::Print(Printer* printer) const {
  if (maximal_) {
    printer->Append("maximal_mesh[device_id=");
    printer->Append(device_assignment_.first());
    printer->Append("]");
    return;
  }
  printer->Append("mesh[");
  for (int64_t i = 0; i < num_axes(); ++i) {
    printer->Append(i == 0 ? "'" : ",'");
    printer->Append(axes_names_[i]);
    printer->Append("'=");
    printer->Append(axis_size(i));
  }
  printer->Append("]");
  const std::optional<IotaTileAssignment>& iota = device_assignment_.iota();
  if (iota && iota->is_identity()) return;
  printer->Append(", device_ids=(");
  device_assignment_.PrintArray(printer);
  printer->Append(")");
}

std::string Mesh::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

MeshProto Mesh::ToProto() const {
  MeshProto proto;
  for (int64_t i = 0; i < num_axes(); ++i) {
    MeshProto::MeshAxis* axis = proto.add_axes();
    axis->set_name(axes_names_[i]);
    axis->set_size(axis_size(i));
  }
  if (const std::optional<IotaTileAssignment>& iota =
          device_assignment_.iota()) {
    if (iota->is_identity() && !maximal_) return proto;
    if (!maximal_) {
      MeshProto::IotaTransform* transform = proto.mutable_iota_transform();
      for (int64_t dim : iota->reshape_dims()) transform->add_reshape_dims(dim);
      for (int p : iota->transpose_perm()) transform->add_transpose_perm(p);
      return proto;
    }
  }
  device_assignment_.Each([&](absl::Span<const int64_t>, int64_t device) {
    proto.add_device_ids(device);
  });
  return proto;
}

absl::StatusOr<Mesh> Mesh::CreateFromProto(const MeshProto& proto) {
  if (proto.axes().empty()) {
    if (proto.device_ids().empty()) return Mesh();
    if (proto.device_ids_size() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a mesh without axes has one device, not ", proto.device_ids_size()));
    }
    Mesh mesh;
    mesh.device_assignment_ = TileAssignment(proto.device_ids(0));
    mesh.maximal_ = true;
    absl::Status status = mesh.Validate();
    if (!status.ok()) return status;
    return mesh;
  }
  // What constructors die of is an error here.
  Mesh mesh;
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (const MeshProto::MeshAxis& axis : proto.axes()) {
    if (axis.size() <= 0 || axis.size() > IotaTileAssignment::kMaxElements ||
        (count *= axis.size()) > IotaTileAssignment::kMaxElements) {
      return absl::InvalidArgumentError(
          absl::StrCat("bad size ", axis.size(), " of mesh axis '", axis.name(),
                       "', or too many devices"));
    }
    sizes.push_back(axis.size());
    mesh.axes_names_.push_back(axis.name());
  }
  if (proto.has_iota_transform()) {
    if (!proto.device_ids().empty()) {
      return absl::InvalidArgumentError(
          "a mesh has device_ids or iota_transform, not both");
    }
    const MeshProto::IotaTransform& transform = proto.iota_transform();
    const std::vector<int> perm(transform.transpose_perm().begin(),
                                transform.transpose_perm().end());
    absl::Status status =
        IotaTileAssignment::Validate(sizes, transform.reshape_dims(), perm);
    if (!status.ok()) return status;
    mesh.device_assignment_ =
        TileAssignment(sizes, transform.reshape_dims(), perm);
  } else if (proto.device_ids().empty()) {
    mesh.device_assignment_ = TileAssignment(sizes);
  } else if (proto.device_ids_size() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("mesh of ", count, " devices lists ",
                     proto.device_ids_size(), " device ids"));
  } else {
    auto array = std::make_shared<Array<int64_t>>(sizes);
    std::copy(proto.device_ids().begin(), proto.device_ids().end(),
              array->begin());
    mesh.device_assignment_ = TileAssignment(std::move(array));
  }
  absl::Status status = mesh.Validate();
  if (!status.ok()) return status;
  return mesh;
}

Mesh Mesh::FromProto(const MeshProto& proto) {
  absl::StatusOr<Mesh> mesh = CreateFromProto(proto);
  CHECK(mesh.ok()) << mesh.status();
  return *std::move(mesh);
}

absl::StatusOr<AxisRef> AxisRef::Create(int64_t mesh_axis_index,
                                        std::optional<SubAxis> sub_axis) {
  if (sub_axis && (sub_axis->pre_size < 1 || sub_axis->size < 2)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "part (", sub_axis->pre_size, ")", sub_axis->size, " of axis ",
        mesh_axis_index,
        " of a mesh: the factor before it is at least 1, its size 2"));
  }
  AxisRef axis(mesh_axis_index);
  axis.sub_axis_ = sub_axis;
  return axis;
}

AxisRef::AxisRef(int64_t mesh_axis_index, std::optional<SubAxis> sub_axis)
    : mesh_axis_index_(mesh_axis_index) {
  absl::StatusOr<AxisRef> axis = Create(mesh_axis_index, sub_axis);
  CHECK(axis.ok()) << axis.status();
  sub_axis_ = sub_axis;
}

absl::Status AxisRef::Validate(const Mesh& mesh) const {
  if (mesh_axis_index_ < 0 || mesh_axis_index_ >= mesh.num_axes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no axis ", mesh_axis_index_, " in ", mesh.ToString()));
  }
  if (!sub_axis_) return absl::OkStatus();
  const int64_t size = mesh.axis_size(mesh_axis_index_);
  // Both are bounded by the axis size before they are multiplied.
  const bool valid = sub_axis_->pre_size >= 1 && sub_axis_->size > 1 &&
                     sub_axis_->pre_size <= size && sub_axis_->size < size &&
                     size % sub_axis_->next_pre_size() == 0;
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("part (", sub_axis_->pre_size, ")", sub_axis_->size,
                   " does not divide axis '", mesh.axis_name(mesh_axis_index_),
                   "' of size ", size, " properly"));
}

bool AxisRef::Overlaps(const AxisRef& other) const {
  if (mesh_axis_index_ != other.mesh_axis_index_) return false;
  if (!sub_axis_ || !other.sub_axis_) return true;
  return sub_axis_->pre_size < other.sub_axis_->next_pre_size() &&
         other.sub_axis_->pre_size < sub_axis_->next_pre_size();
}

// A list of factors cuts the axis at products of its first factors, each of
// which divides the next. So two parts fit one list if and only if their four
// ends, sorted, do so. Of an axis of size 12, (1)4 and (2)2 cut at 1, 2 and 4;
// (1)2 and (1)3 do not coexist, as 2 does not divide 3.
bool AxisRef::CanCoexist(const AxisRef& other) const {
  if (mesh_axis_index_ != other.mesh_axis_index_ || !sub_axis_ ||
      !other.sub_axis_) {
    return true;
  }
  int64_t cuts[] = {sub_axis_->pre_size, sub_axis_->next_pre_size(),
                    other.sub_axis_->pre_size,
                    other.sub_axis_->next_pre_size()};
  std::sort(std::begin(cuts), std::end(cuts));
  return cuts[1] % cuts[0] == 0 && cuts[2] % cuts[1] == 0 &&
         cuts[3] % cuts[2] == 0;
}

// Of an axis of size 16, (1)8 without (2)2 is (1)2: the factor behind the
// overlap, (4)2, is free but lost, as only a major part is a prefix.
std::optional<AxisRef> AxisRef::GetPrefixWithoutOverlap(
    const AxisRef& other) const {
  if (!Overlaps(other)) return *this;
  if (!CanCoexist(other) || other.pre_size() <= pre_size()) {
    return std::nullopt;
  }
  return AxisRef(mesh_axis_index_,
                 SubAxis{pre_size(), other.pre_size() / pre_size()});
}

bool AxisRef::CanMerge(const AxisRef& other) const {
  return mesh_axis_index_ == other.mesh_axis_index_ && sub_axis_ &&
         other.sub_axis_ &&
         sub_axis_->next_pre_size() == other.sub_axis_->pre_size;
}

bool AxisRef::Merge(const AxisRef& other, const Mesh& mesh) {
  if (!CanMerge(other)) return false;
  sub_axis_->size *= other.sub_axis_->size;
  if (sub_axis_->size == mesh.axis_size(mesh_axis_index_)) {
    sub_axis_ = std::nullopt;
  }
  return true;
}

bool AxisRef::operator<(const AxisRef& other) const {
  const auto key = [](const AxisRef& axis) {
    return std::make_tuple(axis.mesh_axis_index_, axis.pre_size(),
                           axis.sub_axis_
                               ? axis.sub_axis_->size
                               : std::numeric_limits<int64_t>::max());
  };
  return key(*this) < key(other);
}

void AxisRef::Print(Printer* printer, const Mesh& mesh) const {
  printer->Append("'");
  printer->Append(mesh.axis_name(mesh_axis_index_));
  printer->Append("'");
  if (!sub_axis_) return;
  printer->Append(":(");
  printer->Append(sub_axis_->pre_size);
  printer->Append(")");
  printer->Append(sub_axis_->size);
}

std::string AxisRef::ToString(const Mesh* mesh) const {
  if (mesh == nullptr) {
    return sub_axis_ ? absl::StrCat(mesh_axis_index_, ":(", sub_axis_->pre_size,
                                    ")", sub_axis_->size)
                     : absl::StrCat(mesh_axis_index_);
  }
  StringPrinter printer;
  Print(&printer, *mesh);
  return std::move(printer).ToString();
}

AxisRefProto AxisRef::ToProto() const {
  AxisRefProto proto;
  proto.set_mesh_axis_index(mesh_axis_index_);
  if (sub_axis_) {
    proto.mutable_sub_axis_info()->set_pre_size(sub_axis_->pre_size);
    proto.mutable_sub_axis_info()->set_size(sub_axis_->size);
  }
  return proto;
}

absl::StatusOr<AxisRef> AxisRef::CreateFromProto(const AxisRefProto& proto) {
  if (!proto.has_sub_axis_info()) return AxisRef(proto.mesh_axis_index());
  return Create(
      proto.mesh_axis_index(),
      SubAxis{proto.sub_axis_info().pre_size(), proto.sub_axis_info().size()});
}

AxisRef AxisRef::FromProto(const AxisRefProto& proto) {
  absl::StatusOr<AxisRef> axis = CreateFromProto(proto);
  CHECK(axis.ok()) << axis.status();
  return *axis;
}

absl::Status ValidateAxes(absl::Span<const AxisRef> axes, const Mesh& mesh) {
  // Valid parts that do not overlap number at most log2(devices) + the axes of
  // extent 1, so the quadratic part stays small.
  std::vector<std::vector<const AxisRef*>> by_axis(mesh.num_axes());
  for (const AxisRef& axis : axes) {
    absl::Status status = axis.Validate(mesh);
    if (!status.ok()) return status;
    for (const AxisRef* other : by_axis[axis.mesh_axis_index()]) {
      if (axis.Overlaps(*other) || !axis.CanCoexist(*other)) {
        return absl::InvalidArgumentError(
            absl::StrCat("axes ", other->ToString(mesh), " and ",
                         axis.ToString(mesh), " overlap in ", mesh.ToString()));
      }
    }
    by_axis[axis.mesh_axis_index()].push_back(&axis);
  }
  return absl::OkStatus();
}

std::vector<AxisRef> MergeAdjacentAxes(absl::Span<const AxisRef> axes,
                                       const Mesh& mesh) {
  std::vector<AxisRef> merged;
  for (const AxisRef& axis : axes) {
    if (merged.empty() || !merged.back().Merge(axis, mesh)) {
      merged.push_back(axis);
    }
  }
  return merged;
}

void MergeAxes(std::vector<AxisRef>& axes, const Mesh& mesh) {
  axes = MergeAdjacentAxes(axes, mesh);
}

void SortAndMergeAxes(std::vector<AxisRef>& axes, const Mesh& mesh) {
  std::sort(axes.begin(), axes.end());
  MergeAxes(axes, mesh);
}

bool TruncateAxesByRemovingOverlaps(std::vector<AxisRef>& axes,
                                    absl::Span<const AxisRef> others) {
  for (size_t i = 0; i < axes.size(); ++i) {
    std::optional<AxisRef> prefix = axes[i];
    for (const AxisRef& other : others) {
      if (prefix) prefix = prefix->GetPrefixWithoutOverlap(other);
    }
    if (prefix == axes[i]) continue;
    axes.erase(axes.begin() + i, axes.end());
    if (prefix) axes.push_back(*prefix);
    return true;
  }
  return false;
}

std::vector<AxisRef> UncoveredAxes(absl::Span<const AxisRef> axes,
                                   const Mesh& mesh) {
  std::vector<AxisRef> sorted(axes.begin(), axes.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<AxisRef> uncovered;
  auto next = sorted.begin();
  for (int64_t a = 0; a < mesh.num_axes(); ++a) {
    const int64_t size = mesh.axis_size(a);
    int64_t begin = 1;
    bool whole = true;
    for (; next != sorted.end() && next->mesh_axis_index() == a; ++next) {
      whole = false;
      if (next->pre_size() > begin) {
        uncovered.emplace_back(
            a, AxisRef::SubAxis{begin, next->pre_size() / begin});
      }
      begin = next->pre_size() * next->size(mesh);
    }
    if (whole) {
      uncovered.emplace_back(a);
    } else if (begin < size) {
      uncovered.emplace_back(a, AxisRef::SubAxis{begin, size / begin});
    }
  }
  return uncovered;
}

// An axis of size 16 of which (2)4 is listed is cut at 1, 2, 8 and 16 and
// becomes three dimensions, of sizes 2, 4 and 2. Since the entries neither
// overlap nor cut each other, each of them begins at a cut and ends at the next
// one, and its beginning identifies it.
MeshAxesSplit SplitMeshByAxes(absl::Span<const AxisRef> axes,
                              const Mesh& mesh) {
  MeshAxesSplit split;
  split.axis_to_dim.resize(axes.size());
  for (int64_t a = 0; a < mesh.num_axes(); ++a) {
    const int64_t size = mesh.axis_size(a);
    // Where the parts begin and end, as products of the factors before.
    absl::InlinedVector<int64_t, 8> cuts = {1, size};
    for (const AxisRef& axis : axes) {
      if (axis.mesh_axis_index() != a || !axis.sub_axis_info()) continue;
      cuts.push_back(axis.sub_axis_info()->pre_size);
      cuts.push_back(axis.sub_axis_info()->next_pre_size());
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    if (cuts.size() == 1) cuts.push_back(1);  // an axis of extent 1
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const int64_t dim = split.sizes.size();
      split.sizes.push_back(cuts[i + 1] / cuts[i]);
      bool used = false;
      for (size_t k = 0; k < axes.size(); ++k) {
        if (axes[k].mesh_axis_index() == a && axes[k].pre_size() == cuts[i]) {
          split.axis_to_dim[k] = dim;
          used = true;
        }
      }
      if (!used) split.unused.push_back(dim);
    }
  }
  return split;
}

std::ostream& operator<<(std::ostream& out, const Mesh& mesh) {
  return out << mesh.ToString();
}

std::ostream& operator<<(std::ostream& out, const AxisRef& axis) {
  return out << axis.ToString();
}

}  // namespace xla
