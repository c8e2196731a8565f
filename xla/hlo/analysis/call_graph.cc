#include "xla/hlo/analysis/call_graph.h"

#include <algorithm>
#include <deque>

#include "absl/algorithm/container.h"
#include "absl/log/check.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace xla {
namespace {

CallContext UnionContexts(CallContext a, CallContext b) {
  if (a == CallContext::kNone) return b;
  if (b == CallContext::kNone || a == b) return a;
  return CallContext::kBoth;
}

// Puts instructions of one computation in its order, each once.
void SortByPosition(std::vector<HloInstruction*>& instructions) {
  if (instructions.size() < 2) return;
  std::sort(instructions.begin(), instructions.end(),
            [](const HloInstruction* a, const HloInstruction* b) {
              return a->local_id() < b->local_id();
            });
  instructions.erase(std::unique(instructions.begin(), instructions.end()),
                     instructions.end());
}

// Grows a ball around each start, one step of `next` a round, until the balls
// have nodes in common; those nodes, or the starts among them.
//
// A breadth-first search from all starts in lockstep. The first round in which
// some node has been reached from every start yields the nearest common nodes.
template <typename T, typename NextFn>
absl::flat_hash_set<const T*> NearestCommon(const std::vector<const T*>& starts,
                                            NextFn next) {
  absl::flat_hash_set<const T*> distinct(starts.begin(), starts.end());
  std::vector<const T*> centers(distinct.begin(), distinct.end());
  if (centers.empty()) return {};
  std::vector<absl::flat_hash_set<const T*>> balls(centers.size());
  std::vector<std::vector<const T*>> rims(centers.size());
  absl::flat_hash_map<const T*, size_t> reached_by;
  std::vector<const T*> common;
  auto reach = [&](size_t i, const T* node) {
    if (!balls[i].insert(node).second) return;
    rims[i].push_back(node);
    if (++reached_by[node] == centers.size()) common.push_back(node);
  };
  for (size_t i = 0; i < centers.size(); ++i) reach(i, centers[i]);
  bool grew = true;
  while (common.empty() && grew) {
    grew = false;
    for (size_t i = 0; i < centers.size(); ++i) {
      std::vector<const T*> rim = std::move(rims[i]);
      rims[i].clear();
      for (const T* node : rim) {
        next(node, [&](const T* neighbor) { reach(i, neighbor); });
      }
      grew |= !rims[i].empty();
    }
  }
  absl::flat_hash_set<const T*> result;
  for (const T* node : common) {
    if (distinct.contains(node)) result.insert(node);
  }
  if (result.empty()) result.insert(common.begin(), common.end());
  return result;
}

}  // namespace

std::string CallSite::ToString() const {
  return absl::StrCat(
      instruction_->name(), " calls ",
      absl::StrJoin(called_computations(), ", ",
                    [](std::string* out, const HloComputation* computation) {
                      absl::StrAppend(out, computation->name());
                    }),
      ", ", CallContextToString(context_));
}

const CallSite* CallGraphNode::GetCallSite(
    const HloInstruction* instruction) const {
  auto it = callsite_of_.find(instruction);
  return it == callsite_of_.end() ? nullptr : &callsites_[it->second];
}

std::unique_ptr<CallGraph> CallGraph::Build(
    const HloModule* module,
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  std::unique_ptr<CallGraph> graph(new CallGraph(module));
  graph->AddNodes(execution_threads);
  graph->AddEdges();
  graph->SetContextsAndDepths();
  return graph;
}

void CallGraph::AddNodes(
    const absl::flat_hash_set<absl::string_view>& execution_threads) {
  nodes_.reserve(module_->computation_count());
  index_.reserve(module_->computation_count());
  for (HloComputation* computation : module_->computations()) {
    if (!execution_threads.empty() &&
        !execution_threads.contains(computation->execution_thread())) {
      continue;
    }
    index_[computation] = static_cast<int>(nodes_.size());
    nodes_.emplace_back(computation);
  }
}

