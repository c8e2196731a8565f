#include "absl/log/log.h"
#include "xla/hlo/utils/hlo_sharding_util.h"
#include "xla/permutation_util.h"
#include "xla/shape_util.h"

namespace xla {
namespace hlo_sharding_util {
namespace {

HloInstruction* Padded(HloInstruction* data, const Shape& shape,
                       HloInstruction* value, HloComputation* computation) {
  PaddingConfig config = MakeNoPaddingConfig(data->shape().dimensions().size());
  for (int64_t d = 0; d < shape.dimensions().size(); ++d) {
    config.mutable_dimensions(d)->set_edge_padding_high(
        shape.dimensions(d) - data->shape().dimensions(d));
  }
  return computation->AddInstruction(
      HloInstruction::CreatePad(shape, data, value, config));
}

HloInstruction* Sliced(HloInstruction* data, const Shape& shape,
                       HloComputation* computation) {
  const std::vector<int64_t> zeros(shape.dimensions().size(), 0);
  const std::vector<int64_t> ones(shape.dimensions().size(), 1);
  return computation->AddInstruction(HloInstruction::CreateSlice(
      shape, data, zeros, shape.dimensions(), ones));
}

}  // namespace

HloInstruction* FormatShape(HloInstruction* data,
                            absl::Span<const FormattingStep> formatting_steps,
                            HloComputation* computation) {
  for (const FormattingStep& step : formatting_steps) {
    const Shape shape = ShapeUtil::ChangeElementType(
        step.output_shape, data->shape().element_type());
    switch (step.formatting_opcode) {
      case HloOpcode::kPad:
        data = Padded(data, shape, step.padding_value, computation);
        break;
      case HloOpcode::kTranspose:
        data = computation->AddInstruction(HloInstruction::CreateTranspose(
            shape, data, *step.xpose_permutation));
        break;
      case HloOpcode::kReshape:
        data = computation->AddInstruction(
            HloInstruction::CreateReshape(shape, data));
        break;
      default:  // An error of the caller.
        LOG(FATAL) << "no formatting step: "
                   << HloOpcodeString(step.formatting_opcode);
    }
  }
  return data;
}

HloInstruction* ReverseFormatShape(
    HloInstruction* data, absl::Span<const FormattingStep> formatting_steps,
    HloComputation* computation) {
  for (auto it = formatting_steps.rbegin(); it != formatting_steps.rend();
       ++it) {
    const Shape shape = ShapeUtil::ChangeElementType(
        it->reverse_input_shape.value_or(it->input_shape),
        data->shape().element_type());
    switch (it->formatting_opcode) {
      case HloOpcode::kPad:
        data = Sliced(data, shape, computation);
        break;
      case HloOpcode::kTranspose:
        data = computation->AddInstruction(HloInstruction::CreateTranspose(
            shape, data, InversePermutation(*it->xpose_permutation)));
        break;
      case HloOpcode::kReshape:
        data = computation->AddInstruction(
            HloInstruction::CreateReshape(shape, data));
        break;
      default:  // An error of the caller.
        LOG(FATAL) << "no formatting step: "
                   << HloOpcodeString(it->formatting_opcode);
    }
  }
  return data;
}

}  // namespace hlo_sharding_util
}  // namespace xla
