// Entry point for libFuzzer; testdata/verdicts is a seed corpus:
//
//   ./bazelw run --config=fuzz //xla/hlo/verifier:hlo_verifier_fuzzer --
//       $PWD/xla/hlo/verifier/testdata/verdicts

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "xla/hlo/verifier/verifier_fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xla::VerifiesAndRoundTrips(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