void CallGraph::AddEdges() {
  // Computations know who calls them, so that only instructions that call are
  // looked at, which are few.
  std::vector<std::vector<HloInstruction*>> calls(nodes_.size());
  for (const CallGraphNode& node : nodes_) {
    for (HloInstruction* caller : node.computation_->caller_instructions()) {
      auto it = index_.find(caller->parent());
      if (it != index_.end()) calls[it->second].push_back(caller);
    }
  }
  // By callee: the node and the site that called it last.
  std::vector<std::pair<int, int>> last_call(nodes_.size(), {-1, -1});
  for (size_t i = 0; i < nodes_.size(); ++i) {
    CallGraphNode& node = nodes_[i];
    SortByPosition(calls[i]);
    node.callsites_.reserve(calls[i].size());
    node.callsite_of_.reserve(calls[i].size());
    for (HloInstruction* inst : calls[i]) {
      absl::InlinedVector<HloComputation*, 2> callees;
      for (HloComputation* callee : inst->called_computations()) {
        if (index_.contains(callee)) callees.push_back(callee);
      }
      CallContext context = GetInstructionCallContext(inst->opcode());
      if (context == CallContext::kNone) context = CallContext::kEmbedded;
      const int site = static_cast<int>(node.callsites_.size());
      node.callsite_of_[inst] = site;
      node.callsites_.emplace_back(inst, callees, context);
      for (HloComputation* callee : callees) {
        const int index = IndexOf(callee);
        auto& [last_node, last_site] = last_call[index];
        if (last_node != static_cast<int>(i)) {
          node.callees_.push_back(callee);
          nodes_[index].callers_.push_back(node.computation_);
        } else if (last_site == site) {
          // A site that calls the same computation twice is one caller of it.
          continue;
        }
        nodes_[index].caller_callsites_.push_back(node.callsites_.back());
        last_call[index] = {static_cast<int>(i), site};
      }
    }
  }
  // What runs asynchronously runs from its start on: it is the caller that
  // stands for all links, wherever these are.
  for (CallGraphNode& node : nodes_) {
    if (!node.computation_->IsAsyncComputation()) continue;
    auto& sites = node.caller_callsites_;
    auto start = absl::c_find_if(sites, [](const CallSite& site) {
      return site.instruction()->opcode() == HloOpcode::kAsyncStart;
    });
    if (start != sites.end()) std::rotate(sites.begin(), start, start + 1);
  }
}

// One pass in reverse post order: the context of a computation is the union
// over its call sites, where a call in an embedded computation is embedded as
// well; its depth is the longest chain of calls from a computation without
// callers.
void CallGraph::SetContextsAndDepths() {
  std::vector<int> order = PostOrder(/*with_unreachable_nodes=*/true);
  // Callers first: all that is known of a node comes from them.
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    CallGraphNode& node = nodes_[*it];
    if (node.caller_callsites_.empty()) {
      node.context_ = CallContext::kControlFlow;
      continue;
    }
    for (const CallSite& site : node.caller_callsites_) {
      const CallGraphNode& caller = GetNode(site.instruction()->parent());
      node.depth_ = std::max(node.depth_, caller.depth_ + 1);
      node.context_ =
          UnionContexts(node.context_, site.context() == CallContext::kEmbedded
                                           ? CallContext::kEmbedded
                                           : caller.context_);
    }
  }
}

std::vector<int> CallGraph::PostOrder(bool with_unreachable_nodes) const {
  std::vector<int> order;
  order.reserve(nodes_.size());
  std::vector<bool> visited(nodes_.size(), false);
  // Nodes that are being visited, each with its next callee.
  std::vector<std::pair<int, size_t>> stack;
  auto visit_from = [&](int root) {
    if (visited[root]) return;
    visited[root] = true;
    stack.emplace_back(root, 0);
    while (!stack.empty()) {
      auto& [index, next] = stack.back();
      const std::vector<HloComputation*>& callees = nodes_[index].callees_;
      if (next == callees.size()) {
        order.push_back(index);
        stack.pop_back();
        continue;
      }
      int callee = IndexOf(callees[next++]);
      if (!visited[callee]) {
        visited[callee] = true;
        stack.emplace_back(callee, 0);
      }
    }
  };
  if (module_->has_entry_computation()) {
    auto entry = index_.find(module_->entry_computation());
    if (entry != index_.end()) visit_from(entry->second);
  }
  if (with_unreachable_nodes) {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].callers_.empty()) visit_from(static_cast<int>(i));
    }
    // Left are calls in a circle, which a verified module does not have.
    for (size_t i = 0; i < nodes_.size(); ++i) visit_from(static_cast<int>(i));
  }
  return order;
}

int CallGraph::IndexOf(const HloComputation* computation) const {
  auto it = index_.find(computation);
  CHECK(it != index_.end())
      << "not in this call graph: " << computation->name();
  return it->second;
}

const CallGraphNode& CallGraph::GetNode(
    const HloComputation* computation) const {
  return nodes_[IndexOf(computation)];
}

CallGraphNode& CallGraph::GetNode(const HloComputation* computation) {
  return nodes_[IndexOf(computation)];
}

