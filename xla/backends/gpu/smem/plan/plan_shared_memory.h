#ifndef XLA_BACKENDS_GPU_SMEM_PLAN_PLAN_SHARED_MEMORY_H_
#define XLA_BACKENDS_GPU_SMEM_PLAN_PLAN_SHARED_MEMORY_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/smem/smem_device.h"
#include "xla/backends/gpu/smem/smem_plan.h"

// Plans the shared memory of a kernel: addresses, and every barrier, wait and
// fence that data or the reuse of bytes requires.
//
//   %A[x] = …; r = -%A[y]; %B[x] = pad(r); …
//     ->  alloc %A : shared f32[7] addr(0); alloc %B : shared f32[8] addr(0)
//         %A[x] = …; sync block; r = -%A[y]; sync block; %B[x] = …
//
//   lives (smem_liveness.h), per iteration of loops, over all accesses
//   -> races inside buffers and what could order them (smem_hazard.h)
//   -> barriers against bytes (smem_search.h): offsets by dynamic storage
//      allocation (smem_place.h) for each useful set of barriers
//   -> the choice: first to fit the device, then blocks per multiprocessor,
//      then fewer barriers, then bytes; kernels with `promote` buy up to one
//      barrier per promoted buffer for bytes alone
//   -> the fewest barriers for the bytes that really are common, and waits and
//      fences (smem_insert.h), in halves where that pays
//
// Legal because two accesses to a common byte, one of them a write, are by one
// thread, or every path between them has a barrier of the whole block, after
// the completion of transfers and the fence where proxies change. Bytes that
// only a single thread (or warp) touches overlap without a barrier; this is
// read off the accesses' footprints at the final addresses.
//
// Symbols: proofs hold for all their values; addresses are numbers under the
// bindings and expressions over the symbols that are safe for all other values.

namespace xla::gpu {

struct SmemPlanOptions {
  enum class ReuseSyncs {
    kAuto,      // as above
    kNever,     // none for reuse
    kMinBytes,  // whatever saves bytes
  };
  ReuseSyncs reuse_syncs = ReuseSyncs::kAuto;
  // Maximum number of barriers for reuse.
  std::optional<int> max_reuse_syncs;
  // Alignment of buffers that ask for none, in bytes; over `option min_align`.
  // Without either: the element's, the vector's and the transfer's own.
  std::optional<int64_t> min_align;
  // Buffers up to which the placement is exact.
  int exact_up_to = 10;
  // Per thread; bounds blocks per multiprocessor. 0: not looked at.
  int registers = 0;
  // Accepts barriers in divergent code, without relying on them.
  bool allow_divergent_barriers = false;
  // Loops of circular buffers are split, and bulk loads that name no mbarrier
  // get one, before anything else (circular_buffering.h).
  bool circular = true;
  // Barriers of the grid where blocks pass values through global memory.
  bool global_syncs = true;
  // Arrays in registers share slots (register_slots.h).
  bool register_slots = true;
  // Splits barriers into arrive and wait where a thread has at least this many
  // cycles of work in between (smem_split_barriers.h). 0: never.
  int64_t split_cycles = 512;
};

// InvalidArgument, with its place, for kernels that do not verify and for sizes
// that are not numbers under the bindings. ResourceExhausted, with requested
// and available bytes and the three largest buffers, if the device is too
// small.
absl::StatusOr<SmemPlan> PlanSharedMemory(const kir::Kernel& kernel,
                                          const GpuDevice& device,
                                          const SmemPlanOptions& options = {});

// The alignment a buffer gets, in bytes.
int64_t SmemAlignment(const kir::Kernel& kernel, const kir::Buffer& buffer,
                      std::optional<int64_t> min_align);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_SMEM_PLAN_PLAN_SHARED_MEMORY_H_
