#include "xla/backends/gpu/lowering/index_maps.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/layout_util.h"
#include "xla/shape_util.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {
namespace {

std::vector<int64_t> RowMajorStrides(absl::Span<const int64_t> extents) {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t d = extents.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= extents[d];
  }
  return strides;
}

AffineExpr And(const AffineExpr& a, const AffineExpr& b) {
  return AffineExpr::Min(a, b);
}

}  // namespace

std::vector<int64_t> MemoryOrder(const Shape& shape) {
  std::vector<int64_t> order(shape.dimensions().size());
  if (shape.has_layout()) {
    const auto& minor_to_major = shape.layout().minor_to_major();
    std::copy(minor_to_major.rbegin(), minor_to_major.rend(), order.begin());
  } else {
    std::iota(order.begin(), order.end(), 0);
  }
  return order;
}

AffineExpr Linearize(const Indices& indices,
                     absl::Span<const int64_t> strides) {
  AffineExpr number;
  for (size_t d = 0; d < indices.size(); ++d) {
    number = number + indices[d] * AffineExpr(strides[d]);
  }
  return number;
}

std::vector<int64_t> MemoryStrides(const Shape& shape) {
  const std::vector<int64_t> order = MemoryOrder(shape);
  std::vector<int64_t> strides(order.size());
  int64_t stride = 1;
  for (size_t k = order.size(); k-- > 0;) {
    strides[order[k]] = stride;
    stride *= shape.dimensions(order[k]);
  }
  return strides;
}

std::vector<int64_t> MemoryExtents(const Shape& shape) {
  std::vector<int64_t> extents;
  for (int64_t d : MemoryOrder(shape)) extents.push_back(shape.dimensions(d));
  if (extents.empty()) extents.push_back(1);
  return extents;
}

Indices MemoryIndices(const Shape& shape, const Indices& indices) {
  Indices result;
  for (int64_t d : MemoryOrder(shape)) result.push_back(indices[d]);
  if (result.empty()) result.push_back(0);
  return result;
}

Indices Delinearize(const AffineExpr& number, absl::Span<const int64_t> extents,
                    const AffineExpr::Ranges& ranges) {
  const std::vector<int64_t> strides = RowMajorStrides(extents);
  Indices result;
  bool slowest = true;
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) {
      result.push_back(0);
      continue;
    }
    AffineExpr index = AffineExpr::FloorDiv(number, AffineExpr(strides[d]));
    // Numbers are within the array, so nothing carries over the slowest.
    if (!slowest) index = AffineExpr::Mod(index, AffineExpr(extents[d]));
    slowest = false;
    result.push_back(index.SimplifyIn(ranges));
  }
  return result;
}

Indices IndicesInMemory(const AffineExpr& number, const Shape& shape,
                        const AffineExpr::Ranges& ranges) {
  const std::vector<int64_t> order = MemoryOrder(shape);
  std::vector<int64_t> extents;
  for (int64_t d : order) extents.push_back(shape.dimensions(d));
  const Indices in_memory = Delinearize(number, extents, ranges);
  Indices result(order.size());
  for (size_t k = 0; k < order.size(); ++k) result[order[k]] = in_memory[k];
  return result;
}

bool HasIndexMap(const HloInstruction& hlo) {
  return HloPredicateIsOp<HloOpcode::kBitcast, HloOpcode::kBroadcast,
                          HloOpcode::kCopy, HloOpcode::kReshape,
                          HloOpcode::kReverse, HloOpcode::kSlice,
                          HloOpcode::kTranspose>(&hlo) ||
         hlo.IsElementwise();
}

// Data movement costs nothing inside a kernel: an instruction that only
// rearranges elements becomes a map from an index of its result to an index of
// its operand, as affine expressions with floor division and modulo. Reshapes
// and bitcasts go through the linear index; simplification within the ranges of
// the loop indices removes most of the divisions again.
Indices MapIndices(const HloInstruction& hlo, int64_t i, const Indices& indices,
                   const AffineExpr::Ranges& ranges) {
  const Shape& operand = hlo.operand(i)->shape();
  const size_t rank = operand.dimensions().size();
  Indices result(rank);
  switch (hlo.opcode()) {
    case HloOpcode::kBitcast:
      return IndicesInMemory(
          Linearize(indices, MemoryStrides(hlo.shape())).SimplifyIn(ranges),
          operand, ranges);
    case HloOpcode::kReshape: {
      const auto strides = RowMajorStrides(hlo.shape().dimensions());
      return Delinearize(Linearize(indices, strides).SimplifyIn(ranges),
                         operand.dimensions(), ranges);
    }
    case HloOpcode::kBroadcast:
      for (size_t d = 0; d < rank; ++d) {
        result[d] = indices[hlo.dimensions()[d]];
      }
      return result;
    case HloOpcode::kTranspose:
      for (size_t d = 0; d < rank; ++d) {
        result[hlo.dimensions()[d]] = indices[d];
      }
      return result;
    case HloOpcode::kSlice:
      for (size_t d = 0; d < rank; ++d) {
        result[d] = AffineExpr(hlo.slice_starts(d)) +
                    AffineExpr(hlo.slice_strides(d)) * indices[d];
      }
      return result;
    case HloOpcode::kReverse:
      result = indices;
      for (int64_t d : hlo.dimensions()) {
        result[d] = AffineExpr(operand.dimensions(d) - 1) - indices[d];
      }
      return result;
    default:  // Elementwise.
      return rank == 0 ? Indices() : indices;
  }
}

