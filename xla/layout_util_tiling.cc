// Positions of elements in arrays with tiles and splits.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/log/check.h"
#include "absl/types/span.h"
#include "xla/layout.h"
#include "xla/layout_util.h"
#include "xla/shape.h"
#include "xla/util.h"

// Linear indices of arrays with nested tiles. One tile turns the last
// dimensions of an array into [numbers of tiles..., positions within a
// tile...]; nested tiles apply this step repeatedly, each to the result of the
// one before. The index of an element is mapped through all steps and
// linearized row by row at the end. Delinearization undoes the steps in reverse
// order.

namespace xla {

namespace {

using Sizes = absl::InlinedVector<int64_t, 8>;

// Dimensions of an array in memory, major to minor, before and after a tile is
// applied to the last of them.
//
//   {5, 300} tiled by (8,128)  ->  {1, 3, 8, 128}
class TileStep {
 public:
  TileStep(const Tile& tile, Sizes sizes) : tile_(tile) {
    const size_t tile_rank = tile.dimensions().size();
    // An array of lower rank than its tile has leading dimensions of size 1.
    if (sizes.size() < tile_rank) {
      padded_ = tile_rank - sizes.size();
      sizes.insert(sizes.begin(), padded_, 1);
    }
    kept_ = sizes.size() - tile_rank;
    before_ = sizes;
    after_.assign(sizes.begin(), sizes.begin() + kept_);
    int64_t combined = 1;
    for (size_t i = 0; i < tile_rank; ++i) {
      combined *= sizes[kept_ + i];
      if (tile.dimension(i) == Tile::kCombineDimension) continue;
      extents_.push_back(tile.dimension(i));
      tiled_.push_back(combined);
      after_.push_back(CeilOfRatio(combined, tile.dimension(i)));
      combined = 1;
    }
    after_.insert(after_.end(), extents_.begin(), extents_.end());
  }

  const Sizes& before() const { return before_; }
  const Sizes& after() const { return after_; }
  const Sizes& extents() const { return extents_; }
  // Sizes of the tiled dimensions, after those to combine are combined.
  const Sizes& tiled() const { return tiled_; }
  size_t kept() const { return kept_; }

  // An index into before() (without the padded dimensions) as one into after().
  Sizes Apply(Sizes index) const {
    index.insert(index.begin(), padded_, 0);
    Sizes result(index.begin(), index.begin() + kept_);
    Sizes in_tile;
    int64_t combined = 0;
    for (size_t i = 0; i < tile_.dimensions().size(); ++i) {
      combined = combined * before_[kept_ + i] + index[kept_ + i];
      const int64_t extent = tile_.dimension(i);
      if (extent == Tile::kCombineDimension) continue;
      result.push_back(combined / extent);
      in_tile.push_back(combined % extent);
      combined = 0;
    }
    result.insert(result.end(), in_tile.begin(), in_tile.end());
    return result;
  }

  // The inverse of Apply.
  Sizes Undo(const Sizes& index) const {
    Sizes result(before_.size());
    std::copy_n(index.begin(), kept_, result.begin());
    size_t out = before_.size();
    size_t next = extents_.size();
    for (int64_t i = tile_.dimensions().size() - 1; i >= 0;) {
      --next;
      int64_t combined = index[kept_ + next] * extents_[next] +
                         index[kept_ + extents_.size() + next];
      // This tile dimension, and those before it that were combined into it:
      // all but the most major of them wrap around.
      for (--i; i >= 0 && tile_.dimension(i) == Tile::kCombineDimension; --i) {
        --out;
        const int64_t size = std::max<int64_t>(before_[out], 1);
        result[out] = combined % size;
        combined /= size;
      }
      result[--out] = combined;
    }
    result.erase(result.begin(), result.begin() + padded_);
    return result;
  }

 private:
  const Tile& tile_;
  size_t padded_ = 0;
  size_t kept_ = 0;
  Sizes before_;
  Sizes after_;
  Sizes extents_;
  Sizes tiled_;
};

Sizes PhysicalOrder(const Layout& layout, absl::Span<const int64_t> logical) {
  Sizes physical(logical.size());
  for (size_t i = 0; i < logical.size(); ++i) {
    physical[i] = logical[LayoutUtil::Major(layout, i)];
  }
  return physical;
}

int64_t RowMajorIndex(const Sizes& sizes, const Sizes& index) {
  int64_t linear = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    linear = linear * sizes[i] + index[i];
  }
  return linear;
}

int64_t NestedTilingIndex(const Layout& layout, Sizes sizes, Sizes index) {
  sizes = PhysicalOrder(layout, sizes);
  index = PhysicalOrder(layout, index);
  for (const Tile& tile : layout.tiles()) {
    TileStep step(tile, sizes);
    index = step.Apply(index);
    sizes = step.after();
  }
  return RowMajorIndex(sizes, index);
}

// Where an element is in an array that is split into pieces.
struct Piece {
  Sizes sizes;         // Of the largest piece.
  Sizes index;         // In its piece.
  int64_t number = 0;  // Of the piece.
};

Piece FindPiece(const Shape& shape, absl::Span<const int64_t> indices) {
  Piece piece;
  piece.sizes.assign(shape.dimensions().begin(), shape.dimensions().end());
  piece.index.assign(indices.begin(), indices.end());
  for (const SplitConfig& split : shape.layout().split_configs()) {
    const int64_t dim = LayoutUtil::Major(shape.layout(), split.dimension());
    absl::Span<const int64_t> starts = split.split_indices();
    const auto after =
        std::upper_bound(starts.begin(), starts.end(), piece.index[dim]);
    piece.number =
        piece.number * (starts.size() + 1) + (after - starts.begin());
    if (after != starts.begin()) piece.index[dim] -= *(after - 1);
    piece.sizes[dim] = LayoutUtil::MaxSplitSize(shape, dim);
  }
  return piece;
}

}  // namespace

