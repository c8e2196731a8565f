#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/hlo_schedule.h"
#include "xla/hlo/memory/accounting/recomputable.h"
#include "xla/hlo/memory/accounting/remat_accounting.h"
#include "xla/hlo/transforms/memory/remat/planner/clone_ties.h"
#include "xla/hlo/transforms/memory/remat/planner/computation_problem.h"
#include "xla/hlo/transforms/simplifiers/hlo_cse.h"
#include "xla/status_macros.h"

namespace xla::remat_plan {
namespace {

// Gives a clone of a loop, conditional or call computations of its own, with
// the schedules of the old ones, since flat call graphs stay flat.
void CloneCallees(HloInstruction* clone, HloSchedule* schedule) {
  HloModule* module = clone->GetModule();
  HloCloneContext context(module, "remat");
  std::vector<HloInstruction*> callers = {clone};
  while (!callers.empty()) {
    HloInstruction* caller = callers.back();
    callers.pop_back();
    caller->ReplaceCalledComputations([&](HloComputation* callee) {
      HloComputation* copy = module->DeepCloneComputation(callee, &context);
      for (HloInstruction* inst : copy->instructions()) {
        if (RunsComputations(*inst)) callers.push_back(inst);
      }
      if (schedule->is_computation_scheduled(callee)) {
        std::vector<HloInstruction*> sequence;
        for (const HloInstruction* inst :
             schedule->sequence(callee).instructions()) {
          sequence.push_back(context.GetInstruction(inst));
        }
        schedule->set_sequence(copy, sequence);
      }
      return copy;
    });
  }
}

// Writes the program from first to last step and keeps, for each old
// instruction, the latest instruction with its meaning. The first run of a node
// reuses the old instruction (with operands replaced where they were
// recomputed); every further run is a clone. Renaming instructions are no
// nodes, so they are materialized on demand: when a run reads through a tuple
// or get-tuple-element whose operand has a newer clone, the renaming
// instruction is cloned as well (Refresh).
//
// Invariant: sequence_ is a valid order, since every instruction is appended
// after its operands.
class Writer {
 public:
  Writer(absl::Span<HloInstruction* const> nodes, const ApplyOptions& options,
         HloComputation* computation, HloSchedule* schedule)
      : nodes_(nodes),
        options_(options),
        computation_(computation),
        schedule_(schedule) {}

  absl::Status Write(absl::Span<const NodeId> program) {
    std::vector<HloInstruction*> ties(program.size(), nullptr);
    if (options_.tie_clones) {
      ties = FindCloneTies(nodes_, program, options_.fused);
    }
    for (size_t i = 0; i < program.size(); ++i) {
      TF_RETURN_IF_ERROR(WriteRun(program[i], ties[i]));
    }
    HloInstruction* root = computation_->root_instruction();
    TF_ASSIGN_OR_RETURN(HloInstruction * now, Current(root));
    if (now != root) computation_->set_root_instruction(now);
    return absl::OkStatus();
  }

  // Removes instructions of the old sequence that run no more.
  absl::Status RemoveOthers(const std::vector<HloInstruction*>& old) {
    for (auto it = old.rbegin(); it != old.rend(); ++it) {
      if (written_.contains(*it)) continue;
      TF_RETURN_IF_ERROR(computation_->ForceRemoveInstruction(*it));
    }
    return absl::OkStatus();
  }

  const std::vector<HloInstruction*>& sequence() const { return sequence_; }

 private:
  struct Name {
    HloInstruction* instruction = nullptr;  // the latest with this meaning
    std::vector<HloInstruction*> operands;
  };

  void Append(HloInstruction* inst) {
    written_.insert(inst);
    sequence_.push_back(inst);
  }

  static absl::Status SetOperands(HloInstruction* inst,
                                  absl::Span<HloInstruction* const> operands) {
    for (int64_t i = 0; i < inst->operand_count(); ++i) {
      if (inst->operand(i) == operands[i]) continue;
      TF_RETURN_IF_ERROR(
          inst->ReplaceOperandWithDifferentShape(i, operands[i]));
    }
    return absl::OkStatus();
  }

  HloInstruction* AddClone(HloInstruction* inst,
                           absl::Span<HloInstruction* const> operands) {
    HloInstruction* clone = computation_->AddInstruction(
        inst->CloneWithNewOperands(inst->shape(), operands, "remat"));
    clone->set_frontend_attribute(kRematerializedAttribute, "true");
    if (RunsComputations(*inst)) CloneCallees(clone, schedule_);
    Append(clone);
    return clone;
  }

