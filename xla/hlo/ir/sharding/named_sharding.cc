#include "xla/hlo/ir/named_sharding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
               absl::Span<const AxisRef> axes, const Mesh& mesh,
               absl::string_view suffix) {
  printer->Append(prefix);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) printer->Append(", ");
    axes[i].Print(printer, mesh);
  }
  printer->Append(suffix);
}

std::vector<AxisRef> AxesFromProto(
    const google::protobuf::RepeatedPtrField<AxisRefProto>& protos) {
  std::vector<AxisRef> axes;
  axes.reserve(protos.size());
  for (const AxisRefProto& proto : protos) {
    axes.push_back(AxisRef::FromProto(proto));
  }
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

void NamedSharding::DimensionSharding::Print(Printer* printer,
                                             const Mesh& mesh) const {
  PrintAxes(printer, "{", axes_, mesh, "");
  if (!is_closed_) printer->Append(axes_.empty() ? "?" : ", ?");
  printer->Append("}");
}

std::string NamedSharding::DimensionSharding::ToString(const Mesh& mesh) const {
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
  const absl::Status status = Validate();
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
  absl::Status status = result.Validate();
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

absl::Status NamedSharding::Validate() const {
  absl::Status status = mesh_.Validate();
  if (!status.ok()) return status;
  std::vector<AxisRef> all;
  for (const DimensionSharding& dim : dim_shardings_) {
    all.insert(all.end(), dim.axes().begin(), dim.axes().end());
  }
  all.insert(all.end(), replicated_axes_.begin(), replicated_axes_.end());
  all.insert(all.end(), unreduced_axes_.begin(), unreduced_axes_.end());
  all.insert(all.end(), manual_axes_.begin(), manual_axes_.end());
  return ValidateAxes(all, mesh_);
}

bool NamedSharding::CoversMesh(absl::Span<const AxisRef> axes) const {
  return !axes.empty() && ShardedSize(axes, mesh_) == mesh_.num_devices();
}

bool NamedSharding::IsReplicated() const {
  if (IsMaximal() || !unreduced_axes_.empty() || !manual_axes_.empty()) {
    return false;
  }
  return std::all_of(dim_shardings_.begin(), dim_shardings_.end(),
                     [this](const DimensionSharding& dim) {
                       return dim.getShardedSize(mesh_) == 1;
                     });
}

bool NamedSharding::IsManual() const { return CoversMesh(manual_axes_); }

bool NamedSharding::IsUnreduced() const { return CoversMesh(unreduced_axes_); }

bool NamedSharding::operator==(const NamedSharding& other) const {
  return mesh_ == other.mesh_ && dim_shardings_ == other.dim_shardings_ &&
         replicated_axes_ == other.replicated_axes_ &&
         unreduced_axes_ == other.unreduced_axes_ &&
         manual_axes_ == other.manual_axes_ &&
         reduction_op_ == other.reduction_op_;
}

void NamedSharding::Print(Printer* printer, bool include_metadata) const {
  printer->Append("{");
  mesh_.Print(printer);
  if (!mesh_.IsMaximal()) {
    printer->Append(", [");
    for (size_t i = 0; i < dim_shardings_.size(); ++i) {
      if (i > 0) printer->Append(", ");
      dim_shardings_[i].Print(printer, mesh_);
    }
    printer->Append("]");
  }
  if (!replicated_axes_.empty()) {
    PrintAxes(printer, ", replicated={", replicated_axes_, mesh_, "}");
  }
  if (!unreduced_axes_.empty()) {
    printer->Append(", unreduced=");
    if (reduction_op_ != ReductionOp::kSum) {
      printer->Append(ReductionOpToString(reduction_op_));
    }
    PrintAxes(printer, "{", unreduced_axes_, mesh_, "}");
  }
  if (!manual_axes_.empty()) {
    PrintAxes(printer, ", manual={", manual_axes_, mesh_, "}");
  }
  if (include_metadata && !metadata_.empty()) {
    printer->Append(",");
    PrintShardingMetadataList(printer, metadata_);
  }
  printer->Append("}");
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
  for (const NamedShardingProto::DimensionSharding& dim :
       proto.dim_shardings()) {
    dims.emplace_back(AxesFromProto(dim.axes()), dim.is_closed());
  }
  const int op = static_cast<int>(proto.reduction_op());
  if (op < 0 || op > static_cast<int>(ReductionOp::kMin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown reduction operator ", op, " of a sharding"));
  }
  return Create(
      *std::move(mesh), dims, AxesFromProto(proto.replicated_axes()),
      AxesFromProto(proto.unreduced_axes()), AxesFromProto(proto.manual_axes()),
      std::vector<OpMetadata>(proto.metadata().begin(), proto.metadata().end()),
      static_cast<ReductionOp>(op));
}

NamedSharding NamedSharding::FromProto(const NamedShardingProto& proto) {
  absl::StatusOr<NamedSharding> sharding = CreateFromProto(proto);
  CHECK(sharding.ok()) << sharding.status();
  return *std::move(sharding);
}

std::ostream& operator<<(std::ostream& out, const NamedSharding& sharding) {
  return out << sharding.ToString();
}

}  // namespace xla
