#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_THREAD_MAPPING_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_THREAD_MAPPING_H_

#include <array>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "xla/backends/gpu/kernel_ir/affine_expr.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/kernel_positions.h"

// Which thread or block touches which element: nvFuser's test for whether a
// value passes from one to another.
//
// Dimensions 0 to 2 are those of the block (tid.x, tid.y, tid.z), 3 to 5 those
// of the grid (bid.x, bid.y, bid.z). A dimension of extent 1 does not exist.

namespace xla::gpu {

class ThreadMapping {
 public:
  static constexpr int kThreadDimensions = 3;
  static constexpr int kDimensions = 6;

  ThreadMapping(const kir::Kernel& kernel, const KernelPositions& positions);

  // Whether the launch has more than one thread (or block) there.
  bool Exists(int dimension) const { return exists_[dimension]; }

  // Whether the operand of the statement at `position` differs with the thread:
  // a loop over the dimension stands around, or an index mentions it.
  bool IsParallel(int position, const kir::Operand& operand,
                  int dimension) const;
  // Whether one thread stands for all in the dimension: the statement is not
  // parallel there, and its results go to shared or global memory or to
  // registers that only such statements read.
  bool IsRedundant(int position, int dimension) const;

  // Whether the loops over the dimension around both places name other axes.
  bool AxesDiffer(int write_position, int read_position, int dimension) const;
  // Whether both operands reach their elements by the same index of the
  // dimension, so that a thread finds what it wrote itself.
  bool SameIndex(int write_position, const kir::Operand& write,
                 int read_position, const kir::Operand& read,
                 int dimension) const;

  // Whether what the operand at `write_position` holds may be read by another
  // thread (dimensions 0-2) or block (3-5) at `read_position`.
  bool Passes(int write_position, const kir::Operand& write, int read_position,
              const kir::Operand& read, int dimension) const;

  // "tidx", …, "bidz".
  static const char* DimensionName(int dimension);

 private:
  // The loop over the dimension around a position; null when there is none.
  const kir::Loop* LoopOver(int position, int dimension) const;
  // Indices with loops over threads and blocks put in terms of tid and bid.
  std::vector<AffineExpr> Indices(int position,
                                  const kir::Operand& operand) const;
  // Terms of `index` beside thread and block ids: coefficient and trip count
  // of each, sorted; and the coefficients of the ids.
  struct Shape;
  bool ShapeOf(int position, const AffineExpr& index, Shape* shape) const;

  const kir::Kernel& kernel_;
  const KernelPositions& positions_;
  std::array<bool, kDimensions> exists_;
  // Positions of the statements that read each local buffer.
  absl::flat_hash_map<kir::BufferId, std::vector<int>> readers_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_THREAD_MAPPING_H_
