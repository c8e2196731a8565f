#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/verifier/invariant.h"
#include "xla/hlo/verifier/module_checks.h"
#include "xla/status_macros.h"

namespace xla::verifier {
namespace {

struct Node {
  const HloComputation* computation = nullptr;
  // Calls of this computation are callees[first_call, end_call).
  size_t first_call = 0;
  size_t end_call = 0;
  // Instructions that call it.
  int64_t callers = 0;
  const HloInstruction* last_caller = nullptr;
};

struct CallGraph {
  std::vector<Node> nodes;
  std::vector<std::pair<int32_t, const HloInstruction*>> calls;
  absl::flat_hash_map<const HloComputation*, int32_t> index;
};

// Asynchronous chains say themselves what thread they are on; reducers and the
// like are shared by all threads, unless `nested` ones are asked for, too.
bool CallsOnItsThread(HloOpcode opcode, bool nested) {
  if (nested) return !HloOpcodeIsAsync(opcode);
  return HloOpcodeIsOneOf<HloOpcode::kCall, HloOpcode::kConditional,
                          HloOpcode::kCustomCall, HloOpcode::kFusion,
                          HloOpcode::kWhile>(opcode);
}

absl::Status CheckThread(const HloInstruction& caller,
                         const HloComputation& callee, bool nested) {
  if (!CallsOnItsThread(caller.opcode(), nested) ||
      caller.parent()->execution_thread() == callee.execution_thread()) {
    return absl::OkStatus();
  }
  return Broken(
      Invariant::V22, caller,
      absl::StrCat("expected ", caller.parent()->execution_thread(), ", found ",
                   callee.execution_thread(), " for %", callee.name()));
}

absl::Status AddCalls(const HloModule& module, const HloVerifierOpts& opts,
                      const HloInstruction& inst, CallGraph& graph) {
  for (const HloComputation* callee : inst.called_computations()) {
    if (callee == nullptr) {
      return Broken(Invariant::V11, inst, "a called computation");
    }
    const auto found = graph.index.find(callee);
    if (found == graph.index.end()) {
      return Broken(Invariant::V18, inst, "a called computation is elsewhere");
    }
    Node& node = graph.nodes[found->second];
    if (node.last_caller != &inst) ++node.callers;
    node.last_caller = &inst;
    graph.calls.push_back({found->second, &inst});
    absl::Status status = CheckThread(
        inst, *callee, opts.verify_call_nested_computation_thread_name);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Much more than any program nests its calls; passes and analyses recurse along
// calls, or take time and memory for each level.
constexpr int kMaxCallDepth = 500;

// Depth first along calls: they neither return to where they come from nor
// nest too deeply.
absl::Status CheckNoRecursion(const CallGraph& graph) {
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(graph.nodes.size(), State::kNew);
  // Levels of calls below a computation.
  std::vector<int> levels(graph.nodes.size(), 0);
  std::vector<std::pair<int32_t, size_t>> stack;
  for (size_t start = 0; start < graph.nodes.size(); ++start) {
    if (states[start] != State::kNew) continue;
    states[start] = State::kOpen;
    stack.push_back(
        {static_cast<int32_t>(start), graph.nodes[start].first_call});
    while (!stack.empty()) {
      auto& [node, call] = stack.back();
      if (call == graph.nodes[node].end_call) {
        states[node] = State::kDone;
        const int level = levels[node] + 1;
        if (level > kMaxCallDepth) {
          return Broken(Invariant::V48, *graph.nodes[node].computation,
                        absl::StrCat("calls below it nest more than ",
                                     kMaxCallDepth, " levels deep"));
        }
        stack.pop_back();
        if (!stack.empty()) {
          int& caller = levels[stack.back().first];
          caller = std::max(caller, level);
        }
        continue;
      }
      const auto [callee, inst] = graph.calls[call++];
      if (states[callee] == State::kOpen) {
        return Broken(
            Invariant::V20, *inst,
            absl::StrCat("calls %", graph.nodes[callee].computation->name(),
                         ", which leads here"));
      }
      levels[node] = std::max(levels[node], levels[callee] + 1);
      if (states[callee] == State::kNew) {
        states[callee] = State::kOpen;
        stack.push_back({callee, graph.nodes[callee].first_call});
      }
    }
  }
  return absl::OkStatus();
}

// What asynchronous chains run, nothing else calls.
absl::Status CheckOnlyChainsCall(const HloComputation& computation,
                                 absl::Span<HloInstruction* const> callers) {
  const auto start =
      absl::c_find_if(callers, HloPredicateIsOp<HloOpcode::kAsyncStart>);
  if (start == callers.end()) return absl::OkStatus();
  for (const HloInstruction* caller : callers) {
    if (HloOpcodeIsAsync(caller->opcode())) continue;
    return Broken(Invariant::V137, **start,
                  absl::StrCat("%", caller->name(), " calls %",
                               computation.name(), " as well"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckCalls(const HloModule& module, const HloVerifierOpts& opts) {
  CallGraph graph;
  graph.nodes.reserve(module.computation_count());
  graph.index.reserve(module.computation_count());
  for (const HloComputation* computation : module.computations()) {
    graph.index[computation] = static_cast<int32_t>(graph.nodes.size());
    graph.nodes.push_back({computation});
  }
  for (Node& node : graph.nodes) {
    node.first_call = graph.calls.size();
    for (const HloInstruction* inst : node.computation->instructions()) {
      if (!inst->has_called_computations()) continue;
      absl::Status status = AddCalls(module, opts, *inst, graph);
      if (!status.ok()) return status;
    }
    node.end_call = graph.calls.size();
  }
  for (const Node& node : graph.nodes) {
    const auto callers = node.computation->caller_instructions();
    const int64_t listed = static_cast<int64_t>(callers.size());
    if (listed != node.callers) {
      return Broken(
          Invariant::V21, *node.computation,
          absl::StrCat("expected ", node.callers, ", found ", listed));
    }
    TF_RETURN_IF_ERROR(CheckOnlyChainsCall(*node.computation, callers));
  }
  return CheckNoRecursion(graph);
}

}  // namespace xla::verifier
