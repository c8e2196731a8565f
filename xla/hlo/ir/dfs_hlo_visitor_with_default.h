#ifndef XLA_HLO_IR_DFS_HLO_VISITOR_WITH_DEFAULT_H_
#define XLA_HLO_IR_DFS_HLO_VISITOR_WITH_DEFAULT_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/container/flat_hash_set.h"
#include "absl/log/log.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/dfs_hlo_visitor.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

// A visitor whose handlers do DefaultAction unless overridden. Overriding
// HandleElementwiseUnary/Binary covers all opcodes of those classes.
template <typename HloInstructionPtr>
class DfsHloVisitorWithDefaultBase
    : public DfsHloVisitorBase<HloInstructionPtr> {
 public:
  virtual absl::Status DefaultAction(HloInstructionPtr hlo_instruction) = 0;

  absl::Status HandleElementwiseUnary(HloInstructionPtr hlo) override {
    return DefaultAction(hlo);
  }
  absl::Status HandleElementwiseBinary(HloInstructionPtr hlo) override {
    return DefaultAction(hlo);
  }
  absl::Status FinishVisit(HloInstructionPtr) override {
    return absl::OkStatus();
  }

 protected:
  absl::Status HandleUnclassified(HloInstructionPtr hlo) override {
    return DefaultAction(hlo);
  }
};

using DfsHloVisitorWithDefault = DfsHloVisitorWithDefaultBase<HloInstruction*>;
using ConstDfsHloVisitorWithDefault =
    DfsHloVisitorWithDefaultBase<const HloInstruction*>;

// Base of passes that rewrite one instruction at a time: overridden handlers
// call the Replace* helpers, which also keep changed() up to date.
class DfsHloRewriteVisitor : public DfsHloVisitorWithDefault {
 public:
  // Visits the non-fusion computations of the threads (empty: all), callees
  // first, and returns changed(). Computations and instructions added during
  // the walk are not visited unless they become operands of unvisited ones.
  absl::StatusOr<bool> RunOnModule(
      HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads = {}) {
    for (HloComputation* computation :
         module->MakeNonfusionComputations(execution_threads)) {
      absl::Status status = computation->Accept(this);
      if (ABSL_PREDICT_FALSE(!status.ok())) return status;
    }
    return changed();
  }

  // Does nothing.
  absl::Status DefaultAction(HloInstruction*) override {
    return absl::OkStatus();
  }

  bool changed() const { return changed_; }

 protected:
  // Replace all uses of the old instruction and remove it, along with operands
  // that this leaves dead; see HloComputation.
  absl::Status ReplaceWithNewInstruction(
      HloInstruction* old_instruction,
      std::unique_ptr<HloInstruction> new_instruction) {
    VLOG(3) << "replacing " << old_instruction->name() << " with a new "
            << HloOpcodeString(new_instruction->opcode());
    absl::Status status = old_instruction->parent()->ReplaceWithNewInstruction(
        old_instruction, std::move(new_instruction));
    if (ABSL_PREDICT_TRUE(status.ok())) changed_ = true;
    return status;
  }
  absl::StatusOr<bool> ReplaceInstruction(HloInstruction* old_instruction,
                                          HloInstruction* new_instruction,
                                          bool preserve_sharding) {
    VLOG(3) << "replacing " << old_instruction->name() << " with "
            << new_instruction->name();
    absl::StatusOr<bool> changed =
        old_instruction->parent()->ReplaceInstruction(
            old_instruction, new_instruction, preserve_sharding);
    if (ABSL_PREDICT_TRUE(changed.ok())) changed_ |= *changed;
    return changed;
  }
  absl::Status ReplaceInstruction(HloInstruction* old_instruction,
                                  HloInstruction* new_instruction) {
    return ReplaceInstruction(old_instruction, new_instruction,
                              /*preserve_sharding=*/false)
        .status();
  }

  void MarkAsChanged() { changed_ = true; }
  void MarkAsMaybeChanged(bool changed) { changed_ |= changed; }

 private:
  bool changed_ = false;
};

// Does `action` for the instructions `filter` selects.
class FilteredDfsHloVisitor : public DfsHloVisitorWithDefault {
 public:
  FilteredDfsHloVisitor(std::function<absl::Status(HloInstruction*)> action,
                        std::function<bool(const HloInstruction*)> filter)
      : action_(std::move(action)), filter_(std::move(filter)) {}

  absl::Status DefaultAction(HloInstruction* hlo_instruction) override {
    if (!filter_(hlo_instruction)) return absl::OkStatus();
    return action_(hlo_instruction);
  }

 private:
  std::function<absl::Status(HloInstruction*)> action_;
  std::function<bool(const HloInstruction*)> filter_;
};

// Calls a function for every instruction.
template <typename HloInstructionPtr>
class FunctionVisitorBase
    : public DfsHloVisitorWithDefaultBase<HloInstructionPtr> {
 public:
  explicit FunctionVisitorBase(
      std::function<absl::Status(HloInstructionPtr)> visitor_func)
      : visitor_func_(std::move(visitor_func)) {}

  absl::Status DefaultAction(HloInstructionPtr hlo_instruction) override {
    return visitor_func_(hlo_instruction);
  }

 private:
  std::function<absl::Status(HloInstructionPtr)> visitor_func_;
};

using FunctionVisitor = FunctionVisitorBase<HloInstruction*>;
using ConstFunctionVisitor = FunctionVisitorBase<const HloInstruction*>;

}  // namespace xla

#endif  // XLA_HLO_IR_DFS_HLO_VISITOR_WITH_DEFAULT_H_
