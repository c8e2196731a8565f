// Entry point for libFuzzer; testdata/ is a seed corpus:
//
//   ./bazelw run --config=fuzz \
//       //xla/hlo/parser:hlo_parser_fuzzer -- $PWD/xla/hlo/parser/testdata

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/parser/parser_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xla::hlo_text::ParsesAndRoundTrips(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
