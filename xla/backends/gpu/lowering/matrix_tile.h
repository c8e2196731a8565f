#ifndef XLA_BACKENDS_GPU_LOWERING_MATRIX_TILE_H_
#define XLA_BACKENDS_GPU_LOWERING_MATRIX_TILE_H_

#include <cstdint>
#include <optional>

#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/warp_mma.h"

// The tile of a product that a block computes by matrix units, and how its
// warps share it.

namespace xla::gpu {

struct MatrixTile {
  kir::ElementType type = kir::ElementType::kF32;  // of the factors
  int64_t rows = 0, columns = 0;                   // powers of two
  int64_t warps_down = 1, warps_across = 1;
  // The part of one warp.
  int64_t warp_rows() const { return rows / warps_down; }
  int64_t warp_columns() const { return columns / warps_across; }
  // In blocks of the units.
  int64_t down() const { return warp_rows() / kir::WarpMma::kRows; }
  int64_t across() const { return warp_columns() / kir::WarpMma::kColumns; }
  // Elements of a step along the depth, of a word, and of a vector.
  int64_t per_word() const { return 4 / kir::ElementBytes(type); }
  int64_t depth() const { return kir::WarpMma::kWords * per_word(); }
  int64_t vector() const { return 4 * per_word(); }
  // Between rows of shared memory, against bank conflicts.
  int64_t padding() const { return 8 * per_word(); }
  // The most that a step of both factors takes.
  int64_t stage_bytes() const {
    return depth() * (rows + columns + 2 * padding()) * kir::ElementBytes(type);
  }
};

// The tile that takes the least time on a device of `multiprocessors`, for
// blocks of `threads`. Nothing where units would mostly multiply zeros, where
// the warps of a block are no power of two, or for f32 where most
// multiprocessors would idle. `depth`: the least of the products that share the
// tile.
std::optional<MatrixTile> ChooseMatrixTile(kir::ElementType type, int64_t batch,
                                           int64_t rows, int64_t columns,
                                           int64_t depth, int64_t threads,
                                           int64_t multiprocessors);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MATRIX_TILE_H_
