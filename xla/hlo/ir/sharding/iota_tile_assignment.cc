#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "xla/array.h"
#include "xla/hlo/ir/sharding/tile_assignment_internal.h"
#include "xla/hlo/ir/tile_assignment.h"
#include "xla/printer.h"
#include "xla/xla_data.pb.h"

namespace xla {

using tile_assignment_internal::Dims;
using tile_assignment_internal::IotaWalker;
using tile_assignment_internal::StridesOf;

namespace {

int64_t ProductOf(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) product *= dim;
  return product;
}

// Drops extents of 1 and merges neighbors that the transpose keeps neighbors.
//
// An assignment `arange(n).reshape(r).transpose(p)` has many spellings. Two
// source dimensions that are neighbors before and after the transpose behave
// as one, and extents of 1 say nothing; without them the pair (r, p) is unique,
// so that equality of assignments is equality of the members and no device list
// has to be expanded. Linear in the rank apart from a sort.
void Canonicalize(absl::Span<const int64_t> reshape_dims,
                  absl::Span<const int> perm, Dims* canonical_dims,
                  absl::InlinedVector<int, 4>* canonical_perm) {
  // Numbers of the extents that are not 1.
  absl::InlinedVector<int, 6> number(reshape_dims.size(), -1);
  int count = 0;
  for (size_t i = 0; i < reshape_dims.size(); ++i) {
    if (reshape_dims[i] != 1) number[i] = count++;
  }
  // Runs of consecutive numbers in transposed order: (first number, product).
  absl::InlinedVector<std::pair<int, int64_t>, 6> runs;
  int previous = -2;
  for (int p : perm) {
    if (number[p] < 0) continue;
    if (number[p] == previous + 1) {
      runs.back().second *= reshape_dims[p];
    } else {
      runs.push_back({number[p], reshape_dims[p]});
    }
    previous = number[p];
  }
  if (runs.empty()) runs.push_back({0, 1});
  absl::InlinedVector<int, 6> order(runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return runs[a].first < runs[b].first; });
  canonical_dims->clear();
  canonical_perm->assign(runs.size(), 0);
  for (size_t i = 0; i < order.size(); ++i) {
    canonical_dims->push_back(runs[order[i]].second);
    (*canonical_perm)[order[i]] = static_cast<int>(i);
  }
}

// The product, or nullopt when an extent is not positive or the product is too
// large.
std::optional<int64_t> CheckedProduct(absl::Span<const int64_t> dims) {
  int64_t product = 1;
  for (int64_t dim : dims) {
    if (dim <= 0 || dim > IotaTileAssignment::kMaxElements) return std::nullopt;
    product *= dim;
    if (product > IotaTileAssignment::kMaxElements) return std::nullopt;
  }
  return product;
}

absl::InlinedVector<int64_t, 6> Permuted(absl::Span<const int64_t> dims,
                                         absl::Span<const int> perm) {
  absl::InlinedVector<int64_t, 6> result;
  for (int p : perm) result.push_back(dims[p]);
  return result;
}

}  // namespace

absl::Status IotaTileAssignment::Validate(
    absl::Span<const int64_t> dims, absl::Span<const int64_t> reshape_dims,
    absl::Span<const int> transpose_perm) {
  const std::optional<int64_t> count = CheckedProduct(dims);
  const std::optional<int64_t> source_count = CheckedProduct(reshape_dims);
  if (!count || !source_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tile dimensions must be positive and their product at most ",
        kMaxElements, ": [", absl::StrJoin(dims, ","), "]<=[",
        absl::StrJoin(reshape_dims, ","), "]"));
  }
  if (*count != *source_count) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tile dimensions [", absl::StrJoin(dims, ","), "] have ", *count,
        " elements but iota dimensions [", absl::StrJoin(reshape_dims, ","),
        "] have ", *source_count));
  }
  if (reshape_dims.empty()) {
    return absl::InvalidArgumentError("iota dimensions are empty");
  }
  absl::InlinedVector<bool, 8> seen(reshape_dims.size(), false);
  bool valid = transpose_perm.size() == reshape_dims.size();
  for (int p : transpose_perm) {
    valid = valid && p >= 0 && p < static_cast<int>(seen.size()) && !seen[p];
    if (!valid) break;
    seen[p] = true;
  }
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "T(", absl::StrJoin(transpose_perm, ","), ") does not permute the ",
        reshape_dims.size(), " iota dimensions [",
        absl::StrJoin(reshape_dims, ","), "]"));
  }
  return absl::OkStatus();
}