  // The current counterpart of an instruction of the old computation; writes
  // down what renames values where it is needed. Operands of renaming
  // instructions come from a stack, since chains of them may be long.
  absl::StatusOr<HloInstruction*> Current(HloInstruction* inst) {
    std::vector<HloInstruction*> stack = {inst};
    while (!stack.empty()) {
      HloInstruction* top = stack.back();
      if (!IsRenaming(*top) || fresh_.contains(top)) {
        stack.pop_back();
        continue;
      }
      bool ready = true;
      for (HloInstruction* operand : top->operands()) {
        HloInstruction* old = Old(operand);
        if (IsRenaming(*old) && !fresh_.contains(old)) {
          stack.push_back(old);
          ready = false;
        }
      }
      if (!ready) continue;
      stack.pop_back();
      TF_RETURN_IF_ERROR(Refresh(top));
      fresh_.insert(top);
    }
    fresh_.clear();
    return Latest(inst);
  }

  // Operands of a renaming instruction as they were at first.
  HloInstruction* Old(HloInstruction* inst) const {
    auto it = old_of_.find(inst);
    return it == old_of_.end() ? inst : it->second;
  }

  HloInstruction* Latest(HloInstruction* old) const {
    auto it = latest_.find(old);
    return it == latest_.end() ? old : it->second.instruction;
  }

  // Brings one renaming instruction up to date with its operands' latest
  // meanings: placed as it is the first time, cloned if the operands have
  // changed since.
  absl::Status Refresh(HloInstruction* inst) {
    std::vector<HloInstruction*> operands;
    operands.reserve(inst->operand_count());
    for (HloInstruction* operand : inst->operands()) {
      operands.push_back(Latest(Old(operand)));
    }
    auto [it, is_new] = latest_.try_emplace(inst);
    if (is_new) {
      TF_RETURN_IF_ERROR(SetOperands(inst, operands));
      Append(inst);
      it->second.instruction = inst;
    } else if (it->second.operands != operands) {
      HloInstruction* clone = AddClone(inst, operands);
      old_of_[clone] = inst;
      Name& name = latest_[inst];
      name.instruction = clone;
    }
    HloInstruction* now = latest_[inst].instruction;
    if (absl::c_any_of(operands, [this](HloInstruction* operand) {
          return tied_.contains(operand);
        })) {
      tied_.insert(now);
    }
    latest_[inst].operands = std::move(operands);
    return absl::OkStatus();
  }

  // `tie`: what it waits for; may be null.
  absl::Status WriteRun(NodeId node, HloInstruction* tie) {
    HloInstruction* inst = nodes_[node];
    std::vector<HloInstruction*> operands;
    operands.reserve(inst->operand_count());
    for (HloInstruction* operand : inst->operands()) {
      TF_ASSIGN_OR_RETURN(HloInstruction * now, Current(Old(operand)));
      operands.push_back(now);
    }
    if (latest_[inst].instruction == nullptr) {
      if (tie != nullptr) {
        TF_ASSIGN_OR_RETURN(HloInstruction * now, Current(tie));
        operands[0] = TiedTo(tie, now, operands[0]);
        // Clones read it, too, for which it is placed already.
        latest_[operands[0]] = {operands[0], {operands[0]->mutable_operand(0)}};
      }
      TF_RETURN_IF_ERROR(SetOperands(inst, operands));
      Append(inst);
      latest_[inst].instruction = inst;
      runs_.insert({inst->opcode(), std::move(operands)});
      return absl::OkStatus();
    }
    bool tied = false;
    if (options_.tie_clones) {
      TF_ASSIGN_OR_RETURN(tied, TieOperands(*inst, tie, &operands));
    }
    HloInstruction* clone = AddClone(inst, operands);
    old_of_[clone] = inst;
    if (tied) tied_.insert(clone);
    latest_[inst].instruction = clone;
    runs_.insert({inst->opcode(), std::move(operands)});
    return absl::OkStatus();
  }

  // Whether common subexpression elimination would merge a clone of `inst` that
  // reads `operands` with what runs before.
  bool IsRepeated(const HloInstruction& inst,
                  const std::vector<HloInstruction*>& operands) const {
    return runs_.contains({inst.opcode(), operands});
  }

