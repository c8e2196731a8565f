#include "xla/hlo/pipeline/commands/module_reducer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/call_inliner.h"
#include "xla/hlo/utils/hlo_query.h"
#include "xla/hlo/verifier/hlo_verifier.h"
#include "xla/literal_util.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"

// Delta debugging: repeatedly tries a smaller variant of a module and keeps it
// if the property of interest still holds. Edits are tried from coarse to fine:
// runs of half the instructions, of a quarter, and so on down to single ones,
// in the manner of ddmin (A. Zeller, R. Hildebrandt, "Simplifying and isolating
// failure-inducing input", IEEE TSE 2002). Every variant is a cleaned-up clone
// that passes the verifier, so the property is only ever tested on valid
// modules.

namespace xla {
namespace {

// Changes the clone of a module; false if there is nothing to change, or it
// cannot be done.
using Edit = std::function<bool(HloModule&, const HloCloneContext&)>;

// Zeros of an array, or a tuple of such; null for tokens and the like.
HloInstruction* AddZeros(HloComputation* computation, const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<HloInstruction*> elements;
    for (const Shape& element : shape.tuple_shapes()) {
      elements.push_back(AddZeros(computation, element));
      if (elements.back() == nullptr) return nullptr;
    }
    return computation->AddInstruction(HloInstruction::CreateTuple(elements));
  }
  if (shape.IsToken()) {
    return computation->AddInstruction(HloInstruction::CreateToken());
  }
  if (!shape.IsArray() || shape.is_dynamic()) return nullptr;
  HloInstruction* zero = computation->AddInstruction(
      HloInstruction::CreateConstant(LiteralUtil::Zero(shape.element_type())));
  if (shape.dimensions().empty()) return zero;
  return computation->AddInstruction(
      HloInstruction::CreateBroadcast(shape, zero, {}));
}

// Replacements for an instruction.
enum class StandIn { kOperand, kParameter, kZeros };

//
// An instruction is cut out by giving its users something simpler to read: an
// operand of the same shape, a new entry parameter, or zeros.
bool Cut(HloInstruction* instruction, StandIn kind) {
  HloComputation* computation = instruction->parent();
  // Each cut must leave less: nothing reads a dead one.
  if (instruction->opcode() == HloOpcode::kParameter || instruction->IsDead()) {
    return false;
  }
  HloInstruction* with = nullptr;
  switch (kind) {
    case StandIn::kOperand:
      for (HloInstruction* operand : instruction->operands()) {
        if (ShapeUtil::Compatible(operand->shape(), instruction->shape())) {
          with = operand;
          break;
        }
      }
      break;
    case StandIn::kParameter:
      if (!computation->IsEntryComputation() ||
          instruction->operand_count() == 0) {
        return false;
      }
      with = computation->AddEntryComputationParameter(
          HloInstruction::CreateParameter(computation->num_parameters(),
                                          instruction->shape(), "cut"));
      break;
    case StandIn::kZeros:
      // What cannot be written shorter.
      if (instruction->opcode() == HloOpcode::kTuple ||
          (hlo_query::IsAllConstant(instruction, 0) &&
           (instruction->IsConstant() ||
            instruction->operand(0)->IsConstant()))) {
        return false;
      }
      with = AddZeros(computation, instruction->shape());
      break;
  }
  if (with == nullptr || with == instruction) return false;
  if (!instruction->DropAllControlDeps().ok()) return false;
  return instruction->ReplaceAllUsesWith(with).ok();
}

class Reducer {
 public:
  Reducer(const InterestingFn& interesting, const ModuleReducerOptions& options,
          ModuleReducerStats& stats)
      : interesting_(interesting), options_(options), stats_(stats) {}

  absl::StatusOr<std::unique_ptr<HloModule>> Run(const HloModule& module) {
    current_ = module.Clone("");
    std::unique_ptr<HloModule> first = module.Clone("");
    if (!interesting_(*first)) {
      return absl::FailedPreconditionError(
          "the module does not show the failure");
    }
    Try([](HloModule&, const HloCloneContext&) { return true; });
    bool changed = true;
    while (changed && HasAttempts()) {
      changed = DropOutputs();
      changed |= CutRuns();
      changed |= FlattenCalls();
      changed |= DropSideEffects();
    }
    return std::move(current_);
  }

