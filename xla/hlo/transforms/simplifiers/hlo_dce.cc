#include "xla/hlo/transforms/simplifiers/hlo_dce.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/prefetch.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_async_chain.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/simplifiers/dead_fusion_outputs.h"
#include "xla/hlo/transforms/simplifiers/dead_parameters.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Whether attribute `name` of the instruction is "true".
bool HasTrueAttribute(const HloInstruction& inst, absl::string_view name) {
  return inst.get_frontend_attribute(name) == "true";
}

bool IsCollective(HloOpcode opcode) {
  return HloOpcodeIsOneOf<
      HloOpcode::kAllGather, HloOpcode::kAllReduce, HloOpcode::kAllToAll,
      HloOpcode::kCollectiveBroadcast, HloOpcode::kCollectivePermute,
      HloOpcode::kRaggedAllToAll, HloOpcode::kReduceScatter>(opcode);
}

// Decides about and removes dead instructions, wherever they are.
//
// A worklist algorithm: removing an instruction may leave operands without
// users, which are considered next. Each instruction is removed once and
// considered at most once for each use, so the time is linear in the number of
// edges. The end of an asynchronous operation of which an earlier link has
// other readers waits for the last of these to go, or until all of them are
// such ends.
class DeadInstructionRemover {
 public:
  explicit DeadInstructionRemover(const HloDceOptions& options)
      : options_(options) {}

  // Puts the instruction on the list of those to look at.
  void Consider(HloInstruction* inst) { work_.push_back(inst); }

  // Removes what is dead of those considered, and operands that become dead.
  absl::Status RemoveAll() {
    while (!work_.empty()) {
      HloInstruction* inst = work_.back();
      work_.pop_back();
      TF_RETURN_IF_ERROR(RemoveIfDead(inst));
    }
    return absl::OkStatus();
  }

  bool changed() const { return changed_; }

 private:
  absl::Status RemoveIfDead(HloInstruction* inst) {
    HloComputation* computation = inst->parent();
    // An operand may be listed once for each use that went.
    if (computation == nullptr || computation->IsMarkedAsDead(inst)) {
      return absl::OkStatus();
    }
    if (!CanGo(*inst)) return absl::OkStatus();
    if (const HloInstruction* link = LinkThatStays(*inst)) {
      if (!waiting_.insert(inst).second) return absl::OkStatus();
      waiting_ends_[link].push_back(inst);
      if (!GoesWith(*link, waiting_ends_[link])) return absl::OkStatus();
      for (HloInstruction* end : TakeEnds(link)) {
        TF_RETURN_IF_ERROR(Remove(end));
      }
      return absl::OkStatus();
    }
    return Remove(inst);
  }

  absl::Status Remove(HloInstruction* inst) {
    absl::InlinedVector<HloInstruction*, 4> operands(inst->operands().begin(),
                                                     inst->operands().end());
    TF_RETURN_IF_ERROR(inst->parent()->ForceRemoveInstruction(inst));
    changed_ = true;
    for (HloInstruction* operand : operands) {
      if (operand->user_count() == 0) Consider(operand);
      if (waiting_ends_.empty()) continue;
      const auto ends = waiting_ends_.find(operand);
      if (ends == waiting_ends_.end() ||
          operand->user_count() > static_cast<int64_t>(ends->second.size())) {
        continue;
      }
      const std::vector<HloInstruction*> again = TakeEnds(operand);
      work_.insert(work_.end(), again.begin(), again.end());
    }
    return absl::OkStatus();
  }

  std::vector<HloInstruction*> TakeEnds(const HloInstruction* link) {
    const auto it = waiting_ends_.find(link);
    std::vector<HloInstruction*> ends = std::move(it->second);
    waiting_ends_.erase(it);
    for (const HloInstruction* end : ends) waiting_.erase(end);
    return ends;
  }

  bool CanGo(const HloInstruction& inst) const {
    if (inst.user_count() != 0 || inst.IsRoot() ||
        inst.opcode() == HloOpcode::kParameter ||
        inst.HasControlDependencies()) {
      return false;
    }
    if (IsKeptLoop(inst)) return false;
    if (inst.opcode() == HloOpcode::kAfterAll &&
        absl::c_any_of(inst.operands(), [](const HloInstruction* operand) {
          return operand->HasSideEffect();
        })) {
      return false;
    }
    if (inst.IsCustomCall("Sharding") && AnnotatesLiveValue(inst)) return false;
    return !HasLastingEffect(inst);
  }

