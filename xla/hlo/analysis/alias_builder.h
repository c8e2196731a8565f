#ifndef XLA_HLO_ANALYSIS_ALIAS_BUILDER_H_
#define XLA_HLO_ANALYSIS_ALIAS_BUILDER_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/async_operands.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

// The rules of HloAliasAnalysis: a union-find over the values of a dataflow
// analysis in SSA form.
class AliasBuilder {
 public:
  AliasBuilder(const HloDataflowAnalysis& dataflow, const AliasInfo& alias_info)
      : dataflow_(dataflow),
        alias_info_(alias_info),
        parent_(dataflow.value_count(), -1) {}

  absl::Status Build();

  // The least value of the buffer that holds a value; after Build.
  int32_t First(int32_t value) const;

 private:
  absl::Status CheckFlat() const;
  absl::Status AddAliasConfig();
  absl::Status AddInstruction(const HloInstruction* inst);
  absl::Status AddWhile(const HloInstruction* loop);
  absl::Status AddConditional(const HloInstruction* conditional);
  absl::Status AddInPlacePairs(const HloInstruction* inst);
  // Finds operands of asynchronous chains that are bound after the start, also
  // in chains that cross calls.
  void FindChains();
  absl::Status AddLateOperands(const HloInstruction* start);
  absl::Status AddLatePairs(const HloInstruction* start);
  absl::Status AddPair(const HloInstruction* inst, const ShapeIndex& output,
                       const HloInstruction* operand,
                       const HloOperandIndex& source);

  // Puts the values at both positions into one buffer. FailedPrecondition if
  // there are values of several callers.
  absl::Status Unite(const HloInstruction* a, const ShapeIndex& a_index,
                     const HloInstruction* b, const ShapeIndex& b_index);
  // The same at all indices; only those of arrays if the structures differ.
  absl::Status UniteAll(const HloInstruction* a, const HloInstruction* b);

  int32_t Root(int32_t value);

  const HloDataflowAnalysis& dataflow_;
  const AliasInfo& alias_info_;
  // Parent, or minus the size of the set.
  std::vector<int32_t> parent_;
  // By start.
  absl::flat_hash_map<const HloInstruction*, std::vector<AsyncOperand>> chains_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ALIAS_BUILDER_H_
