#include "xla/hlo/ir/named_sharding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_op_metadata.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

int64_t ShardedSize(absl::Span<const AxisRef> axes, const Mesh& mesh) {
  int64_t size = 1;
  for (const AxisRef& axis : axes) size *= axis.size(mesh);
  return size;
}

void PrintAxes(Printer* printer, absl::string_view prefix,
               absl::Span<const AxisRef> axes, const Mesh* mesh,
               absl::string_view suffix) {
  printer->Append(prefix);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) printer->Append(", ");
    printer->Append(axes[i].ToString(mesh));
  }
  printer->Append(suffix);
}

absl::Status AxesFromProto(
    const google::protobuf::RepeatedPtrField<AxisRefProto>& protos,
    std::vector<AxisRef>* axes) {
  axes->reserve(protos.size());
  for (const AxisRefProto& proto : protos) {
    absl::StatusOr<AxisRef> axis = AxisRef::CreateFromProto(proto);
    if (!axis.ok()) return axis.status();
    axes->push_back(*axis);
  }
  return absl::OkStatus();
}

// Neighbors that are one axis are written as one.
absl::Status CheckMerged(absl::Span<const AxisRef> axes, const Mesh& mesh) {
  for (size_t i = 1; i < axes.size(); ++i) {
    if (!axes[i - 1].CanMerge(axes[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("axes ", axes[i - 1].ToString(mesh), " and ",
                     axes[i].ToString(mesh), " of ", mesh.ToString(),
                     " follow each other: they must be written as one"));
  }
  return absl::OkStatus();
}

std::vector<AxisRef> AllAxes(const Mesh& mesh) {
  std::vector<AxisRef> axes;
  for (int64_t i = 0; i < mesh.num_axes(); ++i) axes.emplace_back(i);
  return axes;
}

}  // namespace

const char* ReductionOpToString(ReductionOp op) {
  switch (op) {
    case ReductionOp::kSum:
      return "sum";
    case ReductionOp::kMax:
      return "max";
    case ReductionOp::kMin:
      return "min";
  }
  return "sum";
}

void PrintShardingMetadataList(Printer* printer,
                               absl::Span<const OpMetadata> metadata) {
  if (metadata.empty()) return;
  printer->Append(" metadata={");
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (metadata.size() > 1) printer->Append(i == 0 ? "{" : ", {");
    PrintOpMetadata(printer, metadata[i]);
    if (metadata.size() > 1) printer->Append("}");
  }
  printer->Append("}");
}

int64_t NamedSharding::DimensionSharding::getShardedSize(
    const Mesh& mesh) const {
  return ShardedSize(axes_, mesh);
}

void NamedSharding::DimensionSharding::Append(const DimensionSharding& other,
                                              const Mesh& mesh) {
  axes_.insert(axes_.end(), other.axes_.begin(), other.axes_.end());
  MergeAxes(axes_, mesh);
}

// Splits the axes into a major part of `size` shards, which is returned, and
// the minor rest, which stays. The boundary may fall inside an axis; the axis
// is then split into two sub-axes.
std::optional<NamedSharding::DimensionSharding>
NamedSharding::DimensionSharding::Slice(const Mesh& mesh, int64_t size) {
  if (size < 1) return std::nullopt;
  std::vector<AxisRef> major;
  size_t next = 0;
  for (; next < axes_.size() && size > 1; ++next) {
    const int64_t axis_size = axes_[next].size(mesh);
    if (size % axis_size != 0) break;
    size /= axis_size;
    major.push_back(axes_[next]);
  }
  std::vector<AxisRef> minor(axes_.begin() + next, axes_.end());
  if (size > 1) {
    // The rest of the prefix is a part of the next axis.
    if (minor.empty() || minor[0].size(mesh) % size != 0) return std::nullopt;
    const AxisRef split = minor[0];
    const int64_t axis = split.mesh_axis_index();
    major.emplace_back(axis, AxisRef::SubAxis{split.pre_size(), size});
    minor[0] = AxisRef(axis, AxisRef::SubAxis{split.pre_size() * size,
                                              split.size(mesh) / size});
  }
  axes_ = std::move(minor);
  return DimensionSharding(std::move(major), is_closed_);
}

