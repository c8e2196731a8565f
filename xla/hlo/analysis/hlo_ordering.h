#ifndef XLA_HLO_ANALYSIS_HLO_ORDERING_H_
#define XLA_HLO_ANALYSIS_HLO_ORDERING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/call_graph.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_reachability.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/hlo/ir/hlo_schedule.h"

namespace xla {

// What is known about the order in which the instructions of a module run, and
// what that implies for the live ranges of values.
//
// Two instructions are compared where their call chains diverge: at their
// nearest ancestors in one computation. If these are two instructions, their
// order (by dependencies, or by a schedule) is the answer; if they are the same
// instruction, a while or a conditional may still order them:
//
//   x = call(…), to_apply=A    y = call(x), to_apply=B
//   all of A and x come before all of B and y; x and what A holds have no order
//
// Precise only on a flattened call graph. A query walks up the call chains,
// O(depth), and queries the subclass once or twice.
class HloOrdering {
 public:
  explicit HloOrdering(const HloModule* module);
  virtual ~HloOrdering() = default;

  // How a is ordered relative to b.
  enum class ExecutionConstraint {
    // The same instruction, or a link of an asynchronous chain and what the
    // chain wraps.
    kIsSame,
    // a ends before b starts.
    kRunBeforeStart,
    // a starts before b does, but runs again later: the condition of a while
    // and its body.
    kRunBeforeEnd,
    // Only one of the two runs, and a's branch has the smaller / greater
    // number.
    kRunExclusiveBefore,
    kRunExclusiveAfter,
    // a starts after b ends.
    kRunAfter,
    // Unknown, or one of the two runs inside the other.
    kUnordered,
  };
  ExecutionConstraint GetExecutionConstraint(const HloInstruction* a,
                                             const HloInstruction* b) const;

  // a is before b in one of the three ways above.
  bool ExecutesBefore(const HloInstruction* a, const HloInstruction* b) const;

  // Value a is defined before b. Parameters are defined when their computation
  // starts, the phi at a while when its body has run.
  bool IsDefinedBefore(const HloValue& a, const HloValue& b) const;

  // All of `uses` end before `value` starts. A use by the instruction that
  // defines the value does if the two may share memory, or if the caller says
  // so by use_is_always_before_def_in_same_instr.
  bool UsesBeforeValueDefinition(
      absl::Span<const HloUse* const> uses, const HloValue& value,
      const HloDataflowAnalysis& dataflow, const AliasInfo* alias_info,
      bool use_is_always_before_def_in_same_instr = false) const;

  // a and b may be live at the same time.
  bool MayInterfere(const HloValue& a, const HloValue& b,
                    const HloDataflowAnalysis& dataflow,
                    const AliasInfo* alias_info) const;

  // a is dead when b starts. False if a leaves the module, or a computation in
  // which b is defined.
  bool LiveRangeStrictlyBefore(
      const HloValue& a, const HloValue& b, const HloDataflowAnalysis& dataflow,
      const AliasInfo* alias_info,
      bool use_is_always_before_def_in_same_instr = false) const;

  // The total order of a computation, null if there is none.
  virtual const HloInstructionSequence* SequentialOrder(
      const HloComputation& computation) const = 0;

  const CallGraph& call_graph() const { return *call_graph_; }

  virtual std::string ToString() const = 0;

 protected:
  // a and b are instructions of one computation.
  virtual bool ExecutesBeforeInSameComputation(
      const HloInstruction* a, const HloInstruction* b) const = 0;

  const HloModule* module_;
  std::unique_ptr<CallGraph> call_graph_;

 private:
  bool has_async_computations_;
  // Whether `inst` is in `computation` or called only from there.
  bool IsNestedIn(const HloInstruction* inst,
                  const HloComputation* computation) const;
  // Where a state has `a` as an operand and `b` as the result that takes its
  // place.
  std::vector<HloPosition> PlacesTakenBy(const HloValue& a, const HloValue& b,
                                         const HloDataflowAnalysis& dataflow,
                                         const AliasInfo* alias_info) const;
  // Whether `value` is there as an operand in the state of an operation that
  // runs `def`: its uses in there say what the operation does with it.
  bool IsReadInside(const HloInstruction* inst, const ShapeIndex& index,
                    const HloValue& value, const HloInstruction* def,
                    const HloDataflowAnalysis& dataflow) const;
  // `used` is the value whose use it is; null if only the use is known.
  bool UseIsBeforeValueDefinition(
      const HloUse& use, const HloValue* used, const HloValue& value,
      const HloDataflowAnalysis& dataflow, const AliasInfo* alias_info,
      bool use_is_always_before_def_in_same_instr) const;
};

// An order given by predecessors, for each computation.
class PredecessorHloOrdering : public HloOrdering {
 public:
  ~PredecessorHloOrdering() override = default;

  const HloInstructionSequence* SequentialOrder(
      const HloComputation& computation) const override {
    return nullptr;
  }

  // The computation must not be a fusion's.
  HloReachabilityMap& reachability_map(const HloComputation* computation) {
    return *predecessors_.at(computation);
  }
  const HloReachabilityMap& reachability_map(
      const HloComputation* computation) const {
    return *predecessors_.at(computation);
  }

 protected:
  explicit PredecessorHloOrdering(const HloModule* module)
      : HloOrdering(module) {}

  bool ExecutesBeforeInSameComputation(const HloInstruction* a,
                                       const HloInstruction* b) const override;
  std::string ToStringHelper(const std::string& name) const;

  absl::flat_hash_map<const HloComputation*,
                      std::unique_ptr<HloReachabilityMap>>
      predecessors_;
};

// The order implied by operands and control dependencies, which holds in every
// schedule.
class DependencyHloOrdering : public PredecessorHloOrdering {
 public:
  explicit DependencyHloOrdering(const HloModule* module);
  ~DependencyHloOrdering() override = default;

  std::string ToString() const override;
};

// The order of a schedule. The root of a computation ends last regardless of
// its position, because its value leaves the computation at its end.
class SequentialHloOrdering : public HloOrdering {
 public:
  explicit SequentialHloOrdering(const HloSchedule& schedule);
  explicit SequentialHloOrdering(HloSchedule&& schedule);
  ~SequentialHloOrdering() override = default;

  const HloInstructionSequence* SequentialOrder(
      const HloComputation& computation) const override;

  std::string ToString() const override;

 protected:
  void Initialize();

  bool ExecutesBeforeInSameComputation(const HloInstruction* a,
                                       const HloInstruction* b) const override;

  const HloSchedule schedule_;
  // Position in the sequence by local id; -1 if not scheduled.
  absl::flat_hash_map<const HloComputation*, std::vector<int32_t>> order_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_HLO_ORDERING_H_
