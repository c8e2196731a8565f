#include "xla/hlo/transforms/memory/remat/planner/overwritten_values.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/algorithm/container.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/library_calls.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla::remat_plan {
namespace {

// Whether the body hands an element of its state on as it is.
bool IsInvariant(const HloInstruction& loop, int64_t element) {
  const HloInstruction* root = loop.while_body()->root_instruction();
  if (root->opcode() != HloOpcode::kTuple) return false;
  const HloInstruction* next = root->operand(element);
  return next->opcode() == HloOpcode::kGetTupleElement &&
         next->operand(0)->opcode() == HloOpcode::kParameter &&
         next->tuple_index() == element;
}

class Marker {
 public:
  Marker(ValuesOf points, ComputationProblem* problem)
      : points_(points), nodes_(*problem), problem_(problem->problem) {
    FindHomes();
    last_reader_.assign(problem_.values.size(), -1);
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      for (ValueId value : problem_.nodes[n].reads) {
        last_reader_[value] = static_cast<NodeId>(n);
      }
    }
    for (ValueId value : problem_.outputs) {
      last_reader_[value] = static_cast<NodeId>(problem_.nodes.size());
    }
  }

  void MarkInstructions() {
    const AliasInfo alias_info;
    for (size_t n = 0; n < problem_.nodes.size(); ++n) {
      const HloInstruction& inst = *nodes_.instructions[n];
      const NodeId node = static_cast<NodeId>(n);
      if (inst.opcode() == HloOpcode::kWhile) {
        MarkState(inst, node);
        continue;
      }
      for (const auto& [operand, output] :
           alias_info.GetInPlaceInputOutputPairs(&inst)) {
        if (operand.operand_number >= inst.operand_count()) continue;
        const HloInstruction* of = inst.operand(operand.operand_number);
        Mark(ValueAt(*of, operand.operand_index), node);
      }
    }
  }

  // Arguments go where the result that takes their memory is made.
  void MarkArguments(const HloInstruction& root) {
    const HloComputation* entry = root.parent();
    if (entry != entry->parent()->entry_computation()) return;
    entry->parent()->input_output_alias_config().ForEachAlias(
        [&](const ShapeIndex& output, const auto& alias) {
          MarkReplaced(
              ValueAt(*entry->parameter_instruction(alias.parameter_number),
                      alias.parameter_index),
              ValueAt(root, output));
        });
  }

  // What an iteration hands on lies where its own state was.
  void MarkIteration(const HloInstruction& root) {
    const HloComputation* body = root.parent();
    const std::optional<HloInstruction*> loop =
        body->GetUniqueCaller(HloOpcode::kWhile);
    if (!loop.has_value() || (*loop)->while_body() != body) return;
    const std::vector<ValueId>& next = points_(&root);
    const std::vector<ValueId>& state = points_(body->parameter_instruction(0));
    for (size_t place = 0; place < std::min(next.size(), state.size());
         ++place) {
      MarkReplaced(state[place], next[place]);
    }
  }

 private:
  // Values whose memory is the same, by the one that it belongs to.
  void FindHomes() {
    home_.resize(problem_.values.size());
    sharing_.resize(problem_.values.size());
    for (size_t v = 0; v < home_.size(); ++v) {
      const ValueId in = problem_.values[v].alias_of;
      home_[v] = in < 0 ? static_cast<ValueId>(v) : home_[in];
      sharing_[home_[v]].push_back(static_cast<ValueId>(v));
    }
  }

  ValueId ValueAt(const HloInstruction& inst, const ShapeIndex& index) const {
    return points_(&inst)[PlaceOf(inst.shape(), index)];
  }

  void MarkState(const HloInstruction& loop, NodeId node) {
    const HloInstruction& state = *loop.operand(0);
    if (!state.shape().IsTuple()) return;
    const std::vector<ValueId>& values = points_(&state);
    size_t place = 1;
    for (int64_t i = 0; i < state.shape().tuple_shapes_size(); ++i) {
      const size_t end =
          place + ShapeUtil::SubshapeCount(state.shape().tuple_shapes(i));
      for (; place < end; ++place) {
        if (!IsInvariant(loop, i)) Mark(values[place], node);
      }
    }
  }

  // The result takes the argument's memory, unless it is what lies there.
  void MarkReplaced(ValueId argument, ValueId result) {
    if (argument < 0 || result < 0 || home_[argument] == home_[result]) return;
    Mark(argument, problem_.values[home_[result]].node);
  }

  // Overwritten are all values in the memory at once. A value that the module
  // reads after the writer cannot lie there, whatever the alias says, and one
  // made by the writer or later is not there yet. Of several writers the first
  // one counts. The writer itself must not run twice: its second run would find
  // its operand already updated.
  void Mark(ValueId value, NodeId writer) {
    if (value < 0) return;
    for (ValueId other : sharing_[home_[value]]) {
      RematProblem::Value& info = problem_.values[other];
      if (info.node >= writer || last_reader_[other] > writer) continue;
      if (info.overwritten_by >= 0 && info.overwritten_by <= writer) continue;
      info.overwritten_by = writer;
      problem_.nodes[writer].recomputable = false;
    }
  }

  const ValuesOf points_;
  const ComputationProblem& nodes_;
  RematProblem& problem_;
  std::vector<ValueId> home_;                  // by value
  std::vector<std::vector<ValueId>> sharing_;  // by home
  std::vector<NodeId> last_reader_;            // by value
};

}  // namespace

bool IsPlacedByBackend(const HloModule& module) {
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* inst : computation->instructions()) {
      if ((inst->opcode() == HloOpcode::kFusion &&
           inst->has_backend_config()) ||
          LibraryCallFlops(*inst).has_value()) {
        return true;
      }
    }
  }
  return false;
}

void MarkOverwrittenValues(ValuesOf points, const HloInstruction& root,
                           ComputationProblem* problem) {
  Marker marker(points, problem);
  marker.MarkInstructions();
  marker.MarkArguments(root);
  marker.MarkIteration(root);
}

}  // namespace xla::remat_plan