bool NamedSharding::DimensionSharding::IsPrefixOf(
    const DimensionSharding& other, const Mesh& mesh,
    const Mesh& other_mesh) const {
  if (!mesh.DeviceAssignmentEquals(other_mesh)) return false;
  if (axes_.size() > other.axes_.size()) return false;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i] == other.axes_[i]) continue;
    // Only the last may be a major part of the other's.
    return i + 1 == axes_.size() &&
           axes_[i].mesh_axis_index() == other.axes_[i].mesh_axis_index() &&
           axes_[i].pre_size() == other.axes_[i].pre_size() &&
           other.axes_[i].size(mesh) % axes_[i].size(mesh) == 0;
  }
  return true;
}

void NamedSharding::DimensionSharding::Print(Printer* printer,
                                             const Mesh* mesh) const {
  PrintAxes(printer, "{", axes_, mesh, "");
  if (!is_closed_) printer->Append(axes_.empty() ? "?" : ", ?");
  printer->Append("}");
}

std::string NamedSharding::DimensionSharding::ToString(const Mesh* mesh) const {
  StringPrinter printer;
  Print(&printer, mesh);
  return std::move(printer).ToString();
}

NamedSharding::NamedSharding(Mesh mesh,
                             absl::Span<const DimensionSharding> dim_shardings,
                             absl::Span<const AxisRef> replicated_axes,
                             absl::Span<const AxisRef> unreduced_axes,
                             absl::Span<const AxisRef> manual_axes,
                             absl::Span<const OpMetadata> metadata,
                             ReductionOp reduction_op)
    : mesh_(std::move(mesh)),
      dim_shardings_(dim_shardings.begin(), dim_shardings.end()),
      replicated_axes_(replicated_axes.begin(), replicated_axes.end()),
      unreduced_axes_(unreduced_axes.begin(), unreduced_axes.end()),
      manual_axes_(manual_axes.begin(), manual_axes.end()),
      metadata_(metadata.begin(), metadata.end()),
      reduction_op_(reduction_op) {
  const absl::Status status = Finish();
  CHECK(status.ok()) << status;
}

absl::StatusOr<NamedSharding> NamedSharding::Create(
    Mesh mesh, absl::Span<const DimensionSharding> dim_shardings,
    absl::Span<const AxisRef> replicated_axes,
    absl::Span<const AxisRef> unreduced_axes,
    absl::Span<const AxisRef> manual_axes,
    absl::Span<const OpMetadata> metadata, ReductionOp reduction_op) {
  NamedSharding result;
  result.mesh_ = std::move(mesh);
  result.dim_shardings_.assign(dim_shardings.begin(), dim_shardings.end());
  result.replicated_axes_.assign(replicated_axes.begin(),
                                 replicated_axes.end());
  result.unreduced_axes_.assign(unreduced_axes.begin(), unreduced_axes.end());
  result.manual_axes_.assign(manual_axes.begin(), manual_axes.end());
  result.metadata_.assign(metadata.begin(), metadata.end());
  result.reduction_op_ = reduction_op;
  absl::Status status = result.Finish();
  if (!status.ok()) return status;
  return result;
}

NamedSharding NamedSharding::Replicate(absl::Span<const OpMetadata> metadata) {
  return NamedSharding(Mesh(), {}, {}, {}, {}, metadata);
}

NamedSharding NamedSharding::MaximalSharding(
    int64_t device_id, absl::Span<const OpMetadata> metadata) {
  return NamedSharding(Mesh(device_id), {}, {}, {}, {}, metadata);
}

