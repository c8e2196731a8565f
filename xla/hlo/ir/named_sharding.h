#ifndef XLA_HLO_IR_NAMED_SHARDING_H_
#define XLA_HLO_IR_NAMED_SHARDING_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/mesh_and_axis.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

// How the addends of an unreduced value combine.
enum class ReductionOp { kSum = 0, kMax = 1, kMin = 2 };

// "sum", "max", "min".
const char* ReductionOpToString(ReductionOp op);

// A sharding by names: which axes of a mesh cut which dimension.
//
//   {mesh['x'=2,'y'=4], [{'x'}, {'y':(1)2, ?}], unreduced={'y':(2)2}}
//
// `?` marks a dimension that propagation may cut further (open). The value is
// implicitly replicated over axes that are not named.
class NamedSharding {
 public:
  class DimensionSharding {
   public:
    DimensionSharding() = default;
    explicit DimensionSharding(std::vector<AxisRef> axes, bool is_closed = true)
        : axes_(std::move(axes)), is_closed_(is_closed) {}

    absl::Span<const AxisRef> axes() const { return axes_; }
    bool is_closed() const { return is_closed_; }
    // The number of pieces the dimension is cut into.
    int64_t getShardedSize(const Mesh& mesh) const;

    bool operator==(const DimensionSharding& other) const {
      return axes_ == other.axes_ && is_closed_ == other.is_closed_;
    }
    bool operator!=(const DimensionSharding& other) const {
      return !(*this == other);
    }
    template <typename H>
    friend H AbslHashValue(H h, const DimensionSharding& dim) {
      return H::combine(std::move(h), dim.axes_, dim.is_closed_);
    }

    // Adds the other's axes behind these and merges neighbors.
    void Append(const DimensionSharding& other, const Mesh& mesh);
    // Removes the major axes that cut the dimension into `size` pieces, and
    // returns them. nullopt, and no change, if no prefix has that size.
    std::optional<DimensionSharding> Slice(const Mesh& mesh, int64_t size);
    // True if the other dimension is cut as this one and perhaps further, over
    // devices in the same order.
    bool IsPrefixOf(const DimensionSharding& other, const Mesh& mesh,
                    const Mesh& other_mesh) const;

    // `{'x', 'y'}`, `{'x', ?}`, `{?}`, `{}`; without a mesh the axes are
    // numbers.
    void Print(Printer* printer, const Mesh* mesh) const;
    std::string ToString(const Mesh& mesh) const { return ToString(&mesh); }
    std::string ToString(const Mesh* mesh = nullptr) const;

   private:
    std::vector<AxisRef> axes_;
    bool is_closed_ = true;
  };

  // CHECK-fails unless Validate() accepts the result; parsers use Create.
  explicit NamedSharding(Mesh mesh,
                         absl::Span<const DimensionSharding> dim_shardings = {},
                         absl::Span<const AxisRef> replicated_axes = {},
                         absl::Span<const AxisRef> unreduced_axes = {},
                         absl::Span<const AxisRef> manual_axes = {},
                         absl::Span<const OpMetadata> metadata = {},
                         ReductionOp reduction_op = ReductionOp::kSum);
  // As the constructor; InvalidArgument for axes that do not exist, overlap or
  // cut their axis badly, for neighbors in one list that are one axis, and for
  // replicated axes that are not sorted.
  static absl::StatusOr<NamedSharding> Create(
      Mesh mesh, absl::Span<const DimensionSharding> dim_shardings,
      absl::Span<const AxisRef> replicated_axes,
      absl::Span<const AxisRef> unreduced_axes,
      absl::Span<const AxisRef> manual_axes,
      absl::Span<const OpMetadata> metadata = {},
      ReductionOp reduction_op = ReductionOp::kSum);

  static NamedSharding Replicate(absl::Span<const OpMetadata> metadata = {});
  static NamedSharding MaximalSharding(
      int64_t device_id, absl::Span<const OpMetadata> metadata = {});
  static NamedSharding SingleDevice(
      int64_t device_id, absl::Span<const OpMetadata> metadata = {}) {
    return MaximalSharding(device_id, metadata);
  }
  // All axes of the mesh; without a mesh, the devices are left open.
  static NamedSharding Manual(absl::Span<const OpMetadata> metadata = {});
  static NamedSharding Manual(Mesh mesh,
                              absl::Span<const OpMetadata> metadata = {});
  static NamedSharding Unreduced(absl::Span<const OpMetadata> metadata = {});
  static NamedSharding Unreduced(Mesh mesh,
                                 absl::Span<const OpMetadata> metadata = {});

