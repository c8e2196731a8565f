// A tile of an operand holds what brute force, element by element, finds to be
// needed, and nothing else.
#include "xla/backends/gpu/model/tiling/tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/parser/hlo_parser.h"
#include "xla/util.h"

namespace xla::gpu {
namespace {

using Index = std::vector<int64_t>;

std::unique_ptr<HloModule> Parse(absl::string_view shape,
                                 absl::string_view root) {
  const std::string text =
      absl::StrCat(R"(
HloModule m
add { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  z = f32[] parameter(1)
  p = )",
                   shape, " parameter(0)\n  ROOT r = ", root, "\n}\n");
  auto module = ParseAndReturnUnverifiedModule(text);
  CHECK_OK(module.status());
  return *std::move(module);
}

// All indices of an array.
std::vector<Index> AllIndices(absl::Span<const int64_t> dimensions) {
  std::vector<Index> all = {{}};
  for (int64_t dimension : dimensions) {
    std::vector<Index> longer;
    for (const Index& index : all) {
      for (int64_t i = 0; i < dimension; ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    }
    all = std::move(longer);
  }
  return all;
}

int64_t Linear(const Index& index, absl::Span<const int64_t> dimensions) {
  int64_t linear = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    linear = linear * dimensions[d] + index[d];
  }
  return linear;
}

// Whether an element of operand 0 is needed for one of the result.
bool IsNeeded(const HloInstruction& hlo, const Index& operand,
              const Index& result) {
  switch (hlo.opcode()) {
    case HloOpcode::kBroadcast:
      for (size_t d = 0; d < operand.size(); ++d) {
        if (operand[d] != result[hlo.dimensions(d)]) return false;
      }
      return true;
    case HloOpcode::kTranspose:
      for (size_t d = 0; d < result.size(); ++d) {
        if (operand[hlo.dimensions(d)] != result[d]) return false;
      }
      return true;
    case HloOpcode::kSlice:
      for (size_t d = 0; d < result.size(); ++d) {
        if (operand[d] !=
            hlo.slice_starts(d) + hlo.slice_strides(d) * result[d]) {
          return false;
        }
      }
      return true;
    case HloOpcode::kReduce: {
      size_t kept = 0;
      for (size_t d = 0; d < operand.size(); ++d) {
        if (absl::c_linear_search(hlo.dimensions(), d)) continue;
        if (operand[d] != result[kept++]) return false;
      }
      return true;
    }
    case HloOpcode::kReshape:
      return Linear(operand, hlo.operand(0)->shape().dimensions()) ==
             Linear(result, hlo.shape().dimensions());
    default:
      return operand == result;
  }
}

// The elements along a dimension, for a program by its place along the result's
// dimensions.
std::set<int64_t> ElementsOf(const TileDimension& part, int64_t dimension,
                             const Index& program) {
  int64_t k = 0;
  for (size_t b = 0; b < program.size(); ++b) {
    if ((part.along >> b) & 1) k = program[b];
  }
  std::set<int64_t> elements;
  for (int64_t j = 0; j < part.size; ++j) {
    const int64_t element = part.offset + part.stride * (k * part.size + j);
    if (element < dimension) elements.insert(element);
  }
  return elements;
}

// Returns whether there is a tile.
bool CheckTile(const HloInstruction& hlo, const Index& sizes) {
  const auto result_dims = hlo.shape().dimensions();
  const auto operand_dims = hlo.operand(0)->shape().dimensions();
  Tile tile;
  Index programs;
  for (size_t d = 0; d < sizes.size(); ++d) {
    TileDimension part;
    part.size = sizes[d];
    part.along = uint64_t{1} << d;
    tile.push_back(part);
    programs.push_back(CeilOfRatio(result_dims[d], sizes[d]));
  }
  const absl::StatusOr<Tile> needed = TileOfOperand(hlo, 0, tile);
  if (!needed.ok()) return false;
  const std::string where =
      absl::StrCat(hlo.ToString(), " in tiles ", sizes.empty() ? 0 : sizes[0],
                   " x ", sizes.size() < 2 ? 0 : sizes[1]);
  EXPECT_EQ(needed->size(), operand_dims.size()) << where;
  for (const Index& program : AllIndices(programs)) {
    // By brute force, which elements along each dimension.
    std::vector<std::set<int64_t>> found(operand_dims.size());
    std::set<Index> all;
    for (const Index& result : AllIndices(result_dims)) {
      bool inside = true;
      for (size_t d = 0; d < sizes.size(); ++d) {
        inside &= result[d] / sizes[d] == program[d];
      }
      if (!inside) continue;
      for (const Index& operand : AllIndices(operand_dims)) {
        if (!IsNeeded(hlo, operand, result)) continue;
        all.insert(operand);
        for (size_t d = 0; d < operand.size(); ++d) found[d].insert(operand[d]);
      }
    }
    // The last tile may go beyond the result, and so beyond what is needed.
    bool cut = false;
    for (size_t d = 0; d < sizes.size(); ++d) {
      cut |= (program[d] + 1) * sizes[d] > result_dims[d];
    }
    int64_t box = 1;
    for (size_t d = 0; d < found.size(); ++d) {
      box *= found[d].size();
      const TileDimension& part = (*needed)[d];
      if (part.indirect) {
        EXPECT_LE(found[d].size(), part.size) << where;
        continue;
      }
      const std::set<int64_t> elements =
          ElementsOf(part, operand_dims[d], program);
      EXPECT_TRUE(cut ? absl::c_includes(elements, found[d])
                      : elements == found[d])
          << where << ", dimension " << d;
    }
    EXPECT_EQ(box, all.size()) << where;
  }
  return true;
}

// In all tiles: how many of them the operand is needed in tiles for.
int64_t CountTiles(absl::string_view shape, absl::string_view root) {
  const std::unique_ptr<HloModule> module = Parse(shape, root);
  const HloInstruction& hlo = *module->entry_computation()->root_instruction();
  int64_t count = 0;
  for (Index sizes : AllIndices(hlo.shape().dimensions())) {
    for (int64_t& size : sizes) ++size;
    count += CheckTile(hlo, sizes);
  }
  return count;
}

TEST(TileTest, MovementOfData) {
  EXPECT_EQ(CountTiles("f32[5,6]", "f32[5,6] negate(p)"), 30);
  EXPECT_EQ(CountTiles("f32[5]", "f32[5,4] broadcast(p), dimensions={0}"), 20);
  EXPECT_EQ(CountTiles("f32[]", "f32[5,4] broadcast(p), dimensions={}"), 20);
  EXPECT_EQ(
      CountTiles("f32[2,3,4]", "f32[4,2,3] transpose(p), dimensions={2,0,1}"),
      24);
  EXPECT_EQ(CountTiles("f32[9,7]", "f32[4,3] slice(p), slice={[1:9:2],[2:5]}"),
            12);
  EXPECT_EQ(CountTiles("f32[3,4,5]",
                       "f32[4] reduce(p, z), dimensions={0,2}, to_apply=add"),
            4);
}

TEST(TileTest, ReshapesOfDimensionsOfOne) {
  EXPECT_EQ(CountTiles("f32[4,1,6]", "f32[4,6] reshape(p)"), 24);
  EXPECT_EQ(CountTiles("f32[4,6]", "f32[1,4,1,6] reshape(p)"), 24);
}

// f32[32] in tiles that are rows of 8, parts of one, or several: 1, 2, 4, 8,
// 16, 24, 32. Others go over the end of a row.
TEST(TileTest, SplittingReshape) {
  EXPECT_EQ(CountTiles("f32[4,8]", "f32[32] reshape(p)"), 7);
}

// Rows of 8 that are whole, or of which one has a part.
TEST(TileTest, MergingReshape) {
  // Tiles within one row have 1, 2, 4 or 8 elements; tiles of whole rows have
  // 2, 3 or 4 rows.
  EXPECT_EQ(CountTiles("f32[32]", "f32[4,8] reshape(p)"), 4 + 3);
}

// Rows of 6 are held as 8: two of them are no run, but parts of one are.
TEST(TileTest, RowsThatAreNoPowersOfTwo) {
  EXPECT_EQ(CountTiles("f32[24]", "f32[4,6] reshape(p)"), 4);
  // 1 and 2; 3 are held as 4, which goes over the end of a row.
  EXPECT_EQ(CountTiles("f32[4,6]", "f32[24] reshape(p)"), 2);
}

TEST(TileTest, NoTile) {
  const std::unique_ptr<HloModule> module =
      Parse("f32[4]", "f32[6] pad(p, z), padding=1_1");
  const HloInstruction& pad = *module->entry_computation()->root_instruction();
  const absl::Status refused = TileOfOperand(pad, 0, Tile(1)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(refused.message(), "pad r: its operand is not needed in tiles");
}

TEST(TileTest, Elements) {
  Tile tile(2);
  tile[0].size = 3;
  tile[1].size = 125;
  EXPECT_EQ(TileElements(tile), 375);
  EXPECT_EQ(PaddedTileElements(tile), 512);
  EXPECT_EQ(PaddedTileElements(Tile()), 1);
}

}  // namespace
}  // namespace xla::gpu