NamedSharding NamedSharding::Manual(Mesh mesh,
                                    absl::Span<const OpMetadata> metadata) {
  std::vector<AxisRef> axes = AllAxes(mesh);
  NamedSharding result(std::move(mesh), {}, {}, {}, axes, metadata);
  if (axes.empty()) result.whole_ = Whole::kManual;
  return result;
}

NamedSharding NamedSharding::Manual(absl::Span<const OpMetadata> metadata) {
  return Manual(Mesh(), metadata);
}

NamedSharding NamedSharding::Unreduced(Mesh mesh,
                                       absl::Span<const OpMetadata> metadata) {
  std::vector<AxisRef> axes = AllAxes(mesh);
  NamedSharding result(std::move(mesh), {}, {}, axes, {}, metadata);
  if (axes.empty()) result.whole_ = Whole::kUnreduced;
  return result;
}

NamedSharding NamedSharding::Unreduced(absl::Span<const OpMetadata> metadata) {
  return Unreduced(Mesh(), metadata);
}

absl::Status NamedSharding::Finish() {
  absl::Status status = Validate();
  if (!status.ok()) return status;
  dimensions_.clear();
  for (const DimensionSharding& dim : dim_shardings_) {
    dimensions_.push_back(dim.getShardedSize(mesh_));
  }
  return absl::OkStatus();
}

std::vector<AxisRef> NamedSharding::UsedAxes() const {
  std::vector<AxisRef> all;
  for (const DimensionSharding& dim : dim_shardings_) {
    all.insert(all.end(), dim.axes().begin(), dim.axes().end());
  }
  all.insert(all.end(), unreduced_axes_.begin(), unreduced_axes_.end());
  all.insert(all.end(), manual_axes_.begin(), manual_axes_.end());
  return all;
}

absl::Status NamedSharding::Validate() const {
  absl::Status status = mesh_.Validate();
  if (!status.ok()) return status;
  std::vector<AxisRef> all = UsedAxes();
  all.insert(all.end(), replicated_axes_.begin(), replicated_axes_.end());
  status = ValidateAxes(all, mesh_);
  for (const DimensionSharding& dim : dim_shardings_) {
    if (status.ok()) status = CheckMerged(dim.axes(), mesh_);
  }
  for (const std::vector<AxisRef>* axes :
       {&replicated_axes_, &unreduced_axes_, &manual_axes_}) {
    if (status.ok()) status = CheckMerged(*axes, mesh_);
  }
  if (!status.ok()) return status;
  if (!std::is_sorted(replicated_axes_.begin(), replicated_axes_.end())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "replicated axes must stand in the order of ", mesh_.ToString()));
  }
  return absl::OkStatus();
}

absl::Status VerifyNamedSharding(const NamedSharding& sharding) {
  return NamedSharding::Create(sharding.mesh(), sharding.dim_shardings(),
                               sharding.replicated_axes(),
                               sharding.unreduced_axes(),
                               sharding.manual_axes(), sharding.metadata(),
                               sharding.reduction_op())
      .status();
}

bool NamedSharding::CoversMesh(absl::Span<const AxisRef> axes) const {
  return !axes.empty() && ShardedSize(axes, mesh_) == mesh_.num_devices();
}

bool NamedSharding::IsReplicated() const {
  if (IsMaximal() || !unreduced_axes_.empty() || !manual_axes_.empty() ||
      whole_ != Whole::kNone) {
    return false;
  }
  return std::all_of(dim_shardings_.begin(), dim_shardings_.end(),
                     [this](const DimensionSharding& dim) {
                       return dim.getShardedSize(mesh_) == 1;
                     });
}

bool NamedSharding::IsManual() const {
  return whole_ == Whole::kManual || CoversMesh(manual_axes_);
}

bool NamedSharding::IsUnreduced() const {
  return whole_ == Whole::kUnreduced || CoversMesh(unreduced_axes_);
}

