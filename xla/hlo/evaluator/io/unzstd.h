#ifndef XLA_HLO_EVALUATOR_IO_UNZSTD_H_
#define XLA_HLO_EVALUATOR_IO_UNZSTD_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// Whether the bytes begin as a frame of zstd does.
bool IsZstd(absl::string_view bytes);

// Decompresses a file of zstd (RFC 8878): its frames one after the other, those
// for others skipped. InvalidArgument where it is damaged (checksums are
// compared where there are any), ends early, needs a dictionary, or would take
// more than `max_size` bytes. Time is linear in the result.
absl::StatusOr<std::string> Unzstd(absl::string_view compressed,
                                   int64_t max_size);

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_IO_UNZSTD_H_
