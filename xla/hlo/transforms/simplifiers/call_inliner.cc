#include "xla/hlo/transforms/simplifiers/call_inliner.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// Puts the call's op_name before that of an inlined instruction.
void PrefixOpName(const HloInstruction& call, HloInstruction* inlined) {
  const std::string& prefix = call.metadata().op_name();
  if (prefix.empty()) return;
  const std::string& name = inlined->metadata().op_name();
  if (absl::StartsWith(name, prefix)) return;
  OpMetadata metadata = inlined->metadata();
  metadata.set_op_name(name.empty() ? prefix : absl::StrCat(prefix, "/", name));
  inlined->set_metadata(metadata);
}

// Whether nothing else of the callee comes before / after it.
bool IsFirst(const HloInstruction& inst) {
  return inst.control_predecessors().empty() &&
         absl::c_all_of(inst.operands(), [](const HloInstruction* operand) {
           return operand->opcode() == HloOpcode::kParameter;
         });
}
bool IsLast(const HloInstruction& inst) {
  return inst.control_successors().empty() && inst.user_count() == 0;
}

// Keeps what stood before the call before the body, and after likewise.
absl::Status RelayControlDependencies(
    HloInstruction* call, const std::vector<HloInstruction*>& body,
    const CallInliner::InlinedInstructionMap& map) {
  std::vector<HloInstruction*> before(call->control_predecessors().begin(),
                                      call->control_predecessors().end());
  std::vector<HloInstruction*> after(call->control_successors().begin(),
                                     call->control_successors().end());
  if (before.empty() && after.empty()) return absl::OkStatus();
  TF_RETURN_IF_ERROR(call->DropAllControlDeps());
  bool any = false;
  for (HloInstruction* inst : body) {
    if (inst->opcode() == HloOpcode::kParameter) continue;
    any = true;
    HloInstruction* inlined = map.at(inst);
    for (HloInstruction* predecessor : before) {
      if (!IsFirst(*inst)) break;
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(inlined));
    }
    for (HloInstruction* successor : after) {
      if (!IsLast(*inst)) break;
      TF_RETURN_IF_ERROR(inlined->AddControlDependencyTo(successor));
    }
  }
  if (any) return absl::OkStatus();
  // An empty body: what came before still comes before what came after.
  for (HloInstruction* predecessor : before) {
    for (HloInstruction* successor : after) {
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(successor));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CallInliner::InlinedInstructionMap> CallInliner::Inline(
    HloInstruction* call, bool propagate_metadata) {
  TF_RET_CHECK(call->opcode() == HloOpcode::kCall)
      << call->name() << " is no call";
  HloComputation* callee = call->to_apply();
  HloComputation* caller = call->parent();
  InlinedInstructionMap map;
  std::vector<HloInstruction*> body = callee->MakeInstructionPostOrder();
  for (HloInstruction* inst : body) {
    if (inst->opcode() == HloOpcode::kParameter) {
      map[inst] = call->mutable_operand(inst->parameter_number());
      continue;
    }
    std::vector<HloInstruction*> operands;
    for (HloInstruction* operand : inst->operands()) {
      operands.push_back(map.at(operand));
    }
    HloInstruction* inlined = caller->AddInstruction(
        inst->CloneWithNewOperands(inst->shape(), operands), inst->name());
    if (propagate_metadata) PrefixOpName(*call, inlined);
    for (HloInstruction* predecessor : inst->control_predecessors()) {
      auto it = map.find(predecessor);
      if (it == map.end() || it->second == inlined) continue;
      TF_RETURN_IF_ERROR(it->second->AddControlDependencyTo(inlined));
    }
    map[inst] = inlined;
  }
  TF_RETURN_IF_ERROR(RelayControlDependencies(call, body, map));
  HloInstruction* result = map.at(callee->root_instruction());
  TF_RETURN_IF_ERROR(call->ReplaceAllUsesWith(result));
  TF_RETURN_IF_ERROR(caller->ForceRemoveInstruction(call));
  return map;
}

CallInliner::FrontendInlinePolicy CallInliner::GetFrontendInlinePolicy(
    const HloInstruction* instruction) {
  std::optional<std::string> policy =
      instruction->get_frontend_attribute("inline_policy");
  if (policy == "early") return FrontendInlinePolicy::kXlaEarly;
  if (policy == "late") return FrontendInlinePolicy::kXlaLate;
  return FrontendInlinePolicy::kAuto;
}

bool CallInliner::InlineInstructionAllowed(const HloInstruction* instruction,
                                           InlineOverridePolicy policy) {
  switch (policy) {
    case InlineOverridePolicy::kProhibitInline:
      return false;
    case InlineOverridePolicy::kAllowIgnoreFrontendAttributes:
      return true;
    case InlineOverridePolicy::kAllowInline:
      break;
  }
  return instruction->get_frontend_attribute("inlineable") != "false" &&
         !instruction->get_frontend_attribute("_xla_stream_annotation")
              .has_value();
}

bool CallInliner::ShouldInline(const CallGraph& call_graph,
                               HloInstruction* instruction) const {
  if (instruction->opcode() != HloOpcode::kCall ||
      instruction->parent()->IsAsyncComputation() ||
      !IsInlineableComputation(instruction->to_apply())) {
    return false;
  }
  if (instruction->is_composite()) {
    std::optional<std::string> composite =
        instruction->get_frontend_attribute("composite.name");
    if (composite.has_value() && composites_to_preserve_.contains(*composite)) {
      return false;
    }
  }
  InlineOverridePolicy policy =
      override_policy_.has_value()
          ? (*override_policy_)(call_graph, instruction)
          : InlineOverridePolicy::kAllowInline;
  if (!InlineInstructionAllowed(instruction, policy)) return false;
  return !options_.single_call_site ||
         call_graph.GetNode(instruction->to_apply())
                 .caller_callsites()
                 .size() == 1;
}

absl::Status CallInliner::CheckGrowth(const CallGraph& call_graph) const {
  absl::flat_hash_map<const HloComputation*, int64_t> sizes;
  int64_t total = 0;
  TF_RETURN_IF_ERROR(
      call_graph.VisitNodes([&](const CallGraphNode& node) -> absl::Status {
        int64_t size = node.computation()->instruction_count();
        for (const CallSite& site : node.callsites()) {
          if (!ShouldInline(call_graph, site.instruction())) continue;
          size += sizes[site.instruction()->to_apply()];
          size = std::min(size, options_.max_instructions + 1);
        }
        sizes[node.computation()] = size;
        total = std::min(total + size, options_.max_instructions + 1);
        return absl::OkStatus();
      }));
  // A callee that goes away is counted once too often, which errs on the side
  // of caution by less than the size of the module as it is.
  if (total > options_.max_instructions) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "inlining every call would make more than ", options_.max_instructions,
        " instructions; raise max-instructions or use single-call-site"));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CallInliner::RunWithInlineMap(
    HloModule* module, std::optional<InlinedInstructionMap*> inline_map,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::unique_ptr<CallGraph> call_graph =
      CallGraph::Build(module, execution_threads);
  TF_RETURN_IF_ERROR(CheckGrowth(*call_graph));
  absl::flat_hash_set<HloComputation*> inlined_callees;
  TF_ASSIGN_OR_RETURN(
      bool changed, call_graph->VisitNodesWithReturn(
                        [&](const CallGraphNode& node) -> absl::StatusOr<bool> {
                          bool node_changed = false;
                          for (const CallSite& site : node.callsites()) {
                            HloInstruction* call = site.instruction();
                            if (!ShouldInline(*call_graph, call)) continue;
                            inlined_callees.insert(call->to_apply());
                            TF_ASSIGN_OR_RETURN(
                                InlinedInstructionMap map,
                                Inline(call, options_.propagate_metadata));
                            if (inline_map.has_value()) {
                              (*inline_map)->insert(map.begin(), map.end());
                            }
                            node_changed = true;
                          }
                          return node_changed;
                        }));
  if (!changed) return false;
  // Callers before callees, so that each is free when its turn comes.
  std::vector<HloComputation*> order = module->MakeComputationPostOrder();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (inlined_callees.contains(*it) && (*it)->IsDeadComputation()) {
      TF_RETURN_IF_ERROR(module->RemoveEmbeddedComputation(*it));
    }
  }
  if (module->has_schedule()) {
    TF_RETURN_IF_ERROR(module->schedule().Update(execution_threads));
  }
  return true;
}

