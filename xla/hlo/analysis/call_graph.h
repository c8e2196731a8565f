#ifndef XLA_HLO_ANALYSIS_CALL_GRAPH_H_
#define XLA_HLO_ANALYSIS_CALL_GRAPH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"

namespace xla {

// An instruction that calls computations.
class CallSite {
 public:
  CallSite(HloInstruction* instruction,
           absl::Span<HloComputation* const> called_computations,
           CallContext context)
      : instruction_(instruction),
        called_computations_(
            std::make_shared<const std::vector<HloComputation*>>(
                called_computations.begin(), called_computations.end())),
        context_(context) {}

  HloInstruction* instruction() const { return instruction_; }
  absl::Span<HloComputation* const> called_computations() const {
    return *called_computations_;
  }
  CallContext context() const { return context_; }

  std::string ToString() const;

 private:
  HloInstruction* instruction_;
  // Shared by the copies that the branches of a conditional keep.
  std::shared_ptr<const std::vector<HloComputation*>> called_computations_;
  CallContext context_;
};

// A computation with its calls and callers.
class CallGraphNode {
 public:
  explicit CallGraphNode(HloComputation* computation)
      : computation_(computation) {}
  CallGraphNode(const CallGraphNode&) = delete;
  CallGraphNode& operator=(const CallGraphNode&) = delete;
  CallGraphNode(CallGraphNode&&) = default;
  CallGraphNode& operator=(CallGraphNode&&) = default;

  HloComputation* computation() const { return computation_; }

  // Call sites in this computation, in the order of its instructions.
  absl::Span<const CallSite> callsites() const { return callsites_; }
  // The call site of an instruction of this computation, or null.
  const CallSite* GetCallSite(const HloInstruction* instruction) const;

  // Called computations, each once, in the order of first call.
  absl::Span<HloComputation* const> callees() const { return callees_; }

  // Call sites elsewhere that call this computation.
  absl::Span<const CallSite> caller_callsites() const {
    return caller_callsites_;
  }
  // The computations these stand in, each once.
  absl::Span<HloComputation* const> callers() const { return callers_; }

  CallContext context() const { return context_; }

  // Length of the longest call chain from a computation without callers.
  int depth() const { return depth_; }

  absl::string_view ToString() const { return computation_->name(); }

 private:
  friend class CallGraph;

  HloComputation* computation_;
  std::vector<HloComputation*> callees_;
  std::vector<HloComputation*> callers_;
  std::vector<CallSite> callsites_;
  absl::flat_hash_map<const HloInstruction*, int> callsite_of_;
  std::vector<CallSite> caller_callsites_;
  CallContext context_ = CallContext::kNone;
  int depth_ = 0;
};

// Which computation calls which. A snapshot: later rewrites are not reflected.
//
//   ENTRY main { … while(x), condition=cond, body=a … }
//   → nodes main (depth 0), cond, a (depth 1), control flow
//
// Build is O(instructions + calls); no query recurses.
class CallGraph {
 public:
  using VisitorFunction = std::function<absl::Status(const CallGraphNode&)>;
  using ChangedVisitorFunction =
      std::function<absl::StatusOr<bool>(const CallGraphNode&)>;

  // Covers the computations of `execution_threads` (empty: all).
  static std::unique_ptr<CallGraph> Build(
      const HloModule* module,
      const absl::flat_hash_set<absl::string_view>& execution_threads = {});

  // The computation must belong to the module and to the threads covered.
  const CallGraphNode& GetNode(const HloComputation* computation) const;
  CallGraphNode& GetNode(const HloComputation* computation);

  // In the module's order of computations.
  const std::vector<CallGraphNode>& nodes() const { return nodes_; }

  // Visits callees before callers, each node once; those that the entry does
  // not reach come last, if at all. The first error ends the visit.
  absl::Status VisitNodes(VisitorFunction visitor_func,
                          bool visit_unreachable_nodes = true) const;
  // The same; returns whether any visit returned true.
  absl::StatusOr<bool> VisitNodesWithReturn(
      ChangedVisitorFunction visitor_func,
      bool visit_unreachable_nodes = true) const;

  // Whether every call chain to `b` passes through `a`. O(V + E).
  bool Dominates(const HloComputation* a, const HloComputation* b) const;

  // Whether `a` calls `b`, directly or through others; a reaches a. O(V + E).
  bool CanReach(const HloComputation* a, const HloComputation* b) const;

  // Whether `instruction` is in `computation`, or called only from there.
  bool InstructionIsNestedIn(const HloInstruction* instruction,
                             const HloComputation* computation) const {
    return Dominates(computation, instruction->parent());
  }

  // Walks up the call sites of `a` and `b` to two instructions of one
  // computation; `a` or `b` themselves if they are already in it. Null and null
  // if a computation on the way has no caller or several (an async computation
  // takes its first).
  std::pair<HloInstruction*, HloInstruction*> NearestAncestorsInSameComputation(
      HloInstruction* a, HloInstruction* b) const;

  // The nearest common ancestors of `instructions` along users and, from roots,
  // call sites; those among `instructions` themselves if there are any.
  absl::flat_hash_set<const HloInstruction*> NearestCommonAncestorInstructions(
      std::vector<const HloInstruction*> instructions);

  // The same for computations, along callers.
  absl::flat_hash_set<const HloComputation*> NearestCommonAncestorComputations(
      std::vector<const HloComputation*> computations);

  // Whether no computation is both embedded and control flow, and those of
  // control flow have a single caller (async computations may have more).
  bool IsFlattened() const;

  // Whether bodies, conditions and branches of whiles and conditionals are all
  // distinct and have no other callers.
  bool IsFlatOnControlFlow() const;

  // The instructions that call `c`.
  std::vector<HloInstruction*> GetComputationCallers(
      const HloComputation* c) const;

  std::string ToString() const;

 private:
  explicit CallGraph(const HloModule* module) : module_(module) {}

  void AddNodes(
      const absl::flat_hash_set<absl::string_view>& execution_threads);
  void AddEdges();
  void SetContextsAndDepths();

  // Indices of nodes, callees first.
  std::vector<int> PostOrder(bool with_unreachable_nodes) const;

  int IndexOf(const HloComputation* computation) const;

  // The one call site of a computation, or null; see
  // NearestAncestorsInSameComputation.
  HloInstruction* UniqueCaller(const HloComputation* computation) const;

  const HloModule* module_;
  std::vector<CallGraphNode> nodes_;
  absl::flat_hash_map<const HloComputation*, int> index_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_CALL_GRAPH_H_
