#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_MODULE_DCE_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_MODULE_DCE_H_

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct HloModuleDceOptions {
  // Remove dead elements from the state of their loop. Otherwise they stay and
  // are passed through unchanged.
  bool remove_elements = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("remove-elements", remove_elements,
          "remove dead elements from the state of loops");
  }
};

// Dead code elimination across loops.
//
//   before: body: p = (i, x, y)                 after: body: p = (i, x)
//           tuple(i + 1, f(x), g(y))                   tuple(i + 1, f(x))
//           w = while(tuple(0, a, b))                  w = while(tuple(0, a))
//           ROOT get-tuple-element(w), index=1         ROOT … (w), index=1
//
// An element of a loop's state that contributes neither to the result of the
// module nor to a side effect (HloLivenessAnalysis) is first passed through the
// body unchanged, so that its computation becomes dead; then it is removed from
// the loop. Tuples are simplified and dead code is removed (HloDCE) afterwards.
// Legal because only the element itself reads its value.
//
// Leaves alone: whiles with frontend attribute xla_disable_while_loop_dce=
// "true", those whose computations have other callers or whose body does not
// end in a tuple. Elements stay in the state if a tuple is used as a whole, or
// if the backend config refers to one of them by number. O(subshapes of live
// values + instructions). Schedules are kept up to date.
class HloModuleDCE : public HloModulePass {
 public:
  HloModuleDCE() = default;
  explicit HloModuleDCE(const HloModuleDceOptions& options)
      : options_(options) {}
  ~HloModuleDCE() override = default;

  absl::string_view name() const override { return "hlo-module-dce"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloModuleDceOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_MODULE_DCE_H_
