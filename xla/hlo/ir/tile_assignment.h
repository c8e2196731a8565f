#ifndef XLA_HLO_IR_TILE_ASSIGNMENT_H_
#define XLA_HLO_IR_TILE_ASSIGNMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

// A device array given by a rule rather than by its elements:
//
//   arange(product(reshape_dims)).reshape(reshape_dims)
//                                .transpose(transpose_perm).reshape(dims)
//
// printed `[4,2]<=[2,4]T(1,0)`; the `T(..)` part is omitted for the identity.
//
// reshape_dims and transpose_perm are canonical: no dimension of extent 1, and
// no two dimensions that stay neighbors, in order, under the transpose. Two
// assignments therefore describe the same array exactly when their three lists
// are equal, which costs O(rank), never O(devices).
class IotaTileAssignment {
 public:
  // Limits how much array() can allocate for a few characters of input (128
  // MiB).
  static constexpr int64_t kMaxElements = int64_t{1} << 24;

  // The identity: element i of the flattened array is device i.
  static IotaTileAssignment Create(absl::Span<const int64_t> dims);
  // CHECK-fails unless Validate() below accepts the arguments.
  static IotaTileAssignment Create(absl::Span<const int64_t> dims,
                                   absl::Span<const int64_t> reshape_dims,
                                   absl::Span<const int> transpose_perm);
  static IotaTileAssignment Create(absl::Span<const int64_t> dims,
                                   const MeshProto::IotaTransform& transform);

  // InvalidArgument unless all extents are positive, both products are equal
  // and at most kMaxElements, and transpose_perm permutes reshape_dims.
  static absl::Status Validate(absl::Span<const int64_t> dims,
                               absl::Span<const int64_t> reshape_dims,
                               absl::Span<const int> transpose_perm);

  // The rule that produces `array`, or nullopt when there is none.
  // O(elements * log(elements)).
  static std::optional<IotaTileAssignment> FromArray(
      const Array<int64_t>& array);

  ~IotaTileAssignment() = default;
  IotaTileAssignment(const IotaTileAssignment& other) = default;
  IotaTileAssignment(IotaTileAssignment&& other) = default;
  IotaTileAssignment& operator=(const IotaTileAssignment& other) = default;
  IotaTileAssignment& operator=(IotaTileAssignment&& other) = default;

  bool operator==(const IotaTileAssignment& other) const {
    return dims() == other.dims() && reshape_dims() == other.reshape_dims() &&
           transpose_perm() == other.transpose_perm();
  }
  bool operator!=(const IotaTileAssignment& other) const {
    return !(*this == other);
  }

  // The device at `index`; O(rank).
  int64_t value_at(absl::Span<const int64_t> index) const;
  // The device at row-major position `linear_index`; O(rank).
  int64_t value_at_linear(int64_t linear_index) const;
  // The inverse of value_at; O(rank).
  std::vector<int64_t> index_for(int64_t device_index) const;

  int64_t ndims() const { return ndims_; }
  absl::Span<const int64_t> dims() const {
    return absl::MakeConstSpan(sizes_).first(ndims_);
  }
  int64_t dim(int n) const { return sizes_[n]; }
  absl::Span<const int64_t> reshape_dims() const {
    return absl::MakeConstSpan(sizes_).subspan(ndims_);
  }
  absl::Span<const int> transpose_perm() const { return perm_; }
  int64_t num_elements() const;
  bool is_identity() const { return perm_.size() <= 1; }

  // The same devices under new dimensions of the same product.
  IotaTileAssignment Reshape(absl::Span<const int64_t> new_dims) const;
  // The transposed array, or nullopt when no rule produces it (a dimension
  // would split at a place that no factor of reshape_dims ends at).
  std::optional<IotaTileAssignment> Transpose(absl::Span<const int> perm) const;

  // `[4,2]<=[2,4]T(1,0)`.
  void Print(Printer* printer) const;
  // The part after `<=`: `[2,4]T(1,0)`.
  void PrintArray(Printer* printer) const;
  std::string ToString() const;
  std::string ArrayToString() const;

  // All elements. O(elements).
  Array<int64_t> ToArray() const;

 private:
  IotaTileAssignment() = default;

  // dims, then reshape dims.
  absl::InlinedVector<int64_t, 7> sizes_;
  absl::InlinedVector<int, 4> perm_;
  int ndims_ = 0;
};

// The elements of the rule (reshape_dims, transpose_perm) in shape `dims`.
Array<int64_t> ToArray(absl::Span<const int64_t> reshape_dims,
                       absl::Span<const int> transpose_perm,
                       absl::Span<const int64_t> dims);

// Which device owns which tile: an array of device ids, given either by its
// elements (V1) or by a rule (V2, IotaTileAssignment). A V2 array is computed
// on the first call of array() and kept; every other member works on the rule.
// Const members may be called concurrently.
//
// V1 and V2 values that describe the same array are equal and hash alike.
class TileAssignment {
 public:
  // Dimensions [1], device 0; allocates nothing.
  TileAssignment() : TileAssignment(absl::MakeConstSpan({int64_t{1}})) {}
  explicit TileAssignment(std::shared_ptr<const Array<int64_t>> array)
      : array_(std::move(array)) {}
  // Dimensions [1].
  explicit TileAssignment(int64_t device_id);
  explicit TileAssignment(IotaTileAssignment iota) : iota_(std::move(iota)) {}
  explicit TileAssignment(absl::Span<const int64_t> dims)
      : iota_(IotaTileAssignment::Create(dims)) {}
  explicit TileAssignment(absl::Span<const int64_t> dims,
                          absl::Span<const int64_t> reshape_dims,
                          absl::Span<const int> transpose_perm)
      : iota_(IotaTileAssignment::Create(dims, reshape_dims, transpose_perm)) {}

