#include "xla/hlo/transforms/copies/copy_order.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_alias_analysis.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/transforms/copies/execution_line.h"
#include "xla/status_macros.h"

namespace xla {
namespace {

// By instruction, those that should wait for it.
using Wishes =
    absl::flat_hash_map<const HloInstruction*, std::vector<HloInstruction*>>;
// For a value with very many readers and writers the order is left to chance.
constexpr size_t kMaxWishesOfAValue = 4096;

// A matrix that is larger fits into no cache.
constexpr size_t kMaxMatrixBytes = size_t{16} << 20;

// Built at first sight.
class Reachability {
 public:
  bool IsReachable(const HloInstruction* a, const HloInstruction* b) {
    std::unique_ptr<HloReachabilityMap>& map = maps_[a->parent()];
    if (map == nullptr) {
      map = HloReachabilityMap::Build(a->parent(), kMaxMatrixBytes);
    }
    return map->IsReachable(a, b);
  }

 private:
  absl::flat_hash_map<const HloComputation*,
                      std::unique_ptr<HloReachabilityMap>>
      maps_;
};

// The instruction of `computation` that is `inst` or calls it; null if none
// does.
HloInstruction* LiftedTo(const HloComputation* computation,
                         HloInstruction* inst, const CallGraph& graph) {
  while (inst->parent() != computation) {
    const auto callers = graph.GetNode(inst->parent()).caller_callsites();
    if (callers.empty()) return nullptr;
    inst = callers[0].instruction();
  }
  return inst;
}

class WishFinder {
 public:
  WishFinder(const HloDataflowAnalysis& dataflow, const CopySites& sites)
      : dataflow_(dataflow), sites_(sites) {}

  Wishes Find() {
    for (const CopySite& site : sites_.sites) {
      if (site.kind != CopySite::Kind::kOperand &&
          site.kind != CopySite::Kind::kExisting) {
        continue;
      }
      Add(dataflow_.GetValue(site.source), site.instruction);
    }
    // The state of a body, or an aliased parameter, is overwritten by what
    // defines the result in its place.
    for (const auto& [node, next] : OverwrittenByResults()) {
      Add(*node, next);
    }
    return std::move(wishes_);
  }

 private:
  // Values of parameters, with what makes the results that take their place.
  std::vector<std::pair<const HloValue*, HloInstruction*>>
  OverwrittenByResults() const {
    // Both sides of a parameter and a result meet at one node.
    absl::flat_hash_map<int32_t, int32_t> anchors;
    for (const auto& [site, node] : sites_.united) anchors[site] = node;
    absl::flat_hash_map<std::pair<const HloComputation*, int32_t>,
                        const HloValue*>
        parameters;
    for (size_t i = 0; i < sites_.sites.size(); ++i) {
      const CopySite& site = sites_.sites[i];
      if (site.kind != CopySite::Kind::kParameter) continue;
      auto anchor = anchors.find(site.source);
      const int32_t node =
          anchor == anchors.end() ? site.source : anchor->second;
      parameters[{site.computation, node}] = &dataflow_.GetValue(site.copy);
    }
    std::vector<std::pair<const HloValue*, HloInstruction*>> found;
    for (const CopySite& site : sites_.sites) {
      if (site.kind != CopySite::Kind::kResult && !site.is_in_state) continue;
      auto parameter =
          parameters.find({site.computation, anchors.at(site.copy)});
      if (parameter == parameters.end()) continue;
      found.emplace_back(
          parameter->second,
          dataflow_.GetValue(site.source).defining_instruction());
    }
    return found;
  }

  void Add(const HloValue& value, HloInstruction* writer) {
    size_t& count = counts_[&value];
    const CallGraph& graph = dataflow_.call_graph();
    HloInstruction* top = writer;
    // What overwrites a parameter may be called by its computation.
    if (value.defining_instruction()->opcode() == HloOpcode::kParameter) {
      top = LiftedTo(value.defining_instruction()->parent(), writer, graph);
    }
    if (top == nullptr || top->opcode() == HloOpcode::kParameter) return;
    for (const HloUse& use : value.GetUses()) {
      if (++count > kMaxWishesOfAValue) return;
      HloInstruction* reader = LiftedTo(top->parent(), use.instruction, graph);
      if (reader == nullptr || reader == top ||
          reachability_.IsReachable(top, reader)) {
        continue;
      }
      wishes_[reader].push_back(top);
    }
  }

