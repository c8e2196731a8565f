#ifndef XLA_HLO_EVALUATOR_OPAQUE_ATTRIBUTES_H_
#define XLA_HLO_EVALUATOR_OPAQUE_ATTRIBUTES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace xla {

// Integers and lists of them by name, as the opaque strings of the
// partitioner's own custom calls have them.
//
//   "dimension=0,start_indices=[1, 2]"
//
// InvalidArgument for text of another form, and for attributes that are missing
// or have another form than asked for.
class OpaqueAttributes {
 public:
  static absl::StatusOr<OpaqueAttributes> Parse(absl::string_view text);

  absl::StatusOr<std::vector<int64_t>> List(absl::string_view name) const;
  // Within [0, limit].
  absl::StatusOr<int64_t> Number(absl::string_view name, int64_t limit) const;

 private:
  absl::btree_map<std::string, std::vector<int64_t>, std::less<>> values_;
};

}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_OPAQUE_ATTRIBUTES_H_