  TileAssignment(const TileAssignment& other);
  TileAssignment(TileAssignment&& other) = default;
  TileAssignment& operator=(const TileAssignment& other);
  TileAssignment& operator=(TileAssignment&& other) = default;

  // O(rank) for two V2 values, else O(elements) and no allocation.
  bool operator==(const TileAssignment& other) const;
  bool operator!=(const TileAssignment& other) const {
    return !(*this == other);
  }

  template <typename... Dims>
  std::enable_if_t<array_impl::pack_is_integral<Dims...>::value, int64_t>
  operator()(Dims... dims) const {
    const int64_t indexes[] = {static_cast<int64_t>(dims)...};
    return operator()(absl::MakeConstSpan(indexes));
  }
  int64_t operator()(absl::Span<const int64_t> indexes) const;

  // The position of `device`; CHECK-fails if it is not in the assignment.
  std::vector<int64_t> index_for(int64_t device) const;
  // True if some element is `device`.
  bool contains(int64_t device) const;

  absl::Span<const int64_t> dimensions() const;
  int64_t num_dimensions() const { return dimensions().size(); }
  int64_t dim(int64_t n) const { return dimensions()[n]; }
  int64_t num_elements() const;
  // The element at index (0, 0, ...).
  int64_t first() const;

  // Calls f(index, device) in row-major order; stops at the first error in the
  // case of EachStatus.
  void Each(
      absl::FunctionRef<void(absl::Span<const int64_t>, int64_t)> f) const;
  template <typename Fn>
  void TemplatedEach(const Fn& fn) const {
    Each([&fn](absl::Span<const int64_t> index, int64_t device) {
      fn(index, device);
    });
  }
  absl::Status EachStatus(
      absl::FunctionRef<absl::Status(absl::Span<const int64_t>, int64_t)> f)
      const;

  // The same devices in row-major order under `new_dimensions`. V2 stays V2.
  TileAssignment Reshape(absl::Span<const int64_t> new_dimensions) const;
  // result.dim(i) == dim(perm[i]). V2 stays V2 where a rule exists.
  TileAssignment Transpose(absl::Span<const int> perm) const;

  // `devices=[2,2]<=[4]` (V2), `devices=[2,2]0,1,2,3` (V1).
  void Print(Printer* printer) const;
  // `[4]` after the `<=` (V2), `0,1,2,3` (V1).
  void PrintArray(Printer* printer) const;
  std::string ToString() const;
  std::string ArrayToString() const;

  // Set for V2.
  const std::optional<IotaTileAssignment>& iota() const { return iota_; }
  // The elements; computed once for V2.
  const Array<int64_t>& array() const;
  // The elements if they have been computed, else nullptr.
  const Array<int64_t>* array_ptr() const;
  std::shared_ptr<const Array<int64_t>> shared_array() const;
  // A new copy of the elements.
  std::shared_ptr<Array<int64_t>> shared_array_clone() const;

  // A V2 value of the same array where a rule exists, else *this.
  TileAssignment ToV2() const;

  template <typename H>
  friend H AbslHashValue(H h, const TileAssignment& tile) {
    h = H::combine(std::move(h), tile.dimensions());
    // Elements at 0 and at powers of two tell rules apart, cost O(log n), and
    // do not depend on how the array is given.
    const int64_t n = tile.num_elements();
    if (n > 0) h = H::combine(std::move(h), tile.element_at(0));
    for (int64_t i = 1; i < n && i > 0; i *= 2) {
      h = H::combine(std::move(h), tile.element_at(i));
    }
    return h;
  }

 private:
  // The element at a row-major position.
  int64_t element_at(int64_t linear_index) const;

  std::optional<IotaTileAssignment> iota_;
  // The elements: always set for V1; a cache for V2, accessed atomically.
  mutable std::shared_ptr<const Array<int64_t>> array_;
};

std::ostream& operator<<(std::ostream& out,
                         const TileAssignment& tile_assignment);

// One factor of an iota assignment: the smallest pieces into which both the
// tile dimensions and the transposed reshape dimensions divide.
struct SubDimInfo {
  int64_t tile_dim_index;      // dimension of the tile assignment
  int64_t tile_sub_dim_index;  // its rank within that dimension, minor = 0
  int64_t reshape_dim_index;   // dimension of reshape_dims it comes from
  int64_t size;
};

// The factors, in the order of the device numbering (major first), their sizes
// (a mesh for which the assignment is a reordering of axes), and the rule.
struct AnalyzeTileAssignmentResult {
  std::vector<SubDimInfo> sub_dims;
  std::vector<int64_t> local_mesh;
  std::optional<IotaTileAssignment> iota;
};

// The coarsest list of factors that refines both arrays, without 1s; empty when
// there is none ([2,3] and [3,2]) or when the products differ.
//   [8,4], [4,8]  ->  [4,2,4]
std::vector<int64_t> ExtractCommonFactorSequence(
    absl::Span<const int64_t> array1, absl::Span<const int64_t> array2);

// The factors in device order, or nullopt when dims and the transposed
// reshape dims have no common factorization.
std::optional<std::vector<SubDimInfo>> GetOrderedSubDimsFromIotaTileAssignment(
    const IotaTileAssignment& iota);
absl::StatusOr<std::vector<SubDimInfo>> GetOrderedSubDims(
    absl::Span<const int64_t> dims, absl::Span<const int64_t> reshape_dims,
    absl::Span<const int> transpose_perm);

// As above for any assignment; V1 arrays that no rule produces give nullopt.
std::optional<AnalyzeTileAssignmentResult> AnalyzeTileAssignment(
    const TileAssignment& tile_assignment);

}  // namespace xla

#endif  // XLA_HLO_IR_TILE_ASSIGNMENT_H_
