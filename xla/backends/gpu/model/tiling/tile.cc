#include "xla/backends/gpu/model/tiling/tile.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/numeric/bits.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/util.h"

// Tiles through reshapes: groups of dimensions that hold the same elements on
// both sides are matched (CommonFactors). Within a group a tile must be one
// contiguous run of elements (RunOf), which the other side's dimensions then
// have to express as {1, ..., part, whole, ...} (SplitRun). Tiling compilers
// round sizes up to powers of two and insist that the rounded tile is such a
// run on both sides: a row of 40, held as 64, goes through no reshape of whole
// rows.

namespace xla::gpu {
namespace {

absl::Status NoTile(const HloInstruction& hlo) {
  return absl::UnimplementedError(
      absl::StrCat(HloOpcodeString(hlo.opcode()), " ", hlo.name(),
                   ": its operand is not needed in tiles"));
}

bool IsWhole(const TileDimension& part, int64_t dimension) {
  return part.size >= dimension && part.offset == 0 && part.stride == 1;
}

// The elements of a tile of consecutive dimensions that are one run: {1, 1,
// part, whole, whole}.
struct Run {
  int64_t elements = 1;
  // As the compiler holds them: what goes beyond has to be one run, too.
  int64_t padded = 1;
  uint64_t along = 0;
};

int64_t Padded(int64_t size) {
  return static_cast<int64_t>(absl::bit_ceil(static_cast<uint64_t>(size)));
}

// nullopt if they are none, or if runs overlap what the dimensions hold.
std::optional<Run> RunOf(absl::Span<const int64_t> dimensions,
                         absl::Span<const TileDimension> tile) {
  Run run;
  bool partial = false;
  // Its runs do not end where the next major dimension goes on.
  bool ragged = false;
  for (size_t d = dimensions.size(); d-- > 0;) {
    if (dimensions[d] == 1) continue;
    if (tile[d].offset != 0 || tile[d].stride != 1 || ragged) {
      return std::nullopt;
    }
    run.along |= tile[d].along;
    const bool whole = !partial && IsWhole(tile[d], dimensions[d]);
    const int64_t size = whole ? dimensions[d] : tile[d].size;
    if (size > 1 && run.padded != run.elements) return std::nullopt;
    run.elements *= size;
    run.padded *= Padded(size);
    if (whole) continue;
    if (partial && size != 1) return std::nullopt;
    if (!partial) ragged = dimensions[d] % size != 0;
    partial = true;
  }
  return run;
}

// Splits a run of elements over dimensions from minor to major. False if the
// run's boundaries do not fall on boundaries of the dimensions.
bool SplitRun(const Run& run, absl::Span<const int64_t> dimensions,
              Tile* result) {
  Tile reversed;
  int64_t rest = run.elements;
  int64_t padded = run.padded;
  int64_t more = 1;
  for (int64_t dimension : dimensions) more *= dimension;
  for (size_t d = dimensions.size(); d-- > 0;) {
    const int64_t dimension = dimensions[d];
    more /= dimension;
    TileDimension part;
    if (rest >= dimension) {
      if (rest % dimension != 0) return false;
      if (padded % dimension != 0 && more > 1) return false;
      part.size = dimension;
      rest /= dimension;
      padded /= dimension;
    } else {
      // The last run of the last dimension may be cut off.
      if (rest > 1 && more > 1 &&
          (dimension % rest != 0 || dimension % padded != 0)) {
        return false;
      }
      part.size = rest;
      rest = 1;
      part.along = run.along;
      part.indirect = true;
    }
    reversed.push_back(part);
  }
  result->insert(result->end(), reversed.rbegin(), reversed.rend());
  return true;
}

std::optional<Tile> ReshapeTile(absl::Span<const int64_t> from,
                                absl::Span<const int64_t> to,
                                const Tile& tile) {
  Tile result;
  const auto runs = CommonFactors(from, to);
  for (size_t r = 0; r + 1 < runs.size(); ++r) {
    const auto [from_begin, to_begin] = runs[r];
    const auto [from_end, to_end] = runs[r + 1];
    if (from_end == from_begin + 1 && to_end == to_begin + 1) {
      result.push_back(tile[from_begin]);
      continue;
    }
    const std::optional<Run> run =
        RunOf(from.subspan(from_begin, from_end - from_begin),
              absl::MakeSpan(tile).subspan(from_begin, from_end - from_begin));
    if (!run.has_value() ||
        !SplitRun(*run, to.subspan(to_begin, to_end - to_begin), &result)) {
      return std::nullopt;
    }
  }
  return result;
}

Tile PermuteTile(absl::Span<const int64_t> dimensions, const Tile& tile) {
  Tile result(tile.size());
  for (size_t d = 0; d < dimensions.size(); ++d) {
    result[dimensions[d]] = tile[d];
  }
  return result;
}

absl::StatusOr<Tile> ThroughReshape(const HloInstruction& hlo,
                                    const Tile& tile) {
  std::optional<Tile> result = ReshapeTile(
      hlo.shape().dimensions(), hlo.operand(0)->shape().dimensions(), tile);
  if (!result.has_value()) return NoTile(hlo);
  return *std::move(result);
}

absl::StatusOr<Tile> ThroughBitcast(const HloInstruction& hlo,
                                    const Tile& tile) {
  const Shape& from = hlo.operand(0)->shape();
  const Shape& to = hlo.shape();
  if (ShapeUtil::ReshapeIsBitcast(from, to, /*ignore_element_type=*/true)) {
    return ThroughReshape(hlo, tile);
  }
  const std::optional<std::vector<int64_t>> permutation =
      ShapeUtil::DeduceTransposeDimensionsForBitcast(from, to);
  if (!permutation.has_value()) return NoTile(hlo);
  return PermuteTile(*permutation, tile);
}

Tile ThroughSlice(const HloInstruction& hlo, const Tile& tile) {
  Tile result = tile;
  for (size_t d = 0; d < result.size(); ++d) {
    const int64_t stride = hlo.slice_strides(d);
    result[d].offset = hlo.slice_starts(d) + stride * result[d].offset;
    result[d].stride *= stride;
  }
  return result;
}

// The dimensions that it sums up are needed whole.
Tile ThroughReduce(const HloInstruction& hlo, const Tile& tile) {
  const Shape& operand = hlo.operand(0)->shape();
  Tile result;
  size_t kept = 0;
  for (int64_t d = 0; d < operand.dimensions_size(); ++d) {
    if (absl::c_linear_search(hlo.dimensions(), d)) {
      result.push_back({operand.dimensions(d)});
    } else {
      result.push_back(tile[kept++]);
    }
  }
  return result;
}

}  // namespace

int64_t TileElements(const Tile& tile) {
  int64_t elements = 1;
  for (const TileDimension& part : tile) elements *= part.size;
  return elements;
}

int64_t PaddedTileElements(const Tile& tile) {
  int64_t elements = 1;
  for (const TileDimension& part : tile) {
    elements *= absl::bit_ceil(static_cast<uint64_t>(part.size));
  }
  return elements;
}

absl::StatusOr<Tile> TileOfOperand(const HloInstruction& hlo, int64_t i,
                                   const Tile& tile) {
  switch (hlo.opcode()) {
    case HloOpcode::kBroadcast: {
      Tile result;
      for (int64_t d : hlo.dimensions()) result.push_back(tile[d]);
      return result;
    }
    case HloOpcode::kReduce:
      if (hlo.operand_count() != 2) return NoTile(hlo);
      return i == 0 ? ThroughReduce(hlo, tile) : Tile();
    case HloOpcode::kTranspose:
      return PermuteTile(hlo.dimensions(), tile);
    case HloOpcode::kSlice:
      return ThroughSlice(hlo, tile);
    case HloOpcode::kReshape:
      return ThroughReshape(hlo, tile);
    case HloOpcode::kBitcast:
      return ThroughBitcast(hlo, tile);
    default:  // Tiles pass elementwise opcodes only.
      // A scalar condition or bound is the same for all elements.
      if (!hlo.IsElementwise() || !hlo.shape().IsArray()) return NoTile(hlo);
      if (hlo.operand(i)->shape().dimensions_size() == 0) return Tile();
      if (!ShapeUtil::SameDimensions(hlo.operand(i)->shape(), hlo.shape())) {
        return NoTile(hlo);
      }
      return tile;
  }
}

}  // namespace xla::gpu
