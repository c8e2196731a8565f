#ifndef XLA_BACKENDS_GPU_MODEL_COST_KERNEL_COST_WALK_H_
#define XLA_BACKENDS_GPU_MODEL_COST_KERNEL_COST_WALK_H_

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "xla/backends/gpu/model/cost/instruction_flops.h"
#include "xla/backends/gpu/model/cost/kernel_cost.h"
#include "xla/backends/gpu/model/kernel_target.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla::gpu {

// Whether an instruction outside of fusions starts no kernel: parameters,
// constants, tuples, bitcasts by whatever name, waits, control flow.
bool IsFreeOfCost(const HloInstruction& instruction);

// Whether a library or the runtime runs it: nothing can be fused with it.
bool IsLibraryKernel(const HloInstruction& instruction);

// One walk over a kernel, from its results to its operands, that finds where
// and how often each value is read. O(instructions + operands).
class KernelCostWalk {
 public:
  // `inner`: the cost of a fusion within a fusion.
  KernelCostWalk(
      const stream_executor::DeviceDescription* device,
      KernelTarget kernels_for, OperationPrices prices, InstructionFlops* flops,
      absl::FunctionRef<int32_t()> new_place,
      absl::FunctionRef<const KernelCost&(const HloInstruction&)> inner)
      : device_(device),
        kernels_for_(kernels_for),
        prices_(prices),
        flops_(flops),
        new_place_(new_place),
        inner_(inner) {}

  KernelCost OfFusion(const HloInstruction& fusion);
  KernelCost OfInstruction(const HloInstruction& instruction);

 private:
  // Adds the cost of an instruction that is read as `reads` says, and how it
  // reads its operands to their slots. `is_output`: of the kernel.
  void Visit(const HloInstruction& instruction, const OperandCost& reads,
             bool is_output, absl::FunctionRef<OperandCost*(int64_t)> slot);
  void VisitInnerFusion(const HloInstruction& fusion, const OperandCost& reads,
                        absl::FunctionRef<OperandCost*(int64_t)> slot);
  // How a slice or padding reads its operand for the elements of a window;
  // nullopt if they are not near each other.
  std::optional<ValueAccess> ReadOfWindow(const HloInstruction& instruction,
                                          const OperandCost& reads);
  bool IsHero(const HloInstruction& instruction) const;
  // The kernel runs over the elements of this shape.
  void RunOver(const Shape& shape);
  void WriteOutput(const HloInstruction& output);

  const stream_executor::DeviceDescription* device_;
  KernelTarget kernels_for_;
  OperationPrices prices_;
  InstructionFlops* flops_;
  absl::FunctionRef<int32_t()> new_place_;
  absl::FunctionRef<const KernelCost&(const HloInstruction&)> inner_;
  KernelCost cost_;
  // Places near others, by these and the value that is read there; false: where
  // several elements lie between those of neighboring threads.
  absl::flat_hash_map<std::tuple<int32_t, const HloInstruction*, bool>, int32_t>
      near_places_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_MODEL_COST_KERNEL_COST_WALK_H_
