#ifndef XLA_HLO_ANALYSIS_BYTE_SIZE_H_
#define XLA_HLO_ANALYSIS_BYTE_SIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// "12.3 GiB"; bytes below 1 KiB as "12 B".
std::string HumanBytes(double bytes);

// Formats sizes that are to be added up or compared, all in the unit of the
// largest, which gets at least three digits; those below a tenth of that unit
// as HumanBytes() does:
//
//   const ByteUnit unit(1884000);  // MiB
//   unit(1884000) → "1.80 MiB", unit(844000) → "0.80 MiB", unit(16) → "16 B"
class ByteUnit {
 public:
  explicit ByteUnit(double largest);
  std::string operator()(double bytes) const;

  // The bytes that the text stands for.
  double Rounded(double bytes) const;

 private:
  double scale_ = 1;
  int digits_ = 0;
  std::string name_ = "B";
};

// "12.3 us", "4.56 ms", "7.89 s".
std::string HumanSeconds(double seconds);

// Parses a number of bytes: a number, which may have a fraction, and a unit:
// none or B, KiB … EiB (powers of 1024), KB … EB (of 1000), K … E (of 1024).
// "16GiB", "1.5e9", "80 MB". InvalidArgument for anything else, negative
// numbers, and 2^63 or more.
absl::StatusOr<int64_t> ParseByteSize(absl::string_view text);

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_BYTE_SIZE_H_
