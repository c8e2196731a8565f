#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CONSTANT_FOLDING_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CONSTANT_FOLDING_H_

#include <cstdint>
#include <functional>

#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"
#include "xla/shape.h"

namespace xla {

struct HloConstantFoldingOptions {
  // Also fold results larger than their operands: broadcasts, iotas, padding.
  bool aggressive = false;
  // Also fold floating-point and complex arithmetic.
  bool fold_float_arithmetic = true;
  // Keep copies that change the layout.
  bool is_layout_sensitive = false;
  // Compute elementwise instructions of broadcast scalars once.
  bool uniform_values = true;
  // Maximum bytes of a folded result.
  int64_t max_bytes = 1 << 20;
  // Maximum scalar operations to fold one instruction.
  int64_t max_operations = 1 << 20;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("aggressive", aggressive,
          "also fold results of more elements than their operands, such as "
          "broadcasts");
    visit("fold-float-arithmetic", fold_float_arithmetic,
          "also fold floating-point and complex arithmetic");
    visit("is-layout-sensitive", is_layout_sensitive,
          "keep copies that change the layout");
    visit("uniform-values", uniform_values,
          "compute elementwise instructions of broadcast scalars once");
    visit("max-bytes", max_bytes, "maximum bytes of a folded result");
    visit("max-operations", max_operations,
          "maximum scalar operations to fold one instruction");
  }
};

// Evaluates instructions that depend on constants only.
//
//   before: a = s32[3] constant({1, 2, 3}), b = s32[3] constant({4, 5, 6})
//           c = s32[3] add(a, b)
//   after:  c = s32[3] constant({5, 7, 9})
//
// Some of the operands may be broadcasts of constants, except those of a pad.
//
// Uniform values are computed once and stay uniform:
//
//   before: x = f32[8] broadcast(2), y = f32[8] broadcast(3)
//           z = f32[8] multiply(x, y)
//   after:  z = f32[8] broadcast(6)
//
// Calls and conditionals of constants are evaluated with what they call.
//
//   before: f: x * x     a = f32[2] constant({2, 3}), c = f32[2] call(a), f
//   after:  c = f32[2] constant({4, 9})
//
// What the evaluator does not support stays. Legal because a value that does
// not depend on parameters is the same in each run; floats are rounded as the
// evaluator rounds them, from which a device may differ in the last place.
//
// Leaves alone: random numbers, loops, side effects, custom calls,
// communicating instructions, tokens, optimization barriers and what depends on
// them, and whatever calls such; asynchronous instructions, control
// dependencies, parameters of calls, fusions and their bodies, tuples, dynamic
// shapes, constants whose elements the text elides, and results that have more
// elements than the constants they read, exceed a limit or take more operations
// than allowed. O(instructions and what is computed).
class HloConstantFolding : public HloModulePass {
 public:
  enum class Level {
    // All but broadcasts and iotas.
    kDefault,
    // Those, too.
    kAggressive,
  };
  struct Options {
    Level level = Level::kDefault;
    bool fold_float_arithmetic = true;
    bool is_layout_sensitive = false;
    // Whether a result of this shape may be a constant; anything if empty.
    std::function<bool(const Shape&)> can_fold_shape;
  };

  // OpenXLA's constructors fold what OpenXLA folds: results of up to 45 million
  // elements, also where they have more than what they read, but no FFTs, and
  // uniform values like all others. What takes more than 2^30 operations stays.
  explicit HloConstantFolding(Level level = Level::kDefault);
  explicit HloConstantFolding(const Options& options);
  explicit HloConstantFolding(const HloConstantFoldingOptions& options)
      : options_(options) {}

  absl::string_view name() const override { return "constant-folding"; }

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  HloConstantFoldingOptions options_;
  std::function<bool(const Shape&)> can_fold_shape_;
  bool sizes_as_xla_ = false;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CONSTANT_FOLDING_H_
