#ifndef XLA_BACKENDS_GPU_MODEL_TILING_TILED_KERNEL_H_
#define XLA_BACKENDS_GPU_MODEL_TILING_TILED_KERNEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/backends/gpu/model/tiling/tile.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/utils/hlo_traversal.h"
#include "xla/shape.h"

namespace xla::gpu {

// The tile that a program computes or reads of one value.
struct TiledValue {
  const HloInstruction* hlo = nullptr;
  // Read from memory: computed outside of the kernel.
  bool is_read = false;
  Tile tile;
  // Indices of the values it is computed from, by operand.
  absl::InlinedVector<int32_t, 2> operands;
};

// A kernel for given sizes of tiles.
struct TiledKernel {
  int64_t programs = 1;
  // Tiles of the result, by its dimension.
  absl::InlinedVector<int64_t, 4> counts;
  // The work of one program, operands first. A value of which it needs several
  // tiles appears several times.
  std::vector<TiledValue> values;
  // The values that the kernel writes, by output.
  std::vector<int32_t> outputs;

  // Programs that differ in some dimensions of the result.
  int64_t ProgramsAlong(uint64_t dimensions) const;
};

// A fusion, existing or hypothetical, as a tiling compiler (Triton) would
// compile it: each program computes one tile of the result and whatever that
// takes of other values.
//
//   softmax f32[127,125]:  tiles of 1 x 125: 127 programs, each reads one row
//                          tiles of 1 x 25: 635, each reads a row all the same
//
// Several outputs: the programs are those of the largest, the first of equals;
// each other one has the same dimensions, or is computed exactly once on the
// way.
class TileableKernel {
 public:
  // Unimplemented, with the opcode or type, for what is not tiled: gathers,
  // concatenations, padding, updates, variadic reductions, complex numbers, the
  // elementwise opcodes that `target` has no tiled code for (kernel_target.h),
  // integers of less than 8 bits, and arrays without elements. The instructions
  // must outlive this.
  static absl::StatusOr<TileableKernel> Create(
      const HloFusionAdaptor& fusion, KernelTarget target = KernelTarget::kXla);

  // The result that the programs are counted by.
  const Shape& result_shape() const;

  // All that tilings and their times depend on, as bytes: kernels of equal
  // structure have the same tilings, whatever their instructions are called.
  // Reducers are compared by `cost` alone.
  //
  //   a = negate(p), b = exponential(a)    |  equal, where the shapes and
  //   x = negate(q), y = exponential(x)    |  layouts are
  //
  // O(nodes).
  std::string Structure(
      absl::FunctionRef<double(const HloComputation&)> cost) const;

  // `sizes`: of the result's tiles, each at least 1. Unimplemented if some
  // operand is not needed in tiles, or for programs of more than 512 tiles.
  // O(values).
  absl::StatusOr<TiledKernel> Tiled(absl::Span<const int64_t> sizes) const;

 private:
  struct Node {
    const HloInstruction* hlo;
    bool is_read;
    absl::InlinedVector<int32_t, 2> operands;
  };

  // Operands first.
  std::vector<Node> nodes_;
  // Indices into `nodes_`.
  std::vector<int32_t> outputs_;
  int32_t result_ = 0;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_TILING_TILED_KERNEL_H_
