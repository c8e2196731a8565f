#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_REDUCTIONS_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_REDUCTIONS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions_plain.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Subclasses that apply a computation to elements: reductions, scan, sort.
// Include hlo_instructions.h for all.

namespace xla {

// Operands: n inputs, then n init values.
class HloReduceInstruction : public HloDimensionsInstruction {
 public:
  HloReduceInstruction(const Shape& shape,
                       absl::Span<HloInstruction* const> args,
                       absl::Span<const int64_t> dimensions_to_reduce,
                       HloComputation* reduce_computation);
  int64_t input_count() const { return operand_count() / 2; }
  absl::Span<HloInstruction* const> inputs() const {
    return absl::MakeConstSpan(operands()).subspan(0, input_count());
  }
  absl::Span<HloInstruction* const> init_values() const {
    return absl::MakeConstSpan(operands()).subspan(input_count());
  }
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kReduce;
  }

 private:
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;
};

// Applies a computation along a dimension, carrying values from step to step.
// Operands: inputs, then the initial carries, which are the last num_carries.
class HloScanInstruction : public HloDimensionsInstruction {
 public:
  HloScanInstruction(const Shape& shape,
                     absl::Span<HloInstruction* const> inputs,
                     absl::Span<HloInstruction* const> inits,
                     HloComputation* to_apply, int64_t scan_dimension,
                     bool is_reverse, TriState is_associative);
  int64_t scan_dimension() const { return dimensions_[0]; }
  // The scan dimension's size in the inputs, or in the outputs if there are no
  // inputs; an error if there is neither.
  absl::StatusOr<int64_t> GetScanDimSize() const;
  bool is_reverse() const { return is_reverse_; }
  TriState is_associative() const { return is_associative_; }
  int64_t num_carries() const { return num_carries_; }
  absl::Span<HloInstruction* const> inputs() const {
    return absl::MakeConstSpan(operands())
        .subspan(0, operand_count() - num_carries_);
  }
  absl::Span<HloInstruction* const> inits() const {
    return absl::MakeConstSpan(operands())
        .subspan(operand_count() - num_carries_);
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kScan;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  int64_t num_carries_;
  bool is_reverse_;
  TriState is_associative_;
};

class HloSortInstruction : public HloDimensionsInstruction {
 public:
  HloSortInstruction(const Shape& shape, int64_t dimension,
                     absl::Span<HloInstruction* const> operands,
                     HloComputation* compare, bool is_stable);
  int64_t sort_dimension() const { return dimensions_[0]; }
  const HloInstruction* keys() const { return operand(0); }
  HloInstruction* mutable_keys() { return mutable_operand(0); }
  int64_t values_count() const { return operand_count() - 1; }
  bool is_stable() const { return is_stable_; }
  void set_is_stable(bool is_stable) { is_stable_ = is_stable; }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kSort;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  bool is_stable_;
};

// Operands: n inputs, then n init values.
class HloReduceWindowInstruction : public HloInstruction {
 public:
  HloReduceWindowInstruction(const Shape& shape, HloInstruction* operand,
                             HloInstruction* init_value, const Window& window,
                             HloComputation* reduce_computation);
  HloReduceWindowInstruction(const Shape& shape,
                             absl::Span<HloInstruction* const> operands,
                             absl::Span<HloInstruction* const> init_values,
                             const Window& window,
                             HloComputation* reduce_computation);
  const Window& window() const { return window_; }
  void set_window(const Window& window) { window_ = window; }
  int64_t input_count() const { return operand_count() / 2; }
  absl::Span<HloInstruction* const> inputs() const {
    return absl::MakeConstSpan(operands()).subspan(0, input_count());
  }
  absl::Span<HloInstruction* const> init_values() const {
    return absl::MakeConstSpan(operands()).subspan(input_count());
  }
  absl::InlinedVector<const Shape*, 2> input_shapes() const;
  absl::InlinedVector<const Shape*, 2> init_value_shapes() const;
  absl::InlinedVector<const Shape*, 2> output_shapes() const;
  // Dimensions in which the window is not trivial.
  std::vector<int64_t> non_trivial_window_dimensions() const;
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kReduceWindow;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  Window window_;
};

class HloSelectAndScatterInstruction : public HloInstruction {
 public:
  HloSelectAndScatterInstruction(const Shape& shape, HloInstruction* operand,
                                 HloComputation* select, const Window& window,
                                 HloInstruction* source,
                                 HloInstruction* init_value,
                                 HloComputation* scatter);
  const Window& window() const { return window_; }
  void set_window(const Window& window) { window_ = window; }
  HloComputation* select() const {
    return called_computations()[kSelectComputationIndex];
  }
  HloComputation* scatter() const {
    return called_computations()[kScatterComputationIndex];
  }
  void set_select(HloComputation* computation) {
    set_called_computation(kSelectComputationIndex, computation);
  }
  void set_scatter(HloComputation* computation) {
    set_called_computation(kScatterComputationIndex, computation);
  }
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kSelectAndScatter;
  }

 private:
  void PrintExtraAttributesImpl(AttributePrinter& printer,
                                const HloPrintOptions& options) const override;
  bool IdenticalSlowPath(
      const HloInstruction& other,
      absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>
          eq_computations) const override;
  std::unique_ptr<HloInstruction> CloneWithNewOperandsImpl(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloCloneContext* context) const override;

  Window window_;
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_REDUCTIONS_H_
