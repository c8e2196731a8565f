#ifndef XLA_BACKENDS_GPU_LOWERING_MODULE_LOWERING_H_
#define XLA_BACKENDS_GPU_LOWERING_MODULE_LOWERING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "xla/backends/gpu/lowering/fusion_lowering.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

// The kernels of a module as kernel IR.

namespace xla::gpu {

struct ModuleLowering {
  struct Kernel {
    const HloInstruction* hlo;
    int64_t bytes;  // KernelBytes
    absl::Status status;
    LoweredKernel lowered;  // if the status is OK
  };
  std::vector<Kernel> kernels;

  // As .kir text: each kernel after the kinds and reasons of its parts, or a
  // comment that says why there is none; at the end, how many there are, of
  // which kinds, and their share of the bytes moved. Custom calls are counted
  // separately: libraries compute them.
  std::string ToString() const;
};

// Everything that runs as a kernel in the entry and in the loops, conditionals
// and calls that it runs, operands first. Instructions that move no data
// (tuples, bitcasts, control flow, arrays without elements) are not kernels,
// nor are values known to the host (numbers of devices); library calls are.
std::vector<const HloInstruction*> FindKernels(const HloModule& module);
// Whether its results have no elements, so that no library is called for it.
bool ComputesNothing(const HloInstruction& hlo);
// The library's call or collective: the instruction itself, or the one that a
// fusion holds between slices; nullptr if there is none.
const HloInstruction* LibraryCall(const HloInstruction& hlo);

// Bytes of its operands and results, which it reads and writes.
int64_t KernelBytes(const HloInstruction& hlo);

// Lowers the kernels of a module, each under a name of its own. Leaves out what
// a library computes and what cannot be computed here.
ModuleLowering LowerModule(const HloModule& module,
                           const FusionLoweringOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MODULE_LOWERING_H_
