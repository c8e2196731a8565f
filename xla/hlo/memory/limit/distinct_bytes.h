#ifndef XLA_HLO_MEMORY_LIMIT_DISTINCT_BYTES_H_
#define XLA_HLO_MEMORY_LIMIT_DISTINCT_BYTES_H_

#include <string>
#include <utility>
#include <vector>

#include "xla/hlo/analysis/byte_size.h"

namespace xla {

// Two sizes as HumanBytes() writes them, with as many digits as it takes to
// tell them apart: "1.2 MiB does not fit in 1.2 MiB" does not help.
//
//   1300000, 2600000 → "1.2 MiB",      "2.5 MiB"
//   1300000, 1290000 → "1.24 MiB",     "1.23 MiB"
//   1300000, 1300001 → "1300000 B",    "1300001 B"
//
// Without `to_the_byte`, sizes equal in three digits are printed alike.
std::pair<std::string, std::string> DistinctBytes(double a, double b,
                                                  bool to_the_byte = true);

// How far two sizes are apart that are printed as these texts, as HumanBytes()
// writes it: a reader subtracts what is printed.
//
//   "41.8 MiB", "29.2 MiB", 12.53 MiB → "12.6 MiB"
std::string BytesBetween(const std::string& a, const std::string& b,
                         double bytes);

// The parts of a sum in its unit, as texts that a reader may add up: the
// largest makes up for what the others and the sum are rounded by.
//
//   1.25 MiB of {0.125 MiB, 1.125 MiB} → "0.12 MiB", "1.13 MiB"
std::vector<std::string> PartsOfSum(const ByteUnit& unit, double sum,
                                    std::vector<double> parts);

// " (16GB)", after the bytes of a limit that was given as such; "" for "".
inline std::string GivenAs(const std::string& given) {
  return given.empty() ? "" : " (" + given + ")";
}

}  // namespace xla

#endif  // XLA_HLO_MEMORY_LIMIT_DISTINCT_BYTES_H_
