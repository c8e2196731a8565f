#include "xla/hlo/transforms/simplifiers/call_inliner.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/ir/stack_frames.h"
#include "xla/hlo/utils/manual_region.h"
#include "xla/shape_util.h"
#include "xla/status_macros.h"
#include "xla/xla_data.pb.h"

namespace xla {
namespace {

// Whether a call is to be inlined: "true", "false", or by whom.
constexpr char kInlineable[] = "inlineable";

// Shardy takes these apart itself.
bool IsManualBody(const HloComputation& callee) {
  return absl::StrContains(callee.name(), "shmap_body") ||
         absl::StrContains(callee.name(), "xla.sdy.manual_computation_body");
}

// Attributes that speak of the call and not of what it computes.
bool IsOfTheCallAlone(absl::string_view key) {
  return key == kInlineable || absl::StartsWith(key, "xla.sdy.") ||
         absl::StartsWith(key, "composite.");
}

// Copies the call's frontend attributes to an inlined instruction; the
// instruction's own ones take precedence.
void AddFrontendAttributes(const HloInstruction& call,
                           HloInstruction* inlined) {
  if (!call.has_frontend_attributes()) return;
  FrontendAttributes added;
  for (const auto& [key, value] : call.frontend_attributes().map()) {
    if (IsOfTheCallAlone(key)) continue;
    if (!inlined->get_frontend_attribute(key).has_value()) {
      (*added.mutable_map())[key] = value;
    }
  }
  if (!added.map().empty()) inlined->add_frontend_attributes(std::move(added));
}

// Puts the call's op_name before that of an inlined instruction, and its stack
// around its stack.
void AddPlaceOfCall(const HloInstruction& call, HloInstruction* inlined) {
  OpMetadata metadata = inlined->metadata();
  const std::string& prefix = call.metadata().op_name();
  const std::string& name = metadata.op_name();
  if (!prefix.empty() && !absl::StartsWith(name, prefix) &&
      prefix.size() + 1 + name.size() <= CallInliner::kMaxOpNameSize) {
    metadata.set_op_name(name.empty() ? prefix
                                      : absl::StrCat(prefix, "/", name));
  }
  const StackFrameId outer{call.metadata().stack_frame_id()};
  if (outer.valid()) {
    metadata.set_stack_frame_id(
        call.GetModule()
            ->mutable_stack_frames()
            .Concatenate(outer, StackFrameId{metadata.stack_frame_id()})
            .value);
  }
  inlined->set_metadata(metadata);
}

// The same for the bodies of loops and branches that nothing else calls: their
// callers are `original`, of the callee, and the inlined copy.
void AddPlaceOfCallInside(const HloInstruction& call,
                          const HloInstruction& original) {
  if (call.to_apply()->caller_instructions().size() != 1 ||
      (original.opcode() != HloOpcode::kWhile &&
       original.opcode() != HloOpcode::kConditional)) {
    return;
  }
  std::vector<HloComputation*> work(original.called_computations().begin(),
                                    original.called_computations().end());
  absl::flat_hash_set<HloComputation*> seen(work.begin(), work.end());
  while (!work.empty()) {
    HloComputation* computation = work.back();
    work.pop_back();
    for (HloInstruction* inst : computation->instructions()) {
      AddPlaceOfCall(call, inst);
      if (inst->opcode() != HloOpcode::kWhile &&
          inst->opcode() != HloOpcode::kConditional) {
        continue;
      }
      for (HloComputation* callee : inst->called_computations()) {
        if (callee->caller_instructions().size() == 1 &&
            seen.insert(callee).second) {
          work.push_back(callee);
        }
      }
    }
  }
}

// Takes away what only the call read, as long as it does nothing else. Entries
// of the map that stood for it go too.
absl::Status RemoveUnread(HloComputation* computation,
                          const std::vector<HloInstruction*>& candidates,
                          CallInliner::InlinedInstructionMap& map) {
  absl::flat_hash_set<HloInstruction*> removed;
  for (HloInstruction* inst : candidates) {
    if (removed.contains(inst) || inst->opcode() == HloOpcode::kParameter ||
        inst->has_called_computations() || !inst->IsDead() ||
        inst->HasSideEffect() || inst->HasControlDependencies() ||
        // What it ends would be left without an end.
        inst->IsAsyncDone()) {
      continue;
    }
    removed.insert(inst);
    TF_RETURN_IF_ERROR(computation->RemoveInstruction(inst));
  }
  if (removed.empty()) return absl::OkStatus();
  absl::erase_if(
      map, [&](const auto& entry) { return removed.contains(entry.second); });
  return absl::OkStatus();
}

// Whether nothing else of the callee comes after it.
bool IsLast(const HloInstruction& inst) {
  return inst.control_successors().empty() && inst.user_count() == 0;
}

// Moves control dependencies of the call to the body: predecessors before it,
// successors after it.
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
      TF_RETURN_IF_ERROR(predecessor->AddControlDependencyTo(inlined));
    }
    for (HloInstruction* successor : after) {
      if (!IsLast(*inst) && !inst->IsRoot()) break;
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

bool IsLoopOrBranch(const HloComputation& computation) {
  return absl::c_any_of(
      computation.caller_instructions(),
      HloPredicateIsOp<HloOpcode::kWhile, HloOpcode::kConditional>);
}

// What stands for the call: sharded as the call if nothing else says how. The
// loop or conditional that a call is the root of may be sharded otherwise than
// the result of the callee.
HloInstruction* ShardedAsCall(const HloInstruction& call,
                              HloInstruction* result) {
  // Operands of the call are the caller's, and loops and conditionals are
  // sharded as what they call.
  if (call.has_sharding() && !result->has_sharding() &&
      call.to_apply()->root_instruction()->opcode() != HloOpcode::kParameter &&
      HloPredicateIsNotOp<HloOpcode::kWhile, HloOpcode::kConditional>(result)) {
    result->copy_sharding(&call);
  }
  if (!call.IsRoot() || !result->has_sharding() ||
      (call.has_sharding() && call.sharding() == result->sharding()) ||
      !IsLoopOrBranch(*call.parent())) {
    return result;
  }
  if (ShapeUtil::HasPrimitiveType(result->shape(), BUFFER)) {
    result->clear_sharding();  // Buffers cannot be copied.
    return result;
  }
  HloInstruction* copy = result->parent()->AddInstruction(
      HloInstruction::CreateUnary(result->shape(), HloOpcode::kCopy, result));
  if (call.has_sharding()) copy->copy_sharding(&call);
  return copy;
}

// A manual region takes the tiles of its operand from that one's sharding:
// where `value` stands for the operand `from`, says that it is sharded alike.
HloInstruction* ShardedForRegion(const HloInstruction& region,
                                 const HloInstruction& from,
                                 HloInstruction* value) {
  if (!EntersManualRegion(region) || !from.has_sharding() ||
      (value->has_sharding() && value->sharding() == from.sharding())) {
    return value;
  }
  HloInstruction* annotation = value->parent()->AddInstruction(
      HloInstruction::CreateCustomCall(value->shape(), {value}, "Sharding"));
  annotation->copy_sharding(&from);
  return annotation;
}

}  // namespace

absl::StatusOr<CallInliner::InlinedInstructionMap> CallInliner::Inline(
    HloInstruction* call, bool propagate_metadata) {
  TF_RET_CHECK(call->opcode() == HloOpcode::kCall)
      << call->name() << " is not a call";
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
      operands.push_back(ShardedForRegion(*inst, *operand, map.at(operand)));
    }
    HloInstruction* inlined = caller->AddInstruction(
        inst->CloneWithNewOperands(inst->shape(), operands), inst->name());
    AddFrontendAttributes(*call, inlined);
    if (propagate_metadata) {
      AddPlaceOfCall(*call, inlined);
      AddPlaceOfCallInside(*call, *inst);
    }
    for (HloInstruction* predecessor : inst->control_predecessors()) {
      auto it = map.find(predecessor);
      if (it == map.end() || it->second == inlined) continue;
      TF_RETURN_IF_ERROR(it->second->AddControlDependencyTo(inlined));
    }
    map[inst] = inlined;
  }
  TF_RETURN_IF_ERROR(RelayControlDependencies(call, body, map));
  HloInstruction* result =
      ShardedAsCall(*call, map.at(callee->root_instruction()));
  const std::vector<HloInstruction*> operands(call->operands().begin(),
                                              call->operands().end());
  const std::vector<HloInstruction*> users(call->users().begin(),
                                           call->users().end());
  for (HloInstruction* user : users) {
    HloInstruction* value = ShardedForRegion(*user, *call, result);
    if (value != result) {
      TF_RETURN_IF_ERROR(call->ReplaceUseWith(user, value));
    }
  }
  TF_RETURN_IF_ERROR(call->ReplaceAllUsesWith(result));
  TF_RETURN_IF_ERROR(caller->ForceRemoveInstruction(call));
  TF_RETURN_IF_ERROR(RemoveUnread(caller, operands, map));
  return map;
}

CallInliner::FrontendInlinePolicy CallInliner::GetFrontendInlinePolicy(
    const HloInstruction* instruction) {
  const std::optional<std::string> policy =
      instruction->get_frontend_attribute(kInlineable);
  if (policy == "xla_early") return FrontendInlinePolicy::kXlaEarly;
  if (policy == "xla_late") return FrontendInlinePolicy::kXlaLate;
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
  return instruction->get_frontend_attribute(kInlineable) != "false" &&
         GetFrontendInlinePolicy(instruction) !=
             FrontendInlinePolicy::kXlaLate &&
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
  // A backend config is meant for a call.
  if (instruction->has_backend_config()) return false;
  if (instruction->GetModule()->config().use_shardy_partitioner() &&
      IsManualBody(*instruction->to_apply())) {
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

// Nested calls can make the inlined module exponentially larger. Sizes after
// inlining are computed bottom-up over the call graph, capped to avoid
// overflow, before anything is changed: a pass that fails leaves the module as
// it was.
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
  // Code of another thread is not executed at the place of the call.
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
