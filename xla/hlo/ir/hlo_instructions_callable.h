#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_CALLABLE_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_CALLABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/hash/hash.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions_aliasible.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/iterator_util.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Instructions that call a computation of instructions: fusions and calls.
// Include hlo_instructions.h for all.

namespace xla {

// Base of instructions that call a computation and can move instructions into
// it: fusion, call, custom-call.
//
//   before: a = exp(x)  f = fusion(a, y), calls={p0, p1: add(p0, p1)}
//   f.AppendInstructionIntoCalledComputation(a)
//   after:  f = fusion(y, x), calls={p0, p1: add(exp(p1), p0)}
class HloCallableInstruction : public HloInstruction, public HloAliasible {
 public:
  using HloAliasible::set_output_to_operand_aliasing;
  HloCallableInstruction(HloOpcode opcode, const Shape& shape);
  HloCallableInstruction(HloOpcode opcode, const Shape& shape,
                         absl::Span<HloInstruction* const> operands);
  HloCallableInstruction(HloOpcode opcode, const Shape& shape,
                         absl::Span<HloInstruction* const> operands,
                         HloComputation* called_computation,
                         absl::string_view prefix = "");
  HloCallableInstruction(HloOpcode opcode, const Shape& shape,
                         absl::Span<HloInstruction* const> operands,
                         absl::Span<HloComputation* const> called_computations);
  // Composites.
  HloCallableInstruction(HloOpcode opcode, const Shape& shape,
                         const std::string& name, const std::string& attributes,
                         int64_t version);
  HloCallableInstruction(HloOpcode opcode, const Shape& shape,
                         absl::Span<HloInstruction* const> operands,
                         HloComputation* decomposition, const std::string& name,
                         const std::string& attributes, int64_t version);

  // Adds an operand and a parameter of the computation for it, which is
  // returned.
  HloInstruction* AddCallOperand(HloInstruction* new_operand);
  // Clones the instruction into the computation in place of the parameter that
  // represented it; it is then no longer an operand. With `add_output`, its
  // value becomes an output, which its other users read through a new
  // get-tuple-element, so that the original is dead. Returns the clone.
  HloInstruction* AppendInstructionIntoCalledComputation(
      HloInstruction* instruction_to_append, bool add_output = false);
  virtual HloInstruction* CloneAndAppendInstructionIntoCalledComputation(
      HloInstruction* instruction_to_append, bool add_output = false);

  // The called computations, or their clones if the context has or makes them.
  absl::InlinedVector<HloComputation*, 1> GetOrCloneCalledComputations(
      HloCloneContext* context) const;
  // There must be exactly one.
  HloComputation* called_computation() const;
  HloInstruction* called_computation_root() const;
  // Sets the thread of the called computations and of everything they call.
  void RecursivelySetComputationsThreadName(absl::string_view execution_thread);
  // The frontend attributes that make a call a composite.
  static FrontendAttributes BuildFrontendAttributesForComposite(
      const std::string& name,
      std::optional<absl::string_view> attributes = std::nullopt,
      std::optional<int64_t> version = std::nullopt);
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kFusion ||
           hlo->opcode() == HloOpcode::kCall ||
           hlo->opcode() == HloOpcode::kCustomCall;
  }

 protected:
  // Suffix of the names of computations made for this opcode.
  virtual std::string default_called_computation_name() const = 0;
  // Makes a computation of a clone of `root` alone, and takes root's operands.
  void StartCalledComputation(HloInstruction* root, absl::string_view prefix);
  // The parameter that represents `operand`, which becomes an operand if it is
  // not one yet.
  HloInstruction* ParameterFor(HloInstruction* operand);
  // A clone in the computation that reads parameters for its operands.
  HloInstruction* CloneIntoCalledComputation(const HloInstruction* instruction);
  // Drops `operand` and its parameters, whose users use `inner` instead.
  void ReplaceOperandByInner(const HloInstruction* operand,
                             HloInstruction* inner);
  // Makes values of the computation outputs; returns the get-tuple-elements
  // that read them. If there was a single output, its users read it through a
  // get-tuple-element now.
  std::vector<HloInstruction*> AddOutputs(
      absl::Span<HloInstruction* const> inner);
};

