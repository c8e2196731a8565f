#ifndef XLA_HLO_ANALYSIS_HLO_DATAFLOW_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_HLO_DATAFLOW_ANALYSIS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_operand_index.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/analysis/instruction_slots.h"
#include "xla/hlo/analysis/stable_vector.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {

// Which values flow where, through the whole module: tuples, calls, whiles,
// conditionals, asynchronous chains.
//
//   w = while(t), condition=c, body=b     t = tuple(i, x), b's root = (i+1, x)
//   → with ssa_form: w{1}, the parameters of b and c at {1} and the root of b
//     at {1} are x; w{0} and both parameters at {0} are phis of i and i+1
//   → without: these hold the set {i, i+1}
//
// Algorithm: every (instruction, index) defines a value, forwards one other
// position, or merges several. Forwarding is resolved by path compression;
// merges by strongly connected components, sources first, eliminating those
// that only one value enters (Braun et al., Simple and Efficient Construction
// of SSA Form, 2013, section 3.2), so that phis are minimal. Near-linear in
// positions plus the sizes of the sets.
//
// Legal on any module without recursion. A computation called from several
// places has the values of all of them at its parameters, and its result is one
// value at all calls: the facts hold for some call, not for each.
// FlattenCallGraph makes them exact.
//
// A snapshot: instructions added later have no values.
class HloDataflowAnalysis {
 public:
  // ssa_form: phis instead of sets. bitcast_defines_value: a bitcast is a value
  // of its own. execution_threads: of the module, only these (empty: all); what
  // other threads return is defined where it is received. Without
  // propagate_through_calls, call instructions and the parameters of their
  // computations define values.
  //
  // FailedPrecondition if a computation is both called and applied by a reduce
  // or the like; InvalidArgument for shapes that contradict operands, and for
  // recursion.
  static absl::StatusOr<std::unique_ptr<HloDataflowAnalysis>> Run(
      const HloModule& module, bool ssa_form = false,
      bool bitcast_defines_value = false,
      absl::flat_hash_set<absl::string_view> execution_threads = {},
      bool propagate_through_calls = true);

  // Whether exactly one value is at this position, and defined there.
  bool ValueIsDefinedAt(const HloInstruction* instruction,
                        const ShapeIndex& index = {}) const;
  // Pre: ValueIsDefinedAt.
  const HloValue& GetValueDefinedAt(const HloInstruction* instruction,
                                    const ShapeIndex& index = {}) const;
  HloValue& GetValueDefinedAt(const HloInstruction* instruction,
                              const ShapeIndex& index = {});

  // Whether the instruction existed in Run and belongs to the requested
  // threads.
  bool HasValues(const HloInstruction* instruction) const {
    return slots_.Find(instruction) >= 0;
  }

  // The instruction must have values, here and below.
  const InstructionValueSet& GetInstructionValueSet(
      const HloInstruction* instruction) const;
  InstructionValueSet& GetInstructionValueSet(
      const HloInstruction* instruction);

  // The values at all indices.
  HloValueSet GetFlattenedValueSet(const HloInstruction* instruction) const;

  const HloValueSet& GetValueSet(const HloInstruction* instruction,
                                 const ShapeIndex& index = {}) const;
  const HloValueSet& GetValueSet(const HloPosition& position) const;

  // There must be exactly one value.
  const HloValue& GetUniqueValueAt(const HloInstruction* instruction,
                                   const ShapeIndex& index = {}) const {
    return GetValueSet(instruction, index).GetUniqueValue();
  }
  HloValue& GetUniqueValueAt(const HloInstruction* instruction,
                             const ShapeIndex& index = {}) {
    return GetValue(GetValueSet(instruction, index).GetUniqueValue().id());
  }

  // `value_id` < value_count().
  const HloValue& GetValue(HloValue::Id value_id) const {
    return *values_[value_id];
  }
  HloValue& GetValue(HloValue::Id value_id) { return *values_[value_id]; }

  int64_t value_count() const { return static_cast<int64_t>(values_.size()); }
  // By id. Ids follow the order: callees first, operands first.
  const std::vector<HloValue*>& values() const { return values_; }
  // An id different from those of all values.
  HloValue::Id NewValueId() { return next_value_id_++; }

  const CallGraph& call_graph() const { return *call_graph_; }
  const HloModule& module() const { return module_; }

  std::string ToString() const;

  // Whether `user`, which has `operand` as an operand, provably does not read
  // the operand at `index`: it only forwards it, or is a loop fusion whose
  // parameter nothing reads there.
  bool DoesNotUseOperandBuffer(const HloInstruction* operand,
                               const ShapeIndex& index,
                               const HloInstruction* user) const;

  // Whether the output of `user` at `user_index` may overwrite the value of its
  // operand, given that nothing needs the operand afterwards. False for
  // constants; true if alias_info says that they must alias; then the backend
  // decides; else shapes must be equal and `user` must read each element before
  // it writes it: elementwise instructions, fusions of such, add(dot, x) output
  // fusions, while, conditional, updates, sort, calls of such.
  bool CanShareOperandBufferWithUser(HloInstruction* operand,
                                     const ShapeIndex& operand_index,
                                     HloInstruction* user,
                                     const ShapeIndex& user_index,
                                     const AliasInfo* alias_info) const;

  // Opcodes whose values are available only once the matching done has run.
  static bool IsAsynchronousOperationStart(HloOpcode opcode);
  static bool IsAsynchronousOperationDone(HloOpcode opcode);

  // The default pairs of AliasInfo, without a backend.
  static std::vector<std::pair<HloOperandIndex, ShapeIndex>>
  GetInPlaceInputOutputPairs(const HloInstruction* instruction);

  // Internal if values, positions and sets contradict one another.
  absl::Status Verify() const;

 private:
  friend class DataflowBuilder;

  explicit HloDataflowAnalysis(const HloModule& module) : module_(module) {}

  const HloModule& module_;
  std::unique_ptr<CallGraph> call_graph_;
  InstructionSlots slots_;
  // By slot; nullopt for holes and computations of other threads.
  std::vector<std::optional<InstructionValueSet>> value_sets_;
  // Stable addresses.
  StableVector<HloValue> storage_;
  std::vector<HloValue*> values_;
  HloValue::Id next_value_id_ = 0;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_DATAFLOW_ANALYSIS_H_
