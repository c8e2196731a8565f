#ifndef XLA_HLO_EVALUATOR_DEVICES_COLLECTIVES_H_
#define XLA_HLO_EVALUATOR_DEVICES_COLLECTIVES_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "xla/hlo/evaluator/device.h"
#include "xla/hlo/evaluator/program.h"
#include "xla/hlo/evaluator/value.h"
#include "xla/hlo/ir/hlo_instruction.h"

namespace xla {
namespace evaluator {

// In which order all-reduce and reduce-scatter add up: as a fold over the
// group, or as a balanced tree. Where results differ by more than rounding, the
// computation is not associative.
enum class ReductionOrder { kGroup, kTree };

struct CollectiveContext {
  Program& program;
  // Applies computations that are no lane programs.
  Device& device;
  MemoryBudget* budget;
  ReductionOrder order = ReductionOrder::kGroup;
};

// The values of one collective on one group: `operands[k]` are those of member
// k, the result has one value per member, of the instruction's shape (for a
// start, the tuple that the done takes apart).
//
//   all-reduce            fold with the computation
//   all-gather            operands one after the other along the dimension
//   reduce-scatter        fold; member k gets the k-th piece
//   all-to-all            the k-th piece of each, or the k-th operand of each
//   ragged-all-to-all     rows of the input to where the sender says
//   collective-broadcast  the first member's value, or the dynamic root's
//
// InvalidArgument for dimensions that the group does not divide, and for
// offsets outside the arrays.
absl::StatusOr<std::vector<Value>> EvaluateCollective(
    const HloInstruction* instruction,
    absl::Span<const absl::Span<const Value>> operands,
    CollectiveContext& context);

// The value of a collective-permute on a device: that of the source, or zeros
// where `source` is null; with the operands for a start.
//
// In place (input, output, places in the input, places in the output) it is the
// device's output with slices of the source's input in it, or just the output
// where `source` is null. Slice k of array i has sizes number k * arrays + i.
// InvalidArgument for slices outside the arrays, and where source and target
// disagree about the places in the output: it is not said whose would count.
absl::StatusOr<Value> EvaluatePermute(const HloInstruction* instruction,
                                      absl::Span<const Value> operands,
                                      const absl::Span<const Value>* source,
                                      MemoryBudget* budget);

// The result of an instruction of `shape`: the one value, or all where that is
// a tuple.
Value PackResults(const Shape& shape, std::vector<Value> values);

}  // namespace evaluator
}  // namespace xla

#endif  // XLA_HLO_EVALUATOR_DEVICES_COLLECTIVES_H_
