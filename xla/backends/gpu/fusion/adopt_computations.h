#ifndef XLA_BACKENDS_GPU_FUSION_ADOPT_COMPUTATIONS_H_
#define XLA_BACKENDS_GPU_FUSION_ADOPT_COMPUTATIONS_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// Makes what a copy of the module has become the module's program: what was
// tried need not be done again.
//
//   before: module: ENTRY e {…}          copy, by Clone(""): ENTRY e {fused…}
//   after:  module: ENTRY e {fused…}     copy: nothing
//
// The module keeps its config, aliases and donors; its schedule goes, and so do
// its computations and instructions: pointers to them are no longer good. Names
// are those of the copy. O(instructions).
absl::Status AdoptComputations(HloModule* copy, HloModule* module);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_ADOPT_COMPUTATIONS_H_
