#ifndef XLA_HLO_ANALYSIS_ASYNC_IN_PLACE_H_
#define XLA_HLO_ANALYSIS_ASYNC_IN_PLACE_H_

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "xla/hlo/analysis/alias_info.h"
#include "xla/hlo/analysis/hlo_dataflow_analysis.h"
#include "xla/hlo/analysis/hlo_value.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/shape_util.h"

namespace xla {

// Parts of asynchronous states that are one piece of memory: an operand that
// the operation updates in place, and the result that is written there.
//
//   s = ((f32[8], f32[2], s32[]), f32[8], u32[]) async-start(x, y, i), …
//   dynamic-update-slice: {0,0} and {1}; also of a loop that takes s
//
// Nobody but the operation reads such an operand, which therefore ends where
// the result is as well.
class AsyncInPlace {
 public:
  // Before copies are inserted: where what is updated in place at the use, in
  // the operation, is copied. Only what is copied before the start is in place.
  using PlaceOfCopy = std::function<std::optional<HloUse>(const HloUse& use)>;

  AsyncInPlace(const HloDataflowAnalysis& dataflow, const AliasInfo& alias_info,
               PlaceOfCopy place_of_copy = nullptr)
      : dataflow_(dataflow),
        alias_info_(alias_info),
        place_of_copy_(std::move(place_of_copy)) {}

  // If the part of `inst` at `index` is an operand in a state: the starts of
  // the operations that the state may be of. Each part of a state's path is
  // looked at once.
  std::vector<HloInstruction*> OperationsWith(const HloInstruction* inst,
                                              const ShapeIndex& index);
  // The results in that state that are in the operand's memory, whichever of
  // these operations it is.
  std::vector<HloPosition> ResultsInPlaceOf(const HloInstruction* inst,
                                            const ShapeIndex& index);

 private:
  // Part {0,…} and part {1,…} of a state.
  using Pair = std::pair<ShapeIndex, ShapeIndex>;
  using Starts = std::vector<HloInstruction*>;
  struct OperandPart {
    ShapeIndex state;
    ShapeIndex operand;
    Starts starts;
  };

  std::optional<OperandPart> FindOperandPart(const HloInstruction* inst,
                                             const ShapeIndex& index);

  // The operations that `state` may be of; none if not all are known.
  const Starts& StartsOf(const HloValue& state);
  // Where its definition, which passes states on, has it from: false if there
  // is something else.
  bool AddSources(const HloValue& state,
                  std::vector<const HloValue*>* sources) const;
  bool AddSource(const HloInstruction* inst, const ShapeIndex& index,
                 std::vector<const HloValue*>* sources) const;
  const std::vector<Pair>& PairsOf(HloInstruction* start);
  // Where that is read whose memory the value is in, if it is one in place.
  std::vector<HloUse> InPlaceOf(const HloValue& value) const;

  const HloDataflowAnalysis& dataflow_;
  const AliasInfo& alias_info_;
  const PlaceOfCopy place_of_copy_;
  absl::flat_hash_map<const HloValue*, Starts> starts_;
  absl::flat_hash_map<const HloInstruction*, std::vector<Pair>> pairs_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_ASYNC_IN_PLACE_H_
