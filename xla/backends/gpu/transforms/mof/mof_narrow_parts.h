#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_PARTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_PARTS_H_

#include <cstddef>
#include <vector>

#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// A value inside of a fusion that takes less room than what it is computed
// from, element by element:
//
//   kernel = fusion(x, g): select(x > 0, g, 0)      value: x > 0
struct NarrowPart {
  HloInstruction* kernel;
  // Equal instructions of the kernel; the first one is that of chain.back().
  std::vector<HloInstruction*> values;
  // The instructions that compute the value, operands first, without
  // parameters. Operands are parameters and instructions of earlier steps:
  // where the kernel computes a value twice, the first one.
  struct Step {
    HloInstruction* instruction;
    std::vector<HloInstruction*> operands;
  };
  std::vector<Step> chain;
  // Parameters that the chain reads: those of the value's shape, types aside,
  // and smaller ones.
  std::vector<HloInstruction*> large;
  std::vector<HloInstruction*> small;
  // The members of `small` and `large` that nothing else in the kernel reads;
  // at least one of them is in `large`.
  std::vector<HloInstruction*> absorbed;
  // How the kernel reads the value, as it reads what is absorbed now.
  OperandCost reads;
  // Bytes that the kernel reads less if it reads the value instead.
  double saved_bytes = 0;
  // A hash of the chain: equal for equal chains over equal kernel operands.
  size_t hash = 0;
};

// Most instructions of a chain.
inline constexpr size_t kMaxNarrowChain = 16;

// Those of a fusion with saved_bytes above 0 that are no outputs, in order, and
// of which all large operands are at hand. `cost`: of the fusion; `at_hand`: by
// operand of the fusion, whether another kernel makes or reads it.
// O(instructions), and O(kMaxNarrowChain) for each that may be one.
std::vector<NarrowPart> FindNarrowParts(HloInstruction* fusion,
                                        const KernelCost& cost,
                                        const std::vector<bool>& at_hand);

// Both compute the same from the same operands of their kernels.
bool AreEqualParts(const NarrowPart& a, const NarrowPart& b);

// The operand of the part's kernel behind a parameter.
HloInstruction* OperandOf(const NarrowPart& part,
                          const HloInstruction* parameter);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_PARTS_H_
