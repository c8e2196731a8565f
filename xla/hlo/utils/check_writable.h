#ifndef XLA_HLO_UTILS_CHECK_WRITABLE_H_
#define XLA_HLO_UTILS_CHECK_WRITABLE_H_

#include <string>

#include "absl/status/status.h"

namespace xla {

// An error if WriteFileOrStdout() cannot write there as things stand: the
// folder is missing or read-only, or the path is a folder's. Tools ask before
// they work for minutes. An empty path is one that nothing is written to.
absl::Status CheckWritable(const std::string& path);

}  // namespace xla

#endif  // XLA_HLO_UTILS_CHECK_WRITABLE_H_
