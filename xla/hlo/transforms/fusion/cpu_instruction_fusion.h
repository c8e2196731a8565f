#ifndef XLA_HLO_TRANSFORMS_FUSION_CPU_INSTRUCTION_FUSION_H_
#define XLA_HLO_TRANSFORMS_FUSION_CPU_INSTRUCTION_FUSION_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/transforms/fusion/instruction_fusion.h"
#include "xla/hlo/utils/fusion_decision.h"

namespace xla {
namespace cpu {

// Fuses what a CPU computes in one loop over the elements of a result:
// instruction_fusion.h, restricted to fewer opcodes.
//
//   before: e = exponential(p); n = negate(e); r = reduce(n, z)
//   after:  f = fusion(p), calls={negate(exponential(p0))}; r = reduce(f, z)
//
// Loops hold elementwise instructions and those that only tell where an element
// comes from: broadcast, concatenate, dynamic-slice, dynamic-update-slice,
// gather, iota, pad, reshape, reverse, slice, transpose. Products,
// convolutions, reductions, windows, scatters and sorts have loops of their
// own, with their operands and results in memory: they read operands many times
// or out of order. That is what makes a CPU's peak higher than a GPU's.
//
// Leaves alone what instruction_fusion.h does.
class CpuInstructionFusion : public InstructionFusion {
 public:
  explicit CpuInstructionFusion(const AliasInfo* alias_info)
      : InstructionFusion(InstructionFusion::IsExpensive, alias_info) {}
  explicit CpuInstructionFusion(const InstructionFusionOptions& options)
      : InstructionFusion(options) {}

  absl::string_view name() const override { return "cpu-instruction-fusion"; }

 protected:
  FusionDecision ShouldFuse(HloInstruction* consumer,
                            int64_t operand_index) override;
};

}  // namespace cpu
}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_FUSION_CPU_INSTRUCTION_FUSION_H_