absl::StatusOr<bool> CallInliner::RunImpl(
    HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  return RunWithInlineMap(module, std::nullopt, execution_threads);
}

bool IsInlineableComputation(HloComputation* computation) {
  // What runs on another thread does not run where the call stands.
  return absl::c_all_of(computation->caller_instructions(HloOpcode::kCall),
                        [computation](const HloInstruction* call) {
                          return call->parent()->execution_thread() ==
                                 computation->execution_thread();
                        });
}

const HloInstruction* InlinedModule::get_inlined_inst(
    const HloInstruction* inst) {
  const HloInstruction* clone = clone_context->FindInstruction(inst);
  if (clone == nullptr) return nullptr;
  auto it = clone_inlined_map.find(const_cast<HloInstruction*>(clone));
  return it == clone_inlined_map.end() ? clone : it->second;
}

absl::StatusOr<InlinedModule> GetInlinedModule(const HloModule* module) {
  InlinedModule result;
  auto [clone, context] = module->CloneWithContext("inlined");
  result.module = std::move(clone);
  result.clone_context = std::move(context);
  CallInliner inliner;
  TF_RETURN_IF_ERROR(
      inliner
          .RunWithInlineMap(result.module.get(), &result.clone_inlined_map, {})
          .status());
  return result;
}

}  // namespace xla
