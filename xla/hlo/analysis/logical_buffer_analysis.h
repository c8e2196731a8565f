#ifndef XLA_HLO_ANALYSIS_LOGICAL_BUFFER_ANALYSIS_H_
#define XLA_HLO_ANALYSIS_LOGICAL_BUFFER_ANALYSIS_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "xla/hlo/analysis/logical_buffer.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_module.h"
#include "xla/shape_util.h"

namespace xla {

// The buffers that the instructions of a module define, without their aliases:
// one for each index of a result that points-to analysis (see
// TuplePointsToAnalysis) does not attribute to an operand.
//
//   c = f32[8] constant(…)       defines c{}
//   t = tuple(c, c)              defines t{}
//   g = get-tuple-element(t)     defines nothing
//
// The output that a fusion writes into an operand (output_to_operand_aliasing)
// is a buffer of its own, unless `alias_buffer_across_dataflow`: then it is the
// operand's, and likewise for custom calls.
//
// A snapshot. Linear in the number of indices of all shapes.
class LogicalBufferAnalysis {
 public:
  // InvalidArgument if shapes contradict operands, which verified modules do
  // not.
  static absl::StatusOr<std::unique_ptr<LogicalBufferAnalysis>> Run(
      const HloModule* module, bool alias_buffer_across_dataflow = false);

  // NotFound if there is none.
  absl::StatusOr<LogicalBuffer*> GetBuffer(LogicalBuffer::Id id) const;
  absl::StatusOr<LogicalBuffer*> GetBuffer(HloInstruction* instruction,
                                           const ShapeIndex& index) const;

  // By id; computations in the module's order, operands before users.
  const std::vector<std::unique_ptr<LogicalBuffer>>& logical_buffers() const {
    return logical_buffers_;
  }
  size_t num_logical_buffers() const { return logical_buffers_.size(); }

 private:
  LogicalBufferAnalysis() = default;

  std::vector<std::unique_ptr<LogicalBuffer>> logical_buffers_;
  absl::flat_hash_map<std::pair<const HloInstruction*, ShapeIndex>,
                      LogicalBuffer*>
      by_place_;
};

}  // namespace xla

#endif  // XLA_HLO_ANALYSIS_LOGICAL_BUFFER_ANALYSIS_H_
