#ifndef XLA_BACKENDS_GPU_SMEM_BASELINE_MATMUL_PROMOTION_H_
#define XLA_BACKENDS_GPU_SMEM_BASELINE_MATMUL_PROMOTION_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/smem_device.h"

// Whether a matmul pays for a barrier so that its epilogue tile can reuse the
// memory of the operand tiles: nvFuser's heuristic as of April 2026.
//
//   before: alloc %A : shared f16[64, 64] circ(6, 5)
//   after:  alloc %A : shared f16[64, 64] promote circ(6, 5)
//
// With operands A, B and the epilogue tile C, sharing takes max(A + B, C plus
// the operands that are read again later), not sharing A + B + C. A barrier is
// bought only when not sharing does not fit, or when sharing lets another
// number of blocks run on a multiprocessor.

namespace xla::gpu {

struct MatmulSmem {
  // Bytes, stages included.
  int64_t a = 0, b = 0, c = 0;
  // The product is the operand's only use.
  bool a_dead = true, b_dead = true;
};

struct MatmulLimits {
  int64_t limit = 0;            // bytes a block may use
  int64_t register_blocks = 0;  // per multiprocessor by registers; 0: unbounded
  bool ignore_occupancy = false;
};

struct MatmulDecision {
  bool use_epilogue_tile = false;
  bool promote = false;
  int64_t bytes_shared = 0;    // when the tile takes the operands' place
  int64_t bytes_separate = 0;  // when it does not
};

MatmulDecision DecideMatmulPromotion(const MatmulSmem& smem,
                                     const MatmulLimits& limits);

// Finds the operands of the kernel's mma and the tile that its result is
// written to, decides, and sets or clears `promote` on the operands. Honors
// `option registers = N` (of a thread) and `option ignore_occupancy = 1`. The
// decision is added to `note`. InvalidArgument if the kernel is not a matmul or
// sizes are not bound to numbers.
absl::StatusOr<MatmulDecision> ApplyMatmulPromotion(const GpuDevice& device,
                                                    kir::Kernel& kernel,
                                                    std::string* note);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_BASELINE_MATMUL_PROMOTION_H_