// Affine expressions have no comparison, so a test is arithmetic: max(0, min(1,
// x + 1)) is 1 exactly where x >= 0, and the minimum of two tests is their
// conjunction. A side that the ranges decide adds no test, so an index that is
// always in bounds costs nothing in the kernel.
AffineExpr Inside(const AffineExpr& index, int64_t size,
                  const AffineExpr::Ranges& ranges) {
  const auto test = [](const AffineExpr& margin) {
    return AffineExpr::Max(0, AffineExpr::Min(1, margin));
  };
  AffineExpr inside = 1;
  const std::optional<AffineExpr::Interval> bounds = index.Bounds(ranges);
  if (!bounds.has_value() || bounds->lo < 0) {
    inside = And(inside, test(index + AffineExpr(1)));
  }
  if (!bounds.has_value() || bounds->hi >= size) {
    inside = And(inside, test(AffineExpr(size) - index));
  }
  return inside.SimplifyIn(ranges);
}

AffineExpr Clamp(const AffineExpr& index, int64_t size,
                 const AffineExpr::Ranges& ranges) {
  return AffineExpr::Max(0, AffineExpr::Min(index, AffineExpr(size - 1)))
      .SimplifyIn(ranges);
}

// Floor division does the right thing below the operand as well: with
// padding=2_0 result element 1 is at place -1, whose index -1 fails Inside().
// With interior padding of s elements, the operand is at the multiples of s +
// 1.
ConditionalIndices PadIndices(const HloInstruction& pad, const Indices& indices,
                              const AffineExpr::Ranges& ranges) {
  ConditionalIndices result;
  for (size_t d = 0; d < indices.size(); ++d) {
    const auto& dimension = pad.padding_config().dimensions(d);
    const int64_t size = pad.operand(0)->shape().dimensions(d);
    const int64_t step = dimension.interior_padding() + 1;
    const AffineExpr place =
        indices[d] - AffineExpr(dimension.edge_padding_low());
    const AffineExpr index = AffineExpr::FloorDiv(place, AffineExpr(step));
    result.condition = And(result.condition, Inside(index, size, ranges));
    if (step > 1) {
      // 1 - min(1, remainder): the gaps have another remainder.
      const AffineExpr gap = AffineExpr::Mod(place, AffineExpr(step));
      result.condition =
          And(result.condition, AffineExpr(1) - AffineExpr::Min(1, gap));
    }
    result.indices.push_back(index.SimplifyIn(ranges));
  }
  result.condition = result.condition.SimplifyIn(ranges);
  return result;
}

// The place is counted in the input after base dilation, where element e of the
// input is at e * base_dilation and holes lie between: only places that
// base_dilation divides hold an element.
AffineExpr AddWindowIndex(const WindowDimension& window, int64_t size,
                          const AffineExpr& index, const AffineExpr& offset,
                          const AffineExpr::Ranges& ranges,
                          AffineExpr* condition) {
  const AffineExpr from_start = window.window_reversal()
                                    ? AffineExpr(window.size() - 1) - offset
                                    : offset;
  const AffineExpr place = (index * AffineExpr(window.stride()) +
                            from_start * AffineExpr(window.window_dilation()) -
                            AffineExpr(window.padding_low()))
                               .SimplifyIn(ranges);
  const AffineExpr dilation(window.base_dilation());
  const AffineExpr result = AffineExpr::FloorDiv(place, dilation);
  *condition = And(*condition, Inside(result, size, ranges));
  if (window.base_dilation() > 1) {
    const AffineExpr gap = AffineExpr::Mod(place, dilation);
    *condition = And(*condition, AffineExpr(1) - AffineExpr::Min(1, gap));
  }
  return result.SimplifyIn(ranges);
}

