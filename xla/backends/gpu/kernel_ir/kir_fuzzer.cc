// A libFuzzer target for kernels as text; clang only:
//
//   ./bazelw run --config=fuzz //xla/backends/gpu/kernel_ir:kir_fuzzer --
//       $PWD/examples/kernels -max_total_time=1200

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/backends/gpu/kernel_ir/kir_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xla::gpu::kir::KernelsRoundTrip(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
