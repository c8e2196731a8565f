#ifndef XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_PARTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_MOF_MOF_NARROW_PARTS_H_

#include <cstddef>
#include <vector>

#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// A value inside of a fusion that is smaller than what it is computed from,
// elementwise:
//
//   kernel = fusion(x, g): select(x > 0, g, 0)      value: x > 0
struct NarrowPart {
  HloInstruction* kernel;
  // Equal instructions of the kernel; the first one is that of chain.back().
  std::vector<HloInstruction*> values;
  // The instructions that compute the value, operands first, without
  // parameters. Operands are parameters and instructions of earlier steps; of a
  // value that the kernel computes twice, the first.
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
  // How the kernel would read the value: as it now reads what is absorbed.
  OperandCost reads;
  // Bytes saved by reading the value instead.
  double saved_bytes = 0;
  // A hash of the chain: equal for equal chains over equal kernel operands.
  size_t hash = 0;
};

// Most instructions of a chain.
inline constexpr size_t kMaxNarrowChain = 16;

// The parts of a fusion with saved_bytes above 0 that are not outputs, in
// order, and all of whose large operands are at hand. `cost`: of the fusion;
// `at_hand`: by operand of the fusion, whether another kernel produces or reads
// it. O(instructions), and O(kMaxNarrowChain) for each candidate.
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
