#ifndef XLA_DEBUG_OPTIONS_FLAGS_H_
#define XLA_DEBUG_OPTIONS_FLAGS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/xla.pb.h"

namespace xla {

// DebugOptions as flags, one for each field and named like it:
//
//   XLA_FLAGS="--xla_dump_to=dir --xla_allow_excess_precision=false"
//
// Booleans are set by their name alone, or to true, false, 1 or 0; repeated
// fields take a comma-separated list, maps one of key=value pairs.

// Defaults of the fields.
DebugOptions DefaultDebugOptionsIgnoringFlags();

// Defaults, then XLA_FLAGS of the environment. Unknown flags and those with
// invalid values are ignored: they may be meant for another program.
DebugOptions GetDebugOptionsFromFlags();

// Sets a field by `flag`, "--xla_name=value"; InvalidArgument that names the
// flag if there is no such field, or the value is not of its type.
absl::Status SetDebugOption(absl::string_view flag, DebugOptions* options);

}  // namespace xla

#endif  // XLA_DEBUG_OPTIONS_FLAGS_H_
