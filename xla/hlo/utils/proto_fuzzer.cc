// A libFuzzer target for modules as protos; clang only:
//
//   ./bazelw run --config=fuzz //xla/hlo/utils:proto_fuzzer -- SEEDS
//   -max_total_time=1200
//
// Seeds: `hlo-opt FILE --emit=proto -o SEEDS/FILE.pb` for the text tests.

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/utils/proto_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xla::ReadsAsProtoAndRoundTrips(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
