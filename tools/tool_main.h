#ifndef TOOLS_TOOL_MAIN_H_
#define TOOLS_TOOL_MAIN_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace xla {

// Parses the flags of a tool and returns its other arguments.
//
// Flags are written with '-' between words (`--split-input`); '_' is accepted
// too. `aliases` maps other names to flags, as `--split-input-file` to
// `--split-input`, or gives the value of a flag that is written without one:
// {"check", "check=1"}. Logs go to standard error, without a preamble of dates.
// Under `bazel run` paths are relative to where the user stands. `usage` is
// what --help prints first.
std::vector<std::string> InitTool(
    int argc, char** argv, const std::string& usage,
    const std::vector<std::pair<std::string, std::string>>& aliases = {});

// Prints an error and returns the exit status for it: 0 for OK, 3 for an unmet
// limit (ResourceExhausted), else 1.
int ExitStatus(const absl::Status& status);

}  // namespace xla

#endif  // TOOLS_TOOL_MAIN_H_
