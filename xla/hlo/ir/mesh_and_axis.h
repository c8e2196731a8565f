#ifndef XLA_HLO_IR_MESH_AND_AXIS_H_
#define XLA_HLO_IR_MESH_AND_AXIS_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

// A named grid of devices: `mesh['x'=2,'y'=4]`, with the devices in row-major
// order unless `device_ids=(...)` gives another order. A maximal mesh has no
// axes and one device: `maximal_mesh[device_id=5]`.
class Mesh {
 public:
  // No axes, device 0.
  Mesh() : device_assignment_(absl::Span<const int64_t>()) {}
  // The maximal mesh of one device.
  explicit Mesh(int64_t device_id);
  Mesh(absl::Span<const int64_t> axes_sizes,
       absl::Span<const absl::string_view> axes_names);
  Mesh(std::initializer_list<int64_t> axes_sizes,
       absl::Span<const absl::string_view> axes_names)
      : Mesh(absl::MakeConstSpan(axes_sizes.begin(), axes_sizes.size()),
             axes_names) {}
  // The dimensions of `device_assignment` are the axis sizes.
  Mesh(TileAssignment device_assignment,
       absl::Span<const absl::string_view> axes_names);
  // As above; the array holds the devices.
  Mesh(Array<int64_t> device_assignment,
       absl::Span<const absl::string_view> axes_names);
  // Devices listed in row-major order.
  Mesh(absl::Span<const int64_t> device_ids,
       absl::Span<const int64_t> axes_sizes,
       absl::Span<const absl::string_view> axes_names);

  bool IsMaximal() const { return maximal_; }
  int64_t num_axes() const { return axes_names_.size(); }
  int64_t num_devices() const { return device_assignment_.num_elements(); }
  const TileAssignment& device_assignment() const { return device_assignment_; }
  const std::vector<std::string>& axis_names() const { return axes_names_; }
  const std::string& axis_name(int64_t axis) const { return axes_names_[axis]; }
  absl::Span<const int64_t> axis_sizes() const {
    return maximal_ ? absl::Span<const int64_t>()
                    : device_assignment_.dimensions();
  }
  int64_t axis_size(int64_t axis) const { return device_assignment_.dim(axis); }
  // nullopt when no axis has that name.
  std::optional<int64_t> FindAxis(absl::string_view name) const;

  // InvalidArgument unless names are unique and not empty, one per axis, and
  // the devices are exactly 0..n-1 (for a maximal mesh: one device >= 0).
  absl::Status Validate() const;

  // Equal sizes and devices; the names of the axes do not matter.
  bool DeviceAssignmentEquals(const Mesh& other) const {
    return maximal_ == other.maximal_ &&
           device_assignment_ == other.device_assignment_;
  }
  bool operator==(const Mesh& other) const {
    return DeviceAssignmentEquals(other) && axes_names_ == other.axes_names_;
  }
  bool operator!=(const Mesh& other) const { return !(*this == other); }
  template <typename H>
  friend H AbslHashValue(H h, const Mesh& mesh) {
    return H::combine(std::move(h), mesh.maximal_, mesh.device_assignment_,
                      mesh.axes_names_);
  }

  void Print(Printer* printer) const;
  std::string ToString() const;

  MeshProto ToProto() const;
  // Validates.
  static absl::StatusOr<Mesh> CreateFromProto(const MeshProto& proto);
  // As CreateFromProto; CHECK-fails on a proto it refuses.
  static Mesh FromProto(const MeshProto& proto);

 private:
  TileAssignment device_assignment_;
  std::vector<std::string> axes_names_;
  bool maximal_ = false;
};

// An axis of a mesh, or a part of one. The part `'a':(p)s` of an axis of size
// n is the middle factor of the split [p, s, n / (p * s)], major first.
class AxisRef {
 public:
  struct SubAxis {
    int64_t pre_size;
    int64_t size;
    bool operator==(const SubAxis& other) const {
      return pre_size == other.pre_size && size == other.size;
    }
    int64_t next_pre_size() const { return pre_size * size; }
  };

  explicit AxisRef(int64_t mesh_axis_index)
      : mesh_axis_index_(mesh_axis_index) {}
  // CHECK-fails for parts with a factor of less than 1 before them or of a
  // size less than 2; parsers use Create.
  AxisRef(int64_t mesh_axis_index, SubAxis sub_axis)
      : AxisRef(mesh_axis_index, std::optional<SubAxis>(sub_axis)) {}
  AxisRef(int64_t mesh_axis_index, std::optional<SubAxis> sub_axis);
  // InvalidArgument where the constructor fails.
  static absl::StatusOr<AxisRef> Create(int64_t mesh_axis_index,
                                        std::optional<SubAxis> sub_axis);

