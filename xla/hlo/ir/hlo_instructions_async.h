#ifndef XLA_HLO_IR_HLO_INSTRUCTIONS_ASYNC_H_
#define XLA_HLO_IR_HLO_INSTRUCTIONS_ASYNC_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions_aliasible.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_print_options.h"
#include "xla/service/hlo.pb.h"
#include "xla/shape.h"
#include "xla/xla_data.pb.h"

// Chains of async-start, async-update and async-done. Include
// hlo_instructions.h for all.

namespace xla {

// A link of the chain async-start, async-update..., async-done. All links call
// the same computation, which belongs to the chain: a wrapper around one
// instruction, or anything else. A link finds the others through operand 0 and
// users, even if the state passes through tuples, barriers, copies, loops and
// calls between them (hlo_async_chain.h).
//
// Start and updates have the shape ((operands so far), output so far,
// context...): operands may be bound one after the other, and so may the
// output: (), a prefix of a tuple, or all of it.
//
//   s = ((), (), s32[]) async-start(), calls=f
//   u = ((f32[4]), f32[4], s32[]) async-update(s, x)
//   d = f32[4] async-done(u)
class HloAsyncInstruction : public HloInstruction {
 public:
  // For chains whose start is not reachable: the opcode and computation are
  // given.
  HloAsyncInstruction(HloOpcode opcode, const Shape& shape,
                      absl::Span<HloInstruction* const> operands,
                      std::optional<HloOpcode> async_wrapped_opcode,
                      HloComputation* async_computation = nullptr);

  // Null if the chain's computation is not reachable.
  HloComputation* async_wrapped_computation() const;
  // Root of the computation.
  HloInstruction* async_wrapped_instruction() const;
  HloOpcode async_wrapped_opcode() const;
  virtual absl::string_view async_execution_thread() const;
  // Also sets that of the computation and of all computations it calls.
  virtual void set_async_execution_thread(
      absl::string_view async_execution_thread) {}

  // Null if there is no such link, or it is not reachable.
  HloAsyncInstruction* async_chain_start() const;
  HloAsyncInstruction* async_chain_done() const;
  HloAsyncInstruction* async_chain_next() const;
  // From start (or the first reachable link) to done.
  std::vector<HloAsyncInstruction*> GetAsyncChain() const;
  // The link whose state operand 0 is; null for a start.
  HloAsyncInstruction* async_chain_previous() const;
  // Arguments that the link binds to parameters: operands of a start, and those
  // of an update after the state.
  absl::Span<HloInstruction* const> bound_operands() const;

  // Whether the wrapped computation has a side effect.
  bool HasSideEffect() const;
  // Brings later links up to date after the shape of this link or of a bound
  // operand changed: updates get the operands bound so far and at least the
  // output of the previous link; the done gets the output's shape.
  void UpdateChainShapes();
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kAsyncStart ||
           hlo->opcode() == HloOpcode::kAsyncUpdate ||
           hlo->opcode() == HloOpcode::kAsyncDone;
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

  friend class HloAsyncStartInstruction;
  friend class HloAsyncUpdateInstruction;
  HloAsyncInstruction(HloOpcode opcode, const Shape& shape,
                      absl::Span<HloInstruction* const> operands);

  bool DirectlyFollowsLink() const;

  // Set if the start is not reachable.
  std::optional<HloOpcode> async_wrapped_opcode_;
};

// The start of a chain, which alone stores the thread.
class HloAsyncStartInstruction : public HloAsyncInstruction,
                                 public HloAliasible {
 public:
  using HloAliasible::set_output_to_operand_aliasing;
  HloAsyncStartInstruction(
      HloOpcode opcode, const Shape& shape,
      absl::Span<HloInstruction* const> operands,
      HloComputation* async_computation,
      absl::string_view async_execution_thread = kMainExecutionThread);

  // Adds an operand and a parameter of the computation for it, which is
  // returned. Only the start's shape grows; UpdateChainShapes() updates the
  // rest.
  HloInstruction* AddCallOperand(HloInstruction* new_operand);
  std::unique_ptr<HloInstruction> CloneWithNewOperandsAndComputation(
      const Shape& shape, absl::Span<HloInstruction* const> new_operands,
      HloComputation* new_computation,
      HloCloneContext* context = nullptr) const;

  absl::string_view async_execution_thread() const override {
    return async_execution_thread_;
  }
  void set_async_execution_thread(
      absl::string_view async_execution_thread) override;
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kAsyncStart;
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

  std::string async_execution_thread_ = kMainExecutionThread;
};

// Operand 0 is the chain's state, the others are operands bound late.
class HloAsyncUpdateInstruction : public HloAsyncInstruction,
                                  public HloAliasible {
 public:
  using HloAliasible::set_output_to_operand_aliasing;
  HloAsyncUpdateInstruction(
      const Shape& shape, absl::Span<HloInstruction* const> operands,
      std::optional<HloOpcode> async_wrapped_opcode = std::nullopt,
      HloComputation* async_computation = nullptr);
  void ToProto(HloInstructionProto* proto) const override;
  static bool ClassOf(const HloInstruction* hlo) {
    return hlo->opcode() == HloOpcode::kAsyncUpdate;
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

#endif  // XLA_HLO_IR_HLO_INSTRUCTIONS_ASYNC_H_
