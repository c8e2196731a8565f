#ifndef XLA_BACKENDS_GPU_KERNEL_IR_KIR_FUZZ_TARGET_H_
#define XLA_BACKENDS_GPU_KERNEL_IR_KIR_FUZZ_TARGET_H_

#include "absl/strings/string_view.h"

namespace xla::gpu::kir {

// Parses any bytes as kernels. If they are, verifies and prints them, and dies
// unless the printed text is kernels that print the same again. Returns whether
// they were kernels. The property behind the fuzzer and the mutation test.
bool KernelsRoundTrip(absl::string_view text);

}  // namespace xla::gpu::kir

#endif  // XLA_BACKENDS_GPU_KERNEL_IR_KIR_FUZZ_TARGET_H_
