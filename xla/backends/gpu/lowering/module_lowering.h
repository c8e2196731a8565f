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

  // .kir text: each kernel behind its parts' kinds and reasons, or a comment
  // that says why it is none, and at the end how many there are, of which
  // kinds, and what share of the bytes they move. Custom calls
  // are counted apart: libraries compute them.
  std::string ToString() const;
};

// What runs as a kernel in the entry and in what it runs by loops, conditionals
// and calls, operands first. What moves no data (tuples, bitcasts, control
// flow, arrays without elements) is no kernel, nor what the host knows (numbers
// of devices); what a library computes is one.
std::vector<const HloInstruction*> FindKernels(const HloModule& module);
// Results without elements, which no library is asked for.
bool ComputesNothing(const HloInstruction& hlo);
// The call or the collective that a library computes, alone or between slices
// that one fusion with it holds; nullptr if there is none.
const HloInstruction* LibraryCall(const HloInstruction& hlo);

// What it reads and writes: bytes of operands and results.
int64_t KernelBytes(const HloInstruction& hlo);

// Lowers the kernels of a module; each gets a name of its own. What a library
// computes, or nothing here can compute, is left out.
ModuleLowering LowerModule(const HloModule& module,
                           const FusionLoweringOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MODULE_LOWERING_H_
