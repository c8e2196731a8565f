#ifndef XLA_HLO_TESTLIB_FILECHECK_H_
#define XLA_HLO_TESTLIB_FILECHECK_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xla {

// Runs LLVM's FileCheck on `input` with the CHECK lines of `pattern` (and those
// of `additional_check_prefixes`). Returns whether it matched; what did not is
// logged. NotFound if there is no FileCheck beside the test: depend on
// @filecheck//:FileCheck as data.
absl::StatusOr<bool> RunFileCheck(
    const std::string& input, absl::string_view pattern,
    absl::Span<const absl::string_view> additional_check_prefixes = {});

absl::StatusOr<bool> RunFileCheckWithPatternFile(
    const std::string& input, const std::string& pattern_file,
    absl::Span<const absl::string_view> additional_check_prefixes = {});

}  // namespace xla

#endif  // XLA_HLO_TESTLIB_FILECHECK_H_
