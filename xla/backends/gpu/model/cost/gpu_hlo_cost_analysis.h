#ifndef XLA_BACKENDS_GPU_MODEL_COST_GPU_HLO_COST_ANALYSIS_H_
#define XLA_BACKENDS_GPU_MODEL_COST_GPU_HLO_COST_ANALYSIS_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "xla/backends/gpu/model/cost/fusion_uses.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/analysis/cost/hlo_cost_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// HloCostAnalysis for generated GPU kernels, as OpenXLA's class of this name
// counts: three operations per element of an elementwise instruction, and
// fusions that compute and read a value as often as their code does, not once.
// (The fusion passes here decide by GpuPerformanceModel, which weighs
// operations.)
//
//   f { p = f32[8] parameter(0)   e = f32[8] exponential(p)
//       ROOT b = f32[8,100] broadcast(e) }
//   flops: 3 * 800; utilization of operand 0: 100
//
// A concatenation decides for each element which operand it comes from: six
// operations, or 400 where threads of one warp take different operands. Initial
// values of reductions are read for each result. Constants of more than
// eight elements are read from memory. Library calls return their result; their
// workspace, element 1, costs nothing. A custom call whose backend config holds
// a `cost_estimate_json` costs what that says.
//
// Give it to HloComputation::Accept.
class GpuHloCostAnalysis : public HloCostAnalysis {
 public:
  explicit GpuHloCostAnalysis(const Options& options = Options())
      : HloCostAnalysis(options) {}
  // Operations cost the same on all devices.
  GpuHloCostAnalysis(const Options& options,
                     const stream_executor::DeviceDescription& device)
      : HloCostAnalysis(options) {}

  absl::Status HandleFusion(const HloInstruction* fusion) override;
  absl::Status HandleReduce(const HloInstruction* reduce) override;
  absl::Status HandleCustomCall(const HloInstruction* custom_call) override;
  absl::Status HandleConcatenate(const HloInstruction* concatenate) override;

  // Instructions of the kernel, parameters included; those of a fusion's body
  // count once for each reader that asks for other elements.
  int64_t IrSize(const HloInstruction& kernel);
  // Whether a fusion of both would emit too many of them.
  bool ProducerConsumerMergedTooLarge(const HloInstruction& producer,
                                      const HloInstruction& consumer);
  // How often the fusion reads an element of the operand.
  double OperandUtilization(const HloInstruction& fusion, int64_t operand);
  // How often an element of either of two instructions in a fusion's body is
  // used by readers that ask for the same elements of both.
  float CommonElementwiseUtilization(const HloInstruction* a,
                                     const HloInstruction* b);
  // Bytes that a device receives from others, or sends to them, in a collective
  // or the start of an asynchronous one; 0 for everything else. A device's own
  // part is not sent: (g-1)/g of a gathered, scattered or exchanged value in
  // groups of g. An all-reduce counts its operands once, however often they
  // travel.
  int64_t BytesTransferred(const HloInstruction& hlo) const;
  // Call before a kernel is removed or after it has changed.
  void Invalidate(const HloInstruction& kernel) { uses_.erase(&kernel); }

 protected:
  absl::Status HandleElementwiseOp(const HloInstruction* hlo) override;

 private:
  using UsesInBody = absl::flat_hash_map<const HloInstruction*, BodyUses>;

  // Computed at the first request.
  const UsesInBody& UsesOf(const HloInstruction& fusion);

  absl::node_hash_map<const HloInstruction*, UsesInBody> uses_;  // by fusion
  int depth_ = 0;  // of fusions in fusions
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_GPU_HLO_COST_ANALYSIS_H_
