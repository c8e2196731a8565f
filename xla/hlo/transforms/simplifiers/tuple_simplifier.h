#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_TUPLE_SIMPLIFIER_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_TUPLE_SIMPLIFIER_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct TupleSimplifierOptions {
  // Leave the entry computation unchanged.
  bool exclude_entry_computation = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("exclude-entry", exclude_entry_computation,
          "leave the entry computation unchanged");
  }
};

// Forwards the elements of tuples to their users, and replaces tuples that are
// rebuilt from all of their elements.
//
//   before: t = tuple(a, b); x = get-tuple-element(t), index=1; use(x)
//   after:  use(b)
//
//   before: u = tuple(gte(t, 0), gte(t, 1)); use(u)     (t has two elements)
//   after:  use(t)
//
// Legal because a tuple only names its elements; control dependencies move to
// the value, or to its readers if the value is older than what the instruction
// waited for. Leaves alone tuples of another shape (layouts included). One
// post-order walk per computation; what is no longer read is removed.
class TupleSimplifier : public HloModulePass {
 public:
  TupleSimplifier() = default;
  explicit TupleSimplifier(bool exclude_entry_computation) {
    options_.exclude_entry_computation = exclude_entry_computation;
  }
  explicit TupleSimplifier(const TupleSimplifierOptions& options)
      : options_(options) {}
  ~TupleSimplifier() override = default;

  absl::string_view name() const override { return "tuple-simplifier"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  TupleSimplifierOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_TUPLE_SIMPLIFIER_H_
