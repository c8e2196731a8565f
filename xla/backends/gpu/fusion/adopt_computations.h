#ifndef XLA_BACKENDS_GPU_FUSION_ADOPT_COMPUTATIONS_H_
#define XLA_BACKENDS_GPU_FUSION_ADOPT_COMPUTATIONS_H_

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_module.h"

namespace xla::gpu {

// Moves what a copy of the module has become into the module itself, so that
// work done on the copy need not be repeated.
//
//   before: module: ENTRY e {…}          copy, by Clone(""): ENTRY e {fused…}
//   after:  module: ENTRY e {fused…}     copy: nothing
//
// The module keeps its config, aliases and donors. Its schedule, computations
// and instructions are destroyed: pointers to them dangle. Names are those of
// the copy. O(instructions).
absl::Status AdoptComputations(HloModule* copy, HloModule* module);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_FUSION_ADOPT_COMPUTATIONS_H_
