#include "xla/backends/gpu/kernel_ir/kir_fuzz_target.h"

#include <string>

#include "absl/log/check.h"
#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kernel.h"
#include "xla/backends/gpu/kernel_ir/kir_parser.h"
#include "xla/backends/gpu/kernel_ir/kir_printer.h"
#include "xla/backends/gpu/kernel_ir/kir_verifier.h"

namespace xla::gpu::kir {

bool KernelsRoundTrip(absl::string_view text) {
  const auto kernels = ParseKernels(text);
  if (!kernels.ok()) {
    CHECK(!kernels.status().message().empty());
    return false;
  }
  for (const Kernel& kernel : *kernels) VerifyKernel(kernel).IgnoreError();
  const std::string once = PrintKernels(*kernels);
  const auto again = ParseKernels(once);
  CHECK(again.ok()) << again.status().message() << "\nin the print of\n"
                    << text;
  const std::string twice = PrintKernels(*again);
  CHECK(twice == once) << once << "\n--- prints as ---\n" << twice;
  return true;
}

}  // namespace xla::gpu::kir
