#ifndef TOOLS_TOOL_MAIN_H_
#define TOOLS_TOOL_MAIN_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace xla {

// Exit statuses of the tools besides 0.
inline constexpr int kFailed = 1;  // Input, flags, or what cannot be done.
inline constexpr int kInternal = 2;
inline constexpr int kUnmetLimit = 3;
inline constexpr int kDifferent = 4;

// Flags that belong together, by their names with dashes, for --help.
struct FlagGroup {
  std::string title;
  std::vector<std::string> flags;
};

// Parses the flags of a tool and returns its other arguments.
//
// Flags are written with '-' between words (`--split-input`); '_' is accepted
// too. `aliases` maps other names to flags, as `--split-input-file` to
// `--split-input`, or gives the value of a flag that is written without one:
// {"check", "check=1"}. Logs go to standard error, without a preamble of dates.
// Under `bazel run` paths are relative to the user's working directory. `usage`
// is what --help and -h print first: a line of what it does, when to use it,
// and examples; then come `groups`, flags that are in none of them, and what
// the exit status means. --version prints the version. These end the program,
// with status 0. Unknown flags end it with the nearest known one and status
// kFailed.
std::vector<std::string> InitTool(
    int argc, char** argv, const std::string& usage,
    const std::vector<std::pair<std::string, std::string>>& aliases = {},
    const std::vector<FlagGroup>& groups = {});

// Prints an error and returns the exit status for it: 0 for OK, kUnmetLimit
// for ResourceExhausted, kInternal for Internal, else kFailed; that, too, where
// what was printed so far cannot be written.
int ExitStatus(const absl::Status& status);

}  // namespace xla

#endif  // TOOLS_TOOL_MAIN_H_
