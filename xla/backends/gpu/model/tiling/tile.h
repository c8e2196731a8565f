#ifndef XLA_BACKENDS_GPU_MODEL_TILING_TILE_H_
#define XLA_BACKENDS_GPU_MODEL_TILING_TILE_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// A dimension of what one program (a block of threads) computes of a value:
// elements offset + stride * (k * size + 0 … size - 1), where k follows from
// the program's places along some dimensions of the kernel's result.
struct TileDimension {
  // Elements; at most the value's.
  int64_t size = 1;
  int64_t stride = 1;
  int64_t offset = 0;
  // The dimensions of the result, bit d for dimension d, on which k depends: 0
  // if all programs need the same elements.
  uint64_t along = 0;
  // k is not the place along one dimension: a reshape is in between.
  bool indirect = false;

  bool operator==(const TileDimension& other) const {
    return size == other.size && stride == other.stride &&
           offset == other.offset && along == other.along &&
           indirect == other.indirect;
  }
};

// The part of a value that one program computes, by dimension of the value.
//
//   result f32[64,100] in tiles of 16 x 32:
//     ROOT add(broadcast(x), y)          {16 along 0, 32 along 1}
//     x = f32[64], dimensions={0}        {16 along 0}
//     x = reduce(z), z = f32[64,500]     z: {16 along 0, 500 along nothing}
using Tile = absl::InlinedVector<TileDimension, 4>;

int64_t TileElements(const Tile& tile);
// As a tiling compiler holds it: each size a power of two.
int64_t PaddedTileElements(const Tile& tile);

// The part of operand `i` that is needed to compute a tile of the result.
// Unimplemented, with the opcode, for instructions that are not tiled, and
// where what is needed is not a tile, which reshapes can cause.
absl::StatusOr<Tile> TileOfOperand(const HloInstruction& hlo, int64_t i,
                                   const Tile& tile);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_TILING_TILE_H_