IotaTileAssignment IotaTileAssignment::Create(absl::Span<const int64_t> dims) {
  const bool is_empty =
      !dims.empty() && std::all_of(dims.begin(), dims.end(),
                                   [](int64_t dim) { return dim == 0; });
  if (is_empty) {
    // No groups of no devices: nothing that text or protos could hold.
    IotaTileAssignment result;
    result.ndims_ = static_cast<int>(dims.size());
    result.sizes_.assign(dims.begin(), dims.end());
    result.sizes_.push_back(0);
    result.perm_.push_back(0);
    return result;
  }
  return Create(dims, {ProductOf(dims)}, {0});
}

IotaTileAssignment IotaTileAssignment::Create(
    absl::Span<const int64_t> dims, absl::Span<const int64_t> reshape_dims,
    absl::Span<const int> transpose_perm) {
  const absl::Status status = Validate(dims, reshape_dims, transpose_perm);
  CHECK(status.ok()) << status;
  IotaTileAssignment result;
  result.ndims_ = static_cast<int>(dims.size());
  result.sizes_.assign(dims.begin(), dims.end());
  Dims canonical_dims;
  Canonicalize(reshape_dims, transpose_perm, &canonical_dims, &result.perm_);
  result.sizes_.insert(result.sizes_.end(), canonical_dims.begin(),
                       canonical_dims.end());
  return result;
}

IotaTileAssignment IotaTileAssignment::Create(
    absl::Span<const int64_t> dims, const MeshProto::IotaTransform& transform) {
  absl::InlinedVector<int, 4> perm(transform.transpose_perm().begin(),
                                   transform.transpose_perm().end());
  if (perm.empty()) {
    perm.resize(transform.reshape_dims_size());
    std::iota(perm.begin(), perm.end(), 0);
  }
  return Create(dims, transform.reshape_dims(), perm);
}

// The inverse of ToArray: recovers the source dimensions of a device list, if
// it has any. In a transposed iota the minor-most source dimension shows up as
// an arithmetic progression; whole blocks of it form the next progression, and
// so on. The strides found this way, sorted, must be the strides of a row-major
// array of n elements; a final pass compares every element, because the scan
// has only looked at the first block of each level. O(n).
std::optional<IotaTileAssignment> IotaTileAssignment::FromArray(
    const Array<int64_t>& array) {
  const int64_t n = array.num_elements();
  if (n == 0 || n > kMaxElements) return std::nullopt;
  const int64_t* values = array.begin();
  if (values[0] != 0) return std::nullopt;
  // Each axis shows up, minor first, as the longest arithmetic progression
  // over blocks of the axes before it.
  struct Axis {
    int64_t stride;
    int64_t size;
    int position;  // minor first
  };
  absl::InlinedVector<Axis, 4> axes;
  for (int64_t block = 1; block < n;) {
    const int64_t stride = values[block];
    int64_t size = 1;
    while (size * block < n && values[size * block] == size * stride) ++size;
    if (stride <= 0 || n % (size * block) != 0) return std::nullopt;
    axes.push_back({stride, size, static_cast<int>(axes.size())});
    block *= size;
  }
  const int rank = static_cast<int>(axes.size());
  std::sort(axes.begin(), axes.end(),
            [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  Dims reshape_dims;
  absl::InlinedVector<int, 4> perm(rank);
  int64_t expected = n;
  for (int i = 0; i < rank; ++i) {
    if (axes[i].stride * axes[i].size != expected) return std::nullopt;
    expected = axes[i].stride;
    reshape_dims.push_back(axes[i].size);
    perm[rank - 1 - axes[i].position] = i;
  }
  if (expected != 1) return std::nullopt;
  if (rank == 0) {
    reshape_dims.push_back(1);
    perm.push_back(0);
  }
  IotaWalker walker(reshape_dims, perm);
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] != walker.Next()) return std::nullopt;
  }
  return Create(array.dimensions(), reshape_dims, perm);
}

int64_t IotaTileAssignment::value_at(absl::Span<const int64_t> index) const {
  DCHECK_EQ(index.size(), ndims_);
  int64_t linear = 0;
  for (int i = 0; i < ndims_; ++i) linear = linear * sizes_[i] + index[i];
  return value_at_linear(linear);
}

int64_t IotaTileAssignment::value_at_linear(int64_t linear_index) const {
  if (is_identity()) return linear_index;
  const absl::Span<const int64_t> source = reshape_dims();
  const Dims strides = StridesOf(source);
  int64_t value = 0;
  for (int i = static_cast<int>(perm_.size()) - 1; i >= 0; --i) {
    value += (linear_index % source[perm_[i]]) * strides[perm_[i]];
    linear_index /= source[perm_[i]];
  }
  return value;
}

