#ifndef XLA_HLO_PIPELINE_COMMANDS_XLA_FLAGS_H_
#define XLA_HLO_PIPELINE_COMMANDS_XLA_FLAGS_H_

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/pass/pass_registry.h"
#include "xla/xla.pb.h"

namespace xla {

// DebugOptions of a tool, from its arguments and from XLA_FLAGS:
//
//   XLA_FLAGS='--xla_disable_hlo_passes=hlo-dce' hlo-opt m.hlo --pipeline=…
//   hlo-opt m.hlo --xla_enable_hlo_passes_only=hlo-cse,hlo-dce --passes=…

// Takes the flags that begin with `--xla_` (or one dash, or dashes for `_`) out
// of the arguments of a program, up to `--`, and returns them. What is left
// moves up; argv[*argc] becomes null.
std::vector<std::string> TakeXlaFlags(int* argc, char** argv);

// Defaults, then `environment` (null: not set), then `flags`; nullopt if there
// are none. Flags in the environment are separated by spaces; values may stand
// in quotes.
//
// InvalidArgument, naming the flag and the nearest existing one, for flags of
// the command line that do not exist or do not name a registered pass, for
// wrong values, and for arguments that are not flags. The environment may be
// meant for another program: its unknown flags are skipped, and `err` says so.
// It also lists flags of the command line that have no effect.
absl::StatusOr<std::optional<DebugOptions>> ReadXlaFlags(
    const char* environment, absl::Span<const std::string> flags,
    const PassRegistry& registry, std::ostream& err);

}  // namespace xla

#endif  // XLA_HLO_PIPELINE_COMMANDS_XLA_FLAGS_H_
