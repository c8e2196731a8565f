#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_FUZZ_TARGET_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla::gpu::kir {

// Parses arbitrary bytes as kernels. If that succeeds, verifies and prints
// them, and dies unless the printed text parses to kernels that print the same.
// Returns whether the bytes parsed. The property behind the fuzzer and the
// mutation test.
bool KernelsRoundTrip(absl::string_view text);

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_FUZZ_TARGET_H_
