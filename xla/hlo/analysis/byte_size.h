#ifndef XLA_HLO_ANALYSIS_BYTE_SIZE_H_
#define XLA_HLO_ANALYSIS_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// "12.3 GiB"; bytes below 1 KiB as "12 B".
std::string HumanBytes(double bytes);

// "12.3 us", "4.56 ms", "7.89 s".
std::string HumanSeconds(double seconds);

// The bytes that a text says: a number, which may have a fraction, and a unit:
// none or B, KiB … EiB (powers of 1024), KB … EB (of 1000), K … E (of 1024).
// "16GiB", "1.5e9", "80 MB". InvalidArgument for all else, for numbers below 0
// and for 2^63 and more.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BYTE_SIZE_H_
