#ifndef XLA_BACKENDS_GPU_LOWERING_KERNEL_PRICES_H_
#define XLA_BACKENDS_GPU_LOWERING_KERNEL_PRICES_H_

#include <string>

#include "absl/container/node_hash_map.h"
#include "absl/time/time.h"
#include "xla/backends/gpu/lowering/kernel_planner.h"
#include "xla/backends/gpu/lowering/kernel_work.h"
#include "xla/backends/gpu/model/cost/gpu_performance_model.h"
#include "xla/backends/gpu/model/library_dot.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// How long a kernel takes that has been lowered:
//
//   time  = launch + hypot(work, waits)
//   work  = memory's part, or that of the multiprocessor with the most blocks
//           if it is longer: to start blocks, and the longest of issue slots,
//           shared memory and the way from and to L2; where matrix units
//           multiply, slots, shared memory and units one after the other
//   waits = what the slowest warp waits for, one after the other
//           (KernelWork::Chain), as often as blocks take turns
//
// Fitted to kernels' own times on an H200, in its cycles; on other devices
// these are as many, and rates are as described. `arithmetic`: of issue slots,
// shared memory and matrix units alone.
absl::Duration PriceOfWork(const KernelWork& work, int blocks_per_sm,
                           double bytes,
                           const stream_executor::DeviceDescription& device,
                           absl::Duration* arithmetic);

// The same for the library's product: it takes the tile whose waves end first.
absl::Duration PriceOfLibraryDot(
    const LibraryDot& dot, double bytes,
    const stream_executor::DeviceDescription& device,
    absl::Duration* arithmetic);

// The kernels of a module as they will run. GpuPerformanceModel, which passes
// ask before there are kernels, counts operations and bytes here, too, and says
// how long those take that cannot be lowered.
class KernelPrices {
 public:
  // The device must outlive this.
  explicit KernelPrices(const stream_executor::DeviceDescription& device);

  // compute_time and time differ from the model's. Lowers each kernel once for
  // all that compute the same.
  EstimateRunTimeData Of(const HloInstruction& kernel);

 private:
  struct Price {
    bool is_known = false;
    absl::Duration time, arithmetic;
  };
  Price Compute(const HloInstruction& kernel, double bytes);

  const stream_executor::DeviceDescription& device_;
  const FusionLoweringOptions lowering_;
  GpuPerformanceModel model_;
  KernelPlanner planner_;
  absl::node_hash_map<std::string, Price> prices_;  // looked up only
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_KERNEL_PRICES_H_