bool NamedSharding::HasPartialReplication() const {
  return !IsMaximal() && !IsReplicated() && whole_ == Whole::kNone &&
         ShardedSize(UsedAxes(), mesh_) < mesh_.num_devices();
}

std::vector<AxisRef> NamedSharding::GetImplicitlyReplicatedAxes() const {
  std::vector<AxisRef> named = UsedAxes();
  named.insert(named.end(), replicated_axes_.begin(), replicated_axes_.end());
  return UncoveredAxes(named, mesh_);
}

bool NamedSharding::HasClosedUncutDimensions() const {
  return std::all_of(dim_shardings_.begin(), dim_shardings_.end(),
                     [](const DimensionSharding& dim) {
                       return dim.is_closed() && dim.axes().empty();
                     });
}

bool NamedSharding::IsIndependentOfMesh() const {
  return HasClosedUncutDimensions() && (IsReplicated() || IsUnreduced());
}

bool NamedSharding::operator==(const NamedSharding& other) const {
  if (reduction_op_ != other.reduction_op_) return false;
  if (IsIndependentOfMesh() || other.IsIndependentOfMesh()) {
    return IsIndependentOfMesh() && other.IsIndependentOfMesh() &&
           IsUnreduced() == other.IsUnreduced();
  }
  return mesh_.DeviceAssignmentEquals(other.mesh_) &&
         dim_shardings_ == other.dim_shardings_ &&
         unreduced_axes_ == other.unreduced_axes_ &&
         manual_axes_ == other.manual_axes_ && whole_ == other.whole_;
}

void NamedSharding::Print(Printer* printer, bool include_metadata) const {
  printer->Append("{");
  if (IsIndependentOfMesh()) {
    printer->Append(IsReplicated() ? "replicated" : "unreduced");
    if (reduction_op_ != ReductionOp::kSum) {
      printer->Append("=");
      printer->Append(ReductionOpToString(reduction_op_));
    }
  } else {
    PrintParts(printer);
  }
  if (include_metadata && !metadata_.empty()) {
    if (!IsIndependentOfMesh()) printer->Append(",");
    PrintShardingMetadataList(printer, metadata_);
  }
  printer->Append("}");
}

void NamedSharding::PrintParts(Printer* printer) const {
  mesh_.Print(printer);
  if (dim_shardings_.empty() &&
      (whole_ == Whole::kManual || manual_axes_ == AllAxes(mesh_)) &&
      IsManual()) {
    printer->Append(", manual");
    return;
  }
  if (!mesh_.IsMaximal()) {
    printer->Append(", [");
    for (size_t i = 0; i < dim_shardings_.size(); ++i) {
      if (i > 0) printer->Append(", ");
      dim_shardings_[i].Print(printer, &mesh_);
    }
    printer->Append("]");
  }
  if (!replicated_axes_.empty()) {
    PrintAxes(printer, ", replicated={", replicated_axes_, &mesh_, "}");
  }
  if (!unreduced_axes_.empty()) {
    printer->Append(", unreduced=");
    if (reduction_op_ != ReductionOp::kSum) {
      printer->Append(ReductionOpToString(reduction_op_));
    }
    PrintAxes(printer, "{", unreduced_axes_, &mesh_, "}");
  }
  if (!manual_axes_.empty()) {
    PrintAxes(printer, ", manual={", manual_axes_, &mesh_, "}");
  }
}

std::string NamedSharding::ToString(bool include_metadata) const {
  StringPrinter printer;
  Print(&printer, include_metadata);
  return std::move(printer).ToString();
}

