// Subclasses that apply a computation to elements: reductions, scan, sort.

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/log/check.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "google/protobuf/util/message_differencer.h"
#include "xla/hlo/ir/hlo_clone_context.h"
#include "xla/hlo/ir/hlo_computation.h"
#include "xla/hlo/ir/hlo_instruction.h"
#include "xla/hlo/ir/hlo_instructions.h"
#include "xla/hlo/ir/hlo_opcode.h"
#include "xla/shape.h"
#include "xla/window_util.h"

namespace xla {

using EqComputations =
    absl::FunctionRef<bool(const HloComputation*, const HloComputation*)>;
using HloPtr = std::unique_ptr<HloInstruction>;
using Operands = absl::Span<HloInstruction* const>;
using google::protobuf::util::MessageDifferencer;

HloReduceInstruction::HloReduceInstruction(
    const Shape& shape, Operands args,
    absl::Span<const int64_t> dimensions_to_reduce,
    HloComputation* reduce_computation)
    : HloDimensionsInstruction(HloOpcode::kReduce, shape,
                               dimensions_to_reduce) {
  AppendOperands(args);
  AppendComputation(reduce_computation);
}

bool HloReduceInstruction::IdenticalSlowPath(const HloInstruction& other,
                                             EqComputations eq) const {
  return HloDimensionsInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloReduceInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                      Operands new_operands,
                                                      HloCloneContext*) const {
  CHECK_EQ(new_operands.size() % 2, 0);
  return std::make_unique<HloReduceInstruction>(shape, new_operands,
                                                dimensions(), to_apply());
}

HloScanInstruction::HloScanInstruction(const Shape& shape, Operands inputs,
                                       Operands inits, HloComputation* to_apply,
                                       int64_t scan_dimension, bool is_reverse,
                                       TriState is_associative)
    : HloDimensionsInstruction(HloOpcode::kScan, shape,
                               absl::MakeConstSpan(&scan_dimension, 1)),
      num_carries_(inits.size()),
      is_reverse_(is_reverse),
      is_associative_(is_associative) {
  AppendOperands(inputs);
  AppendOperands(inits);
  AppendComputation(to_apply);
}

absl::StatusOr<int64_t> HloScanInstruction::GetScanDimSize() const {
  auto size_in = [&](const Shape& shape) -> absl::StatusOr<int64_t> {
    if (!shape.IsArray() || scan_dimension() < 0 ||
        scan_dimension() >= static_cast<int64_t>(shape.dimensions().size())) {
      return absl::InvalidArgumentError(
          absl::StrCat("scan ", name(), " has no dimension ", scan_dimension(),
                       " to scan along"));
    }
    return shape.dimensions(scan_dimension());
  };
  if (!inputs().empty()) return size_in(inputs()[0]->shape());
  // The last values of the carries come after the outputs.
  if (shape().IsTuple()) {
    const int64_t outputs =
        static_cast<int64_t>(shape().tuple_shapes().size()) - num_carries_;
    if (outputs > 0) return size_in(shape().tuple_shapes(0));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scan ", name(), " has neither inputs nor outputs"));
}

bool HloScanInstruction::IdenticalSlowPath(const HloInstruction& other,
                                           EqComputations eq) const {
  const auto& that = static_cast<const HloScanInstruction&>(other);
  return num_carries_ == that.num_carries_ && is_reverse_ == that.is_reverse_ &&
         is_associative_ == that.is_associative_ &&
         HloDimensionsInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloScanInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  CHECK_GE(new_operands.size(), num_carries_);
  const size_t input_count = new_operands.size() - num_carries_;
  return std::make_unique<HloScanInstruction>(
      shape, new_operands.subspan(0, input_count),
      new_operands.subspan(input_count), to_apply(), scan_dimension(),
      is_reverse_, is_associative_);
}

HloSortInstruction::HloSortInstruction(const Shape& shape, int64_t dimension,
                                       Operands operands,
                                       HloComputation* compare, bool is_stable)
    : HloDimensionsInstruction(HloOpcode::kSort, shape,
                               absl::MakeConstSpan(&dimension, 1)),
      is_stable_(is_stable) {
  AppendOperands(operands);
  AppendComputation(compare);
}

bool HloSortInstruction::IdenticalSlowPath(const HloInstruction& other,
                                           EqComputations eq) const {
  return is_stable_ ==
             static_cast<const HloSortInstruction&>(other).is_stable_ &&
         HloDimensionsInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloSortInstruction::CloneWithNewOperandsImpl(const Shape& shape,
                                                    Operands new_operands,
                                                    HloCloneContext*) const {
  return std::make_unique<HloSortInstruction>(
      shape, sort_dimension(), new_operands, to_apply(), is_stable_);
}

// --- Windows
// ------------------------------------------------------------------

HloReduceWindowInstruction::HloReduceWindowInstruction(
    const Shape& shape, HloInstruction* operand, HloInstruction* init_value,
    const Window& window, HloComputation* reduce_computation)
    : HloReduceWindowInstruction(shape, absl::MakeConstSpan(&operand, 1),
                                 absl::MakeConstSpan(&init_value, 1), window,
                                 reduce_computation) {}

HloReduceWindowInstruction::HloReduceWindowInstruction(
    const Shape& shape, Operands operands, Operands init_values,
    const Window& window, HloComputation* reduce_computation)
    : HloInstruction(HloOpcode::kReduceWindow, shape), window_(window) {
  CHECK_EQ(operands.size(), init_values.size());
  AppendOperands(operands);
  AppendOperands(init_values);
  AppendComputation(reduce_computation);
}

absl::InlinedVector<const Shape*, 2> HloReduceWindowInstruction::input_shapes()
    const {
  absl::InlinedVector<const Shape*, 2> shapes;
  for (const HloInstruction* input : inputs()) {
    shapes.push_back(&input->shape());
  }
  return shapes;
}

absl::InlinedVector<const Shape*, 2>
HloReduceWindowInstruction::init_value_shapes() const {
  absl::InlinedVector<const Shape*, 2> shapes;
  for (const HloInstruction* init_value : init_values()) {
    shapes.push_back(&init_value->shape());
  }
  return shapes;
}

absl::InlinedVector<const Shape*, 2> HloReduceWindowInstruction::output_shapes()
    const {
  if (!shape().IsTuple()) return {&shape()};
  absl::InlinedVector<const Shape*, 2> shapes;
  for (const Shape& element : shape().tuple_shapes()) {
    shapes.push_back(&element);
  }
  return shapes;
}

std::vector<int64_t> HloReduceWindowInstruction::non_trivial_window_dimensions()
    const {
  std::vector<int64_t> dimensions;
  for (int64_t i = 0; i < window_.dimensions_size(); ++i) {
    if (!window_util::IsTrivialWindowDimension(window_.dimensions(i))) {
      dimensions.push_back(i);
    }
  }
  return dimensions;
}

bool HloReduceWindowInstruction::IdenticalSlowPath(const HloInstruction& other,
                                                   EqComputations eq) const {
  return MessageDifferencer::Equals(
             window_,
             static_cast<const HloReduceWindowInstruction&>(other).window_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloReduceWindowInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size() % 2, 0);
  const size_t input_count = new_operands.size() / 2;
  return std::make_unique<HloReduceWindowInstruction>(
      shape, new_operands.subspan(0, input_count),
      new_operands.subspan(input_count), window_, to_apply());
}

HloSelectAndScatterInstruction::HloSelectAndScatterInstruction(
    const Shape& shape, HloInstruction* operand, HloComputation* select,
    const Window& window, HloInstruction* source, HloInstruction* init_value,
    HloComputation* scatter)
    : HloInstruction(HloOpcode::kSelectAndScatter, shape), window_(window) {
  AppendOperands({operand, source, init_value});
  // In the order of kSelectComputationIndex and kScatterComputationIndex.
  AppendComputation(select);
  AppendComputation(scatter);
}

bool HloSelectAndScatterInstruction::IdenticalSlowPath(
    const HloInstruction& other, EqComputations eq) const {
  return MessageDifferencer::Equals(
             window_, static_cast<const HloSelectAndScatterInstruction&>(other)
                          .window_) &&
         HloInstruction::IdenticalSlowPath(other, eq);
}

HloPtr HloSelectAndScatterInstruction::CloneWithNewOperandsImpl(
    const Shape& shape, Operands new_operands, HloCloneContext*) const {
  CHECK_EQ(new_operands.size(), 3);
  return std::make_unique<HloSelectAndScatterInstruction>(
      shape, new_operands[0], select(), window_, new_operands[1],
      new_operands[2], scatter());
}

}  // namespace xla
