#ifndef XLA_HLO_PASS_NEAREST_NAME_H_
#define XLA_HLO_PASS_NEAREST_NAME_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace xla {

// Returns `; did you mean X?` for the known name with the least edit distance
// to `name`, or if none is near `; known: a, b, …`, with at most 100 names.
std::string DidYouMean(absl::string_view name,
                       const std::vector<std::string>& known);

}  // namespace xla

#endif  // XLA_HLO_PASS_NEAREST_NAME_H_