 private:
  bool HasAttempts() const { return stats_.attempts < options_.max_attempts; }

  // Removes everything unread: instructions, computations, entry parameters.
  static bool CleanUp(HloModule& module) {
    for (HloComputation* computation : module.MakeComputationPostOrder()) {
      std::vector<HloInstruction*> order =
          computation->MakeInstructionPostOrder();
      for (auto it = order.rbegin(); it != order.rend(); ++it) {
        HloInstruction* instruction = *it;
        if (!instruction->IsDead() || instruction->HasSideEffect() ||
            instruction->opcode() == HloOpcode::kParameter ||
            instruction->HasControlDependencies()) {
          continue;
        }
        if (!computation->RemoveInstruction(instruction).ok()) return false;
      }
    }
    const int64_t parameters = module.entry_computation()->num_parameters();
    if (!module.RemoveUnusedComputations().ok() ||
        !module.entry_computation()
             ->RemoveUnusedParametersFromAnyComputation()
             .ok()) {
      return false;
    }
    if (module.entry_computation()->num_parameters() != parameters) {
      *module.mutable_entry_computation_layout() =
          module.compute_computation_layout();
    }
    module.Cleanup();
    return !module.has_schedule() || module.schedule().Update().ok();
  }

  // Applies an edit to a copy, and keeps the copy if it is interesting.
  bool Try(const Edit& edit) {
    if (!HasAttempts()) return false;
    auto [copy, context] = current_->CloneWithContext("");
    if (!edit(*copy, *context)) return false;
    ++stats_.attempts;
    if (!CleanUp(*copy)) return false;
    HloVerifierOpts verifier;
    verifier.allow_mixed_precision = true;
    if (!VerifyHloModule(copy.get(), verifier).ok()) return false;
    // The property may be tested by something that changes the module.
    std::unique_ptr<HloModule> probe = copy->Clone("");
    if (!interesting_(*probe)) return false;
    current_ = std::move(copy);
    ++stats_.accepted;
    return true;
  }

  static bool SetEntryRoot(HloModule& module, HloInstruction* root) {
    HloComputation* entry = module.entry_computation();
    entry->set_root_instruction(root, /*accept_different_shape=*/true);
    module.set_input_output_alias_config(
        HloInputOutputAliasConfig(root->shape()));
    *module.mutable_entry_computation_layout() =
        module.compute_computation_layout();
    return true;
  }

  // The entry with fewer outputs: one of them, half of them, all but one; or
  // with an operand of the root as the root.
  bool DropOutputs() {
    bool changed = false;
    bool again = true;
    while (again && HasAttempts()) {
      again = false;
      const HloInstruction* root =
          current_->entry_computation()->root_instruction();
      for (int64_t i = 0; i < root->operand_count() && !again; ++i) {
        again = Try([&](HloModule& module, const HloCloneContext& context) {
          return SetEntryRoot(module,
                              context.FindInstruction(root->operand(i)));
        });
      }
      if (!again && root->opcode() == HloOpcode::kTuple)
        again = ThinTuple(root);
      changed |= again;
    }
    return changed;
  }

  bool ThinTuple(const HloInstruction* root) {
    const int64_t n = root->operand_count();
    for (int64_t run = n / 2; run > 0; run /= 2) {
      for (int64_t first = 0; first + run <= n; first += run) {
        if (Try([&](HloModule& module, const HloCloneContext& context) {
              std::vector<HloInstruction*> kept;
              for (int64_t i = 0; i < n; ++i) {
                if (i >= first && i < first + run) continue;
                kept.push_back(context.FindInstruction(root->operand(i)));
              }
              if (kept.empty()) return false;
              return SetEntryRoot(module,
                                  module.entry_computation()->AddInstruction(
                                      HloInstruction::CreateTuple(kept)));
            })) {
          return true;
        }
      }
    }
    return false;
  }

