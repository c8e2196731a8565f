#ifndef XLA_HLO_ANALYSIS_DATAFLOW_BUILDER_H_
#define XLA_HLO_ANALYSIS_DATAFLOW_BUILDER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/value_merges.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape_util.h"

namespace xla {

// The rules of HloDataflowAnalysis: what each opcode forwards, and where values
// meet. Positions are numbered callees first, operands first, and in pre-order
// of the shape.
class DataflowBuilder {
 public:
  struct Options {
    bool ssa_form;
    bool bitcast_defines_value;
    bool propagate_through_calls;
    absl::flat_hash_set<absl::string_view> execution_threads;
  };

  DataflowBuilder(HloDataflowAnalysis* analysis, Options options)
      : analysis_(*analysis), options_(std::move(options)) {}

  absl::Status Build();

 private:
  // An instruction's output at and below an index.
  struct Source {
    const HloInstruction* instruction;
    ShapeIndex index;
  };
  using Sources = absl::InlinedVector<Source, 2>;

  void NumberPositions();
  void MakeValues();
  void FindUsesInWideTuples();

  // -1 if the shape has no such index.
  int32_t Position(const HloInstruction* inst, const ShapeIndex& index) const;
  bool IsIncluded(const HloComputation* computation) const {
    return analysis_.slots_.FirstSlot(computation) >= 0;
  }

  // The values at and below `to` of inst are those at and below all sources;
  // with `phi`, a phi where they differ. InvalidArgument if structures differ.
  absl::Status Flow(const HloInstruction* inst, const ShapeIndex& to,
                    absl::Span<const Source> sources, bool phi = false);
  // The same for one source, if the structures are equal; else false.
  bool FlowIfSame(const HloInstruction* inst, const ShapeIndex& to,
                  const HloInstruction* source, const ShapeIndex& from);

  // Whether instructions of this opcode never forward operands.
  static bool OnlyDefines(HloOpcode opcode);
  absl::Status Handle(const HloInstruction* inst);
  absl::Status HandleParameters(const HloComputation* computation);
  // Adds what the calls of `site` pass as parameter `number` of the
  // computation.
  absl::Status AddSources(const CallSite& site,
                          const HloComputation* computation, int64_t number,
                          Sources* sources);
  // The branches of a conditional that are `computation`; found for all its
  // computations at once, because a conditional with thousands is queried for
  // each.
  const std::vector<int32_t>& BranchesThatAre(
      const HloInstruction* conditional, const HloComputation* computation);
  absl::Status HandleCalls(const HloInstruction* inst);
  absl::Status HandleStart(const HloInstruction* inst);
  void HandleAsync(const HloInstruction* inst);
  std::optional<Source> AsyncLeafSource(const HloInstruction* link,
                                        const ShapeIndex& index) const;

  // Facts that passes over all instructions need, cached so that most
  // instructions are read once.
  struct Entry {
    HloInstruction* instruction;
    int32_t slot;
    HloOpcode opcode;
  };

  HloDataflowAnalysis& analysis_;
  const Options options_;
  std::vector<Entry> order_;
  // By slot.
  std::vector<int32_t> first_position_;
  std::optional<ValueMerges> merges_;
  absl::flat_hash_map<
      const HloInstruction*,
      absl::flat_hash_map<const HloComputation*, std::vector<int32_t>>>
      branches_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_DATAFLOW_BUILDER_H_
