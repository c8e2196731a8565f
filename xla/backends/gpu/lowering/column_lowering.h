#ifndef XLA_BACKENDS_GPU_LOWERING_COLUMN_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_COLUMN_LOWERING_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/kernel_frame.h"
#include "xla/backends/gpu/lowering/reduction_lowering.h"

// Reductions across memory whose results alone are written: a thread takes
// several rows that are neighbors in memory, and reads them at once.
//
//   r = f32[4096] reduce(f32[512,4096] x), dimensions={0}
//   ->  thread (lane, place): rows 4 * place … 4 * place + 3,
//       columns lane, lane + lanes, …, sums in registers;
//       partial sums to shared memory; one barrier;
//       a thread for each row takes those of all lanes, and writes the result

namespace xla::gpu {

struct ColumnTile {
  int64_t width = 1;   // rows of a thread
  int64_t across = 1;  // threads with rows next to each other's
  int64_t lanes = 1;   // threads of the same rows
};

// Nothing where results depend on one another or lie along the columns, where
// initial values must not be taken more than once, or where no neighbors can be
// read at once.
std::optional<ColumnTile> FindColumnTile(const ReductionGroup& group,
                                         KernelFrame& frame);

// Emits this part of the kernel.
absl::Status EmitColumns(const ReductionGroup& group, const ColumnTile& tile,
                         KernelFrame* frame);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_COLUMN_LOWERING_H_