  int64_t mesh_axis_index() const { return mesh_axis_index_; }
  const std::optional<SubAxis>& sub_axis_info() const { return sub_axis_; }
  int64_t size(const Mesh& mesh) const {
    return sub_axis_ ? sub_axis_->size : mesh.axis_size(mesh_axis_index_);
  }
  // The product of the factors before this part: 1 for a whole axis.
  int64_t pre_size() const { return sub_axis_ ? sub_axis_->pre_size : 1; }

  // InvalidArgument unless the axis exists and the part divides it properly
  // and is not all of it.
  absl::Status Validate(const Mesh& mesh) const;
  // True if some factor of an axis belongs to both.
  bool Overlaps(const AxisRef& other) const;
  // True if both cut their axis at places that one list of factors provides.
  bool CanCoexist(const AxisRef& other) const;
  // Both: they can stand in one list.
  bool CanCoexistWithoutOverlap(const AxisRef& other) const {
    return CanCoexist(other) && !Overlaps(other);
  }
  // The longest major part of this one that does not overlap `other`: all of it
  // if they do not overlap; nullopt if `other` begins no later, or cuts the
  // axis elsewhere.
  std::optional<AxisRef> GetPrefixWithoutOverlap(const AxisRef& other) const;
  // True if `other` follows this part of the same axis immediately.
  bool CanMerge(const AxisRef& other) const;
  // The union of this part and the `other` that follows it: a whole axis if
  // nothing is left out. False, and no change, when !CanMerge(other).
  bool Merge(const AxisRef& other, const Mesh& mesh);

  bool operator==(const AxisRef& other) const {
    return mesh_axis_index_ == other.mesh_axis_index_ &&
           sub_axis_ == other.sub_axis_;
  }
  bool operator!=(const AxisRef& other) const { return !(*this == other); }
  // By axis, then by where it begins, then by size; a whole axis is larger than
  // any part that begins with it.
  bool operator<(const AxisRef& other) const;
  template <typename H>
  friend H AbslHashValue(H h, const AxisRef& axis) {
    return H::combine(std::move(h), axis.mesh_axis_index_, axis.pre_size(),
                      axis.sub_axis_ ? axis.sub_axis_->size : 0);
  }

  // `'a'` or `'a':(2)4`; with the axis's number in place of its name when no
  // mesh is given.
  void Print(Printer* printer, const Mesh& mesh) const;
  std::string ToString(const Mesh& mesh) const { return ToString(&mesh); }
  std::string ToString(const Mesh* mesh = nullptr) const;

  AxisRefProto ToProto() const;
  static absl::StatusOr<AxisRef> CreateFromProto(const AxisRefProto& proto);
  // As CreateFromProto; CHECK-fails on a proto it refuses.
  static AxisRef FromProto(const AxisRefProto& proto);

 private:
  int64_t mesh_axis_index_;
  std::optional<SubAxis> sub_axis_;
};

// Each reference is valid for the mesh and no two of them overlap.
absl::Status ValidateAxes(absl::Span<const AxisRef> axes, const Mesh& mesh);

// Merges neighbors in the list that are neighbors in their axis.
std::vector<AxisRef> MergeAdjacentAxes(absl::Span<const AxisRef> axes,
                                       const Mesh& mesh);
// The same in place; the second sorts first.
void MergeAxes(std::vector<AxisRef>& axes, const Mesh& mesh);
void SortAndMergeAxes(std::vector<AxisRef>& axes, const Mesh& mesh);

// Truncates `axes` before the first one that overlaps one of `others`; the free
// major part of that axis is kept. True if anything was removed.
bool TruncateAxesByRemovingOverlaps(std::vector<AxisRef>& axes,
                                    absl::Span<const AxisRef> others);

// The axes and parts of axes that none of `axes` (valid for the mesh) covers,
// sorted.
std::vector<AxisRef> UncoveredAxes(absl::Span<const AxisRef> axes,
                                   const Mesh& mesh);

// How `axes` (valid for the mesh) cut it: the mesh reshaped so that every
// listed axis or part is a dimension of its own.
struct MeshAxesSplit {
  std::vector<int64_t> sizes;        // of the refined mesh, major first
  std::vector<int64_t> axis_to_dim;  // per entry of `axes`: its dimension
  std::vector<int64_t> unused;       // dimensions no entry names, ascending
};
MeshAxesSplit SplitMeshByAxes(absl::Span<const AxisRef> axes, const Mesh& mesh);

std::ostream& operator<<(std::ostream& out, const Mesh& mesh);
std::ostream& operator<<(std::ostream& out, const AxisRef& axis);

}  // namespace xla

#endif  // XLA_HLO_IR_MESH_AND_AXIS_H_
