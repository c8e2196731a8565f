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
    int64_t bytes;  // of operands and results
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

// Lowers the entry and everything it runs through loops, conditionals and
// calls, operands first. Instructions that move no data (tuples, bitcasts,
// control flow) make no kernel; those that a library computes, or that need
// several threads per element, make one that is not lowered. Kernel names are
// unique.
ModuleLowering LowerModule(const HloModule& module,
                           const FusionLoweringOptions& options = {});

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_MODULE_LOWERING_H_
