#ifndef XLA_BACKENDS_GPU_MODEL_COST_INSTRUCTION_FLOPS_H_
#define XLA_BACKENDS_GPU_MODEL_COST_INSTRUCTION_FLOPS_H_

#include "absl/container/flat_hash_map.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/xla_data.pb.h"

namespace xla::gpu {

// Whose operations and reads are counted: those that a device executes, or
// those that XLA takes for granted when it decides what to fuse.
enum class OperationPrices { kDevice, kXla };

// Operations of a GPU per element of an elementwise opcode, where an addition
// is one: derived from the CUDA C++ Programming Guide's tables of instruction
// throughput (per core and clock) and of math functions (steps of their
// polynomials). 64-bit types take longer, complex ones several real operations;
// 0 for opcodes that compute nothing.
double FlopsPerElement(HloOpcode opcode, PrimitiveType type);

// The same as XLA counts it on an H100: as the times of two elementwise kernels
// tell that its priority fusion prints. It takes most functions for five to 25
// times dearer, so it keeps their results rather than compute them twice.
double FlopsPerElementInXla(HloOpcode opcode, PrimitiveType type);

// Elements that a window covers, those of its padding and holes too.
double WindowElements(const Window& window);

// Operations of whole instructions. Each called computation is visited once.
class InstructionFlops {
 public:
  explicit InstructionFlops(OperationPrices prices = OperationPrices::kDevice)
      : prices_(prices) {}

  // Operations of the instruction itself: none for data movement; a reduction
  // counts its computation once per application (at least 3 operations per
  // element), dots and convolutions two per multiplication. Fusions and control
  // flow count 0 here.
  double Of(const HloInstruction& instruction);
  // Operations of one application of a computation.
  double OfComputation(const HloComputation& computation);

 private:
  OperationPrices prices_;
  absl::flat_hash_map<const HloComputation*, double> computations_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_INSTRUCTION_FLOPS_H_