  const Mesh& mesh() const { return mesh_; }
  absl::Span<const DimensionSharding> dim_shardings() const {
    return dim_shardings_;
  }
  const DimensionSharding& dim_sharding(int64_t dim) const {
    return dim_shardings_[dim];
  }
  int64_t num_dimensions() const { return dim_shardings_.size(); }
  // The number of pieces dimension `dim` is cut into.
  int64_t dimension(int64_t dim) const { return dimensions_[dim]; }
  // dimension(0), dimension(1), ...
  absl::Span<const int64_t> dimensions() const { return dimensions_; }
  // 0 for a mesh without axes.
  int64_t num_devices() const {
    return mesh_.IsMaximal() || mesh_.num_axes() > 0 ? mesh_.num_devices() : 0;
  }
  const TileAssignment& device_assignment() const {
    return mesh_.device_assignment();
  }
  absl::Span<const AxisRef> replicated_axes() const { return replicated_axes_; }
  absl::Span<const AxisRef> unreduced_axes() const { return unreduced_axes_; }
  absl::Span<const AxisRef> manual_axes() const { return manual_axes_; }
  std::vector<OpMetadata>& metadata() { return metadata_; }
  const std::vector<OpMetadata>& metadata() const { return metadata_; }
  std::vector<OpMetadata>& mutable_metadata() { return metadata_; }
  ReductionOp reduction_op() const { return reduction_op_; }
  void set_reduction_op(ReductionOp op) { reduction_op_ = op; }

  bool IsMaximal() const { return mesh_.IsMaximal(); }
  bool IsSingleDevice() const { return IsMaximal(); }
  // No axis cuts a dimension, and none is manual or unreduced.
  bool IsReplicated() const;
  // All axes of the mesh are manual (and there is at least one).
  bool IsManual() const;
  bool IsUnreduced() const;
  // Several devices, but not all, hold the same part of the value.
  bool HasPartialReplication() const;
  // Axes, and parts of axes, that are not named; sorted.
  std::vector<AxisRef> GetImplicitlyReplicatedAxes() const;
  // IsReplicated() or IsUnreduced(), and no dimension is open: the mesh does
  // not matter. Such a sharding equals the tiled one of that kind.
  bool IsIndependentOfMesh() const;

  // Whether they mean the same: names of axes, metadata, and which axes are
  // replicated explicitly do not matter.
  bool operator==(const NamedSharding& other) const;
  bool operator!=(const NamedSharding& other) const {
    return !(*this == other);
  }
  template <typename H>
  friend H AbslHashValue(H h, const NamedSharding& s) {
    if (s.IsIndependentOfMesh()) {
      return H::combine(std::move(h), s.IsUnreduced(), s.reduction_op_);
    }
    return H::combine(std::move(h), s.mesh_.device_assignment(),
                      s.dim_shardings_, s.unreduced_axes_, s.manual_axes_,
                      s.reduction_op_, s.whole_);
  }

  // Braces included. `include_metadata` adds `metadata={...}`. Shardings that
  // do not depend on their mesh print as `{replicated}`, `{unreduced}`,
  // `{unreduced=max}`; a mesh that is all manual as `{mesh[...], manual}`.
  void Print(Printer* printer, bool include_metadata = false) const;
  std::string ToString(bool include_metadata = false) const;

  NamedShardingProto ToProto() const;
  // Validates.
  static absl::StatusOr<NamedSharding> CreateFromProto(
      const NamedShardingProto& proto);
  // As CreateFromProto; CHECK-fails on a proto it refuses.
  static NamedSharding FromProto(const NamedShardingProto& proto);

 private:
  // The meaning of `manual` and `unreduced` for a mesh without axes.
  enum class Whole : uint8_t { kNone, kManual, kUnreduced };

  NamedSharding() = default;
  // Checks, and computes dimensions_.
  absl::Status Finish();
  absl::Status Validate() const;
  bool CoversMesh(absl::Span<const AxisRef> axes) const;
  bool HasClosedUncutDimensions() const;
  // Every axis that a dimension, `unreduced` or `manual` names.
  std::vector<AxisRef> UsedAxes() const;
  void PrintParts(Printer* printer) const;

  Mesh mesh_;
  std::vector<DimensionSharding> dim_shardings_;
  std::vector<int64_t> dimensions_;
  std::vector<AxisRef> replicated_axes_;
  std::vector<AxisRef> unreduced_axes_;
  std::vector<AxisRef> manual_axes_;
  std::vector<OpMetadata> metadata_;
  ReductionOp reduction_op_ = ReductionOp::kSum;
  Whole whole_ = Whole::kNone;
};

// InvalidArgument for what NamedSharding::Create refuses.
absl::Status VerifyNamedSharding(const NamedSharding& sharding);

namespace test_utils {
// A sharding from names of axes, for tests; CHECK-fails for names that are not
// in the mesh.
NamedSharding FromAxisNames(
    Mesh mesh, absl::Span<const std::vector<std::string>> dim_shardings,
    absl::Span<const std::string> replicated_axes = {},
    absl::Span<const std::string> unreduced_axes = {},
    absl::Span<const std::string> manual_axes = {},
    absl::Span<const OpMetadata> metadata = {});
}  // namespace test_utils

// ` metadata={...}`, a list when there are several; nothing when there is none.
void PrintShardingMetadataList(Printer* printer,
                               absl::Span<const OpMetadata> metadata);

std::ostream& operator<<(std::ostream& out, const NamedSharding& sharding);

}  // namespace xla

#endif  // XLA_HLO_IR_NAMED_SHARDING_H_
