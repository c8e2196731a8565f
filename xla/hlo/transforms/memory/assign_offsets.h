#ifndef XLA_HLO_TRANSFORMS_MEMORY_ASSIGN_OFFSETS_H_
#define XLA_HLO_TRANSFORMS_MEMORY_ASSIGN_OFFSETS_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct AssignOffsetsOptions {
  int64_t alignment = 64;
  bool check = true;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("alignment", alignment,
          "alignment of buffers in bytes, a power of two");
    visit("check", check, "verify that no two live buffers overlap");
  }
};

// Assigns memory to the buffers of a scheduled module (buffer_assigner.h), as
// the last step of a pipeline, which reports its total memory.
//
//   before: HloModule m, is_scheduled=true
//   after:  the same, and in the report:
//
//   total_bytes           of all allocations
//   temp_bytes            for temporaries
//   fragmentation_bytes   of them, what the live ranges would not need
//   allocations           their number
//
// Leaves the module unchanged. Errors: FailedPrecondition without a schedule,
// or, naming both, where values that must share a buffer are needed at the same
// time (copy-insertion keeps them apart); InvalidArgument for an invalid
// alignment, those of the assigner, and those of the checker
// (buffer_assignment_checker.h).
class AssignOffsets : public HloModulePass {
 public:
  explicit AssignOffsets(AssignOffsetsOptions options = {})
      : options_(options) {}

  absl::string_view name() const override { return "assign-offsets"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  AssignOffsetsOptions options_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_MEMORY_ASSIGN_OFFSETS_H_