  std::vector<const HloInstruction*> Candidates() const {
    std::vector<const HloInstruction*> candidates;
    const std::vector<HloComputation*> computations =
        current_->MakeComputationPostOrder();
    // Callers first, and users first: what they need goes with them.
    for (auto c = computations.rbegin(); c != computations.rend(); ++c) {
      std::vector<HloInstruction*> order = (*c)->MakeInstructionPostOrder();
      for (auto i = order.rbegin(); i != order.rend(); ++i) {
        if ((*i)->opcode() != HloOpcode::kParameter) candidates.push_back(*i);
      }
    }
    return candidates;
  }

  // Replaces runs of instructions, longest first.
  //
  // After a success the candidates are determined again with the same run
  // length, since the clean-up has removed others as well; after a round
  // without success the length is halved.
  bool CutRuns() {
    bool changed = false;
    for (StandIn kind :
         {StandIn::kOperand, StandIn::kParameter, StandIn::kZeros}) {
      std::vector<const HloInstruction*> candidates = Candidates();
      int64_t run = static_cast<int64_t>(candidates.size());
      while (run > 0 && HasAttempts()) {
        bool cut = false;
        const auto n = static_cast<int64_t>(candidates.size());
        for (int64_t first = 0; first < n; first += run) {
          const int64_t last = std::min(first + run, n);
          if (!Try([&](HloModule&, const HloCloneContext& context) {
                bool any = false;
                for (int64_t i = first; i < last; ++i) {
                  HloInstruction* instruction =
                      context.FindInstruction(candidates[i]);
                  any |= instruction != nullptr && Cut(instruction, kind);
                }
                return any;
              })) {
            continue;
          }
          cut = changed = true;
          // The module is another one: start over at what is left.
          break;
        }
        if (cut) {
          candidates = Candidates();
          run = std::min(run, static_cast<int64_t>(candidates.size()));
        } else {
          run /= 2;
        }
      }
    }
    return changed;
  }

  // Inlines calls, and takes one branch of conditionals.
  bool FlattenCalls() {
    bool changed = false;
    for (const HloInstruction* candidate : Candidates()) {
      if (candidate->opcode() == HloOpcode::kCall) {
        if (Try([&](HloModule&, const HloCloneContext& context) {
              return CallInliner::Inline(context.FindInstruction(candidate))
                  .ok();
            })) {
          return true;
        }
      }
      if (candidate->opcode() != HloOpcode::kConditional) continue;
      for (int branch = 0; branch < candidate->branch_count(); ++branch) {
        if (Try([&](HloModule&, const HloCloneContext& context) {
              HloInstruction* conditional = context.FindInstruction(candidate);
              HloInstruction* call = conditional->parent()->AddInstruction(
                  HloInstruction::CreateCall(
                      conditional->shape(),
                      {conditional->mutable_operand(branch + 1)},
                      conditional->branch_computation(branch)));
              return conditional->ReplaceAllUsesWith(call).ok();
            })) {
          return true;
        }
      }
    }
    return changed;
  }

  // Unread instructions with side effects.
  bool DropSideEffects() {
    for (const HloInstruction* candidate : Candidates()) {
      if (!candidate->HasSideEffect() || !candidate->IsDead()) continue;
      if (Try([&](HloModule&, const HloCloneContext& context) {
            HloInstruction* instruction = context.FindInstruction(candidate);
            return instruction->DropAllControlDeps().ok() &&
                   instruction->parent()->RemoveInstruction(instruction).ok();
          })) {
        return true;
      }
    }
    return false;
  }

  const InterestingFn& interesting_;
  const ModuleReducerOptions& options_;
  ModuleReducerStats& stats_;
  std::unique_ptr<HloModule> current_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> ReduceModule(
    const HloModule& module, const InterestingFn& interesting,
    const ModuleReducerOptions& options, ModuleReducerStats* stats) {
  ModuleReducerStats own;
  return Reducer(interesting, options, stats != nullptr ? *stats : own)
      .Run(module);
}

}  // namespace xla
