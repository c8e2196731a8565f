#ifndef XLA_BACKENDS_GPU_MODEL_COST_GPU_HLO_COST_ANALYSIS_H_
#define XLA_BACKENDS_GPU_MODEL_COST_GPU_HLO_COST_ANALYSIS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// HloCostAnalysis with what generated GPU kernels do: operations weighted by
// opcode and type, and fusions that compute and read a value as often as their
// code does, not once.
//
//   f { p = f32[8] parameter(0)   b = f32[8,100] broadcast(p)
//       ROOT e = f32[8,100] exponential(b) }
//   flops: 800 exponentials; utilization of operand 0: 100
//
// Give it to HloComputation::Accept.
class GpuHloCostAnalysis : public HloCostAnalysis {
 public:
  explicit GpuHloCostAnalysis(const Options& options = Options())
      : HloCostAnalysis(options) {}

  absl::Status HandleFusion(const HloInstruction* fusion) override;
  absl::Status HandleReduce(const HloInstruction* reduce) override;

  // Instructions that a code generator emits for the kernel.
  int64_t IrSize(const HloInstruction& kernel);
  // A fusion of both would emit too many of them.
  bool ProducerConsumerMergedTooLarge(const HloInstruction& producer,
                                      const HloInstruction& consumer);
  // How often the fusion reads an element of the operand.
  double OperandUtilization(const HloInstruction& fusion, int64_t operand);
  // To be called before a kernel goes or after it has changed.
  void Invalidate(const HloInstruction& kernel) { costs_.Invalidate(kernel); }

 protected:
  absl::Status HandleElementwiseOp(const HloInstruction* hlo) override;

 private:
  KernelCosts costs_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_GPU_HLO_COST_ANALYSIS_H_