  static bool IsKeptLoop(const HloInstruction& inst) {
    return inst.opcode() == HloOpcode::kWhile &&
           HasTrueAttribute(inst, "xla_disable_while_loop_dce");
  }

  // If `inst` ends an asynchronous operation: the link that cannot go with it.
  const HloInstruction* LinkThatStays(const HloInstruction& inst) const {
    if (!inst.IsAsyncDone()) return nullptr;
    return AsyncLinkThatStays(inst, [this](const HloInstruction& link) {
      return link.user_count() > 1 || StaysUnread(link);
    });
  }

  bool StaysUnread(const HloInstruction& link) const {
    return link.IsRoot() || link.HasControlDependencies() || IsKeptLoop(link) ||
           HasLastingEffect(link);
  }

  // Whether the link, a loop with several states, goes once `ends` have gone,
  // each of which takes one of them, and nothing in front of it stays.
  bool GoesWith(const HloInstruction& link,
                absl::Span<HloInstruction* const> ends) const {
    if (link.user_count() != static_cast<int64_t>(ends.size()) ||
        link.opcode() == HloOpcode::kParameter || StaysUnread(link)) {
      return false;
    }
    return absl::c_all_of(ends, [&](const HloInstruction* end) {
      return AsyncLinkThatStays(*end, [&](const HloInstruction& other) {
               return (&other != &link && other.user_count() > 1) ||
                      StaysUnread(other);
             }) == nullptr;
    });
  }

  // A dangling annotation says something about its operand as long as that
  // lives for other reasons.
  static bool AnnotatesLiveValue(const HloInstruction& annotation) {
    return absl::c_any_of(
        annotation.operands(), [](const HloInstruction* operand) {
          return operand->IsRoot() || operand->user_count() > 1 ||
                 operand->opcode() == HloOpcode::kParameter;
        });
  }

  // Whether running it matters even if nothing reads the result.
  bool HasLastingEffect(const HloInstruction& inst) const {
    if (!inst.HasSideEffect()) return false;
    if (inst.IsCustomCall("tpu_custom_call") &&
        HasTrueAttribute(inst, "xla_allow_dce_side_effecting_op")) {
      return false;
    }
    if (!options_.remove_cross_partition_collective_ops) return true;
    if (IsCollective(inst.opcode())) return false;
    return inst.opcode() != HloOpcode::kWhile ||
           absl::c_any_of(inst.called_computations(),
                          [this](const HloComputation* computation) {
                            return ComputationHasLastingEffect(*computation);
                          });
  }

  bool ComputationHasLastingEffect(const HloComputation& computation) const {
    return absl::c_any_of(
        computation.instructions(),
        [this](const HloInstruction* inst) { return HasLastingEffect(*inst); });
  }

  const HloDceOptions& options_;
  std::vector<HloInstruction*> work_;
  // Ends of asynchronous operations, by the link that keeps them.
  absl::flat_hash_map<const HloInstruction*, std::vector<HloInstruction*>>
      waiting_ends_;
  // All of them.
  absl::flat_hash_set<const HloInstruction*> waiting_;
  bool changed_ = false;
};

// The result of one scan over the instructions of a computation: which of the
// steps below have work to do.
struct Findings {
  // Instructions other than the root and parameters that nothing reads.
  bool unread = false;
  bool unread_parameter = false;
  bool tuple_root = false;
};

// Looks at each instruction once. All of them lie apart in memory, so that they
// are fetched ahead, from one computation into the next.
std::vector<Findings> LookAt(absl::Span<HloComputation* const> computations) {
  std::vector<HloInstruction*> instructions;
  std::vector<size_t> ends;
  ends.reserve(computations.size());
  for (const HloComputation* computation : computations) {
    instructions.insert(instructions.end(), computation->instructions().begin(),
                        computation->instructions().end());
    ends.push_back(instructions.size());
  }
  constexpr size_t kAhead = 8;
  std::vector<Findings> findings(computations.size());
  size_t next = 0;
  for (size_t i = 0; i < computations.size(); ++i) {
    const HloInstruction* root = computations[i]->root_instruction();
    findings[i].tuple_root = root->opcode() == HloOpcode::kTuple;
    for (; next < ends[i]; ++next) {
      if (next + 2 * kAhead < instructions.size()) {
        absl::PrefetchToLocalCache(instructions[next + 2 * kAhead]);
      }
      if (next + kAhead < instructions.size()) {
        // Where there are several users, they are elsewhere.
        absl::PrefetchToLocalCache(
            instructions[next + kAhead]->users().begin());
      }
      const HloInstruction* inst = instructions[next];
      if (inst->user_count() != 0 || inst == root) continue;
      (inst->opcode() == HloOpcode::kParameter ? findings[i].unread_parameter
                                               : findings[i].unread) = true;
    }
  }
  return findings;
}

