#ifndef XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CSE_H_
#define XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CSE_H_

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/pass/hlo_pass_interface.h"

namespace xla {

struct HloCseOptions {
  // Instructions whose results differ in layout are different.
  bool layout_sensitive = true;
  // Instructions with control dependencies may be merged; the dependencies are
  // dropped.
  bool ignore_control_dependencies = false;

  template <typename Visitor>
  void VisitFields(Visitor&& visit) {
    visit("layout-sensitive", layout_sensitive,
          "treat results with different layouts as different");
    visit("ignore-control-dependencies", ignore_control_dependencies,
          "allow merging instructions that have control dependencies");
  }
};

// The frontend attribute of instructions that deliberately repeat others, as
// rematerialization does.
inline constexpr char kRematerializedAttribute[] = "rematerialized";

// Common subexpression elimination.
//
//   before: x = add(a, b); y = add(b, a); r = multiply(x, y)
//   after:  x = add(a, b); r = multiply(x, x)
//
// One walk in post order per computation: an instruction that equals an earlier
// one (same opcode, attributes and operands; operands of commutative opcodes in
// any order; called computations that are equal instruction by instruction) is
// replaced by it. Constants of equal shape and elements become one first.
// O(instructions) expected.
//
// Leaves alone: side effects, optimization barriers (which exist to prevent
// merging), starts and dones of asynchronous operations, constants whose
// elements the text elides, instructions marked as rematerialized.
class HloCSE : public HloModulePass {
 public:
  using ComputationPredicate = absl::AnyInvocable<bool(const HloComputation*)>;
  using InstructionPredicate = absl::AnyInvocable<bool(const HloInstruction*)>;

  // Each predicate, if given, must hold for instructions to be considered,
  // eliminated or combined; `should_eliminate_instruction` replaces
  // ShouldEliminateInstruction.
  explicit HloCSE(bool is_layout_sensitive,
                  bool ignore_control_dependencies = false,
                  ComputationPredicate should_eliminate_computation = nullptr,
                  InstructionPredicate should_eliminate_instruction = nullptr,
                  InstructionPredicate should_combine_constant = nullptr)
      : should_eliminate_computation_(std::move(should_eliminate_computation)),
        should_eliminate_instruction_(std::move(should_eliminate_instruction)),
        should_combine_constant_(std::move(should_combine_constant)) {
    options_.layout_sensitive = is_layout_sensitive;
    options_.ignore_control_dependencies = ignore_control_dependencies;
  }
  explicit HloCSE(const HloCseOptions& options) : options_(options) {}
  ~HloCSE() override = default;

  absl::string_view name() const override { return "hlo-cse"; }

  absl::StatusOr<bool> RunOnComputation(HloComputation* computation);

  // Whether an equal earlier instruction may replace this one.
  static bool ShouldEliminateInstruction(const HloInstruction* instruction);

 protected:
  absl::StatusOr<bool> RunImpl(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads) override;

 private:
  absl::StatusOr<bool> CombineConstants(HloComputation* computation);
  absl::StatusOr<bool> CombineInstructions(HloComputation* computation);
  absl::Status Replace(HloInstruction* instruction, HloInstruction* by);

  HloCseOptions options_;
  ComputationPredicate should_eliminate_computation_;
  InstructionPredicate should_eliminate_instruction_;
  InstructionPredicate should_combine_constant_;
};

}  // namespace xla

#endif  // XLA_HLO_TRANSFORMS_SIMPLIFIERS_HLO_CSE_H_