int64_t LayoutUtil::LinearIndex(const Shape& shape,
                                absl::Span<const int64_t> indices) {
  const Layout& layout = shape.layout();
  CHECK_EQ(indices.size(), shape.dimensions_size());
  if (layout.split_configs().empty()) {
    return LinearIndexForNestedTiling(shape, indices);
  }
  Piece piece = FindPiece(shape, indices);
  return piece.number * MaxElementsInPerSplit(shape) +
         NestedTilingIndex(layout, piece.sizes, piece.index);
}

int64_t LayoutUtil::LinearIndexForNestedTiling(
    const Shape& shape, absl::Span<const int64_t> indices) {
  absl::Span<const int64_t> dims = shape.dimensions();
  CHECK_EQ(indices.size(), dims.size());
  return NestedTilingIndex(shape.layout(), Sizes(dims.begin(), dims.end()),
                           Sizes(indices.begin(), indices.end()));
}

std::vector<int64_t> LayoutUtil::DelinearizeIndexForNestedTiling(
    const Shape& shape, int64_t linear_index) {
  const Layout& layout = shape.layout();
  Sizes sizes = PhysicalOrder(
      layout, Sizes(shape.dimensions().begin(), shape.dimensions().end()));
  std::vector<TileStep> steps;
  steps.reserve(layout.tiles().size());
  for (const Tile& tile : layout.tiles()) {
    steps.emplace_back(tile, sizes);
    sizes = steps.back().after();
  }
  Sizes index(sizes.size());
  for (int64_t i = static_cast<int64_t>(sizes.size()) - 1; i >= 0; --i) {
    const int64_t size = std::max<int64_t>(sizes[i], 1);
    index[i] = i == 0 ? linear_index : linear_index % size;
    linear_index /= size;
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    index = step->Undo(index);
  }
  std::vector<int64_t> logical(shape.dimensions_size());
  for (size_t i = 0; i < logical.size(); ++i) {
    logical[Major(layout, i)] = index[i];
  }
  return logical;
}

int64_t LayoutUtil::MaxSplitSize(const Shape& shape, int64_t dim) {
  const int64_t size = shape.dimensions(dim);
  if (!shape.has_layout()) return size;
  for (const SplitConfig& split : shape.layout().split_configs()) {
    if (Major(shape.layout(), split.dimension()) != dim) continue;
    int64_t largest = 0;
    int64_t start = 0;
    for (int64_t index : split.split_indices()) {
      largest = std::max(largest, index - start);
      start = index;
    }
    return std::max(largest, size - start);
  }
  return size;
}

int64_t LayoutUtil::MaxElementsInPerSplit(const Shape& shape) {
  const Layout& layout = shape.layout();
  Sizes sizes;
  for (int64_t i = 0; i < shape.dimensions_size(); ++i) {
    const int64_t size = MaxSplitSize(shape, Major(layout, i));
    sizes.push_back(size == Shape::kUnboundedSize ? 1 : size);
  }
  for (const Tile& tile : layout.tiles()) sizes = TileStep(tile, sizes).after();
  int64_t elements = 1;
  for (int64_t size : sizes) {
    if (size == 0) return 0;
    if (__builtin_mul_overflow(elements, size, &elements)) {
      return std::numeric_limits<int64_t>::max();
    }
  }
  return elements;
}

std::optional<SplitConfig> LayoutUtil::GetSplitConfig(const Shape& shape) {
  if (!shape.has_layout() || shape.layout().split_configs().empty()) {
    return std::nullopt;
  }
  return shape.layout().split_configs(0);
}

bool LayoutUtil::IsUntiledLayout(absl::Span<const Tile> tiles,
                                 absl::Span<const int64_t> shape) {
  Sizes sizes(shape.begin(), shape.end());
  for (const Tile& tile : tiles) {
    TileStep step(tile, sizes);
    // Tiling takes (tiles_0, tile_0, tiles_1, tile_1, ...) to (tiles_0,
    // tiles_1, ..., tile_0, tile_1, ...). That moves nothing as long as no
    // dimension of the tile passes a number of tiles, and it pads nothing
    // between elements as long as only elements at index 0 of all dimensions
    // more major are followed by padding.
    bool is_first = std::all_of(sizes.begin(), sizes.begin() + step.kept(),
                                [](int64_t size) { return size == 1; });
    bool in_tile = false;
    for (size_t i = 0; i < step.extents().size(); ++i) {
      const int64_t extent = step.extents()[i];
      if (in_tile && step.after()[step.kept() + i] > 1) return false;
      if (step.tiled()[i] % extent != 0 && !is_first) return false;
      in_tile |= extent > 1;
      is_first &= step.tiled()[i] == 1;
    }
    sizes = step.after();
  }
  return true;
}

}  // namespace xla
