#ifndef XLA_HLO_ANALYSIS_TUPLE_POINTS_TO_BUILDER_H_
#define XLA_HLO_ANALYSIS_TUPLE_POINTS_TO_BUILDER_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/tuple_points_to_analysis.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

// The rules of TuplePointsToAnalysis, for the instructions of one computation:
// what each opcode forwards; it defines the rest.
class PointsToBuilder {
 public:
  explicit PointsToBuilder(TuplePointsToAnalysis* analysis)
      : analysis_(*analysis) {}

  // Called for operands first.
  absl::Status Handle(HloInstruction* inst);
  // Called after the last instruction.
  void Finish();

 private:
  // An output of an async chain that aliases an operand bound by a later link.
  struct LateAlias {
    ShapeIndex output;
    const HloInstruction* link;
    int64_t operand;
    ShapeIndex operand_index;
  };

  PointsToSet& SetOf(const HloInstruction* inst);

  // Copies the points-to sets of `source` at and below `from` to `to`.
  absl::Status Forward(HloInstruction* inst, const ShapeIndex& to,
                       const HloInstruction* source, const ShapeIndex& from);
  // The same for an operand, given by number.
  absl::Status ForwardOperand(HloInstruction* inst, const ShapeIndex& to,
                              int64_t operand, const ShapeIndex& from);
  // Wherever both have compatible subshapes: `to` + i is `from` + i of the
  // source, for all i of inst's shape at `to`.
  void ForwardCompatible(HloInstruction* inst, const HloInstruction* source,
                         const ShapeIndex& from);
  // Indices without buffers get new ones, except those that `late` fills in.
  void DefineRest(HloInstruction* inst, absl::Span<const LateAlias> late = {});

  absl::Status HandleOpcode(HloInstruction* inst);
  absl::Status HandleCustomCall(HloInstruction* inst);
  absl::Status HandleAsyncStart(HloInstruction* inst);
  absl::Status HandleAsyncUpdate(HloInstruction* inst);
  // Outputs of the chain of `start` that alias operands of later links.
  static std::vector<LateAlias> LateAliases(const HloInstruction* start);
  // Applies the aliases of the start's list for the output that this link
  // shows.
  absl::Status ForwardShown(HloInstruction* link);
  // Forwards the operand to `to` of this link and of earlier ones.
  absl::Status BindLate(HloInstruction* link, const ShapeIndex& to,
                        int64_t operand, const ShapeIndex& from);

  TuplePointsToAnalysis& analysis_;
  // Late aliases of the chains that start here.
  std::deque<std::vector<LateAlias>> chains_;
  absl::flat_hash_map<const HloInstruction*, const std::vector<LateAlias>*>
      chain_of_;
  // Links with indices that a later link fills in.
  std::vector<HloInstruction*> waiting_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_TUPLE_POINTS_TO_BUILDER_H_