NamedShardingProto NamedSharding::ToProto() const {
  NamedShardingProto proto;
  *proto.mutable_mesh() = mesh_.ToProto();
  for (const DimensionSharding& dim : dim_shardings_) {
    NamedShardingProto::DimensionSharding* out = proto.add_dim_shardings();
    for (const AxisRef& axis : dim.axes()) *out->add_axes() = axis.ToProto();
    out->set_is_closed(dim.is_closed());
  }
  for (const AxisRef& axis : replicated_axes_) {
    *proto.add_replicated_axes() = axis.ToProto();
  }
  for (const AxisRef& axis : unreduced_axes_) {
    *proto.add_unreduced_axes() = axis.ToProto();
  }
  for (const AxisRef& axis : manual_axes_) {
    *proto.add_manual_axes() = axis.ToProto();
  }
  for (const OpMetadata& metadata : metadata_) *proto.add_metadata() = metadata;
  proto.set_reduction_op(static_cast<NamedShardingProto::ReductionOpProto>(
      static_cast<int>(reduction_op_)));
  return proto;
}

absl::StatusOr<NamedSharding> NamedSharding::CreateFromProto(
    const NamedShardingProto& proto) {
  absl::StatusOr<Mesh> mesh = Mesh::CreateFromProto(proto.mesh());
  if (!mesh.ok()) return mesh.status();
  std::vector<DimensionSharding> dims;
  absl::Status status;
  for (const NamedShardingProto::DimensionSharding& dim :
       proto.dim_shardings()) {
    std::vector<AxisRef> axes;
    status.Update(AxesFromProto(dim.axes(), &axes));
    dims.emplace_back(std::move(axes), dim.is_closed());
  }
  std::vector<AxisRef> replicated, unreduced, manual;
  status.Update(AxesFromProto(proto.replicated_axes(), &replicated));
  status.Update(AxesFromProto(proto.unreduced_axes(), &unreduced));
  status.Update(AxesFromProto(proto.manual_axes(), &manual));
  if (!status.ok()) return status;
  const int op = static_cast<int>(proto.reduction_op());
  if (op < 0 || op > static_cast<int>(ReductionOp::kMin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown reduction operator ", op, " of a sharding"));
  }
  // Without unreduced axes there is no reduction operator.
  const ReductionOp reduction =
      unreduced.empty() ? ReductionOp::kSum : static_cast<ReductionOp>(op);
  return Create(
      *std::move(mesh), dims, replicated, unreduced, manual,
      std::vector<OpMetadata>(proto.metadata().begin(), proto.metadata().end()),
      reduction);
}

NamedSharding NamedSharding::FromProto(const NamedShardingProto& proto) {
  absl::StatusOr<NamedSharding> sharding = CreateFromProto(proto);
  CHECK(sharding.ok()) << sharding.status();
  return *std::move(sharding);
}

std::ostream& operator<<(std::ostream& out, const NamedSharding& sharding) {
  return out << sharding.ToString();
}

namespace test_utils {
namespace {

std::vector<AxisRef> AxesByName(const Mesh& mesh,
                                absl::Span<const std::string> names) {
  std::vector<AxisRef> axes;
  for (const std::string& name : names) {
    const std::optional<int64_t> axis = mesh.FindAxis(name);
    CHECK(axis.has_value()) << "no axis '" << name << "' in " << mesh;
    axes.emplace_back(*axis);
  }
  return axes;
}

}  // namespace

NamedSharding FromAxisNames(
    Mesh mesh, absl::Span<const std::vector<std::string>> dim_shardings,
    absl::Span<const std::string> replicated_axes,
    absl::Span<const std::string> unreduced_axes,
    absl::Span<const std::string> manual_axes,
    absl::Span<const OpMetadata> metadata) {
  std::vector<NamedSharding::DimensionSharding> dims;
  for (const std::vector<std::string>& names : dim_shardings) {
    dims.emplace_back(AxesByName(mesh, names));
  }
  const std::vector<AxisRef> replicated = AxesByName(mesh, replicated_axes);
  const std::vector<AxisRef> unreduced = AxesByName(mesh, unreduced_axes);
  const std::vector<AxisRef> manual = AxesByName(mesh, manual_axes);
  return NamedSharding(std::move(mesh), dims, replicated, unreduced, manual,
                       metadata);
}

}  // namespace test_utils

}  // namespace xla