// The effects of a round over one computation.
struct Change {
  bool any = false;
  // Instructions of other computations went too.
  bool elsewhere = false;
};

// Dead outputs of fusions go first, since they free instructions inside; then
// dead instructions; then parameters of called computations, whose removal may
// free operands at the call sites.
absl::StatusOr<Change> RunOnOneComputation(HloComputation* computation,
                                           const HloDceOptions& options,
                                           const Findings& findings) {
  Change change;
  if (findings.tuple_root) {
    TF_ASSIGN_OR_RETURN(change.any, RemoveDeadFusionOutputs(computation));
  }

  if (findings.unread || change.any) {
    DeadInstructionRemover remover(options);
    for (HloInstruction* inst : computation->instructions()) {
      if (inst->user_count() == 0) remover.Consider(inst);
    }
    TF_RETURN_IF_ERROR(remover.RemoveAll());
    change.any |= remover.changed();
  }
  if (!findings.unread_parameter && !change.any) return change;

  // Operands that lose their last use with a parameter are dead in the callers,
  // which have been looked at before.
  DeadInstructionRemover callers_remover(options);
  DeadParameterOptions parameter_options;
  parameter_options.of_callees = options.use_call_analysis;
  parameter_options.of_entry =
      options.remove_dead_parameters_from_entry_computation;
  TF_ASSIGN_OR_RETURN(
      bool parameters_changed,
      RemoveDeadParameters(
          computation, parameter_options, [&](HloInstruction* operand) {
            if (operand->user_count() != 0) return;
            // A caller's parameter may go in the next round.
            change.elsewhere |= operand->opcode() == HloOpcode::kParameter;
            callers_remover.Consider(operand);
          }));
  TF_RETURN_IF_ERROR(callers_remover.RemoveAll());
  change.any |= parameters_changed;
  change.elsewhere |= callers_remover.changed();
  return change;
}

// Removes the computations of the threads that the entry does not reach.
absl::StatusOr<bool> RemoveUnreachableComputations(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  // Calls have no cycles, so something that the entry does not reach has no
  // caller, or has none once its callers are gone.
  if (absl::c_none_of(module->computations(),
                      [](const HloComputation* computation) {
                        return computation->IsDeadComputation();
                      })) {
    return false;
  }
  std::vector<HloComputation*> order =
      module->MakeComputationPostOrder(execution_threads);
  bool changed = false;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    // A caller on another thread stays, and what it calls with it.
    if ((*it)->IsEntryComputation() || !(*it)->caller_computations().empty()) {
      continue;
    }
    TF_RETURN_IF_ERROR(module->RemoveEmbeddedComputation(*it));
    changed = true;
  }
  return changed;
}

}  // namespace

absl::StatusOr<bool> HloDCE::RunOnComputation(
    HloComputation* computation, bool remove_cross_partition_collective_ops,
    CallGraph* call_graph, bool remove_dead_parameters_from_entry_computation) {
  HloDceOptions options;
  options.remove_cross_partition_collective_ops =
      remove_cross_partition_collective_ops;
  options.use_call_analysis = call_graph != nullptr;
  options.remove_dead_parameters_from_entry_computation =
      remove_dead_parameters_from_entry_computation;
  TF_ASSIGN_OR_RETURN(
      Change change,
      RunOnOneComputation(computation, options, LookAt({computation})[0]));
  return change.any;
}

absl::StatusOr<bool> HloDCE::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  bool changed = false;
  // Callers before callees: a call that goes frees its callee.
  std::vector<HloComputation*> computations =
      module->MakeComputationPostOrder(execution_threads);
  absl::c_reverse(computations);
  bool again = true;
  while (again) {
    again = false;
    // Nothing that is done to one computation leaves another that has nothing
    // to remove with something, but for what `elsewhere` says.
    const std::vector<Findings> findings = LookAt(computations);
    for (size_t i = 0; i < computations.size(); ++i) {
      TF_ASSIGN_OR_RETURN(
          Change change,
          RunOnOneComputation(computations[i], options_, findings[i]));
      changed |= change.any;
      // What a parameter frees may be an output or a parameter's last read in a
      // computation that has been cleaned already.
      again |= change.elsewhere;
    }
  }
  TF_ASSIGN_OR_RETURN(bool computations_changed,
                      RemoveUnreachableComputations(module, execution_threads));
  changed |= computations_changed;
  if (changed && module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return changed;
}

}  // namespace xla
