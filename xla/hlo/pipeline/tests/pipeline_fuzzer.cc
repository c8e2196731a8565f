// A libFuzzer target for pipelines on random modules; clang only:
//
//   ./bazelw run --config=fuzz //xla/hlo/pipeline/tests:pipeline_fuzzer --
//       -max_total_time=1200

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/pipeline/tests/pipeline_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xla::PipelineRunsOnRandomModule(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
