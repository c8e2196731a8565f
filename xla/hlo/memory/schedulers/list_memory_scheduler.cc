#include "xla/hlo/memory/schedulers/list_memory_scheduler.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/hlo/memory/accounting/hlo_memory_graph.h"
#include "xla/shape_util.h"

namespace xla {
namespace {

// Counts, per value, the instructions that still have to read it (plus one if
// it leaves the computation), and per instruction the bytes of the values that
// it is the last to read. A count drops to 1 once: then the value's readers are
// gone through, and the one that remains frees more; all other priorities stay
// valid.
class ListOrder {
 public:
  ListOrder(HloComputation* computation, const HloDataflowAnalysis& dataflow,
            const BufferValue::SizeFunction& size_function)
      : computation_(computation),
        dataflow_(dataflow),
        size_function_(size_function) {
    for (HloInstruction* inst : computation->instructions()) AddNode(inst);
    HloValueSet live_out =
        dataflow.GetFlattenedValueSet(computation->root_instruction());
    for (const HloValue* value : live_out.values()) {
      ++values_[value->id()].uses_left;
    }
    for (auto& [inst, node] : nodes_) {
      for (const HloValue* value : node.reads) {
        if (values_.at(value->id()).uses_left == 1) {
          node.bytes_freed += BytesOf(*value);
        }
      }
    }
  }

  absl::StatusOr<HloInstructionSequence> Make() {
    for (const HloInstruction* inst : computation_->instructions()) {
      if (nodes_.at(inst).waits == 0) MakeReady(inst);
    }
    HloInstructionSequence sequence;
    sequence.reserve(computation_->instruction_count());
    while (!ready_.empty()) {
      HloInstruction* next = std::get<3>(*ready_.rbegin());
      ready_.erase(std::prev(ready_.end()));
      nodes_.at(next).priority.reset();
      sequence.push_back(next);
      Schedule(next);
    }
    if (sequence.size() != computation_->instruction_count()) {
      return CheckNoCycle(*computation_);
    }
    return sequence;
  }

 private:
  // Bytes freed, users, order of becoming ready, the instruction.
  using Priority = std::tuple<int64_t, int64_t, int64_t, HloInstruction*>;

  struct Node {
    HloInstruction* inst;
    int64_t waits = 0;
    int64_t bytes_defined = 0;
    int64_t bytes_freed = 0;
    bool is_scheduled = false;
    // Each once.
    std::vector<const HloValue*> reads;
    std::optional<Priority> priority;
  };

  struct Value {
    int64_t uses_left = 0;
    std::vector<const HloInstruction*> readers;
  };

  static bool CountsNothing(const HloInstruction& inst) {
    return inst.opcode() == HloOpcode::kParameter ||
           inst.opcode() == HloOpcode::kConstant;
  }

  void AddNode(HloInstruction* inst) {
    Node& node = nodes_[inst];
    node.inst = inst;
    node.waits = static_cast<int64_t>(
        absl::flat_hash_set<HloInstruction*>(inst->operands().begin(),
                                             inst->operands().end())
            .size() +
        inst->control_predecessors().size());
    AddReads(*inst, node);
    if (CountsNothing(*inst)) return;
    for (const auto& [index, set] : dataflow_.GetInstructionValueSet(inst)) {
      for (const HloValue* value : set.values()) {
        if (value->instruction() == inst && value->index() == index) {
          node.bytes_defined += size_function_(*value);
        }
      }
    }
  }

  int64_t BytesOf(const HloValue& value) const {
    return CountsNothing(*value.instruction()) ? 0 : size_function_(value);
  }

  void AddReads(const HloInstruction& inst, Node& node) {
    absl::flat_hash_set<HloValue::Id> seen;
    const auto add = [&](const HloValueSet& set) {
      for (const HloValue* value : set.values()) {
        if (!seen.insert(value->id()).second) continue;
        node.reads.push_back(value);
        Value& read = values_[value->id()];
        ++read.uses_left;
        read.readers.push_back(&inst);
      }
    };
    if (inst.opcode() == HloOpcode::kGetTupleElement) {
      // The tuple itself and the element that it returns: not the others, each
      // of which has an instruction like this one.
      add(dataflow_.GetValueSet(inst.operand(0)));
      for (const auto& [index, set] : dataflow_.GetInstructionValueSet(&inst)) {
        add(set);
      }
      return;
    }
    for (const HloInstruction* operand : inst.operands()) {
      for (const auto& [index, set] :
           dataflow_.GetInstructionValueSet(operand)) {
        add(set);
      }
    }
  }

  // Net bytes freed. Configured outfeeds go as early and infeeds as late as
  // possible, whatever their size.
  int64_t BytesFreed(const Node& node) const {
    HloOpcode opcode = node.inst->opcode();
    if (opcode == HloOpcode::kOutfeed && !node.inst->outfeed_config().empty()) {
      return std::numeric_limits<int>::max();
    }
    if (opcode == HloOpcode::kInfeed && !node.inst->infeed_config().empty()) {
      return std::numeric_limits<int>::min();
    }
    return node.bytes_freed - node.bytes_defined;
  }

  // Scalars go first: they take hardly any memory, and something large may be
  // waiting for them.
  Priority PriorityOf(const Node& node) {
    constexpr int64_t kFirst = std::numeric_limits<int64_t>::max();
    if (ShapeUtil::IsEffectiveScalar(node.inst->shape())) {
      return {kFirst, kFirst, clock_++, node.inst};
    }
    return {BytesFreed(node), node.inst->user_count(), clock_++, node.inst};
  }

  void MakeReady(const HloInstruction* inst) {
    Node& node = nodes_.at(inst);
    node.priority = PriorityOf(node);
    ready_.insert(*node.priority);
  }

  void Schedule(const HloInstruction* inst) {
    Node& scheduled = nodes_.at(inst);
    scheduled.is_scheduled = true;
    std::vector<Node*> freeing_more;
    for (const HloValue* read : scheduled.reads) {
      Value& value = values_.at(read->id());
      if (--value.uses_left != 1) continue;
      for (const HloInstruction* reader : value.readers) {
        Node& node = nodes_.at(reader);
        if (node.is_scheduled) continue;
        node.bytes_freed += BytesOf(*read);
        freeing_more.push_back(&node);
      }
    }
    for (const HloInstruction* user : inst->users()) {
      if (--nodes_.at(user).waits == 0) MakeReady(user);
    }
    for (const HloInstruction* after : inst->control_successors()) {
      if (--nodes_.at(after).waits == 0) MakeReady(after);
    }
    for (Node* node : freeing_more) Refresh(*node);
  }

  void Refresh(Node& node) {
    if (!node.priority.has_value()) return;
    Priority now = PriorityOf(node);
    if (std::get<0>(now) == std::get<0>(*node.priority)) return;
    ready_.erase(*node.priority);
    node.priority = now;
    ready_.insert(now);
  }

  HloComputation* computation_;
  const HloDataflowAnalysis& dataflow_;
  const BufferValue::SizeFunction& size_function_;
  absl::flat_hash_map<const HloInstruction*, Node> nodes_;
  absl::flat_hash_map<HloValue::Id, Value> values_;
  // No two have the same third element, so that addresses decide nothing.
  absl::btree_set<Priority> ready_;
  int64_t clock_ = 0;
};

}  // namespace

absl::StatusOr<HloInstructionSequence> ListMemoryScheduler::Run(
    HloComputation* computation, const HloAliasAnalysis& alias_analysis) const {
  return ListOrder(computation, alias_analysis.dataflow_analysis(),
                   size_function())
      .Make();
}

}  // namespace xla
