#ifndef XLA_BACKENDS_GPU_SMEM_SMEM_DEVICE_H_
#define XLA_BACKENDS_GPU_SMEM_SMEM_DEVICE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

// The shared memory limits of a GPU, per block and per multiprocessor.
//
// Source of the figures: CUDA C++ Programming Guide, appendix "Compute
// Capabilities", tables "Technical Specifications per Compute Capability" and
// "Shared Memory"; granularities from the CUDA Occupancy Calculator.

namespace xla::gpu {

// Bytes of a block's shared memory that are set aside for variables of fixed
// size: plans use the others.
inline constexpr int64_t kSharedSetAside = 128;

struct GpuDevice {
  absl::string_view name;  // "sm_90"
  int compute_capability;  // 90
  // Bytes.
  int64_t shared_per_block;      // without asking: 48 KiB
  int64_t shared_per_block_max;  // after cudaFuncSetAttribute
  int64_t shared_per_sm;         // largest carve-out of one multiprocessor
  int64_t shared_reserved;       // per block, by the system
  int64_t shared_granularity;    // a block's use is rounded up to it
  // Counts per multiprocessor.
  int max_threads_per_sm;
  int max_blocks_per_sm;
  int max_warps_per_sm;
  int registers_per_sm;

  // Bytes one block takes from its multiprocessor.
  int64_t Footprint(int64_t shared_bytes) const;
  // Blocks of `threads` threads and `shared_bytes` bytes that one
  // multiprocessor holds at a time; 0 if not even one fits. `registers` per
  // thread; 0: ignored.
  int BlocksPerSm(int64_t shared_bytes, int threads, int registers = 0) const;
  // The most bytes a block may use so that `blocks` of them still fit one
  // multiprocessor; -1 if not even 0 bytes do. The inverse of BlocksPerSm in
  // shared memory alone: between two such steps, saving bytes gains nothing.
  int64_t OccupancyStep(int blocks) const;
};

// sm_70, 75, 80, 86, 87, 89, 90, 100 and 120, in this order.
absl::Span<const GpuDevice> AllGpuDevices();
// By name ("sm_90", "90", "9.0", or a product's: "V100", "A100", "H100", …).
absl::StatusOr<GpuDevice> FindGpuDevice(absl::string_view name);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_SMEM_DEVICE_H_