absl::Status CallGraph::VisitNodes(VisitorFunction visitor_func,
                                   bool visit_unreachable_nodes) const {
  for (int index : PostOrder(visit_unreachable_nodes)) {
    absl::Status status = visitor_func(nodes_[index]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CallGraph::VisitNodesWithReturn(
    ChangedVisitorFunction visitor_func, bool visit_unreachable_nodes) const {
  bool any = false;
  for (int index : PostOrder(visit_unreachable_nodes)) {
    absl::StatusOr<bool> result = visitor_func(nodes_[index]);
    if (!result.ok()) return result.status();
    any |= *result;
  }
  return any;
}

// Walks from b towards its callers without passing a: if that reaches a
// computation without callers, some execution reaches b without a. Linear in
// the call graph.
bool CallGraph::Dominates(const HloComputation* a,
                          const HloComputation* b) const {
  if (a == b) return true;
  std::vector<const HloComputation*> work = {b};
  absl::flat_hash_set<const HloComputation*> seen = {b};
  while (!work.empty()) {
    const CallGraphNode& node = GetNode(work.back());
    work.pop_back();
    if (node.callers().empty()) return false;
    for (const HloComputation* caller : node.callers()) {
      if (caller != a && seen.insert(caller).second) work.push_back(caller);
    }
  }
  return true;
}

bool CallGraph::CanReach(const HloComputation* a,
                         const HloComputation* b) const {
  if (a == b) return true;
  std::vector<const HloComputation*> work = {a};
  absl::flat_hash_set<const HloComputation*> seen = {a};
  while (!work.empty()) {
    const CallGraphNode& node = GetNode(work.back());
    work.pop_back();
    for (const HloComputation* callee : node.callees()) {
      if (callee == b) return true;
      if (seen.insert(callee).second) work.push_back(callee);
    }
  }
  return false;
}

HloInstruction* CallGraph::UniqueCaller(
    const HloComputation* computation) const {
  const CallGraphNode& node = GetNode(computation);
  if (node.caller_callsites().empty()) return nullptr;
  if (node.caller_callsites().size() > 1 &&
      !computation->IsAsyncComputation()) {
    return nullptr;
  }
  return node.caller_callsites()[0].instruction();
}

std::pair<HloInstruction*, HloInstruction*>
CallGraph::NearestAncestorsInSameComputation(HloInstruction* a,
                                             HloInstruction* b) const {
  // The deeper one goes up: a computation that holds both is less deep than
  // either and so is never passed.
  while (a->parent() != b->parent()) {
    HloInstruction*& deeper =
        GetNode(a->parent()).depth() >= GetNode(b->parent()).depth() ? a : b;
    deeper = UniqueCaller(deeper->parent());
    if (deeper == nullptr) return {nullptr, nullptr};
  }
  return {a, b};
}

absl::flat_hash_set<const HloInstruction*>
CallGraph::NearestCommonAncestorInstructions(
    std::vector<const HloInstruction*> instructions) {
  return NearestCommon<HloInstruction>(
      instructions, [this](const HloInstruction* inst, auto reach) {
        for (const HloInstruction* user : inst->users()) reach(user);
        if (!inst->IsRoot()) return;
        for (const CallSite& site :
             GetNode(inst->parent()).caller_callsites()) {
          reach(site.instruction());
        }
      });
}

absl::flat_hash_set<const HloComputation*>
CallGraph::NearestCommonAncestorComputations(
    std::vector<const HloComputation*> computations) {
  return NearestCommon<HloComputation>(
      computations, [this](const HloComputation* computation, auto reach) {
        for (const HloComputation* caller : GetNode(computation).callers()) {
          reach(caller);
        }
      });
}

bool CallGraph::IsFlattened() const {
  return std::all_of(nodes_.begin(), nodes_.end(),
                     [](const CallGraphNode& node) {
                       if (node.context() == CallContext::kBoth) return false;
                       return node.context() != CallContext::kControlFlow ||
                              node.caller_callsites().size() <= 1 ||
                              node.computation()->IsAsyncComputation();
                     });
}

bool CallGraph::IsFlatOnControlFlow() const {
  for (const CallGraphNode& node : nodes_) {
    for (const CallSite& site : node.callsites()) {
      HloOpcode opcode = site.instruction()->opcode();
      if (opcode != HloOpcode::kWhile && opcode != HloOpcode::kConditional) {
        continue;
      }
      absl::flat_hash_set<HloComputation*> distinct;
      for (HloComputation* callee : site.called_computations()) {
        if (!distinct.insert(callee).second ||
            GetNode(callee).caller_callsites().size() != 1) {
          return false;
        }
      }
    }
  }
  return true;
}

std::vector<HloInstruction*> CallGraph::GetComputationCallers(
    const HloComputation* c) const {
  std::vector<HloInstruction*> callers;
  for (const CallSite& site : GetNode(c).caller_callsites()) {
    callers.push_back(site.instruction());
  }
  return callers;
}

std::string CallGraph::ToString() const {
  std::string out = absl::StrCat("call graph of ", module_->name(), ":\n");
  for (const CallGraphNode& node : nodes_) {
    absl::StrAppend(&out, "  ", node.ToString(), ", depth ", node.depth(), ", ",
                    CallContextToString(node.context()), "\n");
    for (const CallSite& site : node.callsites()) {
      absl::StrAppend(&out, "    ", site.ToString(), "\n");
    }
  }
  return out;
}

}  // namespace xla
