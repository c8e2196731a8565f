// A libFuzzer target for modules as protos; clang only:
//
//   ./bazelw run --config=fuzz //xla/hlo/utils:proto_fuzzer -- SEEDS
//   -max_total_time=1200
//
// Seeds: `hlo-opt FILE --emit=proto -o SEEDS/FILE.pb` for the text tests.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/string_view.h"
#include "xla/hlo/utils/proto_fuzz_target.h"
#include "xla/hlo/utils/proto_mutator.h"
#include "xla/service/hlo.pb.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// Fields of modules where the bytes are one, and sometimes bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  xla::HloProto module;
  if (seed % 8 == 0 || !module.ParseFromArray(data, static_cast<int>(size))) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  xla::MutateProto(seed, &module);
  const std::string bytes = module.SerializeAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  xla::ReadsAsProtoAndRoundTrips(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
