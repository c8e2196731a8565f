#ifndef XLA_BACKENDS_GPU_LOWERING_LOWERING_TEST_UTIL_H_
#define XLA_BACKENDS_GPU_LOWERING_LOWERING_TEST_UTIL_H_

#include <cstdint>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/lowering/loop_lowering.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"

// Compares a lowering with the evaluator: the module's entry becomes one
// fusion, the fusion a kernel, which is verified and planned; its plan is
// checked, and it runs, as planned, on the kernel machine.

namespace xla::gpu {

using Lower =
    std::function<absl::StatusOr<LoweredKernel>(const HloInstruction&)>;

// OK if results are equal, no two threads race, and none of a block writes
// where another one does. Unimplemented if the module cannot be lowered or
// evaluated. Changes the module.
absl::Status CompareWithEvaluator(HloModule* module, uint64_t seed,
                                  const Lower& lower);
absl::Status CompareWithEvaluator(absl::string_view text, const Lower& lower);

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_LOWERING_LOWERING_TEST_UTIL_H_