  const HloDataflowAnalysis& dataflow_;
  const CopySites& sites_;
  Reachability reachability_;
  absl::flat_hash_map<const HloValue*, size_t> counts_;
  Wishes wishes_;
};

// Kahn's algorithm; an instruction that should wait for others is delayed while
// anything else is ready, and the root, whose value is needed to the end
// wherever it stands (HloOrdering), while that may have to wait.
std::vector<HloInstruction*> Ordered(const HloComputation& computation,
                                     const Wishes& wishes) {
  const std::vector<HloInstruction*> order =
      computation.MakeInstructionPostOrder();
  absl::flat_hash_map<const HloInstruction*, int32_t> index_of;
  index_of.reserve(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    index_of[order[i]] = static_cast<int32_t>(i);
  }
  std::vector<int32_t> missing(order.size(), 0);
  std::vector<int32_t> wished(order.size(), 0);
  auto for_each_next = [&](const HloInstruction* inst, auto&& next) {
    for (const HloInstruction* user : inst->users()) next(user, &missing);
    for (const HloInstruction* after : inst->control_successors()) {
      next(after, &missing);
    }
    auto waiting = wishes.find(inst);
    if (waiting == wishes.end()) return;
    for (const HloInstruction* writer : waiting->second) next(writer, &wished);
  };
  for (const HloInstruction* inst : order) {
    for_each_next(inst,
                  [&](const HloInstruction* next, std::vector<int32_t>* count) {
                    ++(*count)[index_of.at(next)];
                  });
  }
  using Queue =
      std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>>;
  Queue ready, waiting;
  std::vector<bool> is_placed(order.size(), false);
  auto enqueue = [&](int32_t i) {
    if (missing[i] == 0) (wished[i] == 0 ? ready : waiting).push(i);
  };
  for (size_t i = 0; i < order.size(); ++i) enqueue(static_cast<int32_t>(i));
  std::vector<HloInstruction*> result;
  result.reserve(order.size());
  const int32_t root = index_of.at(computation.root_instruction());
  bool root_is_ready = false;
  while (!ready.empty() || !waiting.empty() || root_is_ready) {
    int32_t i = root;
    if (ready.empty() && waiting.empty()) {
      root_is_ready = false;
    } else {
      Queue& queue = ready.empty() ? waiting : ready;
      i = queue.top();
      queue.pop();
      if (i == root) {
        root_is_ready = true;
        continue;
      }
    }
    // It may have waited and become ready since.
    if (is_placed[i]) continue;
    is_placed[i] = true;
    result.push_back(order[i]);
    for_each_next(order[i],
                  [&](const HloInstruction* next, std::vector<int32_t>* count) {
                    const int32_t j = index_of.at(next);
                    if (--(*count)[j] == 0 && !is_placed[j]) enqueue(j);
                  });
  }
  return result;
}

}  // namespace

HloSchedule ChooseOrder(const HloModule& module,
                        const HloDataflowAnalysis& dataflow,
                        const CopySites& sites) {
  const Wishes wishes = WishFinder(dataflow, sites).Find();
  HloSchedule schedule(&module);
  for (const CallGraphNode& node : dataflow.call_graph().nodes()) {
    HloComputation* computation = node.computation();
    if (computation->IsFusionComputation() ||
        node.context() == CallContext::kEmbedded) {
      continue;
    }
    schedule.set_sequence(computation, Ordered(*computation, wishes));
  }
  return schedule;
}

namespace {

// Makes every order of the module as good as the given one. For each value of a
// buffer, its readers are tied to come before the next write to the buffer; the
// two are lifted to their ancestors in one computation. All these dependencies
// agree with the given order, so they cannot make a cycle, and it is enough to
// leave out those that followed from the module before: what others of them
// imply does no harm.
class OrderKeeper {
 public:
  explicit OrderKeeper(const ExecutionLine& line) : line_(line) {}

