#ifndef XLA_HLO_TRANSFORMS_COPIES_COPY_INSERTION_H_
#define XLA_HLO_TRANSFORMS_COPIES_COPY_INSERTION_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

// Copies arrays so that values that must share a buffer (see HloAliasAnalysis:
// state of loops, results of branches, aliased parameters, updates in place)
// are not live in it at the same time, and removes copies that are not needed
// for that.
//
//   before: w = while(t); y = add(x, x)          x is element 0 of t, and the
//   after:  c = copy(x); w = while(tuple(c, …))  body computes a new one
//           y = add(x, x)
//
// 1. Sites: with a copy at each (before updates in place, of what a body, a
//    branch or the entry returns, of the state that a body reads) no two values
//    of a buffer interfere. They are not inserted yet.
// 2. For each site, those in inner loops and of many bytes first: source and
//    copy share a buffer unless a live interval of one overlaps one of the
//    other. Copies that the module has already are sites as well.
// 3. Values are copied at the remaining sites (what is one constant all over is
//    written again instead). Then results of the entry that are constants,
//    parameters without an alias, or in another result's buffer.
//
// The order is that of the schedule, which stays valid. A module without one
// gets control dependencies instead: live ranges are compared in an order in
// which values are read before they are overwritten, as far as possible, and
// readers of a value are then constrained to run before the next value in its
// buffer is written. So every later schedule is correct and needs no more
// copies.
//
// Near-linear: O(n log^2 n) where coalescing succeeds (see BufferClasses).
// FailedPrecondition unless the call graph is flat on control flow;
// Unimplemented where the state of an asynchronous operation that crosses a
// loop cannot stay in one place, because the next one starts before it is done
// or works in place. What a start (async-start, copy-start, send...) holds of
// its operands is copied before it, and its result after its done.
//
// Leaves alone: tuples themselves, states that the entry returns, the insides
// of fusions, operands that asynchronous chains bind after their start, dead
// computations.
class CopyInsertion : public HloModulePass {
 public:
  // With the default rules, no backend's.
  CopyInsertion() : alias_info_(&default_alias_info_) {}
  // `alias_info` must outlive the pass. OpenXLA's second parameter limits an
  // analysis that this one does without.
  explicit CopyInsertion(const AliasInfo* alias_info,
                         int64_t use_region_based_live_range_analysis = -1)
      : alias_info_(alias_info != nullptr ? alias_info : &default_alias_info_) {
  }

  absl::string_view name() const override { return "copy-insertion"; }

  // Only removes copies: those of equal layout whose source and result can
  // share a buffer.
  absl::Status RemoveUnnecessaryCopies(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads = {},
      bool check_live_range_ordering = false);

  // Only copies results of the entry that are constants, parameters without an
  // alias, or returned twice.
  absl::Status AddSpecialCaseCopies(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads = {});

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const AliasInfo default_alias_info_;
  const AliasInfo* alias_info_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_COPIES_COPY_INSERTION_H_
