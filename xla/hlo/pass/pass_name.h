#ifndef XLA_HLO_PASS_PASS_NAME_H_
#define XLA_HLO_PASS_PASS_NAME_H_

#include <string>

#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace xla {

// Passes are called with dashes, `multi-output-fusion`; where a user names one,
// `multi_output_fusion` is the same.
inline std::string PassNameWithDashes(absl::string_view name) {
  return absl::StrReplaceAll(name, {{"_", "-"}});
}

// Whether two spellings name the same pass.
inline bool IsSamePassName(absl::string_view a, absl::string_view b) {
  return a == b || PassNameWithDashes(a) == PassNameWithDashes(b);
}

}  // namespace xla

#endif  // XLA_HLO_PASS_PASS_NAME_H_
