// Common factors of tile dimensions and iota dimensions.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/tile_assignment.h"

namespace xla {

// Reads both factorizations from the major end and splits each at the
// boundaries of the other: [4,6] and [8,3] have the boundaries 4 and 8, hence
// 4, 2, 3. An iota reshaped to either array is then one reshaped to the common
// factors, with neighbors merged. Where two boundaries do not divide one
// another, as those of [2,3] and [3,2] after 2 and 3, no such factors exist.
std::vector<int64_t> ExtractCommonFactorSequence(
    absl::Span<const int64_t> array1, absl::Span<const int64_t> array2) {
  std::vector<int64_t> factors;
  size_t i = 0;
  size_t j = 0;
  int64_t left1 = 1;
  int64_t left2 = 1;
  while (true) {
    while (left1 == 1 && i < array1.size()) left1 = array1[i++];
    while (left2 == 1 && j < array2.size()) left2 = array2[j++];
    if (left1 == 1 && left2 == 1) return factors;
    const int64_t factor = std::min(left1, left2);
    if (factor <= 1 || left1 % factor != 0 || left2 % factor != 0) return {};
    factors.push_back(factor);
    left1 /= factor;
    left2 /= factor;
  }
}

// The tile dimensions and the transposed iota dimensions list the same devices
// in the same order, so both are factorizations of one row-major number; the
// common factors give each tile dimension its digits. A sub-dimension counts
// from the minor end of its tile dimension. The sort undoes the transpose:
// sub-dimensions in the order of the iota are axes of the mesh in which device
// ids are row-major. It is stable, as several factors of one iota dimension
// already stand from major to minor.
absl::StatusOr<std::vector<SubDimInfo>> GetOrderedSubDims(
    absl::Span<const int64_t> dims, absl::Span<const int64_t> reshape_dims,
    absl::Span<const int> transpose_perm) {
  absl::Status status =
      IotaTileAssignment::Validate(dims, reshape_dims, transpose_perm);
  if (!status.ok()) return status;
  std::vector<int64_t> source_dims;
  for (int p : transpose_perm) source_dims.push_back(reshape_dims[p]);
  const std::vector<int64_t> factors =
      ExtractCommonFactorSequence(dims, source_dims);
  std::vector<SubDimInfo> result;
  if (factors.empty()) {
    const bool trivial = std::all_of(dims.begin(), dims.end(),
                                     [](int64_t dim) { return dim == 1; });
    if (trivial) return result;
    return absl::InvalidArgumentError(
        absl::StrCat("no common factors of [", absl::StrJoin(dims, ","),
                     "] and [", absl::StrJoin(source_dims, ","), "]"));
  }
  size_t tile_dim = 0;
  size_t source = 0;
  int64_t tile_left = dims[0];
  int64_t source_left = source_dims[0];
  for (int64_t factor : factors) {
    while (tile_left == 1) tile_left = dims[++tile_dim];
    while (source_left == 1) source_left = source_dims[++source];
    result.push_back(
        {static_cast<int64_t>(tile_dim), 0, transpose_perm[source], factor});
    tile_left /= factor;
    source_left /= factor;
  }
  for (int64_t i = static_cast<int64_t>(result.size()) - 2; i >= 0; --i) {
    if (result[i].tile_dim_index == result[i + 1].tile_dim_index) {
      result[i].tile_sub_dim_index = result[i + 1].tile_sub_dim_index + 1;
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const SubDimInfo& a, const SubDimInfo& b) {
                     return a.reshape_dim_index < b.reshape_dim_index;
                   });
  return result;
}

std::optional<std::vector<SubDimInfo>> GetOrderedSubDimsFromIotaTileAssignment(
    const IotaTileAssignment& iota) {
  absl::StatusOr<std::vector<SubDimInfo>> sub_dims = GetOrderedSubDims(
      iota.dims(), iota.reshape_dims(), iota.transpose_perm());
  if (!sub_dims.ok()) return std::nullopt;
  return *std::move(sub_dims);
}

std::optional<AnalyzeTileAssignmentResult> AnalyzeTileAssignment(
    const TileAssignment& tile_assignment) {
  AnalyzeTileAssignmentResult result;
  result.iota = tile_assignment.ToV2().iota();
  if (!result.iota) return std::nullopt;
  std::optional<std::vector<SubDimInfo>> sub_dims =
      GetOrderedSubDimsFromIotaTileAssignment(*result.iota);
  if (!sub_dims) return std::nullopt;
  result.sub_dims = *std::move(sub_dims);
  for (const SubDimInfo& sub_dim : result.sub_dims) {
    result.local_mesh.push_back(sub_dim.size);
  }
  return result;
}

}  // namespace xla
