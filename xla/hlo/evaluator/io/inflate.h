#ifndef XLA_HLO_EVALUATOR_IO_INFLATE_H_
#define XLA_HLO_EVALUATOR_IO_INFLATE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// Decompresses a raw DEFLATE stream (RFC 1951), without a zlib or gzip header.
// The result must have exactly `size` bytes; InvalidArgument for a stream that
// is damaged, ends early or holds more. Time is linear in the result.
absl::StatusOr<std::string> Inflate(absl::string_view compressed, int64_t size);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_IO_INFLATE_H_
