#ifndef XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_TRANSPOSE_LAYOUTS_H_
#define XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_TRANSPOSE_LAYOUTS_H_

#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla::gpu {

enum class EntryLayouts {
  kKept,
  kAuto,  // chosen
};
// kept, auto.
bool AbslParseFlag(absl::string_view text, EntryLayouts* layouts,
                   std::string* error);
std::string AbslUnparseFlag(EntryLayouts layouts);

struct TransposeLayoutsOptions {
  EntryLayouts layouts = EntryLayouts::kKept;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("layouts", layouts,
          "of the entry's parameters and results: kept, or auto, which chooses "
          "those for which the least is moved");
  }
};

// Turns transposes into layouts: if the values that carry the result of a
// transpose, or its operand, can take the memory order of the other one,
// nothing has to move.
//
//   before: w = f32[512,40,128] parameter(0)
//           t = f32[40,512,128]{2,1,0} transpose(w), dimensions={1,0,2}
//           loop over the 40: dot(x, dynamic-slice(t, i))
//   after:  w = f32[512,40,128] parameter(0)
//           t = f32[40,512,128]{2,0,1} bitcast(w)
//           the same loop, over slices of the new layout
//
// A layout spreads both ways: through tuples, loops' states, slices and updates
// of slices, elementwise instructions and reshapes that add or drop dimensions
// of size 1. It ends where a kernel takes any layout: transposes, copies,
// broadcasts; dots whose dimensions stay together, batches first; reductions to
// one dimension. Where it would have to change something else, among it the
// parameters and results of the entry, or slices would lie across memory (cut
// along the dimension that is minor), the transpose stays. Largest transposes
// first; a change is made if the bytes that no longer move are more than those
// that have to move now.
//
// Before that, a copy that only puts a transpose's result in another order
// becomes a transpose into that order, from which layouts can then spread:
//
//   before: t = f32[8,16]{0,1} transpose(x), dimensions={1,0}
//           c = f32[8,16]{1,0} copy(t)
//   after:  c = f32[8,16]{1,0} transpose(x), dimensions={1,0}
//
// Copies with a sharding, and either with control dependencies, stay.
//
// With layouts=auto, the parameters and results of the entry take the orders
// that save moves, too, and copies that only change the order count as
// transposes do. Whoever calls the module has to hand over its arguments as
// entry_computation_layout then says:
//
//   before: entry_computation_layout={(f32[8,16]{1,0})->f32[8,4]{1,0}}
//           p = f32[8,16]{1,0} parameter(0)
//           c = f32[8,16]{0,1} copy(p)
//   after:  entry_computation_layout={(f32[8,16]{0,1})->f32[8,4]{1,0}}
//           p = f32[8,16]{0,1} parameter(0)
//           c = f32[8,16]{0,1} bitcast(p)
//
// Parameters and results that share memory change together, or not at all.
//
// Expects a flat call graph and dense layouts. O(transposes * values reached).
class TransposeLayouts : public HloModulePass {
 public:
  explicit TransposeLayouts(TransposeLayoutsOptions options = {})
      : options_(options) {}

  absl::string_view name() const override { return "transpose-layouts"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  const TransposeLayoutsOptions options_;
};

}  // namespace xla::gpu

#endif  // XLA_BACKENDS_GPU_TRANSFORMS_LAYOUTS_TRANSPOSE_LAYOUTS_H_
