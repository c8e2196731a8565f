#ifndef XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_TREE_REDUCTION_REWRITER_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_TREE_REDUCTION_REWRITER_H_

#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/cost/device_description.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

struct TreeReductionRewriterOptions {
  std::string device = "h100";
  bool fill = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("device", device, "GPU name, or path to a device description");
    visit("fill", fill,
          "also split column reductions that would leave most of the device "
          "idle");
  }
};

// Splits reductions that one block of threads cannot finish, so that no atomic
// operations are needed and readers of the result can be in the same kernel.
//
//   before: r = f32[] reduce(f32[1000000] a, 0), dimensions={0}
//   after:  b = f32[1000,1000] bitcast(a)
//           s = f32[1000] reduce(b, 0), dimensions={1}
//           r = f32[] reduce(s, 0), dimensions={0}
//
// The length is split near its square root if two factors are close to it, and
// otherwise padded with the initial value. Rows of many parts ([parts, kept,
// minor]) are reduced part by part first. Columns, and several values at once,
// likewise. Only reductions whose initial value may be combined more than once,
// because combined with itself it is unchanged (a sum from 0, a maximum from
// anything). Operands are in the form that reduction_dimension_grouper.h
// leaves.
//
// With option `fill`, so are columns of 128 KiB or more (of 128 bytes side by
// side) of which there are too few for a device, with 132 multiprocessors here:
//
//   before: r = f32[32,64] reduce(f32[32,3136,64] a, 0), dimensions={1}
//   after:  b = f32[32,14,224,64] bitcast(a)
//           s = f32[32,14,64] reduce(b, 0), dimensions={2}
//           r = f32[32,64] reduce(s, 0), dimensions={1}
//
// The order of sums is that of the program, the same in every run.
class TreeReductionRewriter : public HloModulePass {
 public:
  explicit TreeReductionRewriter(const TreeReductionRewriterOptions& options)
      : options_(options) {}
  explicit TreeReductionRewriter(se::DeviceDescription device)
      : device_(std::move(device)) {}

  absl::string_view name() const override { return "tree-reduction-rewriter"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  TreeReductionRewriterOptions options_;
  std::optional<se::DeviceDescription> device_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_REDUCTIONS_TREE_REDUCTION_REWRITER_H_
