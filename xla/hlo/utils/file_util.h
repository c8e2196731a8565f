#ifndef XLA_HLO_UTILS_FILE_UTIL_H_
#define XLA_HLO_UTILS_FILE_UTIL_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// Returns the bytes of a file, or of standard input for "-". Errors: NotFound,
// PermissionDenied, InvalidArgument (a folder), each with the path.
absl::StatusOr<std::string> ReadFileOrStdin(const std::string& path);

// Writes a file as a whole or not at all: to a temporary file in the same
// folder, then renamed. "-" is standard output.
absl::Status WriteFileOrStdout(const std::string& path,
                               absl::string_view contents);

}  // namespace xla

#endif  // XLA_HLO_UTILS_FILE_UTIL_H_