std::vector<int64_t> IotaTileAssignment::index_for(int64_t device_index) const {
  CHECK_GE(device_index, 0);
  CHECK_LT(device_index, num_elements());
  const absl::Span<const int64_t> source = reshape_dims();
  const Dims strides = StridesOf(source);
  int64_t linear = 0;
  for (int p : perm_) {
    linear = linear * source[p] + (device_index / strides[p]) % source[p];
  }
  std::vector<int64_t> index(ndims_);
  for (int i = ndims_ - 1; i >= 0; --i) {
    index[i] = linear % sizes_[i];
    linear /= sizes_[i];
  }
  return index;
}

int64_t IotaTileAssignment::num_elements() const { return ProductOf(dims()); }

IotaTileAssignment IotaTileAssignment::Reshape(
    absl::Span<const int64_t> new_dims) const {
  return Create(new_dims, reshape_dims(), transpose_perm());
}

// A transpose of the tile dimensions stays an iota only if tile dimensions and
// source dimensions have a common refinement: a sequence of factors that
// subdivides both lists at all their boundaries. Each factor then belongs to
// one tile and one source dimension, and permuting the tiles permutes the
// factors.
std::optional<IotaTileAssignment> IotaTileAssignment::Transpose(
    absl::Span<const int> perm) const {
  CHECK_EQ(perm.size(), ndims_);
  const auto new_dims = Permuted(dims(), perm);
  // Dimensions of extent 1 may move freely.
  int previous = -1;
  bool moves = false;
  for (int p : perm) {
    if (dim(p) == 1) continue;
    moves = moves || p < previous;
    previous = p;
  }
  if (!moves) return Reshape(new_dims);

  const std::vector<int64_t> factors = ExtractCommonFactorSequence(
      dims(), Permuted(reshape_dims(), transpose_perm()));
  if (factors.empty()) return std::nullopt;
  // Assign each factor to a tile dimension and to a reshape dimension. Both
  // lists are refined by the factors in the same order.
  std::vector<std::vector<int>> factors_of_dim(ndims_);
  std::vector<std::vector<int>> factors_of_source(perm_.size());
  int tile_dim = 0;
  int source = 0;
  int64_t tile_left = ndims_ > 0 ? dim(0) : 1;
  int64_t source_left = reshape_dims()[perm_[0]];
  for (int f = 0; f < static_cast<int>(factors.size()); ++f) {
    while (tile_left == 1) tile_left = dim(++tile_dim);
    while (source_left == 1) source_left = reshape_dims()[perm_[++source]];
    factors_of_dim[tile_dim].push_back(f);
    factors_of_source[perm_[source]].push_back(f);
    tile_left /= factors[f];
    source_left /= factors[f];
  }
  Dims new_reshape_dims;
  absl::InlinedVector<int, 8> place(factors.size());
  for (const std::vector<int>& list : factors_of_source) {
    for (int f : list) {
      place[f] = static_cast<int>(new_reshape_dims.size());
      new_reshape_dims.push_back(factors[f]);
    }
  }
  absl::InlinedVector<int, 8> new_perm;
  for (int p : perm) {
    for (int f : factors_of_dim[p]) new_perm.push_back(place[f]);
  }
  return Create(new_dims, new_reshape_dims, new_perm);
}

void IotaTileAssignment::Print(Printer* printer) const {
  printer->Append("[");
  printer->AppendInt64List(dims(), /*leading_comma=*/false);
  printer->Append("]<=");
  PrintArray(printer);
}

void IotaTileAssignment::PrintArray(Printer* printer) const {
  printer->Append("[");
  printer->AppendInt64List(reshape_dims(), /*leading_comma=*/false);
  printer->Append("]");
  if (is_identity()) return;
  printer->Append("T(");
  for (size_t i = 0; i < perm_.size(); ++i) {
    if (i > 0) printer->Append(",");
    printer->Append(perm_[i]);
  }
  printer->Append(")");
}

std::string IotaTileAssignment::ToString() const {
  StringPrinter printer;
  Print(&printer);
  return std::move(printer).ToString();
}

std::string IotaTileAssignment::ArrayToString() const {
  StringPrinter printer;
  PrintArray(&printer);
  return std::move(printer).ToString();
}

Array<int64_t> IotaTileAssignment::ToArray() const {
  return xla::ToArray(reshape_dims(), transpose_perm(), dims());
}

Array<int64_t> ToArray(absl::Span<const int64_t> reshape_dims,
                       absl::Span<const int> transpose_perm,
                       absl::Span<const int64_t> dims) {
  Array<int64_t> array(dims);
  IotaWalker walker(reshape_dims, transpose_perm);
  for (int64_t& element : array) element = walker.Next();
  return array;
}

}  // namespace xla