// A fusion: a computation that is compiled as one kernel.
//
// MergeFusionInstruction takes in a producer that is a fusion itself:
//
//   before: a = fusion(x), calls=A   b = fusion(a, y), calls=B
//   after:  b = fusion(y, x), calls=B with A's instructions, a stays for others
//
// The IntoMultiOutput variants also make the producer's value (every output
// used outside) an output of this fusion, which other users then read, so that
// the producer becomes dead.
class HloFusionInstruction : public HloCallableInstruction {
 public:
  HloFusionInstruction(const Shape& shape, FusionKind fusion_kind,
                       HloInstruction* fused_root,
                       absl::string_view prefix = "");
  HloFusionInstruction(const Shape& shape, FusionKind fusion_kind,
                       absl::Span<HloInstruction* const> operands,
                       HloComputation* fusion_computation,
                       absl::string_view prefix = "");

  HloInstruction* CloneAndAppendInstructionIntoCalledComputation(
      HloInstruction* instruction_to_append, bool add_output = false) override;
  std::string ToCategory() const override;

  HloInstruction* AddFusionOperand(HloInstruction* new_operand);
  void MergeFusionInstruction(HloFusionInstruction* instruction_to_merge,
                              bool remove_computation = true);
  void MergeFusionInstructionIntoMultiOutput(
      HloFusionInstruction* instruction_to_merge,
      bool remove_computation = true);
  // Clones a producer into the computation; returns the clone.
  HloInstruction* FuseInstruction(HloInstruction* instruction_to_fuse);
  HloInstruction* FuseInstructionIntoMultiOutput(
      HloInstruction* instruction_to_fuse);

  HloComputation* fused_instructions_computation() const {
    return called_computation();
  }
  HloInstruction* fused_expression_root() const;
  tsl::gtl::iterator_range<HloInstructionUnwrappingConstIterator>
  fused_instructions() const;
  tsl::gtl::iterator_range<HloInstructionUnwrappingIterator>
  fused_instructions();
  int64_t fused_instruction_count() const;
  HloInstruction* fused_parameter(int64_t parameter_number) const;
  const HloInstruction::InstructionVector& fused_parameters() const;
  // The root is a tuple.
  bool IsMultiOutputFusion() const;
  FusionKind fusion_kind() const { return fusion_kind_; }
  void set_fusion_kind(FusionKind kind) { fusion_kind_ = kind; }
  // Merges repeated operands and their parameters into one.
  absl::Status DeduplicateFusionOperands();
  // New operand i is old operand permutation[i].
  absl::Status PermuteFusionOperands(absl::Span<const int64_t> permutation);
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kFusion;
  }
  void HashAdditionalAttributes(absl::HashState h) const override;

 protected:
  std::string default_called_computation_name() const override {
    return "fused_computation";
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
  bool IsElementwiseImpl(
      const std::optional<int64_t>& operand_idx) const override;

  // Clones the body of `producer` into this fusion's, reading parameters for
  // the producer's operands; returns its outputs' clones.
  std::vector<HloInstruction*> CloneBodyOf(
      const HloFusionInstruction* producer);

  FusionKind fusion_kind_;
};

class HloCallInstruction : public HloCallableInstruction {
 public:
  HloCallInstruction(const Shape& shape,
                     HloInstruction* called_computation_root);
  HloCallInstruction(const Shape& shape,
                     absl::Span<HloInstruction* const> operands,
                     HloComputation* called_computation);
  // Composites.
  HloCallInstruction(const Shape& shape, HloInstruction* decomposition_root,
                     const std::string& name, const std::string& attributes,
                     int64_t version);
  HloCallInstruction(const Shape& shape,
                     absl::Span<HloInstruction* const> operands,
                     HloComputation* decomposition, const std::string& name,
                     const std::string& attributes, int64_t version);
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kCall;
  }

 protected:
  std::string default_called_computation_name() const override {
    return "called_computation";
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
};

}  // namespace xla

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_CALLABLE_H_
