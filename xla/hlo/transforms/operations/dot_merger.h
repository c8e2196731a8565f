#ifndef XLA_HLO_TRANSFORMS_OPERATIONS_DOT_MERGER_H_
#define XLA_HLO_TRANSFORMS_OPERATIONS_DOT_MERGER_H_

#include <cstdint>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct DotMergerOptions {
  // Maximum bytes of operands and result of a dot that is merged. The other
  // operands are copied side by side, which pays if launching a kernel takes
  // longer.
  int64_t max_size_to_merge = 1 << 20;
  // Fewer dots on one operand are not merged: the copy is a kernel, too.
  int64_t min_dots = 3;
  // Larger dots are merged with small ones, too.
  bool large_with_small = false;
  // Dots of different result types are merged: all in the most precise one.
  bool different_types = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("max-size-to-merge", max_size_to_merge,
          "maximum bytes of a dot's operands and result");
    visit("min-dots", min_dots, "minimum number of dots that share an operand");
    visit("large-with-small", large_with_small,
          "merge larger dots with small ones, too");
    visit("different-types", different_types,
          "merge dots with results of different types");
  }
};

// Merges several small dots that have an operand in common into one.
//
//   before: f32[8,4] dot(x, a), f32[8,6] dot(x, b), f32[8,2] dot(x, c)
//   after:  d = f32[8,12] dot(x, concatenate(a, b, c))
//           slice(d) [0:4], slice(d) [4:10], slice(d) [10:12]
//
// The same for a common right operand. Legal because every element of the
// results is the same sum of products; the dots must not depend on each other.
//
// Merged are dots of equal types, precision and dimension numbers whose other
// operands have a single dimension that is neither batch nor contracting, and
// differ in that dimension only. With different-types, results of less precise
// types are converted from the merged dot's. Not in any pipeline: a library
// multiplies just as fast where the operands are, and on a transformer's
// training step the copies moved 9 % more bytes than the common operand saved.
// Leaves alone: sparse dots, dots of dynamic shapes and those with control
// dependencies. Of more than 256 dots of one kind on one operand, each 256 in
// program order are merged separately. O(instructions) per kind and per 256
// dots of it.
class DotMerger : public HloModulePass {
 public:
  using CanMerge = std::function<bool(const HloInstruction* dot_a,
                                      const HloInstruction* dot_b)>;

  DotMerger() = default;
  // OpenXLA's signature: two dots are enough, of which one is small, and their
  // results may differ in type. Only dots for which `can_merge` is true for
  // each two are merged.
  explicit DotMerger(int64_t max_size_to_merge, CanMerge can_merge = nullptr)
      : can_merge_(std::move(can_merge)) {
    options_.max_size_to_merge = max_size_to_merge;
    options_.min_dots = 2;
    options_.large_with_small = true;
    options_.different_types = true;
  }
  explicit DotMerger(const DotMergerOptions& options) : options_(options) {}

  absl::string_view name() const override { return "dot-merger"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  DotMergerOptions options_;
  CanMerge can_merge_;  // null: any
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_OPERATIONS_DOT_MERGER_H_
