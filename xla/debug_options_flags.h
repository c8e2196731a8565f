#ifndef XLA_DEBUG_OPTIONS_FLAGS_H_
#define XLA_DEBUG_OPTIONS_FLAGS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "xla/xla.pb.h"

namespace xla {

// DebugOptions as flags, one for each field, as its name is:
//
//   XLA_FLAGS="--xla_dump_to=dir --xla_allow_excess_precision=false"
//
// Booleans are set by their name alone, or to true, false, 1 or 0; what can be
// repeated takes a list with commas, maps key=value pairs in it.

// Defaults of the fields.
DebugOptions DefaultDebugOptionsIgnoringFlags();

// Defaults, then XLA_FLAGS of the environment. Flags of fields that are not
// known here, and those with wrong values, are passed over: who set them may
// have meant another program.
DebugOptions GetDebugOptionsFromFlags();

// Sets a field by `flag`, "--xla_name=value"; InvalidArgument that names the
// flag if there is no such field, or the value is none of its type.
absl::Status SetDebugOption(absl::string_view flag, DebugOptions* options);

}  // namespace xla

#endif  // XLA_DEBUG_OPTIONS_FLAGS_H_