  // Makes the operands of a clone of `inst` wait, one of them, where none does
  // yet, or where something equal waits for the same. Returns whether one waits
  // then.
  absl::StatusOr<bool> TieOperands(const HloInstruction& inst,
                                   HloInstruction* tie,
                                   std::vector<HloInstruction*>* operands) {
    const bool has_one = absl::c_any_of(
        *operands, [this](HloInstruction* o) { return tied_.contains(o); });
    if (has_one && !IsRepeated(inst, *operands)) return true;
    std::optional<size_t> chosen;
    std::pair<bool, int> best;
    for (size_t i = 0; i < operands->size(); ++i) {
      HloInstruction* operand = (*operands)[i];
      const bool clone = old_of_.contains(operand) && !held_.contains(operand);
      const std::pair<bool, int> rank = {clone, TieRank(*operand)};
      if (rank.second < 0 || (clone && !has_one)) continue;
      if (chosen.has_value() && rank >= best) continue;
      chosen = i;
      best = rank;
    }
    if (!chosen.has_value()) return has_one;
    HloInstruction*& operand = (*operands)[*chosen];
    do {
      HloInstruction* now = nullptr;
      if (tie != nullptr) {
        TF_ASSIGN_OR_RETURN(now, Current(tie));
      }
      operand = TiedTo(tie, now == operand ? nullptr : now, operand);
    } while (IsRepeated(inst, *operands));
    return true;
  }

  // The operand behind a barrier that waits for `now`, what `old_tie` is now,
  // if that is not null. XLA drops elements of barriers that nothing reads: if
  // the value that is waited for has a buffer of its own, what comes later
  // reads it behind the barrier, too.
  HloInstruction* TiedTo(HloInstruction* old_tie, HloInstruction* now,
                         HloInstruction* operand) {
    const auto it = held_.find(now);
    HloInstruction* const first = it == held_.end() ? now : it->second;
    HloInstruction*& tied = tied_to_[{operand, first}];
    if (tied != nullptr) return tied;
    const auto add = [this](std::unique_ptr<HloInstruction> inst) {
      HloInstruction* added = computation_->AddInstruction(std::move(inst));
      Append(added);
      return added;
    };
    const auto barrier = [&](HloInstruction* waits) {
      return add(HloInstruction::CreateUnary(
          waits->shape(), HloOpcode::kOptimizationBarrier, waits));
    };
    if (now == nullptr) return tied = barrier(operand);
    HloInstruction* both =
        barrier(add(HloInstruction::CreateTuple({operand, now})));
    tied = add(HloInstruction::CreateGetTupleElement(both, 0));
    if (options_.fused == nullptr) return tied;
    HloInstruction* held = add(HloInstruction::CreateGetTupleElement(both, 1));
    held_[held] = first;
    old_of_[held] = old_tie;
    latest_[old_tie].instruction = held;
    return tied;
  }

  const absl::Span<HloInstruction* const> nodes_;
  const ApplyOptions& options_;
  HloComputation* computation_;
  HloSchedule* schedule_;
  std::vector<HloInstruction*> sequence_;
  absl::flat_hash_set<const HloInstruction*> written_;
  // By instruction of the old computation.
  absl::flat_hash_map<const HloInstruction*, Name> latest_;
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> old_of_;
  absl::flat_hash_set<const HloInstruction*> fresh_;
  // Opcodes and operands of what has run.
  absl::flat_hash_set<std::pair<HloOpcode, std::vector<HloInstruction*>>> runs_;
  // Clones that wait, and operands that do, by what they are and wait for.
  absl::flat_hash_set<const HloInstruction*> tied_;
  // What was waited for, as it is read behind a barrier, and before.
  absl::flat_hash_map<const HloInstruction*, HloInstruction*> held_;
  absl::flat_hash_map<std::pair<HloInstruction*, HloInstruction*>,
                      HloInstruction*>
      tied_to_;
};

}  // namespace

// Instructions that no longer run are removed last, readers first, when nothing
// in the new sequence refers to them any more.
absl::Status ApplyProgram(absl::Span<HloInstruction* const> nodes,
                          absl::Span<const NodeId> program,
                          const ApplyOptions& options,
                          HloComputation* computation, HloSchedule* schedule) {
  const std::vector<HloInstruction*> old =
      schedule->sequence(computation).instructions();
  Writer writer(nodes, options, computation, schedule);
  TF_RETURN_IF_ERROR(writer.Write(program));
  TF_RETURN_IF_ERROR(writer.RemoveOthers(old));
  schedule->set_sequence(computation, writer.sequence());
  return absl::OkStatus();
}

}  // namespace xla::remat_plan
