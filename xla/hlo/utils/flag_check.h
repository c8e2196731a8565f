#ifndef XLA_HLO_UTILS_FLAG_CHECK_H_
#define XLA_HLO_UTILS_FLAG_CHECK_H_

#include <cstdint>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace xla {

// InvalidArgument, with the flag's name, for a number out of its range:
//
//   --max-buffers=-1: expected a number of at least 0
//
// NaN and infinity are in no range.
absl::Status CheckFlag(absl::string_view flag, int64_t value, int64_t least,
                       int64_t most = std::numeric_limits<int64_t>::max());
absl::Status CheckFlag(absl::string_view flag, double value, double least,
                       double most = std::numeric_limits<double>::max());
// For flags where -1 means no limit; other negative values are errors.
absl::Status CheckLimitFlag(absl::string_view flag, double value,
                            double most = std::numeric_limits<double>::max());

}  // namespace xla

#endif  // XLA_HLO_UTILS_FLAG_CHECK_H_