  absl::Status Keep(const HloBuffer& buffer) {
    writes_.clear();
    for (const HloValue* value : buffer.values()) {
      const Time time = line_.Write(value->defining_instruction());
      if (time >= 0) writes_.emplace_back(time, value->defining_instruction());
    }
    absl::c_sort(writes_, [](const auto& a, const auto& b) {
      return a.first < b.first;
    });
    for (const HloValue* value : buffer.values()) {
      HloInstruction* def = value->defining_instruction();
      if (line_.Write(def) < 0) continue;
      // Even if the value has no readers.
      TF_RETURN_IF_ERROR(KeepBefore(def, line_.Write(def) + 1));
      for (const HloUse& use : value->GetUses()) {
        HloInstruction* reader = use.instruction;
        Time time = line_.Read(reader);
        if (time < 0) continue;
        if (reader->opcode() == HloOpcode::kAsyncStart ||
            reader->opcode() == HloOpcode::kAsyncUpdate) {
          HloInstruction* done = reader->async_chain_done();
          if (done != nullptr && line_.Read(done) >= 0 &&
              !OverwritesAsynchronously(reader, buffer)) {
            reader = done;
            time = line_.Read(done);
          }
        }
        TF_RETURN_IF_ERROR(KeepBefore(reader, time));
      }
    }
    return absl::OkStatus();
  }

  bool changed() const { return changed_; }

 private:
  using Time = ExecutionLine::Time;

  // Whether what the chain computes is in the buffer, too.
  bool OverwritesAsynchronously(const HloInstruction* link,
                                const HloBuffer& buffer) const {
    return absl::c_any_of(buffer.values(), [&](const HloValue* value) {
      const HloInstruction* def = value->defining_instruction();
      return def->parent() == link->async_wrapped_computation() ||
             def == link->async_chain_start();
    });
  }

  // The two, or what calls them in a computation that holds both; null if none
  // does. What runs asynchronously does so where it starts: the call graph has
  // the later links of its chain as callers, too.
  std::pair<HloInstruction*, HloInstruction*> InSameComputation(
      HloInstruction* a, HloInstruction* b) const {
    while (a->parent() != b->parent()) {
      const ExecutionLine::Span* a_span = line_.Find(a->parent());
      const ExecutionLine::Span* b_span = line_.Find(b->parent());
      if (a_span == nullptr || b_span == nullptr) return {nullptr, nullptr};
      // The one that starts later does not hold the other.
      const bool a_is_inside = a_span->start > b_span->start;
      (a_is_inside ? a : b) = (a_is_inside ? a_span : b_span)->caller;
    }
    return {a, b};
  }

  // What happens at `time` in `inst` comes before the next write.
  absl::Status KeepBefore(HloInstruction* inst, Time time) {
    auto next = absl::c_lower_bound(
        writes_, std::make_pair(time, static_cast<HloInstruction*>(nullptr)),
        [](const auto& a, const auto& b) { return a.first < b.first; });
    if (next == writes_.end()) return absl::OkStatus();
    const auto [before, after] = InSameComputation(inst, next->second);
    if (before == nullptr || before == after ||
        before->opcode() == HloOpcode::kParameter ||
        after->opcode() == HloOpcode::kParameter ||
        line_.Read(before) > line_.Read(after) ||
        reachability_.IsReachable(before, after) ||
        !added_.insert({before, after}).second) {
      return absl::OkStatus();
    }
    changed_ = true;
    return before->AddControlDependencyTo(after);
  }

  const ExecutionLine& line_;
  // As it was before dependencies were added.
  Reachability reachability_;
  // When the values of the buffer are written, and by what.
  std::vector<std::pair<Time, HloInstruction*>> writes_;
  absl::flat_hash_set<std::pair<HloInstruction*, HloInstruction*>> added_;
  bool changed_ = false;
};

}  // namespace

absl::StatusOr<bool> KeepOrderOfBuffers(HloModule* module,
                                        const HloSchedule& order,
                                        const AliasInfo& alias_info) {
  TF_ASSIGN_OR_RETURN(std::unique_ptr<HloAliasAnalysis> aliases,
                      HloAliasAnalysis::Run(module, &alias_info));
  CopySites no_sites;
  const ExecutionLine line(*module, order, no_sites);
  OrderKeeper keeper(line);
  for (const HloBuffer& buffer : aliases->buffers()) {
    const HloPosition& position = buffer.values()[0]->defining_position();
    if (buffer.values().size() < 2 || !position.shape().IsArray()) continue;
    TF_RETURN_IF_ERROR(keeper.Keep(buffer));
  }
  return keeper.changed();
}

}  // namespace xla