ConditionalIndices WindowIndices(const HloInstruction& reduce_window,
                                 const Indices& indices, const Indices& offsets,
                                 const AffineExpr::Ranges& ranges) {
  ConditionalIndices result;
  for (size_t d = 0; d < indices.size(); ++d) {
    result.indices.push_back(
        AddWindowIndex(reduce_window.window().dimensions(d),
                       reduce_window.operand(0)->shape().dimensions(d),
                       indices[d], offsets[d], ranges, &result.condition));
  }
  result.condition = result.condition.SimplifyIn(ranges);
  return result;
}

bool HasResultMap(const HloInstruction& hlo) {
  return HloPredicateIsOp<HloOpcode::kBitcast, HloOpcode::kCopy,
                          HloOpcode::kReshape, HloOpcode::kTranspose>(&hlo) ||
         hlo.IsElementwise();
}

Indices ResultIndices(const HloInstruction& hlo, int64_t i,
                      const Indices& operand_indices,
                      const AffineExpr::Ranges& ranges) {
  const Shape& operand = hlo.operand(i)->shape();
  switch (hlo.opcode()) {
    case HloOpcode::kBitcast:
      return IndicesInMemory(
          Linearize(operand_indices, MemoryStrides(operand)).SimplifyIn(ranges),
          hlo.shape(), ranges);
    case HloOpcode::kReshape:
      return Delinearize(
          Linearize(operand_indices, RowMajorStrides(operand.dimensions()))
              .SimplifyIn(ranges),
          hlo.shape().dimensions(), ranges);
    case HloOpcode::kTranspose: {
      Indices result;
      for (int64_t d : hlo.dimensions()) result.push_back(operand_indices[d]);
      return result;
    }
    default:  // Elementwise, or a scalar for arrays of one element.
      return SameNumber(operand_indices, operand.dimensions(),
                        hlo.shape().dimensions(), ranges);
  }
}

Indices SameNumber(const Indices& indices, absl::Span<const int64_t> from,
                   absl::Span<const int64_t> to,
                   const AffineExpr::Ranges& ranges) {
  if (from == to) return indices;
  return Delinearize(
      Linearize(indices, RowMajorStrides(from)).SimplifyIn(ranges), to, ranges);
}

std::vector<int64_t> LongDimensions(const Shape& shape) {
  std::vector<int64_t> dims = MemoryOrder(shape);
  dims.erase(
      std::remove_if(dims.begin(), dims.end(),
                     [&](int64_t d) { return shape.dimensions(d) == 1; }),
      dims.end());
  return dims;
}

// Follows the element with index (i0, i1, …) of the value backwards, at each
// step into the operand with the most elements, to the array in memory. There
// its address is a linear expression in the i's, and the dimension whose
// coefficient is 1 is the one along which neighbors are neighbors. A transpose
// on the way is thus seen through.
int64_t FastDimension(const HloInstruction& value,
                      absl::Span<const HloInstruction* const> body) {
  const auto name = [](size_t d) { return absl::StrCat("d", d); };
  AffineExpr::Ranges ranges;
  Indices indices;
  for (size_t d = 0; d < value.shape().dimensions().size(); ++d) {
    ranges[name(d)] = {0, value.shape().dimensions(d) - 1};
    indices.push_back(AffineExpr::Symbol(name(d)));
  }
  const HloInstruction* hlo = &value;
  while (absl::c_linear_search(body, hlo) && HasIndexMap(*hlo) &&
         hlo->operand_count() > 0) {
    int64_t most = 0;
    for (int64_t i = 1; i < hlo->operand_count(); ++i) {
      if (ShapeUtil::ElementsIn(hlo->operand(i)->shape()) >
          ShapeUtil::ElementsIn(hlo->operand(most)->shape())) {
        most = i;
      }
    }
    indices = MapIndices(*hlo, most, indices, ranges);
    hlo = hlo->operand(most);
  }
  AffineExpr number;
  const std::vector<int64_t> strides = MemoryStrides(hlo->shape());
  for (size_t d = 0; d < indices.size(); ++d) {
    number = number + indices[d] * AffineExpr(strides[d]);
  }
  const auto linear = number.SimplifyIn(ranges).AsLinear();
  if (linear.has_value()) {
    for (size_t d = 0; d < value.shape().dimensions().size(); ++d) {
      const auto stride = linear->coefficients.find(name(d));
      if (value.shape().dimensions(d) > 1 &&
          stride != linear->coefficients.end() && stride->second == 1) {
        return d;
      }
    }
  }
  const std::vector<int64_t> dims = LongDimensions(value.shape());
  return dims.empty() ? -1 : dims.back();
}

}  // namespace xla::gpu
