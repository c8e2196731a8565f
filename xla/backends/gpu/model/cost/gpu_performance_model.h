#ifndef XLA_BACKENDS_GPU_MODEL_COST_GPU_PERFORMANCE_MODEL_H_
#define XLA_BACKENDS_GPU_MODEL_COST_GPU_PERFORMANCE_MODEL_H_

#include <cstdint>
#include <string>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// The work and run time of a kernel. All zero for instructions that are not
// kernels.
struct EstimateRunTimeData {
  double flops = 0;
  // To and from device memory; repeated reads served by caches do not count.
  double bytes_read = 0;
  double bytes_written = 0;
  absl::Duration read_time;
  absl::Duration write_time;
  absl::Duration compute_time;
  // Reads, writes and computation together, without the launch.
  absl::Duration exec_time;
  // The launch plus exec_time; 0 for what is not a kernel.
  absl::Duration time;

  double bytes() const { return bytes_read + bytes_written; }
  // `1.2us: 100 flops 0.1us, 4000 B read 0.9us, 40 B written 0.1us`
  std::string ToString() const;
};

// How long kernels take on a device, by what they compute, read and write.
//
//   time    = launch + exec
//   exec    = compute + memory - 0.95 * min(compute, memory)
//   compute = flops / (2 * clock * min(blocks, cores) * min(threads, FPUs))
//   memory  = reads + writes; the first read of a byte and each write come from
//             memory, repeats from a cache that holds the operand: L2 at 2.5
//             times memory's rate, L1 at 8 times L2's; reads that are not
//             coalesced move a whole transaction per element; a grid too small
//             for memory's rate moves 32 bytes per block and clock
//
// Instructions outside of fusions are kernels of their own; parameters,
// constants, bitcasts, tuples and their elements, and control flow (what it
// calls is priced by itself) cost nothing. Dots, convolutions, sorts and custom
// calls take what the device's peak rates say.
//
// Estimates of a hypothetical fusion take O(operands of the pair), even if both
// are large: see KernelCosts. Results are kept until Invalidate.
class GpuPerformanceModel {
 public:
  struct RunTimes {
    absl::Duration time_unfused;
    absl::Duration time_fused;
    // unfused - fused.
    absl::Duration saved() const { return time_unfused - time_fused; }
  };

  // The device must outlive the model.
  explicit GpuPerformanceModel(
      const stream_executor::DeviceDescription& device,
      KernelTarget kernels_for = KernelTarget::kOwn,
      OperationPrices prices = OperationPrices::kDevice)
      : device_(device),
        prices_(prices),
        costs_(&device, kernels_for, prices) {}

  // The time of one instruction as it is.
  const EstimateRunTimeData& EstimateRunTime(const HloInstruction& kernel);
  // The same under OpenXLA's name.
  EstimateRunTimeData EstimateRunTimeForInstruction(
      const HloInstruction* instruction) {
    return EstimateRunTime(*instruction);
  }
  // Adds the estimate to the instruction's GpuBackendConfig, as its
  // reification_cost. InvalidArgument if its config is another one.
  absl::Status RecordEstimatedRunTime(HloInstruction* instruction);

  // The time of `consumer` with its operand `producer` fused into it. The
  // producer's result is not written.
  EstimateRunTimeData EstimateFusedTime(const HloInstruction& producer,
                                        const HloInstruction& consumer);

  // The producer and all `consumers` as they are, and the consumers with the
  // producer fused into each.
  RunTimes EstimateRunTimes(const HloInstruction& producer,
                            absl::Span<const HloInstruction* const> consumers);

  // Producer and consumer in one kernel that also writes the producer's result.
  EstimateRunTimeData EstimateMultiOutputTime(const HloInstruction& producer,
                                              const HloInstruction& consumer);
  RunTimes EstimateRunTimesForMultiOutputFusion(const HloInstruction& producer,
                                                const HloInstruction& consumer);

  // Producer and consumer, which reads it or some of its several outputs, in
  // one kernel that writes what others read. Several outputs must be read along
  // the result (OperandCost).
  EstimateRunTimeData EstimateMergedTime(const HloInstruction& producer,
                                         const HloInstruction& consumer);

  // The cost of the kernel that EstimateMergedTime or EstimateSiblingsTime is
  // about, whichever fits.
  KernelCostWithOperands CostOfMerged(const HloInstruction& a,
                                      const HloInstruction& b);

  // Two kernels, neither of which reads the other's result, as one.
  EstimateRunTimeData EstimateSiblingsTime(const HloInstruction& a,
                                           const HloInstruction& b);
  RunTimes EstimateRunTimesForSiblings(const HloInstruction& a,
                                       const HloInstruction& b);
  // Bytes of shared operands that are read once instead of twice.
  double SiblingBytesSaved(const HloInstruction& a, const HloInstruction& b);

  // Call when the instruction has changed or is about to be removed. Its
  // neighbors need no call.
  void Invalidate(const HloInstruction& instruction);

  // Instructions that a fusion of both emits; the limit for one kernel.
  double FusedIrSize(const HloInstruction& producer,
                     const HloInstruction& consumer);
  static constexpr double kMaxIrSize = 10000;
  // FusedIrSize is above the limit.
  bool IsTooLarge(const HloInstruction& producer,
                  const HloInstruction& consumer) {
    return FusedIrSize(producer, consumer) > kMaxIrSize;
  }

  KernelCosts& costs() { return costs_; }
  const stream_executor::DeviceDescription& device() const { return device_; }

  static absl::Duration LaunchOverhead() { return absl::Microseconds(1); }
  // Computes exec_time and time from the other times.
  static void AddExecTime(EstimateRunTimeData* data);

  // The estimate for a cost.
  EstimateRunTimeData Estimate(const KernelCostWithOperands& kernel) const {
    return EstimateAll(kernel).data;
  }

 private:
  struct Known {
    EstimateRunTimeData data;
    // The sum of the reads' times, and the rate it was computed with.
    double read_seconds = 0;
    double read_rate = 0;
  };
  Known EstimateAll(const KernelCostWithOperands& kernel) const;
  const Known& Get(const HloInstruction& kernel);
  EstimateRunTimeData EstimatePair(const HloInstruction& producer,
                                   const HloInstruction& consumer,
                                   bool keep_output);

  // Bytes per second that the kernel can read, from caches, too, where XLA's
  // prices count.
  double ReadRateOf(const KernelCost& cost) const;
  // `first_operand`: whose type a library kernel multiplies; may be null.
  double ComputeSeconds(const KernelCost& cost,
                        const HloInstruction* first_operand) const;
  double ReadSeconds(const OperandCost& reads, const Shape& shape,
                     double bandwidth) const;
  // Fills in all times except those of reads.
  void AddTimes(const KernelCost& cost, const HloInstruction* first_operand,
                double read_seconds, EstimateRunTimeData* data) const;

  const stream_executor::DeviceDescription& device_;
  OperationPrices prices_;
  KernelCosts costs_;
  absl::node_hash_map<const HloInstruction*, Known> times_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_GPU_PERFORMANCE_MODEL_H_
